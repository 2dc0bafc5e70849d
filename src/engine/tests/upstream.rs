//! What DataFusion 55.2 answers by itself where we correct it. A test that fails here says that a correction can go.

use super::{block_on, plain, rows};

/// DataFusion's own answer, with two threads and no rule or function of ours.
fn answer(sql: &str) -> Vec<String> {
    block_on(async {
        let frame = plain(2).sql(sql).await.unwrap();
        rows(&frame.collect().await.unwrap())
    })
}

/// Two rows of f have no partner. Joined to m, which is larger, the sides are swapped.
const TABLES: &str = "WITH f AS (SELECT * FROM (VALUES (1, 10), (8, 20), (9, 30)) AS t(job_id, x)), \
                      m AS (SELECT * FROM (VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)) AS t(job_id, x)) ";

/// Right would be 2 rows of each.
#[test]
fn filters_are_pushed_through_joins_by_the_name_of_a_column() {
    let wrong = [
        "SELECT f.x, f.job_id, m.job_id FROM m RIGHT JOIN f ON m.job_id = f.job_id WHERE m.job_id IS NULL",
        "SELECT * FROM (SELECT m.job_id AS a, f.job_id AS job_id, m.job_id FROM m RIGHT JOIN f ON m.job_id = f.job_id) WHERE a IS NULL",
        "SELECT s.job_id FROM m RIGHT JOIN (SELECT job_id, count(*) AS n FROM f GROUP BY job_id) s ON s.job_id = m.job_id WHERE m.job_id IS NULL",
        "SELECT s.job_id FROM m RIGHT JOIN (SELECT job_id, count(*) AS n FROM f GROUP BY job_id) s ON s.job_id = m.job_id WHERE coalesce(m.job_id, 0) <= 0",
    ];
    let wrong = wrong.map(|sql| {
        block_on(async {
            let frame = plain(2).sql(&format!("{TABLES}{sql}")).await;
            match frame {
                Ok(frame) => frame.collect().await.map_or(2, |found| rows(&found).len()),
                Err(_) => 2,
            }
        })
    });
    assert!(
        wrong.iter().any(|found| *found != 2),
        "scan_filter.rs can go: {wrong:?}"
    );
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
    let plan = block_on(async {
        let frame = plain(2).sql(sql).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        datafusion::physical_plan::displayable(plan.as_ref())
            .indent(false)
            .to_string()
    });
    assert!(!plan.contains("SortExec"), "{plan}");
}

/// Right would be a sort, or a grouping that does not rely on one.
#[test]
fn one_value_of_a_side_is_taken_for_one_of_an_outer_join() {
    let sql = format!(
        "{TABLES} SELECT d.hit, f.x FROM (SELECT job_id, 1 AS hit FROM m) d FULL JOIN f ON d.job_id = f.job_id ORDER BY d.hit"
    );
    let plan = block_on(async {
        let frame = plain(2).sql(&sql).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        datafusion::physical_plan::displayable(plan.as_ref())
            .indent(false)
            .to_string()
    });
    assert!(!plan.contains("SortExec"), "{plan}");
}

/// Right would be one row with 1.
#[test]
fn except_all_takes_all_equal_rows() {
    assert!(answer("SELECT * FROM (VALUES (1), (1)) AS t(v) EXCEPT ALL VALUES (1)").is_empty());
}
