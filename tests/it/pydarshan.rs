//! pydarshan reads what our writer writes, value by value.

use crate::random::Random;
use crate::support::{python, run_python};
use any_log::{VERSIONS, expected, log};
use iolode::source::darshan::ModuleId;
use iolode::source::darshan::counters::posix;
use iolode::source::darshan::header::{ByteOrder, Compression};
use iolode::source::darshan::write::{
    Apmpi, ApmpiRecord, Component, DarshanLog, Extra, Heatmap, Job, Layout, Mdhim, Module, Record,
    Records, Segment, Trace, mount,
};
use serde_json::{Value, json};

/// The generator of the writer's own tests.
#[path = "../../src/source/darshan/write/tests/any_log.rs"]
pub(crate) mod any_log;

crate::tests! {
    [Packages] => {
        pydarshan_reads_every_value,
    }
}

/// Whether a version has a place for a module: before 3.41 it has 16 and none for PNETCDF_VAR, before 3.20 none for H5D either.
fn has_place(version: (u16, u16), id: ModuleId) -> bool {
    let came = [(ModuleId::PNETCDF_VAR, (3, 41)), (ModuleId::H5D, (3, 20))];
    let mut unknown = came.map(|(id, since)| (version < since).then_some(id));
    unknown.sort();
    let before = unknown.iter().flatten().filter(|other| **other < id);
    let places = if version < (3, 41) { 16 } else { 64 };
    !unknown.contains(&Some(id)) && usize::from(id.0) - before.count() < places
}

/// [`expected`] as libdarshan 3.5.0 says it; None: a value that it gets wrong.
fn by_libdarshan(
    id: ModuleId,
    version: u32,
    record: &Record,
    big: bool,
) -> (Vec<Option<i64>>, Vec<Option<f64>>) {
    let (mut ints, mut floats) = expected(id, version, record);
    match (id, version) {
        (ModuleId::POSIX, 1..=3) => {
            ints[posix::RENAMED_FROM] = Some(0);
            // It loses the last doubles on the way to version 4, and does not swap three of the times.
            let lost = if version < 3 { 13..17 } else { 15..17 };
            let garbled = if big { 10..13 } else { 0..0 };
            lost.chain(garbled).for_each(|at| floats[at] = None);
        }
        // It adds the two kinds of opens before it swaps them: carries are lost.
        (ModuleId::PNETCDF_FILE, 1..=2) if big => ints[1] = None,
        _ => {}
    }
    (ints, floats)
}

/// What pydarshan should say of a module.
fn module_json(module: &Module, big: bool) -> Value {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let records: Vec<Value> = match &module.records {
        Records::Counters(records) => records
            .iter()
            .map(|record| {
                let (ints, floats) = by_libdarshan(module.id, module.version, record, big);
                let file = match (&record.extra, module.id, module.version) {
                    (Extra::File(_), ModuleId::H5D, 1) => json!(0),
                    // libdarshan swaps it by the version of another module.
                    (Extra::File(_), ModuleId::H5D, _) if big => Value::Null,
                    (Extra::File(file), ..) => json!(file),
                    _ => Value::Null,
                };
                let tail = match (&record.extra, module.id) {
                    (Extra::Stored { pool, container, object }, id) => {
                        let mut tail = [*pool, *container].concat();
                        if big {
                            // libdarshan swaps UUIDs as if they were numbers.
                            tail.chunks_mut(16).for_each(<[u8]>::reverse);
                        }
                        if id == ModuleId::DAOS {
                            tail.extend_from_slice(&object.0.to_le_bytes());
                            tail.extend_from_slice(&object.1.to_le_bytes());
                        }
                        tail
                    }
                    _ => vec![],
                };
                json!({"id": record.id, "rank": record.rank, "ints": ints, "floats": floats, "file": file, "tail": tail})
            })
            .collect(),
        Records::Lustre(layouts) => layouts
            .iter()
            .map(|layout| {
                let kept = layout.components.iter().take_while(|c| c.stripe_size != -1);
                let kept = kept.take(if module.version == 1 { 1 } else { usize::MAX });
                let components = kept.map(|c| {
                    let count = c.osts.len() as i64;
                    let ints = match module.version {
                        1 => [c.stripe_size, count, -1, -1, 0, -1, -1],
                        _ => [c.stripe_size, count, c.pattern, c.flags, c.ext_start, c.ext_end, c.mirror_id],
                    };
                    json!({"ints": ints, "pool": text(&c.pool), "osts": c.osts})
                });
                json!({"id": layout.id, "rank": layout.rank, "components": components.collect::<Vec<_>>()})
            })
            .collect(),
        Records::Dxt(traces) => traces
            .iter()
            .map(|trace| {
                let no_offset = module.id == ModuleId::DXT_MPIIO && module.version == 1;
                let segments = |segments: &[Segment]| -> Vec<Value> {
                    let offset = |s: &Segment| if no_offset { -1 } else { s.offset };
                    segments.iter().map(|s| json!([offset(s), s.length, s.start, s.end])).collect()
                };
                let host = text(&trace.hostname);
                let (writes, reads) = (segments(&trace.writes), segments(&trace.reads));
                json!({"id": trace.id, "rank": trace.rank, "host": host, "writes": writes, "reads": reads})
            })
            .collect(),
        Records::Heatmap(heatmaps) => heatmaps
            .iter()
            .map(|h| json!({"id": h.id, "rank": h.rank, "width": h.bin_width, "writes": h.writes, "reads": h.reads}))
            .collect(),
        Records::Mdhim(records) => records
            .iter()
            .map(|r| {
                let ints = [&r.ints[..], &r.servers].concat();
                json!({"id": r.id, "rank": r.rank, "ints": ints, "floats": r.floats})
            })
            .collect(),
        Records::Apmpi(apmpi) => {
            let head = json!({"id": apmpi.id, "rank": 0, "sync": 1,
                "variances": [apmpi.variance_total, apmpi.variance_sync]});
            let records = apmpi.records.iter().map(
                |r| json!({"id": r.id, "rank": r.rank, "ints": r.ints, "floats": r.floats, "node": text(&r.node)}),
            );
            std::iter::once(head).chain(records).collect()
        }
        Records::Raw(_) => vec![],
    };
    json!({"id": module.id.0, "version": module.version, "records": records})
}

/// What pydarshan should say of a log.
fn log_json(log: &DarshanLog) -> Value {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let nanos = |nanos: i64| if log.version < (3, 41) { 0 } else { nanos };
    let job = &log.job;
    let mounts: Vec<_> = job
        .mounts
        .iter()
        .map(|m| json!([text(&m.path), text(&m.fs_type)]))
        .collect();
    let names: Vec<_> = log
        .names
        .iter()
        .map(|(id, name)| json!([id, text(name)]))
        .collect();
    let modules = log.modules.iter();
    let held = modules.filter(|module| has_place(log.version, module.id));
    let big = log.byte_order == ByteOrder::Big;
    let modules: Vec<_> = held.map(|module| module_json(module, big)).collect();
    // libdarshan does not swap the flags.
    let partial = if big { Value::Null } else { json!([1, 9]) };
    json!({
        "version": format!("{}.{:02}", log.version.0, log.version.1),
        "job": [job.uid, job.start.0, nanos(job.start.1), job.end.0, nanos(job.end.1), job.nprocs, job.job_id],
        "metadata": text(&job.metadata), "exe": text(&job.exe), "mounts": mounts, "names": names, "modules": modules,
        "partial": partial,
    })
}

/// The library in the wheel refuses DXT segments with a thread, which came after its release.
pub(crate) fn without_threads(log: &mut DarshanLog) {
    for module in &mut log.modules {
        match module.id {
            ModuleId::DXT_POSIX => module.version = 1,
            ModuleId::DXT_MPIIO => module.version = module.version.min(2),
            _ => {}
        }
    }
}

fn pydarshan_reads_every_value() {
    let dir = tempfile::tempdir().unwrap();
    let mut expect = serde_json::Map::new();
    for (number, version) in VERSIONS.into_iter().enumerate() {
        for back in 0..4 {
            let mut log = log(number as u64, version, back, 2 + back as usize * 3);
            without_threads(&mut log);
            if back == 0 {
                log.compression = Compression::Bzip2;
                let file = format!("{}.{:02}-{back}.bzip2", version.0, version.1);
                std::fs::write(dir.path().join(&file), log.to_bytes()).unwrap();
            }
            // bzip2 is not in the wheel: Python compares it with the log that is not compressed.
            let (zlib, none) = (Compression::Zlib, Compression::None);
            for (order, compression) in [
                (ByteOrder::Little, zlib),
                (ByteOrder::Big, zlib),
                (ByteOrder::Little, none),
            ] {
                (log.byte_order, log.compression) = (order, compression);
                let file = format!(
                    "{}.{:02}-{back}-{order:?}-{compression:?}.darshan",
                    version.0, version.1
                );
                std::fs::write(dir.path().join(&file), log.to_bytes()).unwrap();
                expect.insert(file, log_json(&log));
            }
        }
    }
    std::fs::write(
        dir.path().join("expect.json"),
        Value::Object(expect).to_string(),
    )
    .unwrap();
    let said = run_python(&python(), "pydarshan/compare_written.py", &[dir.path()]);
    // The count proves that the comparison ran at all.
    assert!(
        said.contains("60 logs") && said.contains("5 bzip2 logs"),
        "{said}"
    );
}
