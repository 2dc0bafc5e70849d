//! What the lakes of `.slt` files are made of: jobs, records and layouts of Darshan logs, and dumps of LMT's database.

use iolode::answer::analysis::DERIVED;
use iolode::lake::{CreateOptions, IngestOptions, Lake, Mount as FileSystem, Silent, SiteFile};
use iolode::source::darshan::write::{Component, Job, Layout, Record, mount};
use std::fs;
use std::path::Path;

/// A new lake in `directory` of these logs and dumps, each a name and what the file holds. `/scratch` is a file system of 8 OSTs,
/// which LMT calls `scr`.
pub(crate) fn lake(directory: &Path, logs: &[(String, Vec<u8>)], dumps: &[(&str, String)]) -> Lake {
    let site = SiteFile {
        mount: vec![FileSystem {
            lmt: Some("scr".into()),
            path: "/scratch".into(),
            fs: "scratch".into(),
            osts: Some("0-7".parse().expect("a list")),
            stripe_size: None,
            stripe_count: None,
        }],
        ..SiteFile::default()
    };
    let options = CreateOptions {
        settings: site.to_text().expect("settings"),
        ..CreateOptions::default()
    };
    let lake = Lake::create(directory.join("lake"), &options).expect("a new lake");
    let [logs_in, dumps_in] = ["logs", "dumps"].map(|name| directory.join(name));
    fs::create_dir(&logs_in).expect("a new directory");
    fs::create_dir(&dumps_in).expect("a new directory");
    for (name, log) in logs {
        fs::write(logs_in.join(name), log).expect("a new file");
    }
    for (name, dump) in dumps {
        fs::write(dumps_in.join(name), dump).expect("a new file");
    }
    let options = IngestOptions {
        paths: vec![logs_in.into(), dumps_in.into()],
        dxt: true,
        derived: DERIVED,
        analyze: vec!["mosaic".into()],
        threads: 2,
        ..IngestOptions::default()
    };
    lake.ingest(&options, &Silent).expect("logs are taken in");
    lake
}

pub(crate) fn job(job_id: i64, uid: i64, start: i64, seconds: i64, nprocs: i64, exe: &str) -> Job {
    Job {
        uid,
        start: (start, 0),
        end: (start + seconds, 0),
        nprocs,
        job_id,
        metadata: b"lib_ver=3.4.7\n".to_vec(),
        exe: exe.into(),
        mounts: vec![mount("lustre", "/scratch"), mount("ext4", "/")],
    }
}

/// A record with the named counters; the others are 0.
pub(crate) fn record(id: u64, rank: i64, ints: &[(usize, i64)], floats: &[(usize, f64)]) -> Record {
    let mut record = Record {
        id,
        rank,
        ints: vec![0; 69],
        floats: vec![0.0; 17],
        ..Record::default()
    };
    ints.iter().for_each(|(i, value)| record.ints[*i] = *value);
    floats
        .iter()
        .for_each(|(i, value)| record.floats[*i] = *value);
    record
}

/// Stripes of a file, on these OSTs of 8.
pub(crate) fn layout(id: u64, stripe_size: i64, osts: &[i64]) -> Layout {
    Layout {
        id,
        rank: -1,
        osts: 8,
        mdts: 1,
        stripe_offset: -1,
        components: vec![Component::plain(stripe_size, osts.to_vec())],
    }
}

/// A mysqldump of the database of `scr`: tables and their rows, and the times of samples, which are numbered from 1.
pub(crate) fn mysqldump(tables: &[(&str, Vec<String>)], times: &[String]) -> String {
    let stamps = times.iter().enumerate();
    let stamps = stamps.map(|(i, time)| format!("({},'{time}')", i + 1));
    let stamps = ("TIMESTAMP_INFO", stamps.collect());
    let info = ("FILESYSTEM_INFO", vec!["(1,'scr','scr',1.1)".to_string()]);
    let all = [&info].into_iter().chain(tables).chain([&stamps]);
    let rows =
        all.map(|(table, rows)| format!("INSERT INTO `{table}` VALUES {};\n", rows.join(",")));
    let rows: String = rows.collect();
    format!(
        "-- MySQL dump 10.13\n--\n-- Host: localhost    Database: filesystem_scr\n-- ------\n{rows}-- Dump completed\n"
    )
}
