//! A synthetic month of Darshan logs.

mod random;

pub(crate) use random::Random;
