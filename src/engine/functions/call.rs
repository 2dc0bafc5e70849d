//! Calls of iolode's functions as expressions, for DataFrames: `bin(col("bytes_written"), &[1e9, 1e10])`.
//!
//! What each gives says its `doc` in [`Scalar`] and [`Aggregate`], which `\df` shows.

use super::definition::{Aggregate, Scalar};
use super::interval::{critical_files as critical, io_pattern as io, io_time as time};
use super::ost::{
    ost_and as and, ost_bits as bits, ost_contains as contains, ost_count as counted,
    ost_intersect as intersection, ost_list as listed, ost_or as or, ost_overlap as overlap,
    ost_union as union,
};
use super::quantile::{approx_percentiles as approx, percentiles as exact, quantiles as some};
use super::set::{set_agg as agg, set_union as united};
use super::{
    bin as bins, bin_counts as counts, erfc as error_function, ratio as quotient,
    whole_percent as percent,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, lit};

fn scalar(function: &'static Scalar, args: Vec<Expr>) -> Expr {
    function.udf().call(args)
}

fn aggregate(function: &'static Aggregate, args: Vec<Expr>) -> Expr {
    function.udaf().call(args)
}

/// Which of the half-open bins between `edges`, ascending, `x` lies in: 0 is below the first edge.
pub fn bin(x: Expr, edges: &[f64]) -> Expr {
    let edges: Vec<ScalarValue> = edges.iter().map(|edge| ScalarValue::from(*edge)).collect();
    let edges = ScalarValue::new_list_nullable(&edges, &DataType::Float64);
    scalar(&bins::BIN, vec![x, lit(ScalarValue::List(edges))])
}

/// How many whole percent of `total` `part` is: 0 means nothing, 100 or more everything.
pub fn whole_percent(part: Expr, total: Expr) -> Expr {
    scalar(&percent::WHOLE_PERCENT, vec![part, total])
}

/// `a` divided by `b`, with a fraction; NULL where `b` is 0.
pub fn ratio(a: Expr, b: Expr) -> Expr {
    scalar(&quotient::RATIO, vec![a, b])
}

/// The complementary error function of `x`.
pub fn erfc(x: Expr) -> Expr {
    scalar(&error_function::ERFC, vec![x])
}

/// The set of OSTs of a list.
pub fn ost_bits(list: Expr) -> Expr {
    scalar(&bits::OST_BITS, vec![list])
}

/// How many OSTs are in a set.
pub fn ost_count(bits: Expr) -> Expr {
    scalar(&counted::OST_COUNT, vec![bits])
}

/// The OSTs of a set, ascending.
pub fn ost_list(bits: Expr) -> Expr {
    scalar(&listed::OST_LIST, vec![bits])
}

/// Whether an OST is in a set.
pub fn ost_contains(bits: Expr, ost: Expr) -> Expr {
    scalar(&contains::OST_CONTAINS, vec![bits, ost])
}

/// The OSTs that are in both sets, which must be of one file system.
pub fn ost_and(a: Expr, b: Expr) -> Expr {
    scalar(&and::OST_AND, vec![a, b])
}

/// The OSTs that are in either set, which must be of one file system.
pub fn ost_or(a: Expr, b: Expr) -> Expr {
    scalar(&or::OST_OR, vec![a, b])
}

/// How many OSTs two sets have in common, each with its file system.
pub fn ost_overlap(fs: Expr, bits: Expr, other_fs: Expr, other_bits: Expr) -> Expr {
    scalar(&overlap::OST_OVERLAP, vec![fs, bits, other_fs, other_bits])
}

/// Of a group: the OSTs that are in any of the sets of its file system.
pub fn ost_union(fs: Expr, bits: Expr) -> Expr {
    aggregate(&union::OST_UNION, vec![fs, bits])
}

/// Of a group: the OSTs that are in all of the sets of its file system.
pub fn ost_intersect(fs: Expr, bits: Expr) -> Expr {
    aggregate(&intersection::OST_INTERSECT, vec![fs, bits])
}

/// Of a group: the values that cut it into `parts` equal parts, the least and the greatest among them.
pub fn percentiles(x: Expr, parts: i64) -> Expr {
    aggregate(&exact::PERCENTILES, vec![x, lit(parts)])
}

/// Of a group: its quantiles at these places, each from 0 to 1.
pub fn quantiles(x: Expr, at: &[f64]) -> Expr {
    let at = at.iter().map(|at| lit(*at));
    aggregate(&some::QUANTILES, std::iter::once(x).chain(at).collect())
}

/// The percentiles from a sketch of bounded size.
pub fn approx_percentiles(x: Expr, parts: i64) -> Expr {
    aggregate(&approx::APPROX_PERCENTILES, vec![x, lit(parts)])
}

/// Of a group: how many values lie below `least`, in each of `n` bins of equal width, and from `most` on.
pub fn bin_counts(x: Expr, least: f64, most: f64, n: i64) -> Expr {
    aggregate(&counts::BIN_COUNTS, vec![x, lit(least), lit(most), lit(n)])
}

/// Of a group: its different ids, ascending.
pub fn set_agg(id: Expr) -> Expr {
    aggregate(&agg::SET_AGG, vec![id])
}

/// Of a group: the ids that any of its lists has, ascending.
pub fn set_union(ids: Expr) -> Expr {
    aggregate(&united::SET_UNION, vec![ids])
}

/// Of a group: the fewest intervals that account for all of the time in which there was any, each with its share of it.
pub fn critical_files(id: Expr, start: Expr, end: Expr) -> Expr {
    aggregate(&critical::CRITICAL_FILES, vec![id, start, end])
}

/// Of a group: the seconds in which there was an interval.
pub fn io_time(start: Expr, end: Expr) -> Expr {
    aggregate(&time::IO_TIME, vec![start, end])
}

/// Of a group: when its intervals of I/O lie in a run, and whether they come again and again.
pub fn io_pattern(start: Expr, end: Expr, bytes: Expr, run_time: Expr) -> Expr {
    io::IO_PATTERN
        .udaf()
        .call(vec![start, end, bytes, run_time])
}

#[cfg(test)]
mod tests {
    use super::super::{AGGREGATE, SCALAR};
    use super::*;
    use datafusion::logical_expr::col;

    #[test]
    fn every_function_can_be_called_from_rust() {
        let x = || col("x");
        let calls = [
            ost_bits(x()),
            ost_count(x()),
            ost_list(x()),
            ost_contains(x(), x()),
            ost_and(x(), x()),
            ost_or(x(), x()),
            ost_overlap(x(), x(), x(), x()),
            bin(x(), &[1.0]),
            whole_percent(x(), x()),
            ratio(x(), x()),
            erfc(x()),
            ost_union(x(), x()),
            ost_intersect(x(), x()),
            percentiles(x(), 4),
            quantiles(x(), &[0.5]),
            approx_percentiles(x(), 4),
            bin_counts(x(), 0.0, 1.0, 4),
            set_agg(x()),
            set_union(x()),
            critical_files(x(), x(), x()),
            io_time(x(), x()),
            io_pattern(x(), x(), x(), x()),
        ];
        let docs = SCALAR.iter().map(|f| &f.doc);
        let docs: Vec<_> = docs.chain(AGGREGATE.iter().map(|f| &f.doc)).collect();
        assert_eq!(calls.len(), docs.len());
        for (call, doc) in calls.iter().zip(docs) {
            let text = call.to_string();
            assert!(text.starts_with(&format!("{}(", doc.name)), "{text}");
            let args = doc.arguments.len();
            assert_eq!(text.matches(", ").count() + 1, args.max(1), "{text}");
        }
    }
}
