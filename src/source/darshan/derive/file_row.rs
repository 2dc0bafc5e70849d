//! The columns of `darshan_file`.

use super::direction_stats::DirectionStats;
use super::file::File;
use super::interface::BytesSource;
use super::row::RowWriter;
use crate::source::darshan::job::Job;
use crate::table::TableBuilder;

/// Appends the row of one file.
pub(super) fn append(
    file: &File<'_>,
    log_id: i64,
    job: &Job,
    ost_bits: &mut OstBits,
    builder: &mut TableBuilder,
) {
    let (read, write) = (&file.read, &file.write);
    let start = job.start_micros();
    let mut row = RowWriter::new(builder);
    row.int("log_id", log_id);
    row.int("job_id", job.job_id);
    row.id("record_id", file.record_id);
    row.text("path", file.path.as_deref());
    row.text("fs", file.fs.as_deref());
    row.text("mount_point", file.mount_point.as_deref());
    row.text("fs_type", file.fs_type.as_deref());
    let on_lustre = file.fs_type.as_deref() == Some("lustre");
    row.flag(
        "fs_unsure",
        file.stripes.is_some() && file.mount_point.is_some() && !on_lustre,
    );
    row.flag("is_stream", file.is_stream);
    row.text("bytes_source", Some(file.source.name()));
    row.flag("posix_incomplete", file.posix_incomplete);
    row.flag("may_overlap", file.may_overlap);
    row.flag("shared", file.shared);
    row.text("sharing", Some(file.sharing()));
    row.int("file_nprocs_posix", file.nprocs_posix);
    row.int("file_nprocs_mpiio", file.nprocs_mpiio);
    row.int("readers", read.active);
    row.int("writers", write.active);
    row.int("bytes_read", read.bytes);
    row.int("bytes_written", write.bytes);
    row.int("reads", read.calls);
    row.int("writes", write.calls);
    let [posix, stdio, mpiio] = file.by_interface;
    for (names, moved) in [
        (["posix_bytes_read", "posix_bytes_written"], posix),
        (["stdio_bytes_read", "stdio_bytes_written"], stdio),
        (["mpiio_bytes_read", "mpiio_bytes_written"], mpiio),
    ] {
        row.int(names[0], moved.map(|m| m.0));
        row.int(names[1], moved.map(|m| m.1));
    }
    // POSIX below against MPI-IO above, where both saw the file and POSIX is the one to believe.
    let pair = posix
        .zip(mpiio)
        .filter(|_| file.source != BytesSource::MpiIo);
    let ratio = |below: i64, above: i64| (above > 0).then(|| below as f64 / above as f64);
    row.float(
        "amplification_read",
        pair.and_then(|(below, above)| ratio(below.0, above.0)),
    );
    row.float(
        "amplification_write",
        pair.and_then(|(below, above)| ratio(below.1, above.1)),
    );
    row.int("extra_read", pair.map(|(below, above)| below.0 - above.0));
    row.int(
        "extra_written",
        pair.map(|(below, above)| below.1 - above.1),
    );
    let (r, w) = (read.requests.as_ref(), write.requests.as_ref());
    row.int("posix_reads", r.and_then(|r| r.calls));
    row.int("posix_writes", w.and_then(|w| w.calls));
    for (names, requests) in [(&READ_SIZES, r), (&WRITE_SIZES, w)] {
        for (bin, name) in names.iter().enumerate() {
            row.int(name, requests.and_then(|r| r.sizes[bin]));
        }
    }
    row.int("seq_reads", r.and_then(|r| r.seq));
    row.int("seq_writes", w.and_then(|w| w.seq));
    row.int("consec_reads", r.and_then(|r| r.consec));
    row.int("consec_writes", w.and_then(|w| w.consec));
    row.int("first_reads", r.and_then(|r| r.first));
    row.int("first_writes", w.and_then(|w| w.first));
    let counts = file.posix.filter(|_| r.is_some());
    row.int("rw_switches", counts.and_then(|c| c.rw_switches));
    row.int("not_aligned", counts.and_then(|c| c.not_aligned));
    row.int("file_alignment", counts.and_then(|c| c.alignment));
    row.int("opens", file.opens);
    row.int("stats", file.stats);
    row.int("seeks", file.seeks);
    row.int("syncs", file.syncs);
    let collective = [
        "mpiio_indep_opens",
        "mpiio_coll_opens",
        "mpiio_indep_reads",
        "mpiio_indep_writes",
        "mpiio_coll_reads",
        "mpiio_coll_writes",
    ];
    for (at, name) in collective.into_iter().enumerate() {
        row.int(name, file.mpiio.and_then(|counts| counts[at]));
    }
    row.float("read_time", read.time);
    row.float("write_time", write.time);
    row.float("meta_time", file.meta_time);
    windows(&mut row, read.window, write.window, start);
    row.float("read_busy", read.busy);
    row.float("write_busy", write.busy);
    row.flag(
        "sync_outside_window",
        [read.busy, write.busy]
            .into_iter()
            .flatten()
            .any(|busy| busy > 1.0),
    );
    row.float("read_busy_end", read.busy_end);
    row.float("write_busy_end", write.busy_end);
    row.float("max_read_time", read.max_time);
    row.float("max_write_time", write.max_time);
    for (names, rank) in [
        (
            ["slowest_rank", "slowest_rank_time", "slowest_rank_bytes"],
            file.slowest,
        ),
        (
            ["fastest_rank", "fastest_rank_time", "fastest_rank_bytes"],
            file.fastest,
        ),
    ] {
        row.int(names[0], rank.map(|r| r.rank));
        row.float(names[1], rank.map(|r| r.time));
        row.int(names[2], rank.map(|r| r.bytes));
    }
    let offset = |flow: &DirectionStats| flow.max_byte.and_then(|b| i64::try_from(b).ok());
    row.int("max_byte_read", offset(read));
    row.int("max_byte_written", offset(write));
    let highest = read.max_byte.max(write.max_byte);
    let stripes = file.stripes.as_ref();
    let component = stripes.and_then(|s| s.component_at(highest));
    row.int("stripe_size", component.map(|c| c.size));
    row.int("stripe_count", component.map(|c| c.count));
    row.int("stripe_offset", stripes.and_then(|s| s.stripe_offset));
    row.int("n_components", stripes.map(|s| s.components.len() as i64));
    row.flag("mirrored", stripes.map(|s| s.mirrored));
    row.int("fs_osts", file.fs_osts);
    let osts = stripes.map(|s| s.osts.as_slice());
    let bits = osts.map(|osts| ost_bits.of(osts));
    row.bytes("ost_bits", bits.as_ref().map(|(bytes, _)| *bytes));
    row.int32s("ost_list", osts);
    row.int("ost_count", bits.map(|(_, count)| count));
    row.int(
        "ost_used",
        stripes
            .zip(highest)
            .map(|(s, highest)| s.touched(highest) as i64),
    );
    row.int64s("ost_bytes_read", read.ost_bytes.as_deref());
    row.int64s("ost_bytes_written", write.ost_bytes.as_deref());
    row.flag("ost_bytes_even", file.spread_evenly);
    row.end();
}

/// The bitmap of the file before: neighbours often have the same layout.
#[derive(Default)]
pub(super) struct OstBits {
    osts: Vec<Option<i32>>,
    bytes: Vec<u8>,
    count: i64,
}

impl OstBits {
    /// Serialised bitmap and number of distinct OSTs.
    fn of(&mut self, osts: &[Option<i32>]) -> (&[u8], i64) {
        if self.osts != osts || self.bytes.is_empty() {
            let bits: roaring::RoaringBitmap =
                osts.iter().flatten().map(|ost| *ost as u32).collect();
            self.bytes.clear();
            // Writing to a vector cannot fail.
            let _ = bits.serialize_into(&mut self.bytes);
            self.count = bits.len() as i64;
            self.osts.clear();
            self.osts.extend_from_slice(osts);
        }
        (&self.bytes, self.count)
    }
}

/// The eight columns of two windows: seconds, then the clock.
pub(super) fn windows(
    row: &mut RowWriter<'_>,
    read: Option<(f64, f64)>,
    write: Option<(f64, f64)>,
    start: Option<i64>,
) {
    let clock = |seconds: f64| start.and_then(|start| clock(start, seconds));
    row.float("read_start", read.map(|w| w.0));
    row.float("read_end", read.map(|w| w.1));
    row.float("write_start", write.map(|w| w.0));
    row.float("write_end", write.map(|w| w.1));
    row.time("read_start_time", read.and_then(|w| clock(w.0)));
    row.time("read_end_time", read.and_then(|w| clock(w.1)));
    row.time("write_start_time", write.and_then(|w| clock(w.0)));
    row.time("write_end_time", write.and_then(|w| clock(w.1)));
}

/// Microseconds since 1970 of `seconds` after `start`; None beyond what a timestamp holds.
fn clock(start: i64, seconds: f64) -> Option<i64> {
    let micros = (seconds * 1e6).round();
    (micros.abs() < 9e18)
        .then(|| start.checked_add(micros as i64))
        .flatten()
}

macro_rules! sizes {
    ($prefix:literal) => {
        [
            concat!($prefix, "0_100"),
            concat!($prefix, "100_1k"),
            concat!($prefix, "1k_10k"),
            concat!($prefix, "10k_100k"),
            concat!($prefix, "100k_1m"),
            concat!($prefix, "1m_4m"),
            concat!($prefix, "4m_10m"),
            concat!($prefix, "10m_100m"),
            concat!($prefix, "100m_1g"),
            concat!($prefix, "1g_plus"),
        ]
    };
}

/// Columns of reads by size.
pub(super) const READ_SIZES: [&str; 10] = sizes!("size_read_");
/// Columns of writes by size.
pub(super) const WRITE_SIZES: [&str; 10] = sizes!("size_write_");
