//! `set_union`: the ids that any of some sets has.

use super::sets::{fold, set_of};
use crate::engine::functions::arguments::{id_type, taken};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use datafusion::arrow::datatypes::DataType;

pub(in crate::engine::functions) static SET_UNION: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "set_union",
        description: "The different values that at least one of the lists has, as a list in ascending order; NULL if there is none. The \
            lists are those of set_agg, or any others of integers.",
        syntax: "set_union(ids)",
        arguments: &[("ids", "list of integers")],
        example: "SELECT set_union(logs) FROM (VALUES ([3, 8]), ([3]), ([5, 8])) AS layout(logs)",
        answer: "[3, 5, 8]",
    },
    coerce: |given| taken(&SET_UNION.doc, &[1], given, |_, t| list_type(t)),
    return_type: |taken| taken[0].clone(),
    state: |taken| vec![("ids", taken[0].clone())],
    distinct_is_same: true,
    fold: |args| Ok(fold(ids_of(args.expr_fields[0].data_type()))),
};

/// A list of ids in place of this type.
fn list_type(given: &DataType) -> Option<DataType> {
    match given {
        DataType::Null => Some(set_of(&DataType::Int64)),
        _ => id_type(ids_of(given))
            .map(|ids| set_of(&ids))
            .filter(|_| !given.is_integer()),
    }
}

/// The type of what a list has; that of what is no list.
fn ids_of(list: &DataType) -> &DataType {
    match list {
        DataType::List(ids) | DataType::LargeList(ids) | DataType::FixedSizeList(ids, _) => {
            ids.data_type()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn lists_may_be_empty_null_out_of_order_and_of_any_integers() {
        let sql =
            "SELECT set_union(l) FROM (VALUES ([9, NULL, 2]), (NULL), ([]), ([2, 2])) AS t(l)";
        assert_eq!(ask(sql).unwrap(), ["[2, 9]"]);
        let sql =
            "SELECT set_union(arrow_cast(l, 'LargeList(UInt64)')) FROM (VALUES ([9, 2])) AS t(l)";
        assert_eq!(ask(sql).unwrap(), ["[2, 9]"]);
        assert_eq!(
            ask("SELECT set_union(NULL), set_union([]) FILTER (WHERE false)").unwrap(),
            ["NULL | NULL"]
        );
    }

    #[test]
    fn what_is_no_list_of_integers_is_refused() {
        for given in ["1", "[1.5]", "['a']"] {
            let error = ask(&format!("SELECT set_union({given})")).unwrap_err();
            assert!(
                error.starts_with("set_union: argument 1 cannot be of type"),
                "{error}"
            );
        }
    }
}
