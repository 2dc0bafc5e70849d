-- darshan_log from the table file of recompute_file.sql and the tables of the modules, after SEMANTICS.md 1 and 2.

create or replace table windows as
    select log_id, 'read' as direction, read_start as first, read_end as last from file where not is_stream and bytes_read > 0 and read_start is not null
    union all
    select log_id, 'write', write_start, write_end from file where not is_stream and bytes_written > 0 and write_start is not null;

-- Length of the union of closed intervals: what each adds beyond the furthest end before it.
create or replace macro union_length(directions) as table
    select log_id, fsum(greatest(0, last - greatest(first, coalesce(reached, first)))) as seconds
    from (select log_id, first, last, max(last) over (partition by log_id order by first, last rows between unbounded preceding and 1 preceding) as reached
          from windows where list_contains(directions, direction))
    group by log_id;

-- total_bytes and agg_time_by_slowest of darshan-parser: the slowest process's own records, and the slowest of each shared one.
create or replace table by_slowest as
    with own as (
        select log_id, module, rank, sum(coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0)) as seconds
        from record where rank >= 0 group by all),
    slowest as (select log_id, module, greatest(max(seconds), 0) as seconds from own group by all),
    shared as (select log_id, module, sum(slowest_rank_time) as seconds from record where rank < 0 group by all),
    totals as (select log_id, module, (coalesce(sum(bytes_read), 0) + coalesce(sum(bytes_written), 0))::bigint as bytes from record group by all)
    select t.log_id, t.module, t.bytes, coalesce(o.seconds, 0) + coalesce(s.seconds, 0) as seconds,
        if(coalesce(o.seconds, 0) + coalesce(s.seconds, 0) = 0, 0, t.bytes / 1048576 / (coalesce(o.seconds, 0) + coalesce(s.seconds, 0))) as mib_s
    from totals t left join slowest o using (log_id, module) left join shared s using (log_id, module);

-- The same in each direction, over the sources of the files that moved bytes in it: of a shared record the slowest process's time, as far
-- as it is that direction's.
create or replace table directed as
    with times as (
        select u.log_id, u.rank < 0 and u.nprocs > 1 as reduced, greatest(u.rank, 0) as process, direction,
            if(u.rank < 0 and u.nprocs > 1, if(all_time > 0, greatest(u.slowest_rank_time, 0) * time / all_time, 0), time) as seconds
        from (select *, 'read' as direction, greatest(coalesce(read_time, 0), 0) as time from used
              union all select *, 'write', greatest(coalesce(write_time, 0), 0) from used) u
            join file f on f.log_id = u.log_id and f.record_id = u.record_id
        where not f.is_stream and if(direction = 'read', f.bytes_read, f.bytes_written) > 0),
    own as (select log_id, direction, process, fsum(seconds) as seconds from times where not reduced group by all),
    each as (
        select log_id, direction, max(seconds) as seconds from own group by all
        union all select log_id, direction, fsum(seconds) from times where reduced group by all)
    select log_id, nullif(sum(seconds) filter (direction = 'read'), 0) as read_seconds, nullif(sum(seconds) filter (direction = 'write'), 0) as write_seconds
    from each group by log_id;

create or replace table log_again as
    with files as (
        select log_id, count(*) as files, count(*) filter (is_stream) as streams,
            count(*) filter (not is_stream and sharing = 'shared') as files_shared,
            count(*) filter (not is_stream and sharing = 'part_shared') as files_part_shared,
            count(*) filter (not is_stream and sharing = 'unique') as files_unique,
            count(*) filter (not is_stream and bytes_read > 0 and bytes_written = 0) as files_read_only,
            count(*) filter (not is_stream and bytes_read = 0 and bytes_written > 0) as files_write_only,
            count(*) filter (not is_stream and bytes_read > 0 and bytes_written > 0) as files_read_write,
            sum(bytes_read)::bigint as bytes_read, sum(bytes_written)::bigint as bytes_written,
            coalesce(sum(bytes_read) filter (is_stream), 0)::bigint as bytes_read_streams,
            coalesce(sum(bytes_written) filter (is_stream), 0)::bigint as bytes_written_streams,
            sum(reads)::bigint as reads, sum(writes)::bigint as writes,
            fsum(read_time) as read_time, fsum(write_time) as write_time, fsum(meta_time) as meta_time
        from file group by log_id),
    spans as (
        select log_id, count(*) filter (direction = 'read') as read_files, count(*) filter (direction = 'write') as write_files,
            min(first) filter (direction = 'read') as read_start, max(last) filter (direction = 'read') as read_end,
            min(first) filter (direction = 'write') as write_start, max(last) filter (direction = 'write') as write_end
        from windows group by log_id),
    p as (
        select log_id, coalesce(sum(posix_bytes_read), 0)::bigint as posix_bytes_read, coalesce(sum(posix_bytes_written), 0)::bigint as posix_bytes_written,
            coalesce(sum(posix_opens), 0)::bigint as posix_opens, coalesce(sum(posix_stats), 0)::bigint as posix_stats, coalesce(sum(posix_seeks), 0)::bigint as posix_seeks,
            (coalesce(sum(posix_fsyncs), 0) + coalesce(sum(posix_fdsyncs), 0))::bigint as posix_fsyncs,
            coalesce(sum(posix_reads), 0)::bigint as posix_reads, coalesce(sum(posix_writes), 0)::bigint as posix_writes,
            coalesce(sum(posix_seq_reads), 0)::bigint as posix_seq_reads, coalesce(sum(posix_seq_writes), 0)::bigint as posix_seq_writes,
            coalesce(sum(posix_consec_reads), 0)::bigint as posix_consec_reads, coalesce(sum(posix_consec_writes), 0)::bigint as posix_consec_writes,
            coalesce(sum(posix_size_read_0_100), 0)::bigint as size_read_0_100, coalesce(sum(posix_size_read_100_1k), 0)::bigint as size_read_100_1k,
            coalesce(sum(posix_size_read_1k_10k), 0)::bigint as size_read_1k_10k, coalesce(sum(posix_size_read_10k_100k), 0)::bigint as size_read_10k_100k,
            coalesce(sum(posix_size_read_100k_1m), 0)::bigint as size_read_100k_1m, coalesce(sum(posix_size_read_1m_4m), 0)::bigint as size_read_1m_4m,
            coalesce(sum(posix_size_read_4m_10m), 0)::bigint as size_read_4m_10m, coalesce(sum(posix_size_read_10m_100m), 0)::bigint as size_read_10m_100m,
            coalesce(sum(posix_size_read_100m_1g), 0)::bigint as size_read_100m_1g, coalesce(sum(posix_size_read_1g_plus), 0)::bigint as size_read_1g_plus,
            coalesce(sum(posix_size_write_0_100), 0)::bigint as size_write_0_100, coalesce(sum(posix_size_write_100_1k), 0)::bigint as size_write_100_1k,
            coalesce(sum(posix_size_write_1k_10k), 0)::bigint as size_write_1k_10k, coalesce(sum(posix_size_write_10k_100k), 0)::bigint as size_write_10k_100k,
            coalesce(sum(posix_size_write_100k_1m), 0)::bigint as size_write_100k_1m, coalesce(sum(posix_size_write_1m_4m), 0)::bigint as size_write_1m_4m,
            coalesce(sum(posix_size_write_4m_10m), 0)::bigint as size_write_4m_10m, coalesce(sum(posix_size_write_10m_100m), 0)::bigint as size_write_10m_100m,
            coalesce(sum(posix_size_write_100m_1g), 0)::bigint as size_write_100m_1g, coalesce(sum(posix_size_write_1g_plus), 0)::bigint as size_write_1g_plus
        from posix group by log_id),
    s as (
        select log_id, coalesce(sum(stdio_bytes_read), 0)::bigint as stdio_bytes_read, coalesce(sum(stdio_bytes_written), 0)::bigint as stdio_bytes_written,
            coalesce(sum(stdio_opens), 0)::bigint as stdio_opens, coalesce(sum(stdio_reads), 0)::bigint as stdio_reads, coalesce(sum(stdio_writes), 0)::bigint as stdio_writes
        from stdio group by log_id),
    m as (
        select log_id, coalesce(sum(mpiio_bytes_read), 0)::bigint as mpiio_bytes_read, coalesce(sum(mpiio_bytes_written), 0)::bigint as mpiio_bytes_written,
            coalesce(sum(mpiio_indep_opens), 0)::bigint as mpiio_indep_opens, coalesce(sum(mpiio_indep_reads), 0)::bigint as mpiio_indep_reads,
            coalesce(sum(mpiio_indep_writes), 0)::bigint as mpiio_indep_writes, coalesce(sum(mpiio_coll_opens), 0)::bigint as mpiio_coll_opens,
            coalesce(sum(mpiio_coll_reads), 0)::bigint as mpiio_coll_reads, coalesce(sum(mpiio_coll_writes), 0)::bigint as mpiio_coll_writes
        from mpiio group by log_id),
    d as (select log_id, coalesce(sum(dfs_bytes_read), 0)::bigint as dfs_bytes_read, coalesce(sum(dfs_bytes_written), 0)::bigint as dfs_bytes_written from dfs group by log_id),
    o as (select log_id, coalesce(sum(daos_bytes_read), 0)::bigint as daos_bytes_read, coalesce(sum(daos_bytes_written), 0)::bigint as daos_bytes_written from daos group by log_id),
    slow as (
        pivot by_slowest on module in ('posix', 'mpiio', 'stdio', 'dfs', 'daos')
        using first(bytes) as total_bytes, first(seconds) as agg_time_by_slowest, first(mib_s) as agg_perf_by_slowest_mib_s group by log_id)
    select log.log_id, coalesce(files, 0) as files, coalesce(streams, 0) as streams, coalesce(files_shared, 0) as files_shared, coalesce(files_part_shared, 0) as files_part_shared,
        coalesce(files_unique, 0) as files_unique, coalesce(files_read_only, 0) as files_read_only, coalesce(files_write_only, 0) as files_write_only,
        coalesce(files_read_write, 0) as files_read_write, coalesce(f.bytes_read, 0) as bytes_read, coalesce(f.bytes_written, 0) as bytes_written,
        coalesce(bytes_read_streams, 0) as bytes_read_streams, coalesce(bytes_written_streams, 0) as bytes_written_streams,
        coalesce(f.bytes_read + f.bytes_written, 0) as total_bytes, coalesce(reads, 0) as reads, coalesce(writes, 0) as writes, read_time, write_time, meta_time,
        p.* exclude (log_id), s.* exclude (log_id), m.* exclude (log_id), d.* exclude (log_id), o.* exclude (log_id), slow.* exclude (log_id),
        coalesce(read_files, 0) as read_files, coalesce(write_files, 0) as write_files, read_start, read_end, write_start, write_end,
        epoch_us(start_time) + round(read_start * 1e6)::bigint as read_start_time, epoch_us(start_time) + round(read_end * 1e6)::bigint as read_end_time,
        epoch_us(start_time) + round(write_start * 1e6)::bigint as write_start_time, epoch_us(start_time) + round(write_end * 1e6)::bigint as write_end_time,
        r.seconds as critical_read_time, w.seconds as critical_write_time, b.seconds as critical_io_time,
        if(read_end > read_start, (f.bytes_read - bytes_read_streams) / (read_end - read_start), null) as read_bw_span,
        if(write_end > write_start, (f.bytes_written - bytes_written_streams) / (write_end - write_start), null) as write_bw_span,
        if(r.seconds > 0, (f.bytes_read - bytes_read_streams) / r.seconds, null) as read_bw_critical,
        if(w.seconds > 0, (f.bytes_written - bytes_written_streams) / w.seconds, null) as write_bw_critical,
        read_seconds as read_time_by_slowest, write_seconds as write_time_by_slowest,
        (f.bytes_read - bytes_read_streams) / read_seconds as read_bw_slowest_rank,
        (f.bytes_written - bytes_written_streams) / write_seconds as write_bw_slowest_rank
    from (select log_id, start_time from log) log
        left join files f using (log_id) left join spans using (log_id) left join p using (log_id) left join s using (log_id) left join m using (log_id)
        left join d using (log_id) left join o using (log_id) left join slow using (log_id) left join directed using (log_id)
        left join union_length(['read']) r using (log_id) left join union_length(['write']) w using (log_id) left join union_length(['read', 'write']) b using (log_id);
