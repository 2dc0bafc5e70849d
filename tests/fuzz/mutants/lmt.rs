//! Real files with bytes changed, cut or put in: readers must not panic, not take memory without measure, and never call a cut
//! file whole.

use super::variable;
use crate::lmt_files::{DUMP, H5LMT, SQLITE, TOKIO, context, real, sorted};
use crate::random::Random;
use iolode::source::lmt::Lmt;
use iolode::source::{BatchSink, Input, Source, Status};

crate::tests! {
    [Data] => {
        no_mutant_of_a_text_panics_or_takes_memory_without_measure,
        no_mutant_of_a_binary_file_panics_or_takes_memory_without_measure,
        a_text_that_is_cut_is_never_whole,
    }
}

/// Mutants of each text, four times those of each binary file; the variables IOLODE_MUTANTS and IOLODE_SEED ask for more, and for others.
const MUTANTS: u64 = 400;

/// The real dump with three samples of each table, so that most bytes decide something.
fn short_dump() -> Vec<u8> {
    let text = String::from_utf8(real(DUMP)).unwrap();
    let (mut short, mut row, mut in_definition, mut names) = (String::new(), 0, false, false);
    for line in text.lines() {
        row = if line.starts_with('(') { row + 1 } else { 0 };
        if line.starts_with("INSERT") {
            names = line.contains("_INFO`");
        }
        in_definition = line.starts_with("CREATE TABLE") || in_definition && !line.starts_with(')');
        let last = line.ends_with(';');
        // Keys and comments say nothing to a reader.
        let wanted = !in_definition || line.starts_with("CREATE") || line.starts_with("  `");
        if (row <= 3 || last || names) && wanted && !line.starts_with("/*!4") {
            short += line;
            short += "\n";
        }
    }
    short.into_bytes()
}

fn short_recording() -> Vec<u8> {
    let mut recording = real("tycho-newrecov.log");
    let lines: Vec<usize> = memchr::memchr_iter(b'\n', &recording).collect();
    recording.truncate(lines[80] + 1);
    recording
}

/// Words that mean something in one of the texts.
const WORDS: [&[u8]; 14] = [
    b"(",
    b"),(",
    b");\n",
    b",",
    b"'",
    b"\\",
    b"NULL",
    b"-",
    b"99999999999999999999",
    b"\nINSERT INTO `OST_DATA` VALUES\n(",
    b"\nUSE `filesystem_x`;\n",
    b"INSERT INTO `OST_DATA` (`OST_ID`) VALUES ",
    b"\n",
    b";",
];

fn mutate(bytes: &mut Vec<u8>, ways: usize, random: &mut Random) {
    match random.index(ways) {
        0 => (0..1 + random.index(4)).for_each(|_| {
            let at = random.index(bytes.len());
            bytes[at] ^= 1 << random.index(8);
        }),
        1 => {
            let at = random.index(bytes.len());
            let word = WORDS[random.index(WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
        2 => {
            let at = random.index(bytes.len());
            let n = random.index(200).min(bytes.len() - at);
            bytes.drain(at..at + n);
        }
        3 => {
            let at = random.index(bytes.len());
            let junk: Vec<u8> = (0..random.index(64)).map(|_| random.bits() as u8).collect();
            bytes.splice(at..at, junk);
        }
        4 => {
            let (from, to) = (random.index(bytes.len()), random.index(bytes.len()));
            let piece: Vec<u8> = bytes[from..].iter().take(300).copied().collect();
            bytes.splice(to..to, piece);
        }
        _ => bytes.truncate(random.index(bytes.len())),
    }
}

/// Reads mutants of a file and checks what came of them.
///
/// A binary file only has its bits flipped, but for one in ten: moved by a byte it is none any more.
fn check(name: &str, whole: &[u8], mutants: u64, text: bool) {
    let mut random = Random::new(variable("IOLODE_SEED", 1), 0);
    let mut outcomes = [0usize; 4];
    for mutant in 0..mutants {
        let mut bytes = whole.to_vec();
        let ways = if text || mutant % 10 == 0 { 6 } else { 1 };
        (0..1 + random.index(3)).for_each(|_| mutate(&mut bytes, ways, &mut random));
        if bytes.is_empty() {
            continue;
        }
        let size = bytes.len();
        let mut tables = BatchSink::new(Lmt.tables().iter().copied()).unwrap();
        match Lmt
            .reader(context())
            .read(&Input::from_bytes(name, bytes), 1, None, &mut tables)
        {
            Ok(outcome) => {
                outcomes[outcome.status as usize] += 1;
                let whole = outcome.status == Status::Ok;
                assert_eq!(whole, outcome.why.is_none(), "{name} {mutant}: {outcome:?}");
                let why = outcome.why.unwrap_or_default();
                assert!(
                    !why.contains('\n') && why.len() < 8192,
                    "{name} {mutant}: {why}"
                );
            }
            Err(e) => {
                outcomes[3] += 1;
                assert!(!e.to_string().contains('\n'), "{e}");
                let rows = tables.builders().iter().map(|b| b.rows()).sum::<usize>();
                assert_eq!(rows, 0, "rows of a refused file: {name} {mutant}");
            }
        }
        for builder in tables.builders() {
            // The shortest row has about 20 bytes, a row of a table 200; text is kept as it is. HDF5 is compressed.
            let most = if name.ends_with("5") || name.ends_with("mt") {
                64
            } else {
                1
            };
            assert!(
                builder.bytes() <= most * 64 * size.max(10_000),
                "{name} {mutant}: {} takes {} bytes",
                builder.table().name,
                builder.bytes()
            );
            let name = builder.table().name.clone();
            let rows = builder.finish().unwrap();
            let mut row_merger = Lmt.row_merger(&name).unwrap();
            row_merger.resolve(&sorted(&name, &rows)).unwrap();
        }
    }
    println!(
        "{mutants} mutants of {name}: {} whole, {} partial, {} damaged, {} refused",
        outcomes[0], outcomes[1], outcomes[2], outcomes[3]
    );
}

fn no_mutant_of_a_text_panics_or_takes_memory_without_measure() {
    let (dump, recording) = (short_dump(), short_recording());
    let mutants = variable("IOLODE_MUTANTS", MUTANTS);
    check("dump.sql", &dump, mutants, true);
    check("recording.log", &recording, mutants, true);
}

fn no_mutant_of_a_binary_file_panics_or_takes_memory_without_measure() {
    for file in [H5LMT, TOKIO, SQLITE] {
        let whole = real(file);
        check(file, &whole, variable("IOLODE_MUTANTS", MUTANTS) / 4, false);
    }
}

fn a_text_that_is_cut_is_never_whole() {
    let (dump, recording) = (short_dump(), short_recording());
    for (name, whole) in [("dump.sql", dump), ("recording.log", recording)] {
        let read = |bytes: &[u8]| {
            let mut tables = BatchSink::new(Lmt.tables().iter().copied()).unwrap();
            Lmt.reader(context()).read(
                &Input::from_bytes(name, bytes.to_vec()),
                1,
                None,
                &mut tables,
            )
        };
        assert_ne!(read(&whole).unwrap().status, Status::Damaged, "{name}");
        let mut random = Random::new(7, 0);
        for _ in 0..100 {
            let cut = 1 + random.index(whole.len() - 60);
            // A recording may end after any line: ltop writes until it is stopped.
            if whole[cut - 1] != b'\n' || name == "dump.sql" {
                let outcome = read(&whole[..cut]);
                assert!(
                    outcome.is_err() || outcome.unwrap().status == Status::Damaged,
                    "{name} cut at {cut}"
                );
            }
        }
    }
}
