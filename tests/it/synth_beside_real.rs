//! Generated months beside real logs: as many bytes for each record, and the same columns in the databases of LMT.

use crate::support::shared_data;
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::log::{Log, ModuleSet};
use iolode::source::darshan::write::{DarshanLog, Encoder};
use iolode::source::{Input, Status};
use iolode::synth::{self, Month};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

crate::tests! {
    [Data] => {
        a_record_of_a_scaled_month_takes_as_many_bytes_as_one_of_a_real_log,
        the_real_copy_of_a_database_has_the_same_columns,
    }
}

/// How well a log compresses: its records, how many of them a process has, and bytes without the header for each record. Traces and
/// what lakes do not take as records of files are left out; layouts are counted only where both logs have them.
struct Density {
    records: f64,
    each: f64,
    bytes: f64,
}

fn density(bytes: &[u8], layouts: bool) -> Option<Density> {
    let mut log = Log::new();
    log.read(&Input::from_bytes("log", bytes.to_vec()), ModuleSet::ALL)
        .ok()?;
    let header = log.header()?;
    let mut size = header.job.length + header.names.length;
    let (mut count, mut of_processes, mut ranks) = (0, 0, BTreeSet::new());
    for state in log.modules() {
        let counted = [
            ModuleId::POSIX,
            ModuleId::MPIIO,
            ModuleId::STDIO,
            ModuleId::H5F,
            ModuleId::H5D,
            ModuleId::PNETCDF_FILE,
            ModuleId::PNETCDF_VAR,
            ModuleId::LUSTRE,
        ];
        if !counted.contains(&state.id) || state.id == ModuleId::LUSTRE && !layouts {
            continue;
        }
        size += state.bytes;
        count += state.records?;
        let streams = [ModuleId::POSIX, ModuleId::MPIIO, ModuleId::STDIO].contains(&state.id);
        if let Some(records) = log.records(state.id).filter(|_| streams) {
            of_processes += records.len();
            ranks.extend((0..records.len()).map(|at| records.rank(at).max(0)));
        }
    }
    (log.status() != Status::Damaged && count >= 10).then(|| Density {
        records: count as f64,
        each: of_processes as f64 / ranks.len().max(1) as f64,
        bytes: size as f64 / count as f64,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}

/// Real logs beside synthetic ones of half to twice as many records, of which a process has as many: one, few, or many, for each
/// process is a compressed stream of its own. The ratio of bytes for each record, in the median over programs.
fn beside_real(logs: &[DarshanLog], real: &Path) -> (f64, usize) {
    let mut encoder = Encoder::default();
    let synthetic: Vec<Vec<u8>> = (logs.iter())
        .map(|log| log.to_bytes_with(&mut encoder))
        .collect();
    let densities = |layouts| -> Vec<Density> {
        let all = synthetic.iter();
        all.filter_map(|bytes| density(bytes, layouts)).collect()
    };
    let (with_layouts, without) = (densities(true), densities(false));
    let class = |density: &Density| (density.each >= 1.5, density.each >= 8.0);
    let mut programs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for entry in std::fs::read_dir(real).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let mut log = Log::new();
        let read = log.read(&Input::from_bytes(&path, bytes.clone()), ModuleSet::ALL);
        let has_layouts = read.is_ok() && log.lustre().next().is_some();
        let Some(real) = density(&bytes, has_layouts) else {
            continue;
        };
        let synthetic = match has_layouts {
            true => &with_layouts,
            false => &without,
        };
        let like = |other: &&Density| {
            class(other) == class(&real) && (0.5..=2.0).contains(&(other.records / real.records))
        };
        let found: Vec<f64> = synthetic.iter().filter(like).map(|d| d.bytes).collect();
        if found.len() < 3 {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let name = name.split("_id").next().unwrap_or_default().to_string();
        programs
            .entry(name)
            .or_default()
            .push(median(found) / real.bytes);
    }
    let count = programs.len();
    (median(programs.into_values().map(median).collect()), count)
}

fn a_record_of_a_scaled_month_takes_as_many_bytes_as_one_of_a_real_log() {
    // The first of the jobs of a month with a thousandth of the machine's logs and more.
    let month = Month {
        jobs: 2000,
        ..Month::scaled(0.002, None, 3)
    };
    let logs: Vec<DarshanLog> = (0..600).map(|index| month.log(index)).collect();
    let (ratio, programs) = beside_real(&logs, &shared_data().join("darshan"));
    assert!(programs >= 8, "{programs} programs");
    assert!(
        (ratio - 1.0).abs() <= 0.2,
        "{ratio:.2} synthetic bytes for each real one"
    );
}

fn the_real_copy_of_a_database_has_the_same_columns() {
    let dir = tempfile::tempdir().unwrap();
    let month = Month {
        lmt_seconds: 100,
        ..Month::new(20, 5)
    };
    synth::write(&month, dir.path(), &|_| {}).unwrap();
    let mut copies = std::fs::read_dir(Month::paths(dir.path()).lmt).unwrap();
    let copy = copies.find_map(|entry| {
        let path = entry.unwrap().path();
        path.extension()
            .is_some_and(|e| e == "sqlite3")
            .then_some(path)
    });
    let open = |path: &Path| {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        rusqlite::Connection::open_with_flags(path, flags).unwrap()
    };
    let ours = open(&copy.unwrap());
    let real = open(&shared_data().join("lmt/snx11025_2018-01-28.sqlite3"));
    let columns = |of: &rusqlite::Connection, table: &str| -> Vec<String> {
        let select = of.prepare(&format!("SELECT * FROM {table}")).unwrap();
        select.column_names().map(str::to_string).collect()
    };
    for table in [
        "OST_DATA",
        "OSS_DATA",
        "MDS_DATA",
        "MDS_OPS_DATA",
        "OST_INFO",
        "OSS_INFO",
        "MDS_INFO",
        "TIMESTAMP_INFO",
        "FILESYSTEM_INFO",
        "OPERATION_INFO",
    ] {
        assert_eq!(columns(&real, table), columns(&ours, table), "{table}");
    }
}
