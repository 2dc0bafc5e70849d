"""The questions of this folder in Polars, one function for each: a lazy frame over the lake's tables `t`, with the parameters `p`.

They are collected by Polars' streaming engine, which takes least over the whole list, and by the other where that takes clearly less.
A sum over no values is 0 in Polars and NULL in SQL; where groups without values occur, `total` says so too.
"""

import datetime

import polars as pl
from polars import col


IN_MEMORY = {"group_distinct_files", "group_median_rate", "group_slower"}


def total(column):
    """The sum of a column as SQL has it."""
    return pl.when(col(column).count() > 0).then(col(column).sum()).alias(column)


def moment(text):
    return pl.lit(datetime.datetime.fromisoformat(text)).cast(pl.Datetime("us", "UTC"))


def constant(t, p):
    """Asked of a process to see that it is there."""
    return pl.LazyFrame({"one": [1]})


# Scans.

def scan_large_files(t, p):
    return t.darshan_file.filter((col.bytes_written > 1 << 30) & ~col.is_stream).select(files=pl.len())


def scan_totals(t, p):
    return t.darshan_file.select(col("bytes_read", "bytes_written", "read_time", "write_time", "meta_time").sum())


def scan_extremes(t, p):
    return t.darshan_file.filter(~col.is_stream).select(
        first_read=col.read_start_time.min(), last_write=col.write_end_time.max(), farthest_byte=col.max_byte_written.max(),
        slowest_read=col.max_read_time.max(), slowest_write=col.max_write_time.max())


def scan_path_like(t, p):
    return t.darshan_file.filter(col.path.str.ends_with(".h5")).select(files=pl.len(), bytes_read=col.bytes_read.sum())


def scan_kinds(t, p):
    return t.darshan_file.select("fs", "fs_type", "bytes_source", "sharing").unique()


def scan_small_writes(t, p):
    return t.darshan_file.filter(~col.is_stream).select(
        small=(col.size_write_0_100 + col.size_write_100_1k + col.size_write_1k_10k).sum(), writes=col.posix_writes.sum())


def scan_posix_unaligned(t, p):
    return t.darshan_posix.filter(col.posix_writes > 0).select(
        records=pl.len(), requests=(col.posix_reads + col.posix_writes).sum(), in_file=col.posix_file_not_aligned.sum(),
        in_memory=col.posix_mem_not_aligned.sum())


# Groups.

def group_app(t, p):
    return t.darshan_log.group_by("app").agg(
        logs=pl.len(), run_time=col.run_time.mean(), nprocs=col.nprocs.max(), bytes_read=col.bytes_read.sum(), bytes_written=col.bytes_written.sum())


def group_user(t, p):
    return t.darshan_log.group_by("user").agg(
        logs=pl.len(), apps=col.app.drop_nulls().n_unique(), process_hours=(col.nprocs * col.run_time).sum() / 3600,
        bytes=col.total_bytes.sum()).sort("bytes", "user", descending=[True, False], nulls_last=True).head(20)


def group_fs(t, p):
    return t.darshan_file.group_by("fs", "fs_type", "sharing").agg(
        pl.len().alias("files"), *map(total, ("bytes_read", "bytes_written", "read_time", "write_time")))


def group_log(t, p):
    return t.darshan_file.group_by("log_id").agg(
        files=pl.len(), bytes=(col.bytes_read + col.bytes_written).sum(), slowest_write=col.max_write_time.max())


def group_record(t, p):
    return t.darshan_file.group_by("record_id").agg(logs=pl.len(), bytes_read=col.bytes_read.sum()).top_k(20, by=["logs", "record_id"], reverse=[False, True]).sort(
        "logs", "record_id", descending=[True, False])


def group_folder(t, p):
    return t.darshan_file.filter(col.fs == p.fs).group_by(folder=col.path.str.extract("^[^/]*/[^/]*/([^/]*)")).agg(
        files=pl.len(), bytes_written=col.bytes_written.sum())


def group_distinct(t, p):
    return t.darshan_file.group_by("fs").agg(logs=col.log_id.n_unique(), jobs=col.job_id.n_unique(), files=pl.len())


def group_distinct_files(t, p):
    return t.darshan_file.select(files=col.record_id.n_unique())


def group_hour(t, p):
    return t.darshan_file.filter(col.write_end_time.is_not_null()).group_by(hour=col.write_end_time.dt.truncate("1h")).agg(
        files=pl.len(), bytes_written=col.bytes_written.sum())


def group_percentiles(t, p):
    return t.darshan_file.filter(col.bytes_written > 0).group_by("fs").agg(
        p50=col.bytes_written.quantile(0.5, "linear"), p95=col.bytes_written.quantile(0.95, "linear"), p99=col.bytes_written.quantile(0.99, "linear"))


def group_median_rate(t, p):
    rate = col.write_bw_span
    return t.darshan_log.filter(rate.is_not_null()).group_by("app").agg(
        logs=pl.len(), p25=rate.quantile(0.25, "linear"), p50=rate.quantile(0.5, "linear"), p75=rate.quantile(0.75, "linear"))


def group_slower(t, p):
    runs = t.darshan_log.filter(col.write_bw_span.is_not_null()).select("user", "app", "start_time", "log_id", "write_bw_span").sort("start_time", "log_id")
    return runs.with_columns(before=col.write_bw_span.shift().over("user", "app")).filter(col.before.is_not_null()).group_by("app").agg(
        runs=pl.len(), slower=(col.write_bw_span < 0.5 * col.before).sum())


# Jobs.

def job_files(t, p):
    return t.darshan_file.filter(~col.is_stream).group_by("job_id", "log_id").agg(
        pl.len().alias("files"), col("bytes_read", "bytes_written").sum(), total("meta_time"), col.write_end.max())


def job_posix(t, p):
    return t.darshan_posix.group_by("job_id").agg(
        bytes_read=col.posix_bytes_read.sum(), bytes_written=col.posix_bytes_written.sum(),
        io_time=(col.posix_f_read_time + col.posix_f_write_time + col.posix_f_meta_time).sum(), last_write=col.posix_f_write_end_timestamp.max())


def job_small_files(t, p):
    return t.darshan_file.filter(col.bytes_written > 0).group_by("job_id").agg(
        files=pl.len(), small=(col.bytes_written < 1 << 20).sum()).filter((col.files > 1000) & (2 * col.small.cast(pl.Int64) > col.files))


def job_top(t, p):
    jobs = t.darshan_file.group_by("job_id").agg(map(total, ("opens", "stats", "meta_time"))).filter(col.opens.is_not_null())
    known = t.slurm_job.filter("last_record").select("job_id", "user", "node_count")
    return known.join(jobs, on="job_id").sort("opens", "job_id", descending=[True, False]).head(25)


def job_largest_file(t, p):
    files = t.darshan_file.filter(~col.is_stream).select("job_id", "log_id", "record_id", "fs", "bytes_written")
    first = col.fs, col.bytes_written
    largest = files.group_by("job_id", "log_id").agg(one.sort_by("bytes_written", "record_id", descending=[True, False]).first() for one in first)
    return largest.group_by("fs").agg(logs=pl.len(), bytes_written=col.bytes_written.sum())


def join_log_slurm(t, p):
    return t.darshan_log.join(t.slurm_job.filter("last_record"), on="job_id").group_by("account", "state").agg(
        logs=pl.len(), node_hours=(col.node_count * col.elapsed).sum() / 3600, bytes_read=col.bytes_read.sum(), bytes_written=col.bytes_written.sum())


def join_file_slurm(t, p):
    return t.darshan_file.filter(~col.is_stream).join(t.slurm_job.filter("last_record"), on="job_id").group_by("account", "fs").agg(
        files=pl.len(), bytes_read=col.bytes_read.sum(), bytes_written=col.bytes_written.sum())


def join_file_log(t, p):
    logs = t.darshan_log.select("job_id", "log_id", "app")
    return t.darshan_file.join(logs, on=["job_id", "log_id"]).group_by("app").agg(
        pl.len().alias("files"), (col.sharing == "shared").sum().alias("shared"), col.bytes_written.sum(), total("meta_time"))


def join_posix_file(t, p):
    lustre = t.darshan_file.filter(col.fs_type == "lustre").select("job_id", "log_id", "record_id", "fs")
    return t.darshan_posix.join(lustre, on=["job_id", "log_id", "record_id"]).group_by("fs").agg(
        records=pl.len(), seeks=col.posix_seeks.sum(), opens=col.posix_opens.sum(), meta_time=col.posix_f_meta_time.sum())


def join_mpiio_file(t, p):
    files = t.darshan_file.select("job_id", "log_id", "record_id", "sharing", "stripe_count")
    return t.darshan_mpiio.join(files, on=["job_id", "log_id", "record_id"]).group_by("sharing", "stripe_count").agg(
        records=pl.len(), bytes_written=col.mpiio_bytes_written.sum(), write_time=col.mpiio_f_write_time.sum())


def join_missing(t, p):
    ended = t.slurm_job.filter(col.last_record & (col.state == "COMPLETED"))
    return ended.join(t.darshan_log, on="job_id", how="anti").group_by("account", "partition").agg(
        jobs=pl.len(), node_hours=(col.node_count * col.elapsed).sum() / 3600)


# Points.

def point_job(t, p):
    return t.darshan_file.filter(col.job_id == p.job_id).select("log_id", "record_id", "path", "bytes_read", "bytes_written", "read_time", "write_time")


def point_log(t, p):
    return t.darshan_posix.filter((col.job_id == p.job_id) & (col.log_id == p.log_id)).select(
        "record_id", "rank", "posix_reads", "posix_writes", "posix_bytes_read", "posix_bytes_written", "posix_f_read_time", "posix_f_write_time")


def point_log_id(t, p):
    return t.darshan_log.filter(col.log_id == p.log_id).select("log_path", "job_id", "app", "nprocs", "start_time", "bytes_read", "bytes_written")


def point_jobs(t, p):
    between = col.job_id.is_between(p.job_id, p.job_id_end)
    jobs = t.slurm_job.filter(between & col.last_record).select("job_id", "state")
    return t.darshan_file.filter(between).join(jobs, on="job_id").group_by("job_id", "state").agg(files=pl.len(), bytes_written=col.bytes_written.sum())


def point_record(t, p):
    return t.darshan_file.filter(col.record_id == pl.lit(p.record_id, pl.UInt64)).select("job_id", "log_id", "path", "bytes_read", "bytes_written")


def point_ost_hour(t, p):
    return t.lmt_ost.filter((col.fs == p.fs) & (col.ost == p.ost) & (col.time > moment(p.hour)) & (col.time <= moment(p.hour_end))).select(
        "time", "interval_s", "bytes_read", "bytes_written")


# Samples of LMT.

def of_day(frame, p):
    return frame.filter((col.fs == p.fs) & (col.time > moment(p.day)) & (col.time <= moment(p.day_end)))


def lmt_day(t, p):
    return of_day(t.lmt_ost, p).group_by("ost").agg(
        samples=pl.len(), bytes_read=col.bytes_read.sum(), bytes_written=col.bytes_written.sum(), peak=(col.bytes_written / col.interval_s).max())


def lmt_hours(t, p):
    return t.lmt_ost.group_by("fs", col.time.dt.truncate("1h").alias("hour")).agg(bytes_read=col.bytes_read.sum(), bytes_written=col.bytes_written.sum())


def lmt_busy(t, p):
    return t.lmt_ost.group_by("fs", "ost").agg(
        samples=pl.len(), busy=(col.bytes_written > 1e8 * col.interval_s).sum(), peak=(col.bytes_written / col.interval_s).max())


def lmt_fullest(t, p):
    samples = t.lmt_ost.select("fs", "ost", "time", "bytes_free", "bytes_used")
    return samples.join(samples.group_by("fs", "ost").agg(col.time.max()), on=["fs", "ost", "time"])


def lmt_servers(t, p):
    servers = of_day(t.lmt_oss, p).select("oss", "time", (col.pct_cpu > 50).alias("busy"))
    return of_day(t.lmt_ost, p).join(servers, on=["oss", "time"]).group_by("oss", "busy").agg(samples=pl.len(), bytes_written=col.bytes_written.sum())


def seen(windows):
    """Samples joined to the windows of files that they overlap."""
    return windows.group_by("log_id", "record_id").agg(
        samples=pl.len(), seen=col.bytes_written.sum(), peak=(col.bytes_written / col.interval_s).max())


def lmt_ost_day(t, p):
    files = t.darshan_file.filter(
        (col.fs == p.fs) & (col.write_start_time >= moment(p.day)) & (col.write_end_time < moment(p.day_end)) & col.ost_list.list.contains(p.ost))
    samples = of_day(t.lmt_ost, p).filter(col.ost == p.ost)
    files = files.select("log_id", "record_id", "write_start_time", "write_end_time")
    samples = samples.select("start_time", "time", "bytes_written", "interval_s")
    return seen(files.join_where(samples, col.start_time < col.write_end_time, col.time > col.write_start_time))


def lmt_windows(t, p):
    files = t.darshan_file.filter(
        (col.fs == p.fs) & (col.bytes_written > 0) & (col.write_start_time >= moment(p.hour)) & (col.write_start_time < moment(p.minutes_end))
        & (col.write_end_time < moment(p.day_end)))
    files = files.select("log_id", "record_id", "ost_list", "write_start_time", "write_end_time").explode("ost_list").rename({"ost_list": "file_ost"})
    samples = t.lmt_ost.filter((col.fs == p.fs) & (col.time > moment(p.hour)) & (col.time <= moment(p.day_end)))
    samples = samples.select("ost", "start_time", "time", "bytes_written", "interval_s")
    return seen(files.join_where(samples, col.file_ost == col.ost, col.start_time < col.write_end_time, col.time > col.write_start_time))


# Named queries.

def named_custom_stripe(t, p):
    laid = t.darshan_file.filter(col.stripe_count.is_not_null() & col.fs.is_not_null())
    logs = laid.group_by("log_id", "fs").agg(files=pl.len(), custom_files=((col.stripe_size != 1 << 20) | (col.stripe_count != 1)).sum())
    return logs.group_by("fs").agg(logs=pl.len(), custom_logs=(col.custom_files > 0).sum(), files=col.files.sum(), custom_files=col.custom_files.sum())


def named_top_write(t, p):
    apps = t.darshan_log.group_by("app").agg(logs=pl.len(), users=col.uid.drop_nulls().n_unique(), bytes_written=col.bytes_written.sum())
    whole = col.bytes_written.sum()
    ranked = apps.sort("bytes_written", "app", descending=[True, False])
    return ranked.with_columns(share=col.bytes_written / whole, share_so_far=col.bytes_written.cum_sum() / whole).head(10)


def named_read_ratio(t, p):
    percent = pl.when(col.bytes_read == 0).then(0).otherwise((100.0 * col.bytes_read / col.total_bytes).floor().cast(pl.Int64).clip(1))
    return t.darshan_log.filter(col.total_bytes > 0).group_by(percent=percent).agg(logs=pl.len())


def named_sharing(t, p):
    used = t.darshan_file.filter(~col.is_stream & (col.bytes_read + col.bytes_written > 0))
    known = t.darshan_log.filter(col.nprocs > 1).select("job_id", "log_id", "nprocs")
    every = (col.sharing == "shared") | (pl.max_horizontal("file_nprocs_posix", "file_nprocs_mpiio") >= col.nprocs)
    logs = used.join(known, on=["job_id", "log_id"]).group_by("job_id", "log_id", "nprocs").agg(
        files=pl.len(), shared=every.sum(), own=(col.sharing == "unique").sum())
    kind = pl.when(col.shared == col.files).then(pl.lit("N-1")).when((col.own == col.files) & (col.files >= col.nprocs)).then(pl.lit("N-N")).otherwise(pl.lit("N-M"))
    return logs.group_by(kind.alias("class"), (2.0 ** (col.files / col.nprocs).log(2).floor()).alias("ratio")).agg(logs=pl.len())


def named_middleware(t, p):
    some = lambda kind: pl.sum_horizontal(f"mpiio_{kind}_{what}" for what in ("opens", "reads", "writes")) > 0
    size = pl.when(col.nprocs <= 1).then(pl.lit("one")).when(col.nprocs <= 1024).then(pl.lit("small")).when(col.nprocs <= 8192).then(pl.lit("medium")).otherwise(pl.lit("large"))
    logs = t.darshan_log.filter((col.files > col.streams) & col.nprocs.is_not_null())
    logs = logs.select(size.alias("class"), collective=some("coll"), independent=some("indep"))
    return logs.group_by("class").agg(
        logs=pl.len(), posix=(~col.collective & ~col.independent).sum(), independent=(~col.collective & col.independent).sum(), collective=col.collective.sum())


def named_sequential(t, p):
    requests, counted = col.posix_reads + col.posix_writes, col.posix_consec_reads + col.posix_consec_writes
    return t.darshan_log.filter(requests > 0).group_by(percent=(counted * 100 // requests).clip(upper_bound=100)).agg(logs=pl.len())


def named_ost_count(t, p):
    laid = t.darshan_file.filter(col.ost_list.is_not_null()).select("job_id", "log_id", "fs", "ost_list")
    return laid.group_by("job_id", "log_id", "fs").agg(files=pl.len(), osts=col.ost_list.explode().n_unique())


def named_bin_workload(t, p):
    written = col.bytes_written
    return t.darshan_log.select("job_id", "log_id", "bytes_written", workload=pl.when(written >= 1e10).then(2).when(written >= 1e9).then(1).otherwise(0))
