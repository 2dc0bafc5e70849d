//! `FROM 'x.csv'`: a CSV or Parquet file of the user, for one statement.
//!
//! Only a session that was made with [`EngineOptions::local_files`](crate::engine::EngineOptions) reads them: what a program of somebody else sends must
//! not read files of the user who serves it. Each file that a statement names is a table of a catalog that lives as long as its plan.

use crate::engine::sql::visit::visit_mut;
use crate::error::{Error, Result};
use crate::table::tables;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemorySchemaProvider,
    SchemaProvider, TableProvider,
};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::session_state::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, TableAlias, TableFactor, VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// The catalog and the schema of files.
const CATALOG: &str = "file";
const SCHEMA: &str = "local";

/// Rows from which the types of the columns of a CSV file are taken.
const INFERRED: usize = 1_000_000;

#[derive(Default)]
struct Files(BTreeSet<String>);

impl VisitorMut for Files {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let [ObjectNamePart::Identifier(ident)] = &name.0[..] else {
            return ControlFlow::Continue(());
        };
        // A name without a dot is that of a table, whatever quotes it has.
        if ident.quote_style != Some('\'') || !ident.value.contains(['.', '/']) {
            return ControlFlow::Continue(());
        }
        let path = ident.value.clone();
        let stem = Path::new(&path).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let quoted = |name: &str| Ident::with_quote('"', name);
        alias.get_or_insert_with(|| TableAlias {
            explicit: true,
            name: quoted(&stem),
            columns: vec![],
            at: None,
        });
        *name = ObjectName::from(vec![quoted(CATALOG), quoted(SCHEMA), quoted(&path)]);
        self.0.insert(path);
        ControlFlow::Continue(())
    }
}

/// Gives the tables in single quotes of a statement their names in the catalog of files, and as their alias the name of the file without its
/// ending. The catalog is added to those that the statement sees.
///
/// # Errors
/// [`Error::Io`] if one cannot be read, [`Error::Invalid`] if it is of another kind than its ending says, or the session reads no files.
pub(in crate::engine) async fn add(
    statement: &mut Statement,
    are_read: bool,
    state: &SessionState,
    catalogs: &dyn CatalogProviderList,
) -> Result<()> {
    let mut files = Files::default();
    let _ = visit_mut(statement, &mut files);
    match files.0.first() {
        None => return Ok(()),
        Some(path) if !are_read => {
            return Err(Error::Invalid(format!(
                "'{path}': files are read at the command line alone, by `iolode sql`; the name of a table has double quotes"
            )));
        }
        Some(_) => {}
    }
    let schema = MemorySchemaProvider::new();
    for path in &files.0 {
        let table = table(path, state).await?;
        let registered = schema.register_table(path.clone(), table);
        registered.map_err(|e| Error::columns(path, e))?;
    }
    let catalog = MemoryCatalogProvider::new();
    let registered = catalog.register_schema(SCHEMA, Arc::new(schema));
    registered.map_err(|e| Error::columns(SCHEMA, e))?;
    catalogs.register_catalog(CATALOG.to_string(), Arc::new(catalog));
    Ok(())
}

async fn table(path: &str, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    let ending = Path::new(path).extension().unwrap_or_default();
    let ending = ending.to_string_lossy().to_lowercase();
    let separated = |by: u8| -> Arc<dyn FileFormat> {
        let csv = CsvFormat::default().with_has_header(true);
        // A text in quotes may have several lines: the file is not cut into parts.
        Arc::new(csv.with_delimiter(by).with_newlines_in_values(true))
    };
    let (format, separator): (Arc<dyn FileFormat>, Option<u8>) = match ending.as_str() {
        "csv" => (separated(b','), Some(b',')),
        "tsv" => (separated(b'\t'), Some(b'\t')),
        "parquet" => (Arc::new(ParquetFormat::default()), None),
        _ => {
            return Err(Error::Invalid(format!(
                "{path}: expected a file whose name ends in .csv, .tsv or .parquet"
            )));
        }
    };
    let cannot = |e| Error::io(path, "cannot read", e);
    let whole = std::fs::canonicalize(path).map_err(cannot)?;
    // Whether it may be read is known here, by the system's own words.
    let file = std::fs::File::open(&whole).map_err(cannot)?;
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(cannot(std::io::Error::other("not a regular file")));
    }
    let refused = |why: &dyn std::fmt::Display| {
        let why = why.to_string();
        let why = why.lines().next().unwrap_or_default();
        Error::Invalid(format!("{path}: cannot read as {ending}: {why}"))
    };
    let url = ListingTableUrl::parse(url(&whole)).map_err(|e| refused(&e))?;
    let options = ListingOptions::new(format).with_file_extension("");
    let schema = match separator {
        None => {
            let inferred = options.infer_schema(state, &url).await;
            inferred.map_err(|e| refused(&e.strip_backtrace()))?
        }
        Some(by) => {
            let inferred = tokio::task::spawn_blocking(move || columns(file, by)).await;
            inferred
                .map_err(|e| refused(&e))?
                .map_err(|e| refused(&e))?
        }
    };
    if schema.fields().is_empty() {
        return Err(refused(&"it has no columns"));
    }
    let config = ListingTableConfig::new(url)
        .with_listing_options(options)
        .with_schema(schema);
    let table = ListingTable::try_new(config).map_err(|e| refused(&e))?;
    Ok(Arc::new(table))
}

/// The address of a file: no character of its path means anything but itself.
fn url(path: &Path) -> String {
    let mut url = "file://".to_string();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => url += &format!("%{byte:02X}"),
        }
    }
    url
}

/// The columns of a CSV file by its first rows. DataFusion 55.2 cuts the file at line ends for that, also at those inside of texts.
///
/// Ids are unsigned: those above 2^63 look like fractions, which would not be equal to the ids of a lake.
fn columns(file: std::fs::File, separator: u8) -> Result<SchemaRef, ArrowError> {
    let format = Format::default().with_header(true);
    let format = format.with_delimiter(separator);
    let (schema, _) = format.infer_schema(std::io::BufReader::new(file), Some(INFERRED))?;
    let is_id = |name: &str| {
        let mut columns = tables().flat_map(|table| table.schema.fields());
        columns.any(|known| known.name() == name && *known.data_type() == DataType::UInt64)
    };
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Float64 if is_id(field.name()) => DataType::UInt64,
            // Without any value.
            DataType::Null => DataType::Utf8,
            kind => kind.clone(),
        };
        Field::new(field.name(), kind, true)
    });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_session_reads_no_files_unless_it_is_made_so() {
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        std::fs::write(file.path(), "a\n1\n").unwrap();
        for sql in [
            format!("SELECT * FROM '{}'", file.path().display()),
            format!("SUMMARIZE '{}'", file.path().display()),
            format!(
                "CREATE TABLE t AS SELECT * FROM '{}'",
                file.path().display()
            ),
        ] {
            let why = ask(&sql).unwrap_err();
            assert!(why.contains("at the command line alone"), "{why}");
        }
    }

    #[test]
    fn an_address_has_the_characters_of_the_path_and_no_others() {
        assert_eq!(
            url(Path::new("/a b/%?*[#.csv")),
            "file:///a%20b/%25%3F%2A%5B%23.csv"
        );
        assert_eq!(url(Path::new("/d-e_f/ü.csv")), "file:///d-e_f/%C3%BC.csv");
    }
}
