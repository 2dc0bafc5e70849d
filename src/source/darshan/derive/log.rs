//! One row for a log: identity, program, times, and totals over its files.

use super::file::File;
use super::file_row::{READ_SIZES, WRITE_SIZES, windows};
use super::flow::Flow;
use super::row::Row;
use super::{app, sum, sum_time};
use crate::source::darshan::counters::{daos, dfs, mpiio, posix, stdio};
use crate::source::darshan::job::Job;
use crate::source::darshan::log::Log;
use crate::source::darshan::module::ModuleId;
use crate::source::darshan::records::Records;
use crate::source::{Input, Site};
use crate::table::TableBuilder;
use std::path::Path;

/// Appends the row of one log.
pub(super) fn append(
    log: &Log,
    job: &Job,
    files: &[File<'_>],
    log_id: i64,
    input: &Input,
    site: &Site,
    builder: &mut TableBuilder,
) {
    let Some(header) = log.header() else { return };
    let (exe, metadata) = (
        String::from_utf8_lossy(&job.exe),
        String::from_utf8_lossy(&job.metadata),
    );
    let exe = Some(exe.as_ref()).filter(|exe| !exe.is_empty());
    let mut row = Row::new(builder);
    row.int("log_id", log_id);
    row.text("log_path", Some(&input.path().to_string_lossy()));
    row.int("job_id", job.job_id);
    row.int("uid", job.uid);
    row.text("user", user(input.path()));
    row.text("exe", exe);
    row.flag("exe_truncated", job.exe_truncated);
    row.text("app", exe.and_then(|exe| app::app(exe, site)).as_deref());
    row.int("nprocs", Some(job.nprocs).filter(|n| *n >= 0));
    row.time("start_time", job.start_micros());
    row.time("end_time", job.end_micros());
    row.float("run_time", job.run_time());
    row.text(
        "log_version",
        Some(&format!("{}.{:02}", header.version.0, header.version.1)),
    );
    row.flag("partial", log.modules().iter().any(|m| m.partial));
    row.text("status", Some(log.status().name()));
    row.int("log_bytes", input.len() as i64);
    row.text("byte_order", Some(header.order.name()));
    row.text("compression", Some(header.compression.name()));
    row.text("lib_ver", value(&metadata, "lib_ver"));
    row.text("mpi_hints", value(&metadata, "h"));
    row.int(
        "fork_parent",
        value(&metadata, "fork_parent").and_then(|v| v.trim().parse::<i64>().ok()),
    );
    row.texts(
        "modules",
        log.modules()
            .iter()
            .filter(|m| m.bytes > 0)
            .map(|m| m.name.as_ref()),
    );
    row.texts(
        "partial_modules",
        log.modules()
            .iter()
            .filter(|m| m.partial)
            .map(|m| m.name.as_ref()),
    );

    let real = || files.iter().filter(|f| !f.is_stream);
    let count = |keep: &dyn Fn(&File<'_>) -> bool| real().filter(|f| keep(f)).count() as i64;
    row.int("files", files.len() as i64);
    row.int("streams", (files.len() - real().count()) as i64);
    row.int("files_shared", count(&|f| f.shared));
    row.int("files_part_shared", count(&|f| !f.shared && !f.unique));
    row.int("files_unique", count(&|f| f.unique));
    row.int(
        "files_read_only",
        count(&|f| f.read.bytes > 0 && f.write.bytes == 0),
    );
    row.int(
        "files_write_only",
        count(&|f| f.read.bytes == 0 && f.write.bytes > 0),
    );
    row.int(
        "files_read_write",
        count(&|f| f.read.bytes > 0 && f.write.bytes > 0),
    );
    let total =
        |of: &dyn Fn(&File<'_>) -> i64| files.iter().map(of).fold(0i64, i64::saturating_add);
    let (bytes_read, bytes_written) = (total(&|f| f.read.bytes), total(&|f| f.write.bytes));
    let streams_read = total(&|f| if f.is_stream { f.read.bytes } else { 0 });
    let streams_written = total(&|f| if f.is_stream { f.write.bytes } else { 0 });
    row.int("bytes_read", bytes_read);
    row.int("bytes_written", bytes_written);
    row.int("bytes_read_streams", streams_read);
    row.int("bytes_written_streams", streams_written);
    row.int("total_bytes", bytes_read.saturating_add(bytes_written));
    row.int("reads", total(&|f| f.read.calls));
    row.int("writes", total(&|f| f.write.calls));
    modules(&mut row, log);
    row.float(
        "read_time",
        sum_time(files.iter().filter_map(|f| f.read.time)),
    );
    row.float(
        "write_time",
        sum_time(files.iter().filter_map(|f| f.write.time)),
    );
    row.float(
        "meta_time",
        sum_time(files.iter().filter_map(|f| f.meta_time)),
    );

    let windows_of = |flow: for<'f> fn(&'f File<'_>) -> &'f Flow| -> Vec<(f64, f64)> {
        real()
            .map(flow)
            .filter(|flow| flow.bytes > 0)
            .filter_map(|flow| flow.window)
            .collect()
    };
    let (mut reads, mut writes) = (windows_of(|f| &f.read), windows_of(|f| &f.write));
    row.int("read_files", reads.len() as i64);
    row.int("write_files", writes.len() as i64);
    let (read_span, write_span) = (span(&reads), span(&writes));
    windows(&mut row, read_span, write_span, job.start_micros());
    let mut both = [reads.as_slice(), writes.as_slice()].concat();
    let (read_time, write_time) = (union(&mut reads), union(&mut writes));
    row.float("critical_read_time", read_time);
    row.float("critical_write_time", write_time);
    row.float("critical_io_time", union(&mut both));
    let bandwidth =
        |bytes: i64, seconds: Option<f64>| seconds.filter(|s| *s > 0.0).map(|s| bytes as f64 / s);
    let length = |window: Option<(f64, f64)>| window.map(|(start, end)| end - start);
    let (moved_in, moved_out) = (bytes_read - streams_read, bytes_written - streams_written);
    row.float("read_bw_span", bandwidth(moved_in, length(read_span)));
    row.float("write_bw_span", bandwidth(moved_out, length(write_span)));
    row.float("read_bw_critical", bandwidth(moved_in, read_time));
    row.float("write_bw_critical", bandwidth(moved_out, write_time));
    let slowest = |flow: for<'f> fn(&'f File<'_>) -> &'f Flow| {
        slowest_rank_time(real().map(flow).filter(|flow| flow.bytes > 0))
    };
    let (slowest_read, slowest_write) = (slowest(|f| &f.read), slowest(|f| &f.write));
    row.float("read_time_by_slowest", slowest_read);
    row.float("write_time_by_slowest", slowest_write);
    row.float("read_bw_slowest_rank", bandwidth(moved_in, slowest_read));
    row.float("write_bw_slowest_rank", bandwidth(moved_out, slowest_write));
    for (names, id, counters) in BY_SLOWEST {
        let by_slowest = log
            .records(id)
            .map(|records| by_slowest(&records, &counters));
        row.int(names[0], by_slowest.map(|b| b.0));
        row.float(names[1], by_slowest.map(|b| b.1));
        let mib = |(bytes, seconds): (i64, f64)| {
            if seconds == 0.0 {
                0.0
            } else {
                bytes as f64 / 1048576.0 / seconds
            }
        };
        row.float(names[2], by_slowest.map(mib));
    }
    row.end();
}

/// Totals by module, of the records as they are.
fn modules(row: &mut Row<'_>, log: &Log) {
    let [posix, mpiio, stdio, dfs, daos] = [
        ModuleId::POSIX,
        ModuleId::MPIIO,
        ModuleId::STDIO,
        ModuleId::DFS,
        ModuleId::DAOS,
    ]
    .map(|id| log.records(id));
    let total = |records: &Option<Records<'_>>, counter: usize| {
        let records = records.as_ref()?;
        Some(sum((0..records.len()).map(|r| records.int(r, counter))).unwrap_or(0))
    };
    for (records, names, counters) in [
        (
            &posix,
            ["posix_bytes_read", "posix_bytes_written"],
            [posix::BYTES_READ, posix::BYTES_WRITTEN],
        ),
        (
            &mpiio,
            ["mpiio_bytes_read", "mpiio_bytes_written"],
            [mpiio::BYTES_READ, mpiio::BYTES_WRITTEN],
        ),
        (
            &stdio,
            ["stdio_bytes_read", "stdio_bytes_written"],
            [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
        ),
        (
            &dfs,
            ["dfs_bytes_read", "dfs_bytes_written"],
            [dfs::BYTES_READ, dfs::BYTES_WRITTEN],
        ),
        (
            &daos,
            ["daos_bytes_read", "daos_bytes_written"],
            [daos::BYTES_READ, daos::BYTES_WRITTEN],
        ),
    ] {
        row.int(names[0], total(records, counters[0]));
        row.int(names[1], total(records, counters[1]));
    }
    row.int("posix_opens", total(&posix, posix::OPENS));
    row.int("posix_stats", total(&posix, posix::STATS));
    row.int("posix_seeks", total(&posix, posix::SEEKS));
    let fsyncs = total(&posix, posix::FSYNCS).zip(total(&posix, posix::FDSYNCS));
    row.int("posix_fsyncs", fsyncs.map(|(a, b)| a.saturating_add(b)));
    for (name, counter) in [
        ("posix_reads", posix::READS),
        ("posix_writes", posix::WRITES),
        ("posix_seq_reads", posix::SEQ_READS),
        ("posix_seq_writes", posix::SEQ_WRITES),
        ("posix_consec_reads", posix::CONSEC_READS),
        ("posix_consec_writes", posix::CONSEC_WRITES),
    ] {
        row.int(name, total(&posix, counter));
    }
    row.int("stdio_opens", total(&stdio, stdio::OPENS));
    row.int("stdio_reads", total(&stdio, stdio::READS));
    row.int("stdio_writes", total(&stdio, stdio::WRITES));
    for (name, counter) in [
        ("mpiio_indep_opens", mpiio::INDEP_OPENS),
        ("mpiio_indep_reads", mpiio::INDEP_READS),
        ("mpiio_indep_writes", mpiio::INDEP_WRITES),
        ("mpiio_coll_opens", mpiio::COLL_OPENS),
        ("mpiio_coll_reads", mpiio::COLL_READS),
        ("mpiio_coll_writes", mpiio::COLL_WRITES),
    ] {
        row.int(name, total(&mpiio, counter));
    }
    for (names, first) in [
        (&READ_SIZES, posix::SIZE_READ_0_100),
        (&WRITE_SIZES, posix::SIZE_WRITE_0_100),
    ] {
        for (bin, name) in names.iter().enumerate() {
            row.int(name, total(&posix, first + bin));
        }
    }
}

/// Bytes read and written; times of reading, writing and metadata, and of the slowest rank.
type BySlowest = ([usize; 2], [usize; 4]);

const BY_SLOWEST: [([&str; 3], ModuleId, BySlowest); 5] = [
    (
        [
            "posix_total_bytes",
            "posix_agg_time_by_slowest",
            "posix_agg_perf_by_slowest_mib_s",
        ],
        ModuleId::POSIX,
        (
            [posix::BYTES_READ, posix::BYTES_WRITTEN],
            [
                posix::F_READ_TIME,
                posix::F_WRITE_TIME,
                posix::F_META_TIME,
                posix::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "mpiio_total_bytes",
            "mpiio_agg_time_by_slowest",
            "mpiio_agg_perf_by_slowest_mib_s",
        ],
        ModuleId::MPIIO,
        (
            [mpiio::BYTES_READ, mpiio::BYTES_WRITTEN],
            [
                mpiio::F_READ_TIME,
                mpiio::F_WRITE_TIME,
                mpiio::F_META_TIME,
                mpiio::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "stdio_total_bytes",
            "stdio_agg_time_by_slowest",
            "stdio_agg_perf_by_slowest_mib_s",
        ],
        ModuleId::STDIO,
        (
            [stdio::BYTES_READ, stdio::BYTES_WRITTEN],
            [
                stdio::F_READ_TIME,
                stdio::F_WRITE_TIME,
                stdio::F_META_TIME,
                stdio::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "dfs_total_bytes",
            "dfs_agg_time_by_slowest",
            "dfs_agg_perf_by_slowest_mib_s",
        ],
        ModuleId::DFS,
        (
            [dfs::BYTES_READ, dfs::BYTES_WRITTEN],
            [
                dfs::F_READ_TIME,
                dfs::F_WRITE_TIME,
                dfs::F_META_TIME,
                dfs::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
    (
        [
            "daos_total_bytes",
            "daos_agg_time_by_slowest",
            "daos_agg_perf_by_slowest_mib_s",
        ],
        ModuleId::DAOS,
        (
            [daos::BYTES_READ, daos::BYTES_WRITTEN],
            [
                daos::F_READ_TIME,
                daos::F_WRITE_TIME,
                daos::F_META_TIME,
                daos::F_SLOWEST_RANK_TIME,
            ],
        ),
    ),
];

/// `total_bytes` and `agg_time_by_slowest` of one module: the I/O time of the rank that spent most in its own records, plus
/// the slowest rank's time in each shared one.
///
/// # Source
/// darshan-peers.md, section E (darshan-parser --perf).
fn by_slowest(records: &Records<'_>, counters: &BySlowest) -> (i64, f64) {
    let ([read, written], [read_time, write_time, meta_time, slowest]) = *counters;
    let bytes =
        sum((0..records.len()).flat_map(|r| [records.int(r, read), records.int(r, written)]))
            .unwrap_or(0);
    let (mut shared, mut ranks) = (0.0, vec![]);
    for r in 0..records.len() {
        match records.rank(r) {
            rank if rank < 0 => shared += records.float(r, slowest),
            rank => ranks.push((
                rank,
                records.float(r, read_time)
                    + records.float(r, write_time)
                    + records.float(r, meta_time),
            )),
        }
    }
    ranks.sort_by_key(|(rank, _)| *rank);
    let times = ranks
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| same.iter().map(|(_, time)| time).sum::<f64>());
    (
        bytes,
        shared + times.fold(0.0, |most, time| if time > most { time } else { most }),
    )
}

/// The time of the process that spent most in files of its own, plus the slowest process's time in each shared one; None if
/// nobody spent any. What `by_slowest` is for a module, here of one direction, by each file's source, and without metadata.
fn slowest_rank_time<'f>(flows: impl Iterator<Item = &'f Flow>) -> Option<f64> {
    let (mut shared, mut ranks) = (0.0, vec![]);
    for (rank, time) in flows.flat_map(|flow| &flow.rank_times) {
        match *rank < 0 {
            true => shared += time,
            false => ranks.push((*rank, *time)),
        }
    }
    ranks.sort_by_key(|(rank, _)| *rank);
    let times = ranks.chunk_by(|a, b| a.0 == b.0);
    let times = times.map(|same| same.iter().map(|(_, time)| time).sum());
    let time = shared + times.fold(0.0, f64::max);
    (time > 0.0).then_some(time)
}

/// First start and last end.
fn span(windows: &[(f64, f64)]) -> Option<(f64, f64)> {
    windows
        .iter()
        .copied()
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Length of the union of closed intervals; None of none.
fn union(windows: &mut [(f64, f64)]) -> Option<f64> {
    windows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = windows.first()?.0;
    let mut length = 0.0;
    for (start, end) in windows {
        length += (*end - start.max(reached)).max(0.0);
        reached = reached.max(*end);
    }
    Some(length)
}

/// The value of a key in the job's metadata: lines `key=value`.
fn value<'m>(metadata: &'m str, key: &str) -> Option<&'m str> {
    metadata
        .lines()
        .find_map(|line| line.split_once('=').filter(|(k, _)| *k == key))
        .map(|(_, value)| value)
}

/// The user in a log's file name, `{user}_{exe}_id{job}..`: up to the first `_`, which is a guess, for both may hold one.
///
/// # Source
/// darshan-format.md, section 9.
fn user(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".darshan")?;
    let (before, after) = name.rsplit_once("_id")?;
    let digits_only =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let mut parts = after.split('_');
    let known_form = parts.clone().count() == 3 && parts.all(digits_only);
    let (user, exe) = before.split_once('_')?;
    (known_form && !user.is_empty() && !exe.is_empty()).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_counts_overlaps_once_and_gaps_not_at_all() {
        assert_eq!(union(&mut [(5.0, 6.0), (0.0, 2.0), (1.0, 3.0)]), Some(4.0));
        assert_eq!(union(&mut [(1.0, 1.0)]), Some(0.0));
        assert_eq!(union(&mut []), None);
    }

    #[test]
    fn the_user_is_taken_from_both_forms_of_file_name_and_from_no_other() {
        let of = |name: &str| user(Path::new(name)).map(str::to_string);
        assert_eq!(
            of("a/snyder_ior-POSIX_id1057716-202103_11-8-64415-6936117869459351096_1.darshan")
                .as_deref(),
            Some("snyder")
        );
        assert_eq!(
            of("shane_macsio_id29959_5-22-32552-7035573431850780836_1590156158.darshan").as_deref(),
            Some("shane")
        );
        assert_eq!(of("sample-badost.darshan"), None);
        assert_eq!(of("ior_hdf5_example.darshan"), None);
    }

    #[test]
    fn metadata_values_may_hold_equal_signs() {
        let metadata =
            "lib_ver=3.4.0\nh=romio_no_indep_rw=true;cb_nodes=4\nodd line\nfork_parent=12";
        assert_eq!(
            value(metadata, "h"),
            Some("romio_no_indep_rw=true;cb_nodes=4")
        );
        assert_eq!(value(metadata, "fork_parent"), Some("12"));
        assert_eq!(value(metadata, "odd line"), None);
    }
}
