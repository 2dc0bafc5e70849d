//! A UNION of which one side alone has rows is a projection of that side, by its columns.
//!
//! DataFusion 55.2 puts a projection in its place that names the columns of the union, `id`, where the side has `b.id`. A condition on `id` is
//! then taken below a join of `a` and `b` as it stands, and is a condition on `a.id`: rows are lost or come without a word.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// DataFusion's rule, whose projection has the columns of the side.
#[derive(Debug, Default)]
pub(in crate::engine) struct EmptiedUnions(PropagateEmptyRelation);

impl OptimizerRule for EmptiedUnions {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Union(union) = &plan else {
            return self.0.rewrite(plan, config);
        };
        let mut with_rows = union.inputs.iter().filter(|input| may_have_rows(input));
        let (Some(side), None) = (with_rows.next(), with_rows.next()) else {
            return self.0.rewrite(plan, config);
        };
        if side.schema() == &union.schema {
            return Ok(Transformed::yes(side.as_ref().clone()));
        }
        let columns = side.schema().columns().into_iter();
        let columns = columns.zip(union.schema.iter());
        let columns = columns
            .map(|(column, (table, field))| {
                Expr::Column(column).alias_qualified(table.cloned(), field.name())
            })
            .collect();
        let schema = Arc::clone(&union.schema);
        let projection = Projection::try_new_with_schema(columns, Arc::clone(side), schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }
}

fn may_have_rows(plan: &LogicalPlan) -> bool {
    !matches!(plan, LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row)
}
