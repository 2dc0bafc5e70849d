//! Views that every lake has: SQL over its tables, nothing else.
//!
//! # Adding a view
//! One entry in [`VIEWS`], its SQL with the key columns of the tables first, so that a condition on job_id reaches the scans;
//! its columns as they come, which a test compares with the plan; an `.slt`.

/// A view.
#[derive(Debug)]
pub struct View {
    /// Name in SQL.
    pub name: &'static str,
    /// One line: what a row is.
    pub doc: &'static str,
    /// Columns that identify a row.
    pub key: &'static [&'static str],
    /// The query, over table names alone.
    pub sql: &'static str,
    /// The columns in order.
    pub columns: &'static [ViewColumn],
}

/// A column of a view; types are written as in the schema files.
#[derive(Debug)]
pub struct ViewColumn {
    /// Name in SQL.
    pub name: &'static str,
    /// Type as the schema files write it.
    pub type_name: &'static str,
    /// `B`, `count`, ..; empty where there is none.
    pub unit: &'static str,
    /// One line: what a value means.
    pub doc: &'static str,
}

const fn column(
    name: &'static str,
    type_name: &'static str,
    unit: &'static str,
    doc: &'static str,
) -> ViewColumn {
    ViewColumn {
        name,
        type_name,
        unit,
        doc,
    }
}

/// Every view, in the order in which they are shown.
pub static VIEWS: &[View] = &[
    DARSHAN_LOG_GROUP,
    DARSHAN_JOB,
    DARSHAN_FILE_CATEGORY,
    DARSHAN_LOG_TWIN,
    JOB,
    SLURM_JOB_IO,
];

/// The view of that name.
pub fn view(name: &str) -> Option<&'static View> {
    VIEWS.iter().find(|view| view.name == name)
}

/// Outside Slurm a job id is a process id, which comes again: logs of one job id and user are one job only while they
/// overlap or follow each other within 24 hours (SEMANTICS.md 5).
const DARSHAN_LOG_GROUP: View = View {
    name: "darshan_log_group",
    doc: "One Darshan log, and to which job it belongs: the logs of one job id and user that overlap or lie within 24 hours of each other",
    key: &["job_id", "log_id"],
    sql: r#"
WITH ordered AS (
  SELECT job_id, log_id, uid, start_time, coalesce(end_time, start_time) AS end_time,
    max(coalesce(end_time, start_time)) OVER (PARTITION BY job_id, uid, start_time IS NULL ORDER BY start_time, log_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until
  FROM darshan_log
)
SELECT job_id, log_id, uid, CASE WHEN start_time IS NULL THEN 0 ELSE sum(CASE WHEN busy_until IS NULL OR start_time > busy_until + INTERVAL '24 hours' THEN 1 ELSE 0 END)
    OVER (PARTITION BY job_id, uid, start_time IS NULL ORDER BY start_time, log_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS log_group,
  start_time, end_time
FROM ordered"#,
    columns: &[
        column(
            "job_id",
            "Int64",
            "",
            "Job id as Darshan stored it: the raw Slurm id, or a process id outside a scheduler",
        ),
        column("log_id", "Int64", "", "The log"),
        column(
            "uid",
            "Int64",
            "",
            "User id; NULL if the job region is damaged",
        ),
        column(
            "log_group",
            "Int64",
            "",
            "Number of the job among those with this job id and user, from 1 in order of time; 0 without start times",
        ),
        column("start_time", "Timestamp", "", "Start of the program"),
        column(
            "end_time",
            "Timestamp",
            "",
            "End of the program; its start where the end is not known",
        ),
    ],
};

/// There is no run time and no bandwidth, for neither can be summed over logs that run side by side.
const DARSHAN_JOB: View = View {
    name: "darshan_job",
    doc: "One job: the logs of one job id and user that overlap or lie within 24 hours of each other",
    key: &["job_id", "uid", "log_group"],
    sql: r#"
WITH numbered AS (
  SELECT l.job_id, l.uid, g.log_group, l."user", l.app, l.nprocs, g.start_time, g.end_time, l.files, l.bytes_read, l.bytes_written,
    l.read_start_time, l.read_end_time, l.write_start_time, l.write_end_time, l.partial, l.status
  FROM darshan_log l JOIN darshan_log_group g ON g.job_id = l.job_id AND g.log_id = l.log_id
)
SELECT job_id, uid, log_group, min("user") AS "user", min(start_time) AS job_start, max(end_time) AS job_end, count(*) AS logs,
  max(nprocs) AS nprocs_max, sum(nprocs) AS nprocs_sum, array_agg(DISTINCT app ORDER BY app) FILTER (WHERE app IS NOT NULL) AS apps,
  sum(files) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
  min(read_start_time) AS read_start_time, max(read_end_time) AS read_end_time,
  min(write_start_time) AS write_start_time, max(write_end_time) AS write_end_time,
  bool_or(partial) AS partial, bool_or(status = 'damaged') AS damaged
FROM numbered GROUP BY job_id, uid, log_group"#,
    columns: &[
        column(
            "job_id",
            "Int64",
            "",
            "Job id as Darshan stored it: the raw Slurm id, or a process id outside a scheduler",
        ),
        column(
            "uid",
            "Int64",
            "",
            "User id; NULL if the job regions are damaged",
        ),
        column(
            "log_group",
            "Int64",
            "",
            "Number of the group of logs with this job id and user, from 1 in order of time; 0 without start times",
        ),
        column(
            "user",
            "Utf8",
            "",
            "User name: the file name of a log up to the first _, a guess",
        ),
        column("job_start", "Timestamp", "", "Start of its first program"),
        column("job_end", "Timestamp", "", "End of its last program"),
        column("logs", "Int64", "count", "Logs"),
        column(
            "nprocs_max",
            "Int64",
            "count",
            "Processes of its largest log",
        ),
        column(
            "nprocs_sum",
            "Int64",
            "count",
            "Processes of all its logs, whether they ran side by side or not",
        ),
        column(
            "apps",
            "List<Utf8>",
            "",
            "Its programs, each once, in alphabetical order",
        ),
        column(
            "files",
            "Int64",
            "count",
            "Files of all its logs, streams included; one that several logs used counts in each",
        ),
        column("bytes_read", "Int64", "B", "Bytes read, streams included"),
        column(
            "bytes_written",
            "Int64",
            "B",
            "Bytes written, streams included",
        ),
        column(
            "read_start_time",
            "Timestamp",
            "",
            "First read of any file, streams left out, on the clock",
        ),
        column(
            "read_end_time",
            "Timestamp",
            "",
            "End of the last read of any file, streams left out, on the clock",
        ),
        column(
            "write_start_time",
            "Timestamp",
            "",
            "First write of any file, streams left out, on the clock",
        ),
        column(
            "write_end_time",
            "Timestamp",
            "",
            "End of the last write of any file, streams left out, on the clock",
        ),
        column(
            "partial",
            "Boolean",
            "",
            "A log of it is partial: sums are lower bounds",
        ),
        column(
            "damaged",
            "Boolean",
            "",
            "A log of it is damaged: sums are lower bounds",
        ),
    ],
};

/// The categories of `darshan-parser --file` (darshan-peers.md E), for each module by itself. Its `shared` line is
/// `shared` and `part_shared` here, and its greatest offset of that line is a sum of two; here it is the greater.
const DARSHAN_FILE_CATEGORY: View = View {
    name: "darshan_file_category",
    doc: "Files of one log and module in one category: total, read_only, write_only, read_write, unique, shared, part_shared",
    key: &["log_id", "module", "category"],
    sql: r"
WITH record AS (
  SELECT job_id, log_id, record_id, 'POSIX' AS module, rank, posix_bytes_read AS bytes_read, posix_bytes_written AS bytes_written,
    greatest(posix_max_byte_read, posix_max_byte_written) AS max_byte FROM darshan_posix
  UNION ALL SELECT job_id, log_id, record_id, 'MPI-IO', rank, mpiio_bytes_read, mpiio_bytes_written, CAST(NULL AS BIGINT) FROM darshan_mpiio
  UNION ALL SELECT job_id, log_id, record_id, 'STDIO', rank, stdio_bytes_read, stdio_bytes_written,
    greatest(stdio_max_byte_read, stdio_max_byte_written) FROM darshan_stdio
  UNION ALL SELECT job_id, log_id, record_id, 'DFS', rank, dfs_bytes_read, dfs_bytes_written, CAST(NULL AS BIGINT) FROM darshan_dfs
  UNION ALL SELECT job_id, log_id, record_id, 'DAOS', rank, daos_bytes_read, daos_bytes_written, CAST(NULL AS BIGINT) FROM darshan_daos
), file AS (
  SELECT job_id, log_id, module, record_id, coalesce(sum(bytes_read), 0) AS bytes_read, coalesce(sum(bytes_written), 0) AS bytes_written,
    max(max_byte) AS max_byte, CASE WHEN min(rank) < 0 THEN 'shared' WHEN count(*) = 1 THEN 'unique' ELSE 'part_shared' END AS sharing
  FROM record GROUP BY job_id, log_id, module, record_id
), one AS (
  SELECT job_id, log_id, module, bytes_read, bytes_written, max_byte, unnest(make_array('total', sharing,
    CASE WHEN bytes_read > 0 AND bytes_written > 0 THEN 'read_write' WHEN bytes_read > 0 THEN 'read_only' WHEN bytes_written > 0 THEN 'write_only' END)) AS category
  FROM file
)
SELECT job_id, log_id, module, category, count(*) AS files, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
  max(bytes_read) AS bytes_read_max, max(bytes_written) AS bytes_written_max, sum(max_byte) AS max_byte_sum, max(max_byte) AS max_byte_max
FROM one WHERE category IS NOT NULL GROUP BY job_id, log_id, module, category",
    columns: &[
        column("job_id", "Int64", "", "Job id as Darshan stored it"),
        column("log_id", "Int64", "", "The log"),
        column("module", "Utf8", "", "POSIX, MPI-IO, STDIO, DFS or DAOS"),
        column(
            "category",
            "Utf8",
            "",
            "total: all; read_only, write_only, read_write: by bytes moved (in none without any); unique: one process, shared: a record of all \
             processes, part_shared: records of several",
        ),
        column(
            "files",
            "Int64",
            "count",
            "Files; a category without any has no row",
        ),
        column("bytes_read", "Int64", "B", "Bytes read from them"),
        column("bytes_written", "Int64", "B", "Bytes written to them"),
        column(
            "bytes_read_max",
            "Int64",
            "B",
            "Most bytes read from one of them",
        ),
        column(
            "bytes_written_max",
            "Int64",
            "B",
            "Most bytes written to one of them",
        ),
        column(
            "max_byte_sum",
            "Int64",
            "B",
            "Sum of the highest offsets touched in each; NULL for MPI-IO, DFS and DAOS, which do not say",
        ),
        column(
            "max_byte_max",
            "Int64",
            "B",
            "Highest offset touched in any; NULL for MPI-IO, DFS and DAOS",
        ),
    ],
};

/// The same log recompressed, or taken from another run of the converter, has other bytes and so another log_id. Programs
/// that a job starts by the hundred in the same second look alike, too, which `same_totals` tells apart as far as it goes.
const DARSHAN_LOG_TWIN: View = View {
    name: "darshan_log_twin",
    doc: "One log that may be another one in other bytes: same job, user, start, processes and command line",
    key: &["log_id"],
    sql: r"
WITH alike AS (
  SELECT job_id, uid, start_time, nprocs, exe, log_id, log_path, log_bytes, min(log_id) OVER same AS first_log_id, count(*) OVER same AS logs,
    min(bytes_read) OVER same = max(bytes_read) OVER same AND min(bytes_written) OVER same = max(bytes_written) OVER same
      AND min(files) OVER same = max(files) OVER same AND min(end_time) OVER same IS NOT DISTINCT FROM max(end_time) OVER same AS same_totals
  FROM darshan_log WHERE start_time IS NOT NULL
  WINDOW same AS (PARTITION BY job_id, uid, start_time, nprocs, exe)
)
SELECT * FROM alike WHERE logs > 1",
    columns: &[
        column("job_id", "Int64", "", "Job id as Darshan stored it"),
        column("uid", "Int64", "", "User id"),
        column("start_time", "Timestamp", "", "Start of the program"),
        column("nprocs", "Int64", "count", "Processes"),
        column("exe", "Utf8", "", "Command line"),
        column("log_id", "Int64", "", "The log"),
        column(
            "log_path",
            "Utf8",
            "",
            "Path of the log when it was imported",
        ),
        column("log_bytes", "Int64", "B", "Size of the log"),
        column(
            "first_log_id",
            "Int64",
            "",
            "Least log_id of those that are alike",
        ),
        column("logs", "Int64", "count", "How many are alike"),
        column(
            "same_totals",
            "Boolean",
            "",
            "Bytes, files and end agree as well: very likely the same log",
        ),
    ],
};

/// Darshan writes down SLURM_JOBID: the raw id of a job or an array task, and for every component of a heterogeneous job that
/// of its leader; outside Slurm, its process id, which may be the id of somebody's job. So besides the id the times must agree,
/// within 2 s, and the user where Slurm's dump says who it was. The user's name is a guess on Darshan's side (SEMANTICS.md 5).
///
/// A log runs in the one srun that lasts as long, else in the batch or interactive step; one job can have several at a time,
/// and then what they agree on counts.
const JOB: View = View {
    name: "job",
    doc: "One Darshan log with the Slurm record of the job, array task or het leader that it ran in, and the step",
    key: &["log_id"],
    sql: r#"
WITH candidate AS (
  SELECT l.job_id, l.log_id, l.start_time AS log_start, coalesce(l.end_time, l.start_time) AS log_end, s.job_id_text, s.submit_time,
    s.start_time AS slurm_start, s.end_time AS slurm_end, s.cluster, s.account, s.partition, s.qos, s.job_name, s.state, s.het_job_id,
    s.node_count, s.ncpus, s.node_list, s."user" AS slurm_user,
    s."user" IS NOT NULL AND l."user" IS NOT NULL AND s."user" <> l."user" AND (s.uid IS NULL OR l.uid IS NULL) AS other_name,
    CAST(least(coalesce(s.end_time, l.end_time, l.start_time), coalesce(l.end_time, l.start_time)) AS BIGINT)
      - CAST(greatest(s.start_time, l.start_time) AS BIGINT) AS overlap
  FROM darshan_log l JOIN slurm_job s ON s.job_id = l.job_id
  WHERE s.start_time <= coalesce(l.end_time, l.start_time) + INTERVAL '2 seconds'
    AND coalesce(s.end_time, l.start_time) >= l.start_time - INTERVAL '2 seconds'
    AND (s.uid IS NULL OR l.uid IS NULL OR s.uid = l.uid)
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY job_id, log_id ORDER BY overlap DESC, submit_time DESC NULLS LAST) AS place,
    count(*) FILTER (WHERE overlap > 2000000) OVER (PARTITION BY job_id, log_id) AS records
  FROM candidate
), record AS (
  SELECT * FROM ranked WHERE place = 1
), component AS (
  SELECT r.job_id, r.log_id, r.log_start, r.log_end, r.job_id AS part_id FROM record r
  UNION ALL
  SELECT r.job_id, r.log_id, r.log_start, r.log_end, s.job_id FROM record r JOIN slurm_job s ON s.het_job_id = r.het_job_id
  WHERE s.job_id <> r.job_id
), step AS (
  SELECT c.job_id, c.log_id, t.step_id, CASE WHEN t.step_id IN ('batch', 'interactive') THEN 2 ELSE 1 END AS kind,
    sum(t.node_count) AS node_count, sum(t.ntasks) AS ntasks
  FROM component c JOIN slurm_step t ON t.job_id = c.part_id
  WHERE t.step_id <> 'extern' AND t.start_time <= c.log_start + INTERVAL '2 seconds'
    AND coalesce(t.end_time, c.log_end) >= c.log_end - INTERVAL '2 seconds'
  GROUP BY c.job_id, c.log_id, t.step_id
), nearest AS (
  SELECT job_id, log_id, step_id, node_count, ntasks, kind, min(kind) OVER (PARTITION BY job_id, log_id) AS best FROM step
), chosen AS (
  SELECT job_id, log_id, CASE WHEN count(*) = 1 THEN min(step_id) END AS step_id,
    CASE WHEN min(node_count) = max(node_count) THEN min(node_count) END AS node_count,
    CASE WHEN min(ntasks) = max(ntasks) THEN min(ntasks) END AS ntasks
  FROM nearest WHERE kind = best GROUP BY job_id, log_id
)
SELECT l.job_id, l.log_id,
  CASE WHEN r.log_id IS NULL THEN 'none' WHEN r.records > 1 OR r.other_name THEN 'ambiguous' WHEN r.het_job_id IS NOT NULL THEN 'leader'
    WHEN c.node_count IS NOT NULL THEN 'step' ELSE 'job' END AS match,
  c.step_id, coalesce(c.node_count, r.node_count) AS node_count, c.ntasks,
  r.job_id_text, r.submit_time, r.slurm_start, r.slurm_end, r.cluster, r.account, r.partition, r.qos, r.job_name, r.state,
  r.node_count AS job_node_count, r.ncpus, r.node_list, l.uid, coalesce(r.slurm_user, l."user") AS "user", l.app, l.nprocs, l.start_time, l.end_time, l.run_time,
  l.bytes_read, l.bytes_written, l.partial, l.status
FROM darshan_log l
  LEFT JOIN record r ON r.job_id = l.job_id AND r.log_id = l.log_id
  LEFT JOIN chosen c ON c.job_id = l.job_id AND c.log_id = l.log_id"#,
    columns: &[
        column("job_id", "Int64", "", "Job id as Darshan stored it"),
        column("log_id", "Int64", "", "The log"),
        column(
            "match",
            "Utf8",
            "",
            "How its Slurm record was found: step (and the step that it ran in), job (no step holds it, or several that differ), leader (a component of a het job: which one is not known), ambiguous (several records fit, or the user's name differs), none",
        ),
        column(
            "step_id",
            "Utf8",
            "",
            "Step that it ran in; NULL if several may be it",
        ),
        column(
            "node_count",
            "Int64",
            "count",
            "Nodes of that step, of all components that it spans; else of the job",
        ),
        column("ntasks", "Int64", "count", "Tasks of that step"),
        column("job_id_text", "Utf8", "", "The id as Slurm shows it"),
        column(
            "submit_time",
            "Timestamp",
            "",
            "When the job was submitted: with job_id the key of slurm_job",
        ),
        column("slurm_start", "Timestamp", "", "Start of the job"),
        column("slurm_end", "Timestamp", "", "End of the job"),
        column("cluster", "Utf8", "", "Cluster"),
        column("account", "Utf8", "", "Account that is charged"),
        column("partition", "Utf8", "", "Partition"),
        column("qos", "Utf8", "", "Quality of service"),
        column("job_name", "Utf8", "", "Name of the job"),
        column("state", "Utf8", "", "State of the job"),
        column("job_node_count", "Int64", "count", "Nodes of the job"),
        column("ncpus", "Int64", "count", "CPUs of the job"),
        column("node_list", "Utf8", "", "Nodes of the job"),
        column("uid", "Int64", "", "User id, from the log"),
        column(
            "user",
            "Utf8",
            "",
            "User name by Slurm, else a guess from the log's file name",
        ),
        column("app", "Utf8", "", "Program"),
        column("nprocs", "Int64", "count", "Processes"),
        column("start_time", "Timestamp", "", "Start of the program"),
        column("end_time", "Timestamp", "", "End of the program"),
        column("run_time", "Float64", "s", "Run time of the program"),
        column("bytes_read", "Int64", "B", "Bytes read, streams included"),
        column(
            "bytes_written",
            "Int64",
            "B",
            "Bytes written, streams included",
        ),
        column(
            "partial",
            "Boolean",
            "",
            "Darshan ran out of memory: sums are lower bounds",
        ),
        column("status", "Utf8", "", "ok, partial or damaged"),
    ],
};

/// Logs of all components of a het job stand with its leader. An array task whose raw id a poor dump did not say (it is below 0)
/// is left out where another dump says it.
const SLURM_JOB_IO: View = View {
    name: "slurm_job_io",
    doc: "One Slurm record with what the Darshan logs that ran in it say",
    key: &["job_id", "submit_time"],
    sql: r#"
WITH logs AS (
  SELECT job_id, submit_time, slurm_start, count(*) AS logs, max(nprocs) AS nprocs_max,
    array_agg(DISTINCT app ORDER BY app) FILTER (WHERE app IS NOT NULL) AS apps, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written,
    bool_or(match IN ('ambiguous', 'leader')) AS ambiguous
  FROM job WHERE match <> 'none' GROUP BY job_id, submit_time, slurm_start
), one AS (
  SELECT * FROM slurm_job WHERE job_id >= 0
  UNION ALL
  SELECT * FROM slurm_job n WHERE n.job_id < 0
    AND NOT EXISTS (SELECT 1 FROM slurm_job k WHERE k.job_id >= 0 AND k.job_id_text = n.job_id_text AND (n.start_time IS NULL OR k.start_time = n.start_time))
)
SELECT s.job_id, s.submit_time, s.job_id_text, s.last_record, s.cluster, s."user", s.uid, s.account, s.partition, s.qos, s.job_name, s.state, s.start_time, s.end_time,
  s.elapsed, s.node_count, s.node_count * s.elapsed / 3600.0 AS node_hours, s.ncpus, coalesce(l.logs, 0) AS logs, l.nprocs_max, l.apps,
  l.bytes_read, l.bytes_written, l.ambiguous
FROM one s LEFT JOIN logs l ON l.job_id = s.job_id AND (l.submit_time IS NOT DISTINCT FROM s.submit_time) AND (l.slurm_start IS NOT DISTINCT FROM s.start_time)"#,
    columns: &[
        column("job_id", "Int64", "", "Raw id"),
        column(
            "submit_time",
            "Timestamp",
            "",
            "When it was submitted, or put back into the queue",
        ),
        column("job_id_text", "Utf8", "", "The id as Slurm shows it"),
        column(
            "last_record",
            "Boolean",
            "",
            "No later record of this job is in the lake",
        ),
        column("cluster", "Utf8", "", "Cluster"),
        column("user", "Utf8", "", "User name"),
        column("uid", "Int64", "", "User id"),
        column("account", "Utf8", "", "Account that is charged"),
        column("partition", "Utf8", "", "Partition"),
        column("qos", "Utf8", "", "Quality of service"),
        column("job_name", "Utf8", "", "Name"),
        column("state", "Utf8", "", "State"),
        column("start_time", "Timestamp", "", "Start"),
        column("end_time", "Timestamp", "", "End"),
        column("elapsed", "Float64", "s", "Time that it ran"),
        column("node_count", "Int64", "count", "Nodes that it was given"),
        column(
            "node_hours",
            "Float64",
            "h",
            "Nodes times hours that it ran",
        ),
        column("ncpus", "Int64", "count", "CPUs"),
        column(
            "logs",
            "Int64",
            "count",
            "Darshan logs that ran in it; 0: nothing is known of its I/O",
        ),
        column(
            "nprocs_max",
            "Int64",
            "count",
            "Processes of its largest log",
        ),
        column(
            "apps",
            "List<Utf8>",
            "",
            "Its programs, each once, in alphabetical order",
        ),
        column(
            "bytes_read",
            "Int64",
            "B",
            "Bytes read by its logs, streams included; NULL without logs",
        ),
        column(
            "bytes_written",
            "Int64",
            "B",
            "Bytes written by its logs, streams included; NULL without logs",
        ),
        column(
            "ambiguous",
            "Boolean",
            "",
            "It is not certain that all of these logs are its own: several records fit them, or they may be of another component of the het job",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_no_name_of_a_table_and_its_key_among_its_columns() {
        for view in VIEWS {
            assert!(crate::table::table(view.name).is_err(), "{}", view.name);
            for key in view.key {
                assert!(
                    view.columns.iter().any(|column| column.name == *key),
                    "{}: {key}",
                    view.name
                );
            }
            assert!(
                view.columns
                    .iter()
                    .all(|column| !column.doc.is_empty() && !column.doc.ends_with('.'))
            );
        }
    }
}
