//! On which storage target a range's files lie.

use crate::error::{Error, Result, os_reason};
use crate::lake::version::owner_file::claim;
use crate::lake::version::store::create_below;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where data files are put. A new range gets the target with the fewest bytes, and all its tables lie there, so that a join
/// on job_id stays on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Placement {
    /// Inside the lake, wherever the file system puts them.
    #[default]
    None,
    /// In one of several directories: separate disks, or a stand-in for OSTs. A target is its place in the list.
    Dirs {
        /// The directories.
        dirs: Vec<PathBuf>,
    },
    /// On one OST each, created by `lfs setstripe`. A target is an OST index.
    Lustre {
        /// The OSTs that may be used.
        osts: Vec<i64>,
        /// The `lfs` command, if it is not on the path.
        #[serde(default = "lfs")]
        lfs: PathBuf,
    },
}

impl Placement {
    /// Whether nothing is placed.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether the placement can be used at all.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it names no target, or what it needs to place files cannot be run here.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Dirs { dirs } if dirs.is_empty() => Err(Error::Invalid(
                "placement `dirs` needs at least one directory; give --dirs".into(),
            )),
            Self::Lustre { osts, .. } if osts.is_empty() => Err(Error::Invalid(
                "placement `lustre` needs at least one OST; give --osts".into(),
            )),
            Self::Lustre { lfs, .. } => {
                can_run(lfs).map_err(|e| Error::Invalid(format!(
                    "placement `lustre` needs the command `{}` of a Lustre client, and it cannot be run here: {}; install it, or leave out --place lustre",
                    lfs.display(),
                    os_reason(&e)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Makes relative directories absolute, as they are meant where the lake is created.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no current directory.
    pub(in crate::lake) fn make_absolute(&mut self) -> Result<()> {
        if let Self::Dirs { dirs } = self {
            for dir in dirs {
                *dir = std::path::absolute(&*dir).map_err(|e| Error::io(&*dir, "cannot use", e))?;
            }
        }
        Ok(())
    }

    /// The directories outside the lake that may hold its data files.
    pub(in crate::lake) fn directories(&self, lake_id: &str) -> Vec<PathBuf> {
        match self {
            Self::Dirs { dirs } => dirs.iter().map(|dir| dir.join(lake_id)).collect(),
            _ => vec![],
        }
    }

    /// The target for a new range: the one with the fewest bytes, the earlier listed among equals.
    pub fn choose(&self, bytes_on: impl Fn(i64) -> u64) -> Option<i64> {
        self.targets()
            .into_iter()
            .min_by_key(|target| bytes_on(*target))
    }

    /// Creates the file at `path` (below `root`) for a range on `target`, before its first byte. Returns it with the path to
    /// keep in the manifest and the target on which it really is.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn create(
        &self,
        root: &Path,
        lake_id: &str,
        path: &str,
        target: Option<i64>,
    ) -> Result<(File, String, Option<i64>)> {
        let full = match (self, target) {
            (Self::Dirs { dirs }, Some(target)) => {
                let directory = usize::try_from(target).ok().and_then(|t| dirs.get(t));
                let directory = directory.ok_or_else(|| {
                    Error::Invalid(format!("placement has no directory {target}"))
                })?;
                let directory = std::path::absolute(directory)
                    .map_err(|e| Error::io(directory, "cannot use", e))?
                    .join(lake_id);
                claim(&directory, lake_id, root)?;
                directory.join(path)
            }
            _ => root.join(path),
        };
        let directory = full.parent().unwrap_or(root);
        create_below(root, directory).map_err(|e| Error::io(directory, "cannot create", e))?;
        let mut target = target;
        if let (Self::Lustre { osts, lfs }, Some(wanted)) = (self, target) {
            target = lustre(lfs, osts, wanted, &full);
        }
        // With a stripe set the file is there already, and empty.
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&full)
            .map_err(|e| Error::io(&full, "cannot create", e))?;
        let kept = if matches!(self, Self::Dirs { .. }) {
            full.to_string_lossy().into_owned()
        } else {
            path.to_string()
        };
        Ok((file, kept, target))
    }

    /// Whether a data file lies where this placement would put one: its targets may have been changed since.
    pub(in crate::lake) fn holds(&self, lake_id: &str, path: &str, target: Option<i64>) -> bool {
        let elsewhere = Path::new(path).is_absolute();
        match (self, target) {
            (Self::None, target) => target.is_none() && !elsewhere,
            (Self::Dirs { dirs }, Some(target)) => {
                let directory = usize::try_from(target).ok().and_then(|t| dirs.get(t));
                let directory = directory.and_then(|dir| std::path::absolute(dir).ok());
                directory.is_some_and(|dir| Path::new(path).starts_with(dir.join(lake_id)))
            }
            (Self::Dirs { .. }, None) => false,
            (Self::Lustre { .. }, Some(target)) => self.has(target) && !elsewhere,
            // All refused it, and may refuse it again.
            (Self::Lustre { .. }, None) => !elsewhere,
        }
    }

    /// Whether a range may lie on a target still.
    pub(in crate::lake) fn has(&self, target: i64) -> bool {
        self.targets().contains(&target)
    }

    fn targets(&self) -> Vec<i64> {
        match self {
            Self::None => vec![],
            Self::Dirs { dirs } => (0..dirs.len() as i64).collect(),
            Self::Lustre { osts, .. } => osts.clone(),
        }
    }
}

/// Creates a file with one stripe on the wanted OST, or on the next one that accepts (an OST may be full or switched off).
/// Returns where it went by Lustre's own word; None if it was not placed at all.
fn lustre(lfs: &Path, osts: &[i64], wanted: i64, path: &Path) -> Option<i64> {
    let at = osts.iter().position(|ost| *ost == wanted).unwrap_or(0);
    let order = osts.iter().cycle().skip(at).take(osts.len());
    for ost in order {
        let set = Command::new(lfs)
            .args(["setstripe", "-c", "1", "-i", &ost.to_string()])
            .arg(path)
            .output();
        if set.is_ok_and(|output| output.status.success()) {
            let told = Command::new(lfs)
                .args(["getstripe", "-i"])
                .arg(path)
                .output()
                .ok();
            let told =
                told.and_then(|output| String::from_utf8_lossy(&output.stdout).trim().parse().ok());
            return told.or(Some(*ost));
        }
        // A refusal may leave a file with another layout.
        let _ = fs::remove_file(path);
    }
    None
}

/// Whether a command can be started at all.
fn can_run(command: &Path) -> std::io::Result<()> {
    let mut command = Command::new(command);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().map(|_| ())
}

fn lfs() -> PathBuf {
    "lfs".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_range_goes_where_the_fewest_bytes_are() {
        let place = Placement::Lustre {
            osts: vec![3, 7, 9],
            lfs: lfs(),
        };
        assert_eq!(place.choose(|ost| if ost == 7 { 5 } else { 10 }), Some(7));
        assert_eq!(place.choose(|_| 0), Some(3));
        assert_eq!(Placement::None.choose(|_| 0), None);
    }

    #[test]
    fn a_full_ost_is_passed_over_and_the_file_is_recorded_where_it_went() {
        let directory = tempfile::tempdir().unwrap();
        // Stands in for Lustre's command: OST 4 is full, a layout is a file beside the file.
        let lfs = directory.path().join("lfs");
        let script = "#!/bin/sh\nif [ $1 = setstripe ]; then [ $5 = 4 ] && exit 28; touch $6; echo $5 > $6.ost; else cat $3.ost; fi\n";
        let mut file = File::create(&lfs).unwrap();
        file.write_all(script.as_bytes()).unwrap();
        drop(file);
        fs::set_permissions(&lfs, fs::Permissions::from_mode(0o755)).unwrap();
        let place = Placement::Lustre {
            osts: vec![2, 4, 6],
            lfs,
        };
        let (mut file, path, ost) = place
            .create(directory.path(), "id", "t/x.parquet", Some(4))
            .unwrap();
        file.write_all(b"rows").unwrap();
        assert_eq!((path.as_str(), ost), ("t/x.parquet", Some(6)));
        assert_eq!(fs::read(directory.path().join(path)).unwrap(), b"rows");
    }

    #[test]
    fn lustre_is_refused_where_its_command_cannot_be_run() {
        let directory = tempfile::tempdir().unwrap();
        let place = |lfs: PathBuf| Placement::Lustre { osts: vec![1], lfs };
        let lfs = directory.path().join("no-lfs");
        let expected = format!(
            "placement `lustre` needs the command `{}` of a Lustre client, and it cannot be run here: no such file or directory; install it, or leave out --place lustre",
            lfs.display()
        );
        assert_eq!(place(lfs).check().unwrap_err().to_string(), expected);
        assert!(place("true".into()).check().is_ok());
        let root = directory.path().join("lake");
        let site = crate::lake::SiteFile {
            place: place("no-such-lfs".into()),
            ..Default::default()
        };
        let options = crate::lake::CreateOptions {
            settings: site.to_text().unwrap(),
            ..Default::default()
        };
        let refused = crate::lake::Lake::create(&root, &options).unwrap_err();
        assert!(refused.to_string().contains("`no-such-lfs`"), "{refused}");
        assert!(!root.exists());
    }

    #[test]
    fn without_lustre_the_file_is_written_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let place = Placement::Lustre {
            osts: vec![1],
            lfs: directory.path().join("no-lfs"),
        };
        let (_, path, ost) = place
            .create(directory.path(), "id", "t/x.parquet", Some(1))
            .unwrap();
        assert_eq!((path.as_str(), ost), ("t/x.parquet", None));
    }

    #[test]
    fn files_in_directories_are_kept_by_their_absolute_path() {
        let (lake, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = Placement::Dirs {
            dirs: vec![disk.path().join("a"), disk.path().join("b")],
        };
        let (_, path, target) = place
            .create(lake.path(), "lake7", "t/x.parquet", Some(1))
            .unwrap();
        assert_eq!(
            (Path::new(&path), target),
            (disk.path().join("b/lake7/t/x.parquet").as_path(), Some(1))
        );
    }
}
