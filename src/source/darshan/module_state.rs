//! What is known of a module of a log, before its records and beside them.

use super::module::{ModuleId, Status};
use super::region::Damage;
use std::borrow::Cow;

/// One module of a log: what the header says, and how much of it could be read.
#[derive(Clone, Debug)]
pub struct ModuleState {
    /// Its number.
    pub id: ModuleId,
    /// Its name as Darshan gives it; the number of an unknown one.
    pub name: Cow<'static, str>,
    /// Version of its format.
    pub version: u32,
    /// How much of it could be read.
    pub status: Status,
    /// Darshan ran out of memory for it on some process.
    pub partial: bool,
    /// Bytes of the region in the log.
    pub bytes: u64,
    /// Bytes after inflating; None if it was not read.
    pub inflated_bytes: Option<u64>,
    /// Good records; None if it was not read.
    pub records: Option<u64>,
    /// Position of the damage in the inflated region.
    pub error_at: Option<u64>,
    /// What is wrong there.
    pub error: Option<String>,
}

/// Notes the damage of a region.
pub(super) fn fail(state: &mut ModuleState, damage: Damage) {
    state.status = if damage.truncated {
        Status::Truncated
    } else {
        Status::Corrupt
    };
    state.error_at = Some(damage.at as u64);
    state.error = Some(damage.reason);
}

/// Notes that so many records were there twice, the first of them at a place, if that is known.
pub(super) fn note_repeated(state: &mut ModuleState, at: Option<usize>, n: usize) {
    let s = if n == 1 { "" } else { "s" };
    let reason = format!("{n} record{s} twice, the first was taken");
    match &mut state.error {
        Some(error) => *error = format!("{error}; {reason}"),
        None => {
            fail(state, Damage::corrupt(0, reason));
            state.error_at = at.map(|at| at as u64);
        }
    }
}
