//! What `scripts/bench.py` measures below the engine, one subcommand each.
//!
//! ```text
//! bench read DIR          every log below DIR decoded to Arrow, all modules but DXT; one thread; what is no log is counted
//! bench modules DIR       the same without darshan_file and darshan_log: the modules' own tables alone
//! bench ingest LAKE DIR   every log below DIR taken into LAKE, which is made if it is not there; two threads
//! bench inputs LAKE N     a lake that knows N inputs more, published in one version
//! ```
//! Each prints one line of JSON with what was done, so that both sides of a comparison can be checked to have seen the same.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

use iolode::lake::{CreateOptions, IngestOptions, InputRow, InputStatus, Lake, Silent};
use iolode::source::darshan::Darshan;
use iolode::source::{Input, Site, Source, Tables};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["read", directory] => read(Path::new(directory), |_| true),
        ["modules", directory] => read(Path::new(directory), |table| {
            !matches!(table, "darshan_file" | "darshan_log")
        }),
        ["inputs", lake, n] => inputs(Path::new(lake), n.parse().unwrap_or(0)),
        ["ingest", lake, directory] => ingest(Path::new(lake), Path::new(directory)),
        _ => {
            eprintln!("usage: bench read DIR | modules DIR | ingest LAKE DIR | inputs LAKE N");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(line) => println!("{line}"),
        Err(e) => {
            eprintln!("bench: {e}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Decodes every log below a directory into the tables that are wanted, a batch at every 1 MiB of a table as an ingest does.
fn read(directory: &Path, wanted: fn(&str) -> bool) -> iolode::Result<String> {
    let names = Darshan
        .tables()
        .iter()
        .copied()
        .filter(|name| *name != "darshan_dxt" && wanted(name));
    let (mut tables, mut reader) = (
        Tables::new(names)?,
        Darshan.reader(Arc::new(Site::default())),
    );
    let (mut logs, mut refused, mut rows, mut bytes, mut buffer) = (0u64, 0, 0, 0, vec![]);
    for entry in walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let input = Input::open(entry.path())?.load(64 << 20, buffer)?;
        match reader.read(&input, logs as i64, &mut tables) {
            Ok(_) => logs += 1,
            Err(_) => refused += 1,
        }
        bytes += input.len();
        buffer = input.into_buffer();
        rows += finish(&mut tables, 1 << 20)?;
    }
    rows += finish(&mut tables, 1)?;
    Ok(format!(
        "{{\"logs\": {logs}, \"refused\": {refused}, \"bytes\": {bytes}, \"rows\": {rows}}}"
    ))
}

fn finish(tables: &mut Tables, least: usize) -> iolode::Result<usize> {
    tables
        .builders()
        .iter_mut()
        .filter(|builder| builder.rows() > 0 && builder.bytes() >= least)
        .map(|builder| Ok(builder.finish()?.num_rows()))
        .sum()
}

/// Takes in what is new, and says how long that took; opening the lake included.
fn ingest(lake: &Path, directory: &Path) -> iolode::Result<String> {
    let begin = std::time::Instant::now();
    let lake = match lake.exists() {
        true => Lake::open(lake)?,
        false => Lake::create(lake, &CreateOptions::default())?,
    };
    let options = IngestOptions {
        paths: vec![directory.to_path_buf()],
        threads: 2,
        ..IngestOptions::default()
    };
    let report = lake.ingest(&options, &Silent)?;
    Ok(format!(
        "{{\"version\": {}, \"logs\": {}, \"unchanged\": {}, \"rows\": {}, \"bytes_in\": {}, \"bytes_out\": {}, \"seconds\": {:.3}}}",
        report.version.unwrap_or(0),
        report.inputs.values().sum::<u64>(),
        report.unchanged,
        report.rows,
        report.bytes_in,
        report.bytes_out,
        begin.elapsed().as_secs_f64()
    ))
}

/// Makes a lake that knows `n` inputs, none of which has rows.
fn inputs(lake: &Path, n: u64) -> iolode::Result<String> {
    let lake = Lake::create(lake, &CreateOptions::default())?;
    let rows = (0..n).map(|i| InputRow {
        path: format!(
            "/darshan/2026/9/{}/user{}_app_id{i}-{}_9-1-{}-{}_1.darshan",
            i % 30 + 1,
            i % 97,
            i % 65_536,
            i % 86_400,
            i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
        .into(),
        source: Some("darshan".into()),
        status: InputStatus::Ok,
        error: None,
        bytes: 10_000 + i % 5_000,
        modified: 1_788_000_000_000_000 + i as i64,
        content_hash: Some(i.wrapping_mul(0xbf58_476d_1ce4_e5b9) as i64),
        job_id: Some(i as i64),
        start_time: Some(1_788_000_000_000_000 + i as i64 * 2_000_000),
        dxt: false,
        reader_version: 1,
        version: 2,
    });
    lake.record_inputs(rows.collect())?;
    Ok(format!("{{\"inputs\": {n}}}"))
}
