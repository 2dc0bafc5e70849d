//! A plan as the client sends it: in parts, none of which is nested deeper than a reader of protocol buffers allows (100 messages, which some 45 nodes reach).

use super::codec::Codec;
use super::jobs::{FileOsts, scan};
use super::part_exec::PartExec;
use crate::engine::parts::FileOst;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err, exec_err, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;
use std::sync::Arc;

/// Nodes above one another in a part.
const DEPTH: usize = 12;

/// The parts, each of which may have those before it as leaves; the last has the root.
#[derive(Clone, PartialEq, Message)]
struct Parts {
    #[prost(bytes = "vec", repeated, tag = "1")]
    parts: Vec<Vec<u8>>,
    /// The data files of the plan that lie on an OST of which the lake knows.
    #[prost(message, repeated, tag = "2")]
    files: Vec<PlacedFile>,
}

#[derive(Clone, PartialEq, Message)]
struct PlacedFile {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(int64, tag = "2")]
    ost: i64,
}

/// A plan as bytes, with the OSTs of its data files.
///
/// # Errors
/// If a node or an expression of it cannot be sent.
pub(crate) fn encode(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
    let files = file_osts(plan).into_iter();
    let mut parts = Parts {
        parts: vec![],
        files: files.map(|(path, ost)| PlacedFile { path, ost }).collect(),
    };
    let root = cut(plan, 0, &mut parts)?;
    parts.parts.push(encode_part(root)?);
    Ok(parts.encode_to_vec())
}

/// The plan that [`encode`] made into bytes, and the OSTs of its data files.
///
/// # Errors
/// If these are no plan, or one that is nested too deeply.
pub(crate) fn decode(
    bytes: &[u8],
    context: &TaskContext,
) -> Result<(Arc<dyn ExecutionPlan>, FileOsts)> {
    let parts = Parts::decode(bytes).map_err(|e| exec_datafusion_err!("a plan: {e}"))?;
    let mut decoded = vec![];
    for part in &parts.parts {
        let part = PhysicalPlanNode::try_decode(part)?;
        let plan = part.try_into_physical_plan(context, &Codec::with_parts(decoded.clone()))?;
        decoded.push(plan);
    }
    let files = parts.files.into_iter().map(|file| (file.path, file.ost));
    match decoded.pop() {
        Some(root) => Ok((root, files.collect())),
        None => exec_err!("a plan has no node"),
    }
}

/// The OSTs of the data files of a plan, which its scans know of.
pub(crate) fn file_osts(plan: &Arc<dyn ExecutionPlan>) -> FileOsts {
    let groups = scan(plan).into_iter().flat_map(|scan| &scan.file_groups);
    let placed = groups.flat_map(|group| group.files()).filter_map(|file| {
        let FileOst(ost) = file.extension()?;
        Some((file.path().to_string(), *ost))
    });
    let mut osts: FileOsts = placed.collect();
    for input in plan.children() {
        osts.extend(file_osts(input));
    }
    osts
}

/// Sends these nodes in one piece to where they come from, as a task of them is sent to an executor.
///
/// # Errors
/// If they do not arrive: nested too deeply, or with an order that only nodes of another stage know of.
pub(crate) fn check_one_piece(plan: &Arc<dyn ExecutionPlan>, context: &TaskContext) -> Result<()> {
    let bytes = encode_part(plan.clone())?;
    let part = PhysicalPlanNode::try_decode(&bytes)?;
    let arrived = part.try_into_physical_plan(context, &Codec::default())?;
    arrived.apply(|node| {
        // Keys of one value are in order wherever they stand, as long as it is known that they have one.
        if let Some(windows) = node.downcast_ref::<BoundedWindowAggExec>() {
            windows.partition_by_sort_keys()?;
        } else if let Some(windows) = node.downcast_ref::<WindowAggExec>() {
            let sorted = windows.partition_by_sort_keys()?.len();
            let keys = windows.window_expr().first();
            if keys.is_some_and(|window| window.partition_by().len() > sorted) {
                return plan_err!("a window by keys that are in no order");
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn encode_part(plan: Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    PhysicalPlanNode::try_from_physical_plan(plan, &Codec::default())?.try_encode(&mut bytes)?;
    Ok(bytes)
}

/// The plan with parts in the place of what lies deeper than [`DEPTH`]; `depth` nodes stand above it.
fn cut(
    plan: &Arc<dyn ExecutionPlan>,
    depth: usize,
    parts: &mut Parts,
) -> Result<Arc<dyn ExecutionPlan>> {
    let is_deep = depth == DEPTH;
    let inputs = plan.children().into_iter();
    let inputs = inputs.map(|input| cut(input, if is_deep { 1 } else { depth + 1 }, parts));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let here = replace_children_if_necessary(plan.clone(), inputs)?;
    if !is_deep || here.children().is_empty() {
        return Ok(here);
    }
    let properties = plan.properties().clone();
    parts.parts.push(encode_part(here)?);
    Ok(Arc::new(PartExec::new(parts.parts.len() - 1, properties)))
}
