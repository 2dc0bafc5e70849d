//! How far an ingest is, and how it ended.

use super::exit::Exit;
use super::screen::Terminal;
use super::size;
use crate::lake::{IngestReport, InputStatus, Lake, Progress};
use crate::text::{quoted, shown};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Inputs that are listed when some failed; the rest are counted.
const LISTED: usize = 10;

/// A bar on stderr: logs, bytes, rate, failures, time left. Nothing where nobody looks.
pub(crate) struct Bar {
    bar: ProgressBar,
    figures: Arc<Figures>,
    begin: Instant,
}

#[derive(Default)]
struct Figures {
    listed: AtomicU64,
    logs: AtomicU64,
    done: AtomicU64,
    failed: AtomicU64,
}

impl Bar {
    /// A bar that shows once there is something to show.
    pub(crate) fn new(screen: &Terminal) -> Self {
        let bar = ProgressBar::new(0);
        match screen.person {
            true => {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.set_style(
                    ProgressStyle::with_template("{spinner} {msg}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                bar.set_message("looking for logs");
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            false => bar.set_draw_target(ProgressDrawTarget::hidden()),
        }
        Self {
            bar,
            figures: Arc::default(),
            begin: Instant::now(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Time since it was made.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    fn style(&self) -> ProgressStyle {
        let figures = self.figures.clone();
        let show = move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
            let get = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
            let _ = write!(
                line,
                "{} of {} logs",
                size::count(get(&figures.done)),
                size::count(get(&figures.logs))
            );
            match get(&figures.failed) {
                0 => {}
                failed => _ = write!(line, ", {failed} failed"),
            }
        };
        ProgressStyle::with_template("[{bar:28}] {logs}, {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ")
            .with_key("logs", show)
    }
}

impl Progress for Bar {
    fn listed(&self, files: u64) {
        self.figures.listed.store(files, Ordering::Relaxed);
        self.bar
            .set_message(format!("{} files found", size::count(files)));
    }

    fn peeked(&self, files: u64) {
        let seen = self.figures.done.fetch_add(files, Ordering::Relaxed) + files;
        if !self.bar.is_hidden() {
            let listed = self.figures.listed.load(Ordering::Relaxed);
            self.bar.set_message(format!(
                "{} of {} files recognised",
                size::count(seen),
                size::count(listed)
            ));
        }
    }

    fn planned(&self, logs: u64, bytes: u64) {
        self.figures.done.store(0, Ordering::Relaxed);
        self.figures.logs.store(logs, Ordering::Relaxed);
        self.bar.set_length(bytes);
        self.bar.set_position(0);
        self.bar.reset_elapsed();
        self.bar.set_style(self.style());
    }

    fn done(&self, bytes: u64, failed: bool) {
        self.figures.done.fetch_add(1, Ordering::Relaxed);
        self.figures
            .failed
            .fetch_add(u64::from(failed), Ordering::Relaxed);
        self.bar.inc(bytes);
    }
}

/// What was found and not taken in, and why not.
fn left_out(report: &IngestReport) -> Vec<String> {
    let parts = [
        (report.copies, "with the bytes of a known log"),
        (report.not_logs, "not a log"),
        (report.outside, "outside the period"),
    ];
    let some = parts.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{} {what}", size::count(n)))
        .collect()
}

/// The line at the end of an ingest.
pub(crate) fn summary(report: &IngestReport, took: Duration) -> String {
    let Some(version) = report.version else {
        let mut parts = vec![];
        if report.unchanged > 0 {
            let known = size::counted(report.unchanged, "input", "inputs");
            parts.push(format!("{known} known already"));
        }
        if report.failed_before > 0 {
            let failed = size::count(report.failed_before);
            parts.push(format!("{failed} of them failed before"));
        }
        parts.extend(left_out(report));
        if parts.is_empty() {
            parts.push(match report.failures.is_empty() {
                true => "no files there".into(),
                false => "nothing could be read".into(),
            });
        }
        return format!("nothing new: {}", parts.join(", "));
    };
    let of = |status: InputStatus| report.inputs.get(&status).copied().unwrap_or(0);
    let taken: u64 = report
        .inputs
        .iter()
        .filter(|(status, _)| status.has_rows())
        .map(|(_, n)| n)
        .sum();
    let mut line = format!("{} imported", size::counted(taken, "input", "inputs"));
    let mut parts = vec![];
    for (status, word) in [
        (InputStatus::Partial, "partial"),
        (InputStatus::Damaged, "damaged"),
        (InputStatus::Failed, "failed"),
    ] {
        match of(status) {
            0 => {}
            n => parts.push(format!("{} {word}", size::count(n))),
        }
    }
    if report.unchanged > 0 {
        parts.push(format!("{} known already", size::count(report.unchanged)));
    }
    parts.extend(left_out(report));
    if !parts.is_empty() {
        let _ = write!(line, " ({})", parts.join(", "));
    }
    let of_which: Vec<String> = report
        .rows_derived
        .iter()
        .map(|(table, rows)| format!("{} in {table}", size::count(*rows)))
        .collect();
    let of_which = match of_which.as_slice() {
        [] => String::new(),
        some => format!(", of which {}", some.join(" and ")),
    };
    let _ = write!(
        line,
        ": {} rows{}{of_which}, {} to {} of Parquet in {:.1} s, version {version}",
        size::count(report.rows),
        match report.rows_replaced {
            0 => String::new(),
            n => format!(" written (replacing {} in rewritten files)", size::count(n)),
        },
        size::show(report.bytes_in),
        size::show(report.bytes_out),
        took.as_secs_f64()
    );
    line
}

/// Whether nothing is partial, damaged or failed.
fn is_whole(report: &IngestReport) -> bool {
    let is_whole = |status: &InputStatus| matches!(status, InputStatus::Ok | InputStatus::Skipped);
    let mut inputs = report.inputs.iter();
    inputs.all(|(status, n)| *n == 0 || is_whole(status))
}

/// Where the reasons are why inputs are not whole; None if all are.
fn reasons(report: &IngestReport, lake: &Lake) -> Option<String> {
    let failed = report.failed_before > 0 || report.failures.len() > LISTED;
    (!is_whole(report) || failed).then(|| match lake.root() {
        Some(root) => format!(
            "why inputs are damaged, partial or failed: iolode query unreadable_logs --lake {}",
            quoted(root)
        ),
        None => "why logs are damaged, partial or failed: iolode sql --logs LOGS -c \"select path, status, error from lake_input where status <> 'ok'\"".into(),
    })
}

/// Says what is not as it should be in logs that are asked once. One that is damaged counts as failed, for answers rest on a part of it.
pub(crate) fn damage(report: &IngestReport, lake: &Lake, screen: &Terminal) -> Exit {
    let exit = failures(report, screen);
    if let Some(reasons) = reasons(report, lake) {
        screen.say(reasons);
    }
    match report.inputs.get(&InputStatus::Damaged) {
        Some(n) if *n > 0 => Exit::SomeFailed,
        _ => exit,
    }
}

/// Says how an ingest ended: what is not as it should be, the summary, and where the reasons are.
pub(crate) fn end(report: &IngestReport, lake: &Lake, took: Duration, screen: &Terminal) -> Exit {
    let exit = failures(report, screen);
    screen.say(summary(report, took));
    if let Some(reasons) = reasons(report, lake) {
        screen.say(reasons);
    }
    exit
}

/// Says which inputs failed, at most ten of them; and what is not as it should be.
pub(crate) fn failures(report: &IngestReport, screen: &Terminal) -> Exit {
    for (what, why) in report.warnings.iter().take(LISTED) {
        screen.say(format_args!("note: {what}: {why}"));
    }
    if report.warnings.len() > LISTED {
        let more = report.warnings.len() - LISTED;
        screen.say(format_args!("note: {more} more; see error in lake_input"));
    }
    for (path, why) in report.failures.iter().take(LISTED) {
        // Most reasons begin with the path already, as errors show it.
        let path = shown(path);
        let why = why
            .strip_prefix(&*path)
            .map_or(why.as_str(), |rest| rest.trim_start_matches(": "));
        screen.say(format_args!("iolode: {path}: {why}"));
    }
    if let Some(more) = report
        .failures
        .len()
        .checked_sub(LISTED)
        .filter(|more| *more > 0)
    {
        screen.say(format_args!("iolode: {more} more inputs failed"));
    }
    match report.failures.is_empty() {
        true => Exit::Done,
        false => Exit::SomeFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_is_out_of_the_ordinary() {
        let mut report = IngestReport {
            version: Some(2),
            inputs: [(InputStatus::Ok, 1200)].into(),
            rows: 56_789,
            bytes_in: 3 << 20,
            bytes_out: 1 << 20,
            ..IngestReport::default()
        };
        let took = Duration::from_millis(2340);
        assert_eq!(
            summary(&report, took),
            "1 200 inputs imported: 56 789 rows, 3.00 MiB to 1.00 MiB of Parquet in 2.3 s, version 2"
        );
        report.rows_derived.insert("darshan_mosaic".into(), 2400);
        assert_eq!(
            summary(&report, took),
            "1 200 inputs imported: 56 789 rows, of which 2 400 in darshan_mosaic, 3.00 MiB to 1.00 MiB of Parquet in 2.3 s, version 2"
        );
        report.rows_derived.clear();
        report.rows_replaced = 50_000;
        assert!(
            summary(&report, took)
                .contains(": 56 789 rows written (replacing 50 000 in rewritten files), 3.00 MiB")
        );
        report
            .inputs
            .extend([(InputStatus::Damaged, 2), (InputStatus::Failed, 1)]);
        report.unchanged = 7;
        (report.copies, report.not_logs, report.outside) = (2, 4, 5);
        let left_out = "2 with the bytes of a known log, 4 not a log, 5 outside the period";
        assert!(summary(&report, took).starts_with(&format!(
            "1 202 inputs imported (2 damaged, 1 failed, 7 known already, {left_out}): "
        )));
        report.version = None;
        assert_eq!(
            summary(&report, took),
            format!("nothing new: 7 inputs known already, {left_out}")
        );
        let nothing = IngestReport::default();
        assert_eq!(summary(&nothing, took), "nothing new: no files there");
    }

    #[test]
    fn where_inputs_are_not_whole_there_is_a_pointer_to_the_reasons() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("my lake");
        let lake = Lake::create(&root, &crate::lake::CreateOptions::default()).unwrap();
        let mut report = IngestReport {
            inputs: [
                (InputStatus::Ok, 3),
                (InputStatus::Skipped, 2),
                (InputStatus::Damaged, 0),
            ]
            .into(),
            ..IngestReport::default()
        };
        assert_eq!(reasons(&report, &lake), None);
        let pointer = format!(
            "why inputs are damaged, partial or failed: iolode query unreadable_logs --lake '{}'",
            root.display()
        );
        report.failed_before = 1;
        assert_eq!(reasons(&report, &lake), Some(pointer.clone()));
        report.failed_before = 0;
        for status in [
            InputStatus::Partial,
            InputStatus::Damaged,
            InputStatus::Failed,
        ] {
            report.inputs = [(status, 1)].into();
            assert_eq!(reasons(&report, &lake), Some(pointer.clone()));
        }
        let memory = reasons(&report, &Lake::in_memory().unwrap()).unwrap();
        assert!(
            memory.ends_with("from lake_input where status <> 'ok'\""),
            "{memory}"
        );
    }
}
