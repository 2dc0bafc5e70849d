//! The sections `--perf` and `--file` of darshan-parser's text form.
//!
//! # Source
//! SEMANTICS.md 2 (`darshan-parser --perf`); darshan-util/darshan-parser.c (`--file`).

use crate::source::darshan::ModuleId;
use crate::source::darshan::counters::{daos, dfs, mpiio, posix, stdio};
use crate::source::darshan::records::Records;
use std::collections::BTreeMap;
use std::io::Write;

/// Counters that --perf and --file are made of.
pub(super) struct BySlowest {
    pub(super) id: ModuleId,
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) read_time: usize,
    pub(super) write_time: usize,
    pub(super) meta_time: usize,
    pub(super) slowest: usize,
    /// Greatest offsets, where the module has them.
    pub(super) offsets: Option<[usize; 2]>,
}

macro_rules! by_slowest {
    ($id:ident, $counters:ident, $offsets:expr) => {
        BySlowest {
            id: ModuleId::$id,
            read: $counters::BYTES_READ,
            written: $counters::BYTES_WRITTEN,
            read_time: $counters::F_READ_TIME,
            write_time: $counters::F_WRITE_TIME,
            meta_time: $counters::F_META_TIME,
            slowest: $counters::F_SLOWEST_RANK_TIME,
            offsets: $offsets,
        }
    };
}

pub(super) const BY_SLOWEST: [BySlowest; 5] = [
    by_slowest!(
        POSIX,
        posix,
        Some([posix::MAX_BYTE_READ, posix::MAX_BYTE_WRITTEN])
    ),
    by_slowest!(MPIIO, mpiio, None),
    by_slowest!(
        STDIO,
        stdio,
        Some([stdio::MAX_BYTE_READ, stdio::MAX_BYTE_WRITTEN])
    ),
    by_slowest!(DFS, dfs, None),
    by_slowest!(DAOS, daos, None),
];

pub(super) fn print_performance(
    by: &BySlowest,
    records: &Records<'_>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let (mut bytes, mut shared) = (0i64, 0.0);
    // Time, of it metadata, of it reading and writing, for each rank with records of its own.
    let mut ranks: BTreeMap<i64, [f64; 3]> = BTreeMap::new();
    for record in 0..records.len() {
        let moved = records
            .int(record, by.read)
            .saturating_add(records.int(record, by.written));
        bytes = bytes.saturating_add(moved);
        let float = |counter| records.float(record, counter);
        match records.rank(record) {
            rank if rank < 0 => shared += float(by.slowest),
            rank => {
                let (meta, moving) = (
                    float(by.meta_time),
                    float(by.read_time) + float(by.write_time),
                );
                let sums = ranks.entry(rank).or_default();
                *sums = [sums[0] + meta + moving, sums[1] + meta, sums[2] + moving];
            }
        }
    }
    let first = (0, [0.0; 3]);
    let slowest = ranks.iter().fold(first, |most, (rank, sums)| {
        if sums[0] > most.1[0] {
            (*rank, *sums)
        } else {
            most
        }
    });
    let (rank, [total, meta, moving]) = slowest;
    let time = total + shared;
    let rate = if time > 0.0 {
        bytes as f64 / 1_048_576.0 / time
    } else {
        0.0
    };
    let dots = ".".repeat(27);
    writeln!(
        out,
        "\n# performance\n# -----------\n# total_bytes: {bytes}\n#"
    )?;
    writeln!(out, "# I/O timing for unique files (seconds):\n# {dots}")?;
    writeln!(out, "# unique files: slowest_rank_io_time: {total:.6}")?;
    writeln!(
        out,
        "# unique files: slowest_rank_meta_only_time: {meta:.6}"
    )?;
    writeln!(
        out,
        "# unique files: slowest_rank_rw_only_time: {moving:.6}"
    )?;
    writeln!(out, "# unique files: slowest_rank: {rank}\n#")?;
    writeln!(out, "# I/O timing for shared files (seconds):\n# {dots}")?;
    writeln!(out, "# shared files: time_by_slowest: {shared:.6}\n#")?;
    writeln!(
        out,
        "# Aggregate performance, including both shared and unique files:\n# {dots}"
    )?;
    writeln!(out, "# agg_time_by_slowest: {time:.6} # seconds")?;
    writeln!(out, "# agg_perf_by_slowest: {rate:.6} # MiB/s")
}

/// What --file adds up for one file.
struct File {
    read: i64,
    written: i64,
    /// Greatest offset touched; -1 where it is not known.
    offset: i64,
    /// Processes; -1 for all.
    processes: i64,
}

pub(super) fn print_files(
    by: &BySlowest,
    records: &Records<'_>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut files: BTreeMap<u64, File> = BTreeMap::new();
    for record in 0..records.len() {
        let file = files.entry(records.id(record)).or_insert(File {
            read: 0,
            written: 0,
            offset: -1,
            processes: 0,
        });
        file.read = file.read.saturating_add(records.int(record, by.read));
        file.written = file.written.saturating_add(records.int(record, by.written));
        for offset in by.offsets.into_iter().flatten() {
            file.offset = file.offset.max(records.int(record, offset));
        }
        file.processes = match records.rank(record) {
            rank if rank < 0 => -1,
            _ if file.processes < 0 => -1,
            _ => file.processes + 1,
        };
    }
    writeln!(out, "\n# Total file counts\n# -----")?;
    writeln!(
        out,
        "# <file_type> <file_count> <total_bytes> <max_byte_offset>"
    )?;
    let mut line = |name: &str, keep: &dyn Fn(&File) -> bool| {
        let kept: Vec<&File> = files.values().filter(|file| keep(file)).collect();
        let bytes = kept.iter().fold(0i64, |sum, file| {
            sum.saturating_add(file.read).saturating_add(file.written)
        });
        // Without any file darshan-parser prints 0.
        let offset = kept.iter().map(|file| file.offset).max().unwrap_or(0);
        writeln!(out, "# {name}: {} {bytes} {offset}", kept.len())
    };
    line("total", &|_| true)?;
    line("read_only", &|file| file.read > 0 && file.written == 0)?;
    line("write_only", &|file| file.written > 0 && file.read == 0)?;
    line("read_write", &|file| file.read > 0 && file.written > 0)?;
    line("unique", &|file| file.processes == 1)?;
    // The greater offset of the two kinds of sharing; darshan-parser adds them (source/darshan/FORMAT.md 12.11).
    line("shared", &|file| file.processes != 1)
}
