--- doc = "Which classes of MOSAIC come together: Jaccard index and correlation of each pair"
--- grain = "one pair of classes of the same or of two directions"
--- source = "MOSAIC"
--- analysis = "mosaic"
--- columns = [
---   { name = "class_a", type = "Utf8", doc = "A class" },
---   { name = "class_b", type = "Utf8", doc = "Another, later in the alphabet" },
---   { name = "both", type = "Int64", unit = "count", doc = "Logs or programs with both, as weight counts them" },
---   { name = "either", type = "Int64", unit = "count", doc = "Those with at least one of both" },
---   { name = "jaccard", type = "Float64", doc = "both / either: 1 if each comes only with the other, 0 if they never meet" },
---   { name = "share", type = "Float64", unit = "fraction", doc = "both of all logs or programs that have classes" },
---   { name = "correlation", type = "Float64", doc = "Pearson's correlation of the two columns of 0 and 1 over all of them; NULL if one of the classes is in all" },
---   { name = "with_a", type = "Int64", unit = "count", doc = "Those with class_a" },
---   { name = "with_b", type = "Int64", unit = "count", doc = "Those with class_b" },
--- ]
--- chart = { form = "heat_map", x = "class_a", y = "class_b", z = "jaccard" }
--- [[param]]
--- name = "mode"
--- type = "text"
--- default = "'full'"
--- values = ["full", "reference"]
--- doc = "full: the best evidence that a log holds; reference: as the published tool"
--- [[param]]
--- name = "weight"
--- type = "text"
--- default = "'logs'"
--- values = ["logs", "programs", "represented"]
--- doc = "What counts: logs; programs, each by one representative log; or represented, where this log counts for all of its program"
--- [[param]]
--- name = "representative"
--- type = "text"
--- default = "'log_bytes'"
--- values = ["log_bytes", "bytes"]
--- doc = "Which log stands for a program: the one with the largest file, as in the published tool, or the one that moved most bytes; of equals the first by log_path"
--- [[param]]
--- name = "min_share"
--- type = "float"
--- default = "0.01"
--- range = [0, 1]
--- doc = "Minimum share; with 0 pairs that never meet are listed as well"
--- [[param]]
--- name = "app"
--- type = "text"
--- default = "NULL"
--- doc = "Program (default: all)"
--- [[param]]
--- name = "min_confidence"
--- type = "float"
--- default = "0"
--- range = [0, 1]
--- doc = "Minimum confidence of a log that counts: the lesser of read_confidence and write_confidence; a log that has neither counts as sure. With more than 0 damaged and partial logs, of which records are missing, do not count"
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

-- A program is (uid, exe), as in the paper, and not app. Its representative is one of its logs that have classes.
WITH classed AS (
  SELECT m.log_id, array_concat(m.read_classes, m.write_classes, m.metadata_classes) AS classes,
    row_number() OVER (PARTITION BY l.uid, l.exe ORDER BY CASE WHEN $representative = 'bytes' THEN l.total_bytes ELSE l.log_bytes END DESC, l.log_path, l.log_id) AS place,
    count(*) OVER (PARTITION BY l.uid, l.exe) AS stands_for
  FROM darshan_mosaic m JOIN darshan_log l ON l.job_id = m.job_id AND l.log_id = m.log_id
  WHERE m.mode = $mode AND m.status = 'ok' AND coalesce(least(m.read_confidence, m.write_confidence), 1.0) >= $min_confidence AND ($min_confidence = 0 OR l.status = 'ok') AND ($app IS NULL OR l.app = $app) AND ($from IS NULL OR l.start_time >= $from) AND ($to IS NULL OR l.start_time < $to)
), weighed AS (
  -- Logs with the same classes are one row: there are few kinds of them.
  SELECT classes, sum(CASE WHEN $weight = 'represented' THEN stands_for ELSE 1 END) AS n FROM classed WHERE $weight = 'logs' OR place = 1 GROUP BY classes
), kind AS (
  SELECT row_number() OVER (ORDER BY classes) AS kind, classes, n FROM weighed
), each AS (
  SELECT kind, n, unnest(classes) AS class FROM kind
), one AS (
  SELECT class, sum(n) AS n FROM each GROUP BY class
), met AS (
  SELECT a.class AS class_a, b.class AS class_b, sum(a.n) AS n FROM each a JOIN each b ON b.kind = a.kind AND b.class > a.class GROUP BY a.class, b.class
), whole AS (
  SELECT sum(n) AS n FROM weighed
), pair AS (
  SELECT a.class AS class_a, b.class AS class_b, coalesce(m.n, 0) AS both, a.n AS with_a, b.n AS with_b, w.n
  FROM one a JOIN one b ON b.class > a.class CROSS JOIN whole w LEFT JOIN met m ON m.class_a = a.class AND m.class_b = b.class
)
SELECT class_a, class_b, both, with_a + with_b - both AS either, CAST(both AS DOUBLE) / (with_a + with_b - both) AS jaccard, CAST(both AS DOUBLE) / n AS share,
  (CAST(n AS DOUBLE) * both - CAST(with_a AS DOUBLE) * with_b) / nullif(sqrt(CAST(with_a AS DOUBLE) * (n - with_a)) * sqrt(CAST(with_b AS DOUBLE) * (n - with_b)), 0) AS correlation, with_a, with_b
FROM pair WHERE both >= $min_share * n ORDER BY jaccard DESC, class_a, class_b
