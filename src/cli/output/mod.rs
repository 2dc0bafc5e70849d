//! Answers as text and files.
//!
//! # Adding a format
//! One file here (or a line in one, where a format is a variant of another), one entry in [`FORMATS`].
//!
//! # Ids in JSON
//! JSON numbers are read as 64-bit floats nearly everywhere, and ids do not fit them. So a column of 64-bit integers is written
//! as strings when it is unsigned, or when it is an id by its name: when the last word of it is `id` or ends in `_id` or
//! `_hash` (`log_id`, `min(darshan_log.job_id)`). That depends on the column, never on the value. Counts of ids are numbers.

mod columnar;
mod json;
mod markdown;
mod table;
mod text;
pub(super) mod times;
pub(super) mod writer;

use self::writer::{RowWriter, Sink, Style};
use clap::builder::{PossibleValue, TypedValueParser};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

/// A form in which rows can be written.
pub(crate) struct Format {
    /// Name in `--format` and `\format`.
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) doc: &'static str,
    /// Not for a person's eyes: refused on a terminal, and holds one result only.
    pub(crate) binary: bool,
    open: Open,
}

type Open = for<'a> fn(Sink<'a>, &SchemaRef, Style) -> anyhow::Result<Box<dyn RowWriter + 'a>>;

/// Every format, in the order shown to users.
pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "table",
        doc: "aligned columns for reading",
        binary: false,
        open: |sink, schema, style| Ok(Box::new(table::Table::new(sink, schema, style))),
    },
    Format {
        name: "csv",
        doc: "comma-separated values with a header; NULL is empty",
        binary: false,
        open: |sink, schema, _| text::open(sink, schema, b','),
    },
    Format {
        name: "tsv",
        doc: "the same, separated by tabs",
        binary: false,
        open: |sink, schema, _| text::open(sink, schema, b'\t'),
    },
    Format {
        name: "json",
        doc: "one array of objects; 64-bit ids are strings",
        binary: false,
        open: |sink, schema, _| Ok(Box::new(json::Array::new(sink, schema))),
    },
    Format {
        name: "ndjson",
        doc: "one object on each line; 64-bit ids are strings",
        binary: false,
        open: |sink, schema, _| Ok(Box::new(json::Lines::new(sink, schema))),
    },
    Format {
        name: "markdown",
        doc: "a Markdown table",
        binary: false,
        open: |sink, schema, _| markdown::open(sink, schema),
    },
    Format {
        name: "arrow",
        doc: "Arrow IPC: a file, or a stream in a pipe and in .arrows",
        binary: true,
        open: |sink, schema, style| match style.is_file {
            true => columnar::arrow_file(sink, schema),
            false => columnar::arrow_stream(sink, schema),
        },
    },
    Format {
        name: "parquet",
        doc: "one Parquet file",
        binary: true,
        open: |sink, schema, _| columnar::parquet(sink, schema),
    },
];

impl Format {
    /// A writer of rows of that schema.
    pub(crate) fn writer<'a>(
        &self,
        sink: Sink<'a>,
        schema: &SchemaRef,
        style: Style,
    ) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
        (self.open)(sink, schema, style)
    }

    /// Writes rows that are all there; answers what [`RowWriter::finish`] does.
    pub(crate) fn write(
        &self,
        sink: Sink<'_>,
        batch: &RecordBatch,
        style: Style,
    ) -> anyhow::Result<Option<String>> {
        let mut writer = self.writer(sink, &batch.schema(), style)?;
        writer.write(batch)?;
        writer.finish()
    }
}

/// The format of that name; for clap, and for `\format`.
///
/// # Errors
/// The names there are.
pub(crate) fn format(name: &str) -> Result<&'static Format, String> {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| format!("unknown format `{name}`; there are {}", names.join(", ")))
}

/// Reads the name of a format; shared by all commands that have `--format`.
pub(super) fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name).help(format.doc));
    clap::builder::PossibleValuesParser::new(names).try_map(|name| super::output::format(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::ArrayRef;
    use datafusion::arrow::array::{
        Array, BinaryArray, Float64Array, Int64Array, ListArray, StringArray, StringViewArray,
        TimestampMicrosecondArray, TimestampMillisecondArray, TimestampSecondArray, UInt64Array,
    };
    use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use std::sync::Arc;

    /// One row with a value and one with NULLs, of every kind of column that tables have.
    fn rows() -> RecordBatch {
        let time = TimestampMicrosecondArray::from(vec![Some(1_504_256_700_000_000), None])
            .with_timezone("UTC");
        let list =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(3), None]), None]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            (
                "log_id",
                Arc::new(Int64Array::from(vec![
                    Some(-7_812_345_678_901_234_567),
                    None,
                ])),
            ),
            (
                "record_id",
                Arc::new(UInt64Array::from(vec![
                    Some(15_920_181_672_442_173_319),
                    None,
                ])),
            ),
            (
                "bytes",
                Arc::new(Int64Array::from(vec![Some(9_007_199_254_740_993), None])),
            ),
            (
                "app",
                Arc::new(StringViewArray::from(vec![Some("a,\"b\""), None])),
            ),
            ("time", Arc::new(time)),
            ("share", Arc::new(Float64Array::from(vec![Some(0.1), None]))),
            ("osts", Arc::new(list)),
            (
                "bits",
                Arc::new(BinaryArray::from(vec![Some(&[0xAB, 0x01][..]), None])),
            ),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .unwrap()
    }

    fn written(name: &str, batch: &RecordBatch) -> Vec<u8> {
        let mut out = vec![];
        format(name)
            .unwrap()
            .write(&mut out, batch, Style::default())
            .unwrap();
        out
    }

    fn text(name: &str, batch: &RecordBatch) -> String {
        String::from_utf8(written(name, batch)).unwrap()
    }

    #[test]
    fn csv_has_a_header_quotes_what_needs_it_and_leaves_null_empty() {
        assert_eq!(
            text("csv", &rows()),
            "log_id,record_id,bytes,app,time,share,osts,bits\n\
             -7812345678901234567,15920181672442173319,9007199254740993,\"a,\"\"b\"\"\",2017-09-01T09:05:00Z,0.1,\"[3, NULL]\",ab01\n\
             ,,,,,,,\n"
        );
        assert_eq!(
            text("tsv", &rows()).lines().nth(1).unwrap(),
            "-7812345678901234567\t15920181672442173319\t9007199254740993\t\"a,\"\"b\"\"\"\t2017-09-01T09:05:00Z\t0.1\t[3, NULL]\tab01"
        );
    }

    #[test]
    fn json_has_ids_as_strings_in_every_row_and_other_integers_as_numbers() {
        let first = r#"{"log_id":"-7812345678901234567","record_id":"15920181672442173319","bytes":9007199254740993,"app":"a,\"b\"","time":"2017-09-01T09:05:00Z","share":0.1,"osts":[3,null],"bits":"ab01"}"#;
        let second = r#"{"log_id":null,"record_id":null,"bytes":null,"app":null,"time":null,"share":null,"osts":null,"bits":null}"#;
        assert_eq!(text("ndjson", &rows()), format!("{first}\n{second}\n"));
        assert_eq!(text("json", &rows()), format!("[{first},{second}]\n"));
    }

    #[test]
    fn every_format_writes_a_result_without_rows_as_one() {
        let none = rows().slice(0, 0);
        assert_eq!(
            text("csv", &none),
            "log_id,record_id,bytes,app,time,share,osts,bits\n"
        );
        assert_eq!(text("json", &none), "[]\n");
        assert_eq!(text("ndjson", &none), "");
        assert_eq!(read_arrow(&written("arrow", &none)).num_columns(), 8);
        assert_eq!(read_parquet(&written("parquet", &none)).num_columns(), 8);
    }

    /// The form of files has a footer, which a stream has not.
    #[test]
    fn arrow_is_a_file_where_it_goes_into_one() {
        let mut file = vec![];
        let style = Style {
            is_file: true,
            ..Style::default()
        };
        let arrow = format("arrow").unwrap();
        arrow.write(&mut file, &rows(), style).unwrap();
        assert!(file.starts_with(b"ARROW1") && file.ends_with(b"ARROW1"));
        let file = std::io::Cursor::new(file);
        let mut reader = datafusion::arrow::ipc::reader::FileReader::try_new(file, None).unwrap();
        let back = reader.next().unwrap().unwrap();
        assert_eq!(back, read_arrow(&written("arrow", &rows())));
        assert!(reader.next().is_none());
    }

    #[test]
    fn arrow_and_parquet_give_back_the_rows_they_were_given() {
        for back in [
            read_arrow(&written("arrow", &rows())),
            read_parquet(&written("parquet", &rows())),
        ] {
            assert_eq!(back.num_rows(), 2);
            // Views come back as plain text: readers older than 2024 have no views.
            assert_eq!(
                back.column(3).as_ref(),
                &StringArray::from(vec![Some("a,\"b\""), None])
                    as &dyn datafusion::arrow::array::Array
            );
            for column in [0, 1, 2, 4, 5, 6, 7] {
                assert_eq!(back.column(column), rows().column(column), "{column}");
            }
        }
    }

    /// Parquet has no seconds: written as such they are numbers for who does not know what Arrow meant.
    #[test]
    fn times_in_seconds_are_times_in_parquet() {
        let seconds = TimestampSecondArray::from(vec![1_700_000_000]).with_timezone("UTC");
        let batch = RecordBatch::try_from_iter([("t", Arc::new(seconds) as ArrayRef)]).unwrap();
        let back = read_parquet(&written("parquet", &batch));
        let millis = TimestampMillisecondArray::from(vec![1_700_000_000_000]).with_timezone("UTC");
        assert_eq!(back.column(0).as_ref(), &millis as &dyn Array);
    }

    fn read_arrow(bytes: &[u8]) -> RecordBatch {
        let reader = datafusion::arrow::ipc::reader::StreamReader::try_new(bytes, None).unwrap();
        let schema = reader.schema();
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        datafusion::arrow::compute::concat_batches(&schema, &batches).unwrap()
    }

    fn read_parquet(bytes: &[u8]) -> RecordBatch {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        let reader = datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(
            bytes, 1024,
        )
        .unwrap();
        let schema = datafusion::arrow::array::RecordBatchReader::schema(&reader);
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        datafusion::arrow::compute::concat_batches(&schema, &batches).unwrap()
    }

    #[test]
    fn columns_of_the_same_name_are_told_apart_where_names_are_keys() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let names = ["n", "n", "n_1", "n"];
        let schema = Schema::new(
            names
                .map(|n| Field::new(n, DataType::Int64, false))
                .to_vec(),
        );
        let batch = RecordBatch::try_new(Arc::new(schema), vec![one; 4]).unwrap();
        assert_eq!(
            text("ndjson", &batch),
            "{\"n\":1,\"n_2\":1,\"n_1\":1,\"n_3\":1}\n"
        );
        assert_eq!(text("csv", &batch), "n,n,n_1,n\n1,1,1,1\n");
    }

    #[test]
    fn formats_have_distinct_names_and_a_meaning() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert!(!format.doc.is_empty());
            assert!(FORMATS[..at].iter().all(|other| other.name != format.name));
        }
        assert!(
            format("xml")
                .err()
                .unwrap()
                .contains("table, csv, tsv, json, ndjson, markdown, arrow, parquet")
        );
    }
}
