//! `rule_sums`: what rules about counters count of the files of a log.
//!
//! ```text
//! rule_sums(file, record_id, list of records, ..)  ->  list with an element for each rule, in their order
//! ```
//!
//! `file` is a struct of the columns of a file that rules name. Each list has the records of a module of that file: a struct of `rank`, of `slowest`, the part
//! of the time of all processes that the slowest has, and of times.

use super::columns::{Once, numbers};
use super::file_rules::{FileRules, Selected};
use super::rule_sum::{
    ALL, COST, COSTLY, FILES, MOVED, NUMBERS, ONE, OfRule, SLOW, SUM, TOUCHED, WHOLE,
};
use crate::engine::functions::Grouped;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, StructArray,
    UInt16Array, UInt64Array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Float64Type, Int64Type, UInt16Type, UInt64Type,
};
use datafusion::common::{Result, exec_err, not_impl_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use std::sync::Arc;

/// Process of records that all processes share.
const SHARED: i64 = -1;

/// The fields of an element.
pub(super) fn element() -> Fields {
    let numbers = NUMBERS.map(|name| Field::new(name, DataType::Float64, true));
    let record = Field::new("record_id", DataType::UInt64, true);
    numbers.into_iter().chain([record]).collect()
}

fn list_of(fields: Fields) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(fields),
        true,
    )))
}

/// A process, a rule by its number, and a time.
fn part() -> Fields {
    Fields::from(vec![
        Field::new("rank", DataType::Int64, true),
        Field::new("rule", DataType::UInt16, true),
        Field::new("time", DataType::Float64, true),
    ])
}

/// The function as DataFusion has it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct RuleSums {
    signature: Signature,
}

impl Default for RuleSums {
    fn default() -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { signature }
    }
}

impl AggregateUDFImpl for RuleSums {
    fn name(&self) -> &str {
        "rule_sums"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(list_of(element()))
    }

    fn state_fields(&self, _: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![
            Arc::new(Field::new("sums", list_of(element()), true)),
            Arc::new(Field::new("times", list_of(part()), true)),
        ])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("rule_sums is asked by log")
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        static MADE: Once<FileRules> = Once::new();
        let mut types = args.expr_fields.iter().map(|field| field.data_type());
        let Some(DataType::Struct(file)) = types.next() else {
            return exec_err!("rule_sums: the first argument is a struct");
        };
        Ok(Box::new(Sums::new(MADE.of(file, FileRules::new)?)))
    }
}

/// The time of a process in files of a rule.
#[derive(Clone, Copy, Default)]
struct Part {
    rank: i64,
    rule: u16,
    time: f64,
}

/// The sums of many logs.
pub(super) struct Sums {
    rules: Arc<FileRules>,
    /// Log after log, the rules of each.
    of_logs: Vec<OfRule>,
    /// The least id of a file of each log, which stands for it where no file has a weight.
    least: Vec<u64>,
    times: Grouped<Part>,
}

impl Sums {
    /// Of no file.
    pub(super) fn new(rules: Arc<FileRules>) -> Self {
        Self {
            rules,
            of_logs: vec![],
            least: vec![],
            times: Grouped::default(),
        }
    }

    fn grow(&mut self, logs: usize) {
        let rules = self.rules.rules.len();
        self.of_logs
            .resize((logs * rules).max(self.of_logs.len()), OfRule::NONE);
        self.least.resize(logs.max(self.least.len()), u64::MAX);
        self.times.grow(logs);
    }

    fn of(&mut self, log: usize, rule: usize) -> &mut OfRule {
        let rules = self.rules.rules.len();
        &mut self.of_logs[log * rules + rule]
    }

    /// The sums of the emitted logs, and the parts of each: those of `i` end at `ends[i + 1]`.
    fn emit(&mut self, emit_to: EmitTo) -> (Vec<OfRule>, Vec<usize>, Vec<Part>) {
        let (ends, mut parts) = self.times.take(emit_to);
        let rules = self.rules.rules.len();
        let left = self.of_logs.split_off((ends.len() - 1) * rules);
        let mut of_logs = std::mem::replace(&mut self.of_logs, left);
        let left = self.least.split_off(ends.len() - 1);
        let least = std::mem::replace(&mut self.least, left);
        for (of_log, least) in of_logs.chunks_mut(rules.max(1)).zip(least) {
            of_log
                .iter_mut()
                .for_each(|rule| rule.without_weight(least));
        }
        for ends in ends.windows(2) {
            parts[ends[0]..ends[1]].sort_unstable_by_key(|part| (part.rule, part.rank));
        }
        (of_logs, ends, parts)
    }

    fn lists(&self, of_logs: &[OfRule]) -> Result<ArrayRef> {
        let number = |of: usize| -> ArrayRef {
            let values = of_logs
                .iter()
                .map(|rule| Some(rule.numbers[of]).filter(|value| !value.is_nan()));
            Arc::new(values.collect::<Float64Array>())
        };
        let records: UInt64Array = of_logs.iter().map(|rule| Some(rule.record)).collect();
        let columns = (0..NUMBERS.len())
            .map(number)
            .chain([Arc::new(records) as ArrayRef]);
        let items = StructArray::try_new(element(), columns.collect(), None)?;
        let rules = self.rules.rules.len();
        let lengths = std::iter::repeat_n(rules, of_logs.len() / rules.max(1));
        Ok(Arc::new(ListArray::try_new(
            Arc::new(Field::new_list_field(items.data_type().clone(), true)),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(items),
            None,
        )?))
    }
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.grow(total);
        let [file, records, modules @ ..] = values else {
            return exec_err!("rule_sums: a file and its id are missing");
        };
        let rules = self.rules.clone();
        let batch = rules.columns.batch(file.as_struct(), &[])?;
        let records = cast(records, &DataType::UInt64)?;
        let records = records.as_primitive::<UInt64Type>();
        let modules: Vec<Times> = modules
            .iter()
            .map(|lists| Times::new(&rules, lists))
            .collect::<Result<_>>()?;
        let all = Selected::of(batch, filter)?;
        for row in all.rows() {
            let least = &mut self.least[groups[*row]];
            *least = (*least).min(records.value(*row));
        }
        for (number, rule) in rules.rules.iter().enumerate() {
            let about = rule.about(&all)?;
            let weights = about.numbers(rule.weight.as_ref())?;
            let wholes = about.numbers(rule.of.as_ref())?;
            for (at, row) in about.rows().iter().enumerate() {
                let of_rule = self.of(groups[*row], number);
                if let Some(whole) = value(&wholes, at) {
                    of_rule.add(WHOLE, whole);
                }
                if let Some(weight) = value(&weights, at).filter(|weight| !weight.is_nan()) {
                    of_rule.see(weight, records.value(*row));
                    of_rule.add(SUM, weight);
                    of_rule.add(FILES, f64::from(u8::from(weight > 0.0)));
                }
            }
            let Some(weights) = &weights else { continue };
            let has_weight = weights
                .iter()
                .map(|weight| weight.map(|weight| weight > 0.0));
            let with_weight = about.only(&has_weight.collect())?;
            if with_weight.rows().is_empty() {
                continue;
            }
            let matters = with_weight.numbers(rule.matters.as_ref())?;
            let least = with_weight.numbers(rule.least.as_ref())?;
            let added = [
                (COST, with_weight.numbers(rule.cost.as_ref())?),
                (TOUCHED, with_weight.numbers(rule.touches.as_ref())?),
                (MOVED, with_weight.numbers(rule.moved.as_ref())?),
            ];
            for (at, row) in with_weight.rows().iter().enumerate() {
                let log = groups[*row];
                let of_rule = self.of(log, number);
                if let Some(value) = value(&least, at) {
                    of_rule.lower(value);
                }
                // A condition is 1 or 0.
                if matters.is_some() && value(&matters, at) != Some(1.0) {
                    of_rule.add(TOUCHED, 0.0);
                    continue;
                }
                of_rule.add(COSTLY, 1.0);
                for (of, values) in &added {
                    if let Some(value) = value(values, at) {
                        of_rule.add(*of, value);
                    }
                }
                let Some(time) = rule.time else { continue };
                for module in &modules {
                    for (rank, time, slowest) in module.of(*row, time) {
                        match rank {
                            SHARED => {
                                let of_rule = self.of(log, number);
                                of_rule.add(ALL, time);
                                of_rule.add(SLOW, time * slowest);
                            }
                            rank => self.times.push(
                                log,
                                Part {
                                    rank,
                                    rule: number as u16,
                                    time,
                                },
                            ),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.grow(total);
        let (sums, times) = (values[0].as_list::<i32>(), values[1].as_list::<i32>());
        let items = sums.values().as_struct();
        let numbers: Vec<&Float64Array> = NUMBERS
            .iter()
            .enumerate()
            .map(|(of, _)| items.column(of).as_primitive::<Float64Type>())
            .collect();
        let records = items.column(NUMBERS.len()).as_primitive::<UInt64Type>();
        for (row, log) in groups
            .iter()
            .enumerate()
            .filter(|(row, _)| sums.is_valid(*row))
        {
            let items = sums.offsets()[row] as usize..sums.offsets()[row + 1] as usize;
            for (rule, item) in items.enumerate() {
                let mut other = OfRule::NONE;
                for (of, column) in numbers
                    .iter()
                    .enumerate()
                    .filter(|(_, column)| column.is_valid(item))
                {
                    other.numbers[of] = column.value(item);
                }
                other.record = records.value(item);
                self.least[*log] = self.least[*log].min(other.record);
                self.of(*log, rule).merge(&other);
            }
        }
        let parts = times.values().as_struct();
        let ranks = parts.column(0).as_primitive::<Int64Type>();
        let rules = parts.column(1).as_primitive::<UInt16Type>();
        let seconds = parts.column(2).as_primitive::<Float64Type>();
        for (row, log) in groups
            .iter()
            .enumerate()
            .filter(|(row, _)| times.is_valid(*row))
        {
            for item in times.offsets()[row] as usize..times.offsets()[row + 1] as usize {
                let part = Part {
                    rank: ranks.value(item),
                    rule: rules.value(item),
                    time: seconds.value(item),
                };
                self.times.push(*log, part);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (mut of_logs, ends, parts) = self.emit(emit_to);
        let rules = self.rules.rules.len();
        for (log, ends) in ends.windows(2).enumerate() {
            let of_process = |a: &Part, b: &Part| (a.rule, a.rank) == (b.rule, b.rank);
            for process in parts[ends[0]..ends[1]].chunk_by(of_process) {
                let time: f64 = process.iter().map(|part| part.time).sum();
                let one = &mut of_logs[log * rules + usize::from(process[0].rule)].numbers[ONE];
                *one = one.max(time);
            }
        }
        self.lists(&of_logs)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (of_logs, ends, parts) = self.emit(emit_to);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(
                parts.iter().map(|part| part.rank),
            )),
            Arc::new(UInt16Array::from_iter_values(
                parts.iter().map(|part| part.rule),
            )),
            Arc::new(Float64Array::from_iter_values(
                parts.iter().map(|part| part.time),
            )),
        ];
        let items = StructArray::try_new(part(), columns, None)?;
        let times = ListArray::try_new(
            Arc::new(Field::new_list_field(items.data_type().clone(), true)),
            OffsetBuffer::from_lengths(ends.windows(2).map(|ends| ends[1] - ends[0])),
            Arc::new(items),
            None,
        )?;
        Ok(vec![self.lists(&of_logs)?, Arc::new(times)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut each = Self::new(self.rules.clone());
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        let of_logs = self.of_logs.capacity() * size_of::<OfRule>();
        of_logs + self.least.capacity() * size_of::<u64>() + self.times.size()
    }
}

fn value(of: &Option<Float64Array>, at: usize) -> Option<f64> {
    let of = of.as_ref().filter(|of| of.is_valid(at));
    of.map(|of| of.value(at))
}

/// The records of a module, file by file, and what rules ask of each.
struct Times {
    files: ListArray,
    ranks: Int64Array,
    slowest: Float64Array,
    times: Vec<Float64Array>,
}

impl Times {
    fn new(rules: &FileRules, lists: &ArrayRef) -> Result<Self> {
        let files = lists.as_list::<i32>().clone();
        let records = files.values().as_struct();
        let column = |name| records.column_by_name(name);
        let (Some(ranks), Some(slowest)) = (column("rank"), column("slowest")) else {
            return exec_err!("rule_sums: records have no rank, or no part of the slowest process");
        };
        let slowest = cast(slowest, &DataType::Float64)?
            .as_primitive::<Float64Type>()
            .clone();
        let ranks = cast(ranks, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .clone();
        let batch = rules.records.batch(records, &[])?;
        let times = rules
            .times
            .iter()
            .map(|time| numbers(time.as_ref(), &batch));
        Ok(Self {
            ranks,
            slowest,
            times: times.collect::<Result<_>>()?,
            files,
        })
    }

    /// Process and time of each record of a file that has the time, and which part of it the slowest process has; 0 if that is not known.
    fn of(&self, row: usize, time: usize) -> impl Iterator<Item = (i64, f64, f64)> + '_ {
        let records = match self.files.is_valid(row) {
            true => self.files.offsets()[row] as usize..self.files.offsets()[row + 1] as usize,
            false => 0..0,
        };
        let times = &self.times[time];
        let known = records.filter(|record| times.is_valid(*record));
        let slowest = |record| match self.slowest.is_valid(record) {
            true => self.slowest.value(record),
            false => 0.0,
        };
        known.map(move |record| {
            (
                self.ranks.value(record),
                times.value(record),
                slowest(record),
            )
        })
    }
}
