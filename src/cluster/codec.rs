//! Our nodes in a plan that is sent: [`DeclarePartitioningExec`], [`DropOrderingExec`], [`SinglePartitionExec`] and [`OpaqueExec`] pass their input through,
//! [`AlignedUnionExec`] has several, [`ConvertRangesExec`] is the work of an ingest. All others are DataFusion's or Ballista's.

use super::aligned_union::AlignedUnionExec;
use super::convert_exec::ConvertRangesExec;
use super::opaque::{OpaqueExec, Says};
use super::part_exec::PartExec;
use crate::engine::parts::{
    DeclarePartitioningExec, DropOrderingExec, SinglePartitionExec, Statement,
};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion::physical_expr::{Partitioning, SplitPoint};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::generated::datafusion_common as protobuf_common;
use datafusion_proto::physical_plan::from_proto::parse_protobuf_partitioning;
use datafusion_proto::physical_plan::to_proto::serialize_partitioning;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use prost::Message;
use std::sync::Arc;

/// First byte of a node of Ballista's.
const BALLISTA: u8 = 0;
/// First byte of a node of ours.
const IOLODE: u8 = 1;

/// What an opaque node may say.
const SAYS: [Says; 3] = [Says::Nothing, Says::Partitioning, Says::Small];

/// Ours and Ballista's nodes.
#[derive(Debug, Default)]
pub(crate) struct Codec {
    ballista: BallistaPhysicalExtensionCodec,
    /// Parts of the plan that were decoded before.
    parts: Vec<Arc<dyn ExecutionPlan>>,
}

impl Codec {
    /// For a plan that refers to these parts.
    pub(crate) fn with_parts(parts: Vec<Arc<dyn ExecutionPlan>>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }
}

/// A node of ours.
#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    DeclarePartitioning(Declared),
    #[prost(message, tag = "2")]
    DropOrdering(Dropped),
    /// What it says: its place in [`SAYS`].
    #[prost(uint32, tag = "3")]
    Opaque(u32),
    /// Always true.
    #[prost(bool, tag = "4")]
    SinglePartition(bool),
    /// The place of a part that came before.
    #[prost(uint32, tag = "5")]
    Part(u32),
    #[prost(message, tag = "6")]
    ConvertRanges(Converted),
    /// Always true.
    #[prost(bool, tag = "7")]
    AlignedUnion(bool),
}

/// What a [`DeclarePartitioningExec`] says.
#[derive(Clone, PartialEq, Message)]
struct Declared {
    #[prost(bool, tag = "1")]
    narrow: bool,
    #[prost(message, optional, tag = "2")]
    range: Option<protobuf::Partitioning>,
    #[prost(message, repeated, tag = "3")]
    points: Vec<Point>,
}

/// A split point.
#[derive(Clone, PartialEq, Message)]
struct Point {
    #[prost(message, repeated, tag = "1")]
    values: Vec<protobuf_common::ScalarValue>,
}

/// What a [`ConvertRangesExec`] is told.
#[derive(Clone, PartialEq, Message)]
struct Converted {
    #[prost(string, tag = "1")]
    lake_id: String,
    #[prost(int64, optional, tag = "2")]
    ost: Option<i64>,
}

/// What a [`DropOrderingExec`] says.
#[derive(Clone, PartialEq, Message)]
struct Dropped {
    #[prost(bool, tag = "1")]
    says_nothing: bool,
    #[prost(bool, tag = "2")]
    loses_constants: bool,
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let bytes = match buf.split_first() {
            Some((&BALLISTA, bytes)) => {
                return self.ballista.try_decode(bytes, inputs, context, converter);
            }
            Some((&IOLODE, bytes)) => bytes,
            _ => return exec_err!("a plan has a node that iolode does not know"),
        };
        let node = Node::decode(bytes).map_err(|e| exec_datafusion_err!("a node: {e}"))?;
        if let Some(Kind::Part(index)) = node.kind {
            let part = self.parts.get(index as usize);
            return part
                .cloned()
                .ok_or_else(|| exec_datafusion_err!("a plan lacks a part"));
        }
        if let Some(Kind::AlignedUnion(_)) = node.kind {
            return AlignedUnionExec::plan(inputs.to_vec());
        }
        let [input] = inputs else {
            return exec_err!("a node has {} inputs, expected 1", inputs.len());
        };
        match node.kind {
            Some(Kind::DropOrdering(dropped)) => Ok(DropOrderingExec::of(
                input.clone(),
                dropped.says_nothing,
                dropped.loses_constants,
            )),
            Some(Kind::DeclarePartitioning(declared)) => {
                let decode = PhysicalPlanDecodeContext::new(context, self);
                let schema = input.schema();
                let range = declared.range.as_ref();
                let range = parse_protobuf_partitioning(range, &decode, &schema, converter)?;
                let Some(Partitioning::Range(range)) = range else {
                    return exec_err!("a node declares no range");
                };
                let points = declared.points.iter().map(decode_point);
                let points = points.collect::<Result<_>>()?;
                let statement = match declared.narrow {
                    true => Statement::Narrow { range, points },
                    false => Statement::Wide { range, points },
                };
                Ok(DeclarePartitioningExec::plan(input.clone(), statement))
            }
            Some(Kind::Opaque(says)) => match SAYS.get(says as usize) {
                Some(says) => Ok(OpaqueExec::plan(input.clone(), *says)),
                None => exec_err!("an opaque node says what iolode does not know"),
            },
            Some(Kind::SinglePartition(_)) => Ok(SinglePartitionExec::plan(input.clone())),
            Some(Kind::ConvertRanges(Converted { lake_id, ost })) => {
                Ok(ConvertRangesExec::plan(input.clone(), lake_id, ost))
            }
            Some(Kind::Part(_) | Kind::AlignedUnion(_)) | None => exec_err!("a node says nothing"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let kind = if let Some(part) = node.downcast_ref::<PartExec>() {
            Kind::Part(part.index() as u32)
        } else if let Some(convert) = node.downcast_ref::<ConvertRangesExec>() {
            Kind::ConvertRanges(Converted {
                lake_id: convert.lake_id().into(),
                ost: convert.ost(),
            })
        } else if node.is::<AlignedUnionExec>() {
            Kind::AlignedUnion(true)
        } else if node.is::<SinglePartitionExec>() {
            Kind::SinglePartition(true)
        } else if let Some(opaque) = node.downcast_ref::<OpaqueExec>() {
            let says = SAYS.iter().position(|says| *says == opaque.says());
            Kind::Opaque(says.unwrap_or_default() as u32)
        } else if let Some(dropped) = node.downcast_ref::<DropOrderingExec>() {
            Kind::DropOrdering(Dropped {
                says_nothing: dropped.says_nothing(),
                loses_constants: dropped.loses_constants(),
            })
        } else if let Some(declared) = node.downcast_ref::<DeclarePartitioningExec>() {
            let (narrow, range, points) = match declared.statement() {
                Statement::Wide { range, points } => (false, range, points),
                Statement::Narrow { range, points } => (true, range, points),
            };
            let range = Partitioning::Range(range.clone());
            let points = points.iter().map(encode_point);
            Kind::DeclarePartitioning(Declared {
                narrow,
                range: Some(serialize_partitioning(&range, self, converter)?),
                points: points.collect::<Result<_>>()?,
            })
        } else {
            buf.push(BALLISTA);
            return self.ballista.try_encode(node, buf, converter);
        };
        buf.push(IOLODE);
        let node = Node { kind: Some(kind) };
        node.encode(buf)
            .map_err(|e| DataFusionError::External(e.into()))
    }

    fn try_decode_udf(&self, name: &str, _: &[u8]) -> Result<Arc<ScalarUDF>> {
        exec_err!("a plan calls the function {name}, which iolode does not know")
    }

    fn try_decode_udaf(&self, name: &str, _: &[u8]) -> Result<Arc<AggregateUDF>> {
        exec_err!("a plan calls the aggregate function {name}, which iolode does not know")
    }

    fn try_decode_udwf(&self, name: &str, _: &[u8]) -> Result<Arc<WindowUDF>> {
        exec_err!("a plan calls the window function {name}, which iolode does not know")
    }
}

fn encode_point(point: &SplitPoint) -> Result<Point> {
    let values = point.values().iter().map(|value| {
        protobuf_common::ScalarValue::try_from(value)
            .map_err(|e| exec_datafusion_err!("a split point: {e}"))
    });
    Ok(Point {
        values: values.collect::<Result<_>>()?,
    })
}

fn decode_point(point: &Point) -> Result<SplitPoint> {
    let values = point.values.iter().map(|value| {
        ScalarValue::try_from(value).map_err(|e| exec_datafusion_err!("a split point: {e}"))
    });
    Ok(SplitPoint::new(values.collect::<Result<_>>()?))
}
