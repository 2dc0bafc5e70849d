//! `count(DISTINCT x)` by group: in memory that grows with what differs, and that the memory pool is told of.
//!
//! DataFusion 55.2 holds a hash table for each group, of 43 KB for texts before the first value, and tells the pool of a part of it:
//! `SELECT record_id, count(DISTINCT fs), count(*) .. GROUP BY record_id` takes 5.5 GB for 130,000 groups, whatever the budget. (Its pull
//! request 24857, after 55.2, makes these tables small.) Of integers alone it has one table for all groups. Here each value is kept
//! once for all groups, and of each group which values it has.
//!
//! Without groups it keeps each struct or list as a slice of the batch that it came in, and reckons each as large as the batch: `SELECT count(DISTINCT (a, b)), count(*)`
//! over 70,000 rows takes 12 GB of the budget, and as many batches as rows are added up after each.
//!
//! Delete when `a_group_takes_few_bytes` holds without it.

use super::super::functions::passing;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, UInt32Array,
};
use datafusion::arrow::buffer::{BooleanBuffer, OffsetBuffer};
use datafusion::arrow::compute::{cast, filter, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{HashSet, Result, ScalarValue, exec_err};
use datafusion::functions_aggregate::count::Count;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

/// `count` for every session.
pub(in crate::engine) fn count() -> AggregateUDF {
    AggregateUDF::from(CountsTexts(Count::new()))
}

/// DataFusion's count, but for what differs in groups and is no integer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct CountsTexts(Count);

/// Whether [`DistinctCounts`] count these.
fn is_ours(args: &AccumulatorArgs) -> bool {
    let [field] = args.expr_fields else {
        return false;
    };
    args.is_distinct && !field.data_type().is_integer() && !field.data_type().is_null()
}

impl AggregateUDFImpl for CountsTexts {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.0.return_type(arg_types)
    }

    fn is_nullable(&self) -> bool {
        self.0.is_nullable()
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.expr_fields {
            [field] if is_ours(&args) && field.data_type().is_nested() => {
                Ok(Box::new(OneGroup::try_new(field.data_type())?))
            }
            _ => self.0.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        is_ours(&args) || self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match is_ours(&args) {
            true => {
                let counts = DistinctCounts::try_new(args.expr_fields[0].data_type())?;
                Ok(Box::new(counts))
            }
            false => self.0.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.create_sliding_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.0.default_value(data_type)
    }

    /// Statistics take a NULL for a value that differs from others.
    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        match args.is_distinct {
            true => None,
            false => self.0.value_from_stats(args),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.0.set_monotonicity(data_type)
    }
}

/// How many values differ in each group. A partial state is a list of these values.
struct DistinctCounts {
    /// Of one column, the values.
    schema: SchemaRef,
    /// Each value once, with its number.
    values: Box<dyn GroupValues>,
    /// Which values a group has: its number, and in the lower half that of the value.
    pairs: HashSet<u64>,
    counts: Vec<i64>,
    /// The numbers of the values of a batch.
    numbers: Vec<usize>,
}

impl DistinctCounts {
    fn try_new(of: &DataType) -> Result<Self> {
        let of = match of {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        let schema = Arc::new(Schema::new(vec![Field::new("value", of.clone(), true)]));
        Ok(Self {
            values: new_group_values(schema.clone(), &GroupOrdering::None)?,
            schema,
            pairs: HashSet::default(),
            counts: vec![],
            numbers: vec![],
        })
    }

    fn of(&self) -> &DataType {
        self.schema.field(0).data_type()
    }

    /// Numbers values; each place of a NULL has some number, too.
    fn number(&mut self, values: ArrayRef) -> Result<()> {
        self.values.intern(&[values], &mut self.numbers)?;
        match u32::try_from(self.values.len()) {
            Ok(_) => Ok(()),
            Err(_) => exec_err!("count(DISTINCT ..) by group of more than 4 billion values"),
        }
    }

    /// Counts values by number, of groups with a value each.
    fn add(&mut self, pairs: impl Iterator<Item = (usize, usize)>) {
        let mut last = u64::MAX;
        for (group, at) in pairs {
            let pair = (group as u64) << 32 | self.numbers[at] as u64;
            // The same value mostly comes again at once.
            if pair != last && self.pairs.insert(pair) {
                self.counts[group] += 1;
            }
            last = pair;
        }
    }

    /// The counts and pairs of the emitted groups, and all values if they are wanted, or if groups stay: these have the first numbers
    /// from now on.
    fn take(&mut self, emit_to: EmitTo, wanted: bool) -> Result<(Vec<i64>, Vec<u64>, ArrayRef)> {
        let counts = emit_to.take_needed(&mut self.counts);
        let first_kept = (counts.len() as u64) << 32;
        let all = std::mem::take(&mut self.pairs);
        let (kept, pairs): (Vec<u64>, Vec<u64>) = match self.counts.is_empty() && !wanted {
            true => (vec![], vec![]),
            false => all.into_iter().partition(|pair| *pair >= first_kept),
        };
        let values = self.values.emit(EmitTo::All)?.swap_remove(0);
        self.values = new_group_values(self.schema.clone(), &GroupOrdering::None)?;
        self.numbers = vec![];
        if !kept.is_empty() {
            let mut used = vec![false; values.len()];
            kept.iter()
                .for_each(|pair| used[*pair as u32 as usize] = true);
            let old: Vec<usize> = (0..used.len()).filter(|old| used[*old]).collect();
            let used = BooleanArray::from(used);
            self.number(filter(&values, &used)?)?;
            let mut new = vec![0; values.len()];
            old.iter()
                .zip(&self.numbers)
                .for_each(|(old, number)| new[*old] = *number as u64);
            let moved = |pair: u64| (pair - first_kept) >> 32 << 32 | new[pair as u32 as usize];
            self.pairs = kept.into_iter().map(moved).collect();
        }
        Ok((counts, pairs, values))
    }
}

/// The same of all rows. Nobody shares it: the lock makes it `Sync`, which DataFusion asks for.
struct OneGroup(Mutex<DistinctCounts>);

impl OneGroup {
    fn try_new(of: &DataType) -> Result<Self> {
        let mut counts = DistinctCounts::try_new(of)?;
        counts.counts = vec![0];
        Ok(Self(Mutex::new(counts)))
    }

    fn counts(&mut self) -> &mut DistinctCounts {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Debug for OneGroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("OneGroup")
    }
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let groups = vec![0; values[0].len()];
        self.counts().update_batch(values, &groups, None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let groups = vec![0; states[0].len()];
        self.counts().merge_batch(states, &groups, 1)
    }

    /// A window asks again and again while rows are added.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.counts().counts[0])))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.counts().state(EmitTo::All)?;
        self.counts().counts = vec![0];
        Ok(vec![ScalarValue::try_from_array(&states[0], 0)?])
    }

    fn size(&self) -> usize {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        size_of_val(self) + counts.size()
    }
}

/// Values as they are numbered: those of a dictionary for themselves.
fn plain(values: &ArrayRef, of: &DataType) -> Result<ArrayRef> {
    Ok(match values.data_type() == of {
        true => values.clone(),
        false => cast(values, of)?,
    })
}

/// The rows that count: those that `FILTER` lets through and that have a value.
fn counted(values: &ArrayRef, filter: Option<&BooleanArray>) -> BooleanBuffer {
    let nulls = values.logical_nulls();
    let mut passing = passing(values.len(), filter).peekable();
    BooleanBuffer::collect_bool(values.len(), |row| {
        passing.next_if_eq(&row).is_some() && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    })
}

impl GroupsAccumulator for DistinctCounts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter_: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.counts.resize(total, 0);
        let values = plain(&values[0], self.of())?;
        let counted = counted(&values, filter_);
        if counted.count_set_bits() == values.len() {
            self.number(values)?;
            self.add(groups.iter().copied().zip(0..));
        } else {
            // Values that do not count are not kept either.
            self.number(filter(&values, &BooleanArray::from(counted.clone()))?)?;
            self.add(counted.set_indices().map(|row| groups[row]).zip(0..));
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.counts.resize(total, 0);
        let lists = states[0].as_list::<i32>();
        let ends = lists.value_offsets();
        let first = ends[0] as usize;
        let values = lists
            .values()
            .slice(first, ends[lists.len()] as usize - first);
        self.number(plain(&values, self.of())?)?;
        let pairs = groups
            .iter()
            .zip(ends.windows(2))
            .flat_map(|(group, ends)| {
                (ends[0] as usize..ends[1] as usize).map(move |at| (*group, at - first))
            });
        self.add(pairs);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (counts, ..) = self.take(emit_to, false)?;
        Ok(Arc::new(Int64Array::from(counts)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (counts, pairs, values) = self.take(emit_to, true)?;
        if i32::try_from(pairs.len()).is_err() {
            return exec_err!("count(DISTINCT ..) of more than 2 billion values in groups");
        }
        let ends = OffsetBuffer::<i32>::from_lengths(counts.iter().map(|count| *count as usize));
        let mut next: Vec<usize> = ends.iter().map(|end| *end as usize).collect();
        let mut numbers = vec![0; pairs.len()];
        for pair in pairs {
            let place = &mut next[(pair >> 32) as usize];
            numbers[*place] = pair as u32;
            *place += 1;
        }
        let values = take(&values, &UInt32Array::from(numbers), None)?;
        let item = Arc::new(Field::new_list_field(self.of().clone(), true));
        Ok(vec![Arc::new(ListArray::try_new(
            item, ends, values, None,
        )?)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter_: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = plain(&values[0], self.of())?;
        let counted = counted(&values, filter_);
        let ends = OffsetBuffer::from_lengths(counted.iter().map(usize::from));
        let values = filter(&values, &BooleanArray::from(counted))?;
        let item = Arc::new(Field::new_list_field(self.of().clone(), true));
        Ok(vec![Arc::new(ListArray::try_new(
            item, ends, values, None,
        )?)])
    }

    fn size(&self) -> usize {
        self.values.size()
            + self.pairs.allocation_size()
            + self.counts.capacity() * size_of::<i64>()
            + self.numbers.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::functions::tests::ask;
    use super::*;
    use datafusion::arrow::array::{StringArray, StringViewArray};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn counts(of: DataType) -> DistinctCounts {
        DistinctCounts::try_new(&of).unwrap()
    }

    fn found(counts: ArrayRef) -> Vec<usize> {
        let counts = counts.as_primitive::<datafusion::arrow::datatypes::Int64Type>();
        counts
            .values()
            .iter()
            .map(|count| *count as usize)
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(29), ..ProptestConfig::default() })]

        /// Rows in two parts, each taken in or made states of one by one, some left out, and states and counts given out in two pieces.
        #[test]
        fn they_are_those_of_a_tree_however_rows_and_states_come(
            rows in prop::collection::vec((0usize..4, prop::option::weighted(0.8, 0u8..7), prop::option::weighted(0.9, prop::bool::weighted(0.8))), 1..60),
            cut in any::<prop::sample::Index>(), first in 0usize..5, direct in any::<bool>(), dictionary in any::<bool>()
        ) {
            let text = |n: u8| format!("{}{n}", ["a", "of more than twelve bytes "][n as usize % 2]);
            let mut expected: Vec<BTreeSet<u8>> = vec![BTreeSet::new(); 4];
            for (group, value, passes) in &rows {
                if *passes == Some(true) {
                    expected[*group].extend(value);
                }
            }
            let expected: Vec<usize> = expected.iter().map(BTreeSet::len).collect();
            let of = match dictionary {
                true => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
                false => DataType::Utf8View,
            };
            let (mut merged, mut plain) = (counts(of.clone()), counts(of.clone()));
            let (one, other) = rows.split_at(cut.index(rows.len()));
            for part in [other, one] {
                let values: ArrayRef = Arc::new(part.iter().map(|(_, value, _)| value.map(text)).collect::<StringArray>());
                let values = [cast(&values, &of).unwrap()];
                let groups: Vec<usize> = part.iter().map(|(group, ..)| *group).collect();
                let passing: BooleanArray = part.iter().map(|(.., passes)| *passes).collect();
                let mut partial = counts(of.clone());
                if direct {
                    let states = partial.convert_to_state(&values, Some(&passing)).unwrap();
                    partial.merge_batch(&states, &groups, 4).unwrap();
                } else {
                    partial.update_batch(&values, &groups, Some(&passing), 4).unwrap();
                }
                plain.update_batch(&values, &groups, Some(&passing), 4).unwrap();
                let (a, b) = (partial.state(EmitTo::First(first.min(4))).unwrap(), partial.state(EmitTo::All).unwrap());
                merged.merge_batch(&a, &(0..first.min(4)).collect::<Vec<_>>(), 4).unwrap();
                merged.merge_batch(&b, &(first.min(4)..4).collect::<Vec<_>>(), 4).unwrap();
            }
            for mut counts in [merged, plain] {
                let mut all = found(counts.evaluate(EmitTo::First(first.min(4))).unwrap());
                all.extend(found(counts.evaluate(EmitTo::All).unwrap()));
                prop_assert_eq!(&all, &expected);
            }
        }
    }

    /// 100,000 groups of two texts each of the same ten. DataFusion's own take 43 KB each, 4.3 GB.
    #[test]
    fn a_group_takes_few_bytes() {
        let mut counts = counts(DataType::Utf8View);
        let name = |at: usize| format!("the name of file system {}", at % 10);
        for from in (0..200_000).step_by(10_000) {
            let values = StringViewArray::from_iter_values((from..from + 10_000).map(name));
            let groups: Vec<usize> = (from..from + 10_000).map(|at| at / 2).collect();
            counts
                .update_batch(&[Arc::new(values)], &groups, None, from / 2 + 5000)
                .unwrap();
        }
        // Pairs and counts, eight bytes each, with room to grow.
        assert!(
            (2_400_000..8_000_000).contains(&counts.size()),
            "{}",
            counts.size()
        );
        assert_eq!(
            found(counts.evaluate(EmitTo::All).unwrap()),
            vec![2; 100_000]
        );
        assert!(counts.size() < 20_000, "{}", counts.size());
    }

    /// By hand: beside count(*) no rule turns it into two groupings.
    #[test]
    fn values_of_every_type_are_counted_once() {
        for x in [
            "x::text",
            "x::double",
            "arrow_cast(x, 'Float32')",
            "arrow_cast(x, 'Timestamp(Microsecond, Some(\"UTC\"))')",
            "arrow_cast(x, 'Date32')",
            "arrow_cast(x, 'Decimal128(20, 3)')",
            "arrow_cast(x::text, 'Dictionary(Int32, Utf8)')",
            "arrow_cast(x::text, 'BinaryView')",
            "x > 1",
            "make_array(x)",
            "x",
        ] {
            // [NULL] is a list, and a value.
            let list = usize::from(x.starts_with("make"));
            let sql = format!(
                "SELECT g, count(DISTINCT {x}), count(*), count(DISTINCT {x}) FILTER (WHERE x < 2) FROM (VALUES ('a', 1), ('a', 2), ('a', 1), ('a', NULL), ('b', NULL)) AS t(g, x) GROUP BY g ORDER BY g"
            );
            let expected = [
                format!("a | {} | 4 | 1", 2 + list),
                format!("b | {list} | 1 | 0"),
            ];
            assert_eq!(ask(&sql).unwrap(), expected, "{x}");
        }
    }

    /// By hand; so does DuckDB. DataFusion alone asks the pool for 7 GB.
    #[test]
    fn pairs_are_counted_without_groups_and_in_windows() {
        const T: &str =
            "(SELECT value % 50000 AS a, value % 2 AS b FROM generate_series(1, 100000)) AS t";
        let sql = format!(
            "SELECT count(DISTINCT (a, b)), count(DISTINCT make_array(b)), count(*) FROM {T}"
        );
        assert_eq!(ask(&sql).unwrap(), ["50000 | 2 | 100000"]);
        let sql =
            "SELECT count(DISTINCT (a, b)), count(*) FROM (SELECT 1 AS a, 2 AS b) AS t WHERE a > 1";
        assert_eq!(ask(sql).unwrap(), ["0 | 0"]);
        let sql = "SELECT count(DISTINCT (a, b)) OVER (ORDER BY i) FROM (VALUES (1, 1, 2), (2, 1, 3), (3, 1, 2), (4, 2, NULL), (5, NULL, NULL)) AS t(i, a, b) ORDER BY i";
        assert_eq!(ask(sql).unwrap(), ["1", "2", "2", "3", "4"]);
    }
}
