//! What is written is what our own reader reads; pydarshan reads it in tests/it/pydarshan.rs.

mod any_log;
mod round_trip;

use super::*;
use crate::math::random::Random;
use crate::source::darshan::ModuleId;
use any_log::{VERSIONS, expected, log};

/// The zlib streams of a region that begins at `from`: the length of each, inflated.
fn streams(file: &[u8], mut from: usize, to: usize) -> Vec<usize> {
    let mut lengths = vec![];
    while from < to {
        let (mut inflate, mut out) = (flate2::Decompress::new(true), vec![0; 1 << 20]);
        inflate
            .decompress(&file[from..to], &mut out, flate2::FlushDecompress::Finish)
            .unwrap();
        lengths.push(inflate.total_out() as usize);
        from += inflate.total_in() as usize;
    }
    lengths
}

fn number(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

#[test]
fn records_are_cut_into_the_streams_that_were_asked() {
    let records = vec![Record::default(); 7];
    let mut module = Module::new(ModuleId::POSIX, 4, Records::Counters(records));
    for (asked, expect) in [
        (vec![], vec![7]),
        (vec![7], vec![7]),
        (vec![2, 0, 4], vec![2, 0, 4, 1]),
        // More than there are.
        (vec![6, 9], vec![6, 1]),
    ] {
        module.streams = asked;
        let log = DarshanLog {
            modules: vec![module.clone()],
            ..DarshanLog::default()
        };
        let file = log.to_bytes();
        let (from, length) = (number(&file, 48 + 16), number(&file, 48 + 24));
        let expect: Vec<usize> = expect.into_iter().map(|records| records * 704).collect();
        assert_eq!(streams(&file, from, from + length), expect);
        assert_eq!(from + length, file.len());
    }
}

#[test]
fn a_long_command_line_is_cut_and_leaves_no_room_for_mounts() {
    for (version, room, start) in [((3, 41), 3015, 1328), ((3, 21), 3031, 360)] {
        let mut log = DarshanLog {
            version,
            ..DarshanLog::default()
        };
        log.job.mounts = vec![mount("lustre", "/scratch")];
        let tail = |log: &DarshanLog| {
            let file = log.to_bytes();
            let mut out = vec![0; 5000];
            let mut inflate = flate2::Decompress::new(true);
            inflate
                .decompress(&file[start..], &mut out, flate2::FlushDecompress::Finish)
                .unwrap();
            out.truncate(inflate.total_out() as usize);
            let head = out.len() - if version >= (3, 41) { 1080 } else { 1064 };
            assert_eq!(out.pop(), Some(0));
            out.split_off(out.len() + 1 - head)
        };
        log.job.exe = vec![b'x'; 20];
        assert_eq!(tail(&log), b"xxxxxxxxxxxxxxxxxxxx\nlustre\t/scratch");
        // The mount does not fit any more; the command line does.
        log.job.exe = vec![b'x'; room - 15];
        assert_eq!(tail(&log).len(), room - 15);
        log.job.exe = vec![b'x'; room + 1];
        let cut = tail(&log);
        assert!(cut.len() == room && cut.ends_with(b"xx<TRUNCATED>"));
    }
}

#[test]
fn a_module_of_raw_bytes_can_lie_about_its_counts() {
    let lie = [
        [1u8; 16].as_slice(),
        &i64::MAX.to_le_bytes(),
        &i64::MAX.to_le_bytes(),
    ]
    .concat();
    let raw = |bytes: &[u8]| Module::new(ModuleId::LUSTRE, 2, Records::Raw(bytes.to_vec()));
    let log = DarshanLog {
        modules: vec![raw(&lie)],
        ..DarshanLog::default()
    };
    let file = log.to_bytes();
    let (from, length) = (number(&file, 48 + 8 * 16), number(&file, 48 + 8 * 16 + 8));
    assert_eq!(streams(&file, from, from + length), [32]);
}
