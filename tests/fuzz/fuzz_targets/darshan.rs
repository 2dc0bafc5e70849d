//! Any bytes as a Darshan log: no panic, and no memory beyond what inflating can give.
#![no_main]

use iolode::source::darshan::Darshan;
use iolode::source::{Input, ReadContext, Source, BatchSink};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|data: &[u8]| {
    let input = Input::from_bytes("fuzz.darshan", data.to_vec());
    let _ = Darshan.probe(input.path(), &data[..data.len().min(4096)]);
    let _ = Darshan.peek(&input);
    let mut tables = BatchSink::new(Darshan.tables().iter().copied()).unwrap();
    let outcome = Darshan
        .reader(Arc::new(ReadContext::default()))
        .read(&input, 1, None, &mut tables);
    for builder in tables.builders() {
        assert!(
            outcome.is_ok() || builder.rows() == 0,
            "rows of a refused log"
        );
        assert!(builder.bytes() <= 64 * 1032 * data.len().max(1000));
        builder.finish().unwrap();
    }
});
