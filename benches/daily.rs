//! What an ingest of a day costs in a lake that knows a large tree of logs, and what listing that day's directories costs.

use iolode::lake::{CreateOptions, IngestOptions, InputPath, InputRow, InputStatus, Lake, Silent};
use iolode::source::Period;
use std::fs::{File, read_dir};
use std::path::{Path, PathBuf};

const DAY: i64 = 86_400_000_000;

/// The first day of the tree, in days since 1970: the first of January 2017.
const FIRST: i64 = 17_167;

/// Makes `n` empty files in directories of years, months and days, 2,740 on each day as if there were ten million in ten years.
pub(crate) fn tree(directory: &Path, n: u64) -> iolode::Result<String> {
    let mut made = 0;
    for day in 0.. {
        if made == n {
            break;
        }
        let at = of_day(directory, FIRST + day);
        std::fs::create_dir_all(&at).map_err(|e| failed(&at, e))?;
        for log in 0..(n - made).min(2740) {
            let path = at.join(log_name(made + log));
            File::create(&path).map_err(|e| failed(&path, e))?;
        }
        made += (n - made).min(2740);
    }
    Ok(format!("{{\"files\": {made}}}"))
}

/// Makes a lake that knows all files below a directory, as if rows of each were in it; a million are published in a version.
pub(crate) fn known(lake: &Path, directory: &Path) -> iolode::Result<String> {
    let lake = Lake::create(lake, &CreateOptions::default())?;
    let (mut inputs, mut rows) = (0u64, vec![]);
    for entry in walkdir::WalkDir::new(directory).sort_by_file_name() {
        let io = |e: walkdir::Error| failed(directory, e.into());
        let entry = entry.map_err(io)?;
        if entry.file_type().is_file() {
            let metadata = entry.metadata().map_err(io)?;
            rows.push(row(entry.path(), &metadata, inputs));
            inputs += 1;
        }
        if rows.len() == 1_000_000 {
            lake.record_inputs(std::mem::take(&mut rows))?;
        }
    }
    if !rows.is_empty() {
        lake.record_inputs(rows)?;
    }
    Ok(format!("{{\"inputs\": {inputs}}}"))
}

/// Takes in a day of the tree, given in days after its first, or all of it.
pub(crate) fn daily(lake: &Path, directory: &Path, day: Option<i64>) -> iolode::Result<String> {
    let (cpu, wall) = (cpu_time::ProcessTime::now(), std::time::Instant::now());
    let lake = Lake::open(lake)?;
    let from = day.map(|day| (FIRST + day) * DAY);
    let options = IngestOptions {
        paths: vec![InputPath {
            path: directory.to_path_buf(),
            kind: Some("darshan".into()),
        }],
        period: Period {
            from,
            to: from.map(|from| from + DAY),
        },
        threads: 2,
        ..IngestOptions::default()
    };
    let report = lake.ingest(&options, &Silent)?;
    Ok(format!(
        "{{\"unchanged\": {}, \"cpu_s\": {:.4}, \"wall_s\": {:.4}, \"peak_mib\": {}}}",
        report.unchanged,
        cpu.elapsed().as_secs_f64(),
        wall.elapsed().as_secs_f64(),
        peak_mib()
    ))
}

/// Lists the directories that an ingest of that day looks at, or all of them, with the size and time of each file.
pub(crate) fn walk(directory: &Path, day: Option<i64>) -> iolode::Result<String> {
    let cpu = cpu_time::ProcessTime::now();
    let (mut waiting, mut files, mut bytes) = (vec![], 0u64, 0);
    match day {
        Some(day) => waiting.extend((-1..2).map(|d| of_day(directory, FIRST + day + d))),
        None => waiting.push(directory.to_path_buf()),
    }
    while let Some(directory) = waiting.pop() {
        let io = |e| failed(&directory, e);
        for entry in read_dir(&directory).map_err(io)? {
            let entry = entry.map_err(io)?;
            if entry.file_type().map_err(io)?.is_dir() {
                waiting.push(entry.path());
                continue;
            }
            bytes += entry.metadata().map_err(io)?.len();
            files += 1;
        }
    }
    Ok(format!(
        "{{\"files\": {files}, \"bytes\": {bytes}, \"cpu_s\": {:.4}}}",
        cpu.elapsed().as_secs_f64()
    ))
}

fn failed(path: &Path, source: std::io::Error) -> iolode::Error {
    iolode::Error::Invalid(format!("{}: {source}", path.display()))
}

fn of_day(directory: &Path, day: i64) -> PathBuf {
    let date = chrono::DateTime::from_timestamp(day * 86_400, 0).unwrap_or_default();
    directory.join(date.format("%Y/%-m/%-d").to_string())
}

/// As Darshan names a log.
fn log_name(n: u64) -> String {
    format!(
        "user{}_app_id{n}-{}_9-1-{}-{}_1.darshan",
        n % 97,
        n % 65_536,
        n % 86_400,
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}

fn row(path: &Path, metadata: &std::fs::Metadata, n: u64) -> InputRow {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    InputRow {
        path: path.display().to_string().into(),
        source: Some("darshan".into()),
        status: InputStatus::Ok,
        error: None,
        bytes: metadata.len(),
        modified: since.map_or(0, |since| since.as_micros() as i64),
        content_hash: Some(n.wrapping_mul(0xbf58_476d_1ce4_e5b9) as i64),
        job_id: Some(n as i64),
        start_time: Some(FIRST * DAY + n as i64 * 31_000_000),
        dxt: false,
        period: Period::default(),
        reader_version: 1,
        version: 2,
        settings: None,
    }
}

/// Most memory that this process has held.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0u64) / 1024
}
