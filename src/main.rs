//! iolode.
fn main(){}
