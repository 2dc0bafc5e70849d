use super::*;
use crate::source::darshan::counters::{bgq, posix};
use crate::source::darshan::header::Compression;
use crate::source::darshan::job::{Job, Mount};
use crate::source::darshan::record_id;
use crate::source::darshan::write::{
    self, Apmpi, ApmpiRecord, Component, DarshanLog, Extra, Heatmap, Layout, Record, Records,
    Segment, Trace, mount,
};

/// Ids go up by one, names and hosts get a mark, and mount points a text at their end.
struct Marked<'a>(&'a str);

impl Replacements for Marked<'_> {
    fn job(&mut self, job: &Job) -> Result<write::Job> {
        let longer = |mount: &Mount| Mount {
            fs_type: mount.fs_type.clone(),
            path: [&mount.path, self.0.as_bytes()].concat(),
        };
        Ok(write::Job {
            uid: job.uid + 1,
            start: (job.start_sec, job.start_nsec),
            end: (job.end_sec, job.end_nsec),
            nprocs: job.nprocs,
            job_id: job.job_id + 1,
            metadata: vec![],
            exe: b"program".to_vec(),
            mounts: job.mounts.iter().map(longer).collect(),
        })
    }

    fn name(&mut self, name: Name<'_>) -> Result<String> {
        Ok(match name.is_object {
            true => format!("object {}", name.text),
            false => format!("new {}", name.text),
        })
    }

    fn record_id(&mut self, id: u64, _: Option<Name<'_>>) -> u64 {
        id + 1
    }

    fn text(&mut self, _: &str, _: &str, text: &str) -> Result<String> {
        Ok(format!("new-{text}"))
    }

    fn keeps(&self, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }
}

fn rewritten(log: &DarshanLog) -> Result<Rewritten> {
    let input = Input::from_bytes("x.darshan", log.to_bytes());
    Rewriter::default().rewrite(&input, &mut Marked(""))
}

/// A log with something to replace in every kind of record, or what stands there afterwards.
fn log(version: (u16, u16), byte_order: ByteOrder, is_new: bool) -> DarshanLog {
    let id = |id: u64| id + u64::from(is_new);
    let name = |text: &str, new: &str| if is_new { new } else { text }.as_bytes().to_vec();
    let host = |text: &str| name(text, &format!("new-{text}"));
    let stdin = record_id(b"<STDIN>");
    let mut opened = vec![3; 69];
    opened[posix::RENAMED_FROM] = id(70) as i64;
    let not_renamed = vec![0; 69];
    let counters = |id: u64, ints: Vec<i64>| Record {
        id,
        rank: 0,
        ints,
        floats: vec![0.5],
        ..Record::default()
    };
    let mut job_counters = vec![9; 11];
    job_counters[bgq::CSJOBID] = if is_new { -1 } else { 77 };
    let segment = |thread| Segment {
        offset: 1,
        length: 2,
        start: 0.25,
        end: 0.75,
        thread: if is_new { 0 } else { thread },
    };
    let mut pooled = Component::plain(1 << 20, vec![4, 5]);
    pooled.pool = name("flash", "");
    let modules = [
        (
            ModuleId::POSIX,
            4,
            Records::Counters(vec![
                counters(id(10), opened),
                counters(stdin, not_renamed.clone()),
                // A record without a name.
                counters(id(50), not_renamed),
            ]),
        ),
        (
            ModuleId::H5D,
            2,
            Records::Counters(vec![
                Record {
                    extra: Extra::File(id(10)),
                    ..counters(id(20), vec![1])
                },
                Record {
                    extra: Extra::File(0),
                    ..counters(id(21), vec![1])
                },
            ]),
        ),
        (
            ModuleId::BGQ,
            2,
            Records::Counters(vec![counters(id(30), job_counters)]),
        ),
        (
            ModuleId::LUSTRE,
            2,
            Records::Lustre(vec![Layout {
                id: id(10),
                rank: -1,
                components: vec![pooled, Component::plain(1 << 20, vec![6])],
                ..Layout::default()
            }]),
        ),
        (
            ModuleId::DXT_POSIX,
            2,
            Records::Dxt(vec![Trace {
                id: id(10),
                rank: 1,
                shared: 0,
                hostname: host("nid00012"),
                writes: vec![segment(7), segment(8)],
                reads: vec![segment(9)],
            }]),
        ),
        (
            ModuleId::APMPI,
            1,
            Records::Apmpi(Apmpi {
                id: id(60),
                records: vec![ApmpiRecord {
                    id: id(61),
                    rank: 1,
                    ints: vec![5],
                    floats: vec![0.5],
                    node: host("nid00013"),
                }],
                ..Apmpi::default()
            }),
        ),
        (
            ModuleId::DAOS,
            1,
            Records::Counters(vec![Record {
                extra: match is_new {
                    // What fits of the mark and the old one as text.
                    true => Extra::Stored {
                        pool: *b"new-01010101-010",
                        container: *b"new-02020202-020",
                        object: (0, 0),
                    },
                    false => Extra::Stored {
                        pool: [1; 16],
                        container: [2; 16],
                        object: (3, 4),
                    },
                },
                ..counters(id(40), vec![1])
            }]),
        ),
    ];
    let job = write::Job {
        uid: id(1000) as i64,
        start: (1_500_000_000, 0),
        end: (1_500_000_100, 0),
        nprocs: 2,
        job_id: id(4_000_000) as i64,
        metadata: name("lib_ver=3.4.0\nfork_parent=7\n", ""),
        exe: name("/home/alice/a.out secret", "program"),
        mounts: vec![mount("lustre", "/scratch")],
    };
    let names = vec![
        (
            id(10),
            name("/scratch/alice/a.h5", "new /scratch/alice/a.h5"),
        ),
        (
            id(20),
            match version < (3, 20) {
                // Without the module it is a name as any other.
                true => name("/scratch/a.h5:/d", "new /scratch/a.h5:/d"),
                false => name("/scratch/a.h5:/d", "object /scratch/a.h5:/d"),
            },
        ),
        (stdin, b"<STDIN>".to_vec()),
        (record_id(b"heatmap:POSIX"), b"heatmap:POSIX".to_vec()),
    ];
    DarshanLog {
        version,
        byte_order,
        job,
        names,
        modules: modules
            .into_iter()
            .map(|(id, version, records)| write::Module::new(id, version, records))
            .collect(),
        ..DarshanLog::default()
    }
}

/// Expected bytes are those of the log that is written with the new values.
#[test]
fn a_rewritten_log_has_other_names_and_nothing_else_is_different() {
    for version in [(3, 0), (3, 10), (3, 21), (3, 41)] {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            for compression in [Compression::Zlib, Compression::Bzip2, Compression::None] {
                let log = |is_new| DarshanLog {
                    compression,
                    partial: 1 << ModuleId::POSIX.0,
                    ..log(version, byte_order, is_new)
                };
                let made = rewritten(&log(false)).unwrap();
                assert!(
                    made.bytes == log(true).to_bytes(),
                    "{version:?} {byte_order:?} {compression:?}"
                );
                assert!(made.left_out.is_empty());
            }
        }
    }
}

#[test]
fn a_heatmap_keeps_its_bins_and_loses_two_addresses() {
    let mut log = DarshanLog {
        compression: Compression::None,
        ..DarshanLog::default()
    };
    let id = record_id(b"heatmap:POSIX");
    log.names.push((id, b"heatmap:POSIX".to_vec()));
    let heatmap = Heatmap {
        id,
        rank: 0,
        bin_width: 0.5,
        writes: vec![1, 2],
        reads: vec![3, 4],
    };
    let records = Records::Heatmap(vec![heatmap]);
    log.modules
        .push(write::Module::new(ModuleId::HEATMAP, 1, records));
    let (before, after) = (log.to_bytes(), rewritten(&log).unwrap().bytes);
    let last = |bytes: &[u8]| bytes[bytes.len() - 80..].to_vec();
    let (mut expected, found) = (last(&before), last(&after));
    assert!(expected[32..48].iter().any(|byte| *byte != 0));
    expected[32..48].fill(0);
    assert_eq!(found, expected);
}

#[test]
fn a_module_that_nobody_understands_is_left_out_and_said() {
    let expected = log((3, 41), ByteOrder::Little, true).to_bytes();
    let mut log = log((3, 41), ByteOrder::Little, false);
    for (id, version) in [(40, 1), (13, 1), (9, 9)] {
        let records = Records::Raw(b"/home/alice".to_vec());
        log.modules
            .push(write::Module::new(ModuleId(id), version, records));
        log.partial |= 1 << id;
    }
    let made = rewritten(&log).unwrap();
    assert_eq!(made.left_out, ["STDIO", "APXC", "40"]);
    assert!(made.bytes == expected);
}

#[test]
fn of_mounts_that_do_not_fit_those_with_files_stay() {
    let mut log = log((3, 41), ByteOrder::Little, false);
    let path = |n: usize, more: &str| format!("/{n}{}{more}", "x".repeat(57));
    let mounts = (10..40).map(|n| mount("lustre", &path(n, "")));
    log.job.mounts = mounts.collect();
    log.names.push((80, (path(39, "") + "/a").into_bytes()));
    let more = "y".repeat(60);
    let input = Input::from_bytes("x.darshan", log.to_bytes());
    let made = Rewriter::default().rewrite(&input, &mut Marked(&more));
    let made = made.unwrap();
    // 3,015 bytes less 7 of the command line hold 23 of 128 bytes.
    assert_eq!(made.left_out, ["7 mounts"]);
    let mut read = Log::new();
    let input = Input::from_bytes("y.darshan", made.bytes);
    read.read(&input, ModuleSet::default()).unwrap();
    let mounts = &read.job().unwrap().mounts;
    assert_eq!(mounts.len(), 23);
    assert_eq!(mounts[0].path, path(39, &more).into_bytes());
    assert_eq!(mounts[1].path, path(10, &more).into_bytes());
}

#[test]
fn a_damaged_log_is_refused() {
    let log = log((3, 41), ByteOrder::Little, false);
    let whole = log.to_bytes();
    let refused = |bytes: Vec<u8>| {
        let input = Input::from_bytes("x.darshan", bytes);
        let refused = Rewriter::default().rewrite(&input, &mut Marked("")).err();
        matches!(refused, Some(Error::Malformed { .. }))
    };
    assert!((0..whole.len()).all(|length| refused(whole[..length].to_vec())));
    let mut other = log;
    let Records::Dxt(traces) = &mut other.modules[4].records else {
        unreachable!("it is the trace");
    };
    traces[0].rank = 2;
    assert!(refused(other.to_bytes()));
}
