//! What DataFusion 55.2 answers by itself where we correct it. A test that fails here says that a correction can go.

use super::{block_on, plain, rows};
use datafusion::physical_plan::displayable;
use datafusion::prelude::ParquetReadOptions;

/// DataFusion's own answer, with two threads and no rule or function of ours.
fn answer(sql: &str) -> Vec<String> {
    block_on(async {
        let frame = plain(2).sql(sql).await.unwrap();
        rows(&frame.collect().await.unwrap())
    })
}

/// Its physical plan, made in the same way.
fn plan(sql: &str) -> String {
    block_on(async {
        let frame = plain(2).sql(sql).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        displayable(plan.as_ref()).indent(false).to_string()
    })
}

#[test]
fn integers_wrap() {
    assert_eq!(
        answer("SELECT v * v FROM (VALUES (65536::int)) AS t(v)"),
        ["0"]
    );
    assert_eq!(
        answer("SELECT sum(v) FROM (VALUES (9223372036854775807), (1)) AS t(v)"),
        ["-9223372036854775808"]
    );
}

#[test]
fn nan_has_a_sign_and_extremes_of_groups_do_not_follow_the_total_order() {
    assert_eq!(answer("SELECT -('NaN'::double) < 1"), ["true"]);
    assert_eq!(
        answer("SELECT k, max(x) FROM (VALUES (1, '-inf'::double)) AS t(k, x) GROUP BY k"),
        ["1 | -1.7976931348623157e308"]
    );
}

/// Right would be NULL first.
#[test]
fn a_key_that_is_one_value_is_taken_for_one_in_all_grouping_sets() {
    let sql = "SELECT k FROM (VALUES ('b', 1), ('b', 2), ('a', 3)) AS t(k, v) WHERE k = 'b' GROUP BY ROLLUP (k) ORDER BY k NULLS FIRST";
    let plan = plan(sql);
    assert!(!plan.contains("SortExec"), "{plan}");
}

/// Right would be a sort, or a grouping that does not rely on one.
#[test]
fn one_value_of_a_side_is_taken_for_one_of_an_outer_join() {
    let sql = "SELECT d.hit, f.x FROM (SELECT k, 1 AS hit FROM (VALUES (2)) AS m(k)) d \
               FULL JOIN (VALUES (1, 10), (2, 20), (3, 30), (4, 40)) AS f(k, x) ON d.k = f.k ORDER BY d.hit";
    let plan = plan(sql);
    assert!(!plan.contains("SortExec"), "{plan}");
}

/// Right would be the second row alone.
#[test]
fn a_key_of_equals_is_added_to_a_join_in_which_null_equals_null() {
    const T: &str = "(VALUES (1, CAST(NULL AS INT)), (2, 3))";
    let sql = format!(
        "SELECT t.d FROM {T} AS t(d, b) JOIN {T} AS u(d, b) ON t.d IS NOT DISTINCT FROM u.d WHERE u.b = t.b ORDER BY 1"
    );
    assert_eq!(answer(&sql), ["1", "2"]);
}

/// Right would be the other way round, both times.
#[test]
fn an_output_with_the_name_of_a_column_is_taken_for_that_column() {
    assert_eq!(
        answer("SELECT v AS g, -v AS v FROM (SELECT 1 AS v UNION ALL SELECT 2) ORDER BY v"),
        ["1 | -1", "2 | -2"]
    );
    assert_eq!(
        answer(
            "SELECT CAST(v AS VARCHAR) AS g, -v AS v FROM (VALUES (1), (2)) AS t(v) GROUP BY 1, 2 ORDER BY v"
        ),
        ["1 | -1", "2 | -2"]
    );
}

/// Right would be one row with 1.
#[test]
fn except_all_takes_all_equal_rows() {
    assert!(answer("SELECT * FROM (VALUES (1), (1)) AS t(v) EXCEPT ALL VALUES (1)").is_empty());
}

/// Right would be the two rows of f that no row of m meets. The filter of m.k is laid on f, whose k is never NULL, as its statistics say.
#[test]
fn a_filter_passes_an_outer_join_by_the_name_of_its_column() {
    let directory = tempfile::tempdir().unwrap();
    let found = block_on(async {
        let context = plain(2);
        for (table, values) in [("f", "(1, 1), (2, 1), (3, 2)"), ("m", "(2, 1)")] {
            let path = directory.path().join(format!("{table}.parquet"));
            let path = path.to_str().unwrap();
            let copy = format!("COPY (SELECT * FROM (VALUES {values}) AS t(id, k)) TO '{path}'");
            context.sql(&copy).await.unwrap().collect().await.unwrap();
            let options = ParquetReadOptions::default();
            context
                .register_parquet(table, path, options)
                .await
                .unwrap();
        }
        let sql = "SELECT f.id, f.k, m.k FROM m RIGHT JOIN f ON m.id = f.id WHERE m.k IS NULL";
        rows(&context.sql(sql).await.unwrap().collect().await.unwrap())
    });
    assert!(found.is_empty(), "{found:?}");
}

/// Right would be one group of NaN.
#[test]
fn nan_is_not_equal_to_itself_in_groups_under_a_limit() {
    let sql = "SELECT x FROM (VALUES ('NaN'::double), ('NaN'::double)) AS t(x) GROUP BY x ORDER BY x DESC LIMIT 3";
    assert_eq!(answer(sql), ["NaN", "NaN"]);
}

/// By hand it would be 333333333333.3333.
#[test]
fn percentiles_are_rounded_to_a_millionth_of_the_way() {
    let sql =
        "SELECT percentile_cont(x, 0.3333333333333333) FROM (VALUES (0), (1000000000000)) AS t(x)";
    assert_eq!(answer(sql), ["333333000000.0"]);
}

/// Right would be 1.
#[test]
fn years_become_a_range_of_times_that_wraps() {
    let sql = "SELECT count(*) FROM (VALUES (TIMESTAMP '2026-09-11 12:00:00')) AS v(t) WHERE date_part('year', t) > 0";
    assert_eq!(answer(sql), ["0"]);
}

/// Right would be one row.
#[test]
fn distinct_on_an_expression_of_two_names_has_no_answer() {
    let sql = "SELECT DISTINCT ON (id) id, id AS f, u FROM (VALUES (3, 4), (3, 5)) AS v(id, u) ORDER BY id, f, u DESC";
    let panicked = std::panic::catch_unwind(|| {
        block_on(async { plain(2).sql(sql).await?.collect().await }).is_err()
    });
    assert!(panicked.unwrap_or(true));
}

/// Better would be a grouping of b, or a join that stops at the first equal row.
#[test]
fn a_semi_join_visits_duplicates() {
    let sql = "SELECT count(*) FROM generate_series(1, 9) AS a(v) WHERE v IN (SELECT w FROM generate_series(1, 9) AS b(w))";
    let plan = plan(sql);
    let under = plan.split("Semi").nth(1).unwrap();
    assert!(!under.contains("AggregateExec"), "{plan}");
}

/// Right would be NULL: no row meets another.
#[test]
fn a_sum_above_a_join_is_that_of_a_side() {
    let sql =
        "SELECT sum(a.id) FROM (SELECT 7 AS id) AS a JOIN (SELECT 8 AS id) AS b ON a.id = b.id";
    assert_eq!(answer(sql), ["7"]);
}

/// Right would be one row: a key of one side determines nothing of the other.
#[test]
fn a_key_of_a_side_is_taken_for_one_of_a_grouping() {
    let sql = "SELECT DISTINCT g FROM (SELECT DISTINCT g, x FROM (SELECT g FROM (VALUES (1), (1)) AS t(g) GROUP BY g) AS a \
               CROSS JOIN (VALUES (3), (9)) AS u(x))";
    assert_eq!(answer(sql), ["1", "1"]);
}

#[test]
fn counts_of_a_frame_that_moves_are_taken_to_grow_through_all_partitions() {
    let sql = "SELECT count(*) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n \
               FROM (VALUES (1, 1), (1, 2), (2, 1), (2, 2)) AS t(k, v) ORDER BY n";
    assert_ne!(answer(sql), ["1", "1", "2", "2"]);
}

#[test]
fn a_key_that_distinct_makes_of_one_side_is_taken_for_one_of_all_rows() {
    let sql = "WITH a AS (SELECT DISTINCT g FROM (VALUES (1), (1), (2)) AS t(g)), u AS (SELECT * FROM (VALUES (3), (1), (2)) AS t(x)) \
               SELECT DISTINCT a.g, u.x FROM a CROSS JOIN u ORDER BY g, x";
    let plan = plan(sql);
    assert!(!plan.contains("x@1 ASC"), "{plan}");
}

/// Right would be `2 | 18`: the condition on `d.id` is one on `u.id`.
#[test]
fn a_union_with_one_side_of_rows_takes_columns_by_name() {
    let sql = "WITH w AS (SELECT * FROM (VALUES (1, 0.0::double, 'scratch', 1), (2, 0.0, 'scratch', 2), (8, 1.5, 'scratch', 2), (10, 0.0, 'ok', 1)) \
               AS v (id, z, fs, log_id)) SELECT count(*), sum(d.id) FROM (SELECT u.id AS id FROM w t FULL JOIN w u ON t.log_id = u.log_id AND t.fs = u.fs \
               WHERE t.z IS NOT DISTINCT FROM 0.0::double UNION SELECT 3 WHERE false) d WHERE d.id > 7";
    assert_ne!(answer(sql), ["2 | 18"]);
}

#[test]
fn keys_of_one_name_beside_a_distinct_aggregate_are_refused() {
    let sql = "SELECT CAST(k AS VARCHAR) AS g, k, count(DISTINCT v) FROM (VALUES (1, 5), (1, 6)) AS t(k, v) GROUP BY CAST(k AS VARCHAR), k";
    let refused = block_on(async {
        plain(2)
            .sql(sql)
            .await
            .unwrap()
            .collect()
            .await
            .unwrap_err()
    });
    let refused = refused.to_string();
    assert!(refused.contains("unique expression names"), "{refused}");
}

#[test]
fn a_window_of_a_scalar_subquery_is_not_found() {
    let sql = "SELECT (SELECT max(n) FROM (SELECT count(*) OVER w AS n FROM (VALUES (1)) AS t(v) WINDOW w AS (ORDER BY v)))";
    let refused = block_on(plain(2).sql(sql)).unwrap_err().to_string();
    assert!(refused.contains("window w is not defined"), "{refused}");
}
