//! Whether everything that a version names is there, readable and where it belongs.

use super::Lake;
use super::manifest::Manifest;
use super::parts::{DataFile, read_part};
use super::snapshot::Snapshot;
use super::store::Store;
use super::writer::read_data;
use crate::error::Result;
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::collections::{HashMap, HashSet};

/// Something that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The version that was checked.
    pub version: u64,
    /// Data files read.
    pub files: u64,
    /// Rows in them.
    pub rows: u64,
    /// What is wrong; empty in a sound lake.
    pub wrong: Vec<Finding>,
    /// Files that no version names: left by a killed or beaten writer, or being written now. `vacuum` removes old ones.
    pub unreferenced: Vec<String>,
}

impl Lake {
    /// Reads everything that the newest version names, and checks it against the manifest.
    ///
    /// # Errors
    /// Only what keeps the lake from being looked at; what is wrong in it is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let snapshot = self.snapshot(None)?;
        let mut report = CheckReport {
            version: snapshot.version(),
            ..CheckReport::default()
        };
        let store = self.store();
        for file in snapshot.files() {
            match check_file(&snapshot, file) {
                Ok(rows) => {
                    report.files += 1;
                    report.rows += rows;
                }
                Err(what) => report.wrong.push(Finding {
                    path: file.path.clone(),
                    what,
                }),
            }
        }
        let mut ranges: HashMap<(&str, Option<usize>), usize> = HashMap::new();
        for file in snapshot.files() {
            *ranges.entry((&file.table, file.range)).or_default() += 1;
        }
        for ((table, range), n) in ranges.into_iter().filter(|(_, n)| *n > 1) {
            report.wrong.push(Finding {
                path: table.into(),
                what: format!("{n} files in range {range:?}; there should be one"),
            });
        }
        for part in &snapshot.manifest().inputs {
            let mut rows = 0;
            let read = read_part(store, part, |batch| {
                rows += batch.num_rows() as u64;
                Ok(())
            });
            match read {
                Err(e) => report.wrong.push(Finding {
                    path: part.path.clone(),
                    what: e.to_string(),
                }),
                Ok(()) if rows != part.rows => {
                    report.wrong.push(Finding {
                        path: part.path.clone(),
                        what: format!("{rows} rows; the manifest says {}", part.rows),
                    });
                }
                Ok(()) => {}
            }
        }
        let named = named_by_versions(store, &Manifest::versions(store)?, &mut report.wrong)?;
        report.unreferenced = data_and_parts(store, snapshot.files())?
            .into_iter()
            .filter(|path| !named.contains(path))
            .collect();
        Ok(report)
    }
}

/// Reads a data file's keys; the number of its rows, or what is wrong.
fn check_file(snapshot: &Snapshot, file: &DataFile) -> Result<u64, String> {
    let (mut rows, mut before, splits) = (0u64, None, snapshot.splits());
    for batch in read_data(snapshot.store(), &file.path, 65_536).map_err(|e| e.to_string())? {
        let batch = batch.map_err(|e| e.to_string())?;
        rows += batch.num_rows() as u64;
        let column = |name: &str| {
            batch
                .column_by_name(name)
                .and_then(|c| c.as_primitive_opt::<Int64Type>())
        };
        let (Some(jobs), Some(logs)) = (column("job_id"), column("log_id")) else {
            return Err("it lacks job_id or log_id".into());
        };
        for key in jobs
            .values()
            .iter()
            .zip(logs.values())
            .map(|(job, log)| (*job, *log))
        {
            if before.is_some_and(|before| before > key) {
                return Err(format!("job {} is out of order", key.0));
            }
            if file
                .range
                .is_some_and(|range| super::range_of(splits, key.0) != range)
            {
                return Err(format!(
                    "job {} does not belong to range {:?}",
                    key.0, file.range
                ));
            }
            before = Some(key);
        }
    }
    match rows == file.rows {
        true => Ok(rows),
        false => Err(format!("{rows} rows; the manifest says {}", file.rows)),
    }
}

/// Paths of data files and lists that some version names. A manifest that cannot be read is noted in `wrong`.
pub(super) fn named_by_versions(
    store: &Store,
    versions: &[u64],
    wrong: &mut Vec<Finding>,
) -> Result<HashSet<String>> {
    let mut named = HashSet::new();
    for version in versions {
        let loaded = Manifest::read(store, *version).and_then(|manifest| {
            let Some(manifest) = manifest else {
                return Ok(None);
            };
            named.extend(
                manifest
                    .inputs
                    .iter()
                    .chain(&manifest.files)
                    .map(|part| part.path.clone()),
            );
            Snapshot::load(store.clone(), manifest).map(Some)
        });
        match loaded {
            Ok(Some(snapshot)) => {
                named.extend(snapshot.files().iter().map(|file| file.path.clone()))
            }
            Ok(None) => {}
            Err(e) => wrong.push(Finding {
                path: Manifest::path(*version),
                what: e.to_string(),
            }),
        }
    }
    Ok(named)
}

/// Everything in the lake that a version may name: Parquet below it, and beside the data files that lie elsewhere.
pub(super) fn data_and_parts(store: &Store, files: &[DataFile]) -> Result<Vec<String>> {
    let mut paths: Vec<String> = store
        .list("")?
        .into_iter()
        .map(|entry| entry.path)
        .filter(|path| path.ends_with(".parquet"))
        .collect();
    let elsewhere: HashSet<String> = files
        .iter()
        .filter(|file| file.path.starts_with('/'))
        .filter_map(|file| Some(file.path.rsplit_once('/')?.0.to_string()))
        .collect();
    for directory in elsewhere {
        paths.extend(store.list(&directory)?.into_iter().map(|entry| entry.path));
    }
    Ok(paths)
}
