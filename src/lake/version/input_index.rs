//! The lists of inputs of a version, merged in the order of the paths.
//!
//! Each list is sorted by path, and the manifest says which its first and last are: one of which no path is asked for is not read.
//! Of a list that is read the bytes are held, and a page of its rows; of its row groups those are decoded that may hold a path
//! that is asked for. So what is in memory does not grow with the inputs that a lake knows.

use super::list_file::{InputRow, PAGE, TAKEN_BACK, check_inputs, input_of, list_bytes};
use super::manifest::ListFile;
use super::store::Store;
use crate::error::{Error, Result};
use arrow::array::{Array, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ColumnChunkMetaData;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Columns that tell which input a row is of and which of its bytes. Whether these were taken back says a fourth, `error`, which may hold a
/// long text for each input and is read only of row groups that have such an input.
const KEYS: [&str; 3] = ["path", "version", "content_hash"];

/// What of a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// [`KEYS`].
    Keys,
}

/// The newest row of each input, by path.
pub(in crate::lake) struct InputIndex {
    store: Store,
    wanted: Wanted,
    /// Lists at or before rows of greater paths than the one that was asked for last.
    ahead: BinaryHeap<Cursor>,
    /// Lists that are at a row of that path.
    here: Vec<Cursor>,
}

/// A row that is the newest of its path.
pub(in crate::lake) struct Newest<'a> {
    rows: &'a Rows,
    at: usize,
}

impl Newest<'_> {
    /// XXH3 of the input's bytes.
    pub(in crate::lake) fn content_hash(&self) -> Option<i64> {
        let hashes = &self.rows.hashes;
        hashes.is_valid(self.at).then(|| hashes.value(self.at))
    }

    /// Whether the next ingest takes it in anew, as if the lake had never seen it.
    pub(in crate::lake) fn is_taken_back(&self) -> bool {
        let errors = self.rows.errors.as_ref();
        errors.is_some_and(|errors| errors.is_valid(self.at) && errors.value(self.at) == TAKEN_BACK)
    }

    /// The whole row, of an index that reads whole rows.
    pub(in crate::lake) fn row(&self) -> InputRow {
        input_of(&self.rows.batch, self.at)
    }
}

impl InputIndex {
    /// Of whole rows.
    pub(in crate::lake) fn new<'a>(
        store: &Store,
        lists: impl IntoIterator<Item = &'a ListFile>,
    ) -> Self {
        Self::of(store, lists, Wanted::All)
    }

    /// Of paths, content hashes and whether they were taken back alone: there is no [`Newest::row`].
    pub(in crate::lake) fn keys<'a>(
        store: &Store,
        lists: impl IntoIterator<Item = &'a ListFile>,
    ) -> Self {
        Self::of(store, lists, Wanted::Keys)
    }

    fn of<'a>(
        store: &Store,
        lists: impl IntoIterator<Item = &'a ListFile>,
        wanted: Wanted,
    ) -> Self {
        let lists = lists.into_iter().filter(|part| part.rows > 0);
        Self {
            store: store.clone(),
            wanted,
            ahead: lists.map(Cursor::new).collect(),
            here: vec![],
        }
    }

    /// The newest row of a path. Each path must be greater than the one before, or the same.
    ///
    /// # Errors
    /// [`Error::Lake`] if a list is missing or damaged, [`Error::Columns`] if it cannot be read.
    pub(in crate::lake) fn find(&mut self, path: &str) -> Result<Option<Newest<'_>>> {
        let mut behind = std::mem::take(&mut self.here);
        while let Some(next) = self.ahead.peek()
            && next.path() <= path
        {
            behind.extend(self.ahead.pop());
        }
        for mut cursor in behind {
            match cursor.seek(path, &self.store, self.wanted)? {
                false => {}
                true if cursor.path() == path => self.here.push(cursor),
                true => self.ahead.push(cursor),
            }
        }
        let here = self.here.iter().filter_map(Cursor::row);
        let newest = here.max_by_key(|(rows, at)| rows.versions.value(*at));
        Ok(newest.map(|(rows, at)| Newest { rows, at }))
    }

    /// The newest row of the next path; None if there is none.
    ///
    /// # Errors
    /// As [`InputIndex::find`].
    pub(in crate::lake) fn next(&mut self) -> Result<Option<Newest<'_>>> {
        for mut cursor in std::mem::take(&mut self.here) {
            if cursor.step()? {
                self.ahead.push(cursor);
            }
        }
        match self.ahead.peek().map(|next| next.path().to_string()) {
            Some(path) => self.find(&path),
            None => Ok(None),
        }
    }

    /// All rows.
    pub(in crate::lake) fn rows(mut self) -> impl Iterator<Item = Result<InputRow>> {
        std::iter::from_fn(move || {
            let next = self.next();
            next.map(|newest| newest.map(|newest| newest.row()))
                .transpose()
        })
    }
}

/// A list and the row that is looked at; the greatest is the one whose path comes first.
struct Cursor {
    part: ListFile,
    /// The list's bytes, once a path of it was asked for.
    open: Option<Open>,
    /// Rows that were decoded last; None before those of a group.
    rows: Option<Rows>,
    /// Place of the row among them.
    at: usize,
}

/// A list that is read.
struct Open {
    bytes: Bytes,
    footer: ArrowReaderMetadata,
    /// Least and greatest path of each row group.
    groups: Vec<(String, String)>,
    /// The group that is read or comes next.
    group: usize,
    /// Goes on behind the rows; None before a group.
    reader: Option<ParquetRecordBatchReader>,
}

/// Rows of a list.
struct Rows {
    batch: RecordBatch,
    paths: StringArray,
    versions: Int64Array,
    hashes: Int64Array,
    /// None if none of them says that an input was taken back.
    errors: Option<StringArray>,
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Self) -> bool {
        self.path() == other.path()
    }
}

impl Eq for Cursor {}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cursor {
    fn cmp(&self, other: &Self) -> Ordering {
        other.path().cmp(self.path())
    }
}

impl Cursor {
    fn new(part: &ListFile) -> Self {
        Self {
            part: part.clone(),
            open: None,
            rows: None,
            at: 0,
        }
    }

    fn row(&self) -> Option<(&Rows, usize)> {
        self.rows.as_ref().map(|rows| (rows, self.at))
    }

    /// The path of its row, or of that which comes next.
    fn path(&self) -> &str {
        match (&self.rows, &self.open) {
            (Some(rows), _) => rows.paths.value(self.at),
            (None, Some(open)) => open.groups.get(open.group).map_or("", |(least, _)| least),
            (None, None) => self.part.paths.as_ref().map_or("", |(first, _)| first),
        }
    }

    /// Goes to the first row whose path is not less, which is decoded if it is this path; false if there is none.
    fn seek(&mut self, path: &str, store: &Store, wanted: Wanted) -> Result<bool> {
        loop {
            if let Some(rows) = &self.rows {
                if let Some(at) = rows.seek(self.at, path) {
                    self.at = at;
                    return Ok(true);
                }
                if !self.read()? {
                    return Ok(false);
                }
                continue;
            }
            if self.path() > path {
                return Ok(true);
            }
            let Some(open) = &mut self.open else {
                let last = self.part.paths.as_ref().map(|(_, last)| last);
                if last.is_some_and(|last| last.as_str() < path) {
                    return Ok(false);
                }
                self.open = Some(Open::new(store, &self.part)?);
                continue;
            };
            match open.groups.get(open.group) {
                None => return Ok(false),
                Some((_, most)) if most.as_str() < path => open.group += 1,
                Some(_) => {
                    open.begin(&self.part, wanted)?;
                    if !self.read()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Goes to the next row; false if there is none.
    fn step(&mut self) -> Result<bool> {
        self.at += 1;
        match &self.rows {
            Some(rows) if self.at >= rows.paths.len() => self.read(),
            _ => Ok(true),
        }
    }

    /// Decodes the rows that come next, those of the next group excepted; false if there are none and no group.
    fn read(&mut self) -> Result<bool> {
        (self.rows, self.at) = (None, 0);
        let Some(open) = &mut self.open else {
            return Ok(true);
        };
        if let Some(reader) = &mut open.reader {
            let next = reader.next().transpose();
            let next = next.map_err(|e| Error::columns(self.part.path.clone(), e))?;
            if let Some(batch) = next.filter(|batch| batch.num_rows() > 0) {
                self.rows = Some(Rows::new(&self.part, batch)?);
                return Ok(true);
            }
            open.reader = None;
            open.group += 1;
        }
        Ok(open.group < open.groups.len())
    }
}

impl Open {
    fn new(store: &Store, part: &ListFile) -> Result<Self> {
        let bytes = list_bytes(store, part)?;
        let footer = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())
            .map_err(|e| Error::columns(part.path.clone(), e))?;
        let groups = footer.metadata().row_groups().iter().map(|group| {
            let statistics = group.columns().first()?.statistics()?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            Some((
                text(statistics.min_bytes_opt()?)?,
                text(statistics.max_bytes_opt()?)?,
            ))
        });
        let groups = groups.collect::<Option<Vec<_>>>().ok_or_else(|| {
            Error::Invalid(format!("{} does not say which paths it holds", part.path))
        })?;
        Ok(Self {
            bytes,
            footer,
            groups,
            group: 0,
            reader: None,
        })
    }

    /// Begins to read the group that comes next.
    fn begin(&mut self, part: &ListFile, wanted: Wanted) -> Result<()> {
        let columns = match wanted {
            Wanted::All => ProjectionMask::all(),
            Wanted::Keys => {
                let errors = self.may_be_taken_back().then_some("error");
                let columns = KEYS.into_iter().chain(errors);
                ProjectionMask::columns(self.footer.parquet_schema(), columns)
            }
        };
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.footer.clone(),
        );
        let builder = builder
            .with_projection(columns)
            .with_row_groups(vec![self.group]);
        let reader = builder.with_batch_size(PAGE).build();
        self.reader = Some(reader.map_err(|e| Error::columns(part.path.clone(), e))?);
        Ok(())
    }
}

impl Open {
    /// Whether an input of the group that comes next may have been taken back: whether that lies between the least and the greatest of its errors.
    fn may_be_taken_back(&self) -> bool {
        let errors = || {
            let group = self.footer.metadata().row_groups().get(self.group)?;
            let column = |column: &&ColumnChunkMetaData| column.column_path().string() == "error";
            group.columns().iter().find(column)?.statistics()
        };
        let Some(errors) = errors() else {
            return true;
        };
        match (errors.min_bytes_opt(), errors.max_bytes_opt()) {
            (Some(least), Some(most)) => (least..=most).contains(&TAKEN_BACK.as_bytes()),
            // Without an error there is no least one.
            _ => errors
                .null_count_opt()
                .is_none_or(|nulls| nulls < self.rows()),
        }
    }

    /// Rows of the group that comes next.
    fn rows(&self) -> u64 {
        let group = self.footer.metadata().row_groups().get(self.group);
        group.map_or(0, |group| group.num_rows().unsigned_abs())
    }
}

impl Rows {
    fn new(part: &ListFile, batch: RecordBatch) -> Result<Self> {
        // A row of fewer columns is never asked for.
        if batch.num_columns() > KEYS.len() + 1 {
            check_inputs(&batch)?;
        }
        let lacks = |name: &str| Error::Invalid(format!("{} lacks the column {name}", part.path));
        let int = |name: &str| {
            let column = batch.column_by_name(name);
            let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
            column.cloned().ok_or_else(|| lacks(name))
        };
        let text = |name: &str| {
            let column = batch.column_by_name(name);
            let column = column.and_then(|column| column.as_string_opt::<i32>());
            column.cloned().ok_or_else(|| lacks(name))
        };
        Ok(Self {
            paths: text("path")?,
            errors: text("error").ok(),
            versions: int("version")?,
            hashes: int("content_hash")?,
            batch,
        })
    }

    /// The first row from a place on whose path is not less: as a rule one of the next.
    fn seek(&self, from: usize, path: &str) -> Option<usize> {
        let is_less = |at: usize| self.paths.value(at) < path;
        let (mut low, mut step) = (from, 1);
        let mut high = loop {
            let at = low + step - 1;
            match at < self.paths.len() {
                true if is_less(at) => (low, step) = (at + 1, step * 2),
                true => break at,
                false => break self.paths.len(),
            }
        };
        while low < high {
            let middle = low + (high - low) / 2;
            match is_less(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (low < self.paths.len()).then_some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::super::input_lists::{GROUP, merge, write_inputs};
    use super::super::list_file::InputStatus;
    use super::*;
    use crate::source::Period;
    use object_store::memory::InMemory;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn row(path: &str, version: u64, hash: i64) -> InputRow {
        InputRow {
            path: path.into(),
            source: Some("darshan".into()),
            status: InputStatus::Ok,
            error: None,
            bytes: 5,
            modified: 7,
            content_hash: Some(hash),
            job_id: Some(hash),
            start_time: None,
            dxt: false,
            period: Period::default(),
            reader_version: 1,
            version,
            settings: None,
        }
    }

    fn store() -> Store {
        Store::Memory(Arc::new(InMemory::new()))
    }

    fn write(store: &Store, rows: Vec<InputRow>) -> Vec<ListFile> {
        let (count, mut lists) = (rows.len() as u64, vec![]);
        write_inputs(store, rows.into_iter().map(Ok), count, &mut lists).unwrap();
        lists
    }

    fn all(store: &Store, lists: &[ListFile]) -> Vec<InputRow> {
        let rows = InputIndex::new(store, lists).rows();
        rows.collect::<Result<_>>().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]
        #[test]
        fn an_index_tells_of_each_path_what_a_map_of_all_rows_tells(
            lists in prop::collection::vec(prop::collection::btree_map(0u32..60, any::<i64>(), 0..20), 0..7),
            asked in prop::collection::btree_set(0u32..60, 0..40),
            merged in any::<u8>(),
        ) {
            // Numbers without leading zeros, so that their order as paths is another.
            let path = |number: u32| format!("/logs/2026/9/{number}");
            let store = store();
            let (mut parts, mut newest) = (vec![], BTreeMap::new());
            for (version, list) in lists.iter().enumerate() {
                let rows = list.iter().map(|(number, hash)| row(&path(*number), version as u64, *hash));
                let mut rows: Vec<InputRow> = rows.collect();
                rows.sort_by(|a, b| a.path.cmp(&b.path));
                newest.extend(rows.iter().map(|row| (row.path.to_string(), row.clone())));
                parts.extend(write(&store, rows));
            }
            // The order in which a manifest names lists says nothing.
            parts.reverse();
            let expected: Vec<InputRow> = newest.values().cloned().collect();
            prop_assert_eq!(&all(&store, &parts), &expected);
            let mut keys = InputIndex::keys(&store, &parts);
            let mut hashes = vec![];
            while let Some(newest) = keys.next().unwrap() {
                hashes.push(newest.content_hash());
            }
            let expected_hashes: Vec<Option<i64>> = expected.iter().map(|row| row.content_hash).collect();
            prop_assert_eq!(hashes, expected_hashes);

            let mut index = InputIndex::new(&store, &parts);
            let mut asked: Vec<String> = asked.into_iter().map(path).collect();
            asked.sort();
            for path in &asked {
                // Also twice.
                for _ in 0..2 {
                    let found = index.find(path).unwrap().map(|newest| newest.row());
                    prop_assert_eq!(found.as_ref(), newest.get(path), "{}", path);
                }
            }

            // Some of the lists merged tell the same with the others.
            let mut number = 0;
            let (some, mut rest): (Vec<ListFile>, Vec<ListFile>) = parts.into_iter().partition(|_| {
                number += 1;
                merged >> (number - 1) & 1 == 1
            });
            merge(&store, &some, &mut rest).unwrap();
            prop_assert_eq!(&all(&store, &rest), &expected);
        }
    }

    #[test]
    fn errors_are_read_only_of_groups_of_which_an_input_was_taken_back() {
        let store = store();
        let rows = (0..3 * GROUP).map(|number| {
            let (status, error) = match number {
                // Of the first group nothing has an error, of the second some have, of the third one was taken back.
                n if n < GROUP => (InputStatus::Ok, None),
                n if n == 2 * GROUP + 5 => (InputStatus::Skipped, Some(TAKEN_BACK)),
                n if n % 2 == 0 => (InputStatus::Skipped, Some("the same bytes as /a")),
                _ => (InputStatus::Ok, None),
            };
            InputRow {
                status,
                error: error.map(str::to_string),
                ..row(&format!("/{number:07}"), 1, number as i64)
            }
        });
        let lists = write(&store, rows.collect());
        let mut keys = InputIndex::keys(&store, &lists);
        let (mut read, mut taken_back) = ([0; 3], vec![]);
        let mut number = 0;
        while let Some(newest) = keys.next().unwrap() {
            read[number / GROUP] += usize::from(newest.rows.errors.is_some());
            if newest.is_taken_back() {
                taken_back.push(number);
            }
            number += 1;
        }
        assert_eq!((number, read), (3 * GROUP, [0, 0, GROUP]));
        assert_eq!(taken_back, [2 * GROUP + 5]);
    }

    #[test]
    fn large_lists_are_cut_and_those_without_a_path_that_is_asked_for_are_not_read() {
        let store = store();
        let path = |number: usize| format!("/logs/2026/9/11/user_{number:07}.darshan");
        let rows = |from: usize, to: usize, version| {
            let rows = (from..to).map(|number| row(&path(number), version, number as i64));
            rows.collect::<Vec<_>>()
        };
        let mut lists = write(&store, rows(0, 300_000, 1));
        let sizes: Vec<u64> = lists.iter().map(|list| list.rows).collect();
        assert_eq!(sizes, [100_000; 3]);
        let paths: Vec<_> = lists
            .iter()
            .map(|list| list.paths.clone().unwrap())
            .collect();
        let bounds = |from, to| (path(from), path(to));
        assert_eq!(
            paths,
            [
                bounds(0, 99_999),
                bounds(100_000, 199_999),
                bounds(200_000, 299_999)
            ]
        );
        // A newer one over the boundary of two.
        lists.extend(write(&store, rows(199_990, 200_010, 2)));
        store.delete(&lists[0].path).unwrap();
        let mut index = InputIndex::new(&store, &lists);
        assert!(index.find("/logs").unwrap().is_none());
        for number in (100_000..300_000).step_by(9_999) {
            let found = index.find(&path(number)).unwrap().unwrap().row();
            let version = 1 + u64::from((199_990..200_010).contains(&number));
            assert_eq!(
                (found.version, found.job_id),
                (version, Some(number as i64))
            );
            assert!(index.find(&format!("{}x", path(number))).unwrap().is_none());
        }
        assert!(index.find("/m").unwrap().is_none());
        let error = InputIndex::new(&store, &lists)
            .find(&path(5))
            .err()
            .unwrap();
        assert!(error.to_string().contains("is missing"), "{error}");
    }

    #[test]
    fn a_merge_of_lists_that_overlap_gives_lists_that_do_not() {
        let store = store();
        let path = |number: usize| format!("/{number:06}");
        let rows = |step: usize, version| {
            let rows = (0..150_000)
                .step_by(step)
                .map(|number| row(&path(number), version, 0));
            rows.collect::<Vec<_>>()
        };
        let mut lists = write(&store, rows(1, 1));
        lists.extend(write(&store, rows(2, 2)));
        let mut merged = vec![];
        merge(&store, &lists, &mut merged).unwrap();
        assert_eq!(merged.iter().map(|list| list.rows).sum::<u64>(), 150_000);
        let bounds: Vec<String> = merged
            .iter()
            .flat_map(|list| <[String; 2]>::from(list.paths.clone().unwrap()))
            .collect();
        assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        let twos = all(&store, &merged)
            .iter()
            .filter(|row| row.version == 2)
            .count();
        assert_eq!(twos, 75_000);
    }
}
