//! The directory of an executor, in which its shuffle and spill files lie.

use std::fs::File;
use std::path::Path;

/// How the directories of executors begin.
pub(super) const DIRECTORY: &str = "iolode-executor-";

/// The file in the directory of an executor that is locked as long as it lives.
const LOCK: &str = "lock";

/// Marks a directory below `work_dir` as that of an executor that lives, and removes those of others that do not any more.
pub(super) fn own_directory(work_dir: &Path, own: &Path) -> std::io::Result<File> {
    // It has its name once it is locked: an executor that starts at the same time must not find it free.
    let unnamed = own.join("lock.new");
    let lock = File::create(&unnamed)?;
    if lock.try_lock().is_err() {
        // A file system without locks is used as well: then nobody is told apart, and all directories stay.
        return Ok(lock);
    }
    std::fs::rename(unnamed, own.join(LOCK))?;
    for entry in std::fs::read_dir(work_dir)?.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_other = name.to_string_lossy().starts_with(DIRECTORY) && path != own;
        if is_other
            && let Ok(lock) = File::open(path.join(LOCK))
            && lock.try_lock().is_ok()
        {
            // Whoever was killed cannot remove them.
            let _ = std::fs::remove_dir_all(path);
        }
    }
    Ok(lock)
}

/// Removes the directories of all jobs.
pub(super) fn remove_jobs(work_dir: &Path) {
    let entries = std::fs::read_dir(work_dir).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().is_dir()) {
        let _ = std::fs::remove_dir_all(entry.path());
    }
}
