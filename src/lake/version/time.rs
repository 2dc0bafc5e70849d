//! Times as microseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// A day in microseconds.
pub(in crate::lake) const DAY: i64 = 86_400_000_000;

/// A file's time as microseconds since 1970.
pub(in crate::lake) fn micros(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |v| -v),
    }
}
