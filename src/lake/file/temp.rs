//! Temporary files: rows that wait for their file, dumps that are unpacked.
//!
//! They have no name, so nothing is left of them by whoever is killed. On a node without a disk /tmp is memory, of which an ingest is
//! to take no more than it was given: there they lie in the lake.

use crate::error::{Error, Result};
use crate::lake::version::store::Store;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where they lie in a lake.
const OWN: &str = "_iolode/tmp";

/// The directory of temporary files: the one that was asked for, else that of the system, unless its files are memory.
pub(in crate::lake) fn directory(asked: Option<&Path>, store: &Store) -> PathBuf {
    let system = std::env::temp_dir();
    match (asked, store.local(OWN)) {
        (Some(asked), _) => asked.to_path_buf(),
        (None, Some(own)) if is_memory(&system) => own,
        (None, _) => system,
    }
}

/// The directory that [`directory`] chose; the system's where nobody has asked it.
pub(in crate::lake) fn or_systems(chosen: Option<&Path>) -> PathBuf {
    chosen.map_or_else(std::env::temp_dir, Path::to_path_buf)
}

/// The same directory for readers, which know no lake: the one in a lake is made if it is not there.
pub(in crate::lake) fn for_readers(directory: PathBuf) -> PathBuf {
    if directory.ends_with(OWN) {
        // Whoever makes a file there says why that cannot be.
        _ = std::fs::create_dir_all(&directory);
    }
    directory
}

/// A temporary file without a name. The directory in a lake is made if it is not there, another must be.
///
/// # Errors
/// [`Error::Io`].
pub(in crate::lake) fn file(directory: &Path) -> Result<File> {
    let made = match tempfile::tempfile_in(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound && directory.ends_with(OWN) => {
            std::fs::create_dir_all(directory).and_then(|()| tempfile::tempfile_in(directory))
        }
        made => made,
    };
    made.map_err(|e| Error::io(directory, "cannot make a temporary file", e))
}

/// Whether the files of a directory lie in memory.
fn is_memory(directory: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    // The width and the sign of the number are the machine's.
    let kind = rustix::fs::statfs(directory).map(|of| of.f_type as u64 & 0xffff_ffff);
    kind.is_ok_and(|kind| kind == TMPFS || kind == RAMFS)
}

/// A temporary file that the writers of a task share, however many tables they write. It is there as long as something is in it.
#[derive(Debug)]
pub(in crate::lake) struct Spill {
    directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<Arc<File>>,
    end: u64,
    /// Length of each piece before the end that nobody needs any more, by where it begins. No two of them are neighbours.
    free: BTreeMap<u64, u64>,
}

/// Bytes in a spill; they go when this does.
#[derive(Debug)]
pub(in crate::lake) struct Piece {
    spill: Arc<Spill>,
    file: Arc<File>,
    at: u64,
    length: u64,
}

impl Spill {
    /// Nothing yet, in this directory.
    pub(in crate::lake) fn new(directory: &Path) -> Arc<Self> {
        Arc::new(Self {
            directory: directory.to_path_buf(),
            state: Mutex::default(),
        })
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn put(self: &Arc<Self>, bytes: &[u8]) -> Result<Piece> {
        let piece = self.reserve(bytes.len() as u64)?;
        let written = piece.file.write_all_at(bytes, piece.at);
        written.map_err(|e| self.failed("cannot write a temporary file", e))?;
        Ok(piece)
    }

    fn reserve(self: &Arc<Self>, length: u64) -> Result<Piece> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &state.file {
            Some(file) => file.clone(),
            None => state.file.insert(Arc::new(file(&self.directory)?)).clone(),
        };
        let at = state.take(length);
        Ok(Piece {
            spill: self.clone(),
            file,
            at,
            length,
        })
    }

    fn failed(&self, what: &'static str, e: std::io::Error) -> Error {
        Error::io(&self.directory, what, e)
    }
}

impl State {
    /// Where so many bytes have room.
    fn take(&mut self, length: u64) -> u64 {
        let large = self.free.iter().find(|(_, free)| **free >= length);
        let Some((at, free)) = large.map(|(at, free)| (*at, *free)) else {
            let at = self.end;
            self.end += length;
            return at;
        };
        self.free.remove(&at);
        if free > length {
            self.free.insert(at + length, free - length);
        }
        at
    }

    fn give_back(&mut self, mut at: u64, mut length: u64) {
        if length == 0 {
            return;
        }
        if let Some(after) = self.free.remove(&(at + length)) {
            length += after;
        }
        if let Some((before, free)) = self.free.range(..at).next_back().map(|(b, f)| (*b, *f))
            && before + free == at
        {
            (at, length) = (before, free + length);
        }
        if at + length < self.end {
            self.free.insert(at, length);
            return;
        }
        self.free.remove(&at);
        self.end = at;
        match &self.file {
            // What is not given back now is given back with the whole file.
            Some(file) if at > 0 => _ = file.set_len(at),
            _ => self.file = None,
        }
    }
}

impl Piece {
    /// Reads `length` of its bytes from `from` on.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn read(&self, from: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut bytes, self.at + from);
        read.map_err(|e| self.spill.failed("cannot read a temporary file", e))?;
        Ok(bytes)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut state = self
            .spill
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.give_back(self.at, self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spill() -> Arc<Spill> {
        Spill::new(&std::env::temp_dir())
    }

    #[test]
    fn room_is_used_again_and_a_file_with_nothing_in_it_is_closed() {
        let spill = spill();
        let end = || spill.state.lock().unwrap().end;
        let file = || spill.state.lock().unwrap().file.clone();
        let [a, b, c] = [10, 20, 30].map(|n| spill.put(&vec![7; n]).unwrap());
        assert_eq!((a.at, b.at, c.at, end()), (0, 10, 30, 60));
        drop(a);
        drop(b);
        // 30 bytes are free at the begin.
        let [d, e] = [25, 6].map(|n| spill.put(&vec![8; n]).unwrap());
        assert_eq!((d.at, e.at, end()), (0, 60, 66));
        drop(c);
        drop(e);
        assert_eq!(end(), 25);
        let open = file().unwrap();
        assert_eq!(open.metadata().unwrap().len(), 25);
        drop(d);
        assert!(file().is_none());
        // Nobody has it open but this test.
        assert_eq!(Arc::strong_count(&open), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(5), ..ProptestConfig::default() })]

        #[test]
        fn pieces_keep_their_bytes_whatever_comes_and_goes(steps in prop::collection::vec((1usize..300, 0usize..6, any::<bool>()), 1..60)) {
            let spill = spill();
            let mut held: Vec<(Piece, Vec<u8>)> = vec![];
            for (n, (length, which, goes)) in steps.into_iter().enumerate() {
                if goes && which < held.len() {
                    held.swap_remove(which);
                } else {
                    let bytes = vec![n as u8; length];
                    held.push((spill.put(&bytes).unwrap(), bytes));
                }
                for (piece, bytes) in &held {
                    prop_assert_eq!(&piece.read(0, bytes.len() as u64).unwrap(), bytes);
                }
            }
            held.clear();
            let state = spill.state.lock().unwrap();
            prop_assert!(state.end == 0 && state.free.is_empty() && state.file.is_none());
        }
    }

    #[test]
    fn the_directory_asked_for_wins_and_memory_gives_way_to_the_lake() {
        let lake = tempfile::tempdir().unwrap();
        let store = Store::directory(lake.path());
        let asked = Path::new("/scratch/tmp");
        assert_eq!(directory(Some(asked), &store), asked);
        let found = directory(None, &store);
        match is_memory(&std::env::temp_dir()) {
            true => assert_eq!(found, lake.path().join(OWN)),
            false => assert_eq!(found, std::env::temp_dir()),
        }
        assert_eq!(
            directory(None, &Store::Memory(Arc::default())),
            std::env::temp_dir()
        );
        // Linux mounts a tmpfs there.
        let memory = Path::new("/dev/shm");
        assert!(!memory.is_dir() || is_memory(memory));
        assert!(!is_memory(Path::new("/proc")) && !is_memory(Path::new("/none")));
    }

    #[test]
    fn the_directory_in_a_lake_is_made_and_another_is_not() {
        let lake = tempfile::tempdir().unwrap();
        let own = lake.path().join(OWN);
        file(&own).unwrap().write_all_at(b"rows", 0).unwrap();
        assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
        let error = file(&lake.path().join("none")).unwrap_err().to_string();
        assert!(
            error.contains("none: cannot make a temporary file"),
            "{error}"
        );
    }
}
