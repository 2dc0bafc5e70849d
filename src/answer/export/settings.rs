//! The settings of an export's lake: of the site's what its rows need, and nothing that places files or names where logs appear.

use super::path::Paths;
use super::policy::Policy;
use super::pseudonym::Names;
use crate::error::{Error, Result};
use crate::lake::{Mount, SiteFile};
use crate::table::{Domain, Treatment, table};

/// Settings without what only the site has a use for.
pub(super) fn plain(site: &SiteFile) -> SiteFile {
    SiteFile {
        cluster: site.cluster.clone(),
        timezone: site.timezone.clone(),
        mount: site.mount.clone(),
        app: site.app.clone(),
        ..SiteFile::default()
    }
}

/// Settings under pseudonyms: zone and stripes, mount points and file systems.
///
/// # Errors
/// Those of the pseudonyms.
pub(super) fn anonymous(
    site: &SiteFile,
    policy: &Policy,
    names: &mut Names,
    paths: &mut Paths,
) -> Result<SiteFile> {
    let file = table("darshan_file")?;
    let is_kept = |column: &str| Ok::<_, Error>(policy.of(file, column)? == Treatment::Kept);
    let (keeps_fs, keeps_mounts) = (is_kept("fs")?, is_kept("mount_point")?);
    let mut fs = |name: &str, paths: &mut Paths| match name.starts_with('/') {
        _ if keeps_fs => Ok(name.to_string()),
        true => Ok(paths.of(name)),
        false => names.of(Domain::Fs, name).map(str::to_string),
    };
    let mut mounts = vec![];
    for mount in &site.mount {
        mounts.push(Mount {
            path: match keeps_mounts {
                true => mount.path.clone(),
                false => paths.of(&mount.path),
            },
            fs: fs(&mount.fs, paths)?,
            // Samples have the file system's own name.
            lmt: None,
            ..mount.clone()
        });
    }
    let cluster = site.cluster.as_deref();
    Ok(SiteFile {
        timezone: site.timezone.clone(),
        mount: mounts,
        cluster: cluster
            .map(|name| names.of(Domain::Cluster, name).map(str::to_string))
            .transpose()?,
        ..SiteFile::default()
    })
}
