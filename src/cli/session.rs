//! Lakes opened for questions, and a statement run from its text to the last row written.

use super::executor::{Ask, Executor, Names, Ran};
use super::exit::Exit;
use super::interrupt;
use super::lake_args::none_given;
use super::open::open_to_read;
use super::output::Format;
use super::output::times::in_zone;
use super::output::writer::{RowWriter, Sink, Style, as_schema};
use super::period::zone;
use super::query_args::QueryArgs;
use super::runner::{OpenLake, runner};
use super::screen::Terminal;
use crate::engine::{Engine, EngineOptions, Place, runtime};
use crate::error::Error;
use crate::lake::Lake;
use crate::text::{quoted, shown_path};
use anyhow::Context;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use futures::future::BoxFuture;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};

/// An engine with threads of its own.
pub(crate) struct Session {
    runtime: Option<Runtime>,
    /// For the thread that waits: those of `runtime` may all be busy with the statement that is to be stopped.
    waiting: Runtime,
    engine: Arc<Engine>,
    /// Whether inputs failed that had to be taken in first.
    exit: Exit,
    /// What is asked, in a few words, for the greeting.
    described: String,
    /// Whether there is anything to ask at all.
    nothing: bool,
    /// Whether to say when a statement was run in another way than planned.
    verbose: bool,
    /// Whether large statements run on a cluster.
    has_runner: bool,
    /// Threads of `runtime`, if that was asked for.
    threads: Option<usize>,
}

/// The user has stopped a statement.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

/// How long the threads of a statement that was stopped are waited for.
const END: Duration = Duration::from_millis(400);

impl Session {
    /// Opens what is to be asked; takes in logs first where that is wanted.
    ///
    /// # Errors
    /// Those of the lake and of the ingest.
    pub(crate) fn open(ask: &QueryArgs, screen: &Terminal) -> anyhow::Result<Self> {
        Self::open_for(ask, false, screen)
    }

    /// The same; `dated` says that a question has a use of its own for --from and --to.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub(crate) fn open_for(
        ask: &QueryArgs,
        dated: bool,
        screen: &Terminal,
    ) -> anyhow::Result<Self> {
        let zone = ask.timezone.as_deref().map(zone).transpose();
        let zone = zone.map_err(Error::Invalid)?;
        let mut exit = Exit::Done;
        let mut lakes: Vec<OpenLake> = vec![];
        for given in &ask.lake {
            let (name, path) = named(given);
            let lake = Arc::new(match ask.version.is_some() || ask.ingest {
                true => Lake::open(path)?,
                false => open_to_read(path, screen)?,
            });
            let name = distinct(&name, &lakes);
            if ask.lake.len() > 1
                && !given.ends_with(&name)
                && !given.starts_with(&format!("{name}="))
            {
                screen.say(format_args!(
                    "note: {} is `{name}` in SQL; --lake NAME={} gives it another name",
                    shown_path(path),
                    quoted(path)
                ));
            }
            lakes.push((name, lake, None));
        }
        if let Some(version) = ask.version {
            let [(_, lake, asked)] = lakes.as_mut_slice() else {
                return Err(Error::Invalid("--version needs exactly one --lake".into()).into());
            };
            lake.snapshot(Some(version))?;
            *asked = Some(version);
        }
        let by = match &ask.lake_by {
            Some(by) => format!(" ({by})"),
            None => String::new(),
        };
        let asked = ask.lake.iter().map(|lake| format!("lake {lake}{by}"));
        let mut asked: Vec<String> = asked.collect();
        if !ask.logs.is_empty() {
            asked.push(match ask.logs.as_slice() {
                [one] => format!("the logs of {}", one.display()),
                several => format!("the logs of {} paths", several.len()),
            });
            let lake = Lake::in_memory()?;
            exit = ask.take_in(&lake, &ask.logs, screen)?;
            lakes.insert(0, ("logs".to_string(), Arc::new(lake), None));
        } else if ask.ingest {
            if lakes.is_empty() {
                return Err(none_given("--lake LAKE").into());
            }
            if let [(_, lake, _)] = &lakes[..]
                && let (Some(by), Some(root)) = (&ask.lake_by, lake.root())
            {
                screen.say(format_args!("lake {}, named by {by}", shown_path(root)));
            }
            for (_, lake, _) in &lakes {
                if ask.take_in(lake, &[], screen)? == Exit::SomeFailed {
                    exit = Exit::SomeFailed;
                }
            }
        } else if !dated && (ask.from.is_some() || ask.to.is_some()) || ask.dxt {
            return Err(Error::Invalid("--from, --to and --dxt go with --logs or --ingest, or with a named query that has these parameters; in SQL say `where start_time >= ..`".into()).into());
        }
        let nothing = lakes.is_empty();
        if nothing {
            asked.push(
                "no lake; give one with --lake or IOLODE_LAKE, or logs with --logs".to_string(),
            );
        }
        let threads = ask.threads.map(usize::from);
        let memory = ask
            .memory
            .map_or_else(half_of_memory, |m| usize::try_from(m).ok());
        let runner = runner(ask, &lakes)?;
        let has_runner = runner.is_some();
        let options = EngineOptions {
            runner,
            lakes,
            memory,
            threads,
            zone,
            // Whoever runs the command may read them anyway.
            local_files: !ask.no_local_files,
            ..EngineOptions::default()
        };
        Ok(Self {
            engine: Arc::new(Engine::new(options)?),
            runtime: Some(runtime(threads)?),
            waiting: tokio::runtime::Builder::new_current_thread()
                .build()
                .context("cannot start the query engine")?,
            exit,
            described: asked.join(", "),
            nothing,
            verbose: ask.verbose,
            has_runner,
            threads,
        })
    }

    /// How the command ends if its statements succeed.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The lakes or logs that are asked, in a few words.
    pub(crate) fn describe(&self) -> &str {
        &self.described
    }

    /// All rows of a small answer.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn collect(&self, sql: &str) -> anyhow::Result<Vec<RecordBatch>> {
        let Some(runtime) = &self.runtime else {
            return Ok(vec![]);
        };
        Ok(runtime.block_on(async { self.engine.run(sql).await?.collect().await })?)
    }

    /// What is found by several statements, and with `--verbose` how they were run.
    ///
    /// # Errors
    /// Those of the statements.
    pub(crate) fn page<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Arc<Engine>) -> BoxFuture<'static, Result<T, Error>>,
    ) -> anyhow::Result<(T, Vec<String>)> {
        let runtime = self.runtime.as_ref().context("the session has ended")?;
        let before = self.engine.fallbacks();
        let (_during, stop) = interrupt::during_statement()?;
        let mut task = Task(runtime.spawn(ask(self.engine.clone())));
        let answers = self.waiting.block_on(async {
            tokio::select! {
                biased;
                () = stop.notified() => Err(anyhow::Error::new(Interrupted)),
                answers = &mut task.0 => Ok(answers?),
            }
        })?;
        let answers = answers.map_err(|error| self.explain(error.into()))?;
        let mut notes: Vec<String> = vec![];
        if self.verbose {
            let [elsewhere, in_process] = self.engine.placements();
            if self.has_runner {
                notes.push(format!(
                    "of {} statements {elsewhere} ran on the cluster",
                    elsewhere + in_process
                ));
            }
            notes.extend(fallbacks(before, self.engine.fallbacks()));
        }
        Ok((answers, notes))
    }

    /// Gives up the statement that runs. What of it ends in no other way goes on, on threads that nothing else waits for.
    ///
    /// # Errors
    /// If the system gives no others.
    fn abandon(&mut self) -> anyhow::Result<()> {
        self.engine.interrupt();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END);
        }
        self.runtime = Some(runtime(self.threads)?);
        Ok(())
    }

    /// Runs a statement and writes its rows.
    fn run_to_its_end(
        &self,
        ask: Ask<'_>,
        format: &Format,
        style: Style,
        sink: Sink<'_>,
    ) -> anyhow::Result<Ran> {
        let Some(runtime) = &self.runtime else {
            return Ok(Ran::default());
        };
        // SQL has its times in UTC, in every format; files of Arrow and Parquet say the zone of theirs.
        let zone = match ask {
            Ask::Query(..) if !format.binary => Some(self.engine.zone()?),
            _ => None,
        };
        let before = self.engine.fallbacks();
        let (_during, stop) = interrupt::during_statement()?;
        let (mut task, mut receiver) = self.start(runtime, ask);
        let first = self.waiting.block_on(next(&mut receiver, &stop));
        let schema = match first.map_err(|error| self.explain(error))? {
            // Units are for a person: files say what DataFusion says of their columns.
            Some(Part::Columns(schema, units)) => match format.name {
                "table" => with_units(&schema, &units),
                _ => schema,
            },
            Some(Part::Rows(_) | Part::Notes(_)) | None => {
                self.ended(&mut task)?;
                return Ok(Ran::default());
            }
        };
        let local = zone.map(|zone| in_zone(&schema, zone));
        let schema = local.as_ref().unwrap_or(&schema);
        let mut ran = Ran::default();
        let mut sink = Some(sink);
        let mut begin = || match sink.take() {
            // Statements such as SET answer with no columns at all.
            Some(sink) if !schema.fields().is_empty() => {
                format.writer(sink, schema, style).map(Some)
            }
            _ => Ok(None),
        };
        // Written to from the first row on: an answer without rows may turn out to be an error.
        let mut writer: Option<Box<dyn RowWriter + '_>> = None;
        while let Some(part) = self.waiting.block_on(next(&mut receiver, &stop))? {
            match part {
                Part::Rows(batch) if batch.num_rows() > 0 => {
                    ran.rows += batch.num_rows() as u64;
                    if writer.is_none() {
                        writer = begin()?;
                    }
                    if let Some(writer) = &mut writer {
                        match &local {
                            Some(local) => writer.write(&as_schema(&batch, local)?)?,
                            None => writer.write(&batch)?,
                        }
                    }
                }
                Part::Rows(_) | Part::Columns(..) => {}
                Part::Notes(notes) => ran.notes.extend(notes),
            }
        }
        self.ended(&mut task)?;
        if writer.is_none() {
            writer = begin()?;
        }
        if let Some(writer) = writer {
            ran.answered = true;
            ran.notes.extend(writer.finish()?);
        }
        if self.verbose {
            let after = self.engine.fallbacks();
            ran.notes.extend(fallbacks(before, after));
        }
        Ok(ran)
    }

    /// A table cannot be known where there is nothing to ask.
    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let text = error.to_string();
        match text.split("; ").next() {
            Some(unknown) if self.nothing && unknown.starts_with("unknown table `") => {
                anyhow::anyhow!(
                    "{unknown}; there is no lake: give one with --lake or IOLODE_LAKE, or logs with --logs"
                )
            }
            _ => error,
        }
    }

    /// Whether a task that sends nothing more has sent all: one that panicked has not.
    fn ended(&self, task: &mut Task<()>) -> anyhow::Result<()> {
        let ended = self.waiting.block_on(&mut task.0);
        ended.map_err(|_| anyhow::anyhow!("the statement has no answer: a thread failed"))
    }

    /// Sends the parts of an answer as they come, from a task of its own: a computation that does not pause would keep
    /// anything else on its task from being done, noticing Ctrl-C included.
    fn start(
        &self,
        runtime: &Runtime,
        ask: Ask<'_>,
    ) -> (Task<()>, mpsc::Receiver<Result<Part, Error>>) {
        let (sender, receiver) = mpsc::channel(2);
        let (engine, verbose) = (self.engine.clone(), self.verbose);
        let (question, declared) = match ask {
            Ask::Sql(sql) => (Err(sql.to_string()), None),
            Ask::Query(question, units) => (Ok(question), Some(units)),
        };
        let task = runtime.spawn(async move {
            let rows = async {
                let mut rows = match question {
                    Ok(question) => engine.run_question(*question).await?,
                    Err(sql) => engine.run(&sql).await?,
                };
                // Nobody listens any more when the answer is not wanted any more.
                let units = declared.unwrap_or_else(|| rows.units().to_vec());
                let columns = Part::Columns(rows.schema(), units);
                let _ = sender.send(Ok(columns)).await;
                while let Some(batch) = rows.next().await? {
                    if sender.send(Ok(Part::Rows(batch))).await.is_err() {
                        break;
                    }
                }
                let mut notes = rows.notes().to_vec();
                notes.extend(verbose.then(|| placed(rows.place())).flatten());
                let _ = sender.send(Ok(Part::Notes(notes))).await;
                Ok(())
            };
            if let Err(error) = rows.await {
                let _ = sender.send(Err(error)).await;
            }
        });
        (Task(task), receiver)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A computation that was left in the middle must not hold up the end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What a statement that was run in another way than planned says of it.
fn fallbacks(before: [usize; 3], after: [usize; 3]) -> impl Iterator<Item = String> {
    let notes = [
        "planned a second time, in another way: the first plan was not valid",
        "run a second time, with sort-merge joins: a hash join did not fit into the memory",
        "sent to the cluster a second time: a process of it was lost",
    ];
    let counts = before.into_iter().zip(after).zip(notes);
    counts
        .filter(|((before, after), _)| after > before)
        .map(|(_, note)| note.to_string())
}

/// Where a statement ran, if there was a choice.
fn placed(place: &Place) -> Option<String> {
    match place {
        Place::Elsewhere => Some("ran on the cluster".into()),
        Place::InProcess(why) => why.as_ref().map(|why| format!("ran in process: {why}")),
    }
}

/// What an answer is sent as.
enum Part {
    Columns(SchemaRef, Vec<Option<String>>),
    Rows(RecordBatch),
    /// What is to be said of it.
    Notes(Vec<String>),
}

/// A task that ends with the value.
struct Task<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The columns with their units.
fn with_units(schema: &SchemaRef, units: &[Option<String>]) -> SchemaRef {
    let fields = schema.fields().iter().enumerate().map(|(at, field)| {
        let mut metadata = field.metadata().clone();
        match units.get(at).cloned().flatten() {
            Some(unit) => metadata.insert("unit".into(), unit),
            None => metadata.remove("unit"),
        };
        field.as_ref().clone().with_metadata(metadata)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl Executor for Session {
    fn run(
        &mut self,
        ask: Ask<'_>,
        format: &Format,
        style: Style,
        sink: Sink<'_>,
    ) -> anyhow::Result<Ran> {
        let ran = self.run_to_its_end(ask, format, style, sink);
        if ran.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            self.abandon()?;
        }
        ran
    }

    fn names(&mut self) -> anyhow::Result<Names> {
        let mut names = Names::default();
        let columns = self.collect(
            "select table_schema, table_name, column_name from information_schema.columns \
             where table_schema <> 'information_schema' order by table_schema, table_name, ordinal_position",
        )?;
        let text = |batch: &RecordBatch, column: usize, row: usize| -> String {
            let column = datafusion::arrow::compute::cast(
                batch.column(column),
                &datafusion::arrow::datatypes::DataType::Utf8,
            );
            column.map_or_else(
                |_| String::new(),
                |column| column.as_string::<i32>().value(row).to_string(),
            )
        };
        for batch in &columns {
            for row in 0..batch.num_rows() {
                names.add(
                    &text(batch, 0, row),
                    &text(batch, 1, row),
                    &text(batch, 2, row),
                );
            }
        }
        let state = self.engine.context().state();
        let functions: HashSet<&String> = state
            .scalar_functions()
            .keys()
            .chain(state.aggregate_functions().keys())
            .chain(state.window_functions().keys())
            .collect();
        names.functions = functions.into_iter().cloned().collect();
        let users = match &self.runtime {
            Some(runtime) => runtime.block_on(self.engine.functions())?,
            None => vec![],
        };
        for (keeper, function) in users {
            let (name, call) = (function.name.clone(), function.signature());
            names.functions.push(name.clone());
            names.users.push([keeper, name, call, function.body]);
        }
        names.functions.sort();
        names.functions.dedup();
        Ok(names)
    }
}

/// The next part of an answer; None after the last.
async fn next(
    receiver: &mut mpsc::Receiver<Result<Part, Error>>,
    stop: &Notify,
) -> anyhow::Result<Option<Part>> {
    tokio::select! {
        biased;
        () = stop.notified() => Err(Interrupted.into()),
        part = receiver.recv() => Ok(part.transpose()?),
    }
}

/// Name in SQL and path of a lake: `NAME=DIR`, or a directory, whose name it is then in letters that SQL takes.
pub(super) fn named(given: &str) -> (String, &Path) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    };
    if let Some((name, path)) = given.split_once('=')
        && is_name(name)
        && !Path::new(given).exists()
    {
        return (name.to_string(), Path::new(path));
    }
    let path = Path::new(given);
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let base = whole.file_name().map_or_else(
        || "lake".to_string(),
        |name| name.to_string_lossy().to_lowercase(),
    );
    let name: String = base
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    match is_name(&name) {
        true => (name, path),
        false => (format!("lake_{name}"), path),
    }
}

/// The name, or with a number behind it if another lake has it.
fn distinct(name: &str, lakes: &[(String, Arc<Lake>, Option<u64>)]) -> String {
    let taken = |name: &str| {
        name == "logs"
            || name == "information_schema"
            || lakes.iter().any(|(other, ..)| other == name)
    };
    if !taken(name) {
        return name.to_string();
    }
    (2..)
        .map(|n| format!("{name}_{n}"))
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// Half of the memory that this process may have, in bytes: the least of what the machine and its control groups have.
pub(super) fn half_of_memory() -> Option<usize> {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?;
            let kib: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
            kib.checked_mul(1024)
        });
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limits_of_groups(&groups, Path::new("/sys/fs/cgroup"));
    let least = limits.into_iter().chain(machine).min();
    least.map(|bytes| bytes / 2)
}

/// Limits of memory of the control groups that a process is in, and of those around them, in bytes. `groups` is its `/proc/self/cgroup`, with a line
/// `0::/path` of version 2 or `4:memory:/path` of version 1; `root` is where they are mounted. Within a container the path may not be there: then the
/// root is that of the container.
fn limits_of_groups(groups: &str, root: &Path) -> Vec<usize> {
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (root, limit) = match fields.next()? {
            "" => (root.to_path_buf(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let path = Path::new(fields.next()?.trim_start_matches('/'));
        let read = |group: &Path| {
            let text = std::fs::read_to_string(root.join(group).join(limit)).ok()?;
            text.trim().parse::<usize>().ok()
        };
        Some(path.ancestors().filter_map(read).collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lake_is_named_as_its_directory_or_as_asked() {
        let name = |given: &str| named(given).0;
        assert_eq!(name("/scratch/Cori-2026"), "cori_2026");
        assert_eq!(name("/scratch/lake/"), "lake");
        assert_eq!(name("/scratch/2026"), "lake_2026");
        assert_eq!(
            named("cori=/scratch/lake"),
            ("cori".to_string(), Path::new("/scratch/lake"))
        );
        assert_eq!(named("/a=b/lake").0, "lake");
    }

    /// As Slurm makes them: the limit is the job's, above the step that the process is in.
    #[test]
    fn the_limits_of_a_process_are_those_of_its_groups_and_of_those_around_them() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, file: &str, limit: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join(file), limit).unwrap();
        };
        let limits = |groups: &str| limits_of_groups(groups, root.path());
        assert!(limits("0::/job_7/step_0\n").is_empty());
        group("job_7", "memory.max", "4096\n");
        group("job_7/step_0", "memory.max", "max\n");
        assert_eq!(limits("0::/job_7/step_0\n"), [4096]);
        assert_eq!(limits("0::/job_7\n"), [4096]);
        assert!(limits("0::/job_8\n").is_empty());
        group("memory/slurm/job_7", "memory.limit_in_bytes", "8192");
        let first = "5:cpuset:/\n4:cpu,memory:/slurm/job_7/step_1\n0::/\n";
        assert_eq!(limits(first), [8192]);
    }
}
