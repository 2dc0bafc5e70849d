//! Dumps of LMT's database by mysqldump or mariadb-dump.
//!
//! First `sections` finds where the rows of each table lie, and the small tables are read, wherever they stand. Then the tables
//! of samples, a block at a time: a row's numbers go from the text straight into the columns of `samples`, and where rows look the
//! same (`row_template`), those of many rows column by column. Rows stand on lines of their own (MariaDB since 10.6) or all rows of an
//! INSERT on one line of a megabyte; a list of columns may stand before them, else their order is that of CREATE TABLE.

use super::dimensions;
use super::dimensions::Field;
use super::row_decoder::RowDecoder;
use super::samples::{self, Samples};
use super::sections::{self, Section, Sections};
use super::statements::{Bad, COLUMNS, ROW, Statements};
use super::values;
use crate::error::{Error, Result};
use crate::source::{BatchSink, Input, Outcome, ReadContext, Status};

/// Whether an input is a dump of an LMT database. Its head names the database, or the first of several.
pub(super) fn probe(head: &[u8]) -> bool {
    let text = head
        .strip_prefix(b"/*M!999999\\- enable the sandbox mode */")
        .unwrap_or(head)
        .trim_ascii_start();
    let dump = [&b"-- MySQL dump "[..], b"-- MariaDB dump "]
        .iter()
        .any(|start| text.starts_with(start));
    dump && memchr::memmem::find(head, b"filesystem_").is_some()
}

/// Appends the rows of a dump.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let sections = sections::find(input)?;
    let mut dump = Dump {
        input,
        faults: vec![],
        bad: Bad::default(),
    };
    let mut any = false;
    for (database, name) in sections.databases.iter().enumerate() {
        any |= dump.database(&sections, database, name.as_deref(), context, tables)?;
    }
    if !any {
        return Err(Error::Unsupported {
            path: input.path().to_path_buf(),
            reason: "a mysqldump without rows of OST_DATA, OSS_DATA, MDS_DATA or MDS_OPS_DATA"
                .into(),
        });
    }
    let mut faults = vec![];
    if !is_complete(input) {
        let cut = "the last line is not `-- Dump completed`";
        faults.push(format!("cut at byte {}: {cut}", input.len()));
    }
    faults.extend(dump.bad.faults());
    faults.extend(dump.faults);
    Ok(super::outcome::outcome(Status::Damaged, faults))
}

/// Whether the line stands there that mysqldump writes when it is done.
fn is_complete(input: &Input) -> bool {
    let (mut tail, n) = (vec![], input.len().min(512));
    let read = input.read_at(input.len() - n, n as usize, &mut tail);
    read.is_ok() && memchr::memmem::find(&tail, b"-- Dump completed").is_some()
}

/// A dump while it is read.
struct Dump<'a> {
    input: &'a Input,
    faults: Vec<String>,
    bad: Bad,
}

impl Dump<'_> {
    /// Appends the rows of one database; false if it has none of LMT.
    fn database(
        &mut self,
        sections: &Sections,
        database: usize,
        name: Option<&str>,
        context: &ReadContext,
        tables: &mut BatchSink,
    ) -> Result<bool> {
        let of = |table: &'static str, definition| {
            let own = sections
                .sections
                .iter()
                .filter(move |s| s.database == database);
            own.filter(move |s| s.definition == definition && s.table.eq_ignore_ascii_case(table))
        };
        if !samples::TABLES
            .iter()
            .any(|table| of(table.name, false).next().is_some())
        {
            return Ok(false);
        }
        let mut small = dimensions::Rows::default();
        for (table, wanted) in dimensions::TABLES {
            let order = self.definition(of(table, true).next());
            for section in of(table, false) {
                self.small(
                    section,
                    order.as_deref().unwrap_or(wanted_order(table)),
                    table,
                    wanted,
                    &mut small,
                );
            }
        }
        let (info, faults) = small.finish(context, name);
        self.faults.extend(faults);
        for table in &samples::TABLES {
            if !tables.wants(table.to) {
                continue;
            }
            let order = self.definition(of(table.name, true).next());
            let all: Vec<String> = table
                .all
                .iter()
                .map(|column| (*column).to_string())
                .collect();
            let order = order.unwrap_or(all);
            let mut samples = Samples::new(table, context.period);
            for section in of(table.name, false) {
                self.samples(section, &order, &info, &mut samples, tables)?;
            }
            samples.flush(&info, tables)?;
            self.faults.extend(samples.lost());
        }
        Ok(true)
    }

    /// The columns of a table in the order of its definition.
    fn definition(&self, section: Option<&Section>) -> Option<Vec<String>> {
        let (section, mut text) = (section?, vec![]);
        let n = (section.to - section.from).min(ROW as u64);
        self.input
            .read_at(section.from, n as usize, &mut text)
            .ok()?;
        let text = String::from_utf8_lossy(&text);
        let columns = text.lines().skip(1).map_while(|line| {
            // Keys and constraints follow the columns.
            let (name, _) = line.trim_start().strip_prefix('`')?.split_once('`')?;
            Some(name.to_ascii_uppercase())
        });
        let columns: Vec<String> = columns.take(COLUMNS).collect();
        (!columns.is_empty()).then_some(columns)
    }

    /// Reads the rows of a small table.
    fn small(
        &mut self,
        section: &Section,
        order: &[String],
        table: &'static str,
        wanted: &[&str],
        rows: &mut dimensions::Rows,
    ) {
        let mut text = Statements::new(self.input, section);
        let mut strings = vec![vec![]; wanted.len()];
        while let Some(columns) = text.next(order) {
            let places = columns.iter();
            let places: Vec<Option<usize>> = places
                .map(|name| wanted.iter().position(|column| column == name))
                .collect();
            while text.row() {
                let mut fields = [Field::Null; 4];
                let end = small_row(&text.bytes, text.at, &places, &mut strings, &mut fields);
                match end.filter(|_| rows.push(table, &fields)) {
                    Some(end) => text.at = end,
                    None => text.skip_row("not the values that its columns want"),
                }
            }
        }
        self.bad.add(text.bad);
    }

    /// Reads the rows of a table of samples.
    fn samples(
        &mut self,
        section: &Section,
        order: &[String],
        info: &dimensions::Info,
        samples: &mut Samples,
        tables: &mut BatchSink,
    ) -> Result<()> {
        let mut text = Statements::new(self.input, section);
        while let Some(columns) = text.next(order) {
            let mut decoder = RowDecoder::new(&columns, samples.table());
            while text.row() {
                // Rows that surely lie in the buffer need no other look at it.
                loop {
                    let Some((rows, end)) = decoder.rows(&text.bytes, text.at, samples) else {
                        text.skip_row("not the numbers that its columns want");
                        break;
                    };
                    text.at = end;
                    if samples.end_rows(rows) {
                        samples.flush(info, tables)?;
                    }
                    // `),(` or a new line after the comma.
                    let next = match text.bytes.get(end..end + 3) {
                        Some([b',', b'\n', b'(']) => end + 2,
                        Some([b',', b'(', _]) => end + 1,
                        _ => break,
                    };
                    if next + ROW > text.length {
                        break;
                    }
                    text.at = next;
                }
            }
        }
        self.bad.add(text.bad);
        Ok(())
    }
}

/// The columns of a small table in schema 1.1.
fn wanted_order(table: &str) -> &'static [String] {
    use std::sync::LazyLock;
    static ORDERS: LazyLock<[Vec<String>; 6]> = LazyLock::new(|| {
        [
            "FILESYSTEM_ID FILESYSTEM_NAME FILESYSTEM_MOUNT_NAME SCHEMA_VERSION",
            "OSS_ID FILESYSTEM_ID HOSTNAME FAILOVERHOST",
            "OST_ID OSS_ID OST_NAME HOSTNAME OFFLINE DEVICE_NAME",
            "MDS_ID FILESYSTEM_ID MDS_NAME HOSTNAME DEVICE_NAME",
            "OPERATION_ID OPERATION_NAME UNITS",
            "TS_ID TIMESTAMP",
        ]
        .map(|names| names.split(' ').map(str::to_string).collect())
    });
    let at = dimensions::TABLES
        .iter()
        .position(|(name, _)| *name == table);
    at.and_then(|at| ORDERS.get(at)).map_or(&[], Vec::as_slice)
}

/// Takes the row of a small table whose parenthesis stands at `at`; where it ends.
fn small_row<'a>(
    text: &'a [u8],
    mut at: usize,
    places: &[Option<usize>],
    strings: &'a mut [Vec<u8>],
    fields: &mut [Field<'a>],
) -> Option<usize> {
    at += 1;
    let (last, mut strings) = (places.len() - 1, strings.iter_mut());
    let mut unwanted = vec![];
    for (place_at, place) in places.iter().enumerate() {
        let separator = if place_at == last { b')' } else { b',' };
        at = match place {
            Some(place) => {
                let (field, end) = values::field(text, at, strings.next()?)?;
                *fields.get_mut(*place)? = field;
                end
            }
            None => values::field(text, at, &mut unwanted)?.1,
        };
        if text.get(at) != Some(&separator) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::source::Period;
    use crate::source::lmt::tests::rows;
    use crate::table::columns::{indexes, ints, texts};

    /// A dump of 2 OSTs, with these rows of OST_DATA; stamp n of 100,000 is n times 5 s after 2018-01-28T00:00:00Z.
    fn dump(database: &str, data: &str) -> String {
        let begin = chrono::DateTime::from_timestamp(1_517_097_600, 0).unwrap();
        let stamps: Vec<String> = (0..100_000)
            .map(|n| {
                let time = begin + chrono::TimeDelta::seconds(5 * n);
                format!("({n},'{}')", time.format("%Y-%m-%d %H:%M:%S"))
            })
            .collect();
        format!(
            "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: db    Database: {database}\n{data}\n\
             INSERT INTO `OSS_INFO` VALUES (4,1,'tycho1',NULL);\n\
             INSERT INTO `OST_INFO` VALUES (1,4,'lc1-OST0010','tycho1',0,NULL),(2,4,'lc1-OST0008','it\\'s `),(2,',0,'');\n\
             INSERT INTO `TIMESTAMP_INFO` VALUES {};\n-- Dump completed\n",
            stamps.join(",")
        )
    }

    fn read_ost(text: &str) -> (arrow::record_batch::RecordBatch, Outcome) {
        let input = Input::from_bytes("dump.sql", text.as_bytes().to_vec());
        let utc = std::sync::Arc::new(ReadContext::default());
        rows("lmt_ost", &input, &utc)
    }

    #[test]
    fn rows_that_blocks_cut_are_read_whole_on_long_lines_and_short_ones() {
        let n = 60_000i64;
        let row = |at: i64| {
            format!(
                "({},{},{},{},NULL,{at},7,8,NULL)",
                1 + at % 2,
                at / 2,
                at * 1_234_567,
                at * 89
            )
        };
        for separator in [",", ",\n"] {
            let data: Vec<String> = (0..n).map(row).collect();
            let data = format!("INSERT INTO `OST_DATA` VALUES {};", data.join(separator));
            assert!(data.len() > 2 << 20);
            let (found, outcome) = read_ost(&dump("filesystem_lc1", &data));
            assert_eq!(outcome, Outcome::default());
            let of = |name| ints(&found, name);
            assert!(
                of("read_counter")
                    .into_iter()
                    .eq((0..n).map(|at| Some(at * 1_234_567)))
            );
            assert!(
                of("write_counter")
                    .into_iter()
                    .eq((0..n).map(|at| Some(at * 89)))
            );
            assert!(
                of("bytes_free")
                    .into_iter()
                    .eq((0..n).map(|at| Some(at * 1024)))
            );
            let time = |at: i64| Some((1_517_097_600 + at / 2 * 5) * 1_000_000);
            assert!(of("time").into_iter().eq((0..n).map(time)));
            assert!(of("inodes_used").iter().all(Option::is_none));
            assert!(
                indexes(&found, "ost")
                    .into_iter()
                    .eq((0..n).map(|at| if at % 2 == 0 { 16 } else { 8 }))
            );
            assert!(
                texts(&found, "oss")
                    .iter()
                    .all(|oss| oss.as_deref() == Some("tycho1"))
            );
        }
    }

    #[test]
    fn a_row_that_is_none_is_counted_and_the_rows_around_it_are_kept() {
        let data = "INSERT INTO `OST_DATA` VALUES (1,1,10,20,0,1,2,3,4),(1,2,x,20,0,1,2,3,4),(1,3,11,20,0,1,2,3,4,5),(1,4,12),\
                    (1,5,'13',-20,0,1e3,2.0,3,4),(1,6,99999999999999999999,20,0,1,2,3,4),(1,7,14,20,0,1,2,3,4);";
        let text = dump("filesystem_lc1", data);
        let (found, outcome) = read_ost(&text);
        assert_eq!(ints(&found, "read_counter"), [10, 13, 14].map(Some));
        assert_eq!(ints(&found, "write_counter")[1], Some(-20));
        assert_eq!(ints(&found, "bytes_free")[1], Some(1000 * 1024));
        let at = text.find("(1,2,x").unwrap();
        assert_eq!(outcome.status, Status::Damaged);
        let why = format!(
            "4 rows are not rows of their table, the first at byte {at}: not the numbers that its columns want"
        );
        assert_eq!(outcome.why, Some(why));
    }

    #[test]
    fn rows_of_targets_or_stamps_that_are_not_known_are_counted_and_never_guessed() {
        let data = "INSERT INTO `OST_DATA` VALUES (1,1,10,20,0,1,2,3,4),(9,1,10,20,0,1,2,3,4),(1,100000,1,1,0,1,2,3,4),(8,1,1,1,0,1,2,3,4);";
        let (found, outcome) = read_ost(&dump("filesystem_lc1", data));
        assert_eq!((found.num_rows(), outcome.status), (1, Status::Damaged));
        let why = "2 rows of OST_DATA left out, the first since OST_ID 9 names no known target; \
                   1 row of OST_DATA left out, the first since TS_ID 100000 stands for no known time";
        assert_eq!(outcome.why.as_deref(), Some(why));
    }

    #[test]
    fn rows_in_the_order_of_targets_are_the_same_as_in_the_order_of_time() {
        let n = 3000;
        let row = |at: i64| {
            let (target, stamp) = (1 + at / n, at % n);
            // Stamps that are skipped, of no known time, and none at all.
            let stamp = match stamp {
                0..1000 => stamp,
                2000..2003 => 200_000,
                _ => stamp + 500,
            };
            let free = match at % 1700 {
                5 => "NULL".to_string(),
                6 => (1i64 << 60).to_string(),
                7 => "-3".to_string(),
                _ => (at * 7919 + 1_000_000).to_string(),
            };
            format!("({target},{stamp},{at},20,0,{free},2,3,4)")
        };
        let read = |order: &mut dyn Iterator<Item = i64>, period: Period| {
            let data: Vec<String> = order.map(row).collect();
            let data = format!("INSERT INTO `OST_DATA` VALUES\n{};", data.join(",\n"));
            let text = dump("filesystem_lc1", &data).replace("'2018-01-28 03:36:40'", "'x'");
            let input = Input::from_bytes("dump.sql", text.into_bytes());
            let context = ReadContext {
                period,
                ..ReadContext::default()
            };
            let (found, outcome) = rows("lmt_ost", &input, &std::sync::Arc::new(context));
            let at = ints(&found, "read_counter")
                .into_iter()
                .zip(ints(&found, "time"));
            let at = at.zip(indexes(&found, "ost")).zip(texts(&found, "fs"));
            let at = at.zip(texts(&found, "oss")).zip(ints(&found, "bytes_free"));
            let mut found: Vec<_> = at.collect();
            found.sort();
            (found, outcome.status)
        };
        let minutes = |n: i64| Some((1_517_097_600 + 60 * n) * 1_000_000);
        let period = Period {
            from: minutes(20),
            to: minutes(250),
        };
        // Stamp 2600 has a text that is no time; a minute more on both sides is read.
        for (period, expected) in [(Period::default(), 5992), (period, 2 * (772 + 1512 - 4))] {
            let by_target = read(&mut (0..2 * n), period);
            let by_time = read(&mut (0..n).flat_map(|at| [n + at, at]), period);
            assert_eq!(by_target, by_time);
            assert_eq!(by_target.0.len(), expected);
            for (((((at, time), ost), fs), oss), free) in by_target.0 {
                let at = at.unwrap();
                let stamp = at % n + if at % n < 1000 { 0 } else { 500 };
                assert_eq!(time, Some((1_517_097_600 + 5 * stamp) * 1_000_000));
                assert_eq!(ost, if at < n { 16 } else { 8 });
                assert_eq!(
                    (fs.as_deref(), oss.as_deref()),
                    (Some("lc1"), Some("tycho1"))
                );
                let expected = match at % 1700 {
                    5 | 6 => None,
                    7 => Some(-3 * 1024),
                    _ => Some((at * 7919 + 1_000_000) * 1024),
                };
                assert_eq!(free, expected);
            }
        }
    }

    #[test]
    fn each_database_of_a_dump_has_ids_of_its_own() {
        let data = "INSERT INTO `OST_DATA` VALUES (1,1,10,20,0,1,2,3,4);";
        let one = dump("filesystem_lc1", data);
        let other = one
            .replace("lc1-OST0010", "lc2-OST001f")
            .replace("(1,1,10,", "(1,1,77,");
        let text = format!(
            "-- MySQL dump 10.13\n-- Host: db    Database: \n-- Current Database: `filesystem_lc1`\nUSE `filesystem_lc1`;\n{one}\
             USE `mysql`;\nINSERT INTO `user` VALUES ('root');\nUSE `filesystem_lc2`;\n{other}"
        );
        assert!(probe(&text.as_bytes()[..4096]));
        let (found, outcome) = read_ost(&text);
        assert_eq!(outcome, Outcome::default());
        assert_eq!(
            texts(&found, "fs"),
            ["lc1", "lc2"].map(|fs| Some(fs.to_string()))
        );
        assert_eq!(
            (indexes(&found, "ost"), ints(&found, "read_counter")),
            (vec![16, 31], vec![Some(10), Some(77)])
        );
    }

    #[test]
    fn dumps_strung_together_have_ids_of_their_own() {
        let one = dump(
            "filesystem_lc1",
            "INSERT INTO `OST_DATA` VALUES (1,1,10,20,0,1,2,3,4);",
        );
        let other = dump(
            "filesystem_lc2",
            "INSERT INTO `OST_DATA` VALUES (1,1,77,20,0,1,2,3,4);",
        )
        .replace("lc1-OST0010", "lc2-OST001f");
        let (found, outcome) = read_ost(&format!("{one}{other}"));
        assert_eq!(outcome, Outcome::default());
        assert_eq!(
            (
                texts(&found, "fs"),
                indexes(&found, "ost"),
                ints(&found, "read_counter")
            ),
            (
                ["lc1", "lc2"].map(|fs| Some(fs.to_string())).to_vec(),
                vec![16, 31],
                vec![Some(10), Some(77)]
            )
        );
        // The first one is cut before it says what its ids are: those of the other are not taken for them.
        let cut = &one[..one.find("INSERT INTO `OSS_INFO`").unwrap()];
        let (found, outcome) = read_ost(&format!("{cut}{other}"));
        assert_eq!(ints(&found, "read_counter"), [Some(77)]);
        let why = "1 row of OST_DATA left out, the first since OST_ID 1 names no known target";
        assert!(outcome.why.unwrap().contains(why));
    }
}
