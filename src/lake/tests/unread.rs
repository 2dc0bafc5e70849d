//! Files that the file system does not let be read: nobody knows whether they are damaged, so nothing says so and nothing advises to go back.

use super::*;
use crate::lake::file::placement::Placement;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Refuses to read a file, or those of a directory, with an error of the system; the first few accesses are let pass.
#[derive(Debug)]
struct Refuses {
    what: String,
    code: i32,
    passes: AtomicUsize,
    refused: Mutex<Vec<PathBuf>>,
}

impl Calls for Refuses {
    fn before(&self, call: Call, path: &Path) -> std::io::Result<()> {
        let is_it = path.ancestors().take(2).any(|p| p.ends_with(&self.what));
        if call != Call::Read || !is_it {
            return Ok(());
        }
        let passes = |n: usize| n.checked_sub(1);
        let passed = self
            .passes
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, passes);
        if passed.is_ok() {
            return Ok(());
        }
        self.refused.lock().unwrap().push(path.into());
        Err(std::io::Error::from_raw_os_error(self.code))
    }
}

impl Refuses {
    fn new(what: &str, code: i32, passes: usize) -> Arc<Self> {
        Arc::new(Self {
            what: what.into(),
            code,
            passes: passes.into(),
            refused: Mutex::default(),
        })
    }

    fn has_refused(&self) -> bool {
        !self.refused.lock().unwrap().is_empty()
    }
}

/// The lake seen by somebody who may not read that.
fn open(bench: &Bench, calls: &Arc<Refuses>) -> Result<Lake> {
    let root = bench.lake.root().unwrap();
    Lake::open_store(Store::with_calls(root, calls.clone()))
}

/// EACCES, EIO and ESTALE.
const CODES: [(i32, &str); 3] = [
    (13, "permission denied"),
    (5, "input/output error"),
    (116, "stale file handle"),
];

#[track_caller]
fn gives_no_advice(text: &str, why: &str) {
    assert!(text.contains(why), "{text}");
    for word in ["damaged", "restore", "forget", "missing", "lake check"] {
        assert!(!text.contains(word), "{text}");
    }
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    bench.log("b", "mounts 1 0 /b");
    bench
}

#[test]
fn a_data_file_that_cannot_be_read_is_no_damage() {
    let bench = bench();
    let file = bench.lake.snapshot(None).unwrap().files()[0].path.clone();
    for (code, why) in CODES {
        // Its bytes are hashed, it is opened, and read some times.
        for passes in 0..4 {
            let calls = Refuses::new(&file, code, passes);
            let report = open(&bench, &calls).unwrap().check().unwrap();
            assert!(calls.has_refused(), "{passes}");
            let unread = Finding {
                path: file.clone(),
                what: format!("cannot read: {why}"),
            };
            assert_eq!((report.wrong, report.unread), (vec![], vec![unread]));

            // A log is to join its rows: they are read, and their bytes looked at before they are replaced.
            let calls = Refuses::new(&file, code, passes);
            let lake = open(&bench, &calls).unwrap();
            let ingested = lake.ingest(&bench.options(), &Silent);
            assert!(calls.has_refused(), "{passes}");
            gives_no_advice(&ingested.unwrap_err().to_string(), why);
        }
    }
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_list_or_a_manifest_that_cannot_be_read_is_no_damage() {
    for (code, why) in CODES {
        let bench = bench();
        let opened = open(&bench, &Refuses::new("manifest", code, 0));
        gives_no_advice(&opened.unwrap_err().to_string(), why);
        let lake = open(&bench, &Refuses::new("part", code, 0)).unwrap();
        let options = CompactOptions::default();
        for error in [
            lake.check().map(drop),
            lake.ingest(&bench.options(), &Silent).map(drop),
            lake.compact(&options, &Silent).map(drop),
            lake.vacuum(&VacuumOptions::default()).map(drop),
            lake.forget(SOURCE).map(drop),
            lake.restore(2).map(drop),
        ] {
            gives_no_advice(&error.unwrap_err().to_string(), why);
        }
    }
}

#[test]
fn an_older_version_that_cannot_be_read_is_not_said_to_be_lost() {
    let bench = bench();
    bench.ingest();
    for (code, why) in CODES {
        let path = Manifest::path(2);
        let lake = open(&bench, &Refuses::new(&path, code, 0)).unwrap();
        let report = lake.check().unwrap();
        assert_eq!((report.wrong, report.superseded), (vec![], vec![]));
        let [found] = &report.unread[..] else {
            panic!("{:?}", report.unread);
        };
        let path = lake.root().unwrap().join(path);
        let what = format!("version 2: {}: cannot read: {why}", path.display());
        assert_eq!(found.what, what);
    }
}

/// A directory of data files that lies elsewhere and may not be entered, or is not mounted rightly.
#[test]
fn a_directory_that_cannot_be_entered_is_not_said_to_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    let bench = Bench::with(&CreateOptions {
        settings: format!("[place]\nkind = 'dirs'\ndirs = ['{}']\n", disk.display()),
        ..CreateOptions::default()
    });
    assert!(matches!(
        bench.lake.site().unwrap().place,
        Placement::Dirs { .. }
    ));
    bench.log("a", "mounts 1 0 /a");
    bench.ingest();
    // Whoever runs the tests may enter everything but this.
    fs::rename(&disk, directory.path().join("away")).unwrap();
    std::os::unix::fs::symlink(&disk, &disk).unwrap();
    let report = bench.lake.check();
    let told = match report {
        Ok(report) => {
            assert_eq!(report.wrong, vec![]);
            report.unread.into_iter().map(|found| found.what).collect()
        }
        Err(e) => vec![e.to_string()],
    };
    assert!(!told.is_empty());
    told.iter()
        .for_each(|what| gives_no_advice(what, "symbolic links"));
}
