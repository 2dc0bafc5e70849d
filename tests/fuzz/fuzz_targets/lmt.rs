//! Any bytes as a mysqldump of LMT, an ltop recording, or one of its other forms: no panic, whole rows, and memory in proportion.
#![no_main]

use iolode::source::lmt::Lmt;
use iolode::source::{Input, ReadContext, Source, BatchSink};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|data: &[u8]| {
    let input = Input::from_bytes("fuzz", data.to_vec());
    let head = &data[..data.len().min(4096)];
    if !Lmt.probe(input.path(), head) || Lmt.peek(&input).is_err() {
        return;
    }
    let mut tables = BatchSink::new(Lmt.tables().iter().copied()).unwrap();
    let _ = Lmt
        .reader(Arc::new(ReadContext::default()))
        .read(&input, 1, None, &mut tables);
    for (name, builder) in Lmt.tables().iter().zip(tables.builders()) {
        let rows = builder.finish().unwrap();
        // One by one: what a lake does beside sorting.
        let mut merger = Lmt.row_merger(name).unwrap();
        for row in 0..rows.num_rows().min(64) {
            merger.start_day();
            merger.resolve(&rows.slice(row, 1)).unwrap();
        }
    }
});
