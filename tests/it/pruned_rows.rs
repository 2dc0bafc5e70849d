//! A condition keeps the rows for which it is true: what scans prune by the bounds of columns is none of them.

use crate::cli_program::iolode;
use crate::support::shared_data;

crate::tests! {
    [Data] => {
        rows_that_a_condition_keeps_are_those_for_which_it_is_true,
    }
}

/// Of columns of `darshan_log`, in their order and not, and a value near the middle of each.
const VALUES: [(&str, &str); 42] = [
    ("start_time", "'2018-01-01 12:00'"),
    ("start_time::time", "time '12:00:00'"),
    (
        "arrow_cast(start_time, 'Time64(Nanosecond)')",
        "time '12:00:00'",
    ),
    (
        "arrow_try_cast(end_time, 'Time64(Nanosecond)')",
        "time '12:00:00'",
    ),
    (
        "(start_time AT TIME ZONE 'Asia/Tokyo')::time",
        "time '12:00:00'",
    ),
    ("start_time::date", "date '2018-01-01'"),
    ("start_time::date + 7", "date '2018-01-01'"),
    (
        "(start_time AT TIME ZONE 'Asia/Tokyo')::date",
        "date '2018-01-01'",
    ),
    ("date_part('hour', start_time)", "12"),
    ("extract(month FROM start_time)", "6"),
    ("date_trunc('month', start_time)", "'2018-01-01 00:00:00'"),
    ("start_time::bigint", "1500000000000000"),
    ("-start_time::bigint", "-1500000000000000"),
    ("start_time::varchar", "'2018'"),
    ("to_char(start_time, '%m')", "'06'"),
    ("start_time - interval '1 hour'", "'2018-01-01 00:00:00'"),
    ("end_time - start_time", "interval '1 minute'"),
    ("nprocs", "8"),
    ("-nprocs", "-8"),
    ("nprocs % 7", "3"),
    ("abs(nprocs - 32)", "16"),
    ("nprocs / 3", "4"),
    ("nprocs & 6", "2"),
    ("nprocs::double", "8.5"),
    ("nprocs::varchar", "'3'"),
    ("nprocs::boolean", "true"),
    ("try_cast(nprocs - 4 AS boolean)", "true"),
    ("nprocs::decimal(12, 2)", "8.5"),
    ("ln(nprocs)", "2.0"),
    ("power(nprocs - 8, 2)", "100.0"),
    ("nullif(nprocs, 1)", "8"),
    ("greatest(nprocs, uid)", "1000"),
    ("coalesce(uid, -1)", "1000"),
    ("uid::varchar", "'2'"),
    ("run_time::bigint", "10"),
    ("round(run_time)", "10.0"),
    ("run_time * -1", "-10.0"),
    ("bytes_read % 1000", "500"),
    ("-(bytes_read::decimal(20, 2))", "-1000000.00"),
    ("lower(app)", "'m'"),
    ("reverse(app)", "'m'"),
    ("length(app)", "8"),
];

/// Each condition counts the rows of a scan that it filters, and those of one without a filter.
fn rows_that_a_condition_keeps_are_those_for_which_it_is_true() {
    let logs = shared_data().join("darshan");
    let logs = logs.to_str().unwrap();
    let conditions: Vec<String> = VALUES
        .iter()
        .flat_map(|(of, near)| {
            [
                format!("{of} < {near}"),
                format!("{of} >= {near}"),
                format!("{of} = {near}"),
                format!("NOT {of} <= {near}"),
                format!("{of} IS DISTINCT FROM {near}"),
                format!("{of} IS NOT NULL"),
            ]
        })
        .collect();
    let kept = conditions.iter().enumerate().map(|(at, condition)| {
        format!("SELECT {at} AS at, count(*) AS rows FROM darshan_log WHERE {condition}")
    });
    let kept = kept.collect::<Vec<_>>().join(" UNION ALL ");
    let kept = format!("SELECT rows FROM ({kept}) ORDER BY at");
    let are_true = conditions.iter().enumerate();
    let are_true = are_true.map(|(at, condition)| format!("{condition} AS c{at}"));
    let are_true = are_true.collect::<Vec<_>>().join(", ");
    let counts: Vec<String> = (0..conditions.len())
        .map(|at| format!("sum(CASE WHEN c{at} THEN 1 ELSE 0 END) AS n{at}"))
        .collect();
    let counts = counts.join(", ");
    let are_true = format!("SELECT {counts} FROM (SELECT {are_true} FROM darshan_log)");
    let ask = |sql: &str| {
        let arguments = ["sql", "--logs", logs, "--format", "csv", "-c", sql];
        let run = iolode(std::path::Path::new("."), &arguments);
        assert!(!run.stdout.is_empty(), "{}", run.stderr);
        run.stdout
    };
    let kept: Vec<i64> = ask(&kept)
        .lines()
        .skip(1)
        .map(|rows| rows.parse().unwrap())
        .collect();
    let are_true = ask(&are_true);
    let are_true = are_true.lines().nth(1).unwrap().split(',');
    let are_true: Vec<i64> = are_true.map(|rows| rows.parse().unwrap()).collect();
    assert_eq!(kept.len(), conditions.len());
    let differ = conditions.iter().zip(kept.iter().zip(&are_true));
    let differ: Vec<_> = differ
        .filter(|(_, (kept, are_true))| kept != are_true)
        .collect();
    assert!(differ.is_empty(), "{differ:#?}");
    // Most conditions hold for some logs and not for others, or nothing is tested.
    let split = kept.iter().filter(|rows| (1..72).contains(*rows)).count();
    assert!(split > conditions.len() / 2, "{split}");
}
