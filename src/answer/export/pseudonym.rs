//! Pseudonyms: HMAC-SHA256 of domain and value under a key, so that whoever has the key can compute one again, and nobody else.
//!
//! ```python
//! mac = hmac.new(bytes.fromhex(open("key").read()), b"user\0" + b"alice", "sha256").digest()
//! text = base64.b32encode(mac[:10]).decode().lower()        # 80 bits, as text
//! number = int.from_bytes(mac[:8], "big") >> 12             # 52 bits, exact in JSON and pandas
//! ```

use crate::error::{Error, Result};
use crate::table::Domain;
use crate::text::shown_path;
use data_encoding::{BASE32_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Bytes of a key.
const LENGTH: usize = 32;

/// A secret key.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// Makes a key of random bytes and writes it to a new file that only its owner can read, as 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::Io`], also if the file is there already.
    pub fn create(path: &Path) -> Result<()> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)
            .map_err(|e| Error::Invalid(format!("no random bytes are to be had: {e}")))?;
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600);
        let mut file = new.open(path).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::Invalid(format!(
                "key {}: it is there already, and without it nobody can make its pseudonyms again; give another name",
                shown_path(path)
            )),
            _ => Error::io(path, "cannot make a key", e),
        })?;
        let text = HEXLOWER.encode(&bytes) + "\n";
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        written.map_err(|e| Error::io(path, "cannot write", e))
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if others can read the file, or it is no key; [`Error::Io`].
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, "cannot read the key", e);
        let file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let path_text = shown_path(path);
        if !metadata.is_file() {
            return Err(Error::Invalid(format!("key {path_text}: it is no file")));
        }
        let mode = metadata.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::Invalid(format!(
                "key {path_text}: others can read it (mode {:04o}); change that with chmod 600",
                mode & 0o7777
            )));
        }
        let mut text = String::new();
        // A key has 64 digits, and nobody reads a whole disk to find that a file is none.
        let mut first = Read::take(file, 1024);
        first.read_to_string(&mut text).map_err(failed)?;
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes());
        match bytes {
            Ok(bytes) if bytes.len() == LENGTH => Ok(Self::of(&bytes)),
            _ => Err(Error::Invalid(format!(
                "key {path_text}: expected {} hexadecimal digits, found {} characters; make one with `iolode export --new-key FILE`",
                2 * LENGTH,
                text.trim().chars().count()
            ))),
        }
    }

    /// The key of some bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        // HMAC takes keys of any length.
        #[allow(clippy::expect_used)]
        Self(Hmac::new_from_slice(bytes).expect("keys of any length are taken"))
    }

    fn mac(&self, domain: &str, value: &[u8]) -> [u8; LENGTH] {
        let mut mac = self.0.clone();
        mac.update(domain.as_bytes());
        mac.update(&[0]);
        mac.update(value);
        mac.finalize().into_bytes().into()
    }

    /// The pseudonym of a text: 16 characters.
    pub fn text(&self, domain: Domain, value: &str) -> String {
        let mac = self.mac(domain.word(), value.as_bytes());
        BASE32_NOPAD.encode(&mac[..10]).to_ascii_lowercase()
    }

    /// The pseudonym of a number, of this many bits.
    fn bits(&self, domain: Domain, value: impl ToString, bits: u32) -> u64 {
        let mac = self.mac(domain.word(), value.to_string().as_bytes());
        let first = mac[..8]
            .iter()
            .fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        first >> (64 - bits)
    }

    /// The pseudonym of an id of a job or user, which is exact in JSON.
    pub fn number(&self, domain: Domain, value: i64) -> i64 {
        self.bits(domain, value, 52) as i64
    }

    /// The pseudonym of the id of a log, which is a text in JSON: it has 63 bits, for there are more of them.
    pub fn log(&self, log: i64) -> i64 {
        self.bits(Domain::Log, log, 63) as i64
    }

    /// The pseudonym of the id of a record that has no name.
    pub fn record(&self, record: u64) -> u64 {
        self.bits(Domain::Record, record, 64)
    }
}

/// Pseudonyms of names, of which there are few: each is made once, and two names with one pseudonym are noticed.
pub(super) struct Names {
    key: Key,
    texts: HashMap<(Domain, String), String>,
    taken: HashMap<(Domain, String), String>,
}

impl Names {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            texts: HashMap::new(),
            taken: HashMap::new(),
        }
    }

    /// The pseudonym of a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] if another name has the same.
    pub(super) fn of(&mut self, domain: Domain, value: &str) -> Result<&str> {
        let name = (domain, value.to_string());
        if !self.texts.contains_key(&name) {
            let text = self.key.text(domain, value);
            let taken = (domain, text.clone());
            if self.taken.insert(taken, value.to_string()).is_some() {
                return Err(fall_together(domain));
            }
            self.texts.insert(name.clone(), text);
        }
        Ok(self.texts.get(&name).map_or("", String::as_str))
    }
}

/// The error for two values with one pseudonym. It names neither: who reads it may not be one who may know them.
pub(super) fn fall_together(domain: Domain) -> Error {
    Error::Invalid(format!(
        "two values of `{}` have the same pseudonym by this key; make another key with `iolode export --new-key FILE`",
        domain.word()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values by Python's hmac and base64, as the head of this file has it.
    #[test]
    fn pseudonyms_can_be_computed_again_in_python() {
        let key = Key::of(&[7; 32]);
        assert_eq!(key.text(Domain::User, "alice"), "os2kjtfjnp5vltea");
        assert_eq!(key.number(Domain::Job, 1_797_024), 2_182_055_103_524_361);
    }

    #[test]
    fn a_key_that_others_can_read_or_of_another_length_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        Key::create(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        Key::read(&path).unwrap();
        assert!(Key::create(&path).is_err());
        let refused = |path: &Path| Key::read(path).err().unwrap().to_string();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(refused(&path).contains("others can read it (mode 0640)"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, "abc\n").unwrap();
        assert!(refused(&path).contains("expected 64 hexadecimal digits, found 3 characters"));
    }
}
