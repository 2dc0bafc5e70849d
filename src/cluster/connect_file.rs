//! The address and keys of a cluster, in a file that only its owner may read.
//!
//! Who has this file may run queries on the cluster and be an executor of it. Its certificates are made for one cluster and hold for some days; the key that signed
//! them is not kept.

use super::VERSION;
use crate::error::{Error, Result};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

/// The name that all certificates are for: peers are told apart by who signed them, not by their host.
pub(crate) const NAME: &str = "iolode-cluster";

/// Clocks of nodes may differ by so much.
const CLOCK_SKEW: TimeDelta = TimeDelta::hours(1);

/// What a client or an executor must know of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectFile {
    /// Id of the cluster.
    pub cluster: String,
    /// Version of iolode that made it.
    pub version: String,
    /// `HOST:PORT` of its scheduler.
    pub scheduler: String,
    /// Until when its certificates hold, UTC, RFC 3339.
    pub valid_until: String,
    /// The certificate that signed all others, PEM.
    pub(crate) authority: String,
    /// The certificate of every member, PEM.
    pub(crate) certificate: String,
    /// Its private key, PEM.
    pub(crate) key: String,
}

impl ConnectFile {
    /// New keys, which hold for `valid`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no keys can be made or `valid` is beyond the calendar.
    pub fn new(scheduler: String, valid: TimeDelta) -> Result<Self> {
        let refused = |e: rcgen::Error| Error::Invalid(format!("cannot make keys: {e}"));
        let now = Utc::now();
        let end = now.checked_add_signed(valid);
        let end = end.ok_or_else(|| Error::Invalid("--valid is too long".into()))?;
        let params = |names: Vec<String>| -> Result<CertificateParams> {
            let mut params = CertificateParams::new(names).map_err(refused)?;
            params.not_before = SystemTime::from(now - CLOCK_SKEW).into();
            params.not_after = SystemTime::from(end).into();
            params.distinguished_name.push(DnType::CommonName, NAME);
            Ok(params)
        };
        let mut authority = params(vec![])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority
            .distinguished_name
            .push(DnType::CommonName, "iolode-cluster authority");
        let signer = KeyPair::generate().map_err(refused)?;
        let root = authority.self_signed(&signer).map_err(refused)?;
        let key = KeyPair::generate().map_err(refused)?;
        let issuer = Issuer::new(authority, signer);
        let member = params(vec![NAME.into()])?;
        let member = member.signed_by(&key, &issuer).map_err(refused)?;
        Ok(Self {
            cluster: uuid::Uuid::new_v4().to_string(),
            version: VERSION.into(),
            scheduler,
            valid_until: end.to_rfc3339_opts(SecondsFormat::Secs, true),
            authority: root.pem(),
            certificate: member.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The same keys for a scheduler at another address.
    pub fn at(self, scheduler: String) -> Self {
        Self { scheduler, ..self }
    }

    /// Writes the file, which its owner alone may read, in the place of one that is there.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = |e| Error::io(path, "cannot write", e);
        let text = toml::to_string(self).map_err(|e| failed(std::io::Error::other(e)))?;
        let text =
            format!("# A cluster of iolode. Who may read this file may use the cluster.\n{text}");
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // `tempfile` makes files of mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Reads a file that a scheduler wrote.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, or others than its owner may; [`Error::Malformed`] if it is no connect file; [`Error::Unsupported`] if another version of
    /// iolode made it or its certificates have expired.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, "cannot read", e);
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open(path)
            .map_err(failed)?;
        refuse_shared(path, &file)?;
        let mut text = String::new();
        // A connect file has some 3 KB.
        let read = (&mut file).take(1 << 20).read_to_string(&mut text);
        read.map_err(failed)?;
        let read: Self = toml::from_str(&text).map_err(|e| Error::Malformed {
            path: path.into(),
            region: "connect file".into(),
            at: None,
            reason: format!(
                "this is no connect file of a cluster: {}",
                e.message().lines().collect::<Vec<_>>().join(" ")
            ),
        })?;
        let unsupported = |reason: String| Error::Unsupported {
            path: path.into(),
            reason,
        };
        if read.version != VERSION {
            return Err(unsupported(format!(
                "a cluster of iolode {}; this is iolode {VERSION}",
                read.version
            )));
        }
        let end = DateTime::parse_from_rfc3339(&read.valid_until)
            .map_err(|_| unsupported(format!("`{}` is no time", read.valid_until)))?;
        if end < Utc::now() {
            return Err(unsupported(format!(
                "its keys expired at {}; start a new scheduler",
                read.valid_until
            )));
        }
        Ok(read)
    }
}

/// Refuses a file that others than its owner may read or write, or that is somebody else's.
fn refuse_shared(path: &Path, file: &File) -> Result<()> {
    let meta = file
        .metadata()
        .map_err(|e| Error::io(path, "cannot read", e))?;
    let refused = |why: &str| {
        Err(Error::io(
            path,
            "refused as connect file",
            std::io::Error::other(why),
        ))
    };
    if !meta.is_file() {
        return refused("it is not a regular file");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    if meta.mode() & 0o077 != 0 {
        return refused("others may read it; its mode must be 0600");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn made() -> ConnectFile {
        ConnectFile::new("node1:7070".into(), TimeDelta::days(30)).unwrap()
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cluster.toml");
        let file = made();
        file.write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(ConnectFile::read(&path).unwrap(), file);
        for mode in [0o640, 0o604, 0o620, 0o602, 0o601] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let error = ConnectFile::read(&path).unwrap_err().to_string();
            assert!(error.ends_with("its mode must be 0600"), "{error}");
        }
    }

    #[test]
    fn other_versions_expired_keys_and_other_files_are_refused_in_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cluster.toml");
        let refused = |file: &ConnectFile| {
            file.write(&path).unwrap();
            ConnectFile::read(&path).unwrap_err().to_string()
        };
        let mut other = made();
        other.version = "0.0.1".into();
        assert!(refused(&other).contains("a cluster of iolode 0.0.1; this is iolode "));
        let expired = ConnectFile::new("a:1".into(), TimeDelta::seconds(-5)).unwrap();
        assert!(refused(&expired).contains("its keys expired at "));
        std::fs::write(&path, "cluster = 3").unwrap();
        let error = ConnectFile::read(&path).unwrap_err().to_string();
        assert!(error.contains("connect file: "), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
