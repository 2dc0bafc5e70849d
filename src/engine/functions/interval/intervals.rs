//! Intervals of many groups, gathered for a sweep: what `critical_files` and `io_time` share.

use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::arguments::{integer_type, taken, text_type};
use crate::engine::functions::definition::FunctionDoc;
use crate::engine::functions::grouped::{Grouped, items_of, passing};
use crate::math::sweep::{Interval, cover, prune, union};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Float64Array, Int64Array,
    ListArray, StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{
    DataType, Field, Fields, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use datafusion::common::{Result, exec_datafusion_err, plan_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// What the times of intervals are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::functions) enum Time {
    /// Seconds since some moment.
    Seconds,
    /// Times on the clock.
    Clock,
}

impl Time {
    /// That of a begin and an end of these types; None if they are none, or not both of one kind.
    pub(in crate::engine::functions) fn of(start: &DataType, end: &DataType) -> Option<Self> {
        let clock = |t: &DataType| {
            matches!(
                t,
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64
            )
        };
        let number = |t: &DataType| t.is_numeric() || t.is_null();
        match (start, end) {
            (a, b) if number(a) && number(b) => Some(Self::Seconds),
            (a, b) if (clock(a) || a.is_null()) && (clock(b) || b.is_null()) => Some(Self::Clock),
            _ => None,
        }
    }

    /// That of a begin and an end of the types that [`Time::data_type`] gives.
    pub(in crate::engine::functions) fn of_both(types: &[DataType]) -> Self {
        match types {
            [start, end] => Self::of(start, end).unwrap_or(Self::Seconds),
            _ => Self::Seconds,
        }
    }

    /// The type in which they come and go.
    pub(in crate::engine::functions) fn data_type(self) -> DataType {
        match self {
            Self::Seconds => DataType::Float64,
            Self::Clock => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// Calls `take` with each of the rows that is an interval, its begin and its end.
    ///
    /// None is what lacks an end, or has one that is no finite number, and what ends when it begins, or before.
    fn each(
        self,
        columns: [&ArrayRef; 2],
        rows: impl Iterator<Item = usize>,
        take: impl FnMut(usize, i64, i64),
    ) {
        match self {
            Self::Seconds => valid::<Float64Type>(columns, rows, |x| key(*x), take),
            Self::Clock => valid::<TimestampMicrosecondType>(columns, rows, |t| Some(*t), take),
        }
    }

    fn array(self, keys: impl Iterator<Item = i64>) -> ArrayRef {
        match self {
            Self::Seconds => Arc::new(Float64Array::from_iter_values(keys.map(seconds))),
            Self::Clock => {
                Arc::new(TimestampMicrosecondArray::from_iter_values(keys).with_timezone("UTC"))
            }
        }
    }

    /// Seconds from one time to another.
    fn between(self, start: i64, end: i64) -> f64 {
        match self {
            Self::Seconds => seconds(end) - seconds(start),
            Self::Clock => (end - start) as f64 / 1e6,
        }
    }
}

fn valid<T: ArrowPrimitiveType>(
    columns: [&ArrayRef; 2],
    rows: impl Iterator<Item = usize>,
    key: impl Fn(&T::Native) -> Option<i64>,
    mut take: impl FnMut(usize, i64, i64),
) {
    let [starts, ends] = columns.map(|column| column.as_primitive::<T>());
    for row in rows.filter(|row| starts.is_valid(*row) && ends.is_valid(*row)) {
        let (start, end) = (key(&starts.value(row)), key(&ends.value(row)));
        if let (Some(start), Some(end)) = (start, end)
            && start < end
        {
            take(row, start, end);
        }
    }
}

/// A whole number for a finite one, in the same order: the bits of a Float64, of a negative one all but the sign turned round.
fn key(x: f64) -> Option<i64> {
    // 0.0 and -0.0 are one moment.
    let bits = (x + 0.0).to_bits().cast_signed();
    x.is_finite().then_some(turned(bits))
}

fn seconds(key: i64) -> f64 {
    f64::from_bits(turned(key).cast_unsigned())
}

fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// What intervals are called by.
#[derive(Clone)]
pub(in crate::engine::functions) enum Ids {
    /// Nothing.
    None,
    /// Whole numbers.
    Int64,
    /// Whole numbers without a sign.
    UInt64,
    /// Texts, each held once.
    Text(Texts),
}

/// Texts and the numbers that stand for them.
#[derive(Clone, Default)]
pub(in crate::engine::functions) struct Texts {
    numbers: HashMap<Arc<str>, u64>,
    texts: Vec<Arc<str>>,
    bytes: usize,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (number, text) = (self.texts.len() as u64, Arc::<str>::from(text));
        self.bytes += text.len() + 64;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn text(&self, number: u64) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }
}

impl Ids {
    /// Those of a column of this type.
    pub(in crate::engine::functions) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int64 => Self::Int64,
            DataType::UInt64 => Self::UInt64,
            _ => Self::Text(Texts::default()),
        }
    }

    /// Their type; None if there are none.
    pub(in crate::engine::functions) fn data_type(&self) -> Option<DataType> {
        match self {
            Self::None => None,
            Self::Int64 => Some(DataType::Int64),
            Self::UInt64 => Some(DataType::UInt64),
            Self::Text(_) => Some(DataType::Utf8),
        }
    }

    /// Number that stands for the one of a row; None if it is NULL.
    fn number(&mut self, column: Option<&ArrayRef>, row: usize) -> Option<u64> {
        let Some(column) = column else {
            return Some(0);
        };
        if column.is_null(row) {
            return None;
        }
        Some(match self {
            Self::None => 0,
            Self::Int64 => column
                .as_primitive::<Int64Type>()
                .value(row)
                .cast_unsigned(),
            Self::UInt64 => column.as_primitive::<UInt64Type>().value(row),
            Self::Text(texts) => texts.number(column.as_string::<i32>().value(row)),
        })
    }

    fn array(&self, numbers: impl Iterator<Item = u64>) -> Option<ArrayRef> {
        Some(match self {
            Self::None => return None,
            Self::Int64 => {
                let numbers = numbers.map(u64::cast_signed);
                Arc::new(Int64Array::from_iter_values(numbers))
            }
            Self::UInt64 => Arc::new(UInt64Array::from_iter_values(numbers)),
            Self::Text(texts) => {
                let texts = numbers.map(|number| texts.text(number));
                Arc::new(StringArray::from_iter_values(texts))
            }
        })
    }

    fn order(&self, a: u64, b: u64) -> Ordering {
        match self {
            Self::Int64 => a.cast_signed().cmp(&b.cast_signed()),
            Self::Text(texts) => texts.text(a).cmp(texts.text(b)),
            Self::None | Self::UInt64 => a.cmp(&b),
        }
    }
}

/// A list of intervals, each with its id where there are such.
pub(in crate::engine::functions) fn list(id: Option<DataType>, time: Time) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(fields(id, time)),
        true,
    )))
}

fn fields(id: Option<DataType>, time: Time) -> Fields {
    let id = id.map(|id| Field::new("id", id, true));
    let ends = ["start", "end"].map(|name| Field::new(name, time.data_type(), true));
    id.into_iter().chain(ends).collect()
}

/// What is asked of the intervals of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::functions) enum Asked {
    /// The least number of them that cover the union.
    Cover,
    /// The length of the union, in seconds.
    Length,
}

/// The intervals of all groups. The partial state of a group is a list of those that are not covered by another, or of the
/// parts of their union: neither depends on how rows were divided or in which order they came.
#[derive(Clone)]
pub(in crate::engine::functions) struct Intervals {
    asked: Asked,
    ids: Ids,
    time: Time,
    values: Grouped<Interval>,
}

impl Intervals {
    /// No intervals. Arguments are the id where there is one, the begin, the end.
    pub(in crate::engine::functions) fn new(asked: Asked, ids: Ids, time: Time) -> Self {
        Self {
            asked,
            ids,
            time,
            values: Grouped::default(),
        }
    }

    /// Takes the intervals of some rows; `groups` has the group of each row.
    fn push(
        &mut self,
        columns: &[ArrayRef],
        groups: &[usize],
        rows: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let (id, ends) = match columns {
            [id, start, end] => (Some(id), [start, end]),
            [start, end] => (None, [start, end]),
            _ => {
                return Err(exec_datafusion_err!(
                    "{} columns of intervals",
                    columns.len()
                ));
            }
        };
        let (ids, values) = (&mut self.ids, &mut self.values);
        self.time.each(ends, rows, |row, start, end| {
            if let Some(id) = ids.number(id, row) {
                values.push(groups[row], Interval { start, end, id });
            }
        });
        Ok(())
    }

    /// What `each` makes of the pruned intervals of the emitted groups, and where it ends for each group.
    fn emit(
        &mut self,
        emit_to: EmitTo,
        each: impl Fn(&[Interval], &mut Vec<Interval>),
    ) -> (Vec<usize>, Vec<Interval>) {
        let (ends, mut values) = self.values.take(emit_to);
        let (mut found, mut found_ends) = (Vec::with_capacity(values.len()), vec![0]);
        for ends in ends.windows(2) {
            let group = &mut values[ends[0]..ends[1]];
            let left = prune(group, |a, b| self.ids.order(a, b));
            each(&group[..left], &mut found);
            found_ends.push(found.len());
        }
        (found_ends, found)
    }

    /// Lists of intervals; NULL where there are none.
    fn lists(&self, ends: &[usize], intervals: &[Interval]) -> Result<ArrayRef> {
        let ids = self.ids.array(intervals.iter().map(|interval| interval.id));
        let starts = self
            .time
            .array(intervals.iter().map(|interval| interval.start));
        let stops = self
            .time
            .array(intervals.iter().map(|interval| interval.end));
        let fields = fields(self.ids.data_type(), self.time);
        let columns = ids.into_iter().chain([starts, stops]).collect();
        let items = StructArray::try_new(fields, columns, None)?;
        let lengths = || ends.windows(2).map(|ends| ends[1] - ends[0]);
        Ok(Arc::new(ListArray::try_new(
            Arc::new(Field::new_list_field(items.data_type().clone(), true)),
            OffsetBuffer::from_lengths(lengths()),
            Arc::new(items),
            Some(NullBuffer::from_iter(lengths().map(|length| length > 0))),
        )?))
    }
}

/// Appends the parts of a union.
fn parts(pruned: &[Interval], into: &mut Vec<Interval>) {
    union(pruned, |start, end| {
        into.push(Interval { start, end, id: 0 })
    });
}

impl Accumulate for Intervals {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for Intervals {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.push(values, groups, passing(groups.len(), filter))?;
        self.values.grow(total);
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let lists = values[0].as_list::<i32>();
        let (of_items, rows) = items_of(lists, groups);
        self.push(lists.values().as_struct().columns(), &of_items, rows)?;
        self.values.grow(total);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        match self.asked {
            Asked::Cover => {
                let (ends, found) = self.emit(emit_to, |pruned, into| {
                    cover(pruned, |interval, start| {
                        into.push(Interval { start, ..*interval });
                    });
                });
                self.lists(&ends, &found)
            }
            Asked::Length => {
                let (ends, found) = self.emit(emit_to, parts);
                let length = |part: &Interval| self.time.between(part.start, part.end);
                let lengths = ends.windows(2).map(|ends| {
                    let parts = &found[ends[0]..ends[1]];
                    (!parts.is_empty()).then(|| parts.iter().map(length).sum::<f64>())
                });
                Ok(Arc::new(lengths.collect::<Float64Array>()))
            }
        }
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (ends, found) = match self.asked {
            Asked::Cover => self.emit(emit_to, |pruned, into| into.extend_from_slice(pruned)),
            Asked::Length => self.emit(emit_to, parts),
        };
        Ok(vec![self.lists(&ends, &found)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut each = Self {
            values: Grouped::default(),
            ..self.clone()
        };
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        let texts = match &self.ids {
            Ids::Text(texts) => texts.bytes,
            _ => 0,
        };
        self.values.size() + texts
    }
}

/// Types for an id, if there is one, and for the begin and the end of an interval.
pub(super) fn interval_types(
    page: &FunctionDoc,
    id: bool,
    given: &[DataType],
) -> Result<Vec<DataType>> {
    let at = usize::from(id);
    let time = |start: &DataType, end: &DataType| {
        Time::of(start, end).map_or_else(
            || {
                plan_err!(
                    "{}: start is of type {start} and end of type {end}; both must be numbers, seconds, or both times: {}",
                    page.name,
                    page.syntax
                )
            },
            |time| Ok(time.data_type()),
        )
    };
    let time = match given.get(at..) {
        Some([start, end]) => time(start, end)?,
        _ => DataType::Null,
    };
    taken(page, &[at + 2], given, |i, t| match t {
        _ if i >= at => Some(time.clone()),
        DataType::UInt64 => Some(DataType::UInt64),
        t => text_type(t)
            .filter(|_| !t.is_null())
            .or_else(|| integer_type(t)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
    use proptest::prelude::*;

    #[test]
    fn numbers_stand_in_the_order_of_the_seconds_that_they_stand_for() {
        let all = [
            -1e300,
            -2.5,
            -f64::MIN_POSITIVE,
            0.0,
            1e-300,
            0.1,
            117.0,
            1e300,
        ];
        let keys: Vec<i64> = all.iter().map(|x| key(*x).unwrap()).collect();
        assert!(keys.is_sorted());
        assert_eq!(keys.iter().map(|k| seconds(*k)).collect::<Vec<_>>(), all);
        assert_eq!(key(-0.0), key(0.0));
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(key(none), None);
        }
    }

    /// The lists of some groups as text.
    fn shown(array: &ArrayRef) -> Vec<String> {
        let options = FormatOptions::default();
        let shown = ArrayFormatter::try_new(array, &options).unwrap();
        (0..array.len())
            .map(|at| shown.value(at).to_string())
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        /// However rows are divided, merged and emitted, the answer is that of all rows at once.
        #[test]
        fn partial_states_merge_exactly(
            rows in prop::collection::vec((0usize..3, 0u32..9, 0u8..30, 0u8..9), 0..60), asked in prop::bool::ANY, text in prop::bool::ANY,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 3), direct in any::<bool>(), first in 0usize..4, turned in any::<bool>()
        ) {
            let new = || match (asked, text) {
                (false, _) => Intervals::new(Asked::Length, Ids::None, Time::Seconds),
                (true, false) => Intervals::new(Asked::Cover, Ids::Int64, Time::Seconds),
                (true, true) => Intervals::new(Asked::Cover, Ids::Text(Texts::default()), Time::Seconds),
            };
            // Sums of these are not exact in binary.
            let columns = |rows: &[(usize, u32, u8, u8)]| -> (Vec<ArrayRef>, Vec<usize>) {
                let ids: ArrayRef = match text {
                    true => Arc::new(StringArray::from_iter_values(rows.iter().map(|r| format!("file {}", 9 - r.1)))),
                    false => Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| i64::from(r.1) - 4))),
                };
                let starts: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| f64::from(r.2) / 10.0)));
                let ends: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| f64::from(r.2 + r.3) / 10.0)));
                let all = if asked { vec![ids, starts, ends] } else { vec![starts, ends] };
                (all, rows.iter().map(|r| r.0).collect())
            };
            let mut whole = new();
            let (all, groups) = columns(&rows);
            whole.update_batch(&all, &groups, None, 3).unwrap();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(rows.len() + 1)).collect();
            cuts.extend([0, rows.len()]);
            cuts.sort_unstable();
            let mut pieces: Vec<_> = cuts.windows(2).map(|ends| &rows[ends[0]..ends[1]]).collect();
            if turned {
                pieces.reverse();
            }
            let mut merged = new();
            for piece in pieces {
                let (columns, groups) = columns(piece);
                let mut partial = new();
                if direct {
                    merged.merge_batch(&partial.convert_to_state(&columns, None).unwrap(), &groups, 3).unwrap();
                } else {
                    partial.update_batch(&columns, &groups, None, 3).unwrap();
                    merged.merge_batch(&partial.state(EmitTo::All).unwrap(), &[0, 1, 2], 3).unwrap();
                }
            }
            let mut found = shown(&merged.evaluate(EmitTo::First(first.min(3))).unwrap());
            found.extend(shown(&merged.evaluate(EmitTo::All).unwrap()));
            prop_assert_eq!(found, shown(&whole.evaluate(EmitTo::All).unwrap()));
        }
    }
}
