//! `darshan_file` of a log that is written here. Real logs are compared with a reference in tests/it/darshan_reference.rs.

use crate::source::darshan::Darshan;
use crate::source::{BatchSink, Input, Source};
use crate::table::columns::{floats, ints};
use std::sync::Arc;

#[test]
fn a_trace_tells_the_writers_of_a_shared_file_at_the_level_of_its_source() {
    use super::super::write::{DarshanLog, Job};
    use crate::source::darshan::ModuleId;
    use crate::source::darshan::counters::{mpiio, posix};
    use crate::source::darshan::write::{Module, Record, Records, Segment, Trace};
    // 100 bytes in 1 s of writing within a window of 2 s.
    let record = |id, n: (usize, usize), bytes, calls, start, end, time| {
        let (mut ints, mut floats) = (vec![0; n.0], vec![0.0; n.1]);
        (ints[bytes], ints[calls]) = (100, 1);
        (floats[start], floats[end], floats[time]) = (1.0, 3.0, 1.0);
        Record {
            id,
            rank: -1,
            ints,
            floats,
            ..Record::default()
        }
    };
    let posix = |id| {
        let (start, end) = (posix::F_WRITE_START_TIMESTAMP, posix::F_WRITE_END_TIMESTAMP);
        record(
            id,
            (69, 17),
            posix::BYTES_WRITTEN,
            posix::WRITES,
            start,
            end,
            posix::F_WRITE_TIME,
        )
    };
    let mpiio = |id| {
        let (start, end) = (mpiio::F_WRITE_START_TIMESTAMP, mpiio::F_WRITE_END_TIMESTAMP);
        record(
            id,
            (51, 17),
            mpiio::BYTES_WRITTEN,
            mpiio::COLL_WRITES,
            start,
            end,
            mpiio::F_WRITE_TIME,
        )
    };
    let traces = |id, ranks: &[i64]| -> Vec<Trace> {
        let segment = Segment {
            offset: 0,
            length: 50,
            start: 1.0,
            end: 2.0,
            thread: 0,
        };
        ranks
            .iter()
            .map(|rank| Trace {
                id,
                rank: *rank,
                writes: vec![segment],
                ..Trace::default()
            })
            .collect()
    };
    let log = DarshanLog {
        job: Job {
            nprocs: 4,
            job_id: 9,
            ..Job::default()
        },
        modules: vec![
            Module::new(ModuleId::POSIX, 4, Records::Counters(vec![posix(1)])),
            Module::new(ModuleId::MPIIO, 3, Records::Counters(vec![mpiio(2)])),
            Module::new(
                ModuleId::DXT_POSIX,
                1,
                Records::Dxt([traces(1, &[2]), traces(2, &[0])].concat()),
            ),
            Module::new(ModuleId::DXT_MPIIO, 2, Records::Dxt(traces(2, &[0, 1, 3]))),
        ],
        ..DarshanLog::default()
    };
    let mut tables = BatchSink::new(["darshan_file", "darshan_dxt"]).unwrap();
    let input = Input::from_bytes("traced.darshan", log.to_bytes());
    Darshan
        .reader(Arc::default())
        .read(&input, 1, None, &mut tables)
        .unwrap();
    let files = tables.get("darshan_file").unwrap().finish().unwrap();
    assert_eq!(ints(&files, "writers"), [Some(1), Some(3)]);
    assert_eq!(floats(&files, "write_busy"), [Some(0.5), Some(1.0 / 6.0)]);
}
