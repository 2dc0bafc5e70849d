//! MDHIM records: fixed counters, then a histogram over servers, `max(1, SERVERS)` numbers long.
//!
//! Source: FORMAT.md 7.4.

use super::super::counters::mdhim;
use super::{Walk, int_of, swap_words};

/// Bytes before the histogram.
pub(in crate::source::darshan) const HEAD: usize = 88;

/// Finds the records of a region, makes their numbers little-endian if `swap`, and notes where each begins.
pub(in crate::source::darshan) fn walk(
    bytes: &mut [u8],
    swap: bool,
    starts: &mut Vec<usize>,
) -> Walk {
    let mut at = 0;
    while at < bytes.len() {
        let left = bytes.len() - at;
        if left < HEAD {
            return Err((
                at,
                format!("{left} bytes are left where a record takes at least {HEAD}"),
            ));
        }
        let servers = int_of(bytes, at + 16 + 8 * mdhim::SERVERS, swap);
        let size = || {
            usize::try_from(servers.max(1))
                .ok()?
                .checked_mul(8)?
                .checked_add(HEAD)
                .filter(|size| *size <= left)
        };
        let size = size().ok_or_else(|| {
            (
                at,
                format!("{servers} servers do not fit the {left} bytes that are left"),
            )
        })?;
        if swap {
            swap_words(bytes, at, at + size);
        }
        starts.push(at);
        at += size;
    }
    Ok(())
}
