//! Recordings of `ltop -r`: a line for each metric of each server at each poll.
//!
//! ```text
//! <poll epoch> <receive epoch> <server> <metric> <fields between semicolons>
//! 1286581760   1286581759      tycho1   lmt_ost  2;tycho1;0.000000;14.468557;lc1-OST0010;86748757;..
//! ```
//! Times are seconds since 1970, UTC. ltop polls every 2 s what servers send every 5 s: a sample is known by server, metric and
//! receive time, and comes once. A server that fell silent is shown with its last sample for as long as ltop runs: what was
//! received long before the poll says nothing about its time and is left out. So are `lmt_ost 1.0` lines, of which ltop keeps
//! only the last OST of a server, and metrics of client states (`lmt_osc`) and routers, for which there is no table.
//!
//! Fields as LMT 3 writes them (liblmt/ost.c, mdt.c): `lmt_ost` version 2 has 15 for each OST, `lmt_mdt` version 1 has 5 and 21
//! operations of 3, version 2 a recovery status before them, version 3 two operations more.

use super::names::{Kind, Target, file_system};
use super::samples::{nulls, widened};
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, Period, ReadContext, Status};
use crate::table::{Column, TableBuilder};
use std::collections::{BTreeMap, HashMap};

/// Seconds after which a sample no longer belongs to a poll: a server sends every 5 s.
const STALE: i64 = 60;

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;

/// A line is not longer: ltop itself reads 64 KiB of fields.
const LINE: usize = 256 << 10;

/// Lines after which rows may be taken.
const RELIEVE: usize = 1024;

/// The operations of `lmt_mdt`, in order; the last two since version 3.
const OPS: [&str; 23] = [
    "open",
    "close",
    "mknod",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "rename",
    "getxattr",
    "process_config",
    "connect",
    "reconnect",
    "disconnect",
    "statfs",
    "create",
    "destroy",
    "setattr",
    "getattr",
    "llog_init",
    "notify",
    "quotactl",
    "read_bytes",
    "write_bytes",
];

/// Whether an input begins with a line of a recording.
pub(super) fn probe(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    head.get(..end).and_then(Line::parse).is_some()
}

/// Appends the samples of a recording.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let mut recording = Recording::new(context);
    let (mut buffer, mut at, mut lines) = (vec![], 0u64, 0usize);
    while at < input.len() {
        let n = (input.len() - at).min(BLOCK as u64);
        match input.read_at(at, n as usize, &mut buffer) {
            Ok(()) => at += n,
            Err(e) if recording.known == 0 => return Err(e),
            Err(e) => {
                recording.failed = Some(e);
                break;
            }
        }
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &buffer[from..]) {
            lines += 1;
            recording.line(&buffer[from..from + end], lines, tables);
            from += end + 1;
            if lines % RELIEVE == 0 {
                tables.flush()?;
            }
        }
        buffer.drain(..from);
        if buffer.len() > LINE {
            recording.wrong(lines + 1, "longer than 256 KiB");
            buffer.clear();
        }
    }
    if !buffer.is_empty() {
        // ltop writes whole lines.
        recording.wrong(lines + 1, "cut: it has no end");
    }
    if recording.known == 0 {
        return Err(Error::Malformed {
            path: input.path().to_path_buf(),
            region: "ltop recording".into(),
            at: None,
            reason: "no line of it can be read".into(),
        });
    }
    tables.flush()?;
    Ok(recording.outcome())
}

/// One line, taken apart.
struct Line<'a> {
    poll: i64,
    received: i64,
    server: &'a str,
    metric: &'a str,
    fields: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.splitn(5, ' ');
        let epoch = |word: &str| {
            let digits = (8..=11).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
            word.parse::<i64>().ok().filter(|_| digits)
        };
        let (poll, received) = (epoch(words.next()?)?, epoch(words.next()?)?);
        let (server, metric, fields) = (words.next()?, words.next()?, words.next()?);
        let known = [
            "lmt_ost",
            "lmt_mdt",
            "lmt_osc",
            "lmt_oss",
            "lmt_mds",
            "lmt_router",
        ];
        (known.contains(&metric) && !server.is_empty()).then_some(Self {
            poll,
            received,
            server,
            metric,
            fields,
        })
    }
}

/// A recording while it is read.
struct Recording<'a> {
    context: &'a ReadContext,
    period: Period,
    /// Receive time of the last sample of each server and metric.
    last: HashMap<(String, String), i64>,
    /// Lines that were understood.
    known: usize,
    /// Stale samples by file system and metric: how many, and by how many seconds at most.
    stale: BTreeMap<(String, &'static str), (u64, i64)>,
    /// Lines that make no sense, the first of them, and why.
    wrong: Option<(u64, usize, &'static str)>,
    /// Why the file could not be read on.
    failed: Option<Error>,
}

impl<'a> Recording<'a> {
    fn new(context: &'a ReadContext) -> Self {
        Self {
            context,
            period: widened(context.period),
            last: HashMap::new(),
            known: 0,
            stale: BTreeMap::new(),
            wrong: None,
            failed: None,
        }
    }

    fn wrong(&mut self, line: usize, reason: &'static str) {
        match &mut self.wrong {
            Some((lines, ..)) => *lines += 1,
            None => self.wrong = Some((1, line, reason)),
        }
    }

    fn line(&mut self, line: &[u8], number: usize, tables: &mut BatchSink) {
        let Some(line) = Line::parse(line.trim_ascii_end()) else {
            return self.wrong(number, "no poll time, receive time, server and metric");
        };
        self.known += 1;
        let fields: Vec<&str> = line.fields.split(';').collect();
        let fields = match fields.split_last() {
            // Older modules end each target with a semicolon, the last one too.
            Some((&"", fields)) => fields,
            _ => &fields,
        };
        let sample = match (line.metric, fields.first().copied()) {
            ("lmt_ost", Some("2")) => Sample::oss(fields),
            ("lmt_mdt", Some("1")) => Sample::mds(fields, 5, 21),
            ("lmt_mdt", Some("2")) => Sample::mds(fields, 6, 21),
            ("lmt_mdt", Some("3")) => Sample::mds(fields, 6, 23),
            ("lmt_ost" | "lmt_mdt", Some(version))
                if version.parse::<f64>().is_ok_and(|v| v != 1.0) =>
            {
                return self.wrong(
                    number,
                    "of a version that is not known; 2 of lmt_ost and 1 to 3 of lmt_mdt are",
                );
            }
            _ => return,
        };
        let Some(sample) = sample else {
            return self.wrong(number, "not the fields that its metric has");
        };
        if line.poll - line.received > STALE {
            let metric = if sample.mds { "lmt_mdt" } else { "lmt_ost" };
            for fs in sample.file_systems() {
                let entry = self.stale.entry((fs.to_string(), metric)).or_default();
                *entry = (entry.0 + 1, entry.1.max(line.poll - line.received));
            }
            return;
        }
        let key = (line.server.to_string(), line.metric.to_string());
        if self.last.insert(key, line.received) == Some(line.received) {
            return;
        }
        let time = line.received * 1_000_000;
        if self.period.contains(time) {
            sample.append(time, self.context, tables);
        }
    }

    fn outcome(self) -> Outcome {
        let mut faults = vec![];
        let damaged = self.wrong.is_some() || self.failed.is_some();
        faults.extend(self.failed.map(|e| e.to_string()));
        if let Some((lines, first, reason)) = self.wrong {
            faults.push(format!(
                "{lines} lines make no sense, the first at line {first}: {reason}"
            ));
        }
        for ((fs, metric), (samples, behind)) in self.stale {
            faults.push(format!(
                "{samples} samples ({metric}) of the file system {fs} left out: its server stopped reporting, and they are up to \
                 {behind} s older than the poll that shows them"
            ));
        }
        let status = if damaged {
            Status::Damaged
        } else {
            Status::Partial
        };
        super::outcome::outcome(status, faults)
    }
}

/// A server's sample.
struct Sample<'a> {
    mds: bool,
    server: &'a str,
    pct_cpu: Option<f64>,
    pct_memory: Option<f64>,
    targets: Vec<(Target<'a>, &'a [&'a str])>,
    /// Fields of a target before its operations.
    gauges: usize,
}

impl<'a> Sample<'a> {
    /// `2;server;cpu;memory;` and 15 fields for each OST.
    fn oss(fields: &'a [&'a str]) -> Option<Self> {
        Self::new(fields, Kind::Ost, 15, 15)
    }

    /// `version;server;cpu;memory;` and `gauges` fields and 3 for each operation, for each MDT.
    fn mds(fields: &'a [&'a str], gauges: usize, ops: usize) -> Option<Self> {
        Self::new(fields, Kind::Mdt, gauges, gauges + 3 * ops)
    }

    fn new(fields: &'a [&'a str], kind: Kind, gauges: usize, length: usize) -> Option<Self> {
        let (head, targets) = fields.split_at_checked(4)?;
        let [_, server, cpu, memory] = head else {
            return None;
        };
        if server.is_empty() || targets.len() % length != 0 {
            return None;
        }
        let targets = targets.chunks_exact(length).map(|fields| {
            let target = Target::parse(fields.first()?)?.of(kind)?;
            // All but the name and the recovery status are numbers.
            let status = (gauges != 5).then_some(gauges - 1);
            let numbers = fields
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(at, _)| Some(*at) != status);
            numbers
                .map(|(_, field)| number(field))
                .collect::<Option<Vec<_>>>()?;
            Some((target, fields))
        });
        Some(Self {
            mds: kind == Kind::Mdt,
            server,
            pct_cpu: percent(cpu),
            pct_memory: percent(memory),
            targets: targets.collect::<Option<_>>()?,
            gauges,
        })
    }

    fn file_systems(&self) -> Vec<&str> {
        let mut systems: Vec<&str> = self.targets.iter().map(|(target, _)| target.fs).collect();
        systems.dedup();
        systems
    }

    fn append(&self, time: i64, context: &ReadContext, tables: &mut BatchSink) {
        if !self.mds
            && let Some(builder) = tables.get("lmt_oss")
        {
            // A server of two file systems has a row in each.
            for fs in self.file_systems() {
                let fs = file_system(context, fs);
                append(builder, time, |name| match name {
                    "fs" => Value::Text(&fs),
                    "oss" => Value::Text(self.server),
                    "pct_cpu" => Value::Float(self.pct_cpu),
                    "pct_memory" => Value::Float(self.pct_memory),
                    _ => Value::Null,
                });
            }
        }
        for (target, fields) in &self.targets {
            let fs = file_system(context, target.fs);
            let field = |at: usize| fields.get(at).copied().unwrap_or_default();
            let int = |at: usize| Value::Int(number(field(at)));
            let kib = |at: usize| Value::Int(number(field(at)).and_then(|n| n.checked_mul(1024)));
            let used = |at: usize, unit: i64| {
                let (free, total) = (number(field(at)), number(field(at + 1)));
                let used = free
                    .zip(total)
                    .and_then(|(free, total)| total.checked_sub(free)?.checked_mul(unit));
                Value::Int(used.filter(|used| *used >= 0))
            };
            let name = if self.mds { "lmt_mdt" } else { "lmt_ost" };
            if let Some(builder) = tables.get(name) {
                append(builder, time, |name| match name {
                    "fs" => Value::Text(&fs),
                    "ost" | "mdt" => Value::Int(Some(target.index.into())),
                    "oss" | "mds" => Value::Text(self.server),
                    "pct_cpu" => Value::Float(self.pct_cpu),
                    "pct_memory" => Value::Float(self.pct_memory),
                    "inodes_free" => int(1),
                    "inodes_used" => used(1, 1),
                    "bytes_free" => kib(3),
                    "bytes_used" => used(3, 1024),
                    "recovery_status" if self.gauges > 5 => Value::Text(field(self.gauges - 1)),
                    _ if self.mds => Value::Null,
                    "read_counter" => int(5),
                    "write_counter" => int(6),
                    "iops_counter" => int(7),
                    "num_exports" => int(8),
                    "lock_count" => int(9),
                    "grant_rate" => int(10),
                    "cancel_rate" => int(11),
                    "connect_counter" => int(12),
                    "reconnect_counter" => int(13),
                    _ => Value::Null,
                });
            }
            if !self.mds {
                continue;
            }
            if let Some(builder) = tables.get("lmt_mdt_op") {
                let ops = fields
                    .get(self.gauges..)
                    .unwrap_or_default()
                    .chunks_exact(3);
                for (op, numbers) in OPS.iter().zip(ops) {
                    let [samples, sum, squares] = numbers else {
                        continue;
                    };
                    append(builder, time, |name| match name {
                        "fs" => Value::Text(&fs),
                        "mdt" => Value::Int(Some(target.index.into())),
                        "op" => Value::Text(op),
                        "samples_counter" => Value::Int(number(samples)),
                        "sum_counter" => Value::Int(number(sum)),
                        "sumsquares_counter" => Value::Int(number(squares)),
                        _ => Value::Null,
                    });
                }
            }
        }
    }
}

/// A number of a target; what exceeds 64 bits, as sums of squares do, is no number that a table could hold, yet a number.
fn number(field: &str) -> Option<i64> {
    let digits =
        !field.is_empty() && field.len() <= 20 && field.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| field.parse().unwrap_or(i64::MAX))
}

fn percent(field: &str) -> Option<f64> {
    field.parse().ok().filter(|x: &f64| x.is_finite())
}

/// A value of a row.
enum Value<'a> {
    Null,
    Int(Option<i64>),
    Float(Option<f64>),
    Text(&'a str),
}

/// Appends a row: the values that columns have by their names.
fn append<'a>(builder: &mut TableBuilder, time: i64, value: impl Fn(&str) -> Value<'a>) {
    let table = builder.table().clone();
    for (at, def) in table.columns.iter().enumerate() {
        let column = builder.column(at);
        if def.name == "time" {
            column.timestamp().push(time);
            continue;
        }
        match (value(&def.name), column) {
            (Value::Int(n), Column::Int32(column)) => {
                column.push(n.and_then(|n| i32::try_from(n).ok()))
            }
            (Value::Int(n), Column::Int64(column)) => column.push(n),
            (Value::Float(x), Column::Float64(column)) => column.push(x),
            (Value::Text(text), Column::Utf8(column)) => column.append_value(text),
            (_, column) => nulls(column, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lmt::tests::{context, resolved, rows};
    use crate::table::columns::{indexes, ints, texts};

    /// One line of OST samples: two OSTs of lc1.
    fn line(poll: i64, received: i64, read: i64) -> String {
        let ost = |index: u32| {
            format!(
                "lc1-OST{index:04x};90;100;300;1000;{read};7;5;4;3;2;1;8;9;COMPLETE 1/13 0s remaining;"
            )
        };
        format!(
            "{poll} {received} tycho1 lmt_ost 2;tycho1;0.5;14.25;{}{}\n",
            ost(16),
            ost(0)
        )
    }

    fn read_text(table: &str, text: &str) -> (arrow::record_batch::RecordBatch, Outcome) {
        rows(
            table,
            &Input::from_bytes("ltop.log", text.as_bytes().to_vec()),
            &context(),
        )
    }

    #[test]
    fn every_field_of_a_line_has_its_column() {
        let (found, outcome) = read_text("lmt_ost", &line(1_286_581_762, 1_286_581_760, 6));
        assert_eq!(outcome, Outcome::default());
        assert_eq!(indexes(&found, "ost"), [16, 0]);
        let of = |name| ints(&found, name)[0].unwrap();
        assert_eq!(of("time"), 1_286_581_760_000_000);
        assert_eq!((of("inodes_free"), of("inodes_used")), (90, 10));
        assert_eq!(
            (of("bytes_free"), of("bytes_used")),
            (300 * 1024, 700 * 1024)
        );
        assert_eq!(
            (of("read_counter"), of("write_counter"), of("iops_counter")),
            (6, 7, 5)
        );
        let rest = [
            "num_exports",
            "lock_count",
            "grant_rate",
            "cancel_rate",
            "connect_counter",
            "reconnect_counter",
        ];
        assert_eq!(rest.map(of), [4, 3, 2, 1, 8, 9]);
        let text = |name| texts(&found, name)[0].clone().unwrap();
        assert_eq!(
            (text("fs"), text("oss")),
            ("lc1".to_string(), "tycho1".to_string())
        );
        assert_eq!(text("recovery_status"), "COMPLETE 1/13 0s remaining");
    }

    #[test]
    fn a_metadata_target_has_its_operations_in_every_version() {
        for (version, status, ops) in [
            (1, "", 21),
            (2, "COMPLETE 2/2;", 21),
            (3, "COMPLETE 2/2;", 23),
        ] {
            let counters: Vec<String> = (0..ops)
                .map(|op| format!("{};{};{}", op + 100, op + 200, op + 300))
                .collect();
            let text = format!(
                "1286581762 1286581760 m1 lmt_mdt {version};m1;0.5;1.5;lc1-MDT000a;3;4;5;6;{status}{}\n",
                counters.join(";")
            );
            let (found, outcome) = read_text("lmt_mdt_op", &text);
            assert_eq!(
                (found.num_rows(), outcome),
                (ops, Outcome::default()),
                "{version}"
            );
            assert_eq!(texts(&found, "op")[20].as_deref(), Some("quotactl"));
            assert_eq!(ints(&found, "samples_counter")[20], Some(120));
            assert_eq!(
                (
                    ints(&found, "sum_counter")[0],
                    ints(&found, "sumsquares_counter")[0]
                ),
                (Some(200), Some(300))
            );
            let (found, _) = read_text("lmt_mdt", &text);
            assert_eq!(indexes(&found, "mdt"), [10]);
            assert_eq!(texts(&found, "recovery_status")[0].is_some(), version > 1);
        }
    }

    #[test]
    fn a_sample_that_several_polls_show_comes_once() {
        let polls = [
            (1_286_581_762, 60, 6),
            (1_286_581_764, 60, 6),
            (1_286_581_766, 65, 9),
            (1_286_581_768, 65, 9),
        ];
        let text: String = polls
            .map(|(poll, received, read)| line(poll, 1_286_581_700 + received, read))
            .concat();
        let (found, _) = read_text("lmt_ost", &text);
        let kept = resolved("lmt_ost", &[&found]);
        assert_eq!(ints(&kept, "bytes_read"), [None, Some(3), None, Some(3)]);
        assert_eq!(found.num_rows(), 4);
    }

    #[test]
    fn a_line_that_makes_no_sense_is_counted_and_the_others_are_kept() {
        let good = line(1_286_581_762, 1_286_581_760, 6);
        let cut = &line(1_286_581_764, 1_286_581_763, 6)[..80];
        let other = line(1_286_581_768, 1_286_581_766, 6).replace("lmt_ost 2;", "lmt_ost 4;");
        let (found, outcome) = read_text("lmt_ost", &format!("{good}{good}junk\n{other}{cut}"));
        assert_eq!((found.num_rows(), outcome.status), (2, Status::Damaged));
        let why = outcome.why.unwrap();
        assert!(
            why.starts_with("3 lines make no sense, the first at line 3: no poll time"),
            "{why}"
        );
    }
}
