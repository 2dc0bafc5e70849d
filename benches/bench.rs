//! What `scripts/bench.py` measures below the engine, one subcommand each.
//!
//! ```text
//! bench read DIR          every log below DIR decoded to Arrow, all modules but DXT; one thread; what is no log is counted
//! bench modules DIR       the same without darshan_file and darshan_log: the modules' own tables alone
//! bench ingest LAKE DIR   every log below DIR taken into LAKE, which is made if it is not there; two threads
//! bench inputs LAKE N     a lake that knows N inputs more, published in one version
//! bench tree DIR N        N empty files below DIR, in directories of years, months and days
//! bench known LAKE DIR    a lake that knows all files below DIR
//! bench daily LAKE DIR [DAY]  what is new on a day of that tree taken in, counted from its first, or in all of it; two threads
//! bench walk DIR [DAY]    the directories listed that this looks at
//! bench sacct-dump FILE N  N lines of `sacct -P` with the recommended columns are written: jobs of one to 64 nodes and their steps
//! bench sacct FILE        the lines of such a dump decoded to Arrow
//! bench lmt-dump FILE N   a mysqldump of LMT with N rows of OST_DATA is written: 248 OSTs, each sample 5 s after the one before
//! bench lmt-floor FILE    the ends of a dump's rows counted, block by block: what reading it cannot cost less than
//! bench lmt FILE          the rows of a dump decoded to Arrow
//! bench lmt-resolve FILE  the same, then their intervals formed
//! bench columns LAKE T=C,.. these columns of these tables of a lake that was taken in at once, read and decoded; one thread
//! bench mosaic DIR MODE   MOSAIC's classes of every log below DIR, mode `reference` or `full`: CPU microseconds a log, without reading it
//! bench mosaic-periods JOBS SEED  tables of the periods that both modes find in a month of periods, and of those that are none (benches/proofs/mosaic_periods.md)
//! bench ask LAKE THREADS [MEMORY]  questions from stdin, each with what it took: see `ask` (with the engine alone)
//! ```
//! Each prints one line of JSON with what was done, so that both sides of a comparison can be checked to have seen the same.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

#[cfg(feature = "engine")]
mod ask;
mod daily;
mod mosaic;
mod mosaic_periods;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use iolode::lake::{CreateOptions, IngestOptions, InputRow, InputStatus, Lake, Silent};
use iolode::source::darshan::Darshan;
use iolode::source::lmt::Lmt;
use iolode::source::slurm::Slurm;
use iolode::source::{BatchSink, Input, ReadContext, Source};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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
        ["tree", directory, n] => daily::tree(Path::new(directory), n.parse().unwrap_or(0)),
        ["known", lake, directory] => daily::known(Path::new(lake), Path::new(directory)),
        ["daily", lake, directory, ref day @ ..] => {
            let day = day.first().and_then(|day| day.parse().ok());
            daily::daily(Path::new(lake), Path::new(directory), day)
        }
        ["walk", directory, ref day @ ..] => {
            let day = day.first().and_then(|day| day.parse().ok());
            daily::walk(Path::new(directory), day)
        }
        ["sacct-dump", file, n] => sacct_dump(Path::new(file), n.parse().unwrap_or(0)),
        ["sacct", file] => sacct(Path::new(file)),
        ["lmt-dump", file, n] => lmt_dump(Path::new(file), n.parse().unwrap_or(0)),
        ["lmt-floor", file] => lmt_floor(Path::new(file)),
        ["lmt", file] => lmt(Path::new(file), false),
        ["lmt-resolve", file] => lmt(Path::new(file), true),
        ["ingest", lake, directory] => ingest(Path::new(lake), Path::new(directory)),
        ["columns", lake, ref tables @ ..] if !tables.is_empty() => {
            columns(Path::new(lake), tables)
        }
        ["mosaic", directory, mode] => mosaic::mosaic(Path::new(directory), mode),
        ["mosaic-periods", jobs, seed] => {
            mosaic_periods::periods(jobs.parse().unwrap_or(0), seed.parse().unwrap_or(1))
        }
        #[cfg(feature = "engine")]
        ["ask", lake, threads, ref memory @ ..] => {
            // Who asked has gone, and nobody is there to be told of it.
            let threads = threads.parse().unwrap_or(2);
            let memory = memory.first().and_then(|bytes| bytes.parse().ok());
            let session = ask::Session {
                lake: lake.into(),
                threads,
                memory,
                set: Default::default(),
            };
            let (questions, answers) = (std::io::stdin().lock(), std::io::stdout().lock());
            match ask::ask(Some(session), questions, answers, floor) {
                Ok(_) => return ExitCode::SUCCESS,
                Err(e) => Err(e),
            }
        }
        _ => {
            eprintln!(
                "usage: bench read DIR | modules DIR | ingest LAKE DIR | inputs LAKE N | tree DIR N | known LAKE DIR | daily LAKE DIR [DAY] | walk DIR [DAY] | sacct-dump FILE N | sacct FILE | lmt-dump FILE N | lmt-floor FILE \
                 | lmt FILE | lmt-resolve FILE | columns LAKE TABLE=COLUMN,.. | mosaic DIR MODE | mosaic-periods JOBS SEED | ask LAKE THREADS [MEMORY]"
            );
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
        BatchSink::new(names)?,
        Darshan.reader(Arc::new(ReadContext::default())),
    );
    let (mut logs, mut refused, mut rows, mut bytes, mut buffer) = (0u64, 0, 0, 0, vec![]);
    for entry in walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let input = Input::open(entry.path())?.load(64 << 20, buffer)?;
        match reader.read(&input, logs as i64, None, &mut tables) {
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

fn finish(tables: &mut BatchSink, least: usize) -> iolode::Result<usize> {
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
        paths: vec![directory.to_path_buf().into()],
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
        period: iolode::source::Period::default(),
        reader_version: 1,
        settings: None,
        version: 2,
    });
    lake.record_inputs(rows.collect())?;
    Ok(format!("{{\"inputs\": {n}}}"))
}

/// Reads columns of Parquet files, batch by batch, and drops them: no answer from them can cost less.
fn columns(lake: &Path, tables: &[&str]) -> iolode::Result<String> {
    let bad = |why: &dyn std::fmt::Display| iolode::Error::Invalid(why.to_string());
    let (mut rows, mut bytes) = (0, 0);
    for table in tables {
        let (table, columns) = table
            .split_once('=')
            .ok_or_else(|| bad(&"expected TABLE=COLUMN,.."))?;
        let columns: Vec<&str> = columns.split(',').collect();
        for entry in std::fs::read_dir(lake.join(table)).map_err(|e| bad(&e))? {
            let read = decode(&entry.map_err(|e| bad(&e))?.path(), &columns)?;
            rows += read.rows;
            bytes += read.bytes;
        }
    }
    Ok(format!("{{\"rows\": {rows}, \"bytes\": {bytes}}}"))
}

/// What no answer from these columns can cost less: they are read from the files of the newest version, batch by batch, on one
/// thread.
#[cfg(feature = "engine")]
fn floor(root: &Path, columns: &[serde_json::Value]) -> iolode::Result<serde_json::Value> {
    let lake = Lake::open(root)?;
    let (cpu, wall) = (cpu_time::ProcessTime::now(), std::time::Instant::now());
    let snapshot = lake.snapshot(None)?;
    let (mut rows, mut stored) = (0, 0);
    for table in columns.iter().filter_map(serde_json::Value::as_str) {
        let Some((table, columns)) = table.split_once('=') else {
            let why = format!("{table}: expected TABLE=COLUMN,..");
            return Err(iolode::Error::Invalid(why));
        };
        let columns: Vec<&str> = columns.split(',').collect();
        for file in snapshot.files().iter().filter(|file| *file.table == *table) {
            let decoded = decode(&root.join(&*file.path), &columns)?;
            rows += decoded.rows;
            stored += decoded.stored;
        }
    }
    let (cpu, wall) = (cpu.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
    Ok(serde_json::json!({
        "rows": rows, "stored": stored, "cpu_s": cpu, "wall_s": wall, "plan_s": 0.0, "peak_mib": ask::peak_mib(),
    }))
}

/// Columns of one Parquet file.
struct Decoded {
    rows: usize,
    /// What they took in memory, all batches together.
    bytes: usize,
    /// What they take in the file, compressed.
    stored: i64,
}

/// Reads these columns of one Parquet file and drops them.
fn decode(file: &Path, columns: &[&str]) -> iolode::Result<Decoded> {
    let bad =
        |why: &dyn std::fmt::Display| iolode::Error::Invalid(format!("{}: {why}", file.display()));
    let opened = std::fs::File::open(file).map_err(|e| bad(&e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|e| bad(&e))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let chunks = builder.metadata().row_groups().iter();
    let chunks = chunks.flat_map(|group| group.columns().iter().enumerate());
    let wanted = chunks.filter(|(i, _)| mask.leaf_included(*i));
    let stored = wanted.map(|(_, chunk)| chunk.compressed_size()).sum();
    let reader = builder.with_projection(mask).with_batch_size(8192).build();
    let (mut rows, mut bytes) = (0, 0);
    for batch in reader.map_err(|e| bad(&e))? {
        let batch = batch.map_err(|e| bad(&e))?;
        rows += batch.num_rows();
        bytes += batch.get_array_memory_size();
    }
    Ok(Decoded {
        rows,
        bytes,
        stored,
    })
}

/// Writes lines as `TZ=UTC sacct -a -D -P` prints them with the recommended columns: of each job itself, its batch step and up to
/// three more.
fn sacct_dump(file: &Path, lines: u64) -> iolode::Result<String> {
    let write = || -> std::io::Result<u64> {
        let mut to = std::io::BufWriter::new(std::fs::File::create(file)?);
        writeln!(
            to,
            "Cluster|JobID|JobIDRaw|User|UID|Account|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|Suspended|\
             TimelimitRaw|NNodes|NCPUS|NTasks|NodeList|ReqMem|MaxRSS|AllocTRES|JobName"
        )?;
        let (mut left, mut id, mut state) = (lines, 4_000_000u64, 0x2545_f491_4f6c_dd1du64);
        while left > 0 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let (user, nodes, seconds) = (
                state % 500,
                1 + state / 500 % 64,
                30 + state / 32_000 % 50_000,
            );
            let start = 1_788_220_800 + (id - 4_000_000) * 9 + state % 600;
            let time = |seconds: u64| {
                let time = chrono::DateTime::from_timestamp(seconds as i64, 0).unwrap_or_default();
                time.format("%Y-%m-%dT%H:%M:%S").to_string()
            };
            let (submit, begin, end) = (
                time(start - state % 4000),
                time(start),
                time(start + seconds),
            );
            let first = state / 7 % 9000;
            let list = match nodes {
                1 => format!("nid{first:05}"),
                nodes => format!("nid[{first:05}-{:05}]", first + nodes - 1),
            };
            let failed = state.is_multiple_of(9);
            let (end_state, exit) = if failed {
                ("FAILED", "1:0")
            } else {
                ("COMPLETED", "0:0")
            };
            let cpus = nodes * 64;
            writeln!(
                to,
                "cori|{id}|{id}|user{user}|{}|acct{}|regular|normal|{end_state}|{exit}|{submit}|{submit}|{begin}|{end}|{seconds}|00:00:00|\
                 1440|{nodes}|{cpus}||{list}|{}G||billing={cpus},cpu={cpus},mem={}G,node={nodes}|job_{}",
                20_000 + user,
                user % 60,
                nodes * 100,
                nodes * 100,
                state % 1000
            )?;
            left -= 1;
            for step in 0..(state / 11 % 5).min(left) {
                let (name, nodes) = if step == 0 {
                    ("batch".to_string(), 1)
                } else {
                    ((step - 1).to_string(), nodes)
                };
                writeln!(
                    to,
                    "cori|{id}.{name}|{id}.{name}|||acct{}|||{end_state}|{exit}|{begin}|{begin}|{begin}|{end}|{seconds}|00:00:00|\
                     |{nodes}|{}|{}|{list}||{}K|cpu={},mem={}G,node={nodes}|app{}",
                    user % 60,
                    nodes * 64,
                    nodes * 32,
                    10_000 + state % 9_000_000,
                    nodes * 64,
                    nodes * 100,
                    state % 300
                )?;
                left -= 1;
            }
            id += 1;
        }
        to.flush()?;
        to.get_ref().metadata().map(|metadata| metadata.len())
    };
    let bytes = write().map_err(|e| iolode::Error::io(file, "cannot write", e))?;
    Ok(format!("{{\"lines\": {lines}, \"bytes\": {bytes}}}"))
}

/// Decodes such lines into batches of a megabyte, which are thrown away.
fn sacct(file: &Path) -> iolode::Result<String> {
    let mut tables = BatchSink::new(["slurm_job", "slurm_step"])?;
    let rows = Arc::new(AtomicUsize::new(0));
    let counted = rows.clone();
    tables.set_drain(move |builders| {
        for builder in builders
            .iter_mut()
            .filter(|builder| builder.bytes() >= 1 << 20)
        {
            counted.fetch_add(builder.finish()?.num_rows(), Ordering::Relaxed);
        }
        Ok(())
    });
    let outcome = Slurm.reader(Arc::new(ReadContext::default())).read(
        &Input::open(file)?,
        1,
        None,
        &mut tables,
    )?;
    let mut rows = rows.load(Ordering::Relaxed);
    for builder in tables.builders() {
        rows += builder.finish()?.num_rows();
    }
    Ok(format!(
        "{{\"rows\": {rows}, \"status\": \"{}\"}}",
        outcome.status.name()
    ))
}

/// OSTs of the dump that is written: those of Cori's scratch.
const OSTS: u64 = 248;

/// Writes a dump as mariadb-dump does, with rows on lines of their own, ordered by OST, statements of a megabyte.
fn lmt_dump(file: &Path, rows: u64) -> iolode::Result<String> {
    let write = || -> std::io::Result<u64> {
        let mut to = std::io::BufWriter::new(std::fs::File::create(file)?);
        let steps = rows.div_ceil(OSTS);
        writeln!(to, "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB")?;
        writeln!(to, "--\n-- Host: localhost    Database: filesystem_synth\n")?;
        let table = |to: &mut dyn Write, name: &str, rows: &mut dyn Iterator<Item = String>| {
            let mut statement = 0;
            for (at, row) in rows.enumerate() {
                let begin = match statement {
                    0 if at == 0 => format!("INSERT INTO `{name}` VALUES\n"),
                    0 => format!(";\nINSERT INTO `{name}` VALUES\n"),
                    _ => ",\n".to_string(),
                };
                write!(to, "{begin}{row}")?;
                statement = (statement + row.len() + 2) % (1 << 20);
                if statement < row.len() {
                    statement = 0;
                }
            }
            writeln!(to, ";")
        };
        let mut step = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            step ^= step << 13;
            step ^= step >> 7;
            step ^= step << 17;
            step
        };
        let (mut read, mut written, mut used) = (0, 0, 0);
        let mut samples = (0..rows).map(|row| {
            let (ost, at) = (row / steps, row % steps);
            if at == 0 {
                (read, written, used) = (
                    19_579_878_608_896 + ost,
                    38_397_984_548_046 + ost,
                    52_655_660_764,
                );
            }
            read += random() % 30_000_000;
            written += random() % 400_000_000;
            used += random() % 100_000;
            let free = 90_767_651_352u64.saturating_sub(used);
            let (id, stamp) = (ost + 1, 8_921_898 + at);
            format!("({id},{stamp},{read},{written},0,{free},{used},74201822,14466722)")
        });
        table(&mut to, "OST_DATA", &mut samples)?;
        let mut osts = (0..OSTS).map(|ost| {
            format!(
                "({},{},'synth-OST{ost:04x}','oss{ost:03}',0,'/dev/md0')",
                ost + 1,
                ost + 1
            )
        });
        table(&mut to, "OST_INFO", &mut osts)?;
        let mut stamps = (0..steps).map(|at| {
            let time = chrono::DateTime::from_timestamp(1_517_097_600 + 5 * at as i64, 0)
                .unwrap_or_default();
            format!(
                "({},'{}')",
                8_921_898 + at,
                time.format("%Y-%m-%d %H:%M:%S")
            )
        });
        table(&mut to, "TIMESTAMP_INFO", &mut stamps)?;
        writeln!(to, "\n-- Dump completed on 2026-11-21  2:12:57")?;
        to.flush()?;
        to.get_ref().metadata().map(|metadata| metadata.len())
    };
    let bytes = write().map_err(|e| iolode::Error::io(file, "cannot write", e))?;
    Ok(format!("{{\"rows\": {rows}, \"bytes\": {bytes}}}"))
}

/// Counts the rows of a dump by their ends alone: a closing parenthesis before a comma or a semicolon.
fn lmt_floor(file: &Path) -> iolode::Result<String> {
    let input = Input::open(file)?;
    let (mut buffer, mut at, mut rows) = (vec![], 0, 0u64);
    while at < input.len() {
        let n = (input.len() - at).min(512 << 10);
        buffer.clear();
        input.read_at(at, n as usize, &mut buffer)?;
        at += n;
        rows += memchr::memchr_iter(b')', &buffer)
            .filter(|end| matches!(buffer.get(end + 1), Some(b',' | b';')))
            .count() as u64;
    }
    Ok(format!("{{\"rows\": {rows}, \"bytes\": {at}}}"))
}

/// Decodes a dump into batches of a megabyte, which are thrown away unless their intervals are wanted.
fn lmt(file: &Path, resolve: bool) -> iolode::Result<String> {
    let mut tables = BatchSink::new(["lmt_ost"])?;
    let batches = Arc::new(Mutex::new(vec![]));
    let (rows, kept) = (Arc::new(AtomicUsize::new(0)), batches.clone());
    let counted = rows.clone();
    tables.set_drain(move |builders| {
        for builder in builders
            .iter_mut()
            .filter(|builder| builder.bytes() >= 1 << 20)
        {
            let batch = builder.finish()?;
            counted.fetch_add(batch.num_rows(), Ordering::Relaxed);
            if let (true, Ok(mut kept)) = (resolve, kept.lock()) {
                kept.push(batch);
            }
        }
        Ok(())
    });
    let outcome = Lmt.reader(Arc::new(ReadContext::default())).read(
        &Input::open(file)?,
        1,
        None,
        &mut tables,
    )?;
    let mut rows = rows.load(Ordering::Relaxed);
    for builder in tables.builders() {
        let batch = builder.finish()?;
        rows += batch.num_rows();
        if let (true, Ok(mut batches)) = (resolve, batches.lock()) {
            batches.push(batch);
        }
    }
    let (mut formed, mut seconds, mut moved) = (0, 0.0, [0i128; 2]);
    if let (Some(mut merger), Ok(batches)) = (Lmt.row_merger("lmt_ost"), batches.lock()) {
        for batch in batches.iter() {
            let begin = std::time::Instant::now();
            let intervals = merger.resolve(batch)?;
            seconds += begin.elapsed().as_secs_f64();
            formed += intervals.num_rows();
            for (sum, name) in moved.iter_mut().zip(["bytes_read", "bytes_written"]) {
                let column = intervals.column_by_name(name);
                let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
                *sum += column
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(i128::from)
                    .sum::<i128>();
            }
        }
    }
    Ok(format!(
        "{{\"rows\": {rows}, \"status\": \"{}\", \"intervals\": {formed}, \"read\": {}, \"written\": {}, \
         \"seconds_of_intervals\": {seconds:.3}}}",
        outcome.status.name(),
        moved[0],
        moved[1]
    ))
}
