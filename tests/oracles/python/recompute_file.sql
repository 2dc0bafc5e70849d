-- darshan_file from the tables of the modules, after SEMANTICS.md 1 to 3. Layouts, mounts and OSTs are recomputed in recompute.py.

-- One row for each record that says something of a file, with the same names whatever the module.
create or replace table record as
    select 'posix' as module, log_id, record_id, rank,
        posix_bytes_read as bytes_read, posix_bytes_written as bytes_written, posix_reads as reads, posix_writes as writes,
        posix_f_read_time as read_time, posix_f_write_time as write_time, posix_f_meta_time as meta_time,
        posix_f_read_start_timestamp as read_start, posix_f_read_end_timestamp as read_end,
        posix_f_write_start_timestamp as write_start, posix_f_write_end_timestamp as write_end,
        posix_f_max_read_time as max_read_time, posix_f_max_write_time as max_write_time,
        posix_max_byte_read as max_byte_read, posix_max_byte_written as max_byte_written,
        posix_opens as opens, posix_seeks as seeks, if(posix_fsyncs is null and posix_fdsyncs is null, null, coalesce(posix_fsyncs, 0) + coalesce(posix_fdsyncs, 0)) as syncs,
        posix_slowest_rank as slowest_rank, posix_f_slowest_rank_time as slowest_rank_time, posix_slowest_rank_bytes as slowest_rank_bytes,
        posix_fastest_rank as fastest_rank, posix_f_fastest_rank_time as fastest_rank_time, posix_fastest_rank_bytes as fastest_rank_bytes
    from posix
    union all
    select 'stdio', log_id, record_id, rank, stdio_bytes_read, stdio_bytes_written, stdio_reads, stdio_writes,
        stdio_f_read_time, stdio_f_write_time, stdio_f_meta_time, stdio_f_read_start_timestamp, stdio_f_read_end_timestamp,
        stdio_f_write_start_timestamp, stdio_f_write_end_timestamp, null, null, stdio_max_byte_read, stdio_max_byte_written,
        stdio_opens, stdio_seeks, stdio_flushes, stdio_slowest_rank, stdio_f_slowest_rank_time, stdio_slowest_rank_bytes,
        stdio_fastest_rank, stdio_f_fastest_rank_time, stdio_fastest_rank_bytes
    from stdio
    union all
    select 'mpiio', log_id, record_id, rank, mpiio_bytes_read, mpiio_bytes_written,
        coalesce(mpiio_indep_reads, 0) + coalesce(mpiio_coll_reads, 0) + coalesce(mpiio_split_reads, 0) + coalesce(mpiio_nb_reads, 0),
        coalesce(mpiio_indep_writes, 0) + coalesce(mpiio_coll_writes, 0) + coalesce(mpiio_split_writes, 0) + coalesce(mpiio_nb_writes, 0),
        mpiio_f_read_time, mpiio_f_write_time, mpiio_f_meta_time, mpiio_f_read_start_timestamp, mpiio_f_read_end_timestamp,
        mpiio_f_write_start_timestamp, mpiio_f_write_end_timestamp, mpiio_f_max_read_time, mpiio_f_max_write_time, null, null,
        if(mpiio_indep_opens is null and mpiio_coll_opens is null, null, coalesce(mpiio_indep_opens, 0) + coalesce(mpiio_coll_opens, 0)), null, mpiio_syncs, mpiio_slowest_rank, mpiio_f_slowest_rank_time, mpiio_slowest_rank_bytes,
        mpiio_fastest_rank, mpiio_f_fastest_rank_time, mpiio_fastest_rank_bytes
    from mpiio
    union all
    select 'dfs', log_id, record_id, rank, dfs_bytes_read, dfs_bytes_written, coalesce(dfs_reads, 0) + coalesce(dfs_readxs, 0),
        coalesce(dfs_writes, 0) + coalesce(dfs_writexs, 0), dfs_f_read_time, dfs_f_write_time, dfs_f_meta_time,
        dfs_f_read_start_timestamp, dfs_f_read_end_timestamp, dfs_f_write_start_timestamp, dfs_f_write_end_timestamp,
        dfs_f_max_read_time, dfs_f_max_write_time, null, null, if(dfs_opens is null and dfs_global_opens is null, null, coalesce(dfs_opens, 0) + coalesce(dfs_global_opens, 0)), null, null,
        dfs_slowest_rank, dfs_f_slowest_rank_time, dfs_slowest_rank_bytes, dfs_fastest_rank, dfs_f_fastest_rank_time, dfs_fastest_rank_bytes
    from dfs
    union all
    select 'daos', log_id, record_id, rank, daos_bytes_read, daos_bytes_written,
        coalesce(daos_obj_fetches, 0) + coalesce(daos_array_reads, 0) + coalesce(daos_kv_gets, 0),
        coalesce(daos_obj_updates, 0) + coalesce(daos_array_writes, 0) + coalesce(daos_kv_puts, 0),
        daos_f_read_time, daos_f_write_time, daos_f_meta_time,
        daos_f_read_start_timestamp, daos_f_read_end_timestamp, daos_f_write_start_timestamp, daos_f_write_end_timestamp,
        daos_f_max_read_time, daos_f_max_write_time, null, null,
        if(coalesce(daos_obj_opens, daos_array_opens, daos_kv_opens) is null, null, coalesce(daos_obj_opens, 0) + coalesce(daos_array_opens, 0) + coalesce(daos_kv_opens, 0)), null, null,
        daos_slowest_rank, daos_f_slowest_rank_time, daos_slowest_rank_bytes, daos_fastest_rank, daos_f_fastest_rank_time, daos_fastest_rank_bytes
    from daos;

-- What each module says of a file, and how many processes have a record: all when one is shared.
create or replace table by_module as
    select log_id, record_id, module, any_value(greatest(nprocs, 1)) as nprocs, min(rank) < 0 as shared,
        if(min(rank) < 0, any_value(greatest(nprocs, 1)), least(count(distinct rank), any_value(greatest(nprocs, 1)))) as processes,
        coalesce(sum(bytes_read), 0)::bigint as bytes_read, coalesce(sum(bytes_written), 0)::bigint as bytes_written,
        coalesce(sum(reads), 0) + coalesce(sum(writes), 0) as calls
    from record join (select log_id, nprocs from log) using (log_id) group by all;

-- One source for a file. POSIX that lost records gives way to MPI-IO where it has fewer processes and fewer bytes.
create or replace table source as
    with wide as (
        select log_id, record_id, any_value(nprocs) as nprocs,
            bool_or(module = 'posix') as has_posix, bool_or(module = 'stdio') as has_stdio, bool_or(module = 'mpiio') as has_mpiio,
            bool_or(module = 'dfs') as has_dfs,
            coalesce(sum(calls) filter (module in ('posix', 'stdio')), 0) as low_calls,
            coalesce(sum(calls) filter (module = 'mpiio'), 0) as mpiio_calls,
            coalesce(sum(calls) filter (module = 'dfs'), 0) as dfs_calls,
            coalesce(sum(calls) filter (module = 'daos'), 0) as daos_calls,
            coalesce(sum(bytes_read + bytes_written) filter (module in ('posix', 'stdio')), 0) as low_bytes,
            coalesce(sum(bytes_read + bytes_written) filter (module = 'mpiio'), 0) as mpiio_bytes,
            coalesce(max(processes) filter (module = 'posix'), 0) as posix_processes,
            coalesce(max(processes) filter (module = 'mpiio'), 0) as mpiio_processes
        from by_module group by all),
    low as (
        select *, case when has_posix and has_stdio then 'posix+stdio' when has_posix then 'posix' when has_stdio then 'stdio' end as low,
            posix_processes < mpiio_processes and low_bytes < mpiio_bytes
                and (list_contains(partial_modules, 'POSIX') or log_id in (select log_id from module where module = 'POSIX' and status in ('truncated', 'corrupt'))) as posix_incomplete
        from wide join (select log_id, partial_modules from log) using (log_id))
    select log_id, record_id, nprocs, posix_incomplete, posix_processes, mpiio_processes,
        case when posix_incomplete then 'mpiio'
            when low_calls > 0 then low
            when mpiio_calls > 0 then 'mpiio'
            when dfs_calls > 0 then 'dfs'
            when daos_calls > 0 then 'daos'
            else coalesce(low, if(has_mpiio, 'mpiio', null), if(has_dfs, 'dfs', 'daos')) end as bytes_source
    from low;

-- Processes of a file below MPI-IO: POSIX and STDIO together, or DFS and DAOS.
create or replace table below as
    select log_id, record_id, if(min(rank) < 0, any_value(nprocs), least(count(distinct rank), any_value(nprocs))) as processes
    from record join source using (log_id, record_id)
    where if(bytes_source in ('dfs', 'daos'), module in ('dfs', 'daos'), module in ('posix', 'stdio'))
    group by all;

-- Processes that moved bytes by the traces of the level of the source.
create or replace table traced as
    select log_id, record_id,
        count(distinct rank) filter (operation = 'read' and access_length > 0) as readers, bool_or(operation = 'read') as has_reads,
        count(distinct rank) filter (operation = 'write' and access_length > 0) as writers, bool_or(operation = 'write') as has_writes
    from dxt join source using (log_id, record_id)
    where module = if(bytes_source = 'mpiio', 'MPIIO', 'POSIX')
    group by all;

-- Time and bytes of each process over the modules of the source.
create or replace table by_rank as
    select log_id, record_id, rank,
        sum(greatest(coalesce(read_time, 0), 0) + greatest(coalesce(write_time, 0), 0) + greatest(coalesce(meta_time, 0), 0)) as time,
        sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0))::bigint as bytes
    from record join source using (log_id, record_id)
    where list_contains(string_split(bytes_source, '+'), module)
    group by all;

create or replace table extremes as
    with shared as (
        select log_id, record_id,
            first(slowest_rank order by slowest_rank_time desc, module) as slowest_rank, max(slowest_rank_time) as slowest_rank_time,
            first(coalesce(slowest_rank_bytes, 0) order by slowest_rank_time desc, module) as slowest_rank_bytes,
            first(if(fastest_rank_time >= 0, fastest_rank, null) order by slowest_rank_time desc, module) as fastest_rank,
            first(if(fastest_rank_time >= 0 and fastest_rank is not null, fastest_rank_time, null) order by slowest_rank_time desc, module) as fastest_rank_time,
            first(if(fastest_rank_time >= 0 and fastest_rank is not null, coalesce(fastest_rank_bytes, 0), null) order by slowest_rank_time desc, module) as fastest_rank_bytes
        from record join source using (log_id, record_id)
        where list_contains(string_split(bytes_source, '+'), module) and rank < 0 and slowest_rank is not null and slowest_rank_time >= 0
        group by all),
    single as (
        select log_id, record_id,
            first(rank order by time desc, rank) as slowest_rank, max(time) as slowest_rank_time, first(bytes order by time desc, rank) as slowest_rank_bytes,
            first(rank order by time, rank) as fastest_rank, min(time) as fastest_rank_time, first(bytes order by time, rank) as fastest_rank_bytes
        from by_rank group by all having min(rank) >= 0)
    from shared union all from single;

create or replace table used as
    select r.*, s.bytes_source, s.nprocs,
        greatest(coalesce(read_time, 0), 0) + greatest(coalesce(write_time, 0), 0) + greatest(coalesce(meta_time, 0), 0) as all_time
    from record r join source s using (log_id, record_id)
    where list_contains(string_split(bytes_source, '+'), module);

create or replace table file as
    with flows as (
        select log_id, record_id, any_value(bytes_source) as bytes_source, any_value(nprocs) as nprocs,
            min(rank) < 0 as shared, min(rank) >= 0 and min(rank) = max(rank) as is_unique,
            coalesce(sum(bytes_read), 0)::bigint as bytes_read, coalesce(sum(bytes_written), 0)::bigint as bytes_written,
            coalesce(sum(reads), 0)::bigint as reads, coalesce(sum(writes), 0)::bigint as writes,
            fsum(read_time) filter (read_time >= 0) as read_time, fsum(write_time) filter (write_time >= 0) as write_time,
            fsum(meta_time) filter (meta_time >= 0) as meta_time,
            min(read_start) filter (read_start > 0) as read_start, max(read_end) filter (read_end > 0) as read_end,
            min(write_start) filter (write_start > 0) as write_start, max(write_end) filter (write_end > 0) as write_end,
            max(max_read_time) filter (max_read_time >= 0) as max_read_time, max(max_write_time) filter (max_write_time >= 0) as max_write_time,
            sum(opens)::bigint as opens, sum(seeks)::bigint as seeks, sum(syncs)::bigint as syncs,
            if(bool_or(rank < 0) filter (bytes_read > 0) and any_value(nprocs) > 1, null, least(count(distinct rank) filter (bytes_read > 0), any_value(nprocs))) as readers,
            if(bool_or(rank < 0) filter (bytes_written > 0) and any_value(nprocs) > 1, null, least(count(distinct rank) filter (bytes_written > 0), any_value(nprocs))) as writers,
            least(max(read_start + if(rank < 0 and nprocs > 1, if(all_time > 0, greatest(slowest_rank_time, 0) * greatest(read_time, 0) / all_time, 0), greatest(read_time, 0))) filter (read_start > 0), min(read_start) filter (read_start > 0) + fsum(read_time) filter (read_time >= 0)) as read_busy_end,
            least(max(write_start + if(rank < 0 and nprocs > 1, if(all_time > 0, greatest(slowest_rank_time, 0) * greatest(write_time, 0) / all_time, 0), greatest(write_time, 0))) filter (write_start > 0), min(write_start) filter (write_start > 0) + fsum(write_time) filter (write_time >= 0)) as write_busy_end
        from used group by all),
    low as (
        select log_id, record_id,
            max(max_byte_read) filter (bytes_read > 0) as max_byte_read, max(max_byte_written) filter (bytes_written > 0) as max_byte_written
        from record where module in ('posix', 'stdio') group by all),
    requests as (
        select log_id, record_id, sum(posix_reads)::bigint as posix_reads, sum(posix_writes)::bigint as posix_writes,
            sum(posix_size_read_0_100)::bigint as size_read_0_100, sum(posix_size_read_100_1k)::bigint as size_read_100_1k, sum(posix_size_read_1k_10k)::bigint as size_read_1k_10k,
            sum(posix_size_read_10k_100k)::bigint as size_read_10k_100k, sum(posix_size_read_100k_1m)::bigint as size_read_100k_1m, sum(posix_size_read_1m_4m)::bigint as size_read_1m_4m,
            sum(posix_size_read_4m_10m)::bigint as size_read_4m_10m, sum(posix_size_read_10m_100m)::bigint as size_read_10m_100m, sum(posix_size_read_100m_1g)::bigint as size_read_100m_1g,
            sum(posix_size_read_1g_plus)::bigint as size_read_1g_plus,
            sum(posix_size_write_0_100)::bigint as size_write_0_100, sum(posix_size_write_100_1k)::bigint as size_write_100_1k, sum(posix_size_write_1k_10k)::bigint as size_write_1k_10k,
            sum(posix_size_write_10k_100k)::bigint as size_write_10k_100k, sum(posix_size_write_100k_1m)::bigint as size_write_100k_1m, sum(posix_size_write_1m_4m)::bigint as size_write_1m_4m,
            sum(posix_size_write_4m_10m)::bigint as size_write_4m_10m, sum(posix_size_write_10m_100m)::bigint as size_write_10m_100m, sum(posix_size_write_100m_1g)::bigint as size_write_100m_1g,
            sum(posix_size_write_1g_plus)::bigint as size_write_1g_plus,
            sum(posix_seq_reads)::bigint as seq_reads, sum(posix_seq_writes)::bigint as seq_writes, sum(posix_consec_reads)::bigint as consec_reads, sum(posix_consec_writes)::bigint as consec_writes,
            if(min(rank) < 0 and any_value(nprocs) > 1, null, count(*) filter (posix_reads > 0)) as first_reads,
            if(min(rank) < 0 and any_value(nprocs) > 1, null, count(*) filter (posix_writes > 0)) as first_writes,
            sum(posix_rw_switches)::bigint as rw_switches, sum(posix_file_not_aligned)::bigint as not_aligned, max(posix_file_alignment) as file_alignment
        from posix join (select log_id, nprocs from log) using (log_id) group by all),
    collective as (
        select log_id, record_id, sum(mpiio_indep_opens)::bigint as mpiio_indep_opens, sum(mpiio_coll_opens)::bigint as mpiio_coll_opens,
            sum(mpiio_indep_reads)::bigint as mpiio_indep_reads, sum(mpiio_indep_writes)::bigint as mpiio_indep_writes,
            sum(mpiio_coll_reads)::bigint as mpiio_coll_reads, sum(mpiio_coll_writes)::bigint as mpiio_coll_writes
        from mpiio group by all),
    -- POSIX requests are shares of nothing where POSIX is not the source.
    asked as (from requests semi join source on source.log_id = requests.log_id and source.record_id = requests.record_id and bytes_source like 'posix%'),
    posix_sums as (select log_id, record_id, sum(posix_filenos) as filenos, sum(posix_stats)::bigint as stats from posix group by all),
    dfs_stats as (select log_id, record_id, sum(dfs_stats)::bigint as dfs_stats from dfs group by all),
    joined as (
        select f.* exclude (readers, writers, read_start, read_end, write_start, write_end), s.posix_incomplete,
            -- A window needs both ends.
            if(read_end is null, null, read_start) as read_start, if(read_start is null, null, read_end) as read_end,
            if(write_end is null, null, write_start) as write_start, if(write_start is null, null, write_end) as write_end,
            coalesce(f.readers, if(t.has_reads, t.readers, null)) as readers, coalesce(f.writers, if(t.has_writes, t.writers, null)) as writers,
            coalesce(b.processes, 0) as file_nprocs_posix, coalesce(s.mpiio_processes, 0) as file_nprocs_mpiio,
            if(f.bytes_source = 'mpiio', coalesce(s.mpiio_processes, 0), coalesce(b.processes, 0)) as upper_bound,
            p.bytes_read as posix_bytes_read, p.bytes_written as posix_bytes_written, d.bytes_read as stdio_bytes_read, d.bytes_written as stdio_bytes_written,
            m.bytes_read as mpiio_bytes_read, m.bytes_written as mpiio_bytes_written, o.filenos, r.* exclude (log_id, record_id),
            if(f.bytes_source = 'dfs', dfs_stats, o.stats) as stats, c.* exclude (log_id, record_id), l.max_byte_read, l.max_byte_written,
            e.* exclude (log_id, record_id)
        from flows f join source s using (log_id, record_id)
            left join below b using (log_id, record_id)
            left join low l using (log_id, record_id)
            left join asked r using (log_id, record_id)
            left join posix_sums o using (log_id, record_id)
            left join collective c using (log_id, record_id)
            left join dfs_stats using (log_id, record_id)
            left join traced t using (log_id, record_id)
            left join extremes e using (log_id, record_id)
            left join (from by_module where module = 'posix') p using (log_id, record_id)
            left join (from by_module where module = 'stdio') d using (log_id, record_id)
            left join (from by_module where module = 'mpiio') m using (log_id, record_id))
    select j.* exclude (nprocs, is_unique, filenos, upper_bound),
        log.job_id,
        record_id in (14734109647742566553, 15920181672442173319, 7238257241479193519) as is_stream,
        case when shared then 'shared' when is_unique then 'unique' else 'part_shared' end as sharing,
        coalesce(filenos > 0 and (posix_bytes_read > 0 and stdio_bytes_read > 0 or posix_bytes_written > 0 and stdio_bytes_written > 0), false) as may_overlap,
        if(bytes_source != 'mpiio' and mpiio_bytes_read > 0, posix_bytes_read / mpiio_bytes_read, null) as amplification_read,
        if(bytes_source != 'mpiio' and mpiio_bytes_written > 0, posix_bytes_written / mpiio_bytes_written, null) as amplification_write,
        if(bytes_source != 'mpiio', posix_bytes_read - mpiio_bytes_read, null) as extra_read,
        if(bytes_source != 'mpiio', posix_bytes_written - mpiio_bytes_written, null) as extra_written,
        if(read_end > read_start, read_time / (if(readers > 0, readers, upper_bound) * (read_end - read_start)), null) as read_busy,
        if(write_end > write_start, write_time / (if(writers > 0, writers, upper_bound) * (write_end - write_start)), null) as write_busy,
        coalesce(read_busy > 1, false) or coalesce(write_busy > 1, false) as sync_outside_window,
        epoch_us(log.start_time) + round(read_start * 1e6)::bigint as read_start_time, epoch_us(log.start_time) + round(read_end * 1e6)::bigint as read_end_time,
        epoch_us(log.start_time) + round(write_start * 1e6)::bigint as write_start_time, epoch_us(log.start_time) + round(write_end * 1e6)::bigint as write_end_time
    from joined j join (select log_id, job_id, start_time from log) log using (log_id);
