//! `set_agg`: the different ids of some rows.

use super::sets::{fold, set_of};
use crate::engine::functions::arguments::{id_type, taken};
use crate::engine::functions::definition::{Aggregate, FunctionDoc};

pub(in crate::engine) static SET_AGG: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "set_agg",
        description: "The different values of id, as a list in ascending order; NULL if there is none. NULLs are left out. Numbers of \
            different values cannot be added up; sets of groups can be united by set_union, so that what is counted once in each of them is \
            counted once in all. Keeps the different values in memory; count(DISTINCT id) does not need to.",
        syntax: "set_agg(id)",
        arguments: &[("id", "integer, such as log_id, job_id or record_id")],
        example: "SELECT fs, set_agg(log_id) FROM (VALUES ('scratch', 8), ('home', 3), ('scratch', 3), ('scratch', 8)) AS file(fs, log_id) \
            GROUP BY fs ORDER BY fs",
        answer: "home | [3]\nscratch | [3, 8]",
    },
    coerce: |given| taken(&SET_AGG.doc, &[1], given, |_, t| id_type(t)),
    return_type: |taken| set_of(&taken[0]),
    state: |taken| vec![("ids", set_of(&taken[0]))],
    distinct_is_same: true,
    fold: |args| Ok(fold(args.expr_fields[0].data_type())),
};

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn ids_of_all_64_bits_keep_their_type_and_order() {
        let sql = "SELECT set_agg(id), arrow_typeof(set_agg(id)) FROM (SELECT arrow_cast(v, 'UInt64') AS id FROM (VALUES (18446744073709551615), (9223372036854775808), (0)) AS t(v))";
        let expected = "[0, 9223372036854775808, 18446744073709551615] | List(UInt64)";
        assert_eq!(ask(sql).unwrap(), [expected]);
        let sql = "SELECT set_agg(arrow_cast(id, 'Int16')), arrow_typeof(set_agg(id)) FROM (VALUES (3), (-2), (3)) AS t(id)";
        assert_eq!(ask(sql).unwrap(), ["[-2, 3] | List(Int64)"]);
    }

    #[test]
    fn no_rows_and_only_nulls_give_null() {
        assert_eq!(ask("SELECT set_agg(1) WHERE false").unwrap(), ["NULL"]);
        assert_eq!(ask("SELECT set_agg(NULL)").unwrap(), ["NULL"]);
    }

    #[test]
    fn a_window_sees_the_set_grow_row_by_row() {
        let sql = "SELECT n, set_agg(n % 2) OVER (ORDER BY n) FROM (VALUES (1), (2), (3)) AS t(n) ORDER BY n";
        assert_eq!(ask(sql).unwrap(), ["1 | [1]", "2 | [0, 1]", "3 | [0, 1]"]);
    }
}
