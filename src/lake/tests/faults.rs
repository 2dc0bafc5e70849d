//! Calls of the file system that fail, are lost, or are the last: whichever one it is, a reader sees the version before or the one after,
//! what was published is whole, and the operation can be run again.

use super::*;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It and all after it fail, as if the process had been killed.
    Stops,
    /// It fails; those after it do not.
    Fails,
    /// It is made, and its answer is an error.
    IsLost,
}

#[derive(Debug)]
struct Faulty {
    fault: Fault,
    at: usize,
    passed: AtomicUsize,
    /// Which call it was.
    met: Mutex<Option<(Call, PathBuf)>>,
}

impl Faulty {
    fn new(fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self {
            fault,
            at,
            passed: AtomicUsize::new(0),
            met: Mutex::new(None),
        })
    }

    fn error(&self, call: Call, path: &Path) -> io::Result<()> {
        self.met.lock().unwrap().get_or_insert((call, path.into()));
        Err(io::Error::other("the test's fault"))
    }
}

impl Calls for Faulty {
    fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        let number = self.passed.fetch_add(1, Ordering::SeqCst);
        let meets = match self.fault {
            Fault::Stops => number >= self.at,
            Fault::Fails => number == self.at,
            Fault::IsLost => false,
        };
        if meets {
            self.error(call, path)
        } else {
            Ok(())
        }
    }

    fn after(&self, call: Call, path: &Path) -> io::Result<()> {
        // The number of this call: what other threads do meanwhile may hide it, then the one after is lost.
        let number = self.passed.load(Ordering::SeqCst).saturating_sub(1);
        let first = self.met.lock().unwrap().is_none();
        match self.fault == Fault::IsLost && first && number >= self.at {
            true => self.error(call, path),
            false => Ok(()),
        }
    }
}

/// Rows of all tables, inputs, functions and settings: what a version says.
#[derive(Debug, PartialEq)]
struct Said {
    rows: BTreeMap<String, Vec<String>>,
    inputs: Vec<String>,
    functions: Vec<UserFunction>,
    settings: String,
}

fn said(lake: &Lake) -> Said {
    let snapshot = lake.snapshot(None).unwrap();
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in snapshot.files() {
        for batch in
            crate::lake::file::data_reader::read_data(lake.store(), &file.path, 65_536).unwrap()
        {
            let batch = batch.unwrap();
            let of_table = rows.entry(file.table.clone()).or_default();
            of_table.extend(
                (0..batch.num_rows()).map(|row| format!("{:?}", batch.slice(row, 1).columns())),
            );
        }
    }
    rows.values_mut().for_each(|rows| rows.sort());
    let inputs = snapshot.inputs().unwrap().into_iter();
    Said {
        rows,
        inputs: inputs
            .map(|row| format!("{:?}", InputRow { version: 0, ..row }))
            .collect(),
        functions: snapshot.manifest().functions.clone(),
        settings: snapshot.manifest().settings.clone(),
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        match entry.file_type().is_dir() {
            true => fs::create_dir_all(target).unwrap(),
            false => _ = fs::copy(entry.path(), target).unwrap(),
        }
    }
}

/// Something that changes a lake.
struct Operation {
    name: &'static str,
    run: fn(&Bench, &Lake) -> Result<()>,
}

const NOTHING_SPARED: VacuumOptions = VacuumOptions {
    keep_versions: Duration::ZERO,
    min_age: Duration::ZERO,
    dry_run: false,
};

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "ingest",
        run: |bench, lake| {
            let options = IngestOptions {
                register: true,
                threads: 1,
                ..bench.options()
            };
            lake.ingest(&options, &Silent).map(drop)
        },
    },
    Operation {
        name: "compact",
        run: |_, lake| {
            let options = CompactOptions {
                threads: 1,
                ..CompactOptions::default()
            };
            lake.compact(&options, &Silent).map(drop)
        },
    },
    Operation {
        name: "vacuum",
        run: |_, lake| lake.vacuum(&NOTHING_SPARED).map(drop),
    },
    Operation {
        name: "forget",
        run: |_, lake| lake.forget(SOURCE).map(drop),
    },
    Operation {
        name: "forget --before",
        run: |_, lake| lake.forget_before(SOURCE, 3).map(drop),
    },
    Operation {
        name: "function",
        run: |_, lake| {
            let function = UserFunction {
                name: "f".into(),
                parameters: vec![],
                returns: "BIGINT".into(),
                body: "1".into(),
            };
            let change = |_: &[UserFunction]| Ok(vec![function.clone()]);
            lake.change_functions("create function", change).map(drop)
        },
    },
    Operation {
        name: "set",
        run: |_, lake| {
            lake.set_settings("cluster = 'cori' # ours\n", None)
                .map(drop)
        },
    },
    Operation {
        name: "restore",
        run: |_, lake| lake.restore(2).map(drop),
    },
];

/// A lake of three versions with logs in two ranges, and new, changed and repeated logs beside it.
fn bench() -> Bench {
    let bench = Bench::with(&CreateOptions {
        range_bytes: 2_000,
        ..CreateOptions::default()
    });
    for job in 0..6 {
        let text = format!("mounts {job} {job} /{job} /a /b");
        bench.log(&format!("{job}"), &text);
    }
    bench.ingest();
    bench.log("6", "mounts 6 6 /6");
    bench.log("again", "mounts 2 2 /2 /a /b");
    bench.ingest();
    bench.log("7", "mounts 9 0 /7");
    bench.log("1", "mounts 1 0 /changed");
    bench
}

#[test]
fn whichever_call_fails_a_version_is_whole_and_what_is_run_again_ends_well() {
    let bench = bench();
    let at = |name: &str| bench.directory.path().join(name);
    let template = bench.lake.root().unwrap().to_path_buf();
    let before = said(&bench.lake);
    for Operation { name, run } in OPERATIONS {
        let root = at("faulty");
        let open = |calls: Arc<dyn Calls>| Lake::open_store(Store::with_calls(&root, calls));
        copy(&template, &root);
        let counting = Faulty::new(Fault::Stops, usize::MAX);
        let lake = open(counting.clone()).unwrap();
        let opening = counting.passed.load(Ordering::SeqCst);
        run(&bench, &lake).unwrap();
        let calls = counting.passed.load(Ordering::SeqCst);
        let after = said(&Lake::open(&root).unwrap());
        assert!(calls > opening + 3, "{name} makes {calls} calls");
        for fault in [Fault::Stops, Fault::Fails, Fault::IsLost] {
            for number in opening..calls {
                copy(&template, &root);
                let faulty = Faulty::new(fault, number);
                let done = open(faulty.clone()).and_then(|lake| run(&bench, &lake));
                let what = format!(
                    "{name}, {fault:?} at {number}: {:?} {done:?}",
                    faulty.met.lock().unwrap()
                );
                let lake = Lake::open(&root).unwrap();
                let check = lake.check().unwrap();
                assert!(check.wrong.is_empty(), "{what}: {:?}", check.wrong);
                let found = said(&lake);
                assert!(found == before || found == after, "{what}: half of it");
                if done.is_ok() {
                    assert!(found == after, "{what}: said to be done");
                }
                // Nothing was published, then, and nothing stays but what a killed process leaves.
                if done.is_err() && fault == Fault::Fails && found == before && *name != "vacuum" {
                    let left = lake.check().unwrap().unreferenced;
                    assert!(left.len() <= 1, "{what}: {left:?}");
                }
                // A lease of a killed process holds for a while.
                let _ = fs::remove_dir_all(root.join("_iolode/lease"));
                if *name != "restore" || found == before {
                    run(&bench, &lake)
                        .or_else(|e| match e {
                            // What is forgotten already is nothing to forget.
                            Error::Invalid(_) if found == after => Ok(()),
                            e => Err(e),
                        })
                        .unwrap_or_else(|e| panic!("{what}: again: {e}"));
                }
                assert!(said(&lake) == after, "{what}: other rows in the end");
                lake.vacuum(&NOTHING_SPARED).unwrap();
                let check = lake.check().unwrap();
                assert!(
                    check.wrong.is_empty() && check.unreferenced.is_empty(),
                    "{what}: {check:?}"
                );
                assert!(said(&lake) == after, "{what}: the vacuum took rows");
            }
        }
    }
}

#[test]
fn whichever_call_of_making_a_lake_fails_there_is_a_lake_or_one_can_be_made() {
    let directory = tempfile::tempdir().unwrap();
    let (root, disk) = (directory.path().join("lake"), directory.path().join("disk"));
    let options = CreateOptions {
        settings: format!("[place]\nkind = 'dirs'\ndirs = ['{}']\n", disk.display()),
        ..CreateOptions::default()
    };
    let start = |calls: Arc<Faulty>| {
        let _ = (fs::remove_dir_all(&root), fs::remove_dir_all(&disk));
        Lake::start(Store::with_calls(&root, calls), &options)
    };
    let counting = Faulty::new(Fault::Stops, usize::MAX);
    start(counting.clone()).unwrap();
    let calls = counting.passed.load(Ordering::SeqCst);
    assert!(calls > 2, "{calls}");
    for fault in [Fault::Stops, Fault::Fails, Fault::IsLost] {
        for number in 0..calls {
            let faulty = Faulty::new(fault, number);
            let made = start(faulty.clone());
            let what = format!("{fault:?} at {number}: {:?} {made:?}", faulty.met);
            let lake = match Lake::open(&root) {
                Ok(lake) => lake,
                Err(_) => {
                    assert!(made.is_err(), "{what}");
                    Lake::create(&root, &options).unwrap_or_else(|e| panic!("{what}: again: {e}"))
                }
            };
            if let Ok(made) = made {
                assert_eq!(made.id(), lake.id(), "{what}");
            }
            let check = lake.check().unwrap();
            assert!(check.wrong.is_empty(), "{what}: {check:?}");
            lake.set_settings(&options.settings.replace("disk", "disk2"), None)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
        }
    }
}

/// Links, and answers that something was there.
#[derive(Debug)]
struct LinksAndDenies;

impl Calls for LinksAndDenies {
    fn after(&self, call: Call, path: &Path) -> io::Result<()> {
        match call == Call::Link && path.extension().is_some_and(|e| e == "json") {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => Ok(()),
        }
    }
}

#[test]
fn a_link_that_denies_what_it_did_has_published() {
    let bench = bench();
    let lake = Lake::open_store(Store::with_calls(
        bench.lake.root().unwrap(),
        Arc::new(LinksAndDenies),
    ));
    let report = lake.unwrap().ingest(&bench.options(), &Silent).unwrap();
    assert_eq!(report.version, Some(4));
    // Six logs of three mounts, of which one has one now, and two of one.
    assert_eq!(bench.rows().len(), 18);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

/// Syncs no directory of manifests, or none of lists.
#[derive(Debug)]
struct NoSync(&'static str);

impl Calls for NoSync {
    fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        match call == Call::Sync && path.ends_with(self.0) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }
}

#[test]
fn a_directory_that_cannot_be_synced_is_an_error_of_lists_and_a_word_of_a_version() {
    let bench = bench();
    let open = |directory| {
        let store = Store::with_calls(bench.lake.root().unwrap(), Arc::new(NoSync(directory)));
        Lake::open_store(store).unwrap()
    };
    for directory in ["_iolode/part", "darshan_mount"] {
        let error = open(directory).ingest(&bench.options(), &Silent);
        let error = error.unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("{directory}: cannot sync: input/output error")),
            "{error}"
        );
        let check = bench.lake.check().unwrap();
        assert_eq!((check.version, check.unreferenced), (3, vec![]));
    }
    let report = open("_iolode/manifest").ingest(&bench.options(), &Silent);
    let report = report.unwrap();
    assert_eq!(report.version, Some(4));
    let (path, why) = &report.warnings[0];
    assert_eq!(path, "_iolode/manifest/00000000000000000004.json");
    assert!(
        why.starts_with("version 4 is there, but a crash of this machine may undo it ("),
        "{why}"
    );
    assert_eq!(bench.rows().len(), 18);
}

/// Nothing can be read after the manifest was linked.
#[derive(Debug)]
struct FallsSilent(std::sync::atomic::AtomicBool);

impl Calls for FallsSilent {
    fn before(&self, call: Call, _: &Path) -> io::Result<()> {
        match call == Call::Read && self.0.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    fn after(&self, call: Call, path: &Path) -> io::Result<()> {
        let links = call == Call::Link && path.extension().is_some_and(|e| e == "json");
        if links {
            self.0.store(true, Ordering::SeqCst);
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

#[test]
fn an_outcome_that_nobody_knows_is_said_and_nothing_is_deleted() {
    let bench = bench();
    let silent = Arc::new(FallsSilent(false.into()));
    let lake = Lake::open_store(Store::with_calls(bench.lake.root().unwrap(), silent));
    let error = lake.unwrap().ingest(&bench.options(), &Silent).unwrap_err();
    assert!(
        matches!(error, Error::Outcome { version: 4, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("nobody can say whether version 4 was committed"),
        "{error}"
    );
    assert_eq!(bench.rows().len(), 18);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}
