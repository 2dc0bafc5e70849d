//! Lakes to answers: the DataFusion session over them.
//!
//! [`Engine::run`] takes SQL and gives rows. Each lake is a SQL schema under its own name, and table names alone mean the
//! first; a session without a lake has the functions only. Every session is built by one function, `state::session_state`.
//!
//! The way of a statement:
//!
//! 1. [`Engine::parse`]: text to statements. Words that DataFusion's parser would misread are quoted (`workarounds::keywords`), calls of named
//!    queries become subqueries (`queries::expand`), and what cannot be answered rightly is refused.
//! 2. `Engine::plan`: over one version of each lake (`catalog`), forms that DataFusion does not plan are written in others (`sql`). A statement that is
//!    refused for one of the reasons of `PLAN_FALLBACKS` is planned once more in the form given there.
//! 3. `Engine::start`: the analyzer's and the optimizer's rules (`session::logical_rules`, from `workarounds` and `logical`), then the physical ones, one list in
//!    order (`session::physical_rules`, from `planning`, `exec` and `workarounds`).
//! 4. [`Rows`]: the stream of batches. A query whose hash joins do not fit into the memory is started once more with sort-merge joins.
//!
//! | folder | what it is |
//! |---|---|
//! | `sql` | rewrites and refusals of SQL, before DataFusion plans it |
//! | [`queries`] | named queries: their files, parameters, and calls |
//! | [`rules`] | what may have made I/O slow, a file each, and the SQL of it |
//! | `catalog` | names to tables, at one version of each lake for each query; system tables and [`views`] |
//! | `session` | options, memory, functions and rules of every session |
//! | `runner` | where a statement runs: in this process or elsewhere |
//! | `scan` | scans of a table in groups of job ids, the same for all tables |
//! | `logical` | rewrites of the logical plan |
//! | `planning` | physical optimizer rules that need the whole plan |
//! | `exec` | physical optimizer rules that put an equal node in the place of one |
//! | [`functions`] | SQL functions |
//! | `udf` | the functions that users make in SQL |
//! | `workarounds` | what DataFusion gets wrong, put right |
//! | `in_zone` | statements whose times without an offset are in the zone of the session |
//! | `why_empty` | why an answer is empty |
//! | `function_hints` | what to write for functions of other engines |
//! | `columns` | the columns of an answer before it is asked for |
//! | `dataframe` | a lake from Rust: tables and questions as DataFrames |
//! | `error`, `error_text` | DataFusion's errors as one clear line |

mod catalog;
mod columns;
mod dataframe;
mod error;
#[cfg(feature = "cluster")]
mod error_text;
mod exec;
mod file_errors;
mod function_hints;
pub mod functions;
mod in_zone;
mod logical;
mod node_rewrite;
mod planning;
pub mod queries;
mod rewrite;
pub mod rules;
mod runner;
mod scan;
mod session;
mod sql;
mod threads;
mod udf;
mod units;
mod why_empty;

#[cfg(test)]
mod tests;
mod workarounds;

use self::sql::user_column::plain_user;
pub use catalog::views;
pub use dataframe::{Direction, LakeSession, PerfFactors};
pub use exec::for_execution;
pub use queries::factors;
pub use queries::question::Question;
pub use runner::{Place, Runner};
pub use session::options;
pub use sql::condition_names::condition_names;
pub use threads::{STACK, runtime};

/// What scheduler and executors of a cluster need of a session.
#[cfg(feature = "cluster")]
pub(crate) mod parts {
    pub(crate) use super::error::{ON_EXECUTOR, external, is_exhausted};
    pub(crate) use super::error_text::{text_of, text_of_arrow};
    pub(crate) use super::exec::compact_batches::compacted;
    pub(crate) use super::exec::interruptible::interruptible;
    pub(crate) use super::exec::stoppable::StoppableExec;
    pub(crate) use super::planning::broadcast_joins::gives_left_rows;
    pub(crate) use super::planning::copartitioned_join::{DeclarePartitioningExec, Statement};
    pub(crate) use super::planning::drop_join_ordering::DropOrderingExec;
    pub(crate) use super::planning::single_partition::SinglePartitionExec;
    pub(crate) use super::scan::lake_table::{FileOst, with_readers};
    pub(crate) use super::scan::local_store::LocalFiles;
    pub(crate) use super::session::names::NO_LAKE;
    pub(crate) use super::session::state::{for_cluster, runtime, session_state};
}

use crate::error::{Error, Result};
use catalog::lakes::{AttachedLake, Catalog, SessionTables};
use catalog::local_files;
use chrono_tz::Tz;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{CatalogProvider, MemorySchemaProvider};
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use error::{ErrorContext, is_exhausted, translate};
use exec::interruptible::{Stop, interruptible};
use futures::StreamExt;
use logical::grouping_keys;
use logical::keys_as_columns::keys_as_columns;
use queries::param_names::CallNames;
use session::options::{Fallback, Options};
use session::state;
use sql::{
    cast_names, from_first, headings, long_chains, named_windows, nested_with, order_aliases,
    order_all, order_positions, other_forms, outer_using, output_names, refused_clauses, summarize,
    time_zone, using,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use udf::session_functions::SessionFunctions;
use udf::statement;
use workarounds::{correlated, distinct_from, keywords};

/// Why a statement may be refused although it can be answered, and the statement as it is answered.
type PlanFallback = (
    fn(&DataFusionError) -> bool,
    fn(Statement) -> Option<Statement>,
);

const PLAN_FALLBACKS: [PlanFallback; 6] = [
    (headings::clash, headings::distinct),
    (headings::clash, headings::distinct_beside_all),
    (headings::clash, cast_names::told_apart),
    (order_positions::refused, order_positions::written_out),
    (using::is_ambiguous, using::qualified),
    (using::is_ambiguous, headings::distinct),
];

/// What a session is made of.
#[derive(Default)]
pub struct EngineOptions {
    /// Name in SQL, lake, and the version to read; the newest at each query if None.
    pub lakes: Vec<(String, Arc<crate::lake::Lake>, Option<u64>)>,
    /// Bytes that sorts, joins and groupings may hold; no bound if None. Decoded data files come on top.
    pub memory: Option<usize>,
    /// Threads of a query, from 2 to 32; those of the machine if None.
    pub threads: Option<usize>,
    /// Options that hold from the beginning, as `SET` would set them: `("iolode.fallback", "error")`.
    pub settings: Vec<(String, String)>,
    /// The zone of times without an offset that named queries are given; that of each lake's site if None.
    pub zone: Option<Tz>,
    /// Whether SQL may read CSV and Parquet files of this machine, `FROM 'x.csv'`: where whoever writes it may read them anyway.
    pub local_files: bool,
    /// Who runs large plans in other processes; nobody if None.
    pub runner: Option<Arc<dyn Runner>>,
}

/// A session that answers SQL.
///
/// Cheap to make: it opens no lake before a query names a table of it. Its asynchronous functions want a tokio runtime. A clone is the
/// same session.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
    lakes: Vec<Arc<AttachedLake>>,
    own: Arc<SessionTables>,
    session_functions: Arc<SessionFunctions>,
    planner: Arc<SessionState>,
    memory: Option<usize>,
    zone: Option<Tz>,
    local_files: bool,
    runner: Option<Arc<dyn Runner>>,
    stop: Arc<Stop>,
    fallbacks: Arc<Fallbacks>,
}

/// A lake and the version of it that is read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LakeVersion {
    /// Name in SQL.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// Its directory; None if it is in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// How often a session had to answer in another way than it had planned.
#[derive(Debug, Default)]
struct Fallbacks {
    replanned: AtomicUsize,
    sort_merge: AtomicUsize,
    /// Statements that the [`Runner`] ran, and those that it did not.
    elsewhere: AtomicUsize,
    in_process: AtomicUsize,
}

impl Engine {
    /// A session over these lakes, or none.
    ///
    /// # Errors
    /// [`Error::Invalid`] if two lakes have one name or a name is reserved, an option cannot be set, or there is no place for
    /// spill files.
    pub fn new(options: EngineOptions) -> Result<Self> {
        let threads = state::threads(options.threads);
        let first = options
            .lakes
            .first()
            .map_or(session::names::NO_LAKE, |(name, ..)| name)
            .to_string();
        let runtime = state::runtime(threads, options.memory)?;
        let mut lakes: Vec<Arc<AttachedLake>> = vec![];
        for (name, lake, version) in options.lakes {
            if name == "information_schema" || name.is_empty() {
                return Err(Error::Invalid(format!(
                    "a lake cannot be `{name}` in SQL; name it differently"
                )));
            }
            if lakes.iter().any(|known| known.name == name) {
                return Err(Error::Invalid(format!(
                    "two lakes cannot both be `{name}` in SQL; name one differently"
                )));
            }
            let attached = AttachedLake::new(name, lake, version, threads)?;
            let (url, store) = attached.store();
            runtime.register_object_store(url.as_ref(), store);
            lakes.push(Arc::new(attached));
        }
        let mut state = state::session_state(threads, options.memory, &first, runtime);
        for (name, value) in &options.settings {
            options::check_name(name)?;
            let set = state.config_mut().options_mut().set(name, value);
            set.map_err(|e| translate(e, &ErrorContext::default()))?;
        }
        let (own, planner) = (Arc::new(SessionTables::default()), Arc::new(state.clone()));
        if lakes.is_empty() {
            own.insert(
                session::names::NO_LAKE,
                Arc::new(MemorySchemaProvider::new()),
            );
        }
        state.register_catalog_list(Catalog::new(&lakes, own.clone(), planner.clone()).list());
        Ok(Self {
            context: SessionContext::new_with_state(state),
            lakes,
            own,
            session_functions: Arc::default(),
            planner,
            memory: options.memory,
            zone: options.zone,
            local_files: options.local_files,
            runner: options.runner,
            stop: Arc::default(),
            fallbacks: Arc::default(),
        })
    }

    /// The same session over the newest version of each of its lakes, for an answer that is made of several queries; and these versions.
    ///
    /// # Errors
    /// Those of the lakes.
    pub fn pinned(&self) -> Result<(Self, Vec<LakeVersion>)> {
        let lakes = self.lakes.iter().map(|lake| lake.pinned());
        let lakes = lakes.collect::<Result<Vec<_>>>()?;
        let versions = lakes
            .iter()
            .map(|(lake, version)| LakeVersion {
                name: lake.name.clone(),
                version: *version,
                path: lake.root(),
            })
            .collect();
        let pinned = Self {
            lakes: lakes.into_iter().map(|(lake, _)| Arc::new(lake)).collect(),
            ..self.clone()
        };
        Ok((pinned, versions))
    }

    /// The zone of the session, else that of the first lake's site; UTC without a lake. Rows are in UTC whatever it is.
    ///
    /// # Errors
    /// Those of the lake.
    pub fn zone(&self) -> Result<Tz> {
        self.zone_of(self.lakes.first())
    }

    fn zone_of(&self, lake: Option<&Arc<AttachedLake>>) -> Result<Tz> {
        match (self.zone, lake) {
            (Some(zone), _) => Ok(zone),
            (None, Some(lake)) => lake.zone(),
            (None, None) => Ok(Tz::UTC),
        }
    }

    /// The DataFusion session. Lakes without a fixed version are seen there as they were at the first look; [`Engine::sql`]
    /// and [`Engine::run`] see the newest version each time.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The statements of some SQL.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be read.
    pub fn parse(&self, sql: &str) -> Result<Vec<Question>> {
        self.questions(self.statements(sql)?)
    }

    /// The statement of some SQL in which `$name` stands for a parameter, with these values, as somebody types them; times without an offset are in the
    /// zone of the session.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] if it cannot be read, is not one statement, names no parameter, or a value is missing or none of its type.
    pub fn question(
        &self,
        sql: &str,
        params: &[queries::Param],
        values: &[(String, String)],
    ) -> Result<Question> {
        let values = queries::substitutes(params, values, self.zone()?)?;
        let mut statements = self.statements(sql)?;
        for statement in &mut statements {
            queries::substitute_all(statement, &values)?;
        }
        one(self.questions(statements)?)
    }

    /// Refuses values of parameters, as somebody types them, that name something which the first lake does not have, such as a program.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest name; [`Error::Invalid`] if a value is none of its parameter's type; those of the lake.
    pub async fn check_names(
        &self,
        params: &[queries::Param],
        values: &[(String, String)],
    ) -> Result<()> {
        let Some(names) = queries::names(params, values)? else {
            return Ok(());
        };
        let (state, _) = self.state();
        why_empty::explain(&state, &[names], |e| self.error(e))
            .await
            .map(drop)
    }

    /// The statements of some SQL as they were written, but for what the parser would misread.
    fn statements(&self, sql: &str) -> Result<Vec<Statement>> {
        let options = self.context.copied_config();
        let limit = options.options().sql_parser.recursion_limit.get();
        let sql = keywords::quoted(sql);
        let parser = DFParserBuilder::new(sql.as_ref())
            .with_dialect(&GenericDialect {})
            .with_recursion_limit(limit)
            .build();
        let mut statements = parser
            .and_then(|mut parser| summarize::parse_statements(&mut parser))
            .map_err(|e| self.error(e))?;
        statements.iter_mut().try_for_each(long_chains::bracket)?;
        statements.iter_mut().for_each(plain_user);
        Ok(statements)
    }

    /// Statements with the SQL of the named queries in them; refused where they cannot be answered rightly.
    fn questions(&self, mut statements: Vec<Statement>) -> Result<Vec<Question>> {
        let options = self.context.copied_config();
        let lakes: Vec<&str> = self.lakes.iter().map(|lake| lake.name.as_str()).collect();
        let named = options.options().catalog.default_schema.as_str();
        let named = Some(&named).filter(|named| lakes.contains(named));
        let zone = |name: &str| {
            let lake = self.lakes.iter().find(|lake| lake.name == name);
            self.zone_of(lake)
        };
        let lakes = queries::Lakes {
            first: named.or(lakes.first()).unwrap_or(&session::names::NO_LAKE),
            all: &lakes,
            zone: &zone,
        };
        let mut calls = vec![];
        for statement in &mut statements {
            let mut names = vec![];
            queries::expand(statement, lakes, &mut names)?;
            calls.push(names);
        }
        statements.iter_mut().for_each(outer_using::write_out);
        statements.iter().try_for_each(using::check)?;
        statements.iter_mut().try_for_each(distinct_from::bracket)?;
        let state = self.context.state_ref();
        let is_scalar = |name: &str| {
            let state = state.read();
            state.scalar_functions().contains_key(name)
                && !state.aggregate_functions().contains_key(name)
                && !state.window_functions().contains_key(name)
        };
        statements
            .iter()
            .try_for_each(|statement| refused_clauses::check(statement, is_scalar))?;
        statements.iter().try_for_each(time_zone::check)?;
        let questions = statements.into_iter().zip(calls);
        let questions = questions.map(|(statement, calls)| Question { statement, calls });
        Ok(questions.collect())
    }

    /// The plan of one statement, over one version of each lake; statements that change the session or the lake (`SET`,
    /// `CREATE VIEW`, `CREATE FUNCTION`) have then done so, and SUMMARIZE has looked at its rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be read or planned, or is not one statement; those of the lake.
    pub async fn sql(&self, sql: &str) -> Result<DataFrame> {
        self.plan(self.one(sql)?.statement).await
    }

    /// The rows of one statement, as they come.
    ///
    /// A query whose hash joins do not fit into the budget is tried once more with sort-merge joins, which spill.
    ///
    /// # Errors
    /// As [`Engine::sql`]; [`Error::Invalid`] if the memory does not suffice.
    pub async fn run(&self, sql: &str) -> Result<Rows> {
        self.run_question(self.one(sql)?).await
    }

    /// As [`Engine::run`], of a question that [`Engine::parse`] or a named query gave.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn run_question(&self, question: Question) -> Result<Rows> {
        let Question { statement, calls } = question;
        if calls.is_empty() {
            return self.run_frame(self.plan(statement).await?).await;
        }
        // The lakes are pinned, so that after an empty answer names are looked up in the version that gave it.
        let engine = self.clone();
        let (pinned, _) = blocking(move || engine.pinned()).await?;
        let rows = pinned.run_frame(pinned.plan(statement).await?).await?;
        Ok(Rows { calls, ..rows })
    }

    /// As [`Engine::run`], of a DataFrame of this session.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn run_frame(&self, frame: DataFrame) -> Result<Rows> {
        let (state, plan) = frame.into_parts();
        match self.start(&state, &plan).await {
            // If the second try fails as well, whatever the reason: more memory for the first is what helps.
            Err(error) if is_exhausted(&error) && is_query(&plan) => {
                self.fallbacks.sort_merge.fetch_add(1, Ordering::Relaxed);
                self.start(&state::with_sort_merge_joins(state, self.memory)?, &plan)
                    .await
                    .map_err(|_| self.error(error))
            }
            rows => rows.map_err(|e| self.error(e)),
        }
    }

    /// Has the statements that run now end soon, also in a join that looks at very many pairs of rows. Whoever waits for one of them gives
    /// up its task as well: most of it can end in no other way.
    pub fn interrupt(&self) {
        self.stop.stop();
    }

    /// How often this session had to answer in another way than it had planned: plans made once more, without the rule that keeps the
    /// partitions of joins or with keys as columns; questions asked once more with sort-merge joins, as their hash joins did not fit
    /// into the memory; plans sent to the [`Runner`]'s processes once more, as one of these was lost.
    pub fn fallbacks(&self) -> [usize; 3] {
        let Fallbacks {
            replanned,
            sort_merge,
            ..
        } = self.fallbacks.as_ref();
        let [replanned, sort_merge] = [replanned, sort_merge].map(|n| n.load(Ordering::Relaxed));
        let resent = self.runner.as_ref().map_or(0, |runner| runner.resent());
        [replanned, sort_merge, resent]
    }

    /// How many statements the [`Runner`] has run, and how many ran in this process although there is one.
    pub fn placements(&self) -> [usize; 2] {
        let Fallbacks {
            elsewhere,
            in_process,
            ..
        } = self.fallbacks.as_ref();
        [elsewhere, in_process].map(|n| n.load(Ordering::Relaxed))
    }

    /// The clear line that a DataFusion error of this session stands for.
    pub fn error(&self, error: DataFusionError) -> Error {
        translate(error, &self.error_context())
    }

    fn one(&self, sql: &str) -> Result<Question> {
        one(self.parse(sql)?)
    }

    async fn plan(&self, mut statement: Statement) -> Result<DataFrame> {
        if let Some(request) = statement::read(&statement)? {
            return self.about_functions(request).await;
        }
        let (mut state, pinned) = self.state();
        let catalogs = pinned.clone().list();
        local_files::add(&mut statement, self.local_files, &state, catalogs.as_ref()).await?;
        state.register_catalog_list(catalogs);
        from_first::write_out(&mut statement);
        other_forms::write_out(&mut statement)?;
        named_windows::write_out(&mut statement);
        nested_with::told_apart(&mut statement);
        let by_all = order_all::mark(&mut statement)?;
        self.register_called(&statement, &pinned, &mut state)
            .await?;
        let planned = async |statement: Statement| {
            let statement = output_names::told_apart(statement);
            state.statement_to_plan(statement).await
        };
        let mut plan = planned(statement.clone()).await;
        for qualified in order_aliases::qualified(&statement) {
            match planned(qualified).await {
                Err(error) if using::is_ambiguous(&error) => plan = order_aliases::refused(),
                Ok(qualified) if order_aliases::is_resolved(&qualified) => plan = Ok(qualified),
                _ => continue,
            }
            break;
        }
        for (is_refused, otherwise) in PLAN_FALLBACKS {
            if plan.as_ref().is_err_and(is_refused)
                && let Some(changed) = otherwise(statement.clone())
                && let Ok(changed) = planned(changed).await
            {
                plan = Ok(changed);
            }
        }
        if plan.as_ref().is_err_and(using::is_ambiguous)
            && order_aliases::has_columns_of_outputs(&statement)
        {
            plan = order_aliases::refused();
        }
        if by_all {
            plan = plan.and_then(order_all::written_out);
        }
        let plan = plan.and_then(grouping_keys::as_columns);
        let plan = plan.map_err(|e| self.error(e))?;
        if summarize::is_asked(&statement) {
            return self.summary(state, plan).await;
        }
        catalog::lakes::refuse_drop(&plan)?;
        options::check(&plan)?;
        self.context
            .execute_logical_plan(plan)
            .await
            .map_err(|e| self.error(e))
    }

    /// The state of the session over the lakes as they are from now on.
    fn state(&self) -> (SessionState, Catalog) {
        let mut state = self.context.state();
        let pinned = Catalog::new(&self.lakes, self.own.clone(), self.planner.clone());
        state.register_catalog_list(pinned.clone().list());
        (state, pinned)
    }

    /// What SUMMARIZE says of what a plan gives. It is run for that: the answer is small.
    async fn summary(&self, state: SessionState, plan: LogicalPlan) -> Result<DataFrame> {
        let summarized = plan.schema().clone();
        let figures = summarize::figures(plan, &state).map_err(|e| self.error(e))?;
        let rows = Box::pin(self.run_frame(DataFrame::new(state, figures))).await?;
        let figures = concat_batches(&rows.schema(), &rows.collect().await?);
        let figures = figures.map_err(DataFusionError::from);
        let answer = figures.and_then(|figures| summarize::rows(&summarized, &figures));
        let answer = answer.and_then(|answer| self.context.read_batch(answer));
        answer.map_err(|e| self.error(e))
    }

    /// Runs a plan until its first rows are there: from then on a failure is final.
    async fn start(
        &self,
        state: &SessionState,
        plan: &LogicalPlan,
    ) -> Result<Rows, DataFusionError> {
        let planned = state.create_physical_plan(plan).await;
        let physical = match planned.map_err(|error| correlated::named(error, plan)) {
            Ok(physical) => physical,
            Err(error) if Options::of(state.config_options()).fallback == Fallback::Error => {
                return Err(error);
            }
            Err(error) => {
                let physical = planned_otherwise(state, plan).await.ok_or(error)?;
                self.fallbacks.replanned.fetch_add(1, Ordering::Relaxed);
                physical
            }
        };
        let runner = self.runner.as_ref();
        let (physical, place) = runner::placed(runner, state, plan, physical).await?;
        match &place {
            Place::Elsewhere => self.fallbacks.elsewhere.fetch_add(1, Ordering::Relaxed),
            Place::InProcess(_) => self.fallbacks.in_process.fetch_add(1, Ordering::Relaxed),
        };
        let physical = interruptible(physical, &self.stop.flag())?;
        let schema = physical.schema();
        let mut stream = execute_stream(physical, state.task_ctx())?;
        let first = stream.next().await.transpose()?;
        Ok(Rows {
            units: units::units(plan),
            place,
            schema,
            first,
            stream,
            engine: self.clone(),
            calls: vec![],
            has_rows: false,
            notes: vec![],
        })
    }

    fn error_context(&self) -> ErrorContext {
        let catalog = Catalog::new(&self.lakes, self.own.clone(), self.planner.clone());
        let names = |schema: String| {
            catalog
                .schema(&schema)
                .map(|schema| schema.table_names())
                .unwrap_or_default()
        };
        let state = self.context.state_ref();
        let state = state.read();
        let mut functions: Vec<String> = state.scalar_functions().keys().cloned().collect();
        functions.extend(
            state
                .aggregate_functions()
                .keys()
                .chain(state.window_functions().keys())
                .cloned(),
        );
        functions.extend(self.session_functions.names());
        // The nearest of several equally near names must not depend on the order of a hash map.
        functions.sort();
        ErrorContext {
            tables: catalog.schema_names().into_iter().flat_map(names).collect(),
            functions,
            queries: queries::queries()
                .iter()
                .flat_map(queries::Query::names)
                .collect(),
            usage: Some(|name| queries::query(name).ok().map(|query| query.usage())),
            memory: self.memory,
        }
    }
}

/// The one statement of several.
fn one(mut statements: Vec<Question>) -> Result<Question> {
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        (None, _) => Err(Error::Invalid("there is no statement".into())),
        (Some(_), false) => Err(Error::Invalid(format!(
            "expected one statement, found {}",
            statements.len() + 1
        ))),
    }
}

/// Another physical plan, where DataFusion finds the first at fault: without the rule that keeps the partitions of joins, or with keys as columns.
async fn planned_otherwise(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Option<Arc<dyn ExecutionPlan>> {
    let without = state::without_copartitioned_joins(state.clone());
    if let Ok(physical) = without.create_physical_plan(plan).await {
        return Some(physical);
    }
    let plan = keys_as_columns(plan.clone()).ok()?;
    state.create_physical_plan(&plan).await.ok()
}

/// The rows of an answer, batch by batch.
pub struct Rows {
    schema: SchemaRef,
    units: Vec<Option<String>>,
    place: Place,
    first: Option<RecordBatch>,
    stream: SendableRecordBatchStream,
    engine: Engine,
    /// The names that its named queries were given.
    calls: Vec<CallNames>,
    has_rows: bool,
    notes: Vec<String>,
}

impl Rows {
    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The unit of each column, such as `B` or `s`, as far as the tables and what is done with their columns say it for certain.
    pub fn units(&self) -> &[Option<String>] {
        &self.units
    }

    /// Where they are made.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The next rows; None after the last.
    ///
    /// # Errors
    /// As [`Engine::run`], and [`Error::Unknown`] where there are no rows at all and a named query was given a name that is not in the lake.
    /// After an error there are no more rows.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => {
                let next = self.stream.next().await.transpose();
                next.map_err(|e| self.engine.error(e))?
            }
        };
        match &next {
            Some(batch) => self.has_rows |= batch.num_rows() > 0,
            None => self.explain().await?,
        }
        Ok(next)
    }

    /// What is to be said of an answer without rows, once its end was reached.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Looks up the names of named queries, if there are no rows. A statement without columns, such as CREATE VIEW, never has any.
    async fn explain(&mut self) -> Result<()> {
        let calls = std::mem::take(&mut self.calls);
        if self.has_rows || calls.is_empty() || self.schema.fields().is_empty() {
            return Ok(());
        }
        let (state, _) = self.engine.state();
        let explained = why_empty::explain(&state, &calls, |e| self.engine.error(e));
        self.notes = explained.await?;
        Ok(())
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// As [`Rows::next`].
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = vec![];
        while let Some(batch) = self.next().await? {
            batches.push(batch);
        }
        Ok(batches)
    }
}

/// Whether running a plan again changes nothing outside.
fn is_query(plan: &LogicalPlan) -> bool {
    !matches!(
        plan,
        LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Statement(_)
    )
}

/// Runs what may wait for files on a thread that may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| Error::Invalid(format!("a thread of the query engine failed: {e}")))?
}
