//! HDF5 files of LMT: what was moved in each interval, without counters.
//!
//! Two forms. In `h5lmt` files of pylmt a row is a target and a column a time, in rates; [`super::h5lmt`]. In TOKIO time series
//! of pytokio it is the other way round; [`super::tokio_hdf5`]. Here is what they share: a file's matrices, read a few rows at a
//! time, and their rows on the way to the builders.

use super::samples::{NULL, nulls};
use crate::error::{Error, Result};
use crate::source::Input;
use crate::table::{Column, TableBuilder};
use hdf5_reader::{Dataset, Hdf5File, OpenOptions, SliceInfo, SliceInfoElem};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How an HDF5 file begins.
const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Bytes of a chunk or of what is read at once, at most: a day of 248 OSTs in one chunk has 34 MB.
const MOST: usize = 256 << 20;

/// Rows and columns of a matrix, at most: no file system has more targets, and a day has 17,281 samples.
const LONGEST: u64 = 1 << 24;

/// Groups with samples of LMT.
pub(super) const GROUPS: [&str; 5] = [
    "datatargets",
    "fullness",
    "dataservers",
    "mdtargets",
    "mdservers",
];

/// Whether an input is an HDF5 file; whose, its groups say.
pub(super) fn probe(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    H5lmt,
    Series,
}

/// An open file.
pub(super) struct File {
    path: PathBuf,
    file: Hdf5File,
}

impl File {
    pub(super) fn open(input: &Input) -> Result<Self> {
        let options = OpenOptions::default()
            .with_max_chunk_bytes(MOST)
            .with_max_read_bytes(MOST)
            .with_chunk_cache_bytes(64 << 20);
        let path = input.path().to_path_buf();
        let file = match input.slice(0, input.len() as usize) {
            Some(bytes) => Hdf5File::from_bytes_with_options(bytes, options),
            None => {
                // By position, not mapped: a file may shrink while it is read.
                let storage = hdf5_reader::FileStorage::open(&path);
                storage.and_then(|s| {
                    Hdf5File::from_storage_with_options(std::sync::Arc::new(s), options)
                })
            }
        };
        match file {
            Ok(file) => Ok(Self { path, file }),
            Err(e) => Err(malformed(&path, "HDF5 file", &e)),
        }
    }

    pub(super) fn form(&self) -> Result<Form> {
        let has = |path: &str| self.file.dataset(path).is_ok();
        if has("/FSStepsGroup/FSStepsDataSet") {
            return Ok(Form::H5lmt);
        }
        if GROUPS
            .iter()
            .any(|group| has(&format!("/{group}/timestamps")))
        {
            return Ok(Form::Series);
        }
        Err(Error::Unsupported {
            path: self.path.clone(),
            reason: "an HDF5 file, but not LMT's: it has neither the groups of an h5lmt file nor those of a TOKIO time series".into(),
        })
    }

    /// The file system that the file's name tells: `snx11025_2018-01-28.h5lmt` or `cori_snx11168.h5lmt`.
    pub(super) fn file_system(&self) -> Option<&str> {
        file_system_of(&self.path)
    }

    /// Names of the datasets of a group; none if there is no such group.
    pub(super) fn datasets(&self, group: &str) -> Vec<String> {
        let names = self
            .file
            .group(group)
            .and_then(|group| group.member_names());
        names.map(|(_, datasets)| datasets).unwrap_or_default()
    }

    /// A matrix; None if there is none of that name. A dataset of one dimension is one row.
    pub(super) fn matrix(&self, path: &str) -> Result<Option<Matrix<'_>>> {
        let Ok(dataset) = self.file.dataset(path) else {
            return Ok(None);
        };
        let shape = match *dataset.shape() {
            [columns] => [1, columns],
            [rows, columns] => [rows, columns],
            _ => {
                return Err(self.wrong(
                    path,
                    format!("{} dimensions, expected 1 or 2", dataset.shape().len()),
                ));
            }
        };
        if shape.iter().any(|length| *length > LONGEST) {
            return Err(self.wrong(path, format!("{} x {} values", shape[0], shape[1])));
        }
        let [rows, columns] = shape.map(|length| length as usize);
        Ok(Some(Matrix {
            file: self,
            path: path.to_string(),
            dataset,
            rows,
            columns,
        }))
    }

    fn wrong(&self, region: &str, reason: String) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            region: region.into(),
            at: None,
            reason,
        }
    }
}

/// The file system that a file is named after.
pub(super) fn file_system_of(path: &Path) -> Option<&str> {
    let stem = path.file_name()?.to_str()?.split('.').next()?;
    // Behind the machine's name, before the day.
    let mut words = stem
        .split('_')
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    words.next_back().filter(|word| !word.is_empty())
}

fn malformed(path: &Path, region: &str, e: &hdf5_reader::error::Error) -> Error {
    Error::Malformed {
        path: path.to_path_buf(),
        region: region.into(),
        at: None,
        reason: e.to_string(),
    }
}

/// A dataset of numbers.
pub(super) struct Matrix<'a> {
    file: &'a File,
    path: String,
    dataset: Dataset,
    /// Rows; 1 for a dataset of one dimension.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

impl Matrix<'_> {
    /// Some rows, one after another; at most all.
    pub(super) fn read(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let rows = rows.start.min(self.rows)..rows.end.min(self.rows);
        let slice = |range: Range<usize>| SliceInfoElem::Slice {
            start: range.start as u64,
            end: range.end as u64,
            step: 1,
        };
        let selections = match self.dataset.ndim() {
            1 => vec![slice(0..self.columns)],
            _ => vec![slice(rows.clone()), slice(0..self.columns)],
        };
        let expected = rows.len() * self.columns;
        if expected == 0 {
            return Ok(vec![]);
        }
        let selection = SliceInfo { selections };
        let dataset = &self.dataset;
        let values = match dataset.read_slice::<f64>(&selection) {
            Ok(values) => values.iter().copied().collect(),
            Err(first) => {
                let ints = dataset
                    .read_slice::<i64>(&selection)
                    .map(|v| v.iter().map(|n| *n as f64).collect());
                let ints = ints.or_else(|_| {
                    dataset
                        .read_slice::<i32>(&selection)
                        .map(|v| v.iter().map(|n| f64::from(*n)).collect())
                });
                let ints: std::result::Result<Vec<f64>, _> = ints;
                ints.map_err(|_| malformed(&self.file.path, &self.path, &first))?
            }
        };
        let values: Vec<f64> = values;
        if values.len() != expected {
            return Err(self.file.wrong(
                &self.path,
                format!("{} values, expected {expected}", values.len()),
            ));
        }
        Ok(values)
    }

    /// All values as times in microseconds; [`NULL`] for what is none.
    pub(super) fn times(&self) -> Result<Vec<i64>> {
        // Seconds before the year 2200.
        let time = |x: f64| {
            if x > 0.0 && x < 7.3e9 {
                (x * 1e6).round() as i64
            } else {
                NULL
            }
        };
        Ok(self.read(0..self.rows)?.into_iter().map(time).collect())
    }

    /// The texts of an attribute; none if it has no such.
    pub(super) fn names(&self, attribute: &str) -> Vec<String> {
        let names = self
            .dataset
            .attribute(attribute)
            .and_then(|attribute| attribute.read_strings());
        let names = names.unwrap_or_default().into_iter();
        names
            .map(|name| name.trim_end_matches('\0').trim().to_string())
            .collect()
    }

    /// A text attribute.
    pub(super) fn text(&self, attribute: &str) -> Option<String> {
        self.dataset.attribute(attribute).ok()?.read_string().ok()
    }
}

/// Values of a column for rows that follow each other.
pub(super) enum Block<'a> {
    /// No values.
    Null,
    /// The same text.
    Text(&'a str),
    /// The same number.
    Index(i32),
    /// Whole numbers or times, [`NULL`] for NULL.
    Ints(&'a [i64]),
    /// Numbers; what is not finite is NULL.
    Floats(&'a [f64]),
}

/// Appends `rows` rows: the values that columns have by their names.
pub(super) fn append<'a>(
    builder: &mut TableBuilder,
    rows: usize,
    values: impl Fn(&str) -> Block<'a>,
) {
    let table = builder.table().clone();
    for (at, def) in table.columns.iter().enumerate() {
        match (values(&def.name), builder.column(at)) {
            (Block::Text(text), Column::Utf8(column)) => column.append_value_n(text, rows),
            (Block::Index(n), Column::Int32(column)) => column.extend_constant(n, rows),
            (Block::Ints(ints), Column::Int64(column)) => {
                column.extend_from_slice(ints, |n| n != NULL)
            }
            (Block::Ints(ints), Column::Timestamp(column)) => {
                column.extend_from_slice(ints, |n| n != NULL)
            }
            (Block::Floats(floats), Column::Float64(column)) => {
                column.extend_from_slice(floats, |x| x.is_finite())
            }
            (_, column) => nulls(column, rows),
        }
    }
}

/// A count as a whole number; [`NULL`] for what is none.
pub(super) fn whole(x: f64) -> i64 {
    if x.is_finite() && (0.0..9.0e18).contains(&x) {
        x.round() as i64
    } else {
        NULL
    }
}
