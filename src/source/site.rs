//! What a log does not say and the site knows.

use regex::Regex;

/// A site's rules that readers need; `lake` reads them from `site.toml`.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Mount point and the name of the file system mounted there. Without an entry a mount point is its own name.
    pub mounts: Vec<(String, String)>,
    /// Regular expressions over the command line and the program's name where they match, tried first and in order.
    pub apps: Vec<(Regex, String)>,
}

impl Site {
    /// The name of the file system that is mounted at `mount_point`.
    pub fn file_system<'a>(&'a self, mount_point: &'a str) -> &'a str {
        let entry = self.mounts.iter().find(|(mount, _)| mount == mount_point);
        entry.map_or(mount_point, |(_, name)| name)
    }
}
