//! Logs of every version that our own writer makes, read back through a lake: pydarshan and DuckDB must see the same.

use crate::pydarshan::any_log::{NPROCS, VERSIONS, log};
use crate::pydarshan::without_threads;
use crate::random::Random;
use crate::support::{lake_of, python, run_python};
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::header::ByteOrder;
use iolode::source::darshan::write::{DarshanLog, Records};

crate::tests! {
    [Packages] => {
        logs_of_every_version_that_we_write_are_read_as_pydarshan_reads_them_and_add_up_in_duckdb,
    }
}

const FILES: [u64; 6] = [
    11,
    1 << 40,
    u64::MAX - 3,
    6_000_000_000_000_000_007,
    42,
    14734109647742566553,
];

impl Random {
    /// A count of any size whose sums fit, or one that is not available.
    fn count(&mut self) -> i64 {
        let bits = self.below(40);
        self.below(1 << bits) as i64 - i64::from(self.below(9) == 0)
    }

    fn seconds(&mut self) -> f64 {
        match self.below(5) {
            0 => 0.0,
            _ => self.below(1 << 40) as f64 / (1u64 << 33) as f64,
        }
    }
}

/// Files and processes that one module has records of. Each file but the first is unknown to some modules; all processes share its
/// record, or a few have one each.
fn files_and_ranks(random: &mut Random) -> Vec<(u64, i64)> {
    let mut records = vec![];
    for file in FILES {
        if file != FILES[0] && random.below(3) == 0 {
            continue;
        }
        let ranks = match random.below(3) {
            0 => vec![-1],
            1 => vec![random.int(0, NPROCS)],
            _ => (0..NPROCS)
                .filter(|rank| *rank == 0 || random.below(2) == 0)
                .collect(),
        };
        records.extend(ranks.into_iter().map(|rank| (file, rank)));
    }
    records
}

/// A log of any values, but its modules tell of the same files, and values can be added up.
fn log_of_common_files(version: (u16, u16), back: u32, order: ByteOrder, seed: u64) -> DarshanLog {
    let mut log = log(seed, version, back, FILES.len() * NPROCS as usize);
    log.byte_order = order;
    without_threads(&mut log);
    let random = &mut Random::new(seed, 0);
    for module in &mut log.modules {
        let records = files_and_ranks(random);
        match &mut module.records {
            Records::Counters(counters) => {
                counters.truncate(records.len());
                for (record, (file, rank)) in counters.iter_mut().zip(records) {
                    (record.id, record.rank) = (file, rank);
                    record.ints.fill_with(|| random.count());
                    record.floats.fill_with(|| random.seconds());
                    if module.id == ModuleId::PNETCDF_FILE {
                        // Opens of which up to nine are independent.
                        record.ints[1] = random.int(10, 20);
                    }
                }
            }
            Records::Lustre(layouts) => {
                layouts.truncate(records.len());
                for (layout, (file, rank)) in layouts.iter_mut().zip(records) {
                    (layout.id, layout.rank) = (file, rank);
                    // libdarshan 3.5.0 loses the place of the OSTs of some layouts with an unused slot behind three components.
                    layout.components.truncate(3);
                }
            }
            Records::Dxt(traces) => {
                for (at, trace) in traces.iter_mut().enumerate() {
                    (trace.id, trace.rank) = (FILES[at / NPROCS as usize], at as i64 % NPROCS);
                    trace.shared = -1;
                }
            }
            // One record a process.
            Records::Heatmap(heatmaps) => {
                heatmaps.truncate(NPROCS as usize);
                heatmaps.iter_mut().for_each(|heatmap| heatmap.id = 77);
            }
            Records::Apmpi(apmpi) => {
                apmpi.records.truncate(NPROCS as usize);
                apmpi.records.iter_mut().for_each(|record| record.id = 99);
            }
            Records::Mdhim(records) => records.truncate(1),
            Records::Raw(_) => {}
        }
    }
    log.names = FILES
        .iter()
        .map(|id| (*id, format!("/scratch{}/file {id}", id % 2).into_bytes()))
        .collect();
    log.names[5].1 = b"<STDIN>".to_vec();
    log.names.push((77, b"heatmap:POSIX".to_vec()));
    log.job.mounts[0].path = b"/scratch0".to_vec();
    log
}

fn logs_of_every_version_that_we_write_are_read_as_pydarshan_reads_them_and_add_up_in_duckdb() {
    let python = python();
    let dir = tempfile::tempdir().unwrap();
    let (logs, lake) = (dir.path().join("logs"), dir.path().join("lake"));
    std::fs::create_dir(&logs).unwrap();
    let mut seed = 0;
    for version in VERSIONS {
        for back in 0..4 {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                seed += 1;
                let name = format!("{}.{:02}-{back}-{order:?}.darshan", version.0, version.1);
                let log = log_of_common_files(version, back, order, seed);
                std::fs::write(logs.join(name), log.to_bytes()).unwrap();
            }
        }
    }
    let (_, report) = lake_of(&lake, &[logs], true);
    assert_eq!(report.failures, []);
    let said = run_python(&python, "pydarshan/compare_pydarshan.py", &[&lake]);
    assert!(said.contains("40 logs"), "{said}");
    let said = run_python(&python, "python/recompute.py", &[&lake]);
    assert!(said.contains("40 logs"), "{said}");
}
