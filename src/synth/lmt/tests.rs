//! The databases hold what the logs moved, what else was planted, and nothing more.

use super::*;
use crate::synth::lmt::load::without_log;
use crate::synth::scenario::job::Scenario;
use crate::synth::tests::{Written, written};
use crate::synth::{darshan, scenario, site};
use chrono::TimeZone;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// Rows of a table of a database in either form, every value as text.
fn rows(path: &Path, bytes: &[u8], table: &str) -> Vec<Vec<String>> {
    if path.extension().is_some_and(|end| end == "sqlite3") {
        let connection = open(bytes);
        let mut select = connection
            .prepare(&format!("SELECT * FROM {table}"))
            .unwrap();
        let columns = select.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            (0..columns)
                .map(|at| {
                    Ok(match row.get_ref(at)? {
                        rusqlite::types::ValueRef::Null => "NULL".to_string(),
                        rusqlite::types::ValueRef::Integer(value) => value.to_string(),
                        rusqlite::types::ValueRef::Real(value) => value.to_string(),
                        rusqlite::types::ValueRef::Text(text) => {
                            String::from_utf8(text.to_vec()).unwrap()
                        }
                        other => panic!("{other:?}"),
                    })
                })
                .collect()
        };
        return select
            .query_map([], row)
            .unwrap()
            .map(|row| row.unwrap())
            .collect();
    }
    let text = std::str::from_utf8(bytes).unwrap();
    let mut inside = false;
    let mut rows = vec![];
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("INSERT INTO `") {
            inside = rest.starts_with(&format!("{table}` VALUES"));
        } else if line.starts_with("/*!40000 ALTER") {
            inside = false;
        } else if inside {
            let list = line.trim_end_matches([';', ',']);
            let list = list.strip_prefix('(').unwrap().strip_suffix(')').unwrap();
            let value = |value: &str| value.trim_matches('\'').to_string();
            rows.push(list.split(',').map(value).collect());
        }
    }
    rows
}

/// A database that lies in memory.
fn open(bytes: &[u8]) -> rusqlite::Connection {
    let mut connection = rusqlite::Connection::open_in_memory().unwrap();
    let whole = connection.deserialize_read_exact("main", bytes, bytes.len(), true);
    whole.unwrap();
    connection
}

/// What LMT's samples of an OST say, by the ids of their stamps.
type Samples = BTreeMap<i64, (i64, i64)>;

/// A database of the month that the tests share.
struct Copy {
    truth: &'static Value,
    path: PathBuf,
    bytes: &'static [u8],
    /// Ids of stamps, and local times.
    stamps: BTreeMap<i64, String>,
    osts: BTreeMap<i64, Samples>,
}

fn number(text: &str) -> i64 {
    text.parse().unwrap()
}

fn copies(written: &'static Written) -> Vec<Copy> {
    let databases = written.truth["lmt"]["databases"].as_array().unwrap();
    let copy = |truth: &'static Value| {
        let path = PathBuf::from(truth["file"].as_str().unwrap());
        let bytes = &written.files[&path][..];
        let names: BTreeMap<i64, i64> = rows(&path, bytes, "OST_INFO")
            .iter()
            .map(|row| {
                let index = row[2].split_once("-OST").unwrap().1;
                (number(&row[0]), i64::from_str_radix(index, 16).unwrap())
            })
            .collect();
        let mut osts: BTreeMap<i64, Samples> = BTreeMap::new();
        for row in rows(&path, bytes, "OST_DATA") {
            let samples = osts.entry(names[&number(&row[0])]).or_default();
            let before = samples.insert(number(&row[1]), (number(&row[2]), number(&row[3])));
            assert!(before.is_none());
            assert_eq!(number(&row[5]) + number(&row[6]), 123_456_790_528);
        }
        let stamps = rows(&path, bytes, "TIMESTAMP_INFO").into_iter();
        Copy {
            truth,
            stamps: stamps
                .map(|row| (number(&row[0]), row[1].clone()))
                .collect(),
            osts,
            path,
            bytes,
        }
    };
    databases.iter().map(copy).collect()
}

/// Seconds since 1970 of a stamp of the site.
fn utc(stamp: &str) -> i64 {
    let local = chrono::NaiveDateTime::parse_from_str(stamp, "%Y-%m-%d %H:%M:%S").unwrap();
    site::ZONE.from_local_datetime(&local).unwrap().timestamp()
}

#[test]
fn counters_grow_by_what_logs_tell_and_by_the_background_and_by_nothing_else() {
    let written = written();
    let mut before: BTreeMap<(String, i64), (i64, i64)> = BTreeMap::new();
    let (mut moved, mut resets) = (0, vec![]);
    for copy in copies(written) {
        let fs = copy.truth["fs"].as_str().unwrap().to_string();
        for (ost, samples) in &copy.osts {
            let mut grown = (0, 0);
            for (id, counter) in samples {
                if let Some(old) = before.insert((fs.clone(), *ost), *counter) {
                    let fell = counter.0 < old.0 || counter.1 < old.1;
                    let old = if fell { (0, 0) } else { old };
                    grown = (grown.0 + counter.0 - old.0, grown.1 + counter.1 - old.1);
                    if fell {
                        resets.push((*ost, utc(&copy.stamps[id])));
                    }
                }
            }
            let planted = |direction: &str| -> i64 {
                let who = ["darshan", "unreadable", "background"].into_iter();
                who.map(|who| copy.truth[who][direction][*ost as usize].as_i64().unwrap())
                    .sum()
            };
            assert_eq!(grown, (planted("read"), planted("written")), "{fs} {ost}");
            moved += grown.0 + grown.1;
        }
    }
    assert!(moved > 1_000_000_000_000);
    let reboot = &written.truth["lmt"]["reboot"];
    let to = reboot["missing"]["to"].as_i64().unwrap();
    let osts = reboot["osts"].as_array().unwrap();
    let planted: Vec<_> = osts.iter().map(|ost| (ost.as_i64().unwrap(), to)).collect();
    assert_eq!(resets, planted);
}

#[test]
fn what_darshan_logs_moved_is_on_the_osts_that_they_name() {
    use crate::source::darshan::ModuleId;
    use crate::source::darshan::counters::posix;
    use crate::source::darshan::write::Records;
    let written = written();
    let span = Span::of(&written.month);
    let (from, to) = (span.start as f64, span.stamp(span.samples - 1) as f64);
    // Bytes written to /scratch by OST: of what lies in the span for sure, and of what may.
    let mut bounds = BTreeMap::new();
    let plan = Plan::new(written.month);
    for index in 0..written.windows.len() as u64 {
        let windows = &written.windows[index as usize];
        if windows
            .iter()
            .all(|(start, end)| *end + 20.0 < from || *start > to)
        {
            continue;
        }
        let job = scenario::job(&plan, index);
        if job.scenario == Some(Scenario::Partial) {
            continue;
        }
        for (made, _) in darshan::logs(&plan, &job) {
            let log = made.log;
            let scratch: Vec<u64> = (log.names.iter())
                .filter(|(_, name)| name.starts_with(b"/scratch/"))
                .map(|(id, _)| *id)
                .collect();
            let mut layouts = BTreeMap::new();
            for module in &log.modules {
                if let Records::Lustre(records) = &module.records {
                    layouts.extend(records.iter().map(|r| (r.id, r.components[0].osts.clone())));
                }
            }
            let posix_records = log
                .modules
                .iter()
                .filter(|module| module.id == ModuleId::POSIX);
            for module in posix_records {
                let Records::Counters(records) = &module.records else {
                    continue;
                };
                for record in records.iter().filter(|record| scratch.contains(&record.id)) {
                    let [ost] = layouts[&record.id][..] else {
                        continue;
                    };
                    let start =
                        log.job.start.0 as f64 + record.floats[posix::F_WRITE_START_TIMESTAMP];
                    let end = log.job.start.0 as f64 + record.floats[posix::F_WRITE_END_TIMESTAMP];
                    let bytes = record.ints[posix::BYTES_WRITTEN];
                    let (sure, may) = bounds.entry(ost).or_insert((0, 0));
                    if start > from && end + 12.0 < to {
                        *sure += bytes;
                    }
                    if end + 12.0 > from && start < to {
                        *may += bytes;
                    }
                }
            }
        }
    }
    let databases = written.truth["lmt"]["databases"].as_array().unwrap();
    let mut sum = 0;
    for (ost, (sure, may)) in bounds {
        let told: i64 = (databases.iter().filter(|copy| copy["fs"] == "scratch"))
            .flat_map(|copy| [&copy["darshan"], &copy["unreadable"]])
            .map(|who| who["written"][ost as usize].as_i64().unwrap())
            .sum();
        assert!(
            (sure..=may).contains(&told),
            "OST {ost}: {told}, not {sure} to {may}"
        );
        sum += sure;
    }
    assert!(sum > 1_000_000_000_000);
}

use crate::synth::scenario::plan::Plan;

#[test]
fn the_shares_of_a_window_sum_to_what_the_counters_say() {
    let written = written();
    let copies = copies(written);
    let windows = written.truth["lmt"]["shares"]["windows"]
        .as_array()
        .unwrap();
    let mut contended = 0;
    for window in windows {
        let int = |key: &str| window[key].as_i64().unwrap();
        let of_fs = |copy: &&Copy| copy.truth["fs"] == window["fs"];
        let counter = |stamp: i64| {
            let found = copies.iter().filter(of_fs).find_map(|copy| {
                let (id, _) = copy.stamps.iter().find(|(_, text)| utc(text) == stamp)?;
                copy.osts[&int("ost")].get(id).copied()
            });
            let (read, written) = found.unwrap();
            if window["direction"] == "read" {
                read
            } else {
                written
            }
        };
        let parts = [
            "own_bytes",
            "same_job_bytes",
            "other_bytes",
            "unreadable_bytes",
            "background_bytes",
        ];
        let sum: i64 = parts.into_iter().map(int).sum();
        assert_eq!(counter(int("to")) - counter(int("from")), sum, "{window}");
        contended += usize::from(int("other_bytes") > int("own_bytes"));
    }
    assert!(contended > 20, "{contended} of {}", windows.len());
}

#[test]
fn a_neighbour_is_slow_while_the_other_writes_and_fast_afterwards() {
    let written = written();
    let lmt = &written.truth["lmt"];
    for pair in lmt["neighbours"].as_array().unwrap() {
        let of = lmt["shares"]["windows"].as_array().unwrap().iter();
        let (mut slow, mut fast) = (vec![], vec![]);
        for window in of.filter(|window| window["job_id"] == pair["slow_job_id"]) {
            let took =
                window["window"][1].as_f64().unwrap() - window["window"][0].as_f64().unwrap();
            let speed = window["own_bytes"].as_f64().unwrap() / took;
            let others = window["other_job_ids"].as_array().unwrap();
            match others.contains(&pair["loud_job_id"]) {
                true => slow.push(speed),
                false => fast.push(speed),
            }
        }
        assert_eq!((slow.len(), fast.len()), (8, 8));
        let mean = |speeds: &[f64]| speeds.iter().sum::<f64>() / speeds.len() as f64;
        assert!(mean(&slow) * 5.0 < mean(&fast));
    }
}

#[test]
fn databases_of_both_forms_join_without_a_hole_but_the_planted_one() {
    let written = written();
    let lmt = &written.truth["lmt"];
    for fs in ["scratch", "home"] {
        let mut stamps = vec![];
        let mut ids = vec![];
        let mut forms = vec![];
        for copy in copies(written).iter().filter(|copy| copy.truth["fs"] == fs) {
            stamps.extend(copy.stamps.values().map(|stamp| utc(stamp)));
            ids.extend(copy.stamps.keys().copied());
            forms.push(copy.path.extension().unwrap().to_os_string());
        }
        assert_ne!(forms[0], forms[1]);
        assert_eq!(
            (lmt["first"].as_i64(), lmt["last"].as_i64()),
            (stamps.first().copied(), stamps.last().copied())
        );
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1));
        let holes: Vec<_> = stamps
            .windows(2)
            .filter(|pair| pair[1] != pair[0] + 5)
            .collect();
        match fs {
            "home" => assert!(holes.is_empty()),
            _ => {
                let gap = &lmt["gap"]["missing"];
                let (from, to) = (gap["from"].as_i64().unwrap(), gap["to"].as_i64().unwrap());
                assert_eq!(holes, [&[from - 5, to][..]]);
            }
        }
    }
}

#[test]
fn a_late_sample_takes_the_place_of_the_next() {
    let written = written();
    let late = &written.truth["lmt"]["late_sample"];
    let (ost, time) = (
        late["ost"].as_i64().unwrap(),
        late["time"].as_i64().unwrap(),
    );
    for copy in copies(written)
        .iter()
        .filter(|copy| copy.truth["fs"] == "scratch")
    {
        for (id, stamp) in &copy.stamps {
            let missing = !copy.osts[&ost].contains_key(id);
            assert_eq!(missing, utc(stamp) == time, "{stamp}");
        }
    }
}

#[test]
fn operations_of_the_targets_are_those_that_truth_counts() {
    let written = written();
    let mut before: BTreeMap<(String, String, String), i64> = BTreeMap::new();
    for copy in copies(written) {
        let fs = copy.truth["fs"].as_str().unwrap().to_string();
        let names: BTreeMap<String, String> = rows(&copy.path, copy.bytes, "OPERATION_INFO")
            .into_iter()
            .map(|row| (row[0].clone(), row[1].clone()))
            .collect();
        assert_eq!(names.len(), 81);
        let mut grown: BTreeMap<&str, i64> = BTreeMap::new();
        for row in rows(&copy.path, copy.bytes, "MDS_OPS_DATA") {
            let key = (fs.clone(), row[0].clone(), row[2].clone());
            let now = number(&row[3]);
            let old = before.insert(key, now).unwrap_or(now);
            *grown.entry(&names[&row[2]]).or_default() += now - old;
        }
        assert_eq!(grown.len(), 21);
        for (op, sums) in copy.truth["operations"].as_object().unwrap() {
            assert_eq!(sums["all"], grown[op.as_str()], "{op}");
        }
    }
}

#[test]
fn both_forms_of_one_database_have_the_same_rows() {
    let month = Month {
        lmt_seconds: 100,
        ..Month::new(200, 5)
    };
    let plants = Plants::of(&month);
    let dir = tempfile::tempdir().unwrap();
    let loads = without_log(
        &Span::of(&month),
        6_100_001,
        Span::of(&month).start - 50,
        Span::of(&month).start + 90,
    );
    let samples = DatabaseSamples::new(&month, &plants, 0, (0, 20), &loads);
    let paths = ["a.sqlite3", "a.sql"].map(|name| dir.path().join(name));
    let forms = [
        Form::sqlite(&paths[0]).unwrap(),
        Form::dump(&paths[1], "synscr", 0).unwrap(),
    ];
    for form in forms {
        let mut database = Database::new(form);
        samples
            .write(&mut Counters::new(&month, 0), &mut database)
            .unwrap();
        database.finish().unwrap();
    }
    let mut all = 0;
    for table in [
        "FILESYSTEM_INFO",
        "MDS_DATA",
        "MDS_INFO",
        "MDS_OPS_DATA",
        "OPERATION_INFO",
        "OSS_DATA",
        "OSS_INFO",
        "OST_DATA",
        "OST_INFO",
        "TIMESTAMP_INFO",
    ] {
        let [one, other] = paths
            .each_ref()
            .map(|path| rows(path, &std::fs::read(path).unwrap(), table));
        assert!(one == other, "{table} differs");
        all += one.len();
    }
    assert!(all > 6_000, "{all} rows");
}

#[test]
fn a_span_lies_in_its_month_and_nothing_planted_lies_across_two_databases() {
    for seconds in [
        10,
        600,
        3600,
        7200,
        3 * 3600,
        5 * 3600,
        12 * 3600,
        DAY,
        3 * DAY,
        25 * DAY,
        30 * DAY,
    ] {
        let month = Month {
            lmt_seconds: seconds,
            ..Month::new(100, 1)
        };
        let span = Span::of(&month);
        assert_eq!(span.seconds(), seconds);
        assert!(
            span.start >= month.start && span.start + seconds <= month.end(),
            "{seconds}"
        );
        let databases = span.databases();
        assert!(
            databases.len() > 1 || seconds == DAY,
            "{seconds}: {databases:?}"
        );
        assert!(databases.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!(
            (databases[0].0, databases[databases.len() - 1].1),
            (0, span.samples)
        );
        let Range {
            start: down,
            end: up,
        } = Plants::of(&month).reboot;
        if seconds > 100 {
            assert!(
                databases
                    .iter()
                    .any(|(first, end)| *first <= down && up < *end),
                "{seconds}"
            );
        }
        if (DAY..30 * DAY).contains(&seconds) {
            let midnights = databases[..databases.len() - 1]
                .iter()
                .map(|(first, _)| local(span.stamp(*first)));
            assert!(
                midnights
                    .into_iter()
                    .all(|time| time.format("%H%M%S").to_string() == "000000")
            );
        }
    }
}
