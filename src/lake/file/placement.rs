//! On which storage target a range's files lie.

use super::lustre::{self, Layout};
use crate::error::{Error, Result, os_reason};
use crate::lake::version::owner_file::claim;
use crate::lake::version::store::create_below;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// On one OST each. A target is an OST index.
    Lustre {
        /// The OSTs that may be used.
        osts: Vec<i64>,
        /// The pool that they belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pool: Option<String>,
        /// The `lfs` command, if it is not on the path: for clients of Lustre that cannot set a layout without it.
        #[serde(default = "lfs")]
        lfs: PathBuf,
    },
}

impl Placement {
    /// Whether nothing is placed.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether files can be placed so in a directory, which need not be there yet. On Lustre each OST is asked to take an empty file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the placement names no target, the directory is not on Lustre, or an OST refuses a file; [`Error::Io`].
    pub fn check(&self, root: &Path) -> Result<()> {
        match self {
            Self::Dirs { dirs } if dirs.is_empty() => Err(Error::Invalid(
                "placement `dirs` needs at least one directory; give --dirs".into(),
            )),
            Self::Lustre { osts, .. } if osts.is_empty() => Err(Error::Invalid(
                "placement `lustre` needs at least one OST; give --osts".into(),
            )),
            Self::Lustre { osts, pool, lfs } => check_lustre(osts, pool.as_deref(), lfs, root),
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
        if let (Self::Lustre { osts, pool, lfs }, Some(wanted)) = (self, target) {
            target = on_lustre(osts, pool.as_deref(), lfs, wanted, &full);
        }
        // With a layout the file is there already, and empty.
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

    /// How the layout of a data file differs from what the lake has noted; None where it does not, or nothing says so.
    pub(in crate::lake) fn misplaced(&self, path: &Path, noted: Option<i64>) -> Option<String> {
        if !matches!(self, Self::Lustre { .. }) {
            return None;
        }
        let found = lustre::layout(&File::open(path).ok()?)?;
        otherwise(&found, noted)
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
fn on_lustre(
    osts: &[i64],
    pool: Option<&str>,
    lfs: &Path,
    wanted: i64,
    path: &Path,
) -> Option<i64> {
    let at = osts.iter().position(|ost| *ost == wanted).unwrap_or(0);
    let mut order = osts.iter().cycle().skip(at).take(osts.len());
    order.find_map(|ost| create_on(*ost, pool, lfs, path).ok())
}

/// Creates a file with one stripe on an OST; the OST on which it is by Lustre's own word. No file is left where it is refused.
fn create_on(ost: i64, pool: Option<&str>, lfs: &Path, path: &Path) -> std::io::Result<i64> {
    match lustre::create(path, ost, pool) {
        // A client that takes the attribute and forgets it leaves the file with the directory's layout, or none.
        Ok(file) => match lustre::layout(&file) {
            Some(Layout::Stripes(osts)) if osts.len() == 1 => return Ok(osts[0]),
            _ => _ = fs::remove_file(path),
        },
        Err(e) if e.kind() == ErrorKind::Unsupported => {}
        Err(e) => return Err(e),
    }
    create_by_lfs(ost, pool, lfs, path).inspect_err(|_| _ = fs::remove_file(path))
}

fn create_by_lfs(ost: i64, pool: Option<&str>, lfs: &Path, path: &Path) -> std::io::Result<i64> {
    let mut set = Command::new(lfs);
    set.args(["setstripe", "-c", "1", "-i", &ost.to_string()]);
    if let Some(pool) = pool {
        set.args(["-p", pool]);
    }
    let set = set.arg(path).output()?;
    if !set.status.success() {
        let said = String::from_utf8_lossy(&set.stderr);
        let said = said.lines().next().unwrap_or_default().trim();
        return Err(std::io::Error::other(match said {
            "" => format!("{} ended with {}", lfs.display(), set.status),
            said => said.into(),
        }));
    }
    let told = Command::new(lfs)
        .args(["getstripe", "-i"])
        .arg(path)
        .output()?;
    let told = String::from_utf8_lossy(&told.stdout).trim().parse();
    Ok(told.unwrap_or(ost))
}

/// How a layout differs from one stripe on the OST that was noted.
fn otherwise(found: &Layout, noted: Option<i64>) -> Option<String> {
    let noted = noted.map_or("no OST".to_string(), |noted| format!("OST {noted}"));
    match found {
        Layout::Composite => Some(format!(
            "its layout is a composite one, and not one stripe; noted: {noted}"
        )),
        Layout::Stripes(osts) => {
            let osts: Vec<String> = osts.iter().map(i64::to_string).collect();
            let found = format!("OST {}", osts.join(", "));
            (found != noted).then(|| format!("it lies on {found}; noted: {noted}"))
        }
    }
}

fn check_lustre(osts: &[i64], pool: Option<&str>, lfs: &Path, root: &Path) -> Result<()> {
    if let Some(pool) = pool.filter(|pool| !lustre::is_pool_name(pool)) {
        return Err(Error::Invalid(format!(
            "placement `lustre`: `{pool}` cannot be the name of a pool, which has at most 15 bytes"
        )));
    }
    let is_lustre = lustre::is_lustre(root).map_err(|e| Error::io(root, "cannot use", e))?;
    if !is_lustre {
        return Err(Error::Invalid(format!(
            "placement `lustre`: {} is not on a Lustre file system; choose another directory, or leave out --place lustre",
            root.display()
        )));
    }
    let Some(above) = root.ancestors().find(|above| above.is_dir()) else {
        return Ok(());
    };
    let probe = above.join(format!(".iolode-{}", uuid::Uuid::new_v4()));
    for ost in osts {
        let made = create_on(*ost, pool, lfs, &probe);
        _ = fs::remove_file(&probe);
        let refused = match made {
            Ok(real) if real == *ost => continue,
            Ok(real) => format!("the file lies on OST {real}"),
            Err(e) if e.kind() == ErrorKind::NotFound => format!(
                "this client sets layouts by the command `{}` alone, which is not there",
                lfs.display()
            ),
            Err(e) => os_reason(&e),
        };
        return Err(Error::Invalid(format!(
            "placement `lustre`: OST {ost} takes no file in {}: {refused}; leave it out of --osts",
            above.display()
        )));
    }
    Ok(())
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
            pool: None,
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
            pool: None,
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
    fn lustre_is_refused_on_another_file_system() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("lake");
        let place = |pool: Option<&str>| Placement::Lustre {
            osts: vec![1],
            pool: pool.map(String::from),
            lfs: lfs(),
        };
        let expected = format!(
            "placement `lustre`: {} is not on a Lustre file system; choose another directory, or leave out --place lustre",
            root.display()
        );
        assert_eq!(place(None).check(&root).unwrap_err().to_string(), expected);
        let refused = place(Some("a.name.of.16.by")).check(&root).unwrap_err();
        assert_eq!(refused.to_string(), expected);
        let refused = place(Some("a.name.of.16.bys")).check(&root).unwrap_err();
        assert!(
            refused.to_string().contains("at most 15 bytes"),
            "{refused}"
        );
        let site = crate::lake::SiteFile {
            place: place(None),
            ..Default::default()
        };
        let options = crate::lake::CreateOptions {
            settings: site.to_text().unwrap(),
            ..Default::default()
        };
        let refused = crate::lake::Lake::create(&root, &options).unwrap_err();
        assert_eq!(refused.to_string(), expected);
        assert!(!root.exists());
    }

    #[test]
    fn a_layout_is_one_stripe_on_the_noted_ost_or_is_told() {
        let of = |osts: &[i64]| Layout::Stripes(osts.to_vec());
        assert_eq!(otherwise(&of(&[4]), Some(4)), None);
        for (found, noted, said) in [
            (of(&[5]), Some(4), "it lies on OST 5; noted: OST 4"),
            (of(&[4, 5]), Some(4), "it lies on OST 4, 5; noted: OST 4"),
            (of(&[4]), None, "it lies on OST 4; noted: no OST"),
            (
                Layout::Composite,
                Some(4),
                "its layout is a composite one, and not one stripe; noted: OST 4",
            ),
        ] {
            assert_eq!(otherwise(&found, noted).as_deref(), Some(said));
        }
    }

    #[test]
    fn without_lustre_the_file_is_written_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let place = Placement::Lustre {
            osts: vec![1],
            pool: None,
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
