//! Whether everything that a version names is there, readable and where it belongs.

use super::referenced::Referenced;
use super::referenced::real;
use crate::error::{Error, Result};
use crate::lake::Lake;
use crate::lake::file::data_reader::{damaged, read_rows};
use crate::lake::ingest::external_sort::Keys;
use crate::lake::version::list_file::{DataFile, batch_to_inputs, day_name, read_list};
use crate::lake::version::manifest::{Manifest, VERSION_HINT, go_back, hint};
use crate::lake::version::snapshot::Snapshot;
use crate::lake::version::store::{Entry, TEMPORARY};
use crate::lake::version::time::DAY;
use crate::table::{TABLES, table};
use crate::text::{shown, shown_path};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

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
    /// What is wrong with the newest version; empty in a sound lake.
    pub wrong: Vec<Finding>,
    /// To which version to go back if files of the newest are wrong: the newest that needs none of them.
    pub remedy: Option<String>,
    /// What the file system did not let be read, and its reason: whether that is right is not known.
    pub unread: Vec<Finding>,
    /// Data files that lie on other OSTs than the lake has noted. Their rows are right.
    pub misplaced: Vec<Finding>,
    /// Older versions that can be neither read nor restored. Those after them need nothing of theirs, and a vacuum removes them.
    pub superseded: Vec<Finding>,
    /// Files that no version names: left by a killed or beaten writer, or being written now. `vacuum` removes old ones.
    pub unreferenced: Vec<String>,
}

impl Lake {
    /// Reads everything that the newest version names, and checks it against the manifest. Of older versions the manifests and lists are read.
    ///
    /// # Errors
    /// Only what keeps the lake from being looked at; what is wrong in it is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let snapshot = self.snapshot(None)?;
        let mut report = CheckReport {
            version: snapshot.version(),
            ..CheckReport::default()
        };
        let (store, place) = (self.store(), snapshot.site()?.place);
        // Without the lists of inputs, which are looked at below, nothing can be said about single logs.
        let taken: Option<HashSet<i64>> = snapshot.inputs().ok().map(|rows| {
            rows.iter()
                // Rows of dumps do not say which one they came from.
                .filter(|row| row.status.has_rows() && row.job_id.is_some())
                .filter_map(|row| row.content_hash)
                .collect()
        });
        let mut seen = HashSet::new();
        // Data files below a directory that is not there, such as one on a file system that is not mounted.
        let mut unreachable: BTreeMap<PathBuf, u64> = BTreeMap::new();
        // The oldest version that has written a wrong data file, and the lists that are wrong.
        let (mut oldest, mut lists): (Option<u64>, Vec<&str>) = (None, vec![]);
        for file in snapshot.files() {
            if let Some(directory) = store.local(&file.path).as_deref().and_then(missing) {
                *unreachable.entry(directory).or_default() += 1;
                continue;
            }
            let (whole, path) = (shown_path(&store.show(&file.path)), shown(&file.path));
            let damaged = damaged(store, &file.path);
            // The finding names the file already.
            let prefixes = [format!("{}: ", shown(&damaged)), format!("{whole}: ")];
            let plain =
                |what: String| match prefixes.iter().find_map(|prefix| what.strip_prefix(prefix)) {
                    Some(rest) => rest.to_string(),
                    None if what.contains(&format!("{path} is missing")) => "it is missing".into(),
                    None => what,
                };
            let path = file.path.clone();
            match check_file(&snapshot, file, &taken, &mut seen) {
                Ok(rows) => {
                    report.files += 1;
                    report.rows += rows;
                    let local = store.local(&file.path);
                    let otherwise = local.and_then(|local| place.misplaced(&local, file.ost));
                    let finding = |what| Finding { path, what };
                    report.misplaced.extend(otherwise.map(finding));
                }
                Err(Flaw::Wrong(what)) => {
                    let what = plain(what);
                    oldest = Some(oldest.map_or(file.version, |oldest| oldest.min(file.version)));
                    report.wrong.push(Finding { path, what });
                }
                Err(Flaw::Unread(what)) => {
                    let what = plain(what);
                    report.unread.push(Finding { path, what });
                }
            }
        }
        for (directory, files) in unreachable {
            report.wrong.push(Finding {
                path: directory.to_string_lossy().into_owned(),
                what: format!(
                    "the directory is missing, and with it {files} of the lake's data files; is its file system mounted?"
                ),
            });
        }
        let lost = taken.iter().flatten().filter(|log| !seen.contains(log));
        // What a damaged file held is not known, and neither what one holds that cannot be read.
        let all_known = report.wrong.is_empty() && report.unread.is_empty();
        if let (Some(least), true) = (lost.clone().min(), all_known) {
            report.wrong.push(Finding {
                path: Manifest::path(snapshot.version()),
                what: format!(
                    "imported logs without rows: {}, such as {least}",
                    lost.count()
                ),
            });
        }
        let mut parts: HashMap<_, usize> = HashMap::new();
        for file in snapshot.files() {
            *parts
                .entry((&file.table, file.range, &file.day))
                .or_default() += 1;
        }
        for ((table, range, day), n) in parts.into_iter().filter(|(_, n)| *n > 1) {
            let part = match day {
                Some((fs, day)) => format!("for {fs} on {}", day_name(*day)),
                None => format!("in range {range:?}"),
            };
            report.wrong.push(Finding {
                path: table.clone(),
                what: format!("{n} files {part}; there should be one"),
            });
        }
        for part in &snapshot.manifest().inputs {
            let mut is_sorted = true;
            let rows = read_list(store, part).and_then(|batches| {
                let (mut rows, mut last) = (0, None);
                for batch in batches {
                    batch_to_inputs(&batch?, |row| {
                        let (first, end) = match &part.paths {
                            Some((first, end)) => (first.as_str(), end.as_str()),
                            None => ("", ""),
                        };
                        let ascends = last.as_ref().is_none_or(|last| *last < row.path);
                        is_sorted &= ascends && (first..=end).contains(&&*row.path);
                        last = Some(row.path);
                        rows += 1;
                    })?;
                }
                Ok(rows)
            });
            match rows {
                Err(e) => {
                    let path = part.path.clone();
                    match Flaw::from(e) {
                        Flaw::Wrong(what) => {
                            lists.push(&part.path);
                            report.wrong.push(Finding { path, what });
                        }
                        Flaw::Unread(what) => report.unread.push(Finding { path, what }),
                    }
                }
                Ok(rows) if rows != part.rows => {
                    report.wrong.push(Finding {
                        path: part.path.clone(),
                        what: format!("{rows} rows; the manifest says {}", part.rows),
                    });
                }
                Ok(_) if !is_sorted => report.wrong.push(Finding {
                    path: part.path.clone(),
                    what: "its paths do not ascend as the manifest says".into(),
                }),
                Ok(_) => {}
            }
        }
        if oldest.is_some() || !lists.is_empty() {
            report.remedy = Some(go_back(store, |manifest| {
                oldest.is_none_or(|oldest| manifest.version < oldest)
                    && !lists.iter().any(|list| manifest.has_list(list))
            }));
        }
        let mut named = Referenced::default();
        let versions = Manifest::versions(store)?;
        for pair in versions.windows(2) {
            // Vacuum removes the oldest ones and never leaves a gap.
            let [before, after] = pair else { continue };
            let what = match after - before {
                0 | 1 => continue,
                2 => format!("version {} is missing", before + 1),
                _ => format!("versions {} to {} are missing", before + 1, after - 1),
            };
            report.superseded.push(Finding {
                path: Manifest::path(before + 1),
                what,
            });
        }
        if let Some((hinted, _)) = hint(store).filter(|(hinted, _)| *hinted > report.version) {
            report.wrong.push(Finding {
                path: VERSION_HINT.into(),
                what: format!("it names version {hinted}, whose manifest is missing: what came after version {} is lost unless it is ingested again", report.version),
            });
        }
        for version in versions {
            if let Err(e) = named.add(store, version) {
                if let Error::Io { path, .. } = &e {
                    let path = path.to_string_lossy().into_owned();
                    let what = format!("version {version}: {e}");
                    report.unread.push(Finding { path, what });
                    continue;
                }
                let why = e.to_string();
                let (lake, rest) = (shown_path(&store.show("")), why.as_str());
                let rest = rest.strip_prefix(&format!("lake {lake}: ")).unwrap_or(rest);
                let rest = rest.strip_prefix(&format!("version {version}: "));
                // What follows says how to go back from it, but the newest version could be read.
                let rest = rest.unwrap_or(&why).split("; ").next();
                let found = Finding {
                    path: Manifest::path(version),
                    what: format!(
                        "version {version} can be neither read nor restored: {}",
                        rest.unwrap_or(&why)
                    ),
                };
                match version < report.version {
                    true => report.superseded.push(found),
                    false => report.wrong.push(found),
                }
            }
        }
        report.unreferenced = present(self, named.placed())?
            .into_iter()
            .map(|entry| entry.path)
            .filter(|path| !named.contains(store, path))
            .collect();
        Ok(report)
    }
}

/// The highest directory above `file` that is not there.
fn missing(file: &Path) -> Option<PathBuf> {
    let above = file.ancestors().skip(1);
    above
        .take_while(|directory| directory.try_exists().is_ok_and(|there| !there))
        .last()
        .map(Path::to_path_buf)
}

/// Why a file is not known to be right.
enum Flaw {
    /// It is not what was written.
    Wrong(String),
    /// The file system did not let it be read.
    Unread(String),
}

impl From<Error> for Flaw {
    fn from(e: Error) -> Self {
        match e {
            Error::Io { .. } => Self::Unread(e.to_string()),
            e => Self::Wrong(e.to_string()),
        }
    }
}

/// Reads a data file whole; the number of its rows, or what is wrong. `taken` are the logs that the lake knows to hold, `seen`
/// those of which there are rows.
fn check_file(
    snapshot: &Snapshot,
    file: &DataFile,
    taken: &Option<HashSet<i64>>,
    seen: &mut HashSet<i64>,
) -> Result<u64, Flaw> {
    let wrong = |what: &str| Err(Flaw::Wrong(what.into()));
    if let Some(hash) = file.content_hash {
        let found = snapshot.store().hash(&file.path)?;
        if found.is_some_and(|found| found != hash) {
            return wrong("its bytes are not those that were written");
        }
    }
    let table = table(&file.table)?;
    let keys = Keys::new(table)?;
    // Whether it is known where a row stands, and so which one it is.
    let is_keyed = |rows: &RecordBatch, row: usize| {
        let known = |name: &String| {
            table
                .position(name)
                .is_some_and(|at| rows.column(at).is_valid(row))
        };
        table.sort.iter().all(known)
    };
    let (mut rows, mut jobs) = (0u64, None::<(i64, i64)>);
    // Key of the last row.
    let mut last: Option<Box<[u8]>> = None;
    let batches = read_rows(snapshot.store(), table, &file.path, 65_536);
    for batch in batches? {
        let batch = batch?;
        let key = keys.of(&batch)?;
        for row in 0..key.num_rows() {
            let (before, here) = (row.checked_sub(1).map(|row| key.row(row)), key.row(row));
            let before = before.as_ref().map(|row| row.as_ref()).or(last.as_deref());
            let number = rows + row as u64;
            match before.map(|before| before.cmp(here.as_ref())) {
                Some(Ordering::Greater) => return wrong(&format!("row {number} is out of order")),
                // Of rows whose dumps did not say when they were submitted or started it is not known whether they are one.
                Some(Ordering::Equal) if is_keyed(&batch, row) => {
                    return wrong(&format!("row {number} has the key of the row before"));
                }
                _ => {}
            }
        }
        last = key
            .num_rows()
            .checked_sub(1)
            .map(|row| key.row(row).as_ref().into())
            .or(last);
        rows += batch.num_rows() as u64;
        let column = |name: &str| Some(batch.column(table.position(name)?));
        if let Some((fs, day)) = &file.day {
            let (Some(names), Some(times)) = (column("fs"), column("time")) else {
                return wrong("it lacks fs or time");
            };
            let times = times.as_primitive::<TimestampMicrosecondType>().values();
            let here = |(name, time): (Option<&str>, &i64)| {
                name == Some(fs) && time.div_euclid(DAY) == *day
            };
            if !names.as_string::<i32>().iter().zip(times).all(here) {
                return wrong(&format!("rows that are not of {fs} on {}", day_name(*day)));
            }
        }
        let Some(ids) = column("job_id").map(|c| c.as_primitive::<Int64Type>().values()) else {
            continue;
        };
        let (Some(least), Some(most)) = (ids.first(), ids.last()) else {
            continue;
        };
        let outside = |job: &&i64| {
            let range = crate::lake::range_of(snapshot.splits(), **job);
            file.range.is_some_and(|of_file| of_file != range)
        };
        if let Some(job) = [least, most].into_iter().find(outside) {
            return wrong(&format!(
                "job {job} does not belong to range {:?}",
                file.range
            ));
        }
        jobs = Some((jobs.map_or(*least, |(least, _)| least), *most));
        let Some(logs) = column("log_id").map(|c| c.as_primitive::<Int64Type>().values()) else {
            continue;
        };
        let mut before = None;
        for (job, log) in ids.iter().zip(logs) {
            if before.replace(log) == Some(log) {
                continue;
            }
            if taken.as_ref().is_some_and(|taken| !taken.contains(log)) {
                return wrong(&format!(
                    "log {log} of job {job} is no input's; it would be taken twice"
                ));
            }
            seen.insert(*log);
        }
    }
    if jobs != file.job_id {
        return wrong(&format!(
            "jobs {jobs:?}; the list of files says {:?}",
            file.job_id
        ));
    }
    match rows == file.rows {
        true => Ok(rows),
        false => wrong(&format!(
            "{rows} rows; the list of files says {}",
            file.rows
        )),
    }
}

/// Files below the lake, and where its data files were placed elsewhere, that iolode made: data, lists, and what a killed writer
/// left half-written. Whatever else lies there is not iolode's.
pub(in crate::lake) fn present(lake: &Lake, placed: &BTreeSet<PathBuf>) -> Result<Vec<Entry>> {
    let mut directories: BTreeSet<String> =
        TABLES.iter().map(|(name, _)| name.to_string()).collect();
    directories.insert("_iolode".into());
    // Of a placement that was changed since, the directories are known from the files.
    let outside = lake.directories(placed)?.into_iter();
    directories.extend(outside.map(|directory| directory.to_string_lossy().into_owned()));
    let (mut found, mut seen) = (vec![], HashSet::new());
    for directory in directories {
        for entry in lake.store().list(&directory)? {
            let made = entry.path.ends_with(".parquet") || entry.path.ends_with(TEMPORARY);
            if made && seen.insert(real(lake.store(), &entry.path)) {
                found.push(entry);
            }
        }
    }
    Ok(found)
}
