//! A file use as Darshan counts it: the records of POSIX, STDIO, MPI-IO and what sits on it.
//!
//! In all modules but STDIO the counter of writes lies behind that of reads, so that `SOMETHING_READ + side` is the counter of
//! a direction: `side` is 0 for reads and 1 for writes.

use crate::math::random::Random;
use crate::source::darshan::counters::{h5d, h5f, mpiio, pnetcdf_file, pnetcdf_var, posix, stdio};
use crate::source::darshan::write::{Extra, Record};
use crate::synth::workload::{FileUse, Transfer, add_size, share};

/// A dataset or variable of a file; every process accesses it once.
pub(crate) struct Part {
    pub(crate) id: u64,
    /// Its number, and how many there are.
    pub(crate) at: i64,
    pub(crate) of: i64,
    pub(crate) collective: bool,
}

/// The POSIX record, also of what came through MPI-IO.
pub(crate) fn posix(file: &FileUse, random: &mut Random) -> Record {
    use posix as p;
    let mut record = empty(file, p::INTS, p::FLOATS);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[p::OPENS] = match random.chance(0.1) {
        true => file.procs * random.int(2, 4),
        false => file.procs,
    };
    ints[p::STATS] = file.procs * random.int(0, 3);
    ints[p::MODE] = 0o664;
    ints[p::MEM_ALIGNMENT] = 8;
    let alignment = if file.layout.is_some() { 1 << 20 } else { 4096 };
    ints[p::FILE_ALIGNMENT] = alignment;
    let (mut strides, mut sizes) = (vec![], vec![]);
    for (side, moved) in sides(file) {
        ints[p::READS + side] = moved.count();
        ints[p::BYTES_READ + side] = moved.bytes;
        ints[p::MAX_BYTE_READ + side] = (moved.extent() - 1).max(0);
        ints[p::CONSEC_READS + side] = moved.consecutive;
        ints[p::SEQ_READS + side] = moved.sequential;
        ints[p::MAX_READ_TIME_SIZE + side] = moved.sizes[0].0;
        count_sizes(ints, p::SIZE_READ_0_100 + 10 * side, &moved.sizes);
        // The slowest call: some times the mean, never more than the window.
        let call = moved.time / moved.count() as f64 * random.float(1.5, 12.0);
        let call = call.min(moved.window());
        set_moved(floats, side, [moved.start, moved.end, moved.time, call]);
        if side == 1 && random.chance(0.15) {
            ints[p::FSYNCS] = file.procs;
        }
        (moved.sizes.iter()).for_each(|(size, count)| add_size(&mut sizes, *size, *count));
        strides.push((moved.gap, moved.sequential - moved.consecutive));
    }
    let requests = ints[p::READS] + ints[p::WRITES];
    if file.both().count() == 2 {
        ints[p::RW_SWITCHES] = file.procs * random.int(1, 4);
    }
    ints[p::SEEKS] = requests - ints[p::CONSEC_READS] - ints[p::CONSEC_WRITES];
    ints[p::MEM_NOT_ALIGNED] = (requests as f64 * random.unit()) as i64;
    let odd = sizes.iter().filter(|(size, _)| size % alignment != 0);
    let odd: i64 = odd.map(|(_, count)| count).sum();
    ints[p::FILE_NOT_ALIGNED] = odd - (odd as f64 * 0.1 * random.unit()) as i64;
    set_common(ints, [p::ACCESS1_ACCESS, p::ACCESS1_COUNT], 1, &sizes);
    strides.retain(|(_, count)| *count > 0);
    set_common(ints, [p::STRIDE1_STRIDE, p::STRIDE1_COUNT], 1, &strides);
    let opening = (file.meta / file.procs as f64).min(0.5 * (file.closed - file.opened));
    let closing = random.float(1e-5, 1e-4);
    let (opened, closed) = (file.opened, file.closed);
    set_open(floats, [opened, opened + opening, closed - closing, closed]);
    floats[p::F_META_TIME] = file.meta;
    let bytes = ints[p::BYTES_READ] + ints[p::BYTES_WRITTEN];
    let time = (file.both()).fold(file.meta, |sum, moved| sum + moved.time);
    let sums = (time, file.slowest, bytes);
    set_ranks(&mut record, p::FASTEST_RANK, file, sums, random);
    record
}

/// The STDIO record.
pub(crate) fn stdio(file: &FileUse, random: &mut Random) -> Record {
    use stdio as s;
    let mut record = empty(file, s::INTS, s::FLOATS);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[s::OPENS] = file.procs;
    for (side, moved) in sides(file) {
        // Reads lie behind writes here, but for their numbers.
        let turned = 1 - side;
        ints[s::READS + side] = moved.count();
        ints[s::BYTES_WRITTEN + turned] = moved.bytes;
        ints[s::MAX_BYTE_READ + side] = moved.bytes - 1;
        floats[s::F_WRITE_START_TIMESTAMP + turned] = moved.start;
        floats[s::F_WRITE_END_TIMESTAMP + turned] = moved.end;
        floats[s::F_WRITE_TIME + turned] = moved.time;
        if side == 1 {
            ints[s::FLUSHES] = random.int(0, 1 + moved.count().min(50));
        }
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

/// The MPI-IO record of `each` calls of every process. What each process asked for lies just outside what POSIX did of it in time.
pub(crate) fn mpiio(file: &FileUse, collective: bool, each: i64, random: &mut Random) -> Record {
    use mpiio as m;
    let mut record = empty(file, m::INTS, m::FLOATS);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    let procs = file.procs as f64;
    let (opens, calls_of) = match collective {
        true => (m::COLL_OPENS, m::COLL_READS),
        false => (m::INDEP_OPENS, m::INDEP_READS),
    };
    ints[opens] = file.procs;
    ints[m::MODE] = if file.written().is_some() { 9 } else { 2 };
    ints[m::VIEWS] = if collective { file.procs * each } else { 0 };
    ints[m::HINTS] = if random.chance(0.2) { file.procs } else { 0 };
    let mut time = file.meta;
    let mut both = vec![];
    let asked = |side: &usize| !(file.sieved && *side == 0);
    for (side, moved) in sides(file).filter(|(side, _)| asked(side)) {
        let sizes = calls(moved.bytes, file.procs, each);
        ints[calls_of + side] = file.procs * each;
        ints[m::BYTES_READ + side] = moved.bytes;
        ints[m::MAX_READ_TIME_SIZE + side] = sizes[0].0;
        count_sizes(ints, m::SIZE_READ_AGG_0_100 + 10 * side, &sizes);
        let spent = procs * moved.window() * random.float(0.7, 0.99);
        let call = moved.window() / each as f64;
        let (start, end) = (moved.start - 1e-4, moved.end + 1e-4);
        set_moved(floats, side, [start, end, spent, call]);
        time += spent;
        both.extend(sizes);
    }
    set_common(ints, [m::ACCESS1_ACCESS, m::ACCESS1_COUNT], 1, &both);
    let (before, opened) = (file.opened - 1e-4, file.opened + file.meta / procs);
    let (closing, after) = (file.closed - 1e-5, file.closed + 1e-4);
    set_open(floats, [before, opened, closing, after]);
    floats[m::F_META_TIME] = file.meta;
    let bytes = ints[m::BYTES_READ] + ints[m::BYTES_WRITTEN];
    let sums = (time, None, bytes);
    set_ranks(&mut record, m::FASTEST_RANK, file, sums, random);
    record
}

/// The H5F record.
pub(crate) fn h5f(file: &FileUse, random: &mut Random) -> Record {
    let mut record = empty(file, h5f::INTS, h5f::FLOATS);
    record.ints[h5f::OPENS] = file.procs;
    record.ints[h5f::FLUSHES] = file.procs * random.int(0, 2);
    record.ints[h5f::USE_MPIIO] = 1;
    let opened = [h5f::F_OPEN_START_TIMESTAMP, h5f::F_OPEN_END_TIMESTAMP];
    library_times(file, &mut record.floats, opened);
    record.floats[h5f::F_META_TIME] = file.meta * random.float(1.1, 1.4);
    record
}

/// The PNETCDF_FILE record.
pub(crate) fn pnetcdf_file(file: &FileUse, random: &mut Random) -> Record {
    use pnetcdf_file as f;
    let mut record = empty(file, f::INTS, f::FLOATS);
    match file.written() {
        Some(_) => (record.ints[f::CREATES], record.ints[f::REDEFS]) = (file.procs, file.procs),
        None => record.ints[f::OPENS] = file.procs,
    }
    for (side, moved) in sides(file) {
        record.ints[f::BYTES_READ + side] = moved.bytes;
    }
    let opened = [f::F_OPEN_START_TIMESTAMP, f::F_OPEN_END_TIMESTAMP];
    library_times(file, &mut record.floats, opened);
    record.floats[f::F_META_TIME] = file.meta * random.float(1.1, 1.4);
    record
}

/// The H5D record of a dataset.
pub(crate) fn h5d(file: &FileUse, part: &Part, random: &mut Random) -> Record {
    let mut record = part_record(file, part, h5d::INTS, h5d::FLOATS);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[h5d::OPENS] = file.procs;
    ints[h5d::REGULAR_HYPERSLAB_SELECTS] = file.procs;
    ints[h5d::DATASPACE_NDIMS] = 3;
    ints[h5d::DATATYPE_SIZE] = 8;
    ints[h5d::USE_MPIIO_COLLECTIVE] = i64::from(part.collective);
    for (side, moved) in sides(file) {
        let bytes = share(moved.bytes, part.at, part.of);
        let sizes = calls(bytes, file.procs, 1);
        ints[h5d::DATASPACE_NPOINTS] = bytes / 8;
        set_common(ints, [h5d::ACCESS1_ACCESS, h5d::ACCESS1_COUNT], 11, &sizes);
        for place in 0..sizes.len() {
            // Five lengths and five strides follow each size.
            let slot = h5d::ACCESS1_ACCESS + 11 * place;
            let lengths = [64, 64, ints[slot] / 8 / 4096];
            ints[slot + 1..slot + 4].copy_from_slice(&lengths);
            ints[slot + 6..slot + 9].fill(1);
        }
        let moment = |at: i64| moved.start + (moved.end - moved.start) * at as f64 / part.of as f64;
        let (start, end) = (moment(part.at), moment(part.at + 1));
        ints[h5d::READS + side] = file.procs;
        ints[h5d::BYTES_READ + side] = bytes;
        ints[h5d::MAX_READ_TIME_SIZE + side] = sizes[0].0;
        count_sizes(ints, h5d::SIZE_READ_AGG_0_100 + 10 * side, &sizes);
        let time = moved.time / part.of as f64 * random.float(0.9, 1.1);
        set_moved(floats, side, [start, end, time, end - start]);
    }
    part_times(file, floats);
    floats[h5d::F_META_TIME] = file.meta * random.float(0.1, 0.3);
    record
}

/// The PNETCDF_VAR record of a variable.
pub(crate) fn pnetcdf_var(file: &FileUse, part: &Part) -> Record {
    use pnetcdf_var as v;
    let mut record = part_record(file, part, v::INTS, v::FLOATS);
    let (ints, floats) = (&mut record.ints, &mut record.floats);
    ints[v::OPENS] = file.procs;
    ints[v::NDIMS] = 3;
    ints[v::DATATYPE_SIZE] = 4;
    ints[v::IS_RECORD_VAR] = 1;
    let calls_of = [v::INDEP_READS, v::COLL_READS][usize::from(part.collective)];
    for (side, moved) in sides(file) {
        let bytes = share(moved.bytes, part.at, part.of);
        let sizes = calls(bytes, file.procs, 1);
        ints[v::NPOINTS] = bytes / 4;
        ints[calls_of + side] = file.procs;
        ints[v::BYTES_READ + side] = bytes;
        ints[[v::GET_VARA, v::PUT_VARA][side]] = file.procs;
        count_sizes(ints, v::SIZE_READ_AGG_0_100 + 10 * side, &sizes);
        set_common(ints, [v::ACCESS1_ACCESS, v::ACCESS1_COUNT], 11, &sizes);
        let length = moved.window() / part.of as f64;
        let moment = |at: i64| moved.start + length * at as f64;
        let (start, end) = (moment(part.at), moment(part.at + 1));
        set_moved(floats, side, [start, end, moved.time / part.of as f64, 0.0]);
    }
    part_times(file, floats);
    record
}

/// Sets the fastest and the slowest process of a shared record, their bytes and times, and the variances, for a sum of
/// `time` seconds and `bytes` of all processes; no process exceeds the window. The seconds of the slowest one may be
/// given. `at` is the counter of the fastest one; the times have the same places in POSIX and MPI-IO.
fn set_ranks(
    record: &mut Record,
    at: usize,
    file: &FileUse,
    (time, slowest, bytes): (f64, Option<f64>, i64),
    random: &mut Random,
) {
    if file.rank >= 0 {
        return;
    }
    let mean = time / file.procs as f64;
    let windows: f64 = file.both().map(Transfer::window).sum();
    let longest = windows + file.meta / file.procs as f64 * 2.0;
    let drawn = (mean * random.float(1.01, 1.6)).min(longest);
    let slow = slowest.unwrap_or(drawn);
    let fast = mean * random.float(0.55, 0.99);
    let each = bytes / file.procs;
    let uneven = match random.chance(0.5) {
        true => 0,
        false => (each as f64 * random.float(0.0, 0.2)) as i64,
    };
    let (first, second) = (random.int(0, file.procs), random.int(0, file.procs));
    let ranks = [first, each - uneven, second, each + uneven];
    record.ints[at..at + 4].copy_from_slice(&ranks);
    let time_variance = ((slow - fast) / random.float(3.0, 6.0)).powi(2);
    let times = [fast, slow, time_variance, (uneven as f64 / 2.0).powi(2)];
    record.floats[posix::F_FASTEST_RANK_TIME..].copy_from_slice(&times);
}

/// What was moved in each direction.
fn sides(file: &FileUse) -> impl Iterator<Item = (usize, &Transfer)> {
    let sides = file.transfers.iter().enumerate();
    sides.filter_map(|(side, moved)| Some((side, moved.as_ref()?)))
}

/// A record with room for a module's counters.
fn empty(file: &FileUse, ints: &[&str], floats: &[&str]) -> Record {
    Record {
        id: file.id,
        rank: file.rank,
        ints: vec![0; ints.len()],
        floats: vec![0.0; floats.len()],
        extra: Extra::None,
    }
}

fn part_record(file: &FileUse, part: &Part, ints: &[&str], floats: &[&str]) -> Record {
    Record {
        id: part.id,
        extra: Extra::File(file.id),
        ..empty(file, ints, floats)
    }
}

/// Times of a library on MPI-IO: just outside those of MPI-IO. The counters are start and end of opening, behind each
/// of which lies that of closing.
fn library_times(file: &FileUse, floats: &mut [f64], [start, end]: [usize; 2]) {
    floats[start] = file.opened - 2e-4;
    floats[end] = file.opened + file.meta / file.procs as f64;
    floats[start + 1] = file.closed - 1e-4;
    floats[end + 1] = file.closed + 2e-4;
}

/// Sets start and end of a direction, the time spent and that of the longest call. These counters have the same places in POSIX,
/// MPI-IO, H5D and PNETCDF_VAR.
fn set_moved(floats: &mut [f64], side: usize, [start, end, time, call]: [f64; 4]) {
    floats[posix::F_READ_START_TIMESTAMP + side] = start;
    floats[posix::F_READ_END_TIMESTAMP + side] = end;
    floats[posix::F_READ_TIME + side] = time;
    floats[posix::F_MAX_READ_TIME + side] = call;
}

/// Sets start and end of opening, and of closing; the same holds of these.
fn set_open(floats: &mut [f64], times: [f64; 4]) {
    floats[posix::F_OPEN_START_TIMESTAMP] = times[0];
    floats[posix::F_OPEN_END_TIMESTAMP] = times[1];
    floats[posix::F_CLOSE_START_TIMESTAMP] = times[2];
    floats[posix::F_CLOSE_END_TIMESTAMP] = times[3];
}

/// When a dataset or variable was opened and closed.
fn part_times(file: &FileUse, floats: &mut [f64]) {
    let (opened, closed) = (file.opened, file.closed);
    set_open(floats, [opened, opened + 1e-3, closed - 1e-4, closed]);
}

/// Darshan's bin of a request size: the upper edges belong to the bin.
fn bin(size: i64) -> usize {
    const KIB: i64 = 1024;
    let edges = [100, KIB, 10 * KIB, 100 * KIB].into_iter();
    let edges = edges.chain([1, 4, 10, 100, 1024].map(|mebibytes| mebibytes << 20));
    edges.take_while(|edge| size > *edge).count()
}

/// Counts requests into the bins from `first` on.
fn count_sizes(ints: &mut [i64], first: usize, sizes: &[(i64, i64)]) {
    for (size, count) in sizes {
        ints[first + bin(*size)] += count;
    }
}

/// Sets the four commonest sizes, and how often each was: the most frequent first, the larger first among equals. The
/// counters are those of the first; `by` counters later lies the next size.
fn set_common(ints: &mut [i64], [size_at, count_at]: [usize; 2], by: usize, sizes: &[(i64, i64)]) {
    let mut sizes = sizes.to_vec();
    sizes.sort_by_key(|(size, count)| (-count, -size));
    for (at, (size, count)) in sizes.into_iter().take(4).enumerate() {
        (ints[size_at + by * at], ints[count_at + at]) = (size, count);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_of_writes_lies_behind_that_of_reads() {
        let written = |name: &str| match name.contains("BYTE") {
            true => name.replace("READ", "WRITTEN"),
            false => name.replace("READ", "WRITE"),
        };
        let modules = [
            (posix::INTS, posix::FLOATS),
            (mpiio::INTS, mpiio::FLOATS),
            (h5d::INTS, h5d::FLOATS),
            (pnetcdf_file::INTS, pnetcdf_file::FLOATS),
            (pnetcdf_var::INTS, pnetcdf_var::FLOATS),
        ];
        for names in modules
            .into_iter()
            .flat_map(|(ints, floats)| [ints, floats])
        {
            for (at, name) in names
                .iter()
                .enumerate()
                .filter(|(_, name)| name.contains("READ"))
            {
                let side = if name.starts_with("SIZE_") { 10 } else { 1 };
                assert_eq!(names[at + side], written(name));
            }
        }
        for floats in [mpiio::FLOATS, h5d::FLOATS, pnetcdf_var::FLOATS] {
            assert_eq!(floats, posix::FLOATS);
        }
        assert_eq!(posix::OPENS, stdio::OPENS);
    }

    #[test]
    fn the_upper_edge_of_a_bin_belongs_to_it() {
        assert_eq!(
            [100, 101, 1024, 1025, 1 << 20, 1 << 30, (1 << 30) + 1].map(bin),
            [0, 1, 1, 2, 4, 8, 9]
        );
    }

    #[test]
    fn the_commonest_sizes_come_first_and_the_larger_of_equals() {
        let mut ints = [0; 8];
        let sizes = [(8, 5), (64, 9), (16, 5), (1, 1), (2, 1)];
        set_common(&mut ints, [0, 4], 1, &sizes);
        assert_eq!(ints, [64, 16, 8, 2, 9, 5, 5, 1]);
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
