//! One table or answer of the chosen logs as a file: it is asked of an export that is gone afterwards.

use super::args::{Args, FormArg};
use super::told::{nothing, told};
use crate::answer::export::{self, ExportOptions};
use crate::cli::exit::Exit;
use crate::cli::output::FORMATS;
use crate::cli::query_args::QueryArgs;
use crate::cli::screen::Terminal;
use crate::cli::session::Session;
use crate::cli::shell::{OutFile, Settings, Shell};
use crate::cli::size;
use crate::error::Error;
use crate::lake::Snapshot;
use crate::table::{Partition, table};
use crate::text::{quoted, shown_path};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::Statement as Sql;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is asked for.
pub(super) struct OneFile {
    format: &'static str,
    /// The only table that is needed.
    table: Option<String>,
    sql: String,
    force: bool,
    key: Option<PathBuf>,
}

/// What is asked for, if it is one file.
///
/// # Errors
/// If there is nothing to write into it, or no form for what is to be written; those of the table's name.
pub(super) fn asked(args: &Args) -> anyhow::Result<Option<OneFile>> {
    let format = match args.format {
        FormArg::Lake | FormArg::Delta => None,
        FormArg::Csv => Some("csv"),
        FormArg::Ndjson => Some("ndjson"),
        FormArg::Arrow => Some("arrow"),
        FormArg::Parquet => Some("parquet"),
    };
    let (format, sql) = match (format, &args.table, &args.query) {
        (None, None, None) => return Ok(None),
        (None, ..) => {
            anyhow::bail!("--table and --query go with --format csv, ndjson, arrow or parquet")
        }
        (Some(_), None, None) => anyhow::bail!(
            "--format csv, ndjson, arrow or parquet is for one table or answer: give --table or --query"
        ),
        (Some(_), ..) if args.logs.is_some() => {
            anyhow::bail!("--logs goes with --format lake or delta")
        }
        (Some(format), Some(name), _) => {
            let table = table(name)?;
            if table.partition == Partition::Manifest {
                anyhow::bail!("{name} is about the lake itself; give a table of logs, or --query");
            }
            let order: Vec<String> = table.order().map(|name| format!("\"{name}\"")).collect();
            (
                format,
                format!("SELECT * FROM {name} ORDER BY {}", order.join(", ")),
            )
        }
        (Some(format), None, Some(query)) => (format, only_query(query)?),
    };
    Ok(Some(OneFile {
        format,
        table: args.table.clone(),
        sql,
        force: args.force,
        key: args.key.clone(),
    }))
}

/// SQL that asks and does nothing else.
///
/// # Errors
/// If it is several statements, or changes or writes something.
fn only_query(sql: &str) -> anyhow::Result<String> {
    let refused = || anyhow::anyhow!("--query: expected one SELECT");
    // What this parser does not know the engine does, or says why not.
    if let Ok(statements) = DFParser::parse_sql(sql) {
        let is_query = |statement: &Statement| match statement {
            Statement::Statement(statement) => matches!(statement.as_ref(), Sql::Query(_)),
            _ => false,
        };
        if statements.len() != 1 || !statements.iter().all(is_query) {
            return Err(refused());
        }
    }
    Ok(sql.into())
}

/// Whether two names are those of one file.
fn same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(a).is_some() && real(a) == real(b)
}

impl OneFile {
    /// Writes the file.
    ///
    /// # Errors
    /// Those of the export and of the statement; if something is at `to` already.
    pub(super) fn write(
        self,
        to: &Path,
        ask: &QueryArgs,
        (session, snapshot, options): (Session, Arc<Snapshot>, ExportOptions),
        screen: &mut Terminal,
    ) -> anyhow::Result<Exit> {
        let refuse = |why: &str| Error::Invalid(format!("export {}: {why}", shown_path(to)));
        match std::fs::symlink_metadata(to) {
            Err(_) => {}
            Ok(_) if !self.force => {
                let why = "it is there already; give another file, or --force to replace it";
                return Err(refuse(why).into());
            }
            Ok(there) if !there.is_file() => {
                return Err(refuse("--force replaces files only, and this is none").into());
            }
            Ok(_) => {}
        }
        if self.key.as_deref().is_some_and(|key| same_file(key, to)) {
            return Err(refuse("it is the key").into());
        }
        if to.file_name().is_none() || to.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(refuse("it is no name of a file").into());
        }
        let Some(format) = FORMATS.iter().find(|format| format.name == self.format) else {
            anyhow::bail!("there is no format {}", self.format);
        };
        let out = OutFile::create(to)?;
        let parent = std::path::absolute(to)?;
        let parent = parent.parent().unwrap_or(Path::new("/"));
        // Beside the file, where there is room for it if there is for the file.
        let within = tempfile::tempdir_in(parent)
            .map_err(|e| Error::io(parent, "cannot make a directory", e))?;
        let lake = within.path().join("lake");
        let options = ExportOptions {
            table: self.table,
            ..options
        };
        let (report, _) = session.page({
            let (lake, options) = (lake.clone(), options.clone());
            move |engine| {
                Box::pin(async move { export::export(&engine, snapshot, &lake, &options).await })
            }
        })?;
        if report.logs == 0 {
            return Ok(nothing(&report, &options, screen));
        }
        told(&report, &options, screen);
        let exit = session.exit();
        drop(session);
        let ask = QueryArgs {
            lake: vec![format!("export={}", lake.display())],
            version: None,
            // The answer is to hold what was chosen.
            no_local_files: true,
            // No executor has the directory of the export.
            #[cfg(feature = "cluster")]
            cluster: None,
            #[cfg(feature = "cluster")]
            cluster_above: None,
            ..ask.clone()
        };
        let session = Session::open(&ask, screen)?;
        let settings = Settings {
            format,
            expanded: false,
            human: false,
            timing: true,
        };
        let look = screen.look;
        let mut shell = Shell::new(session, settings, &mut screen.data, look, Some(out));
        shell.feed_all(&self.sql)?;
        shell.finish()?;
        screen.say(format_args!(
            "wrote {}: of {}, {}",
            quoted(to),
            size::counted(report.jobs, "job", "jobs"),
            size::counted(report.logs, "log", "logs")
        ));
        Ok(exit)
    }
}
