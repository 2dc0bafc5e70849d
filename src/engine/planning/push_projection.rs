//! A projection below a node that passes its input through.

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use std::sync::Arc;

/// `input` with the projection that stands above its parent; None if it is better left there.
///
/// `ProjectionExec::try_swapping_with_projection` of DataFusion 55.2 looks at what lies below the projection that it is given, not at itself. Given one that stands
/// above its parent it gives back that one as it is, and the parent would have itself below, without end. So the projection is put on `input` first.
pub(super) fn push_projection(
    input: &Arc<dyn ExecutionPlan>,
    projection: &ProjectionExec,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let projection = ProjectionExec::try_new(projection.expr().to_vec(), input.clone())?;
    input.try_swapping_with_projection(&projection)
}
