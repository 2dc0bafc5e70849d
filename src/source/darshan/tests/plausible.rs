//! Logs of which one bit of a compressed region is wrong.

use super::*;
use crate::math::random::Random;

/// Seconds that the job ran, and processes.
const SECONDS: i64 = 100;
const NPROCS: i64 = 2;

/// Records of 300 files, whose counters differ so that decompression goes wrong in many ways.
fn log() -> DarshanLog {
    let mut random = Random::new(7, 7);
    let mut draw = |most: i64| (random.float(0.0, 1.0) * most as f64) as i64;
    let record = |n: u64| {
        let mut record = super::super::write::Record {
            id: 1 + n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            rank: n as i64 % NPROCS,
            ints: vec![0; posix::INTS.len()],
            floats: vec![0.0; posix::FLOATS.len()],
            ..Default::default()
        };
        record.ints[posix::READS] = draw(1_000);
        record.ints[posix::BYTES_READ] = draw(1 << 30);
        record.ints[posix::OPENS] = 1;
        record.floats[posix::F_READ_TIME] = draw(1_000_000) as f64 / 1e6;
        record.floats[posix::F_VARIANCE_RANK_TIME] = draw(1_000_000) as f64 / 1e18;
        record
    };
    let records: Vec<_> = (0..300).map(record).collect();
    let name = |record: &super::super::write::Record| {
        (record.id, format!("/scratch/{}", record.id).into_bytes())
    };
    DarshanLog {
        job: Job {
            start: (1_700_000_000, 0),
            end: (1_700_000_000 + SECONDS, 0),
            nprocs: NPROCS,
            ..Job::default()
        },
        names: records.iter().map(name).collect(),
        modules: vec![Module::new(ModuleId::POSIX, 4, Records::Counters(records))],
        ..DarshanLog::default()
    }
}

/// Two processes make fewer than 10^8 calls a second each, and move less than 10^12 bytes; a file is named. What is read before the wrong bit is kept.
#[test]
fn a_wrong_bit_gives_no_record_that_cannot_be_true() {
    let (log, mut read) = (log(), Log::new());
    let whole = log.to_bytes();
    let known: Vec<u64> = log.names.iter().map(|(id, _)| *id).collect();
    let mut wrong = whole.clone();
    let (mut damaged, mut ended, mut kept) = (0, 0, 0);
    let from = whole.len() / 3;
    for at in (from..whole.len()).step_by(11) {
        wrong[at] ^= 1 << (at % 8);
        read.read(&Input::from_bytes("x", wrong.clone()), ModuleSet::ALL)
            .unwrap();
        wrong[at] ^= 1 << (at % 8);
        damaged += usize::from(read.status() == Status::Damaged);
        let why = read.why().unwrap_or_default();
        ended += usize::from(why.contains("nothing is taken from byte"));
        let Some(records) = read.records(ModuleId::POSIX) else {
            continue;
        };
        kept += records.len();
        for record in 0..records.len() {
            assert!(known.contains(&records.id(record)), "byte {at}: {why}");
            let reads = records.int(record, posix::READS);
            let bytes = records.int(record, posix::BYTES_READ);
            let time = records.float(record, posix::F_READ_TIME);
            assert!(
                (-1..=SECONDS * NPROCS * 100_000_000).contains(&reads),
                "byte {at}: {reads}"
            );
            assert!(
                (-1..=SECONDS * NPROCS * 1_000_000_000_000).contains(&bytes),
                "byte {at}: {bytes}"
            );
            assert!(
                time.abs() <= 100.0 * (SECONDS * NPROCS) as f64,
                "byte {at}: {time}"
            );
        }
    }
    assert!(
        damaged > 50 && ended > 20 && kept > 0,
        "{damaged} {ended} {kept}"
    );
}

/// What holds for counters holds for traced accesses: each moves at most what processes can move, and lies within their time.
#[test]
fn a_wrong_bit_gives_no_access_that_cannot_be_true() {
    let mut random = Random::new(7, 8);
    let mut draw = |most: i64| (random.float(0.0, 1.0) * most as f64) as i64;
    let mut log = log();
    let mut segment = |_| {
        let start = draw(90_000_000) as f64 / 1e6;
        Segment {
            offset: draw(1 << 40),
            length: draw(1 << 24),
            start,
            end: start + draw(1000) as f64 / 1e6,
            ..Segment::default()
        }
    };
    let names = log.names.iter().take(40);
    let traces = names.map(|(id, _)| Trace {
        id: *id,
        writes: (0..30).map(&mut segment).collect(),
        ..Trace::default()
    });
    let traces = Records::Dxt(traces.collect());
    log.modules = vec![Module::new(ModuleId::DXT_POSIX, 1, traces)];
    let (whole, mut read) = (log.to_bytes(), Log::new());
    let (mut wrong, mut ended, mut kept) = (whole.clone(), 0, 0);
    let from = whole.len() / 3;
    for at in (from..whole.len()).step_by(11) {
        wrong[at] ^= 1 << (at % 8);
        let input = Input::from_bytes("x", wrong.clone());
        read.read(&input, ModuleSet::ALL).unwrap();
        wrong[at] ^= 1 << (at % 8);
        let why = read.why().unwrap_or_default();
        ended += usize::from(why.contains("an access of"));
        for record in read.dxt(ModuleId::DXT_POSIX) {
            for access in record.writes().chain(record.reads()) {
                kept += 1;
                let most = SECONDS * NPROCS * 1_000_000_000_000;
                assert!((-1..=most).contains(&access.length), "byte {at}: {why}");
                assert!(access.start <= access.end, "byte {at}: {why}");
            }
        }
    }
    assert!(ended > 5 && kept > 1000, "{ended} {kept}");
}

/// Records that do not fit into memory are read piece by piece, of which the damage is only in the last.
#[test]
fn a_wrong_bit_gives_the_same_rows_whether_records_are_spilled_or_not() {
    let whole = log().to_bytes();
    let (mut wrong, mut damaged) = (whole.clone(), 0);
    for at in (whole.len() / 3..whole.len()).step_by(61) {
        wrong[at] ^= 1 << (at % 8);
        let input = Input::from_bytes("x", wrong.clone());
        wrong[at] ^= 1 << (at % 8);
        let (outcome, rows) = bounded::read(&input, None);
        let (spilled, spilled_rows) = bounded::read(&input, Some(bounded::tiny(4096)));
        assert_eq!(outcome.status, spilled.status, "byte {at}");
        bounded::assert_same(
            &spilled_rows,
            &rows,
            &format!("byte {at}: {outcome:?} {spilled:?}"),
        );
        damaged += usize::from(outcome.status == Status::Damaged);
    }
    assert!(damaged > 50, "{damaged}");
}
