//! Who changes a lake says so while it does: a file below `_iolode/lease` whose time is renewed.
//!
//! [`vacuum`](crate::lake::Lake::vacuum) removes nothing that was written since the start of a lease that was renewed within [`EXPIRES`]. Whoever did not
//! renew his for as long - a stopped laptop, a hung file system - may have lost files and must not publish. All times are those of the file
//! system, so that clocks of machines do not matter.

use super::store::{LEASES, Store};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How long a lease holds without being renewed.
pub(in crate::lake) const EXPIRES: Duration = Duration::from_secs(15 * 60);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(30);

/// A lease; given back when it goes.
#[derive(Debug)]
pub(in crate::lake) struct Lease {
    held: Arc<LeaseFile>,
    renewing: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LeaseFile {
    store: Store,
    path: String,
    /// It was not renewed in time, once: whatever happens afterwards, it does not hold.
    lost: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Lease {
    /// Takes a lease, which holds until it is dropped.
    ///
    /// # Errors
    /// [`Error::Io`], as of a lake that may only be read.
    pub(in crate::lake) fn take(store: &Store) -> Result<Self> {
        let path = format!("{LEASES}/{}", uuid::Uuid::new_v4());
        // The time at which it begins stays in the file; that of the file is the time at which it was renewed.
        let start = super::time::micros(store.time()?);
        store.put_if_absent(&path, start.to_string().as_bytes())?;
        let held = Arc::new(LeaseFile {
            store: store.clone(),
            path,
            lost: AtomicBool::new(false),
            ended: Mutex::new(false),
            end: Condvar::new(),
        });
        let renewed = held.clone();
        let renewing = match store {
            Store::Local(_) => Some(std::thread::spawn(move || renewed.renew_until_the_end())),
            Store::Memory(_) => None,
        };
        Ok(Self { held, renewing })
    }

    /// Renews the lease, and looks whether it held all the time.
    ///
    /// # Errors
    /// [`Error::Lake`] if it did not: a vacuum may have removed what was written.
    pub(in crate::lake) fn check(&self) -> Result<()> {
        match self.held.renew()? {
            true => Ok(()),
            false => Err(Error::Lake {
                lake: self.held.store.show(""),
                reason: format!(
                    "this was stopped for more than {} minutes, in which a vacuum may have removed what it wrote; run it again",
                    EXPIRES.as_secs() / 60
                ),
            }),
        }
    }
}

impl LeaseFile {
    fn renew_until_the_end(&self) {
        let Ok(mut ended) = self.ended.lock() else {
            return;
        };
        while !*ended {
            let Ok((guard, _)) = self.end.wait_timeout(ended, RENEWED) else {
                return;
            };
            ended = guard;
            if !*ended {
                // What cannot be renewed now is tried again, until it has expired.
                let _ = self.renew();
            }
        }
    }

    /// Renews it unless it has expired. Whether it holds.
    fn renew(&self) -> Result<bool> {
        let holds = match self.store.modified(&self.path)? {
            Some(renewed) => is_held(renewed, self.store.time()?),
            None => false,
        };
        if !holds {
            self.lost.store(true, Ordering::Relaxed);
        }
        if self.lost.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.store.touch(&self.path)?;
        Ok(true)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Ok(mut ended) = self.held.ended.lock() {
            *ended = true;
        }
        self.held.end.notify_all();
        if let Some(renewing) = self.renewing.take() {
            let _ = renewing.join();
        }
        let _ = self.held.store.delete(&self.held.path);
    }
}

/// Whether a lease that was renewed then holds now.
fn is_held(renewed: SystemTime, now: SystemTime) -> bool {
    now.duration_since(renewed)
        .map_or(true, |since| since <= EXPIRES)
}

/// The leases of a lake at one time.
#[derive(Debug, Default)]
pub(in crate::lake) struct Leases {
    /// The start of the oldest that holds, in microseconds since 1970; None if none holds.
    pub(in crate::lake) oldest: Option<i64>,
    /// When the last of those that hold ends if nobody renews it, in microseconds since 1970.
    pub(in crate::lake) until: Option<i64>,
    /// Paths of those that have expired.
    pub(in crate::lake) expired: Vec<String>,
}

impl Leases {
    /// Reads them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(in crate::lake) fn read(store: &Store, now: SystemTime) -> Result<Self> {
        let mut leases = Self::default();
        for entry in store.list(LEASES)? {
            if !is_held(entry.modified, now) {
                leases.expired.push(entry.path);
                continue;
            }
            let text = store.read(&entry.path)?;
            let start = text.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok());
            // One that is being written says nothing yet.
            let start = start.unwrap_or(super::time::micros(entry.modified));
            let until = super::time::micros(entry.modified + EXPIRES);
            leases.oldest = Some(leases.oldest.map_or(start, |oldest| oldest.min(start)));
            leases.until = leases.until.max(Some(until));
        }
        Ok(leases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::directory(directory.path());
        (directory, store)
    }

    /// Makes a lease as old as one that was not renewed for so long.
    fn age(store: &Store, lease: &Lease, by: Duration) {
        let file = std::fs::File::options()
            .append(true)
            .open(store.local(&lease.held.path).unwrap());
        let then = store.time().unwrap() - by;
        file.unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn a_lease_that_was_not_renewed_in_time_never_holds_again() {
        let (_directory, store) = directory();
        let lease = Lease::take(&store).unwrap();
        lease.check().unwrap();
        age(&store, &lease, EXPIRES - Duration::from_secs(5));
        lease.check().unwrap();
        age(&store, &lease, EXPIRES + Duration::from_secs(5));
        let error = lease.check().unwrap_err().to_string();
        assert!(
            error.contains("stopped for more than 15 minutes"),
            "{error}"
        );
        store.touch(&lease.held.path).unwrap();
        assert!(lease.check().is_err());
    }

    #[test]
    fn the_oldest_start_counts_until_its_lease_is_given_back_or_expires() {
        let (_directory, store) = directory();
        let (first, second) = (Lease::take(&store).unwrap(), Lease::take(&store).unwrap());
        let start = |lease: &Lease| -> i64 {
            let text = store.read(&lease.held.path).unwrap().unwrap();
            std::str::from_utf8(&text).unwrap().parse().unwrap()
        };
        let starts = (start(&first), start(&second));
        assert!(starts.0 <= starts.1);
        let leases = || Leases::read(&store, store.time().unwrap()).unwrap();
        assert_eq!(leases().oldest, Some(starts.0));
        drop(first);
        assert_eq!(leases().oldest, Some(starts.1));
        assert!(leases().until >= Some(starts.1 + 15 * 60 * 1_000_000));
        age(&store, &second, EXPIRES + Duration::from_secs(5));
        assert_eq!((leases().oldest, leases().until), (None, None));
        assert_eq!(leases().expired, std::slice::from_ref(&second.held.path));
    }
}
