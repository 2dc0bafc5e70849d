//! One row for a log: identity, program, times, and totals over its files.

use super::app;
use super::file_row::{READ_SIZES, WRITE_SIZES, windows};
use super::row::RowWriter;
use super::totals::{BY_SLOWEST, COUNTS, Totals};
use crate::source::darshan::job::Job;
use crate::source::darshan::log::Log;
use crate::source::{Input, ReadContext};
use crate::table::TableBuilder;
use std::path::Path;

/// Appends the row of one log.
pub(super) fn append(
    log: &Log,
    job: &Job,
    mut totals: Totals,
    log_id: i64,
    input: &Input,
    context: &ReadContext,
    builder: &mut TableBuilder,
) {
    let Some(header) = log.header() else { return };
    let (exe, metadata) = (
        String::from_utf8_lossy(&job.exe),
        String::from_utf8_lossy(&job.metadata),
    );
    let exe = Some(exe.as_ref()).filter(|exe| !exe.is_empty());
    let mut row = RowWriter::new(builder);
    row.int("log_id", log_id);
    row.text("log_path", Some(&input.path().to_string_lossy()));
    row.int("job_id", job.job_id);
    row.int("uid", job.uid);
    row.text("user", user(input.path()));
    row.text("exe", exe);
    row.flag("exe_truncated", job.exe_truncated);
    row.text("app", exe.and_then(|exe| app::app(exe, context)).as_deref());
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

    let [read_time, write_time, io_time] = totals.critical_times();
    let [slowest_read, slowest_write] = totals.slowest_times();
    row.int("files", totals.files);
    row.int("streams", totals.streams);
    row.int("files_shared", totals.shared);
    row.int("files_part_shared", totals.part_shared);
    row.int("files_unique", totals.unique);
    row.int("files_read_only", totals.read_only);
    row.int("files_write_only", totals.write_only);
    row.int("files_read_write", totals.read_write);
    let (read, write) = (&totals.read, &totals.write);
    row.int("bytes_read", read.bytes);
    row.int("bytes_written", write.bytes);
    row.int("bytes_read_streams", read.bytes_streams);
    row.int("bytes_written_streams", write.bytes_streams);
    row.int("total_bytes", read.bytes.saturating_add(write.bytes));
    row.int("reads", read.calls);
    row.int("writes", write.calls);
    for ((name, _, _), count) in COUNTS.iter().zip(totals.counts) {
        row.int(name, count);
    }
    for (names, counts) in [&READ_SIZES, &WRITE_SIZES].iter().zip(totals.sizes) {
        for (name, count) in names.iter().zip(counts) {
            row.int(name, count);
        }
    }
    row.float("read_time", read.time);
    row.float("write_time", write.time);
    row.float("meta_time", totals.meta_time);

    row.int("read_files", read.files);
    row.int("write_files", write.files);
    windows(&mut row, read.span, write.span, job.start_micros());
    row.float("critical_read_time", read_time);
    row.float("critical_write_time", write_time);
    row.float("critical_io_time", io_time);
    let bandwidth =
        |bytes: i64, seconds: Option<f64>| seconds.filter(|s| *s > 0.0).map(|s| bytes as f64 / s);
    let length = |window: Option<(f64, f64)>| window.map(|(start, end)| end - start);
    let (moved_in, moved_out) = (
        read.bytes - read.bytes_streams,
        write.bytes - write.bytes_streams,
    );
    row.float("read_bw_span", bandwidth(moved_in, length(read.span)));
    row.float("write_bw_span", bandwidth(moved_out, length(write.span)));
    row.float("read_bw_critical", bandwidth(moved_in, read_time));
    row.float("write_bw_critical", bandwidth(moved_out, write_time));
    row.float("read_time_by_slowest", slowest_read);
    row.float("write_time_by_slowest", slowest_write);
    row.float("read_bw_slowest_rank", bandwidth(moved_in, slowest_read));
    row.float("write_bw_slowest_rank", bandwidth(moved_out, slowest_write));
    let known = !totals.lost;
    for ((names, _, _), module) in BY_SLOWEST.iter().zip(&mut totals.by_slowest) {
        row.int(names[0], module.as_ref().map(|module| module.bytes));
        let by_slowest = module.as_mut().filter(|_| known);
        let by_slowest = by_slowest.map(|module| (module.bytes, module.ranks.slowest()));
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
/// FORMAT.md 9.
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
