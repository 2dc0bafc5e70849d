//! Real logs and dumps with bytes changed, cut or put in, from a seed. What libFuzzer finds is beside, in `fuzz_targets`.

mod damage;
pub(crate) mod darshan;
pub(crate) mod lmt;
pub(crate) mod slurm;

use crate::random::Random;
use iolode::source::Input;
use iolode::source::darshan::header::{ByteOrder, Compression};
use iolode::source::darshan::log::Log;

/// A number that the environment gives.
fn variable(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|n| n.parse().ok());
    value.unwrap_or(otherwise)
}
