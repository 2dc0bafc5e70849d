//! Which data files a version has: lists of those that were added and of those that are gone since, the oldest first.
//!
//! A commit writes a list of what it changed. Eight such lists become one of the next level and eight of these, with all before them, one
//! list of all files, so that a commit to a lake of 100,000 files writes a few, every 64th all of them, and a reader opens 15 lists at most.
//! A lake of few files has one list.

use super::file_list::Entry;
use super::file_list::FileList;
use super::list_file::{DataFile, entries_to_batch, properties, write_list};
use super::manifest::ListFile;
use super::ranges::range_of;
use super::store::Store;
use crate::error::Result;
use std::collections::HashSet;

/// So many lists of one level become one of the next.
const MERGED: usize = 8;
/// Level of the list of all files.
const ALL: u8 = 2;
/// A lake of at most so many files has one list.
const FEW: usize = 4096;

/// The lists of a version.
#[derive(Debug)]
pub(in crate::lake) struct FileIndex {
    lists: Vec<FileList>,
    splits: Vec<i64>,
}

impl FileIndex {
    /// Reads the bytes of the lists, but none of their rows.
    ///
    /// # Errors
    /// As [`FileList::open`].
    pub(in crate::lake) fn open(
        store: &Store,
        parts: &[ListFile],
        splits: Vec<i64>,
    ) -> Result<Self> {
        let lists = parts.iter().map(|part| FileList::open(store, part));
        let lists = lists.collect::<Result<_>>()?;
        Ok(Self { lists, splits })
    }

    /// Job ids at which a new range begins.
    pub(in crate::lake) fn splits(&self) -> &[i64] {
        &self.splits
    }

    /// Whether less than all of it can be read.
    pub(in crate::lake) fn has_pages(&self) -> bool {
        self.lists.iter().any(FileList::has_pages)
    }

    /// All files, by table, range and path.
    ///
    /// # Errors
    /// [`crate::Error::Columns`] or [`crate::Error::Invalid`] if a list cannot be read.
    pub(in crate::lake) fn all(&self) -> Result<Vec<DataFile>> {
        let entries = self.lists.iter().map(FileList::all);
        Ok(self.live(entries.collect::<Result<Vec<_>>>()?))
    }

    /// The files of a table; of those that are cut by job id the ones of `ranges`, ascending, if they are given.
    ///
    /// # Errors
    /// As [`FileIndex::all`].
    pub(in crate::lake) fn of(
        &self,
        table: &str,
        ranges: Option<&[usize]>,
    ) -> Result<Vec<DataFile>> {
        // Whether a range that is wanted has one of these job ids.
        let meets = |least: i64, most: i64| {
            ranges.is_none_or(|ranges| {
                let first = range_of(&self.splits, least);
                let at = ranges.partition_point(|range| *range < first);
                let last = range_of(&self.splits, most);
                ranges.get(at).is_some_and(|range| *range <= last)
            })
        };
        let of_days = ranges.is_none();
        let entries = self.lists.iter().map(|list| list.of(table, of_days, meets));
        Ok(self.live(entries.collect::<Result<Vec<_>>>()?))
    }

    /// How many bytes the files of each range have.
    ///
    /// # Errors
    /// As [`FileIndex::all`].
    pub(in crate::lake) fn range_bytes(&self) -> Result<Vec<u64>> {
        let mut sums = vec![0u64; self.splits.len() + 1];
        for list in &self.lists {
            list.each_size(|job_id, bytes, gone| {
                let sum = &mut sums[range_of(&self.splits, job_id)];
                *sum = match gone {
                    true => sum.saturating_sub(bytes),
                    false => sum.saturating_add(bytes),
                };
            })?;
        }
        Ok(sums)
    }

    /// The files of these lists that are not gone, with their ranges.
    fn live(&self, lists: Vec<Vec<Entry>>) -> Vec<DataFile> {
        let sorted = lists.len() <= 1;
        let mut files = cancelled(lists, |_| false);
        for (file, _) in &mut files {
            file.range = file.job_id.map(|(least, _)| range_of(&self.splits, least));
        }
        let mut files: Vec<DataFile> = files.into_iter().map(|(file, _)| file).collect();
        if !sorted {
            files.sort_by(|a, b| order(a).cmp(&order(b)));
        }
        files
    }
}

/// Entries of several lists without the files that are gone; entries that say so stay if `keep` says it of them, for the file may stand in an
/// older list.
fn cancelled(lists: Vec<Vec<Entry>>, keep: impl Fn(&DataFile) -> bool) -> Vec<Entry> {
    let gone = lists.iter().flatten().filter(|(_, gone)| *gone);
    let gone: HashSet<String> = gone.map(|(file, _)| file.path.clone()).collect();
    let mut entries: Vec<Entry> = lists.into_iter().flatten().collect();
    if !gone.is_empty() {
        entries.retain(|(file, is_gone)| match is_gone {
            true => keep(file),
            false => !gone.contains(&file.path),
        });
    }
    entries
}

/// The order of a list: the files of a range lie together.
fn order(file: &DataFile) -> (&str, Option<i64>, &str) {
    (&file.table, file.job_id.map(|(least, _)| least), &file.path)
}

/// The lists of the next version, given those of this one, what changed, and all files of the next.
///
/// # Errors
/// As [`write_list`], and [`FileList::open`]. What was written by then is in `written`.
pub(in crate::lake) fn next_lists(
    store: &Store,
    old: &[ListFile],
    changed: Vec<Entry>,
    all: &[DataFile],
    written: &mut Vec<ListFile>,
) -> Result<Vec<ListFile>> {
    if changed.is_empty() {
        return Ok(old.to_vec());
    }
    let mut lists = old.to_vec();
    let mut write = |level: u8, mut entries: Vec<Entry>| -> Result<Option<ListFile>> {
        entries.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        let rows = entries.chunks(16_384).map(entries_to_batch);
        let part =
            write_list(store, "file", properties()?, rows)?.map(|part| ListFile { level, ..part });
        written.extend(part.clone());
        Ok(part)
    };
    let of_level =
        |lists: &[ListFile], level| lists.iter().filter(|part| part.level == level).count();
    let many = changed.len() * 2 > all.len();
    let merges = of_level(&lists, 0) + 1 >= MERGED;
    if all.len() <= FEW || many || merges && of_level(&lists, 1) + 1 >= MERGED {
        let all = all.iter().map(|file| (file.clone(), false));
        return Ok(write(ALL, all.collect())?.into_iter().collect());
    }
    if !merges {
        lists.extend(write(0, changed)?);
        return Ok(lists);
    }
    let (small, mut lists): (Vec<ListFile>, Vec<ListFile>) =
        lists.into_iter().partition(|part| part.level == 0);
    let small = small.iter().map(|part| FileList::open(store, part)?.all());
    let mut small = small.collect::<Result<Vec<_>>>()?;
    small.push(changed);
    let added: HashSet<String> = small
        .iter()
        .flatten()
        .filter(|(_, gone)| !gone)
        .map(|(file, _)| file.path.clone())
        .collect();
    let merged = cancelled(small, |file| !added.contains(&file.path));
    lists.extend(write(1, merged)?);
    Ok(lists)
}

#[cfg(test)]
pub(in crate::lake) mod tests {
    use super::*;
    use object_store::memory::InMemory;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    fn file(table: &str, number: usize, range: Option<usize>) -> DataFile {
        DataFile {
            table: table.into(),
            path: format!("{table}/{number:06}-{:x}.parquet", number * 7919 % 65_521),
            range,
            day: range.is_none().then(|| ("snx11168".into(), number as i64)),
            ost: None,
            rows: 3,
            bytes: 1 + number as u64,
            job_id: range.map(|range| (range as i64, range as i64)),
            start_time: None,
            time: None,
            schema_version: 1,
            version: 2,
            content_hash: Some(number as i64),
            layout: 1,
        }
    }

    /// 3,000 files of each of two tables cut by job id, two for each range, and 500 of days between them. Range i has the job i alone.
    pub(in crate::lake) fn files() -> Vec<DataFile> {
        let jobs = |table: &'static str| (0..3000).map(move |n| file(table, n, Some(n / 2)));
        let days = (0..500).map(|n| file("lmt_ost", n, None));
        let mut files: Vec<_> = jobs("darshan_file")
            .chain(days)
            .chain(jobs("slurm_job"))
            .collect();
        files.sort_by(|a, b| order(a).cmp(&order(b)));
        files
    }

    fn memory() -> Store {
        Store::Memory(Arc::new(InMemory::new()))
    }

    /// A list of these files.
    pub(in crate::lake) fn written(files: &[DataFile]) -> (Store, ListFile) {
        let store = memory();
        let entries: Vec<Entry> = files.iter().map(|file| (file.clone(), false)).collect();
        let part = write_list(
            &store,
            "file",
            properties().unwrap(),
            [entries_to_batch(&entries)],
        );
        (store, part.unwrap().unwrap())
    }

    fn splits() -> Vec<i64> {
        (1..1500).collect()
    }

    #[test]
    fn a_part_of_the_lists_is_what_the_whole_lists_say_of_it() {
        let files = files();
        let (store, part) = written(&files);
        let index = FileIndex::open(&store, &[part], splits()).unwrap();
        assert!(index.has_pages());
        assert_eq!(index.all().unwrap(), files);
        for table in [
            "darshan_file",
            "lmt_ost",
            "slurm_job",
            "darshan_log",
            "a",
            "z",
        ] {
            let of: Vec<_> = files
                .iter()
                .filter(|file| file.table == table)
                .cloned()
                .collect();
            assert_eq!(index.of(table, None).unwrap(), of);
            for ranges in [
                &[][..],
                &[0],
                &[0, 1499],
                &[511, 512, 513, 1024],
                &[1500, 9999],
            ] {
                let wanted = |file: &&DataFile| file.range.is_some_and(|r| ranges.contains(&r));
                let of: Vec<_> = of.iter().filter(wanted).cloned().collect();
                let found = index.of(table, Some(ranges)).unwrap();
                assert_eq!(found, of, "{table} {ranges:?}");
            }
        }
        let mut bytes = vec![0; 1500];
        for file in &files {
            if let Some(range) = file.range {
                bytes[range] += file.bytes;
            }
        }
        assert_eq!(index.range_bytes().unwrap(), bytes);
    }

    /// A cut of the ranges changes no list: the same lists, asked with other split points.
    #[test]
    fn the_range_of_a_file_is_that_of_its_least_job_id() {
        let (store, part) = written(&files());
        let index = FileIndex::open(&store, &[part], vec![700]).unwrap();
        let of = index.of("slurm_job", Some(&[1])).unwrap();
        assert_eq!(of.len(), 2 * 800);
        assert!(of.iter().all(|file| file.range == Some(1)));
    }

    /// 15 tables in 10,000 ranges; commits that rewrite one range each. It says what they take of a processor.
    #[test]
    #[allow(clippy::print_stdout)]
    fn a_commit_to_150_000_files_writes_little_and_each_64th_all_of_them() {
        let store = memory();
        let tables: Vec<String> = (0..15).map(|n| format!("table_{n:02}")).collect();
        let file_of = |table: &str, range: usize, commit: usize| DataFile {
            path: format!("{table}/{range:06}-{}.parquet", uuid::Uuid::new_v4()),
            version: commit as u64,
            ..file(table, range, Some(range))
        };
        let mut all: Vec<DataFile> = tables
            .iter()
            .flat_map(|table| (0..10_000).map(move |range| file_of(table, range, 1)))
            .collect();
        let first = all.iter().map(|file| (file.clone(), false)).collect();
        let mut lists = next_lists(&store, &[], first, &all, &mut vec![]).unwrap();
        let (mut whole, mut most_cpu) = (0, [Duration::ZERO; 2]);
        for commit in 0..64 {
            let mut changed = vec![];
            for (table, name) in tables.iter().enumerate() {
                let at = table * 10_000 + commit * 150;
                let new = file_of(name, commit * 150, commit);
                changed.push((std::mem::replace(&mut all[at], new.clone()), true));
                changed.push((new, false));
            }
            let mut written = vec![];
            let cpu = cpu_time::ThreadTime::now();
            lists = next_lists(&store, &lists, changed, &all, &mut written).unwrap();
            let cpu = cpu.elapsed();
            let bytes = written
                .iter()
                .map(|part| store.read(&part.path).unwrap().unwrap().len());
            let (bytes, is_whole) = (
                bytes.sum::<usize>(),
                written.iter().any(|part| part.level == ALL),
            );
            whole += usize::from(is_whole);
            let most = &mut most_cpu[usize::from(is_whole)];
            *most = cpu.max(*most);
            assert!(
                bytes < if is_whole { 30_000_000 } else { 1_000_000 },
                "{bytes} B"
            );
        }
        assert_eq!(whole, 1);
        let [one, merged] = most_cpu;
        println!("{one:?} of CPU for a commit, {merged:?} for one that merges");
        let splits = (1..10_000).collect();
        let index = FileIndex::open(&store, &lists, splits).unwrap();
        assert_eq!(index.all().unwrap().len(), 150_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(24), ..ProptestConfig::default() })]

        /// Files come and go in 150 commits, of a lake that is large from the beginning; a plain map says which there are.
        #[test]
        fn lists_of_changes_say_which_files_there_are(
            commits in prop::collection::vec((prop::collection::vec(0usize..40_000, 0..12), prop::collection::vec(0usize..100_000, 0..12)), 150)
        ) {
            let store = memory();
            let mut known: BTreeMap<String, DataFile> = BTreeMap::new();
            for n in 0..FEW + 100 {
                let file = file("darshan_file", n, Some(n % 1500));
                known.insert(file.path.clone(), file);
            }
            let all: Vec<DataFile> = known.values().cloned().collect();
            let first = all.iter().map(|file| (file.clone(), false)).collect();
            let mut lists = next_lists(&store, &[], first, &all, &mut vec![]).unwrap();
            let mut whole = 0;
            for (added, removed) in commits {
                let mut changed: Vec<Entry> = vec![];
                for n in removed {
                    let path = known.keys().nth(n % known.len()).unwrap().clone();
                    changed.extend(known.remove(&path).map(|file| (file, true)));
                }
                for n in added {
                    let mut file = file("slurm_job", n, Some(n % 1500));
                    file.path = format!("slurm_job/{}-{n}.parquet", known.len() * 1_000_003 + changed.len());
                    known.insert(file.path.clone(), file.clone());
                    changed.push((file, false));
                }
                let all: Vec<DataFile> = known.values().cloned().collect();
                let mut written = vec![];
                lists = next_lists(&store, &lists, changed, &all, &mut written).unwrap();
                whole += usize::from(written.iter().any(|part| part.level == ALL));
                prop_assert!(lists.len() < 2 * MERGED);
                let mut expected = all;
                expected.sort_by(|a, b| order(a).cmp(&order(b)));
                let index = FileIndex::open(&store, &lists, splits()).unwrap();
                prop_assert_eq!(index.all().unwrap(), expected.clone());
                let wanted = |file: &&DataFile| file.table == "slurm_job" && file.range == Some(7);
                let of: Vec<DataFile> = expected.iter().filter(wanted).cloned().collect();
                prop_assert_eq!(index.of("slurm_job", Some(&[7])).unwrap(), of);
            }
            // Commits that change nothing write nothing.
            prop_assert!(whole <= 150 / (MERGED * MERGED) + 1, "{}", whole);
        }
    }
}
