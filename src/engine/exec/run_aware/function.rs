//! What a grouping asks of the rows of each group.

use super::run_states::Reduction;
use super::selection::{SelectedBatch, true_rows};
use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, new_empty_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{GroupsAccumulatorAdapter, PhysicalExpr};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::aggregates::group_values::GroupValues;
use std::ops::Range;
use std::sync::Arc;

/// A function of a grouping.
pub(super) struct Function {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    reduction: Option<Reduction>,
    /// What it holds for each group.
    pub(super) groups: Box<dyn GroupsAccumulator>,
}

impl Function {
    /// Of rows grouped by keys or, without `of_keys`, of all rows as one group.
    pub(super) fn new(
        function: &Arc<AggregateFunctionExpr>,
        arguments: Vec<Arc<dyn PhysicalExpr>>,
        filter: Option<Arc<dyn PhysicalExpr>>,
        of_keys: bool,
    ) -> Result<Self> {
        let mut groups = held_by_group(function, of_keys)?;
        if !of_keys {
            // Also of no rows there is a count, and a sum, which is NULL.
            let states = function.state_fields()?;
            let none = states.iter().map(|s| new_empty_array(s.data_type()));
            groups.merge_batch(&none.collect::<Vec<_>>(), &[], 1)?;
        }
        Ok(Self {
            arguments,
            filter,
            reduction: Reduction::of(function),
            groups,
        })
    }

    /// Whether it makes one state of a run of rows.
    pub(super) fn reduces(&self) -> bool {
        self.reduction.is_some()
    }

    /// Whether it gives the same of rows that stand for several: sums of floats are rounded after each row.
    pub(super) fn takes_runs(function: &AggregateFunctionExpr) -> bool {
        match Reduction::of(function) {
            Some(Reduction::Sum) => !function.field().data_type().is_floating(),
            reduction => reduction.is_some(),
        }
    }

    /// Which rows its own FILTER keeps, if it has one.
    fn passing(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let Some(filter) = &self.filter else {
            return Ok(None);
        };
        let passing = filter.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(Some(passing.as_boolean().clone()))
    }

    /// The state of each run; None if it has none. `counts` are the rows that a filter keeps of each, where they are known.
    pub(super) fn states(
        &self,
        kept: &SelectedBatch,
        runs: &[Range<usize>],
        counts: Option<&Int64Array>,
    ) -> Result<Option<ArrayRef>> {
        let Some(reduction) = self.reduction else {
            return Ok(None);
        };
        // Where the rows are few already, lists of their ids would be as many.
        if kept.times.is_some() && matches!(reduction, Reduction::Different) {
            return Ok(None);
        }
        if let (Reduction::Rows, None, Some(counts)) = (reduction, &self.filter, counts) {
            return Ok(Some(Arc::new(counts.clone())));
        }
        let values = match reduction.needs_values() {
            true => evaluate_expressions_to_arrays(&self.arguments, &kept.batch)?,
            false => vec![],
        };
        let passing = self.passing(&kept.batch)?;
        let passing = passing.map(|passing| NullBuffer::new(true_rows(&passing)));
        let counted = NullBuffer::union(passing.as_ref(), kept.rows.as_ref());
        let times = kept.times.as_ref();
        reduction
            .states(&values, runs, counted.as_ref(), times)
            .map(Some)
    }

    /// Takes in rows one by one.
    pub(super) fn update(
        &mut self,
        batch: &RecordBatch,
        groups: &[usize],
        total: usize,
    ) -> Result<()> {
        let passing = self.passing(batch)?;
        let arguments = evaluate_expressions_to_arrays(&self.arguments, batch)?;
        self.groups
            .update_batch(&arguments, groups, passing.as_ref(), total)
    }
}

/// What a function holds for all groups, or one of it for each group where it knows no better, or where there is one group, of which
/// there may be no rows.
fn held_by_group(
    function: &Arc<AggregateFunctionExpr>,
    of_keys: bool,
) -> Result<Box<dyn GroupsAccumulator>> {
    if of_keys && function.groups_accumulator_supported() {
        return function.create_groups_accumulator();
    }
    let function = function.clone();
    let one = move || function.create_accumulator();
    Ok(Box::new(GroupsAccumulatorAdapter::new(one)))
}

/// The group of all rows, which is there even if they are none.
#[derive(Default)]
pub(super) struct OneGroup {
    /// Whether no rows have come since it was given.
    given: bool,
}

impl GroupValues for OneGroup {
    /// All rows are one run.
    fn intern(&mut self, _: &[ArrayRef], groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        groups.push(0);
        self.given = false;
        Ok(())
    }

    fn size(&self) -> usize {
        0
    }

    fn is_empty(&self) -> bool {
        self.given
    }

    fn len(&self) -> usize {
        1
    }

    fn emit(&mut self, _: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![])
    }

    fn clear_shrink(&mut self, _: usize) {
        self.given = true;
    }
}
