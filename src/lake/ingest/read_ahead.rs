//! Directories that several threads read before they are asked for.
//!
//! The directory that comes first by name is read first, until [`READ_AHEAD`] entries wait for whoever goes through them. Who asks
//! for one that nobody has begun reads it itself, so that it waits for nobody who waits for it.

use super::lister::{Kind, Lister, name, why};
use super::log_tree::{Days, TreePosition};
use crate::source::Source;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Entries that are read before they are asked for: a few MiB.
const READ_AHEAD: usize = 1 << 16;

/// What of the file system is looked at, and by how many threads.
pub(in crate::lake) struct Scope<'a> {
    /// Directories in which this lake puts files.
    pub(in crate::lake) ours: &'a [PathBuf],
    /// Days of which directories are read where a source's logs are filed by day.
    pub(in crate::lake) days: Days,
    /// Kinds of log.
    pub(in crate::lake) sources: &'a [&'a dyn Source],
    /// Threads that read directories, the caller's among them.
    pub(in crate::lake) threads: usize,
}

/// A directory that is to be read.
pub(in crate::lake) struct Directory {
    pub(in crate::lake) path: PathBuf,
    /// Begins the names of its entries.
    pub(in crate::lake) prefix: Arc<str>,
    /// Place of the given path that it lies below.
    pub(in crate::lake) root: usize,
    /// What the names of the directories say; None where those of other days are not left out.
    pub(in crate::lake) place: Option<TreePosition>,
}

impl Directory {
    fn key(&self) -> (Arc<str>, usize) {
        (self.prefix.clone(), self.root)
    }

    /// Whether a directory in it is one of those that it lies in, or itself, also above the path that was given.
    fn leads_back(&self, path: &Path) -> Option<PathBuf> {
        let id = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
        let here = id(path)?;
        // What was reached by a link lies in other directories than its path says.
        let real = self.path.canonicalize().unwrap_or_default();
        let mut above = self.path.ancestors().chain(real.ancestors());
        let found = above.find(|above| id(above) == Some(here))?;
        Some(found.to_path_buf())
    }
}

/// An entry of a directory.
pub(in crate::lake) struct Item {
    /// Its name there; that of a directory ends in a slash, which gives its entries their place in the order of whole paths.
    pub(in crate::lake) name: Box<str>,
    /// Its name where that is no UTF-8.
    pub(in crate::lake) odd: Option<OsString>,
    pub(in crate::lake) what: Entry,
}

pub(in crate::lake) enum Entry {
    File { bytes: u64, modified: i64 },
    Directory(Arc<Directory>),
    Unlisted(String),
}

/// What reading a directory gave.
pub(in crate::lake) enum Listed {
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

/// Directories that are read and that are to be.
pub(in crate::lake) struct Reading<'a> {
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
            if let Entry::Directory(directory) = &item.what {
                self.waiting.insert(directory.key(), directory.clone());
            }
        }
    }
}

/// Ends the threads that read ahead when the caller is done, or has failed.
pub(in crate::lake) struct End<'r, 'a>(pub(in crate::lake) &'r Reading<'a>);

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.0.state().done = true;
        self.0.changed.notify_all();
    }
}

impl<'a> Reading<'a> {
    pub(in crate::lake) fn new(lister: &'a dyn Lister, scope: &'a Scope<'a>) -> Self {
        Self {
            lister,
            scope,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// What is at a path, links followed.
    pub(in crate::lake) fn look(&self, path: &Path) -> io::Result<Kind> {
        self.lister.look(path)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn sleep<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(|e| e.into_inner())
    }

    /// Whether the logs of this kind lie in directories by day.
    pub(in crate::lake) fn is_filed_by_day(&self, kind: &str) -> bool {
        let mut sources = self.scope.sources.iter();
        sources.any(|source| source.name() == kind && source.is_filed_by_day())
    }

    /// Reads directories until all is done, always the one that comes first by name.
    pub(in crate::lake) fn read_ahead(&self) {
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
    pub(in crate::lake) fn take(&self, directory: &Directory) -> Listed {
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
            Ok(Kind::File { bytes, modified }) => Entry::File { bytes, modified },
            Ok(Kind::Directory) => {
                let place = directory.place.map(|place| place.below(&own));
                if place.is_some_and(|place| !self.scope.days.contains(place)) {
                    return None;
                }
                let path = path();
                own.push('/');
                Entry::Directory(Arc::new(Directory {
                    path,
                    prefix: format!("{}{own}", directory.prefix).into(),
                    root: directory.root,
                    place,
                }))
            }
            Ok(_) => return None,
            Err(why) => Entry::Unlisted(why),
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
