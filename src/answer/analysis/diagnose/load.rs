//! What is known of a job: the answers to the questions that its page is made of.

use super::compared;
use super::job::{
    CriticalFile, DIRECTIONS, File, Flow, InMpiio, Job, Log, Others, Slowest, span,
    without_damaged_copies,
};
use super::layers;
use super::not_there::{no_job, no_log};
use super::others::{self, Relevance};
use super::zone_of_record;
use crate::answer::answer::SHOWN;
use crate::answer::findings::MIN_TIME;
use crate::answer::rows::{has_rows, rows};
use crate::engine::Engine;
use crate::engine::rules::sentence::JsonRow;
use crate::engine::rules::{Facts, intervals, least};
use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a page is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// All jobs of an id.
    Job(i64),
    /// One log.
    Log(i64),
}

/// The jobs that are asked for: of an id one, unless it came again, as process ids do outside Slurm.
///
/// # Errors
/// Those of the lake; [`Error::Invalid`] if it has no such log.
pub(super) async fn jobs(engine: &Engine, asked: Asked, long: bool) -> Result<Vec<Job>> {
    let job = match asked {
        Asked::Job(job) => job,
        Asked::Log(log) => job_of(engine, log).await?,
    };
    // The view `job` is of a log without a Slurm record what the log itself says, and takes long to plan.
    let record = format!("SELECT job_id FROM slurm_job WHERE job_id = {job} LIMIT 1");
    let (of_slurm, joined) = match has_rows(engine, &record).await? {
        true => (
            "j.\"user\", j.node_count, j.match, j.state",
            "JOIN job j ON j.job_id = l.job_id AND j.log_id = l.log_id",
        ),
        false => ("l.\"user\", 'none' AS match", ""),
    };
    let logs: Vec<Log> = rows(engine, &format!(
        "SELECT l.log_id, l.uid, g.log_group, {of_slurm}, l.app, l.nprocs, l.start_time, l.end_time, l.run_time, l.partial, l.status, l.modules, l.partial_modules \
         FROM darshan_log l {joined} JOIN darshan_log_group g ON g.job_id = l.job_id AND g.log_id = l.log_id \
         WHERE l.job_id = {job} AND g.job_id = {job} ORDER BY l.start_time, l.log_id"
    )).await?;
    if logs.is_empty() {
        return Err(no_job(engine, job).await?);
    }
    let logs = with_inputs(engine, logs).await?;
    let all = logs.len();
    let mut groups: BTreeMap<(Option<i64>, i64), Vec<Log>> = BTreeMap::new();
    for log in logs {
        let is_asked = !matches!(asked, Asked::Log(id) if id != log.log_id);
        if is_asked {
            let group = groups.entry((log.uid, log.log_group)).or_default();
            group.push(log);
        }
    }
    let mut jobs = vec![];
    for with_copies in groups.into_values() {
        let found = with_copies.len();
        let logs = without_damaged_copies(with_copies);
        let copies = found - logs.len();
        let only = match asked {
            Asked::Log(log) if all > 1 => Some(log),
            _ => None,
        };
        let of_id = logs.len() < all;
        let found = gather(engine, job, only, logs, of_id, long).await?;
        jobs.push(Job { copies, ..found });
    }
    jobs.sort_by_key(|job| job.logs.first().and_then(|log| log.start_time));
    Ok(jobs)
}

/// The ids of all jobs of a lake, at most `most`; None if there are more.
///
/// # Errors
/// Those of the lake; [`Error::Invalid`] if it has no log.
pub(super) async fn ids(engine: &Engine, most: usize) -> Result<Option<Vec<i64>>> {
    #[derive(Deserialize)]
    struct Id {
        job_id: i64,
    }
    let sql = format!(
        "SELECT job_id FROM darshan_log GROUP BY job_id ORDER BY min(start_time), job_id LIMIT {}",
        most + 1
    );
    let ids: Vec<Id> = rows(engine, &sql).await?;
    match ids.len() {
        0 => Err(no_log(engine).await?),
        found if found > most => Ok(None),
        _ => Ok(Some(ids.iter().map(|id| id.job_id).collect())),
    }
}

/// The logs with the files that they came from, and the reasons why some are not whole.
async fn with_inputs(engine: &Engine, mut logs: Vec<Log>) -> Result<Vec<Log>> {
    #[derive(Deserialize)]
    struct Input {
        log_id: i64,
        path: String,
        error: Option<String>,
    }
    let ids: Vec<String> = logs.iter().map(|log| log.log_id.to_string()).collect();
    let sql = format!(
        "SELECT content_hash AS log_id, path, error FROM lake_input WHERE content_hash IN ({}) AND status <> 'skipped' ORDER BY path",
        ids.join(", ")
    );
    for input in rows::<Input>(engine, &sql).await? {
        let log = logs.iter_mut().find(|log| log.log_id == input.log_id);
        if let Some(log) = log {
            log.path.get_or_insert(input.path);
            log.error = log.error.take().or(input.error);
        }
    }
    Ok(logs)
}

async fn job_of(engine: &Engine, log: i64) -> Result<i64> {
    #[derive(Deserialize)]
    struct Known {
        job_id: i64,
    }
    let sql = format!("SELECT job_id FROM darshan_log WHERE log_id = {log}");
    let known: Vec<Known> = rows(engine, &sql).await?;
    let job = known.first().map(|known| known.job_id);
    job.ok_or_else(|| Error::Invalid(format!("log {log}: the lake has no such log")))
}

/// `of_id`: whether other jobs have logs of the same id.
async fn gather(
    engine: &Engine,
    job: i64,
    only: Option<i64>,
    logs: Vec<Log>,
    of_id: bool,
    long: bool,
) -> Result<Job> {
    let of = |log_id: i64| logs.iter().any(|log| log.log_id == log_id);
    let ids: Vec<String> = logs.iter().map(|log| log.log_id.to_string()).collect();
    let of_logs = match of_id {
        true => format!("job_id = {job} AND log_id IN ({})", ids.join(", ")),
        false => format!("job_id = {job}"),
    };
    let of_files = format!("{of_logs} AND NOT is_stream");
    let totals = rows(engine, &totals(&of_files)).await?;
    let slowest = slowest(engine, &of_files, job, &logs).await?;
    let in_mpiio = in_mpiio(engine, &of_logs, &logs).await?;
    let flows = flows(engine, &of_files, &logs).await?;
    let files = files(engine, &of_files, &flows).await?;
    let mut found = Job {
        job_id: job,
        only,
        totals,
        slowest,
        in_mpiio,
        layers: layers::gather(engine, &of_logs, &logs).await?,
        files,
        flows,
        compared: BTreeMap::new(),
        causes: vec![],
        habits: vec![],
        own: vec![],
        others: Others::default(),
        striping: vec![],
        copies: 0,
        record_earlier_by: zone_of_record::difference(engine, job, &logs).await?,
        logs: vec![],
    };
    let of_row = |row: &JsonRow| row["log_id"].as_i64().is_some_and(of);
    // Of a job of less no cause is named, and to plan these two takes most of the time that a page takes. Processes may have come one after another, each
    // with less.
    if found.at_most(None).max(found.io_time()) >= MIN_TIME {
        // What `root_causes` asks of a log. The files of all logs are in use no shorter than those of each; without a clock several are not laid
        // beside each other.
        let is_long = |flow: &Flow| flow.critical_time >= MIN_TIME;
        let in_use = found.flows.values().any(is_long) || span(&logs).is_none();
        if in_use && logs.iter().any(|log| log.nprocs > Some(1)) {
            let causes = format!("SELECT * FROM root_causes(job => {job}, both => false)");
            found.causes = rows(engine, &causes).await?;
            found.causes.retain(of_row);
        }
        let habits = format!("SELECT * FROM advice(job => {job})");
        found.habits = rows(engine, &habits).await?;
        found.habits.retain(of_row);
    }
    if found.sum(|totals| totals.layouts) > 0 {
        // A page is of all logs of a job, or of one of them; seldom of some, where a job id came again.
        let log = match logs.as_slice() {
            [log] => format!(", log => {}", log.log_id),
            _ => String::new(),
        };
        let striping = format!("SELECT * FROM stripe_advice(job => {job}{log})");
        found.striping = rows(engine, &striping).await?;
    }
    let in_use = found.flows.values().map(|flow| flow.critical_time);
    let relevance = Relevance {
        has_osts: found.sum(|totals| totals.layouts) > 0,
        in_use: in_use.fold(0.0, f64::max),
        io_time: found.slowest.all,
        meta_time: found.slowest.meta,
    };
    found.others = others::gather(engine, job, &logs, &relevance).await?;
    if let (true, Some((first, _))) = (long, span(&logs)) {
        for direction in DIRECTIONS {
            let compared = compared::gather(engine, direction, job, first, of).await?;
            found
                .compared
                .extend(compared.map(|compared| (direction, compared)));
        }
    }
    found.own = own(engine, job, &found, &logs).await?;
    found.own.retain(of_row);
    found.logs = logs;
    Ok(found)
}

/// Directories and bursts: of a job that has enough files and time for a rule to hold.
async fn own(engine: &Engine, job: i64, found: &Job, logs: &[Log]) -> Result<Vec<JsonRow>> {
    let files = found.sum(|totals| totals.files_written) as f64;
    let mut met = vec![];
    let nprocs = logs.iter().filter_map(|log| log.nprocs).max();
    let nprocs = nprocs.unwrap_or(0) as f64;
    // Bursts last no longer than all processes together.
    let burst_time = found.slowest.all * nprocs;
    for (facts, numbers) in [
        (
            Facts::Directory,
            &[("min_time", found.slowest.meta), ("min_files", files)][..],
        ),
        (
            Facts::Burst,
            &[
                ("min_time", burst_time),
                ("min_bursts", files),
                ("min_procs", nprocs),
            ],
        ),
    ] {
        let is_enough = numbers
            .iter()
            .all(|(threshold, number)| *number >= least(facts, threshold));
        let Some(query) = facts.query().filter(|_| is_enough) else {
            continue;
        };
        let causes = intervals::met_by(facts);
        let sql = format!("SELECT f.*, {causes} AS causes FROM {query}(job => {job}) f");
        let rows: Vec<JsonRow> = rows(engine, &sql).await?;
        let holds = |row: &JsonRow| {
            row["causes"]
                .as_array()
                .is_some_and(|met| met.iter().any(|cause| !cause.is_null()))
        };
        met.extend(rows.into_iter().filter(holds));
    }
    Ok(met)
}

fn totals(of_files: &str) -> String {
    let mut columns: Vec<String> = vec!["count(*) AS files".into()];
    let mut sum = |sql: &str, name: &str| {
        columns.push(format!("sum({sql}) AS {name}"));
    };
    for name in [
        "read_time",
        "write_time",
        "meta_time",
        "bytes_read",
        "bytes_written",
        "mpiio_bytes_read",
        "mpiio_bytes_written",
        "posix_bytes_read",
        "posix_bytes_written",
        "stdio_bytes_read",
        "stdio_bytes_written",
        "not_aligned",
        "opens",
        "stats",
        "seeks",
        "syncs",
    ] {
        sum(name, name);
    }
    for (direction, moved) in [("read", "read"), ("write", "written")] {
        let size = |names: &[&str]| {
            let sizes = names.iter().map(|name| format!("size_{direction}_{name}"));
            sizes.collect::<Vec<_>>().join(" + ")
        };
        sum(
            &format!("CASE WHEN mpiio_bytes_{moved} IS NOT NULL THEN posix_bytes_{moved} END"),
            &format!("below_{moved}"),
        );
        sum(
            &format!("CASE WHEN bytes_{moved} > 0 THEN 1 ELSE 0 END"),
            &format!("files_{moved}"),
        );
        sum(
            &format!("posix_{direction}s"),
            &format!("requests_{direction}"),
        );
        sum(&size(&["0_100", "100_1k"]), &format!("small_{direction}"));
        let up_to_a_mib = ["0_100", "100_1k", "1k_10k", "10k_100k", "100k_1m"];
        sum(&size(&up_to_a_mib), &format!("mib_{direction}"));
        for kind in ["seq", "consec"] {
            sum(
                &format!("{kind}_{direction}s"),
                &format!("{kind}_{direction}"),
            );
        }
        for kind in ["coll", "indep"] {
            sum(
                &format!("mpiio_{kind}_{direction}s"),
                &format!("{kind}_{direction}"),
            );
        }
    }
    sum(
        "CASE WHEN reads > 0 AND bytes_read = 0 THEN reads ELSE 0 END",
        "empty_reads",
    );
    sum("CASE WHEN ost_count IS NULL THEN 0 ELSE 1 END", "layouts");
    sum("CASE WHEN posix_incomplete THEN 1 ELSE 0 END", "incomplete");
    format!(
        "SELECT log_id, {} FROM darshan_file WHERE {of_files} GROUP BY log_id ORDER BY log_id",
        columns.join(", ")
    )
}

/// Modules with times by record, and the names of their tables.
const TIMED: [(&str, &str); 5] = [
    ("POSIX", "posix"),
    ("STDIO", "stdio"),
    ("MPI-IO", "mpiio"),
    ("DFS", "dfs"),
    ("DAOS", "daos"),
];

/// By the records of each file's source: a process's own are added up; of a record of all processes the slowest one's time counts, divided as the
/// time of all is.
async fn slowest(engine: &Engine, of_files: &str, job: i64, logs: &[Log]) -> Result<Slowest> {
    #[derive(Deserialize)]
    struct Part {
        is_shared: bool,
        read: Option<f64>,
        write: Option<f64>,
        meta: Option<f64>,
        time: Option<f64>,
    }
    let has = |module: &str| {
        logs.iter()
            .any(|log| log.modules.iter().any(|m| m == module))
    };
    let records = TIMED.into_iter().filter(|(module, _)| has(module));
    let records = records.map(|(_, table)| {
        let time = |what: &str| format!("{table}_f_{what}_time");
        let (read, write, meta) = (time("read"), time("write"), time("meta"));
        let part = |time: &str| {
            format!(
                "CASE WHEN rank = -1 THEN {table}_f_slowest_rank_time * ratio({time}, {read} + {write} + {meta}) ELSE {time} END"
            )
        };
        format!(
            "SELECT log_id, record_id, rank, '{table}' AS source, {} AS read, {} AS write, {} AS meta FROM darshan_{table} WHERE job_id = {job}",
            part(&read),
            part(&write),
            part(&meta)
        )
    });
    let records: Vec<String> = records.collect();
    if records.is_empty() {
        return Ok(Slowest::default());
    }
    let sql = format!(
        "WITH file AS (SELECT log_id, record_id, bytes_source FROM darshan_file WHERE {of_files}) \
         SELECT log_id, rank = -1 AS is_shared, max(read) AS read, max(write) AS write, max(meta) AS meta, max(read + write + meta) AS time FROM ( \
         SELECT r.log_id, r.rank, coalesce(sum(r.read), 0) AS read, coalesce(sum(r.write), 0) AS write, coalesce(sum(r.meta), 0) AS meta \
         FROM ({}) r JOIN file f ON f.log_id = r.log_id AND f.record_id = r.record_id \
         WHERE strpos(f.bytes_source, r.source) > 0 GROUP BY r.log_id, r.rank) GROUP BY log_id, rank = -1",
        records.join(" UNION ALL ")
    );
    let mut slowest = Slowest::default();
    for part in rows::<Part>(engine, &sql).await? {
        slowest.read += part.read.unwrap_or(0.0);
        slowest.write += part.write.unwrap_or(0.0);
        slowest.meta += part.meta.unwrap_or(0.0);
        slowest.all += part.time.unwrap_or(0.0);
        slowest.is_estimate |= part.is_shared && part.time > Some(0.0);
    }
    Ok(slowest)
}

/// None of a job that does not use MPI-IO.
async fn in_mpiio(engine: &Engine, of_logs: &str, logs: &[Log]) -> Result<Option<InMpiio>> {
    #[derive(Deserialize)]
    struct Part {
        is_shared: bool,
        read: Option<f64>,
        write: Option<f64>,
        meta: Option<f64>,
        slowest_read: Option<f64>,
        slowest_write: Option<f64>,
        slowest_meta: Option<f64>,
        slowest: Option<f64>,
    }
    let has_mpiio = |log: &Log| log.modules.iter().any(|module| module == "MPI-IO");
    if !logs.iter().any(has_mpiio) {
        return Ok(None);
    }
    // The part of the time of all that the slowest process has; 1 of a record of its own.
    let sql = format!(
        "WITH record AS (SELECT log_id, rank, mpiio_f_read_time AS read, mpiio_f_write_time AS write, mpiio_f_meta_time AS meta, \
           CASE WHEN rank = -1 THEN ratio(mpiio_f_slowest_rank_time, mpiio_f_read_time + mpiio_f_write_time + mpiio_f_meta_time) ELSE 1.0 END AS part FROM darshan_mpiio WHERE {of_logs}), \
         process AS (SELECT log_id, rank, sum(read) AS read, sum(write) AS write, sum(meta) AS meta, sum(read * part) AS slowest_read, sum(write * part) AS slowest_write, sum(meta * part) AS slowest_meta \
           FROM record GROUP BY log_id, rank) \
         SELECT rank = -1 AS is_shared, sum(read) AS read, sum(write) AS write, sum(meta) AS meta, max(slowest_read) AS slowest_read, max(slowest_write) AS slowest_write, max(slowest_meta) AS slowest_meta, \
           max(coalesce(slowest_read, 0) + coalesce(slowest_write, 0) + coalesce(slowest_meta, 0)) AS slowest FROM process GROUP BY log_id, rank = -1"
    );
    let mut found = InMpiio::default();
    for part in rows::<Part>(engine, &sql).await? {
        found.read += part.read.unwrap_or(0.0);
        found.write += part.write.unwrap_or(0.0);
        found.meta += part.meta.unwrap_or(0.0);
        found.slowest.read += part.slowest_read.unwrap_or(0.0);
        found.slowest.write += part.slowest_write.unwrap_or(0.0);
        found.slowest.meta += part.slowest_meta.unwrap_or(0.0);
        found.slowest.all += part.slowest.unwrap_or(0.0);
        found.slowest.is_estimate |= part.is_shared && part.slowest > Some(0.0);
    }
    found.time = found.read + found.write + found.meta;
    Ok((found.time > 0.0).then_some(found))
}

/// Intervals of a job's logs are counted from the start of the first.
async fn flows(
    engine: &Engine,
    of_files: &str,
    logs: &[Log],
) -> Result<BTreeMap<(&'static str, &'static str), Flow>> {
    #[derive(Deserialize)]
    struct InUse {
        direction: String,
        kind: String,
        files: i64,
        bytes: i64,
        critical_time: Option<f64>,
        span: f64,
        #[serde(default)]
        cover: Vec<Part>,
    }
    #[derive(Deserialize)]
    struct Part {
        id: u64,
        start: f64,
        end: f64,
    }
    let first = span(logs).map(|(first, _)| first);
    let offsets = logs.iter().filter_map(|log| {
        let offset = (log.start_time? - first?).num_microseconds()? as f64 / 1e6;
        Some(format!("({}, CAST({offset} AS DOUBLE))", log.log_id))
    });
    let offsets: Vec<String> = offsets.collect();
    let source = match logs.len() {
        1 => format!("(SELECT *, 0.0 AS begins FROM darshan_file WHERE {of_files})"),
        _ if offsets.is_empty() => return Ok(BTreeMap::new()),
        _ => format!(
            "(SELECT f.*, o.begins FROM darshan_file f JOIN (VALUES {}) AS o(log, begins) ON o.log = f.log_id WHERE {of_files})",
            offsets.join(", ")
        ),
    };
    let sides = [("read", "read"), ("write", "written")].map(|(direction, moved)| {
        format!(
            "SELECT '{direction}' AS direction, record_id, bytes_{moved} AS bytes, begins + {direction}_start AS a, \
               unnest(make_array('window', 'busy')) AS kind, unnest(make_array(begins + {direction}_end, begins + least({direction}_busy_end, {direction}_end))) AS b \
             FROM file WHERE bytes_{moved} > 0"
        )
    });
    let sql = format!(
        "WITH file AS {source} SELECT direction, kind, count(DISTINCT record_id) AS files, sum(bytes) AS bytes, io_time(a, b) AS critical_time, \
         max(b) - min(a) AS span, critical_files(record_id, a, b) AS cover \
         FROM ({}) WHERE b > a GROUP BY direction, kind",
        sides.join(" UNION ALL ")
    );
    let mut flows = BTreeMap::new();
    for row in rows::<InUse>(engine, &sql).await? {
        let direction = DIRECTIONS.into_iter().find(|d| **d == row.direction);
        let kind = ["window", "busy"].into_iter().find(|k| **k == row.kind);
        let (Some(direction), Some(kind)) = (direction, kind) else {
            continue;
        };
        let mut own: BTreeMap<u64, f64> = BTreeMap::new();
        for part in &row.cover {
            *own.entry(part.id).or_default() += part.end - part.start;
        }
        let own = own.into_iter();
        let mut critical_files: Vec<CriticalFile> = own
            .map(|(record_id, time)| CriticalFile { record_id, time })
            .collect();
        critical_files.sort_by(|a, b| b.time.total_cmp(&a.time));
        let flow = Flow {
            files: row.files,
            bytes: row.bytes,
            critical_time: row.critical_time.unwrap_or(0.0),
            span: row.span,
            critical_files,
            parts: row
                .cover
                .iter()
                .map(|part| (part.start, part.end))
                .collect(),
        };
        flows.insert((direction, kind), flow);
    }
    Ok(flows)
}

/// Those with most I/O time, and those of the critical path that are shown.
async fn files(
    engine: &Engine,
    of_files: &str,
    flows: &BTreeMap<(&'static str, &'static str), Flow>,
) -> Result<Vec<File>> {
    let columns = "record_id, min(path) AS path, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, \
                   sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time";
    let of_all = "coalesce(sum(read_time), 0.0) + coalesce(sum(write_time), 0.0) + coalesce(sum(meta_time), 0.0)";
    let most = format!(
        "SELECT {columns} FROM darshan_file WHERE {of_files} GROUP BY record_id ORDER BY {of_all} DESC, record_id LIMIT {}",
        SHOWN
    );
    let mut files: Vec<File> = rows(engine, &most).await?;
    let shown = flows
        .values()
        .flat_map(|flow| flow.critical_files.iter().take(SHOWN));
    let mut named: Vec<u64> = shown.map(|file| file.record_id).collect();
    named.retain(|id| !files.iter().any(|file| file.record_id == *id));
    named.sort_unstable();
    named.dedup();
    if !named.is_empty() {
        let ids: Vec<String> = named.iter().map(u64::to_string).collect();
        let sql = format!(
            "SELECT {columns} FROM darshan_file WHERE {of_files} AND record_id IN ({}) GROUP BY record_id ORDER BY record_id",
            ids.join(", ")
        );
        files.extend(rows::<File>(engine, &sql).await?);
    }
    Ok(files)
}
