//! `ost_union`: the OSTs that any of some rows has.

use super::fold::{Operation, SetFold, state};
use crate::engine::functions::arguments::{bits_type, taken, text_type};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};
use datafusion::arrow::datatypes::DataType;

pub(in crate::engine::functions) static OST_UNION: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "ost_union",
        description: "The OSTs that at least one of the sets has, as a roaring bitmap; NULL if there is no set. OST indexes belong to \
            a file system, so all sets of a group must be of the same one: group by fs.",
        syntax: "ost_union(fs, bits)",
        arguments: &[
            ("fs", "text: file system of the set"),
            (
                "bits",
                "roaring bitmap of OST indexes, such as darshan_file.ost_bits",
            ),
        ],
        example: "SELECT fs, ost_list(ost_union(fs, ost_bits(osts))) FROM (VALUES ('home', [1]), ('scratch', [1, 2]), ('scratch', [2, 9])) \
            AS file(fs, osts) GROUP BY fs ORDER BY fs",
        answer: "home | [1]\nscratch | [1, 2, 9]",
    },
    coerce: |given| {
        taken(&OST_UNION.doc, &[2], given, |i, t| {
            if i == 0 { text_type(t) } else { bits_type(t) }
        })
    },
    return_type: |_| DataType::Binary,
    state: |_| state(),
    distinct_is_same: true,
    fold: |_| Ok(Box::new(SetFold::new("ost_union", Operation::Union))),
};

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn sets_of_two_file_systems_in_one_group_are_an_error_that_names_both() {
        let error = ask(
            "SELECT ost_union(fs, ost_bits([1])) FROM (VALUES ('home'), ('scratch')) AS file(fs)",
        )
        .unwrap_err();
        assert_eq!(
            error,
            "ost_union: a group has sets of the file systems `home` and `scratch`: OST indexes belong to a file system; group by fs as well"
        );
    }

    #[test]
    fn a_window_sees_the_union_grow_row_by_row() {
        let sql = "SELECT ost_count(ost_union('a', ost_bits([n])) OVER (ORDER BY n)) FROM (VALUES (1), (2), (3)) AS t(n) ORDER BY n";
        assert_eq!(ask(sql).unwrap(), ["1", "2", "3"]);
    }

    #[test]
    fn no_rows_and_only_null_sets_give_null() {
        assert_eq!(
            ask("SELECT ost_union('a', ost_bits([1])) WHERE false").unwrap(),
            ["NULL"]
        );
        assert_eq!(
            ask("SELECT ost_union(fs, NULL) FROM (VALUES ('home'), ('scratch')) AS file(fs)")
                .unwrap(),
            ["NULL"]
        );
    }
}
