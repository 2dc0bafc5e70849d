//! `bin`: which of some half-open bins a number lies in.

use super::arguments::{fits_int64, list_of, number_type, taken};
use super::definition::{FunctionDoc, Scalar};
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

pub(super) static BIN: Scalar = Scalar {
    doc: FunctionDoc {
        name: "bin",
        description: "The number of the half-open bin that x lies in: how many of the edges are at most x. 0 is below the first edge, \
            1 from the first edge (included) to the second (left out), and so on. NULL for NULL and for NaN.",
        syntax: "bin(x, edges)",
        arguments: &[
            ("x", "number"),
            ("edges", "list of numbers, each greater than the one before"),
        ],
        example: "SELECT bin(999999999, [1e9, 1e10]), bin(1e9, [1e9, 1e10]), bin(5e10, [1e9, 1e10])",
        answer: "0 | 1 | 2",
    },
    coerce: bin_types,
    return_type: || DataType::Int64,
    kernel: bin,
};

/// Integers are compared as integers, for a Float64 cannot tell apart those beyond 2^53.
fn bin_types(given: &[DataType]) -> Result<Vec<DataType>> {
    let item = |t: &DataType| match t {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type().clone())
        }
        DataType::Null => Some(DataType::Null),
        _ => None,
    };
    let whole = |t: &DataType| fits_int64(t) || t.is_null();
    let integers =
        given.len() == 2 && whole(&given[0]) && item(&given[1]).is_some_and(|t| whole(&t));
    let number =
        |t: &DataType| number_type(t).map(|float| if integers { DataType::Int64 } else { float });
    taken(&BIN.doc, &[2], given, |i, t| {
        if i == 0 {
            number(t)
        } else {
            number(&item(t)?).map(list_of)
        }
    })
}

fn bin(args: &[ArrayRef]) -> Result<ArrayRef> {
    match args[0].data_type() {
        DataType::Int64 => bin_of::<Int64Type>(args),
        _ => bin_of::<Float64Type>(args),
    }
}

fn bin_of<T: ArrowPrimitiveType>(args: &[ArrayRef]) -> Result<ArrayRef>
where
    T::Native: PartialOrd + std::fmt::Display,
{
    let (x, lists) = (args[0].as_primitive::<T>(), args[1].as_list::<i32>());
    let edges = lists.values().as_primitive::<T>();
    let bin = |i: usize| {
        let ends = &lists.offsets()[i..i + 2];
        let row = &edges.values()[ends[0] as usize..ends[1] as usize];
        if x.is_null(i) || lists.is_null(i) || x.value(i).partial_cmp(&x.value(i)).is_none() {
            return Ok(None);
        }
        if (ends[0]..ends[1]).any(|at| edges.is_null(at as usize)) {
            return exec_err!(
                "bin: an edge is NULL; edges are numbers, each greater than the one before"
            );
        }
        match row
            .windows(2)
            .find(|pair| pair[0].partial_cmp(&pair[1]) != Some(std::cmp::Ordering::Less))
        {
            Some(pair) => exec_err!(
                "bin: edge {} follows {}; edges are numbers, each greater than the one before",
                pair[1],
                pair[0]
            ),
            None => Ok(Some(row.partition_point(|edge| *edge <= x.value(i)) as i64)),
        }
    };
    Ok(Arc::new(
        (0..x.len()).map(bin).collect::<Result<Int64Array>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;

    #[test]
    fn integers_beyond_2_to_the_53_are_told_apart() {
        assert_eq!(ask("SELECT bin(9007199254740992, [9007199254740993]), bin(9007199254740993, [9007199254740993])").unwrap(), ["0 | 1"]);
    }

    #[test]
    fn null_and_nan_lie_in_no_bin_and_without_edges_there_is_one() {
        assert_eq!(
            ask("SELECT bin(NULL, [1, 2]), bin('NaN'::double, [1.0]), bin(5, NULL), bin(5, [])")
                .unwrap(),
            ["NULL | NULL | NULL | 0"]
        );
    }

    #[test]
    fn edges_that_do_not_ascend_are_an_error_that_names_them() {
        let error = ask("SELECT bin(1, [1, 3, 3])").unwrap_err();
        assert_eq!(
            error,
            "bin: edge 3 follows 3; edges are numbers, each greater than the one before"
        );
        assert!(
            ask("SELECT bin(1, [1, NULL])")
                .unwrap_err()
                .starts_with("bin: an edge is NULL")
        );
    }
}
