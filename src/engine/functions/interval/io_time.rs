//! `io_time`: for how long there was I/O, whatever lay side by side.

use super::intervals::interval_types;
use super::intervals::{Asked, Ids, Intervals, Time, list};
use crate::engine::functions::definition::{Aggregate, FunctionDoc, types};
use datafusion::arrow::datatypes::DataType;

pub(in crate::engine::functions) static IO_TIME: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "io_time",
        description: "Seconds for which at least one of the intervals was open: the length of their union; NULL if there is no interval. Which \
            count is as for critical_files, whose parts add up to it.",
        syntax: "io_time(start, end)",
        arguments: &[
            ("start", "seconds, or a time on the clock: the first access"),
            ("end", "the same: the end of the last access"),
        ],
        example: "SELECT io_time(a, b) FROM (VALUES (0, 10), (6, 12), (4, 8), (16, 18)) AS t(a, b)",
        answer: "14.0",
    },
    coerce: |given| interval_types(&IO_TIME.doc, false, given),
    return_type: |_| DataType::Float64,
    state: |taken| vec![("parts", list(None, Time::of_both(taken)))],
    distinct_is_same: true,
    fold: |args| {
        let taken = types(args.expr_fields);
        let time = Time::of_both(&taken);
        Ok(Box::new(Intervals::new(Asked::Length, Ids::None, time)))
    },
};
