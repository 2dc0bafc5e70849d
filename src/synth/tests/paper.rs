//! Months of a machine at a scale, beside what the IOMiner paper found on Cori (section III). tests/it/synth_beside_real.rs has
//! real logs beside them.

use super::*;
use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{mpiio, posix};
use crate::synth::tests::{assert_near, bytes, layouts, module, program, records, sum};
use std::collections::{BTreeMap, BTreeSet};

/// The first logs of the jobs of a month with a thousandth of the machine's logs and more, made once for all tests.
fn logs() -> &'static [DarshanLog] {
    static LOGS: std::sync::OnceLock<Vec<DarshanLog>> = std::sync::OnceLock::new();
    LOGS.get_or_init(|| {
        let month = Month {
            jobs: 2000,
            ..Month::scaled(0.002, None, 3)
        };
        (0..month.jobs).map(|index| month.log(index)).collect()
    })
}

/// Share of some logs in percent.
fn percent<'l>(
    logs: impl IntoIterator<Item = &'l DarshanLog>,
    of: impl Fn(&DarshanLog) -> bool,
) -> f64 {
    let (mut all, mut found) = (0.0, 0.0);
    for log in logs {
        all += 1.0;
        found += f64::from(u8::from(of(log)));
    }
    100.0 * found / all
}

#[test]
fn what_jobs_read_and_write_is_as_in_figures_5_to_8() {
    let ratio = |log: &DarshanLog| {
        let (read, written) = bytes(log);
        read as f64 / (read + written) as f64
    };
    let consecutive = |log: &DarshanLog| {
        let of = |counters: &[usize]| sum(log, ModuleId::POSIX, counters) as f64;
        of(&[posix::CONSEC_READS, posix::CONSEC_WRITES]) / of(&[posix::READS, posix::WRITES])
    };
    let share = |of: &dyn Fn(&DarshanLog) -> bool| percent(logs(), of);
    assert_near("write only", share(&|log| ratio(log) == 0.0), 7.0, 1.0);
    assert_near("read only", share(&|log| ratio(log) == 1.0), 23.0, 1.5);
    assert_near("over 90 % read", share(&|log| ratio(log) > 0.9), 53.0, 2.0);
    assert_near(
        "under half in a row",
        share(&|log| consecutive(log) < 0.5),
        10.0,
        2.0,
    );
    assert_near(
        "over 80 % in a row",
        share(&|log| consecutive(log) > 0.8),
        50.0,
        3.0,
    );
    for (direction, expected) in [("read", 72.0), ("written", 76.0)] {
        let mut by_program: BTreeMap<String, i64> = BTreeMap::new();
        for log in logs() {
            let (read, written) = bytes(log);
            *by_program.entry(program(log)).or_default() +=
                if direction == "read" { read } else { written };
        }
        let mut sums: Vec<i64> = by_program.into_values().collect();
        sums.sort_unstable_by_key(|sum| -sum);
        let (top, all) = (sums[..10].iter().sum::<i64>(), sums.iter().sum::<i64>());
        assert_near(direction, 100.0 * top as f64 / all as f64, expected, 6.0);
    }
    let mut moved: Vec<i64> = logs()
        .iter()
        .map(|log| bytes(log).0 + bytes(log).1)
        .collect();
    moved.sort_unstable();
    let largest: i64 = moved[moved.len() * 9 / 10..].iter().sum();
    assert!(
        largest as f64 > 0.6 * moved.iter().sum::<i64>() as f64,
        "a heavy tail"
    );
}

#[test]
fn middleware_by_size_is_as_in_figure_10() {
    for (class, sizes, expected) in [
        ("one", 1..=1, 98.8),
        ("small", 2..=1024, 99.6),
        ("medium", 1025..=8192, 77.8),
        ("large", 8193..=i64::MAX, 54.1),
    ] {
        let jobs = logs().iter().filter(|log| sizes.contains(&log.job.nprocs));
        let posix = percent(jobs, |log| module(log, ModuleId::MPIIO).is_none());
        assert_near(class, posix, expected, 2.5);
    }
    let mpi = logs()
        .iter()
        .filter(|log| module(log, ModuleId::MPIIO).is_some());
    let collective = percent(mpi, |log| {
        sum(log, ModuleId::MPIIO, &[mpiio::COLL_OPENS]) > 0
    });
    assert!(collective > 50.0, "{collective} % of MPI-IO is collective");
}

/// How processes share the files of a log: 1: all processes all files, 2: each its own, 3: otherwise. Streams are no files.
fn sharing(log: &DarshanLog) -> u8 {
    let mut files: BTreeMap<u64, BTreeSet<i64>> = BTreeMap::new();
    for record in records(log, ModuleId::POSIX) {
        files.entry(record.id).or_default().insert(record.rank);
    }
    let of = |is: &dyn Fn(&BTreeSet<i64>) -> bool| files.values().all(is);
    if of(&|ranks| ranks.contains(&-1)) {
        1
    } else if of(&|ranks| ranks.len() == 1 && !ranks.contains(&-1))
        && files.len() as i64 == log.job.nprocs
    {
        2
    } else {
        3
    }
}

#[test]
fn most_jobs_share_files_among_some_processes_as_in_figure_9() {
    let parallel = || logs().iter().filter(|log| log.job.nprocs > 1);
    let share = |class: u8| percent(parallel(), move |log| sharing(log) == class);
    let (to_one, to_own, other) = (share(1), share(2), share(3));
    // "N-N and N-1 jobs constitute only a small percentage", without a figure.
    assert!(
        other > 60.0,
        "N-M {other} %, N-1 {to_one} %, N-N {to_own} %"
    );
    assert!(
        to_one > 2.0 && to_own > 0.3,
        "N-1 {to_one} %, N-N {to_own} %"
    );
}

#[test]
fn eight_of_ten_thousand_jobs_have_a_striping_of_their_own_and_all_osts_are_used() {
    let month = Month::scaled(0.1, None, 1);
    let plan = Plan::new(month);
    let custom = (0..month.jobs).filter(|at| plan.scenario(*at) == Some(Scenario::CustomStriping));
    assert_near(
        "percent",
        100.0 * custom.count() as f64 / month.jobs as f64,
        0.08,
        0.005,
    );
    let osts: BTreeSet<i64> = (logs().iter().flat_map(layouts))
        .filter(|layout| layout.osts == 248)
        .flat_map(|layout| layout.components.iter().flat_map(|part| &part.osts))
        .copied()
        .collect();
    assert_eq!(osts, (0..248).collect());
}

#[test]
fn a_scale_is_a_part_of_a_million_logs_and_thirty_days() {
    let days = |scale, days| Month::scaled(scale, days, 1).lmt_seconds / 86_400;
    assert_eq!(
        [0.01, 0.1, 0.11, 1.0].map(|scale| days(scale, None)),
        [1, 3, 4, 30]
    );
    assert_eq!(
        [days(0.01, Some(0)), days(0.01, Some(2)), days(2.0, None)],
        [0, 2, 30]
    );
    let month = Month::scaled(0.01, None, 1);
    let logs: u64 = (0..month.jobs)
        .map(|index| Plan::new(month).job(index).logs)
        .sum();
    assert_near("logs", logs as f64, 10_000.0, 300.0);
}

#[test]
fn a_log_has_some_thirty_files() {
    let files = |log: &DarshanLog| {
        let of = |id| records(log, id).iter().map(|record| record.id);
        let ids: BTreeSet<u64> = of(ModuleId::POSIX).chain(of(ModuleId::STDIO)).collect();
        ids.len()
    };
    let mean = logs().iter().map(files).sum::<usize>() as f64 / logs().len() as f64;
    assert_near("files", mean, 30.0, 4.0);
}
