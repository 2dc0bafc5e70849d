//! Any bytes as a manifest: read, or refused in one line.
#![no_main]

use iolode::lake::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(why) = Manifest::parse(data) {
        let why = why.to_string();
        assert!(!why.contains('\n'), "more than one line: {why}");
    }
});
