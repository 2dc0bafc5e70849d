//! What lies below some paths: the files in the order of their names, while other threads read directories ahead.
//!
//! ```text
//!  threads: the directory that comes first and that nobody reads yet --> its entries, sorted --> up to READ_AHEAD of them wait
//!  caller:  the next file of the directories that it is in           <-- reads a directory itself that nobody has begun
//! ```
//!
//! A file's name is its whole path, so that the files can be merged with lists that are sorted by path.

use super::lister::{Kind, Lister, is_address, name, why};
use super::log_tree::TreePosition;
use super::options::InputPath;
use super::read_ahead::{Directory, End, Entry, Item, Listed, Reading, Scope};
use crate::error::{Error, Result};
use crate::source::without_password;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is found at a path.
pub(in crate::lake) enum Found {
    /// A regular file, or the address of a server.
    File(File),
    /// A directory, by name.
    Directory(Arc<str>),
    /// What cannot be listed, and why.
    Unlisted(PathBuf, String),
}

/// A file that may be a log.
#[derive(Debug)]
pub(in crate::lake) struct File {
    /// Its path as [`name`] writes it.
    pub(in crate::lake) name: String,
    /// Where to find it, if its name does not say.
    pub(in crate::lake) odd: Option<PathBuf>,
    /// Kind of input that it was given as.
    pub(in crate::lake) kind: Option<Arc<str>>,
    pub(in crate::lake) bytes: u64,
    /// Microseconds since 1970.
    pub(in crate::lake) modified: i64,
}

/// Tells `each` what lies below the paths: each file once and by name, directories when they are entered, and nothing of lakes and
/// of other days.
///
/// # Errors
/// What `each` returns, and [`Error::Io`] for a path that can be no path.
pub(in crate::lake) fn walk(
    lister: &dyn Lister,
    paths: &[InputPath],
    scope: &Scope<'_>,
    each: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    let reading = Reading::new(lister, scope);
    std::thread::scope(|threads| {
        for _ in 1..scope.threads {
            threads.spawn(|| reading.read_ahead());
        }
        let _end = End(&reading);
        merge(&reading, paths, each)
    })
}

/// Tells what lies below all paths, which may overlap.
fn merge(
    reading: &Reading<'_>,
    paths: &[InputPath],
    each: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    let mut heads = BinaryHeap::new();
    for (number, path) in paths.iter().enumerate() {
        let mut walk = Walk::new(reading, number, path)?;
        if let Some(file) = walk.next(reading, each)? {
            heads.push(Head { file, walk });
        }
    }
    let mut last: Option<File> = None;
    while let Some(Head { file, mut walk }) = heads.pop() {
        if let Some(file) = walk.next(reading, each)? {
            heads.push(Head { file, walk });
        }
        match &mut last {
            // What is given as two kinds may be either.
            Some(held) if held.name == file.name => {
                held.kind = held
                    .kind
                    .take()
                    .filter(|kind| Some(kind) == file.kind.as_ref());
            }
            _ => {
                if let Some(file) = last.replace(file) {
                    each(Found::File(file))?;
                }
            }
        }
    }
    last.map_or(Ok(()), |file| each(Found::File(file)))
}

/// The next file below one path, and where to go on from there; the greatest is the one that comes first by name.
struct Head {
    file: File,
    walk: Walk,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.file.name == other.file.name
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.file.name.cmp(&self.file.name)
    }
}

/// Where the caller is among what lies below one path.
struct Walk {
    kind: Option<Arc<str>>,
    /// The path itself, until it is passed.
    first: Option<Item>,
    /// The directories that it is in, and what is left of them.
    inside: Vec<(Arc<Directory>, std::vec::IntoIter<Item>)>,
    /// What begins the names of what lies beside the path.
    path: PathBuf,
}

impl Walk {
    fn new(reading: &Reading<'_>, root: usize, given: &InputPath) -> Result<Self> {
        let InputPath { path, kind } = given;
        let kind: Option<Arc<str>> = kind.as_deref().map(Arc::from);
        let item = |path: &Path, name: &str, what| Self {
            kind: kind.clone(),
            first: Some(Item {
                name: name.into(),
                odd: None,
                what,
            }),
            inside: vec![],
            path: path.into(),
        };
        if is_address(&path.to_string_lossy()) {
            // The lake and its messages must not tell a password.
            let (name, none) = (
                without_password(&name(path)),
                Entry::File {
                    bytes: 0,
                    modified: 0,
                },
            );
            return Ok(item(path, &name, none));
        }
        let path = std::path::absolute(path).map_err(|e| Error::io(path, "cannot use", e))?;
        let own = name(&path);
        let what = match reading.look(&path) {
            Ok(Kind::File { bytes, modified }) => Entry::File { bytes, modified },
            Ok(Kind::Directory) => {
                let prefix = format!("{}/", own.trim_end_matches('/'));
                // What a dump in a directory of a day says may be of any day.
                let by_day = kind
                    .as_deref()
                    .is_some_and(|kind| reading.is_filed_by_day(kind));
                Entry::Directory(Arc::new(Directory {
                    place: by_day.then(|| TreePosition::of(&path)),
                    path: path.clone(),
                    prefix: prefix.into(),
                    root,
                }))
            }
            Ok(_) => {
                return Ok(Self {
                    first: None,
                    ..item(
                        &path,
                        &own,
                        Entry::File {
                            bytes: 0,
                            modified: 0,
                        },
                    )
                });
            }
            Err(e) => Entry::Unlisted(why(&e)),
        };
        Ok(item(&path, &own, what))
    }

    /// The next file; tells `each` what comes before it.
    fn next(
        &mut self,
        reading: &Reading<'_>,
        each: &mut dyn FnMut(Found) -> Result<()>,
    ) -> Result<Option<File>> {
        loop {
            let (item, within) = match self.first.take() {
                Some(item) => (item, None),
                None => {
                    let Some((directory, items)) = self.inside.last_mut() else {
                        return Ok(None);
                    };
                    match items.next() {
                        Some(item) => (item, Some(&*directory)),
                        None => {
                            self.inside.pop();
                            continue;
                        }
                    }
                }
            };
            let path = || match (within, &item.odd) {
                (None, _) => self.path.clone(),
                (Some(directory), Some(odd)) => directory.path.join(odd),
                (Some(directory), None) => directory.path.join(&*item.name),
            };
            match item.what {
                Entry::File { bytes, modified } => {
                    let name = within.map_or(String::new(), |d| d.prefix.to_string()) + &item.name;
                    let plain = within.map_or(&self.path, |directory| &directory.path);
                    let is_odd = item.odd.is_some()
                        || plain.to_str().is_none()
                        || within.is_none() && plain.to_str() != Some(&name);
                    return Ok(Some(File {
                        odd: is_odd.then(path),
                        name,
                        kind: self.kind.clone(),
                        bytes,
                        modified,
                    }));
                }
                Entry::Unlisted(why) => each(Found::Unlisted(path(), why))?,
                Entry::Directory(inside) => match reading.take(&inside) {
                    Listed::Items(items) => {
                        each(Found::Directory(name(&inside.path)))?;
                        self.inside.push((inside, items.into_iter()));
                    }
                    Listed::Lake => {}
                    Listed::Failed(why) => each(Found::Unlisted(inside.path.clone(), why))?,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lister::Disk;
    use super::super::log_tree::Days;
    use super::*;
    use crate::source::{Period, SOURCES};
    use proptest::prelude::*;
    use std::ffi::{OsStr, OsString};
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{self, AtomicUsize};

    /// Names of the files, of the directories, and of what is not listed.
    type Names = (Vec<String>, Vec<String>, Vec<(String, String)>);

    fn found(paths: &[InputPath], ours: &[PathBuf], threads: usize) -> Names {
        let mut names = Names::default();
        let scope = Scope {
            ours,
            days: Days::of(Period::default()),
            sources: SOURCES,
            threads,
        };
        walk(&Disk, paths, &scope, &mut |found| {
            match found {
                Found::File(file) => {
                    let at = file.odd.unwrap_or_else(|| file.name.clone().into());
                    assert_eq!(*name(&at), *file.name);
                    assert!(at.is_file());
                    names.0.push(file.name);
                }
                Found::Directory(name) => names.1.push(name.to_string()),
                Found::Unlisted(path, why) => names.2.push((path.display().to_string(), why)),
            }
            Ok(())
        })
        .unwrap();
        names
    }

    fn given(path: impl Into<PathBuf>) -> InputPath {
        path.into().into()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]
        #[test]
        fn what_is_found_is_what_a_plain_walk_finds_sorted_by_path(
            files in prop::collection::vec(prop::collection::vec(prop::sample::select(vec!["a", "a-", "a.b", "a0", "2026", "9"]), 1..6), 1..40),
            roots in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
            threads in 1usize..5,
        ) {
            let directory = tempfile::tempdir().unwrap();
            for file in &files {
                let path = directory.path().join(file.join("/"));
                // What is a file or a directory already stays one.
                if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                    std::fs::write(&path, "").unwrap();
                }
            }
            let all: Vec<PathBuf> = walkdir::WalkDir::new(directory.path())
                .into_iter()
                .map(|entry| entry.unwrap().into_path())
                .collect();
            let roots: Vec<&PathBuf> = roots.iter().map(|at| at.get(&all)).collect();
            let below = |is: fn(&Path) -> bool| {
                let wanted = all.iter().filter(|path| is(path) && roots.iter().any(|root| path.starts_with(root)));
                let mut names: Vec<String> = wanted.map(|path| path.to_str().unwrap().to_string()).collect();
                names.sort();
                names
            };
            let paths: Vec<InputPath> = roots.iter().map(|root| given(*root)).collect();
            let (files, mut directories, unlisted) = found(&paths, &[], threads);
            prop_assert_eq!(files, below(Path::is_file));
            directories.sort();
            directories.dedup();
            prop_assert_eq!(directories, below(Path::is_dir));
            prop_assert!(unlisted.is_empty());
        }
    }

    #[test]
    fn links_to_what_a_directory_lies_in_are_not_followed_also_above_the_given_path() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("logs/day")).unwrap();
        std::fs::create_dir_all(at("else/where")).unwrap();
        for name in ["logs/day/log", "else/where/log", "beside"] {
            std::fs::write(at(name), name).unwrap();
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        link("..", "logs/up.d");
        link("../..", "logs/day/up");
        link("/", "logs/top");
        // Its target lies in a directory that its own path does not name.
        link("../else/where", "logs/far");
        link("..", "else/where/up");
        let (files, _, unlisted) = found(&[given(at("logs"))], &[], 2);
        let below = |name: &str| at(name).display().to_string();
        assert_eq!(files, ["logs/day/log", "logs/far/log"].map(below));
        let mut unlisted: Vec<String> = unlisted.into_iter().map(|(path, _)| path).collect();
        unlisted.sort();
        let links = ["logs/day/up", "logs/far/up", "logs/top", "logs/up.d"];
        assert_eq!(unlisted, links.map(below));
    }

    #[test]
    fn links_are_followed_once_and_lakes_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["a/b", "lake/_iolode/manifest", "ours", "other"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["a/b/log", "lake/log", "ours/log", "other/log", "a-log"] {
            std::fs::write(at(name), name).unwrap();
        }
        let odd = directory.path().join(OsStr::from_bytes(b"a/\xff"));
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("log"), "x").unwrap();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        link("../..", "a/b/back");
        link("nowhere", "a/broken");
        link("../other", "a/link");
        link("../a-log", "a/log");
        // With a slash at its end, as a shell completes it.
        let root = format!("{}/", directory.path().display());
        let (files, directories, mut unlisted) =
            found(&[given(&root), given(at("gone"))], &[at("ours")], 2);
        let below = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| format!("{root}{name}")).collect()
        };
        assert_eq!(
            files,
            below(&[
                "a-log",
                "a/\\xff/log",
                "a/b/log",
                "a/link/log",
                "a/log",
                "other/log"
            ])
        );
        assert_eq!(
            directories,
            below(&["", "a", "a/\\xff", "a/b", "a/link", "other"])
        );
        unlisted.sort();
        let why = |name: &str, why: &str| (format!("{root}{name}"), why.to_string());
        let missing = "cannot read: no such file or directory";
        let back = format!("a link that leads back to {}", directory.path().display());
        assert_eq!(unlisted[0].0, format!("{root}a/b/back"));
        assert_eq!(unlisted[0].1.trim_end_matches('/'), back);
        assert_eq!(
            unlisted[1..],
            [why("a/broken", missing), why("gone", missing)]
        );
    }

    #[test]
    fn what_is_given_as_two_kinds_may_be_either() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("b")).unwrap();
        for name in ["a", "b/c"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let kind = |path: &str, kind: &str| InputPath {
            path: directory.path().join(path),
            kind: Some(kind.into()),
        };
        let paths = [kind("", "slurm"), kind("b", "lmt"), kind("a", "slurm")];
        let scope = Scope {
            ours: &[],
            days: Days::of(Period::default()),
            sources: SOURCES,
            threads: 2,
        };
        let mut kinds = vec![];
        walk(&Disk, &paths, &scope, &mut |found| {
            if let Found::File(file) = found {
                kinds.push(file.kind.map(|kind| kind.to_string()));
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(kinds, [Some("slurm".to_string()), None]);
    }

    /// A directory for each of so many days, `/logs/2017/1/1` and so on, with so many logs in each that nobody has written.
    struct Tree {
        days: usize,
        logs: usize,
        read: AtomicUsize,
    }

    impl Lister for Tree {
        fn read(
            &self,
            directory: &Path,
            each: &mut dyn FnMut(OsString, io::Result<Kind>),
        ) -> io::Result<()> {
            self.read.fetch_add(1, atomic::Ordering::Relaxed);
            // As if each month had 28 days.
            let (depth, count) = match directory.iter().count() {
                2 => (2017, self.days.div_ceil(336)),
                3 => (1, self.days.div_ceil(28).min(12)),
                4 => (1, self.days.min(28)),
                _ => (0, self.logs),
            };
            for number in (depth..depth + count).rev() {
                let file = Kind::File {
                    bytes: 1,
                    modified: 5,
                };
                match depth {
                    0 => each(format!("{number}.darshan").into(), Ok(file)),
                    _ => each(number.to_string().into(), Ok(Kind::Directory)),
                }
            }
            Ok(())
        }

        fn look(&self, _: &Path) -> io::Result<Kind> {
            Ok(Kind::Directory)
        }
    }

    /// Walks whole years; what is found must ascend, and nothing of it is held.
    fn of_years(years: usize, logs: usize, period: Period) -> (usize, usize) {
        let tree = Tree {
            days: years * 336,
            logs,
            read: AtomicUsize::new(0),
        };
        let scope = Scope {
            ours: &[],
            days: Days::of(period),
            sources: SOURCES,
            threads: 3,
        };
        let (mut files, mut last) = (0, String::new());
        let logs = InputPath {
            path: "/logs".into(),
            kind: Some("darshan".into()),
        };
        walk(&tree, &[logs], &scope, &mut |found| {
            if let Found::File(file) = found {
                assert!(last < file.name, "{last} {}", file.name);
                last = file.name;
                files += 1;
            }
            Ok(())
        })
        .unwrap();
        (files, tree.read.into_inner())
    }

    #[test]
    fn directories_of_days_outside_the_period_are_not_read() {
        const DAY: i64 = 86_400_000_000;
        // The second of January 2017: `date -d 2017-01-02 +%s` / 86400.
        let day = Period {
            from: Some(17_168 * DAY),
            to: Some(17_169 * DAY),
        };
        assert_eq!(
            of_years(2, 3, Period::default()),
            (672 * 3, 1 + 2 + 24 + 672)
        );
        assert_eq!(of_years(2, 3, day), (3 * 3, 1 + 2 + 24 + 3));
    }
}
