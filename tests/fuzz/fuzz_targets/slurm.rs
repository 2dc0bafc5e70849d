//! Any bytes as what sacct printed, as text or JSON: no panic, whole rows, and memory in proportion.
#![no_main]

use iolode::source::slurm::Slurm;
use iolode::source::{Input, ReadContext, Source, BatchSink};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|data: &[u8]| {
    let input = Input::from_bytes("fuzz", data.to_vec());
    let head = &data[..data.len().min(4096)];
    if !Slurm.probe(input.path(), head) || Slurm.peek(&input).is_err() {
        return;
    }
    let mut tables = BatchSink::new(Slurm.tables().iter().copied()).unwrap();
    let _ = Slurm
        .reader(Arc::new(ReadContext::default()))
        .read(&input, 1, None, &mut tables);
    for (name, builder) in Slurm.tables().iter().zip(tables.builders()) {
        let rows = builder.finish().unwrap();
        // One by one: what a lake does beside sorting.
        let mut merger = Slurm.row_merger(name).unwrap();
        for row in 0..rows.num_rows().min(64) {
            merger.start_day();
            merger.resolve(&rows.slice(row, 1)).unwrap();
        }
    }
});
