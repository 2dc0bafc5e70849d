//! From a path to the mount that holds it.

use crate::source::darshan::job::Mount;

/// The mounts of one log, longest path first; equally long ones in the order of the log.
pub struct Mounts<'a>(Vec<&'a Mount>);

impl<'a> Mounts<'a> {
    /// Sorts a log's mount table for look-ups.
    pub fn new(mounts: &'a [Mount]) -> Self {
        let mut sorted: Vec<&Mount> = mounts.iter().collect();
        sorted.sort_by_key(|mount| std::cmp::Reverse(mount.path.len()));
        Self(sorted)
    }

    /// The mount with the longest path that holds `path`: equal to it, or followed in it by `/`. None for a relative path.
    ///
    /// # Source
    /// FORMAT.md 3. Differs: Darshan's tools take any byte prefix, so `/home2/x` is on `/home` there.
    pub fn find(&self, path: &[u8]) -> Option<&'a Mount> {
        if path.first() != Some(&b'/') {
            return None;
        }
        let holds = |mount: &Mount| {
            let stem = mount.path.strip_suffix(b"/").unwrap_or(&mount.path);
            path.strip_prefix(stem)
                .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
        };
        self.0.iter().find(|mount| holds(mount)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_wins_and_a_name_is_not_cut_in_the_middle() {
        let mount = |path: &str| Mount {
            fs_type: b"lustre".to_vec(),
            path: path.as_bytes().to_vec(),
        };
        let mounts = [
            mount("/"),
            mount("/home"),
            mount("/scratch"),
            mount("/scratch/a"),
        ];
        let mounts = Mounts::new(&mounts);
        let find = |path: &str| {
            mounts
                .find(path.as_bytes())
                .map(|m| String::from_utf8_lossy(&m.path).into_owned())
        };
        assert_eq!(find("/scratch/a/b").as_deref(), Some("/scratch/a"));
        assert_eq!(find("/scratch/ab").as_deref(), Some("/scratch"));
        assert_eq!(find("/home2/x").as_deref(), Some("/"));
        assert_eq!(find("/home").as_deref(), Some("/home"));
        assert_eq!(find("relative/x"), None);
        assert_eq!(find("<STDOUT>"), None);
    }
}
