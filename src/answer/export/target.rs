//! The directory that an export makes: made under another name beside it, and there at once when it is complete.

use crate::error::{Error, Result};
use crate::table::table;
use crate::text::shown_path;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What every export has in its directory: what it was made of.
pub(super) const MARK: &str = "export.json";

/// What stands beside the tables in an export.
const FILES: [&str; 6] = [
    "_iolode",
    "README.txt",
    "policy.toml",
    MARK,
    "logs",
    "logs.csv",
];

/// Held by whoever writes an export. A directory with nothing else in it is an empty one to a new lake.
const LOCK: &str = "_iolode/export-lock";

/// A directory that is being made. What was written is deleted unless it was finished.
pub(super) struct Target {
    to: PathBuf,
    unfinished: PathBuf,
    lock: File,
    force: bool,
}

impl Target {
    /// Begins an export.
    ///
    /// # Errors
    /// [`Error::Invalid`] if something is at `to` already and `force` is not given, or it is no export; if it lies in a lake; [`Error::Io`].
    pub(super) fn begin(to: &Path, force: bool) -> Result<Self> {
        let mut to = std::path::absolute(to).map_err(|e| Error::io(to, "cannot make", e))?;
        if force && let Ok(real) = fs::canonicalize(&to) {
            // An export behind a link is replaced where it lies.
            to = real;
        }
        let (Some(name), Some(parent)) = (to.file_name(), to.parent()) else {
            return Err(refuse(&to, "it is no name of a directory"));
        };
        if let Some(lake) = parent
            .ancestors()
            .find(|above| above.join("_iolode/manifest").is_dir())
        {
            let why = format!(
                "it lies in the lake {}; give a directory outside",
                shown_path(lake)
            );
            return Err(refuse(&to, &why));
        }
        if fs::symlink_metadata(&to).is_ok() {
            if !force {
                return Err(refuse(
                    &to,
                    "it is there already; give another directory, or --force to replace an export",
                ));
            }
            if !to.join(MARK).is_file() {
                return Err(refuse(
                    &to,
                    "--force replaces exports only, and this is none (it has no export.json)",
                ));
            }
            if let Some(other) = other_file(&to)? {
                let why = format!("--force would delete {other}, which no export has made");
                return Err(refuse(&to, &why));
            }
        }
        fs::create_dir_all(parent).map_err(|e| Error::io(parent, "cannot make", e))?;
        let prefix = prefix(name);
        sweep(parent, &prefix);
        let (process, random) = (std::process::id(), uuid::Uuid::new_v4());
        let unfinished = parent.join(format!("{prefix}{process}-{random}"));
        let failed = |e| Error::io(&unfinished, "cannot write", e);
        fs::create_dir_all(unfinished.join(LOCK).with_file_name("")).map_err(failed)?;
        // The lock has its name once it is held. Where files cannot be locked nothing is swept either.
        let lock = unfinished.join(LOCK);
        let before = lock.with_extension("new");
        let file = File::create(&before).map_err(failed)?;
        _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        fs::rename(&before, &lock).map_err(failed)?;
        Ok(Self {
            to,
            unfinished,
            lock: file,
            force,
        })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.unfinished
    }

    /// Writes a file of text, in a directory that is made if it is not there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        self.copy(name, text.as_bytes())
    }

    /// Writes a file of these bytes, in the same way.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn copy(&self, name: &str, mut bytes: impl Read) -> Result<()> {
        let path = self.unfinished.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made
            .and_then(|()| File::create(&path))
            .and_then(|mut file| {
                std::io::copy(&mut bytes, &mut file)?;
                file.sync_all()
            });
        written.map_err(|e| Error::io(path, "cannot write", e))
    }

    /// Sets the time of a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn set_modified(&self, name: &str, time: SystemTime) -> Result<()> {
        let path = self.unfinished.join(name);
        let set = File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(time));
        set.map_err(|e| Error::io(path, "cannot set the time of", e))
    }

    /// Gives it its name. An export that was there before is deleted afterwards.
    ///
    /// # Errors
    /// [`Error::Invalid`] if something is there by now; [`Error::Io`].
    pub(super) fn finish(self) -> Result<()> {
        let failed = |e: std::io::Error| Error::io(&self.to, "cannot make", e);
        let lock = self.unfinished.join(LOCK);
        fs::remove_file(&lock).map_err(failed)?;
        if let Some(directory) = lock.parent() {
            // It stays if a lake is there.
            _ = fs::remove_dir(directory);
        }
        sync(&self.unfinished).map_err(failed)?;
        let is_there = self.force && self.to.join(MARK).is_file();
        let flags = match is_there {
            true => RenameFlags::EXCHANGE,
            false => RenameFlags::NOREPLACE,
        };
        let renamed = renameat_with(CWD, &self.unfinished, CWD, &self.to, flags);
        match renamed.map_err(std::io::Error::from) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(refuse(&self.to, "somebody else has made it meanwhile"));
            }
            // A file system that cannot exchange names: for a moment there is none.
            Err(_) if is_there => {
                let old = self.unfinished.with_extension("old");
                fs::rename(&self.to, &old).map_err(failed)?;
                fs::rename(&self.unfinished, &self.to).map_err(failed)?;
                _ = fs::remove_dir_all(old);
            }
            Err(_) if fs::symlink_metadata(&self.to).is_err() => {
                fs::rename(&self.unfinished, &self.to).map_err(failed)?;
            }
            Err(e) => return Err(failed(e)),
        }
        self.to.parent().map_or(Ok(()), sync).map_err(failed)
        // What has the unfinished name now, the old export or nothing, goes with this value.
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        _ = flock(&self.lock, FlockOperation::Unlock);
        _ = fs::remove_dir_all(&self.unfinished);
    }
}

/// The first entry of an export's directory that no export makes.
fn other_file(to: &Path) -> Result<Option<String>> {
    let failed = |e| Error::io(to, "cannot read", e);
    let mut names = fs::read_dir(to)
        .map_err(failed)?
        .map(|entry| Ok(entry.map_err(failed)?.file_name().display().to_string()))
        .collect::<Result<Vec<String>>>()?;
    names.sort();
    let known = |name: &String| FILES.contains(&name.as_str()) || table(name).is_ok();
    Ok(names.into_iter().find(|name| !known(name)))
}

/// The names of unfinished exports begin with it.
fn prefix(name: &OsStr) -> String {
    format!(".{}.unfinished-", name.to_string_lossy())
}

/// Deletes what this process has begun to write, although threads of it may be writing still.
pub(super) fn discard(to: &Path) {
    let to = std::path::absolute(to).unwrap_or_default();
    let (Some(name), Some(parent)) = (to.file_name(), to.parent()) else {
        return;
    };
    let own = format!("{}{}-", prefix(name), std::process::id());
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
    own.for_each(|entry| _ = fs::remove_dir_all(entry.path()));
}

/// Deletes what killed exports have left.
fn sweep(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(rest) = name.strip_prefix(prefix) else {
            continue;
        };
        let is_left = match File::open(entry.path().join(LOCK)) {
            Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
            // Killed before it had a lock.
            Err(_) => {
                let process = rest.split('-').next().unwrap_or_default();
                !process.is_empty() && !Path::new("/proc").join(process).exists()
            }
        };
        if is_left {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn sync(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

fn refuse(to: &Path, why: &str) -> Error {
    Error::Invalid(format!("export {}: {why}", shown_path(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_there_when_it_is_finished_and_never_before() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("new/out");
        let target = Target::begin(&to, false).unwrap();
        target.write(MARK, "{}").unwrap();
        assert!(!to.exists());
        target.finish().unwrap();
        assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
        let names = fs::read_dir(&to)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [MARK]);
        // Dropped is gone.
        drop(Target::begin(&dir.path().join("new/other"), false).unwrap());
        assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_there_is_replaced_by_force_if_it_is_an_export() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("out");
        let refused = |force| Target::begin(&to, force).err().unwrap().to_string();
        fs::create_dir(&to).unwrap();
        assert!(refused(false).contains("it is there already"));
        assert!(refused(true).contains("this is none"));
        fs::write(to.join(MARK), "{}").unwrap();
        fs::write(to.join("mine.txt"), "").unwrap();
        assert!(refused(true).contains("would delete mine.txt"));
        fs::remove_file(to.join("mine.txt")).unwrap();
        let target = Target::begin(&to, true).unwrap();
        target.write("README.txt", "").unwrap();
        target.write(MARK, "{}").unwrap();
        target.finish().unwrap();
        assert!(to.join("README.txt").is_file());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_export_left_is_swept_and_what_another_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("out");
        let running = Target::begin(&to, false).unwrap();
        let left = dir.path().join(".out.unfinished-abc");
        fs::create_dir_all(left.join("_iolode")).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        // One that was killed before it had a lock; no process has that number.
        let begun = dir.path().join(".out.unfinished-4194305-abc");
        fs::create_dir_all(&begun).unwrap();
        let second = Target::begin(&to, false).unwrap();
        assert!(!left.exists() && !begun.exists());
        assert!(running.path().exists() && second.path().exists());
        running.finish().unwrap();
        assert!(
            second
                .finish()
                .unwrap_err()
                .to_string()
                .contains("somebody else")
        );
    }

    #[test]
    fn a_target_in_a_lake_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("_iolode/manifest")).unwrap();
        let refused = Target::begin(&dir.path().join("a/b"), false).err().unwrap();
        assert!(
            refused.to_string().contains("it lies in the lake"),
            "{refused}"
        );
    }
}
