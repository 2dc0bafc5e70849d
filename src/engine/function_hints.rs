//! Functions that DuckDB, PostgreSQL, Spark and others have under names that DataFusion does not know, and what to write instead.

/// What to write instead of a call of `name`; None of a name that is not known.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    let found = OTHERS.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, write)| *write)
}

/// Names in lower case, and what to write.
const OTHERS: &[(&[&str], &str)] = &[
    (&["sign"], "signum(x)"),
    (&["mod"], "a % b"),
    (&["div"], "a / b"),
    (&["pow_int", "pow2"], "power(2, x)"),
    (&["ceiling"], "ceil(x)"),
    (&["truncate"], "trunc(x, n)"),
    (&["xor", "bool_xor"], "a <> b"),
    (&["if", "iif"], "CASE WHEN a THEN b ELSE c END"),
    (&["isnull"], "a IS NULL"),
    (&["zeroifnull"], "coalesce(a, 0)"),
    (&["nullifzero"], "nullif(a, 0)"),
    (&["safe_divide", "try_divide", "div0"], "ratio(a, b)"),
    (&["is_nan"], "isnan(x)"),
    (&["mode"], "GROUP BY x ORDER BY count(*) DESC LIMIT 1"),
    (&["first"], "first_value(x ORDER BY t)"),
    (&["last"], "last_value(x ORDER BY t)"),
    (&["hex"], "to_hex(n) or encode(text, 'hex')"),
    (
        &["quantile_disc", "percentile_disc"],
        "percentile_cont(x, 0.5)",
    ),
    (
        &["arg_max", "argmax", "max_by"],
        "first_value(a ORDER BY b DESC)",
    ),
    (
        &["arg_min", "argmin", "min_by"],
        "first_value(a ORDER BY b)",
    ),
    (&["count_if", "countif"], "count(*) FILTER (WHERE a)"),
    (&["sumif", "sum_if"], "sum(a) FILTER (WHERE b)"),
    (&["approx_count_distinct", "uniq"], "approx_distinct(x)"),
    (
        &["quantile", "percentile"],
        "percentile_cont(x, 0.9), or quantiles(x, 0.5, 0.9)",
    ),
    (
        &["approx_quantile", "percentile_approx"],
        "approx_percentile_cont(x, 0.9), or approx_percentiles(x)",
    ),
    (&["histogram"], "bin_counts(x, least, most, n)"),
    (&["std", "stdev"], "stddev(x)"),
    (&["group_concat", "listagg"], "string_agg(x, ',')"),
    (&["list", "collect_list"], "array_agg(x)"),
    (&["collect_set"], "array_agg(DISTINCT x)"),
    (&["len"], "length(text) or array_length(list)"),
    (&["explode"], "unnest(list)"),
    (&["string_split", "split"], "string_to_array(text, ',')"),
    (&["locate", "charindex"], "strpos(text, part)"),
    (
        &["regexp_matches", "regexp_full_match"],
        "regexp_like(text, pattern)",
    ),
    (&["regexp_extract"], "regexp_match(text, pattern)[1]"),
    (&["ucase"], "upper(text)"),
    (&["lcase"], "lower(text)"),
    (&["mid"], "substr(text, first, length)"),
    (&["age"], "now() - t"),
    (
        &["date_diff", "datediff", "timestampdiff"],
        "date_part('epoch', b - a), in seconds",
    ),
    (&["date_add", "dateadd"], "t + INTERVAL '1 day'"),
    (&["date_sub"], "t - INTERVAL '1 day'"),
    (&["time_bucket"], "date_bin(INTERVAL '5 minutes', t)"),
    (&["strftime"], "to_char(t, '%Y-%m-%d')"),
    (
        &["strptime", "to_datetime", "parse_datetime"],
        "to_timestamp(text, '%Y-%m-%d %H:%M:%S')",
    ),
    (&["unix_timestamp", "epoch"], "date_part('epoch', t)"),
    (&["epoch_ms"], "to_timestamp_millis(n)"),
    (&["date"], "cast(t AS DATE)"),
    (&["datetime"], "cast(a AS TIMESTAMP)"),
    (&["year", "isoyear"], "date_part('year', t)"),
    (&["quarter"], "date_part('quarter', t)"),
    (&["month"], "date_part('month', t)"),
    (&["week", "weekofyear"], "date_part('week', t)"),
    (&["day", "dayofmonth"], "date_part('day', t)"),
    (&["dayofweek"], "date_part('dow', t)"),
    (&["hour"], "date_part('hour', t)"),
    (&["minute"], "date_part('minute', t)"),
    (&["second"], "date_part('second', t)"),
    (&["dayname"], "to_char(t, '%A')"),
    (&["monthname"], "to_char(t, '%B')"),
    (
        &["last_day"],
        "date_trunc('month', t) + INTERVAL '1 month' - INTERVAL '1 day'",
    ),
    (&["format_bytes"], "the column as it is, with --human"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_function_of_another_engine_says_what_to_write() {
        let error = ask("SELECT sign(-3.0)").unwrap_err();
        assert_eq!(error, "unknown function `sign`; write `signum(x)`");
        let error = ask("SELECT date_diff('day', now(), now())").unwrap_err();
        assert!(error.contains("date_part('epoch', b - a)"), "{error}");
    }

    /// A name that the engine has would be a line that nobody reads, and one that stands twice a contradiction.
    #[test]
    fn the_names_are_unknown_to_the_engine_and_stand_once() {
        let mut names: Vec<&str> = OTHERS
            .iter()
            .flat_map(|(names, _)| *names)
            .copied()
            .collect();
        for name in &names {
            let error = ask(&format!("SELECT {name}(1)")).map(|_| ()).unwrap_err();
            assert!(
                error.starts_with(&format!("unknown function `{name}`; write `")),
                "{name}: {error}"
            );
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// What is to be written is SQL, with columns for its letters.
    #[test]
    fn what_is_to_be_written_is_answered() {
        const T: &str = "(SELECT 7 AS a, 2 AS b, 3 AS c, 1.5 AS x, 1 AS n, 'abc' AS text, 'b' AS pattern, 'b' AS part, [1, 2] AS list, now() AS t, 2 AS first, 1 AS length, 0 AS edge) AS r";
        for write in [
            "signum(x)",
            "a % b",
            "a / b",
            "power(2, x)",
            "ceil(x)",
            "trunc(x, n)",
            "random()",
            "coalesce(a, b)",
            "ratio(a, b)",
            "first_value(a ORDER BY b DESC)",
            "approx_distinct(a)",
            "bin_counts(x, 0, 9, 3)",
            "string_agg(text, ',')",
            "array_agg(x)",
            "array_has(list, 1)",
            "unnest(list)",
            "string_to_array(text, ',')",
            "strpos(text, part)",
            "regexp_like(text, pattern)",
            "regexp_match(text, pattern)[1]",
            "date_part('epoch', now() - t)",
            "t + INTERVAL '1 day'",
            "date_bin(INTERVAL '5 minutes', t)",
            "to_char(t, '%A')",
            "to_timestamp('2026-09-01 00:00:00', '%Y-%m-%d %H:%M:%S')",
            "to_timestamp_millis(n)",
            "cast(t AS DATE)",
            "date_part('quarter', t)",
            "date_part('week', t)",
            "date_part('dow', t)",
            "date_trunc('month', t) + INTERVAL '1 month' - INTERVAL '1 day'",
            "current_date",
        ] {
            let sql = format!("SELECT {write} FROM {T}");
            assert!(ask(&sql).is_ok(), "{sql}: {:?}", ask(&sql));
        }
    }
}
