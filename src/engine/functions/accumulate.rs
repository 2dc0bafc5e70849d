//! What an aggregate keeps of many groups.

use datafusion::logical_expr::GroupsAccumulator;

/// A [`GroupsAccumulator`] that can be copied, so that a window can look at its value and go on.
pub(super) trait Accumulate: GroupsAccumulator + Sync {
    fn copy(&self) -> Box<dyn Accumulate>;
}
