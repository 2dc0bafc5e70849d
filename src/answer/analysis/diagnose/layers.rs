//! What each layer of a job moved: HDF5 and PnetCDF, MPI-IO, POSIX, STDIO.

use super::job::{Job, Layer, Log, Totals};
use crate::answer::answer::{Block, Cell, Column, Table};
use crate::answer::rows::rows;
use crate::engine::Engine;
use crate::error::Result;
use crate::text::amount::{count, counted, significant, size};

/// The module, the layer, and its columns in the order of [`Layer`].
const BESIDE_FILES: [(&str, &str, &str, [&str; 6]); 3] = [
    (
        "H5D",
        "HDF5 datasets",
        "darshan_h5d",
        [
            "h5d_bytes_read",
            "h5d_bytes_written",
            "h5d_reads",
            "h5d_writes",
            "1",
            "h5d_use_mpiio_collective",
        ],
    ),
    (
        "PNETCDF_VAR",
        "PnetCDF variables",
        "darshan_pnetcdf_var",
        [
            "pnetcdf_var_bytes_read",
            "pnetcdf_var_bytes_written",
            "pnetcdf_var_indep_reads + pnetcdf_var_coll_reads + pnetcdf_var_nb_reads",
            "pnetcdf_var_indep_writes + pnetcdf_var_coll_writes + pnetcdf_var_nb_writes",
            "CAST(NULL AS BIGINT)",
            "CAST(NULL AS BIGINT)",
        ],
    ),
    (
        "STDIO",
        "STDIO",
        "darshan_stdio",
        [
            "stdio_bytes_read",
            "stdio_bytes_written",
            "stdio_reads",
            "stdio_writes",
            "CAST(NULL AS BIGINT)",
            "CAST(NULL AS BIGINT)",
        ],
    ),
];

/// Sums over the records of modules that the logs have, standard streams left out.
///
/// # Errors
/// Those of the lake.
pub(super) async fn gather(engine: &Engine, of_logs: &str, logs: &[Log]) -> Result<Vec<Layer>> {
    let has = |module: &str| {
        let mut logs = logs.iter();
        logs.any(|log| log.modules.iter().any(|has| has == module))
    };
    let asked = BESIDE_FILES.iter().filter(|(module, ..)| has(module));
    let asked = asked.map(|(_, layer, table, [read, written, reads, writes, records, collective])| {
        let files = match *table {
            "darshan_stdio" => format!(
                " AND record_id NOT IN (SELECT record_id FROM darshan_file WHERE {of_logs} AND is_stream)"
            ),
            _ => String::new(),
        };
        format!(
            "SELECT '{layer}' AS layer, sum({read}) AS bytes_read, sum({written}) AS bytes_written, sum({reads}) AS reads, sum({writes}) AS writes, \
             sum({records}) AS records, sum({collective}) AS collective FROM {table} WHERE {of_logs}{files}"
        )
    });
    let asked: Vec<String> = asked.collect();
    match asked.is_empty() {
        true => Ok(vec![]),
        false => rows(engine, &asked.join(" UNION ALL ")).await,
    }
}

/// What the layers moved, where there is more than one of them.
pub(super) fn block(job: &Job) -> Option<Block> {
    let mut table = Table::new(
        "Layers",
        vec![
            Column::new(
                "layer",
                "",
                "",
                "HDF5 datasets, PnetCDF variables, MPI-IO, POSIX or STDIO",
            ),
            Column::new("bytes_read", "bytes read", "B", "Bytes read through it"),
            Column::new(
                "bytes_written",
                "bytes written",
                "B",
                "Bytes written through it",
            ),
            Column::new(
                "calls_read",
                "read calls",
                "",
                "Read calls; of MPI-IO and PnetCDF collective and independent ones",
            ),
            Column::new(
                "calls_written",
                "write calls",
                "",
                "Write calls, in the same way",
            ),
        ],
    );
    let mut push = |layer: &str, [read, written, reads, writes]: [i64; 4]| {
        let calls = |calls: i64| Cell::of(Some(calls as f64), |n| count(n.max(0.0) as u64));
        table.push(vec![
            Cell::text(Some(layer), ""),
            Cell::size(read),
            Cell::size(written),
            calls(reads),
            calls(writes),
        ]);
    };
    let is_stdio = |layer: &&Layer| layer.layer == "STDIO";
    let beside = |layer: &Layer| {
        [
            layer.bytes_read,
            layer.bytes_written,
            layer.reads,
            layer.writes,
        ]
    };
    let mut notes = vec![];
    for layer in job.layers.iter().filter(|layer| !is_stdio(layer)) {
        if beside(layer) == [0; 4] {
            continue;
        }
        push(&layer.layer, beside(layer));
        if let (Some(records), Some(collective)) = (layer.records, layer.collective)
            && records > 0
        {
            notes.push(format!(
                "HDF5: {} of {} use collective MPI-IO",
                count(collective.max(0) as u64),
                counted(records, "dataset", "datasets")
            ));
        }
    }
    let calls = |of: fn(&Totals) -> i64| job.sum(of);
    for (layer, bytes, calls) in [
        (
            "MPI-IO",
            [
                job.known(|t| t.mpiio_bytes_read),
                job.known(|t| t.mpiio_bytes_written),
            ],
            [
                calls(|t| t.coll_read + t.indep_read),
                calls(|t| t.coll_write + t.indep_write),
            ],
        ),
        (
            "POSIX",
            [
                job.known(|t| t.posix_bytes_read),
                job.known(|t| t.posix_bytes_written),
            ],
            [calls(|t| t.requests_read), calls(|t| t.requests_write)],
        ),
    ] {
        if let [Some(read), Some(written)] = bytes {
            push(layer, [read, written, calls[0], calls[1]]);
        }
    }
    for layer in job.layers.iter().filter(is_stdio) {
        if beside(layer) != [0; 4] {
            push("STDIO", beside(layer));
            notes.push("STDIO: without standard input, output and error".into());
        }
    }
    for (done, asked, below) in [
        (
            "read",
            job.known(|t| t.mpiio_bytes_read),
            job.known(|t| t.below_read),
        ),
        (
            "written",
            job.known(|t| t.mpiio_bytes_written),
            job.known(|t| t.below_written),
        ),
    ] {
        // Of files whose records of POSIX are incomplete, or are not read, it is not known.
        if job.sum(|t| t.incomplete) > 0 || job.logs.iter().any(Log::has_unread_modules) {
            continue;
        }
        notes.extend(amplification(done, asked.unwrap_or(0), below.unwrap_or(0)));
    }
    table.notes = notes;
    (table.len() > 1).then_some(Block::Table(table))
}

/// What POSIX moved for what was asked of MPI-IO, in the files that both have; None where it is the same.
fn amplification(done: &str, asked: i64, below: i64) -> Option<String> {
    match (asked, below) {
        (0, 0) => None,
        (0, below) => Some(format!(
            "POSIX moved {} of files that MPI-IO has, and of which it {} nothing",
            size(below.max(0) as u64),
            done
        )),
        (asked, below) => {
            let times = below as f64 / asked as f64;
            let differs = (times - 1.0).abs() >= 0.05;
            differs.then(|| {
                format!(
                    "in the files that MPI-IO has POSIX moved {} bytes for each byte {done} through MPI-IO",
                    significant(times)
                )
            })
        }
    }
}
