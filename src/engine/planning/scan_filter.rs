//! A physical optimizer rule: a filter that stands on a scan becomes the scan's predicate, and no filter passes a join.
//!
//! The rule stands in the place of DataFusion's `FilterPushdown`. DataFusion 55.2 finds the columns of a filter by name where it passes
//! a projection, and so takes one of two columns of equal names for the other (its pull request 25259). Joins whose sides were
//! swapped, grouped subqueries and views have such projections. `WHERE f.job_id IS NULL` above a RIGHT JOIN then filters the side whose
//! job_id is never NULL, and the answer is empty:
//!
//! ```text
//! FilterExec: job_id@0 IS NULL
//!   ProjectionExec: [job_id@1 as job_id, job_id@0 as job_id]      column 0 is f.job_id, the first of this name is s.job_id
//!     HashJoinExec: join_type=Left, on=[(s.job_id, f.job_id)]
//! ```
//!
//! The logical plan, where each column has its table's name, has each filter as low as it may stand already. What is left for a physical rule is
//! the last step, from a `FilterExec` into the `DataSourceExec` right under it, which skips row groups and pages by it. DataFusion's own rule
//! does that step here, and sees these two nodes alone.

use crate::engine::node_rewrite::{Node, NodeRewrite};
use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::filter::FilterExec;

pub(in crate::engine) const RULE: NodeRewrite = NodeRewrite {
    name: "scan_filter",
    instead,
};

fn instead(node: &Node, config: &ConfigOptions) -> Result<Option<Node>> {
    let filter = node.downcast_ref::<FilterExec>();
    let on_scan = filter.is_some_and(|filter| filter.input().is::<DataSourceExec>());
    on_scan
        .then(|| FilterPushdown::new().optimize(node.clone(), config))
        .transpose()
}
