//! `io_pattern`: when intervals of I/O lie in a run, and whether they come again and again.

use crate::engine::functions::accumulate::Accumulate;
use crate::engine::functions::arguments::taken;
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use crate::engine::functions::grouped::{Grouped, items_of, passing};
use crate::math::io_pattern::corrections::Corrections;
use crate::math::io_pattern::operation::Operation;
use crate::math::io_pattern::pattern::{Pattern, Run, pattern};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, ListArray, ListBuilder, StringBuilder,
    StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(in crate::engine::functions) static IO_PATTERN: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "io_pattern",
        description: "When intervals of I/O lie in a run, and whether they come again and again, by MOSAIC, mode full: a struct of classes, such as on_start, \
            steady or periodic; of the parts of the bytes in the first quarter of the run, its middle half and its last quarter; and, if they are periodic, of the \
            seconds from one repetition to the next and the part of these that is I/O. Intervals are traced accesses, bins, or first and last accesses of files; each counts \
            with its bytes spread evenly over it. NULL if there is none, or no run time. An interval counts if both ends are finite numbers, it does not begin before 0 nor end before it \
            begins, and it has bytes. The run is as long as the greatest run_time of the group, or up to the last end if that comes later. The classes do not depend on the order of \
            the rows.",
        syntax: "io_pattern(start, end, bytes, run_time)",
        arguments: &[
            (
                "start",
                "seconds since the start of the run: the first access",
            ),
            (
                "end",
                "seconds since the start of the run: the end of the last access",
            ),
            ("bytes", "number: bytes moved"),
            ("run_time", "seconds: the length of the run"),
        ],
        example: "SELECT p['classes'], p['start_share'], p['period'] FROM (SELECT io_pattern(10 * i, 10 * i + 1, 1e9, 100) AS p \
            FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS t(i))",
        answer: "[steady, periodic, periodic_s, periodic_low_busy_time] | 0.3 | 10.0",
    },
    coerce: |given| {
        taken(&IO_PATTERN.doc, &[4], given, |_, t| {
            (t.is_numeric() || t.is_null()).then_some(DataType::Float64)
        })
    },
    return_type: |_| DataType::Struct(fields()),
    state: |_| vec![("intervals", list())],
    distinct_is_same: false,
    fold: |_| Ok(Box::new(Patterns::default())),
};

/// The fields of the result.
fn fields() -> Fields {
    let text = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let classes = Field::new("classes", DataType::List(text), true);
    let numbers = [
        "start_share",
        "middle_share",
        "end_share",
        "period",
        "period_busy",
    ];
    let numbers = numbers.map(|name| Field::new(name, DataType::Float64, true));
    std::iter::once(classes).chain(numbers).collect()
}

/// The fields of an interval in a partial state: the arguments.
fn arguments() -> Fields {
    let names = ["start", "end", "bytes", "run_time"];
    names
        .map(|name| Field::new(name, DataType::Float64, true))
        .into_iter()
        .collect()
}

fn list() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(arguments()),
        true,
    )))
}

/// An interval: its start, its end, its bytes and the length of the run.
type Interval = [f64; 4];

/// The intervals of all groups, which are also its partial state.
#[derive(Clone, Default)]
struct Patterns {
    values: Grouped<Interval>,
}

impl Patterns {
    fn push(
        &mut self,
        columns: &[ArrayRef],
        groups: &[usize],
        rows: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let [starts, ends, bytes, lengths] = columns else {
            return Err(exec_datafusion_err!(
                "{} columns of intervals",
                columns.len()
            ));
        };
        let columns = [starts, ends, bytes, lengths].map(|c| c.as_primitive::<Float64Type>());
        for row in rows.filter(|row| columns.iter().all(|column| column.is_valid(*row))) {
            let interval = columns.map(|column| column.value(row));
            let [start, end, bytes, length] = interval;
            let is_finite = interval.iter().all(|value| value.is_finite());
            if is_finite && 0.0 <= start && start <= end && bytes > 0.0 && length >= 0.0 {
                self.values.push(groups[row], interval);
            }
        }
        Ok(())
    }
}

/// What the intervals of a group do; None without any.
fn of(intervals: &mut [Interval]) -> Option<Pattern> {
    // In one order, however the rows came.
    let by_value = |a: &Interval, b: &Interval| {
        let each = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
        each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    intervals.sort_by(by_value);
    let longest = |at: usize| intervals.iter().map(|i| i[at]).reduce(f64::max);
    let total = longest(3)?.max(longest(1)?);
    let operations = intervals.iter().map(|[start, end, bytes, _]| Operation {
        start: *start,
        end: *end,
        bytes: *bytes as i64,
        rank_seconds: end - start,
        earliest: *start,
        ..Operation::default()
    });
    let run = Run {
        total,
        nprocs: 1,
        opens_and_seeks: (0, 0),
        bin: None,
        min_bytes: 0,
    };
    // Too many segments are sliced.
    pattern(operations.collect(), run, Corrections::FULL).ok()
}

impl Accumulate for Patterns {
    fn copy(&self) -> Box<dyn Accumulate> {
        Box::new(self.clone())
    }
}

impl GroupsAccumulator for Patterns {
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
        let columns = lists.values().as_struct().columns();
        self.push(columns, &of_items, rows)?;
        self.values.grow(total);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (ends, mut values) = self.values.take(emit_to);
        let groups = ends.windows(2);
        let patterns = groups.map(|ends| of(&mut values[ends[0]..ends[1]]));
        let patterns: Vec<Option<Pattern>> = patterns.collect();
        let mut classes = ListBuilder::new(StringBuilder::new());
        for pattern in &patterns {
            let of_one = pattern.iter().flat_map(|pattern| &pattern.classes);
            of_one.for_each(|class| classes.values().append_value(class.name()));
            classes.append(pattern.is_some());
        }
        let numbers = |value: &dyn Fn(&Pattern) -> Option<f64>| -> ArrayRef {
            let values = patterns.iter().map(|pattern| value(pattern.as_ref()?));
            Arc::new(values.collect::<Float64Array>())
        };
        let share = |part: usize| numbers(&|pattern| Some(pattern.shares?[part]));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(classes.finish()),
            share(0),
            share(1),
            share(2),
            numbers(&|pattern| Some(pattern.period?.seconds)),
            numbers(&|pattern| Some(pattern.period?.busy)),
        ];
        let known = NullBuffer::from_iter(patterns.iter().map(Option::is_some));
        Ok(Arc::new(StructArray::try_new(
            fields(),
            columns,
            Some(known),
        )?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (ends, values) = self.values.take(emit_to);
        let column = |at: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(
                values.iter().map(|value| value[at]),
            ))
        };
        let columns = (0..arguments().len()).map(column).collect();
        let items = StructArray::try_new(arguments(), columns, None)?;
        let lengths = ends.windows(2).map(|ends| ends[1] - ends[0]);
        Ok(vec![Arc::new(ListArray::try_new(
            Arc::new(Field::new_list_field(items.data_type().clone(), true)),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(items),
            None,
        )?)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut each = Self::default();
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// The classes of writes of a gigabyte, given as VALUES of start and end, in a run of 100 s.
    fn classes(rows: &str) -> String {
        let sql =
            format!("SELECT io_pattern(a, b, 1e9, 100)['classes'] FROM (VALUES {rows}) AS t(a, b)");
        ask(&sql).unwrap().join("; ")
    }

    /// Vectors of the published tool: MOSAIC, acceptance 3.
    #[test]
    fn one_interval_lies_in_a_part_of_the_run() {
        for (rows, expected) in [
            ("(0, 10)", "[on_start]"),
            ("(90, 100)", "[on_end]"),
            ("(0, 100)", "[steady]"),
            ("(30, 70)", "[after_start_before_end]"),
            ("(0, 75)", "[before_end]"),
            ("(25, 100)", "[after_start]"),
        ] {
            assert_eq!(classes(rows), expected, "{rows}");
        }
    }

    #[test]
    fn what_is_no_interval_is_left_out() {
        let wrong = "(NULL, 3), (3, NULL), (5, 4), (-1, 3), ('NaN'::double, 3), (1, 'inf'::double)";
        assert_eq!(classes(wrong), "NULL");
        assert_eq!(classes(&format!("{wrong}, (0, 10)")), "[on_start]");
        let sql = "SELECT io_pattern(0, 1, 0, 100), io_pattern(0, 1, 5, NULL), io_pattern(0, 1, 5, 100) FILTER (WHERE false)";
        assert_eq!(ask(sql).unwrap(), ["NULL | NULL | NULL"]);
    }

    #[test]
    fn groups_and_windows_and_the_order_of_rows() {
        let rows = "(VALUES (1, 0, 10), (1, 0, 5), (2, 95, 100), (3, 1, 1)) AS t(g, a, b)";
        let sql = format!(
            "SELECT g, io_pattern(a, b, 7, 100)['classes'], io_pattern(a, b, 7, 100)['end_share'] FROM {rows} GROUP BY g ORDER BY g"
        );
        let expected = [
            "1 | [on_start] | 0.0",
            "2 | [on_end] | 1.0",
            "3 | [on_start] | 0.0",
        ];
        assert_eq!(ask(&sql).unwrap(), expected);
        let sql = format!(
            "SELECT a, io_pattern(a, b, 7, 100) OVER (ORDER BY a, b)['start_share'] FROM {rows} ORDER BY a, b"
        );
        let expected = ["0 | 1.0", "0 | 1.0", "1 | 1.0", "95 | 0.75"];
        assert_eq!(ask(&sql).unwrap(), expected);
    }

    /// Ends of bins are starts plus a width, or the next start: they differ in the last digit.
    #[test]
    fn bins_that_follow_one_another_are_one_burst_however_their_ends_are_computed() {
        let ask = |end: &str| {
            let sql = format!(
                "SELECT io_pattern(i * 0.7, {end}, 1e9, 130) FROM generate_series(85, 161) AS t(i)"
            );
            ask(&sql).unwrap().join("; ")
        };
        let found = ask("(i + 1) * 0.7");
        assert_eq!(found, ask("i * 0.7 + 0.7"));
        assert!(!found.contains("periodic"), "{found}");
    }

    #[test]
    fn other_types_are_refused_by_name() {
        let error = ask("SELECT io_pattern('a', 1, 2, 3)").unwrap_err();
        assert!(error.starts_with("io_pattern: argument 1"), "{error}");
        let error = ask("SELECT io_pattern(1, 2, 3)").unwrap_err();
        assert!(
            error.starts_with("io_pattern takes 4 arguments, 3 were given"),
            "{error}"
        );
    }
}
