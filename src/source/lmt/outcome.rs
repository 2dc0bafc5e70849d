//! How whole a dump of LMT was.

use crate::source::{Outcome, Status};

/// What became of an input with these faults.
pub(super) fn outcome(status: Status, faults: Vec<String>) -> Outcome {
    match faults.is_empty() {
        true => Outcome::default(),
        false => Outcome {
            status,
            why: Some(faults.join("; ").replace(['\n', '\r'], " ")),
        },
    }
}
