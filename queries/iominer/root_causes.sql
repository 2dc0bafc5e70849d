--- doc = "Causes of slow I/O: the root causes of the IOMiner paper that account for most of the critical time of a log"
--- grain = "one log, direction and cause; a log for which nothing stands out has no row"
--- source = "IOMiner, section III-F"
--- columns = [
---   { name = "job_id", type = "Int64", doc = "Job id as Darshan stored it" },
---   { name = "log_id", type = "Int64", doc = "The log" },
---   { name = "app", type = "Utf8", doc = "Program" },
---   { name = "start_time", type = "Timestamp", doc = "Start of the program" },
---   { name = "nprocs", type = "Int64", unit = "count", doc = "Processes" },
---   { name = "direction", type = "Utf8", doc = "read or write" },
---   { name = "cause", type = "Utf8", doc = "" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "Part of the critical time that the files of the cause have for themselves, by their windows, NULL if it does not hold so; of a cause by others the part that is theirs" },
---   { name = "share_busy", type = "Float64", unit = "fraction", doc = "The same by the times for which the files were busy; of a cause by others as share" },
---   { name = "critical_time", type = "Float64", unit = "s", doc = "Time in which at least one file was in use in that direction, by windows; by busy times if share is NULL" },
---   { name = "cost", type = "Float64", unit = "s", doc = "Time that the files of the cause have for themselves, by the times for which they were busy, by their windows if share_busy is NULL; of a cause by others share x critical_time: at most so much can be saved" },
---   { name = "io_hours", type = "Float64", unit = "h", doc = "Time that all processes spent in these files in that direction; NULL of a cause by others" },
---   { name = "files", type = "Int64", unit = "count", doc = "Files of the cause; NULL of a cause by others" },
---   { name = "bytes", type = "Int64", unit = "B", doc = "Their bytes in that direction; NULL of a cause by others" },
---   { name = "bw", type = "Float64", unit = "B/s", doc = "These bytes / the time that the files have for themselves" },
---   { name = "number", type = "Float64", doc = "" },
---   { name = "subject", type = "Utf8", doc = "The OST, the process or the file, of several the one with most time; the file system or OST of a cause by others" },
--- ]
--- chart = { form = "heat_map", x = "cause", y = "app", z = "cost", log = ["z"] }
--- [[param]]
--- name = "job"
--- type = "int"
--- default = "NULL"
--- doc = "Job id (default: all)"
--- [[param]]
--- name = "from"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start then or later"
--- [[param]]
--- name = "to"
--- type = "timestamp"
--- default = "NULL"
--- doc = "Logs that start before"
--- [[param]]
--- name = "min_share"
--- type = "float"
--- default = "0.45"
--- range = [0, 1]
--- doc = "Part of the critical time that the files of a cause have for themselves, at least"
--- [[param]]
--- name = "both"
--- type = "bool"
--- default = "true"
--- doc = "Only causes that hold by windows and by busy times; false adds those that hold by one of them"
--- [[param]]
--- name = "evidence"
--- type = "text"
--- default = "'files'"
--- values = ["files", "all"]
--- doc = "files: causes by the files of a log; all: also by what others did on its OSTs (job_facts; without from and to all of the lake is looked at)"
--- [[param]]
--- name = "min_time"
--- type = "float"
--- default = "1"
--- doc = "Minimum critical time of a log, s; below 1 that of what a cause costs, too"
--- [[param]]
--- name = "slow_bw"
--- type = "float"
--- default = "1e9"
--- doc = "Causes by files: bandwidth, B/s, from which files are not considered slow; the default is the threshold of the IOMiner paper"

-- The rules of queries/rules over file_facts: each from the costs of the files that it is about, by default their exclusive times (algorithm 2), which
-- must be nearly half of the critical time: a cause that doubles the time has half of it, give or take noise.
-- A cause that holds for windows only may be an idle file that was held open: share_busy tells.
WITH file AS (
  SELECT * FROM file_facts(job => $job, "from" => $from, "to" => $to, min_time => $min_time, min_nprocs => 2)
), member AS (
  SELECT *, unnest(causes) AS cause FROM (SELECT *, make_array(/* causes of a file */) AS causes FROM file)
), subject AS (
  SELECT interval_kind, job_id, log_id, direction, cause, critical_time, nprocs, all_bytes, /* about */ AS about,
    first_value(path ORDER BY /* cost */ DESC, record_id) AS path, sum(/* cost */) AS time, max(length) AS longest, count(*) AS files, sum(bytes) AS bytes, sum(process_time) AS process_time, sum(procs) AS procs,
    sum(small) AS small, sum(requests) AS requests,
    -- Of the subjects of a cause the one with most bytes is the first, and has the second behind it.
    row_number() OVER (PARTITION BY interval_kind, job_id, log_id, direction, cause ORDER BY sum(bytes) DESC, /* about */) AS by_bytes,
    lead(sum(bytes)) OVER (PARTITION BY interval_kind, job_id, log_id, direction, cause ORDER BY sum(bytes) DESC, /* about */) AS next_bytes
  FROM member WHERE cause IS NOT NULL
  GROUP BY interval_kind, job_id, log_id, direction, cause, critical_time, nprocs, all_bytes, /* about */
), met AS (
  SELECT *, /* value */ AS number FROM subject WHERE time > 0 AND /* condition */
), found AS (
  SELECT interval_kind, job_id, log_id, direction, cause, critical_time, first_value(coalesce(about, path) ORDER BY time DESC, about) AS subject,
    first_value(number ORDER BY time DESC, about) AS number, sum(time) AS time, sum(files) AS files, sum(bytes) AS bytes, sum(process_time) AS process_time
  FROM met GROUP BY interval_kind, job_id, log_id, direction, cause, critical_time, /* each */
  HAVING sum(time) >= $min_share * critical_time AND sum(bytes) / sum(time) < $slow_bw
), both_kinds AS (
  -- What is about one OST, process or file must be so for the same one by both kinds of interval.
  SELECT job_id, log_id, direction, cause, CASE WHEN /* same */ THEN subject END AS same,
    max(CASE WHEN interval_kind = 'window' THEN time / critical_time END) AS share, max(CASE WHEN interval_kind = 'busy' THEN time / critical_time END) AS share_busy,
    first_value(critical_time ORDER BY interval_kind DESC) AS critical_time, first_value(time ORDER BY interval_kind) AS cost,
    first_value(process_time ORDER BY interval_kind) / 3600.0 AS io_hours, first_value(files ORDER BY interval_kind DESC) AS files, first_value(bytes ORDER BY interval_kind DESC) AS bytes,
    first_value(bytes / time ORDER BY interval_kind DESC) AS bw, first_value(number ORDER BY interval_kind DESC) AS number, first_value(subject ORDER BY interval_kind DESC) AS subject
  FROM found GROUP BY job_id, log_id, direction, cause, CASE WHEN /* same */ THEN subject END
), cause AS (
  SELECT job_id, log_id, direction, cause, share, share_busy, critical_time, cost, io_hours, files, bytes, bw, number, subject FROM both_kinds
  UNION ALL
  SELECT job_id, log_id, direction, met['cause'], met['cost'] / critical_time, met['cost'] / critical_time, critical_time, met['cost'], NULL, NULL, NULL, NULL, met['number'], met['subject']
  FROM (SELECT job_id, log_id, direction, critical_time, unnest(causes) AS met FROM (SELECT *, /* causes of a job */ AS causes FROM job_facts("from" => coalesce($from, TIMESTAMP '1970-01-01'), "to" => coalesce($to, TIMESTAMP '2100-01-01'), job => $job)))
  WHERE $evidence = 'all' AND met IS NOT NULL AND critical_time >= $min_time
)
SELECT c.job_id, c.log_id, l.app, l.start_time, l.nprocs, c.direction, c.cause, c.share, c.share_busy, c.critical_time, c.cost, c.io_hours, c.files, c.bytes, c.bw, c.number, c.subject
FROM cause c JOIN log_facts l ON l.job_id = c.job_id AND l.log_id = c.log_id AND l.direction = c.direction
WHERE (NOT $both OR c.share IS NOT NULL AND c.share_busy IS NOT NULL)
  AND c.cost >= least($min_time, 1.0)
  AND ($job IS NULL OR l.job_id = $job) AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
ORDER BY c.cost DESC, c.job_id, c.log_id, c.direction, c.share * c.critical_time DESC, c.cause, c.subject
