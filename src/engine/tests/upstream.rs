//! What DataFusion 55.2 answers by itself where we correct it. A test that fails here says that a correction can go.

use super::{block_on, plain, rows};
use datafusion::physical_plan::displayable;

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

/// Right would be one row with 1.
#[test]
fn except_all_takes_all_equal_rows() {
    assert!(answer("SELECT * FROM (VALUES (1), (1)) AS t(v) EXCEPT ALL VALUES (1)").is_empty());
}
