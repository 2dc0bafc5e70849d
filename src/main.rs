//! iolode.
fn main() {}
