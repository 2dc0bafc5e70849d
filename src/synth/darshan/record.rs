//! A file use as Darshan counts it: the records of POSIX, STDIO, MPI-IO and what sits on it.

use crate::source::darshan::counters::{h5d, h5f, mpiio, pnetcdf_file, pnetcdf_var, posix, stdio};
use crate::source::darshan::write::{Extra, Record};
use crate::synth::random::Random;
use crate::synth::workload::{Api, FileUse, Flow, Library};

/// A record with room for a module's counters.
fn empty(file: &FileUse, ints: usize, floats: usize) -> Record {
    Record {
        id: file.id,
        rank: file.rank,
        ints: vec![0; ints],
        floats: vec![0.0; floats],
        extra: Extra::None,
    }
}

/// Darshan's bin of a request size: the upper edges belong to the bin.
fn bin(size: i64) -> usize {
    const EDGES: [i64; 9] = [
        100,
        1024,
        10_240,
        102_400,
        1 << 20,
        4 << 20,
        10 << 20,
        100 << 20,
        1 << 30,
    ];
    EDGES
        .iter()
        .position(|edge| size <= *edge)
        .unwrap_or(EDGES.len())
}

/// Counts requests into the bins from `first` on.
fn count_sizes(ints: &mut [i64], first: usize, sizes: &[(i64, i64)]) {
    for (size, count) in sizes {
        ints[first + bin(*size)] += count;
    }
}

/// The four commonest sizes, and how often: the most frequent first, the larger first among equals.
fn common(sizes: &[(i64, i64)]) -> impl Iterator<Item = (usize, i64, i64)> {
    let mut sizes = sizes.to_vec();
    sizes.sort_by_key(|(size, count)| (-count, -size));
    sizes
        .into_iter()
        .take(4)
        .enumerate()
        .map(|(at, (size, count))| (at, size, count))
}

/// Time of the fastest and the slowest process of a shared record, and the variances, for a mean of `mean` seconds and
/// `bytes` a process, in a window that no process exceeds.
struct Spread {
    fastest: (i64, i64, f64),
    slowest: (i64, i64, f64),
    time_variance: f64,
    bytes_variance: f64,
}

impl Spread {
    /// `slowest` are the seconds of the slowest process where they are given.
    fn new(
        random: &mut Random,
        procs: i64,
        mean: f64,
        longest: f64,
        slowest: Option<f64>,
        bytes: i64,
    ) -> Self {
        let drawn = (mean * random.float(1.01, 1.6)).min(longest);
        let slow = slowest.unwrap_or(drawn);
        let fast = mean * random.float(0.55, 0.99);
        let share = bytes / procs;
        let uneven = if random.chance(0.5) {
            0
        } else {
            (share as f64 * random.float(0.0, 0.2)) as i64
        };
        let (first, second) = (random.int(0, procs), random.int(0, procs));
        Self {
            fastest: (first, share - uneven, fast),
            slowest: (second, share + uneven, slow),
            time_variance: ((slow - fast) / random.float(3.0, 6.0)).powi(2),
            bytes_variance: (uneven as f64 / 2.0).powi(2),
        }
    }
}

fn bytes_of(flow: &Option<Flow>) -> i64 {
    flow.as_ref().map_or(0, |flow| flow.bytes)
}

fn time_of(flow: &Option<Flow>) -> f64 {
    flow.as_ref().map_or(0.0, |flow| flow.time)
}

/// The longest that one process can have spent in a file.
fn longest(file: &FileUse) -> f64 {
    let window = |flow: &Option<Flow>| flow.as_ref().map_or(0.0, |flow| flow.end - flow.start);
    window(&file.read) + window(&file.written) + file.meta / file.procs as f64 * 2.0
}

/// The POSIX record, also of what came through MPI-IO.
pub(crate) fn posix_record(file: &FileUse, random: &mut Random) -> Record {
    use posix as p;
    let mut record = empty(file, p::INTS.len(), p::FLOATS.len());
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    let opens = file.procs
        * if random.chance(0.1) {
            random.int(2, 4)
        } else {
            1
        };
    ints[p::OPENS] = opens;
    ints[p::STATS] = file.procs * random.int(0, 3);
    ints[p::MODE] = 0o664;
    ints[p::MEM_ALIGNMENT] = 8;
    let alignment = if file.layout.is_some() { 1 << 20 } else { 4096 };
    ints[p::FILE_ALIGNMENT] = alignment;
    let mut strides = vec![];
    let mut sizes = vec![];
    if let Some(read) = &file.read {
        ints[p::READS] = read.count();
        ints[p::BYTES_READ] = read.bytes;
        ints[p::MAX_BYTE_READ] = read.extent() - 1;
        ints[p::CONSEC_READS] = read.consecutive;
        ints[p::SEQ_READS] = read.sequential;
        ints[p::MAX_READ_TIME_SIZE] = read.sizes[0].0;
        count_sizes(ints, p::SIZE_READ_0_100, &read.sizes);
        floats[p::F_READ_START_TIMESTAMP] = read.start;
        floats[p::F_READ_END_TIMESTAMP] = read.end;
        floats[p::F_READ_TIME] = read.time;
        floats[p::F_MAX_READ_TIME] = slowest_call(read, random);
        sizes.extend_from_slice(&read.sizes);
        strides.push((read.gap, read.sequential - read.consecutive));
    }
    if let Some(written) = &file.written {
        ints[p::WRITES] = written.count();
        ints[p::BYTES_WRITTEN] = written.bytes;
        ints[p::MAX_BYTE_WRITTEN] = written.extent() - 1;
        ints[p::CONSEC_WRITES] = written.consecutive;
        ints[p::SEQ_WRITES] = written.sequential;
        ints[p::MAX_WRITE_TIME_SIZE] = written.sizes[0].0;
        count_sizes(ints, p::SIZE_WRITE_0_100, &written.sizes);
        floats[p::F_WRITE_START_TIMESTAMP] = written.start;
        floats[p::F_WRITE_END_TIMESTAMP] = written.end;
        floats[p::F_WRITE_TIME] = written.time;
        floats[p::F_MAX_WRITE_TIME] = slowest_call(written, random);
        ints[p::FSYNCS] = if random.chance(0.15) { file.procs } else { 0 };
        for (size, count) in &written.sizes {
            match sizes.iter_mut().find(|(known, _)| known == size) {
                Some((_, known)) => *known += count,
                None => sizes.push((*size, *count)),
            }
        }
        strides.push((written.gap, written.sequential - written.consecutive));
    }
    let requests = ints[p::READS] + ints[p::WRITES];
    if file.read.is_some() && file.written.is_some() {
        ints[p::RW_SWITCHES] = file.procs * random.int(1, 4);
    }
    ints[p::SEEKS] = requests - ints[p::CONSEC_READS] - ints[p::CONSEC_WRITES];
    ints[p::MEM_NOT_ALIGNED] = (requests as f64 * random.unit()) as i64;
    let odd: i64 = sizes
        .iter()
        .filter(|(size, _)| size % alignment != 0)
        .map(|(_, count)| count)
        .sum();
    ints[p::FILE_NOT_ALIGNED] = odd - (odd as f64 * 0.1 * random.unit()) as i64;
    for (at, size, count) in common(&sizes) {
        ints[p::ACCESS1_ACCESS + at] = size;
        ints[p::ACCESS1_COUNT + at] = count;
    }
    strides.retain(|(_, count)| *count > 0);
    for (at, stride, count) in common(&strides) {
        ints[p::STRIDE1_STRIDE + at] = stride;
        ints[p::STRIDE1_COUNT + at] = count;
    }
    floats[p::F_OPEN_START_TIMESTAMP] = file.opened;
    floats[p::F_OPEN_END_TIMESTAMP] =
        file.opened + (file.meta / file.procs as f64).min(0.5 * (file.closed - file.opened));
    floats[p::F_CLOSE_START_TIMESTAMP] = file.closed - random.float(1e-5, 1e-4);
    floats[p::F_CLOSE_END_TIMESTAMP] = file.closed;
    floats[p::F_META_TIME] = file.meta;
    if file.rank < 0 {
        let bytes = ints[p::BYTES_READ] + ints[p::BYTES_WRITTEN];
        let mean = (file.meta + time_of(&file.read) + time_of(&file.written)) / file.procs as f64;
        let spread = Spread::new(random, file.procs, mean, longest(file), file.slowest, bytes);
        (
            ints[p::FASTEST_RANK],
            ints[p::FASTEST_RANK_BYTES],
            floats[p::F_FASTEST_RANK_TIME],
        ) = spread.fastest;
        (
            ints[p::SLOWEST_RANK],
            ints[p::SLOWEST_RANK_BYTES],
            floats[p::F_SLOWEST_RANK_TIME],
        ) = spread.slowest;
        floats[p::F_VARIANCE_RANK_TIME] = spread.time_variance;
        floats[p::F_VARIANCE_RANK_BYTES] = spread.bytes_variance;
    }
    record
}

/// The slowest call of a flow: some times the mean, never more than the window.
fn slowest_call(flow: &Flow, random: &mut Random) -> f64 {
    (flow.time / flow.count() as f64 * random.float(1.5, 12.0)).min(flow.end - flow.start)
}

/// The STDIO record.
pub(crate) fn stdio_record(file: &FileUse, random: &mut Random) -> Record {
    use stdio as s;
    let mut record = empty(file, s::INTS.len(), s::FLOATS.len());
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[s::OPENS] = file.procs;
    if let Some(read) = &file.read {
        ints[s::READS] = read.count();
        ints[s::BYTES_READ] = read.bytes;
        ints[s::MAX_BYTE_READ] = read.bytes - 1;
        floats[s::F_READ_START_TIMESTAMP] = read.start;
        floats[s::F_READ_END_TIMESTAMP] = read.end;
        floats[s::F_READ_TIME] = read.time;
    }
    if let Some(written) = &file.written {
        ints[s::WRITES] = written.count();
        ints[s::BYTES_WRITTEN] = written.bytes;
        ints[s::MAX_BYTE_WRITTEN] = written.bytes - 1;
        ints[s::FLUSHES] = random.int(0, 1 + written.count().min(50));
        floats[s::F_WRITE_START_TIMESTAMP] = written.start;
        floats[s::F_WRITE_END_TIMESTAMP] = written.end;
        floats[s::F_WRITE_TIME] = written.time;
    }
    floats[s::F_META_TIME] = file.meta;
    if !file.path.starts_with('<') {
        floats[s::F_OPEN_START_TIMESTAMP] = file.opened;
        floats[s::F_OPEN_END_TIMESTAMP] = file.opened + file.meta;
        floats[s::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-5;
        floats[s::F_CLOSE_END_TIMESTAMP] = file.closed;
    }
    record
}

/// Requests of an MPI-IO file: `calls` of every process.
fn calls(bytes: i64, procs: i64, calls: i64) -> Vec<(i64, i64)> {
    let count = procs * calls;
    let size = bytes / count;
    let over = bytes - size * count;
    let mut sizes = vec![(size, count - over)];
    if over > 0 {
        sizes.push((size + 1, over));
    }
    sizes
}

/// The MPI-IO record. What each process asked for lies just outside what POSIX did of it in time.
pub(crate) fn mpiio_record(
    file: &FileUse,
    collective: bool,
    each: i64,
    random: &mut Random,
) -> Record {
    use mpiio as m;
    let mut record = empty(file, m::INTS.len(), m::FLOATS.len());
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[if collective {
        m::COLL_OPENS
    } else {
        m::INDEP_OPENS
    }] = file.procs;
    ints[m::MODE] = if file.written.is_some() { 9 } else { 2 };
    ints[m::VIEWS] = if collective { file.procs * each } else { 0 };
    ints[m::HINTS] = if random.chance(0.2) { file.procs } else { 0 };
    let mut time = file.meta;
    let mut both = vec![];
    if let Some(read) = &file.read {
        let sizes = calls(read.bytes, file.procs, each);
        ints[if collective {
            m::COLL_READS
        } else {
            m::INDEP_READS
        }] = file.procs * each;
        ints[m::BYTES_READ] = read.bytes;
        ints[m::MAX_READ_TIME_SIZE] = sizes[0].0;
        count_sizes(ints, m::SIZE_READ_AGG_0_100, &sizes);
        floats[m::F_READ_START_TIMESTAMP] = read.start - 1e-4;
        floats[m::F_READ_END_TIMESTAMP] = read.end + 1e-4;
        floats[m::F_READ_TIME] =
            file.procs as f64 * (read.end - read.start) * random.float(0.7, 0.99);
        floats[m::F_MAX_READ_TIME] = (read.end - read.start) / each as f64;
        time += floats[m::F_READ_TIME];
        both.extend(sizes);
    }
    if let Some(written) = &file.written {
        let sizes = calls(written.bytes, file.procs, each);
        ints[if collective {
            m::COLL_WRITES
        } else {
            m::INDEP_WRITES
        }] = file.procs * each;
        ints[m::BYTES_WRITTEN] = written.bytes;
        ints[m::MAX_WRITE_TIME_SIZE] = sizes[0].0;
        count_sizes(ints, m::SIZE_WRITE_AGG_0_100, &sizes);
        floats[m::F_WRITE_START_TIMESTAMP] = written.start - 1e-4;
        floats[m::F_WRITE_END_TIMESTAMP] = written.end + 1e-4;
        floats[m::F_WRITE_TIME] =
            file.procs as f64 * (written.end - written.start) * random.float(0.7, 0.99);
        floats[m::F_MAX_WRITE_TIME] = (written.end - written.start) / each as f64;
        time += floats[m::F_WRITE_TIME];
        both.extend(sizes);
    }
    for (at, size, count) in common(&both) {
        ints[m::ACCESS1_ACCESS + at] = size;
        ints[m::ACCESS1_COUNT + at] = count;
    }
    floats[m::F_OPEN_START_TIMESTAMP] = file.opened - 1e-4;
    floats[m::F_OPEN_END_TIMESTAMP] = file.opened + file.meta / file.procs as f64;
    floats[m::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-5;
    floats[m::F_CLOSE_END_TIMESTAMP] = file.closed + 1e-4;
    floats[m::F_META_TIME] = file.meta;
    if file.rank < 0 {
        let bytes = ints[m::BYTES_READ] + ints[m::BYTES_WRITTEN];
        let spread = Spread::new(
            random,
            file.procs,
            time / file.procs as f64,
            longest(file),
            None,
            bytes,
        );
        (
            ints[m::FASTEST_RANK],
            ints[m::FASTEST_RANK_BYTES],
            floats[m::F_FASTEST_RANK_TIME],
        ) = spread.fastest;
        (
            ints[m::SLOWEST_RANK],
            ints[m::SLOWEST_RANK_BYTES],
            floats[m::F_SLOWEST_RANK_TIME],
        ) = spread.slowest;
        floats[m::F_VARIANCE_RANK_TIME] = spread.time_variance;
        floats[m::F_VARIANCE_RANK_BYTES] = spread.bytes_variance;
    }
    record
}

/// The H5F record.
pub(crate) fn h5f_record(file: &FileUse, random: &mut Random) -> Record {
    let mut record = empty(file, h5f::INTS.len(), h5f::FLOATS.len());
    record.ints[h5f::OPENS] = file.procs;
    record.ints[h5f::FLUSHES] = file.procs * random.int(0, 2);
    record.ints[h5f::USE_MPIIO] = 1;
    record.floats[h5f::F_OPEN_START_TIMESTAMP] = file.opened - 2e-4;
    record.floats[h5f::F_OPEN_END_TIMESTAMP] = file.opened + file.meta / file.procs as f64;
    record.floats[h5f::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-4;
    record.floats[h5f::F_CLOSE_END_TIMESTAMP] = file.closed + 2e-4;
    record.floats[h5f::F_META_TIME] = file.meta * random.float(1.1, 1.4);
    record
}

/// The H5D record of part `at` of `of` datasets of a file; every process accesses each of them once.
pub(crate) fn h5d_record(
    file: &FileUse,
    id: u64,
    at: i64,
    of: i64,
    collective: bool,
    random: &mut Random,
) -> Record {
    let mut record = empty(file, h5d::INTS.len(), h5d::FLOATS.len());
    record.id = id;
    record.extra = Extra::File(file.id);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[h5d::OPENS] = file.procs;
    ints[h5d::REGULAR_HYPERSLAB_SELECTS] = file.procs;
    ints[h5d::DATASPACE_NDIMS] = 3;
    ints[h5d::DATATYPE_SIZE] = 8;
    ints[h5d::USE_MPIIO_COLLECTIVE] = i64::from(collective);
    let part = |bytes: i64| bytes * (at + 1) / of - bytes * at / of;
    let moment =
        |flow: &Flow, part: i64| flow.start + (flow.end - flow.start) * part as f64 / of as f64;
    for (flow, reads) in [(&file.read, true), (&file.written, false)] {
        let Some(flow) = flow else { continue };
        let bytes = part(flow.bytes);
        let sizes = calls(bytes, file.procs, 1);
        ints[h5d::DATASPACE_NPOINTS] = bytes / 8;
        for (place, size, count) in common(&sizes) {
            // Five lengths and five strides follow each size.
            let slot = h5d::ACCESS1_ACCESS + 11 * place;
            ints[slot] = size;
            ints[slot + 1] = 64;
            ints[slot + 2] = 64;
            ints[slot + 3] = size / 8 / 4096;
            (6..9).for_each(|stride| ints[slot + stride] = 1);
            ints[h5d::ACCESS1_COUNT + place] = count;
        }
        let time = flow.time / of as f64 * random.float(0.9, 1.1);
        let (start, end) = (moment(flow, at), moment(flow, at + 1));
        if reads {
            ints[h5d::READS] = file.procs;
            ints[h5d::BYTES_READ] = bytes;
            ints[h5d::MAX_READ_TIME_SIZE] = sizes[0].0;
            count_sizes(ints, h5d::SIZE_READ_AGG_0_100, &sizes);
            floats[h5d::F_READ_START_TIMESTAMP] = start;
            floats[h5d::F_READ_END_TIMESTAMP] = end;
            floats[h5d::F_READ_TIME] = time;
            floats[h5d::F_MAX_READ_TIME] = end - start;
        } else {
            ints[h5d::WRITES] = file.procs;
            ints[h5d::BYTES_WRITTEN] = bytes;
            ints[h5d::MAX_WRITE_TIME_SIZE] = sizes[0].0;
            count_sizes(ints, h5d::SIZE_WRITE_AGG_0_100, &sizes);
            floats[h5d::F_WRITE_START_TIMESTAMP] = start;
            floats[h5d::F_WRITE_END_TIMESTAMP] = end;
            floats[h5d::F_WRITE_TIME] = time;
            floats[h5d::F_MAX_WRITE_TIME] = end - start;
        }
    }
    floats[h5d::F_OPEN_START_TIMESTAMP] = file.opened;
    floats[h5d::F_OPEN_END_TIMESTAMP] = file.opened + 1e-3;
    floats[h5d::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-4;
    floats[h5d::F_CLOSE_END_TIMESTAMP] = file.closed;
    floats[h5d::F_META_TIME] = file.meta * random.float(0.1, 0.3);
    record
}

/// The PNETCDF_FILE record.
pub(crate) fn pnetcdf_file_record(file: &FileUse, random: &mut Random) -> Record {
    use pnetcdf_file as f;
    let mut record = empty(file, f::INTS.len(), f::FLOATS.len());
    record.ints[if file.written.is_some() {
        f::CREATES
    } else {
        f::OPENS
    }] = file.procs;
    record.ints[f::REDEFS] = if file.written.is_some() {
        file.procs
    } else {
        0
    };
    record.ints[f::BYTES_READ] = bytes_of(&file.read);
    record.ints[f::BYTES_WRITTEN] = bytes_of(&file.written);
    record.floats[f::F_OPEN_START_TIMESTAMP] = file.opened - 2e-4;
    record.floats[f::F_OPEN_END_TIMESTAMP] = file.opened + file.meta / file.procs as f64;
    record.floats[f::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-4;
    record.floats[f::F_CLOSE_END_TIMESTAMP] = file.closed + 2e-4;
    record.floats[f::F_META_TIME] = file.meta * random.float(1.1, 1.4);
    record
}

/// The PNETCDF_VAR record of part `at` of `of` variables of a file.
pub(crate) fn pnetcdf_var_record(
    file: &FileUse,
    id: u64,
    at: i64,
    of: i64,
    collective: bool,
) -> Record {
    use pnetcdf_var as v;
    let mut record = empty(file, v::INTS.len(), v::FLOATS.len());
    record.id = id;
    record.extra = Extra::File(file.id);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[v::OPENS] = file.procs;
    ints[v::NDIMS] = 3;
    ints[v::DATATYPE_SIZE] = 4;
    ints[v::IS_RECORD_VAR] = 1;
    let part = |bytes: i64| bytes * (at + 1) / of - bytes * at / of;
    for (flow, reads) in [(&file.read, true), (&file.written, false)] {
        let Some(flow) = flow else { continue };
        let bytes = part(flow.bytes);
        let sizes = calls(bytes, file.procs, 1);
        ints[v::NPOINTS] = bytes / 4;
        let [calls, moved, bins, kind, start, end, time] = match reads {
            true => [
                if collective {
                    v::COLL_READS
                } else {
                    v::INDEP_READS
                },
                v::BYTES_READ,
                v::SIZE_READ_AGG_0_100,
                v::GET_VARA,
                v::F_READ_START_TIMESTAMP,
                v::F_READ_END_TIMESTAMP,
                v::F_READ_TIME,
            ],
            false => [
                if collective {
                    v::COLL_WRITES
                } else {
                    v::INDEP_WRITES
                },
                v::BYTES_WRITTEN,
                v::SIZE_WRITE_AGG_0_100,
                v::PUT_VARA,
                v::F_WRITE_START_TIMESTAMP,
                v::F_WRITE_END_TIMESTAMP,
                v::F_WRITE_TIME,
            ],
        };
        (ints[calls], ints[moved], ints[kind]) = (file.procs, bytes, file.procs);
        count_sizes(ints, bins, &sizes);
        for (place, size, count) in common(&sizes) {
            ints[v::ACCESS1_ACCESS + 11 * place] = size;
            ints[v::ACCESS1_COUNT + place] = count;
        }
        let length = (flow.end - flow.start) / of as f64;
        floats[start] = flow.start + length * at as f64;
        floats[end] = flow.start + length * (at + 1) as f64;
        floats[time] = flow.time / of as f64;
    }
    floats[v::F_OPEN_START_TIMESTAMP] = file.opened;
    floats[v::F_OPEN_END_TIMESTAMP] = file.opened + 1e-3;
    floats[v::F_CLOSE_START_TIMESTAMP] = file.closed - 1e-4;
    floats[v::F_CLOSE_END_TIMESTAMP] = file.closed;
    record
}

/// Whether a use reached POSIX: everything but STDIO.
pub(crate) fn is_posix(file: &FileUse) -> bool {
    file.api != Api::Stdio
}

/// What a use has above POSIX.
pub(crate) fn mpi(file: &FileUse) -> Option<(bool, Library)> {
    match file.api {
        Api::Mpi {
            collective,
            library,
        } => Some((collective, library)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_edge_of_a_bin_belongs_to_it() {
        assert_eq!(
            [100, 101, 1024, 1025, 1 << 20, 1 << 30, (1 << 30) + 1].map(bin),
            [0, 1, 1, 2, 4, 8, 9]
        );
    }

    #[test]
    fn the_commonest_sizes_come_first_and_the_larger_of_equals() {
        let found: Vec<_> = common(&[(8, 5), (64, 9), (16, 5), (1, 1), (2, 1)]).collect();
        assert_eq!(found, [(0, 64, 9), (1, 16, 5), (2, 8, 5), (3, 2, 1)]);
    }

    #[test]
    fn calls_of_all_processes_sum_to_the_bytes() {
        let sizes = calls(1_000_003, 7, 3);
        assert_eq!(
            sizes.iter().map(|(size, count)| size * count).sum::<i64>(),
            1_000_003
        );
        assert_eq!(sizes.iter().map(|(_, count)| count).sum::<i64>(), 21);
    }
}
