//! Rows under pseudonyms, column by column, as the [`Policy`] says.

use super::coarse;
use super::keys_apart::KeysApart;
use super::path::Paths;
use super::policy::Policy;
use super::pseudonym::{Key, Names};
use super::record_names::RecordNames;
use crate::error::{Error, Result};
use crate::source::darshan::{Name, is_constant, is_stream, record_id};
use crate::table::{Anew, Coarse, Domain, Partition, Table, Treatment};
use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, ListArray, ListBuilder, MapBuilder, MapFieldNames,
    StringArray, StringBuilder, StructArray, TimestampMicrosecondArray, UInt64Array,
    new_null_array,
};
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// Makes rows anonymous.
pub(super) struct Anonymizer {
    key: Key,
    policy: Arc<Policy>,
    names: Names,
    paths: Paths,
    /// Of the table, if a time of its key is made less exact.
    keys: Option<KeysApart>,
}

impl Anonymizer {
    /// For the rows of one table.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column that does not say what is done with it.
    pub(super) fn new(key: Key, policy: Arc<Policy>, table: &Table) -> Result<Self> {
        let mut is_coarse = false;
        for column in table.order() {
            let treatment = policy.of(table, column)?;
            is_coarse |= matches!(treatment, Treatment::Coarsened(_));
        }
        Ok(Self {
            names: Names::new(key.clone()),
            paths: Paths::new(key.clone()),
            keys: if is_coarse {
                KeysApart::of(table)?
            } else {
                None
            },
            key,
            policy,
        })
    }

    /// Whether the new record ids of a table are made of names that lie in `darshan_file`.
    pub(super) fn wants_names(&self, table: &Table) -> Result<bool> {
        let has_name = |column: &str| {
            column == "record_id"
                && (table.position("path").is_some() || table.position("name").is_some())
        };
        for column in &table.columns {
            let treatment = self.policy.of(table, &column.name)?;
            if treatment == Treatment::Anew(Anew::RecordId) && !has_name(&column.name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether rows are in the order of the table as they were: those of a file have one file system, and the other columns of the order stay.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column that does not say what is done with it.
    pub(super) fn keeps_order(&self, table: &Table) -> Result<bool> {
        if table.partition != Partition::Day {
            return Ok(false);
        }
        for column in table.order().filter(|column| *column != "fs") {
            if self.policy.of(table, column)? != Treatment::Kept {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows of a table under pseudonyms; their order is another one then. `records` are the names of its records, if
    /// [`Anonymizer::wants_names`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if two values have one pseudonym, or a column does not say what is done with it.
    pub(super) fn rows(
        &mut self,
        table: &Table,
        rows: &RecordBatch,
        mut records: Option<&mut RecordNames>,
    ) -> Result<RecordBatch> {
        let mut columns = vec![];
        for (at, column) in table.columns.iter().enumerate() {
            let array = rows.column(at);
            let made = match self.policy.of(table, &column.name)? {
                Treatment::Kept => array.clone(),
                Treatment::Dropped => new_null_array(array.data_type(), array.len()),
                Treatment::Pseudonym(domain) => self.pseudonyms(domain, array)?,
                Treatment::Anew(Anew::RecordId) => {
                    self.record_ids(table, &column.name, rows, records.as_deref_mut())?
                }
                Treatment::Anew(anew) => self.anew(anew, table, array, rows)?,
                Treatment::Coarsened(coarse) => coarsened(coarse, array)?,
            };
            columns.push(made);
        }
        let made = RecordBatch::try_new(table.schema.clone(), columns);
        let made = made.map_err(|e| Error::columns(&*table.name, e))?;
        match &mut self.keys {
            Some(keys) => keys.rows(&made),
            None => Ok(made),
        }
    }

    fn pseudonyms(&mut self, domain: Domain, array: &ArrayRef) -> Result<ArrayRef> {
        let key = self.key.clone();
        Ok(match array.data_type() {
            DataType::Int64 => {
                let values = array.as_primitive::<Int64Type>();
                let number = |value: i64| match domain {
                    Domain::Log => key.log(value),
                    domain => key.number(domain, value),
                };
                let mut last = None;
                let made: Int64Array = values
                    .iter()
                    .map(|value| {
                        let value = value?;
                        let made = match last {
                            Some((known, made)) if known == value => made,
                            _ => number(value),
                        };
                        last = Some((value, made));
                        Some(made)
                    })
                    .collect();
                Arc::new(made)
            }
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                let mut made = ListBuilder::new(StringBuilder::new());
                for row in 0..lists.len() {
                    if lists.is_valid(row) {
                        let items = lists.value(row);
                        let items = items.as_string::<i32>();
                        let texts = items.iter().flatten().map(|item| self.text(domain, item));
                        let mut texts = texts.collect::<Result<Vec<_>>>()?;
                        // The order of the names would say which of them are neighbours.
                        texts.sort_unstable();
                        texts
                            .iter()
                            .for_each(|text| made.values().append_value(text));
                    }
                    made.append(lists.is_valid(row));
                }
                Arc::new(made.finish())
            }
            _ => {
                let texts = array.as_string_opt::<i32>().ok_or_else(|| {
                    Error::Invalid(format!(
                        "a column of {} has no pseudonyms",
                        array.data_type()
                    ))
                })?;
                self.each(texts, |own, text| own.text(domain, text).map(Some))?
            }
        })
    }

    /// The pseudonym of a text.
    ///
    /// # Errors
    /// [`Error::Invalid`] if another text has the same.
    pub(super) fn text(&mut self, domain: Domain, text: &str) -> Result<String> {
        match domain {
            Domain::Path => Ok(self.paths.of(text)),
            // One that has no name of its own is named after its mount point.
            Domain::Fs if text.starts_with('/') => Ok(self.paths.of(text)),
            domain => self.names.of(domain, text).map(str::to_string),
        }
    }

    /// The pseudonym of the name of a record.
    pub(super) fn name(&mut self, name: Name<'_>) -> String {
        match name.is_object {
            true => self.paths.of_object(name.text),
            false => self.paths.of(name.text),
        }
    }

    /// The new id of a record: the hash of the pseudonym of its name, or its own pseudonym. Those of standard streams stay, whatever name
    /// the log has for them, and so do those of modules that Darshan names itself, as in rewritten logs.
    pub(super) fn record_id(&mut self, id: u64, name: Option<Name<'_>>) -> u64 {
        match name {
            _ if is_stream(id) => id,
            Some(name) => record_id(self.name(name).as_bytes()),
            None if is_constant(id) => id,
            None => self.key.record(id),
        }
    }

    /// Texts made of texts, each once where it stands several times one after another.
    fn each(
        &mut self,
        texts: &StringArray,
        mut make: impl FnMut(&mut Self, &str) -> Result<Option<String>>,
    ) -> Result<ArrayRef> {
        let mut made = StringBuilder::with_capacity(texts.len(), texts.len() * 24);
        let mut last: Option<(&str, Option<String>)> = None;
        for text in texts {
            let Some(text) = text else {
                made.append_null();
                continue;
            };
            match &last {
                Some((known, value)) if *known == text => made.append_option(value.as_deref()),
                _ => {
                    let value = make(self, text)?;
                    made.append_option(value.as_deref());
                    last = Some((text, value));
                }
            }
        }
        Ok(Arc::new(made.finish()))
    }

    fn anew(
        &mut self,
        anew: Anew,
        table: &Table,
        array: &ArrayRef,
        rows: &RecordBatch,
    ) -> Result<ArrayRef> {
        let ints = |name: &str| {
            Ok::<_, Error>(rows.column(table.index(name)?).as_primitive::<Int64Type>())
        };
        Ok(match anew {
            Anew::ObjectName => {
                let names = array.as_string::<i32>();
                self.each(names, |own, name| Ok(Some(own.paths.of_object(name))))?
            }
            Anew::LogPath => {
                let logs = ints("log_id")?.values().iter();
                let paths = logs.map(|log| Some(format!("{}.darshan", self.key.log(*log))));
                Arc::new(paths.collect::<StringArray>())
            }
            Anew::JobIdText => {
                let jobs = ints("job_id")?.values().iter();
                let steps = table
                    .position("step_id")
                    .map(|at| rows.column(at).as_string::<i32>());
                let texts = jobs.enumerate().map(|(row, job)| {
                    let job = self.key.number(Domain::Job, *job);
                    Some(match steps {
                        Some(steps) => format!("{job}.{}", steps.value(row)),
                        None => job.to_string(),
                    })
                });
                Arc::new(texts.collect::<StringArray>())
            }
            // As the names that it is made of.
            Anew::NodeList if self.policy.of(table, "nodes")? == Treatment::Kept => array.clone(),
            Anew::NodeList => {
                let nodes = rows.column(table.index("nodes")?).as_list::<i32>();
                let mut made = StringBuilder::new();
                for row in 0..nodes.len() {
                    if array.is_null(row) || nodes.is_null(row) {
                        made.append_null();
                        continue;
                    }
                    let hosts = nodes.value(row);
                    let hosts = hosts.as_string::<i32>().iter().flatten();
                    let hosts = hosts.map(|host| self.text(Domain::Host, host));
                    let mut hosts = hosts.collect::<Result<Vec<_>>>()?;
                    hosts.sort_unstable();
                    made.append_value(hosts.join(","));
                }
                Arc::new(made.finish())
            }
            Anew::RecordId | Anew::Manifest => {
                let why = format!("a column of {} is not made of its rows", table.name);
                return Err(Error::Invalid(why));
            }
        })
    }

    /// Record ids that are hashes of the pseudonyms of names: those of the row, or of `records`.
    fn record_ids(
        &mut self,
        table: &Table,
        column: &str,
        rows: &RecordBatch,
        mut records: Option<&mut RecordNames>,
    ) -> Result<ArrayRef> {
        let ids = rows
            .column(table.index(column)?)
            .as_primitive::<UInt64Type>();
        let own = match column {
            "record_id" => table.position("path").or(table.position("name")),
            _ => None,
        };
        let is_object = table.position("path").is_none();
        if let Some(own) = own {
            let names = rows.column(own).as_string::<i32>();
            let made = ids.iter().enumerate().map(|(row, id)| {
                let name = names.is_valid(row).then(|| Name {
                    text: names.value(row),
                    is_object,
                });
                Some(self.record_id(id?, name))
            });
            return Ok(Arc::new(made.collect::<UInt64Array>()));
        }
        let int = |name: &str| {
            Ok::<_, Error>(
                rows.column(table.index(name)?)
                    .as_primitive::<Int64Type>()
                    .values(),
            )
        };
        let (jobs, logs) = (int("job_id")?, int("log_id")?);
        let mut made = UInt64Array::builder(ids.len());
        for (row, id) in ids.iter().enumerate() {
            let log = (jobs[row], logs[row]);
            made.append_option(match (id, &mut records) {
                // It stands for none.
                (Some(0), _) => Some(0),
                (Some(id), Some(records)) => {
                    Some(records.of(log, id, &mut self.paths, &self.key)?)
                }
                (Some(id), None) => Some(self.key.record(id)),
                (None, _) => None,
            });
        }
        Ok(Arc::new(made.finish()))
    }
}

fn coarsened(coarse: Coarse, array: &ArrayRef) -> Result<ArrayRef> {
    if let Some(unit) = coarse::unit(coarse) {
        let times = array.as_primitive::<TimestampMicrosecondType>();
        let times: TimestampMicrosecondArray = times.unary(|time| time.div_euclid(unit) * unit);
        return Ok(Arc::new(times.with_data_type(array.data_type().clone())));
    }
    match coarse {
        Coarse::Tres => return plain_tres(array),
        Coarse::Pools => return without_pools(array),
        _ => {}
    }
    let texts = array.as_string::<i32>().iter();
    let made = texts.map(|text| match coarse {
        Coarse::Reason => text.and_then(coarse::reason).map(str::to_string),
        Coarse::FsType => text.map(|text| coarse::fs_type(text).to_string()),
        _ => text.and_then(coarse::hints),
    });
    Ok(Arc::new(made.collect::<StringArray>()))
}

/// Lists of components, the texts of which are names of pools, without these.
fn without_pools(array: &ArrayRef) -> Result<ArrayRef> {
    let lists = array.as_list::<i32>();
    let components = lists.values().as_struct();
    let columns = components.fields().iter().zip(components.columns());
    let columns = columns.map(|(field, column)| match field.data_type() {
        DataType::Utf8 => new_null_array(field.data_type(), column.len()),
        _ => column.clone(),
    });
    let made = StructArray::try_new(
        components.fields().clone(),
        columns.collect(),
        components.nulls().cloned(),
    );
    let made = made.map_err(|e| Error::columns("components of a layout", e))?;
    let DataType::List(item) = array.data_type() else {
        return Ok(array.clone());
    };
    let lists = ListArray::try_new(
        item.clone(),
        lists.offsets().clone(),
        Arc::new(made),
        lists.nulls().cloned(),
    );
    Ok(Arc::new(lists.map_err(|e| {
        Error::columns("components of a layout", e)
    })?))
}

/// Maps of trackable resources without those that the site has named.
fn plain_tres(array: &ArrayRef) -> Result<ArrayRef> {
    let maps = array.as_map();
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    let mut made = MapBuilder::new(Some(names), StringBuilder::new(), Int64Array::builder(0));
    for row in 0..maps.len() {
        if maps.is_valid(row) {
            let entries = maps.value(row);
            let values = entries.column(1).as_primitive::<Int64Type>();
            for (name, value) in entries.column(0).as_string::<i32>().iter().zip(values) {
                if let Some(name) = name.filter(|name| coarse::is_plain_tres(name)) {
                    made.keys().append_value(name);
                    made.values().append_option(value);
                }
            }
        }
        made.append(maps.is_valid(row))
            .map_err(|e| Error::columns("trackable resources", e))?;
    }
    Ok(Arc::new(made.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tables;
    use arrow::array::{BinaryArray, MapArray};
    use arrow::buffer::OffsetBuffer;

    /// AutoPerf's records have this id in every log; it is the hash of `APMPI`.
    #[test]
    fn ids_that_darshan_gives_in_all_logs_stay_where_no_name_is_known() {
        let table = crate::table::table("darshan_log").unwrap();
        let mut anonymizer = Anonymizer::new(Key::of(&[7; 32]), Arc::default(), table).unwrap();
        assert_eq!(
            anonymizer.record_id(2_250_748_219_237_254_214, None),
            2_250_748_219_237_254_214
        );
        assert_ne!(
            anonymizer.record_id(2_250_748_219_237_254_215, None),
            2_250_748_219_237_254_215
        );
    }

    /// Columns of text that are kept: words of Darshan, Slurm, Lustre and iolode, which name nobody.
    const WORDS: [&str; 18] = [
        "module",
        "operation",
        "bytes_source",
        "sharing",
        "byte_order",
        "compression",
        "lib_ver",
        "log_version",
        "modules",
        "partial_modules",
        "status",
        "warning",
        "recovery_status",
        "op",
        "array_tasks",
        "flags",
        "req_mem_per",
        "state",
    ];
    const MORE_WORDS: [&str; 9] = [
        "timelimit_text",
        "layout",
        "step_id",
        "ost_bits",
        "mode",
        "evidence",
        "read_classes",
        "write_classes",
        "metadata_classes",
    ];

    /// One value of a type that nobody else has.
    fn canary(kind: &DataType, name: &str) -> ArrayRef {
        // The number of a step is part of the id that Slurm shows.
        let text = match name {
            "step_id" => "batch".to_string(),
            name => format!("canary_{name}"),
        };
        match kind {
            DataType::Utf8 => Arc::new(StringArray::from(vec![text])),
            DataType::Binary => Arc::new(BinaryArray::from(vec![text.as_bytes()])),
            DataType::List(item) => {
                let items = canary(item.data_type(), name);
                let offsets = OffsetBuffer::from_lengths([items.len()]);
                Arc::new(arrow::array::ListArray::new(
                    item.clone(),
                    offsets,
                    items,
                    None,
                ))
            }
            DataType::Map(entries, sorted) => {
                let DataType::Struct(fields) = entries.data_type() else {
                    panic!("{kind}")
                };
                let values = fields.iter().map(|field| canary(field.data_type(), name));
                let values = StructArray::new(fields.clone(), values.collect(), None);
                let offsets = OffsetBuffer::from_lengths([1]);
                Arc::new(MapArray::new(
                    entries.clone(),
                    offsets,
                    values,
                    None,
                    *sorted,
                ))
            }
            DataType::Struct(fields) => {
                let values = fields.iter().map(|field| canary(field.data_type(), name));
                Arc::new(StructArray::new(fields.clone(), values.collect(), None))
            }
            kind => {
                let number = Arc::new(Int64Array::from(vec![123_456_789])) as ArrayRef;
                arrow::compute::cast(&number, kind).unwrap()
            }
        }
    }

    #[test]
    fn no_text_of_any_table_comes_through_but_words_that_name_nobody() {
        for table in tables().filter(|table| table.partition != Partition::Manifest) {
            let columns = table.schema.fields().iter();
            let columns = columns.map(|field| canary(field.data_type(), field.name()));
            let rows = RecordBatch::try_new(table.schema.clone(), columns.collect()).unwrap();
            let mut anonymizer = Anonymizer::new(Key::of(&[7; 32]), Arc::default(), table).unwrap();
            let made = anonymizer.rows(table, &rows, None).unwrap();
            for (field, column) in table.schema.fields().iter().zip(made.columns()) {
                let text = arrow::util::display::array_value_to_string(column, 0);
                let text = text.unwrap_or_default() + &format!("{column:?}");
                let name = field.name().as_str();
                let is_word = WORDS.contains(&name) || MORE_WORDS.contains(&name);
                let hex: String = "canary".bytes().map(|byte| format!("{byte:02x}")).collect();
                let came = ["canary", &hex].iter().any(|known| text.contains(known));
                assert!(!came || is_word, "{}.{name}: {text}", table.name);
            }
            // Hashes and ids are other ones; threads and DAOS objects are left out, records of heat maps and of AutoPerf have the names of modules.
            let ids = [
                "log_id",
                "job_id",
                "uid",
                "cancelled_by",
                "array_job_id",
                "het_job_id",
            ];
            for (at, field) in table.schema.fields().iter().enumerate() {
                let is_id =
                    field.data_type() == &DataType::UInt64 || ids.contains(&field.name().as_str());
                let of_modules = ["darshan_heatmap", "darshan_apmpi", "darshan_apxc"];
                let is_of_module =
                    of_modules.contains(&table.name.as_str()) && field.name() == "record_id";
                if is_id {
                    let same = made.column(at).as_ref() == rows.column(at).as_ref();
                    assert_eq!(same, is_of_module, "{}.{}", table.name, field.name());
                }
            }
        }
    }
}
