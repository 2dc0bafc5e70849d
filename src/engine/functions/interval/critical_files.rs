//! `critical_files`: the few files that account for all of the time in which there was I/O.

use super::intervals::interval_types;
use super::intervals::{Asked, Ids, Intervals, Time, list};
use crate::engine::functions::definition::{Aggregate, FunctionDoc, types};

pub(in crate::engine::functions) static CRITICAL_FILES: Aggregate = Aggregate {
    doc: FunctionDoc {
        name: "critical_files",
        description: "The least number of intervals that together cover all of the time in which at least one was open, each with the part of \
            it that is its own: a list of structs (id, start, end), ascending and without overlap; NULL if there is no interval. The first is \
            the one that begins first; where one ends, the next is the one that ends last of those that have begun by then, which may touch; \
            if there is none there is a gap, and the one that begins next goes on. Of those that end together the one that began first is \
            taken, of equal ones the least id. An interval counts if it has an id, both ends are finite numbers or times, and it ends after \
            it begins: zero length, reversed, NULL and NaN are left out, and so is 0.0 to 0.0, as Darshan writes what never was. An id with \
            several intervals may come out several times. Algorithm 2 of the IOMiner paper, with the choice that makes the cover minimum.",
        syntax: "critical_files(id, start, end)",
        arguments: &[
            ("id", "integer or text: the file"),
            ("start", "seconds, or a time on the clock: the first access"),
            ("end", "the same: the end of the last access"),
        ],
        example: "SELECT f['id'], f['start'], f['end'] FROM (SELECT unnest(critical_files(file, a, b)) AS f \
            FROM (VALUES ('File1', 0, 10), ('File2', 6, 12), ('File3', 4, 8), ('File4', 16, 18)) AS t(file, a, b))",
        answer: "File1 | 0.0 | 10.0\nFile2 | 10.0 | 12.0\nFile4 | 16.0 | 18.0",
    },
    coerce: |given| interval_types(&CRITICAL_FILES.doc, true, given),
    return_type: |taken| list(Ids::of(&taken[0]).data_type(), Time::of_both(&taken[1..])),
    state: |taken| {
        let state = list(Ids::of(&taken[0]).data_type(), Time::of_both(&taken[1..]));
        vec![("intervals", state)]
    },
    distinct_is_same: true,
    fold: |args| {
        let taken = types(args.expr_fields);
        let time = Time::of_both(&taken[1..]);
        Ok(Box::new(Intervals::new(
            Asked::Cover,
            Ids::of(&taken[0]),
            time,
        )))
    },
};

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// The critical files of rows, which stand as VALUES.
    fn cover(rows: &str) -> String {
        let sql = format!("SELECT critical_files(id, a, b) FROM (VALUES {rows}) AS t(id, a, b)");
        ask(&sql).unwrap().join("; ")
    }

    #[test]
    fn what_is_no_interval_is_left_out() {
        let missing = "(1, 0.0, 0.0), (2, 5.0, 5.0), (3, 9.0, 2.0), (4, 3.0, 0.0), (5, NULL, 7.0), (6, 1.0, NULL), (NULL, 0.0, 50.0),
            (7, 'NaN'::double, 3.0), (8, 1.0, 'inf'::double), (9, '-inf'::double, 1.0)";
        assert_eq!(cover(missing), "NULL");
        assert_eq!(
            cover(&format!("{missing}, (10, 3.0, 4.5)")),
            "[{id: 10, start: 3.0, end: 4.5}]"
        );
        assert_eq!(
            ask("SELECT critical_files(1, NULL, NULL)").unwrap(),
            ["NULL"]
        );
    }

    #[test]
    fn ids_are_whole_numbers_of_either_kind_or_texts_and_of_equal_intervals_the_least_stays() {
        let sql = "SELECT critical_files(arrow_cast(id, 'UInt64'), 0, 1) FROM (VALUES (18446744073709551615), (18446744073709551614)) AS t(id)";
        assert_eq!(
            ask(sql).unwrap(),
            ["[{id: 18446744073709551614, start: 0.0, end: 1.0}]"]
        );
        assert_eq!(
            cover("(2, 0, 1), (-3, 0, 1)"),
            "[{id: -3, start: 0.0, end: 1.0}]"
        );
        assert_eq!(
            cover("('b', 0, 1), ('a', 0, 1)"),
            "[{id: a, start: 0.0, end: 1.0}]"
        );
    }

    #[test]
    fn times_on_the_clock_stay_such() {
        let sql = "SELECT critical_files(id, CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP)), io_time(CAST(a AS TIMESTAMP), CAST(b AS TIMESTAMP))
            FROM (VALUES ('x', '2026-09-01T00:00:00', '2026-09-01T00:00:02'), ('y', '2026-09-01T00:00:01', '2026-09-01T00:00:03.5')) AS t(id, a, b)";
        assert_eq!(
            ask(sql).unwrap(),
            [
                "[{id: x, start: 2026-09-01T00:00:00Z, end: 2026-09-01T00:00:02Z}, \
                 {id: y, start: 2026-09-01T00:00:02Z, end: 2026-09-01T00:00:03.500Z}] | 3.5"
            ]
        );
    }

    #[test]
    fn groups_windows_filters_and_distinct() {
        let rows = "(VALUES (1, 'a', 0, 5), (1, 'b', 3, 6), (1, 'c', 5, 10), (2, 'd', 1, 2), (2, 'd', 1, 2), (3, 'e', 1, 1)) AS t(g, id, a, b)";
        let sql = format!(
            "SELECT g, array_length(critical_files(id, a, b)), io_time(a, b), array_length(critical_files(id, a, b) FILTER (WHERE id <> 'c')),
                array_length(critical_files(DISTINCT id, a, b)) FROM {rows} GROUP BY g ORDER BY g"
        );
        assert_eq!(
            ask(&sql).unwrap(),
            [
                "1 | 2 | 10.0 | 2 | 2",
                "2 | 1 | 1.0 | 1 | 1",
                "3 | NULL | NULL | NULL | NULL"
            ]
        );
        let sql = format!(
            "SELECT id, io_time(a, b) OVER (PARTITION BY g ORDER BY id) FROM {rows} WHERE g = 1 ORDER BY id"
        );
        assert_eq!(ask(&sql).unwrap(), ["a | 5.0", "b | 6.0", "c | 10.0"]);
    }

    #[test]
    fn times_of_two_kinds_are_refused_by_name() {
        let error = ask("SELECT critical_files(1, now(), 2.0)").unwrap_err();
        assert!(
            error.starts_with("critical_files: start is of type ") && error.contains("both times"),
            "{error}"
        );
        let error = ask("SELECT io_time(1, 2, 3)").unwrap_err();
        assert!(
            error.starts_with("io_time takes 2 arguments, 3 were given"),
            "{error}"
        );
        let error = ask("SELECT critical_files(1.5, 1, 2)").unwrap_err();
        assert!(error.starts_with("critical_files: argument 1"), "{error}");
    }
}
