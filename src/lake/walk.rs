//! What lies below some paths: the files in the order of their names, while other threads read directories ahead.
//!
//! ```text
//!  threads: the directory that comes first and that nobody reads yet --> its entries, sorted --> up to READ_AHEAD of them wait
//!  caller:  the next file of the directories that it is in           <-- reads a directory itself that nobody has begun
//! ```
//!
//! A file's name is its whole path, so that the files can be merged with lists that are sorted by path.

use super::ingest::InputPath;
use super::list::{is_address, name};
use super::log_tree::{Days, Place};
use super::micros;
use crate::error::{Error, Result};
use crate::source::without_password;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Entries that are read before they are asked for: a few MiB.
const READ_AHEAD: usize = 1 << 16;

/// What of the file system is looked at, and by how many threads.
pub(super) struct Scope<'a> {
    /// Directories in which this lake puts files.
    pub(super) ours: &'a [PathBuf],
    /// Days of which Darshan's own directories are read.
    pub(super) days: Days,
    /// Threads that read directories, the caller's among them.
    pub(super) threads: usize,
}

/// What is found at a path.
pub(super) enum Found {
    /// A regular file, or the address of a server.
    File(File),
    /// A directory, by name.
    Directory(Arc<str>),
    /// What cannot be listed, and why.
    Unlisted(PathBuf, String),
}

/// A file that may be a log.
#[derive(Debug)]
pub(super) struct File {
    /// Its path as [`name`] writes it.
    pub(super) name: String,
    /// Where to find it, if its name does not say.
    pub(super) odd: Option<PathBuf>,
    /// Kind of input that it was given as.
    pub(super) kind: Option<Arc<str>>,
    pub(super) bytes: u64,
    /// Microseconds since 1970.
    pub(super) modified: i64,
}

/// What reads directories.
pub(super) trait Lister: Sync {
    /// Tells `each` the entries of a directory, in any order; links are not followed.
    fn read(
        &self,
        directory: &Path,
        each: &mut dyn FnMut(OsString, io::Result<Kind>),
    ) -> io::Result<()>;

    /// What is at a path, links followed.
    fn look(&self, path: &Path) -> io::Result<Kind>;
}

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File { bytes: u64, modified: i64 },
    Directory,
    Link,
    Other,
}

/// The file system.
pub(super) struct Disk;

impl Lister for Disk {
    fn read(
        &self,
        directory: &Path,
        each: &mut dyn FnMut(OsString, io::Result<Kind>),
    ) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type().and_then(|kind| match () {
                () if kind.is_dir() => Ok(Kind::Directory),
                () if kind.is_symlink() => Ok(Kind::Link),
                // Relative to the open directory, which costs less than a look at the whole path.
                () if kind.is_file() => entry.metadata().map(|metadata| file(&metadata)),
                () => Ok(Kind::Other),
            });
            each(entry.file_name(), kind);
        }
        Ok(())
    }

    fn look(&self, path: &Path) -> io::Result<Kind> {
        let metadata = std::fs::metadata(path)?;
        Ok(match () {
            () if metadata.is_dir() => Kind::Directory,
            () if metadata.is_file() => file(&metadata),
            () => Kind::Other,
        })
    }
}

fn file(metadata: &Metadata) -> Kind {
    Kind::File {
        bytes: metadata.len(),
        modified: metadata.modified().map(micros).unwrap_or(0),
    }
}

/// Tells `each` what lies below the paths: each file once and by name, directories when they are entered, and nothing of lakes and
/// of other days.
///
/// # Errors
/// What `each` returns, and [`Error::Io`] for a path that can be no path.
pub(super) fn walk(
    lister: &dyn Lister,
    paths: &[InputPath],
    scope: &Scope<'_>,
    each: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    let reading = Reading {
        lister,
        scope,
        state: Mutex::default(),
        changed: Condvar::new(),
    };
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
    let mut walks: Vec<(Walk, File)> = vec![];
    for (number, path) in paths.iter().enumerate() {
        let mut walk = Walk::new(reading, number, path)?;
        if let Some(first) = walk.next(reading, each)? {
            walks.push((walk, first));
        }
    }
    let mut last: Option<File> = None;
    while let Some(least) = (0..walks.len()).min_by(|a, b| walks[*a].1.name.cmp(&walks[*b].1.name))
    {
        let (walk, head) = &mut walks[least];
        let file = match walk.next(reading, each)? {
            Some(next) => std::mem::replace(head, next),
            None => walks.swap_remove(least).1,
        };
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

/// A directory that is to be read.
struct Directory {
    path: PathBuf,
    /// Begins the names of its entries.
    prefix: Arc<str>,
    /// Place of the given path that it lies below.
    root: usize,
    /// How many directories it lies in, from the given path on.
    depth: usize,
    /// What the names of the directories say; None where those of other days are not left out.
    place: Option<Place>,
}

impl Directory {
    fn key(&self) -> (Arc<str>, usize) {
        (self.prefix.clone(), self.root)
    }

    /// Whether a directory in it is one of those that it lies in, or itself.
    fn leads_back(&self, path: &Path) -> Option<PathBuf> {
        let id = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
        let here = id(path)?;
        let mut above = self.path.ancestors().take(self.depth + 1);
        let found = above.find(|above| id(above) == Some(here))?;
        Some(found.to_path_buf())
    }
}

/// An entry of a directory.
struct Item {
    /// Its name there; that of a directory ends in a slash, which gives its entries their place in the order of whole paths.
    name: Box<str>,
    /// Its name where that is no UTF-8.
    odd: Option<OsString>,
    what: What,
}

enum What {
    File { bytes: u64, modified: i64 },
    Directory(Arc<Directory>),
    Unlisted(String),
}

/// What reading a directory gave.
enum Listed {
    Items(Vec<Item>),
    /// It is a lake, or a directory into which this one puts files.
    Lake,
    Failed(String),
}

impl Listed {
    fn items(&self) -> &[Item] {
        match self {
            Self::Items(items) => items,
            _ => &[],
        }
    }

    /// What it adds to the entries that are held; one more, so that empty directories count too.
    fn weight(&self) -> usize {
        self.items().len() + 1
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
                What::File {
                    bytes: 0,
                    modified: 0,
                },
            );
            return Ok(item(path, &name, none));
        }
        let path = std::path::absolute(path).map_err(|e| Error::io(path, "cannot use", e))?;
        let own = name(&path);
        let what = match reading.lister.look(&path) {
            Ok(Kind::File { bytes, modified }) => What::File { bytes, modified },
            Ok(Kind::Directory) => {
                let prefix = format!("{}/", own.trim_end_matches('/'));
                // What a dump in a directory of a day says may be of any day.
                let by_day = kind.as_deref() == Some("darshan");
                What::Directory(Arc::new(Directory {
                    place: by_day.then(|| Place::of(&path)),
                    path: path.clone(),
                    prefix: prefix.into(),
                    root,
                    depth: 0,
                }))
            }
            Ok(_) => {
                return Ok(Self {
                    first: None,
                    ..item(
                        &path,
                        &own,
                        What::File {
                            bytes: 0,
                            modified: 0,
                        },
                    )
                });
            }
            Err(e) => What::Unlisted(why(&e)),
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
                What::File { bytes, modified } => {
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
                What::Unlisted(why) => each(Found::Unlisted(path(), why))?,
                What::Directory(inside) => match reading.take(&inside) {
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

/// Directories that are read and that are to be.
struct Reading<'a> {
    lister: &'a dyn Lister,
    scope: &'a Scope<'a>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that nobody has begun to read, by name.
    waiting: BTreeMap<(Arc<str>, usize), Arc<Directory>>,
    /// Those that are being read, or were read and nobody has asked for yet.
    begun: HashMap<(Arc<str>, usize), Option<Listed>>,
    /// Entries of those that were read.
    held: usize,
    done: bool,
}

impl State {
    /// Has the directories in one read ahead.
    fn wait_for(&mut self, listed: &Listed) {
        for item in listed.items() {
            if let What::Directory(directory) = &item.what {
                self.waiting.insert(directory.key(), directory.clone());
            }
        }
    }
}

/// Ends the threads that read ahead when the caller is done, or has failed.
struct End<'a>(&'a Reading<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state().done = true;
        self.0.changed.notify_all();
    }
}

impl Reading<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn sleep<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(|e| e.into_inner())
    }

    /// Reads directories until all is done, always the one that comes first by name.
    fn read_ahead(&self) {
        let mut state = self.state();
        while !state.done {
            let next = match state.held < READ_AHEAD {
                true => state.waiting.pop_first(),
                false => None,
            };
            let Some((key, directory)) = next else {
                state = self.sleep(state);
                continue;
            };
            state.begun.insert(key.clone(), None);
            drop(state);
            let listed = self.read(&directory);
            state = self.state();
            state.wait_for(&listed);
            state.held += listed.weight();
            state.begun.insert(key, Some(listed));
            self.changed.notify_all();
        }
    }

    /// What lies in a directory, which is read now if nobody has begun to: so the caller waits for nobody who waits for it.
    fn take(&self, directory: &Directory) -> Listed {
        let key = directory.key();
        let mut state = self.state();
        while let Some(begun) = state.begun.remove(&key) {
            if let Some(listed) = begun {
                state.held = state.held.saturating_sub(listed.weight());
                self.changed.notify_all();
                return listed;
            }
            state.begun.insert(key.clone(), None);
            state = self.sleep(state);
        }
        state.waiting.remove(&key);
        drop(state);
        let listed = self.read(directory);
        self.state().wait_for(&listed);
        self.changed.notify_all();
        listed
    }

    fn read(&self, directory: &Directory) -> Listed {
        let path = &directory.path;
        if self.scope.ours.iter().any(|ours| ours == path) {
            return Listed::Lake;
        }
        let (mut items, mut is_lake) = (vec![], false);
        let read = self.lister.read(path, &mut |file, kind| {
            is_lake |= file == "_iolode" && path.join("_iolode/manifest").is_dir();
            items.extend(self.item(directory, file, kind));
        });
        match read {
            Err(e) => Listed::Failed(why(&e)),
            Ok(()) if is_lake => Listed::Lake,
            Ok(()) => {
                items.sort_unstable_by(|a: &Item, b| a.name.cmp(&b.name));
                Listed::Items(items)
            }
        }
    }

    /// An entry of a directory; None for one that is not looked at.
    fn item(&self, directory: &Directory, file: OsString, kind: io::Result<Kind>) -> Option<Item> {
        let odd = file.to_str().is_none().then(|| file.clone());
        let mut own = match file.into_string() {
            Ok(name) => name,
            Err(file) => name(Path::new(&file)).to_string(),
        };
        let path = || match &odd {
            Some(odd) => directory.path.join(odd),
            None => directory.path.join(&own),
        };
        let kind = match kind {
            Ok(Kind::Link) => self.follow(directory, &path()),
            kind => kind.map_err(|e| why(&e)),
        };
        let what = match kind {
            Ok(Kind::File { bytes, modified }) => What::File { bytes, modified },
            Ok(Kind::Directory) => {
                let place = directory.place.map(|place| place.below(&own));
                if place.is_some_and(|place| !self.scope.days.contains(place)) {
                    return None;
                }
                let path = path();
                own.push('/');
                What::Directory(Arc::new(Directory {
                    path,
                    prefix: format!("{}{own}", directory.prefix).into(),
                    root: directory.root,
                    depth: directory.depth + 1,
                    place,
                }))
            }
            Ok(_) => return None,
            Err(why) => What::Unlisted(why),
        };
        let name = own.into();
        Some(Item { name, odd, what })
    }

    /// What a link leads to.
    fn follow(&self, directory: &Directory, path: &Path) -> std::result::Result<Kind, String> {
        let kind = self.lister.look(path).map_err(|e| why(&e))?;
        let above = (kind == Kind::Directory).then(|| directory.leads_back(path));
        match above.flatten() {
            Some(above) => Err(format!("a link that leads back to {}", above.display())),
            None => Ok(kind),
        }
    }
}

/// An error's words without the path, which stands beside them.
fn why(error: &io::Error) -> String {
    let error = match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    };
    let text = Error::io("", "cannot read", error).to_string();
    text.trim_start_matches(": ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Period;
    use proptest::prelude::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Names of the files, of the directories, and of what is not listed.
    type Names = (Vec<String>, Vec<String>, Vec<(String, String)>);

    fn found(paths: &[InputPath], ours: &[PathBuf], threads: usize) -> Names {
        let mut names = Names::default();
        let scope = Scope {
            ours,
            days: Days::of(Period::default()),
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
            self.read.fetch_add(1, Ordering::Relaxed);
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

    /// `cargo test --release --lib -- --ignored ten_million_paths`
    #[test]
    #[ignore = "takes a minute unoptimised"]
    fn ten_million_paths_come_by_name_and_few_are_held() {
        let peak = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            kib.unwrap() / 1024
        };
        assert_eq!(of_years(10, 2977, Period::default()).0, 10_002_720);
        assert!(peak() < 600, "{} MiB", peak());
    }
}
