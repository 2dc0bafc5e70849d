//! The I/O of one log: which process moves how many bytes of which file, and when.
//!
//! A [`Workload`] consists of phases. All accesses of a phase start together; each takes as long as its bytes take from the
//! processes and OSTs that it has. The clock advances to the end of the slowest.

pub(crate) mod app;
pub(crate) mod burst;
pub(crate) mod in_bursts;
pub(crate) mod realistic;
pub(crate) mod shape;
pub(crate) mod stage;

use crate::math::random::Random;
use crate::synth::scenario::job::Job;
use crate::synth::system::{
    DEFAULT_STRIPE, FILE_SYSTEMS, SLOWDOWN, System, file_system, record_id,
};
use burst::Burst;
use std::collections::HashMap;

/// The I/O of a log in the making.
pub(crate) struct Workload {
    pub(crate) random: Random,
    pub(crate) system: System,
    pub(crate) nprocs: i64,
    /// Share of requests that are consecutive.
    pub(crate) consecutive: f64,
    /// Size of a typical request.
    pub(crate) request: i64,
    /// Share of requests of at most 1 KiB.
    pub(crate) small: f64,
    /// Stripe size and count of new files on /scratch.
    pub(crate) stripe: (i64, i64),
    pub(crate) progressive: bool,
    /// Whether the slow OST is slow: not in planted faults, which should show one thing.
    pub(crate) slow: bool,
    /// Largest number of requests of one process in one file and direction, for logs whose requests are traced.
    pub(crate) traced: Option<i64>,
    /// Whether the log has heat maps; None where chance decides.
    pub(crate) binned: Option<bool>,
    /// Whether the log is rounded and repeats itself as real ones do.
    pub(crate) realistic: bool,
    /// Whether files that belong together have the same counts.
    pub(crate) alike: bool,
    /// What is drawn anew for each file where they are alike.
    pattern: Random,
    pub(crate) clock: f64,
    pub(crate) uses: Vec<FileUse>,
    layouts: HashMap<u64, FileLayout>,
    /// Where the next new file begins.
    pub(crate) next_ost: i64,
}

/// What is to be moved: an access to a file by a process, or by all of them.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    path: String,
    /// Process; -1: all of them.
    rank: i64,
    api: Api,
    /// Bytes read, and bytes written.
    moved: [i64; 2],
}

/// An access that has a time: a process, or all of them, with one file.
#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) rank: i64,
    /// Processes that take part.
    pub(crate) procs: i64,
    pub(crate) api: Api,
    /// What was read, and what was written.
    pub(crate) transfers: [Option<Transfer>; 2],
    /// Opening and closing.
    pub(crate) opened: f64,
    pub(crate) closed: f64,
    /// Seconds in metadata operations, summed over processes.
    pub(crate) meta: f64,
    pub(crate) layout: Option<FileLayout>,
    /// Seconds of the slowest process, where they are given and not drawn.
    pub(crate) slowest: Option<f64>,
    /// Whether MPI-IO reads the file only to change blocks of it: its own record has no reads.
    pub(crate) sieved: bool,
}

/// One direction of a file use, as POSIX or STDIO sees it.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) bytes: i64,
    /// Size and number of requests; the bytes are their sum.
    pub(crate) sizes: Vec<(i64, i64)>,
    /// Requests that start where the one before ended.
    pub(crate) consecutive: i64,
    /// Requests that start past the one before, the former included.
    pub(crate) sequential: i64,
    /// Bytes between the end of a request and the start of the next, where it is not consecutive.
    pub(crate) gap: i64,
    /// First and last moment, seconds since the start.
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// Seconds spent, summed over processes.
    pub(crate) time: f64,
    /// When the bytes were moved, by start, where they were not moved evenly between the first and the last moment.
    pub(crate) bursts: Vec<Burst>,
}

/// Interface through which a file is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Posix,
    Stdio,
    /// MPI-IO, on POSIX.
    Mpi {
        collective: bool,
        library: Library,
    },
}

/// What sits on MPI-IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    None,
    Hdf5,
    Pnetcdf,
}

/// Where a file on Lustre lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLayout {
    pub(crate) stripe_size: i64,
    pub(crate) osts: Vec<i64>,
    /// Made of two extents: the first of one stripe, the second of all.
    pub(crate) progressive: bool,
}

impl Workload {
    pub(crate) fn new(job: &Job, seed: u64, mut random: Random) -> Self {
        let pattern = random.clone();
        let small = match random.chance(0.3) {
            true => random.float(0.0, 0.4),
            false => 0.0,
        };
        Self {
            pattern,
            realistic: false,
            alike: false,
            clock: random.float(0.05, 2.0),
            next_ost: random.int(0, 10_000),
            random,
            system: System::new(seed),
            nprocs: job.nprocs,
            consecutive: job.consecutive,
            request: job.request.max(64),
            small,
            stripe: DEFAULT_STRIPE,
            progressive: false,
            slow: true,
            traced: None,
            binned: None,
            uses: vec![],
            layouts: HashMap::new(),
        }
    }

    /// Lets time pass without I/O.
    pub(crate) fn compute(&mut self, seconds: f64) {
        self.clock += seconds * self.random.float(0.7, 1.3);
    }

    /// Adds accesses that start together, and advances the clock to the end of the last.
    pub(crate) fn phase(&mut self, accesses: impl IntoIterator<Item = Access>) {
        let (from, mut to) = (self.clock, self.clock);
        for access in accesses {
            let delay = self.random.float(0.0, 0.02);
            let file = self.file_use(access, from + delay);
            to = to.max(file.closed);
            self.uses.push(file);
        }
        self.clock = to;
    }

    /// Adds a file that is open all the time and touched now and then, such as a log that is written line by line.
    pub(crate) fn background(&mut self, access: Access, until: f64) {
        let mut file = self.file_use(access, 0.05);
        for transfer in file.transfers.iter_mut().flatten() {
            transfer.end = until.max(transfer.end) - 0.01;
        }
        file.closed = until.max(file.closed);
        self.uses.push(file);
    }

    /// Adds an access whose time is given: `seconds` from `start` on, of which each process that moves bytes is busy the
    /// share `busy`, the slowest one, too.
    pub(crate) fn timed(&mut self, access: Access, start: f64, seconds: f64, busy: f64) {
        let opened = start - self.random.float(0.0003, 0.003);
        let mut file = self.file_use(access, opened);
        let actors = actors(file.api, file.procs) as f64;
        for transfer in file.transfers.iter_mut().flatten() {
            (transfer.start, transfer.end) = (start, start + seconds);
            transfer.time = actors * seconds * busy;
            // Operations on metadata take next to none of it.
            file.meta = file.meta.min(transfer.time / 500.0);
            file.slowest = Some(seconds * busy * (1.0 + file.meta / transfer.time));
        }
        file.closed = start + seconds + self.random.float(0.0002, 0.005);
        self.uses.push(file);
    }

    /// Moves and scales what came after `from` so that it takes `seconds`.
    pub(crate) fn stretch(&mut self, from: f64, seconds: f64) {
        let factor = seconds / (self.clock - from);
        let moved = |time: f64| match time > from {
            true => from + (time - from) * factor,
            false => time,
        };
        for file in self.uses.iter_mut().filter(|file| file.opened >= from) {
            (file.opened, file.closed) = (moved(file.opened), moved(file.closed));
            for transfer in file.transfers.iter_mut().flatten() {
                (transfer.start, transfer.end) = (moved(transfer.start), moved(transfer.end));
                transfer.time *= factor;
            }
        }
        self.clock = moved(self.clock);
    }

    /// `bytes` in `parts` parts of like size, each at least 1; none if there are no bytes.
    pub(crate) fn split(&mut self, bytes: i64, parts: i64) -> Vec<i64> {
        let parts = parts.min(bytes).max(0);
        let mut left = bytes;
        let part = |at: i64| {
            let others = parts - at - 1;
            let mean = left / (others + 1);
            let part = match others {
                0 => left,
                _ if self.alike => mean - mean % realistic::unit(mean),
                _ => (mean as f64 * self.random.float(0.8, 1.2)) as i64,
            };
            let part = part.clamp(1, left - others);
            left -= part;
            part
        };
        (0..parts).map(part).collect()
    }

    /// Puts a new file on these OSTs.
    pub(crate) fn place(&mut self, path: &str, stripe_size: i64, osts: Vec<i64>) {
        let layout = FileLayout {
            stripe_size,
            osts,
            progressive: false,
        };
        self.layouts.insert(record_id(path), layout);
    }

    /// One access from `start` on.
    fn file_use(&mut self, access: Access, start: f64) -> FileUse {
        let id = record_id(&access.path);
        let rank = if self.nprocs == 1 { 0 } else { access.rank };
        let procs = if rank < 0 { self.nprocs } else { 1 };
        let layout = self.layout(id, &access.path);
        let opens = procs as f64 * self.random.float(0.0002, 0.003);
        let mut clock = start + self.random.float(0.0003, 0.01);
        let mut transfers = [None, None];
        // What is read was there before; what is read back was written first.
        let first = usize::from(access.path.contains("/scr/"));
        for side in [first, 1 - first] {
            let bytes = access.moved[side];
            if bytes > 0 {
                let made = self.transfer(bytes, procs, access.api, clock, layout.as_ref());
                clock = made.end + self.random.float(0.0001, 0.01);
                transfers[side] = Some(made);
            }
        }
        let closed = clock + self.random.float(0.0001, 0.005);
        let meta = opens + self.random.float(0.0001, 0.001) * procs as f64;
        FileUse {
            id,
            path: access.path,
            rank,
            procs,
            api: access.api,
            transfers,
            opened: start,
            closed,
            meta,
            layout,
            slowest: None,
            sieved: false,
        }
    }

    /// One direction: its requests, and how long they take.
    fn transfer(
        &mut self,
        bytes: i64,
        procs: i64,
        api: Api,
        start: f64,
        layout: Option<&FileLayout>,
    ) -> Transfer {
        let collective = api.is_collective();
        let actors = actors(api, procs);
        let share = bytes / actors;
        let mut pattern = self.pattern.clone();
        let random = match self.alike {
            true => &mut pattern,
            false => &mut self.random,
        };
        let request = match (api, self.traced) {
            // Lines, or what a buffer takes of them.
            (Api::Stdio, _) => random.int(40, 4097),
            _ if collective => 4 << 20,
            (_, None) if self.alike => realistic::request(self.request, share),
            (_, None) => self.request.min((share / 24).max(1)),
            (_, Some(most)) => self.request.max(share / most),
        };
        let small = match collective || api == Api::Stdio || self.traced.is_some() {
            true => 0.0,
            false => self.small,
        };
        let sizes = requests(bytes, request, small, 24 + 8 * random.int(0, 100));
        let count: i64 = sizes.iter().map(|(_, count)| count).sum();
        let rest = count - actors.min(count);
        let wanted = self.consecutive + random.float(-0.012, 0.012);
        let consecutive = ((count as f64 * wanted) as i64).clamp(0, rest);
        let sequential =
            consecutive + ((rest - consecutive) as f64 * random.float(0.3, 0.95)) as i64;
        let gap = request * random.int(1, 9);

        let seconds = self.seconds(bytes, actors, bytes / count.max(1), layout);
        let busy = self.random.float(0.6, 0.97);
        Transfer {
            bytes,
            sizes,
            consecutive,
            sequential,
            gap,
            start,
            end: start + seconds,
            time: actors as f64 * seconds * busy,
            bursts: vec![],
        }
    }

    /// How long it takes `procs` processes to move these bytes, with requests of this size, to or from these OSTs.
    fn seconds(&mut self, bytes: i64, procs: i64, size: i64, layout: Option<&FileLayout>) -> f64 {
        // A process waits about as long for a request as 128 KiB take.
        let efficiency = size as f64 / (size as f64 + 131_072.0);
        let processes = procs as f64 * 1.2e9 * efficiency;
        let osts = layout.map_or(&[][..], |layout| &layout.osts);
        let free = self.random.float(0.4, 0.95);
        let storage = match osts {
            [] => 2e9 * free,
            _ => osts.iter().map(|ost| self.system.speed(*ost)).sum::<f64>() * free,
        };
        // Locks of a stripe pass from process to process.
        let crowd = procs as f64 / osts.len().max(1) as f64;
        let locks = 1.0 + crowd.max(1.0).log2() / 14.0;
        let seconds = bytes as f64 / processes + bytes as f64 * locks / storage;
        let slow = self.slow && osts == [self.system.slow_ost];
        (seconds * if slow { SLOWDOWN } else { 1.0 }).max(2e-5)
    }

    /// The layout of a file, the same whoever opens it; files made one after another lie on OSTs one after another.
    fn layout(&mut self, id: u64, path: &str) -> Option<FileLayout> {
        let osts = FILE_SYSTEMS[file_system(path)?].osts;
        if let Some(layout) = self.layouts.get(&id) {
            return Some(layout.clone());
        }
        // Only the output of this job has the striping that its owner asked for.
        let custom = self.stripe != DEFAULT_STRIPE && path.contains("/out/");
        let (stripe_size, count) = if custom { self.stripe } else { DEFAULT_STRIPE };
        let first = self.next_ost;
        self.next_ost += count;
        let stripes = 0..count.min(osts);
        let layout = FileLayout {
            stripe_size,
            osts: stripes.map(|stripe| (first + stripe) % osts).collect(),
            progressive: custom && self.progressive,
        };
        self.layouts.insert(id, layout.clone());
        Some(layout)
    }
}

impl Access {
    pub(crate) fn new(path: String, rank: i64, api: Api, moved: [i64; 2]) -> Self {
        Self {
            path,
            rank,
            api,
            moved,
        }
    }

    /// Reads through POSIX.
    pub(crate) fn read(path: String, rank: i64, bytes: i64) -> Self {
        Self::new(path, rank, Api::Posix, [bytes, 0])
    }

    /// Writes through POSIX.
    pub(crate) fn write(path: String, rank: i64, bytes: i64) -> Self {
        Self::new(path, rank, Api::Posix, [0, bytes])
    }

    /// Text that one process writes.
    pub(crate) fn print(path: String, rank: i64, bytes: i64) -> Self {
        Self::new(path, rank, Api::Stdio, [0, bytes])
    }

    /// The input deck that the first process reads.
    pub(crate) fn deck(job: &Job) -> Self {
        let path = format!("/home/{}/{}.in", job.user, job.program);
        Self::new(path, 0, Api::Stdio, [4_000, 0])
    }
}

impl FileUse {
    pub(crate) fn written(&self) -> Option<&Transfer> {
        self.transfers[1].as_ref()
    }

    /// Both directions, as far as something was moved.
    pub(crate) fn both(&self) -> impl Iterator<Item = &Transfer> {
        self.transfers.iter().flatten()
    }

    /// Whether it reached POSIX: everything but STDIO.
    pub(crate) fn is_posix(&self) -> bool {
        self.api != Api::Stdio
    }

    /// Cuts what was moved through POSIX alone into requests of one size, as many of them consecutive and sequential as before.
    pub(crate) fn recut(&mut self, size: i64) {
        if self.api == Api::Stdio || self.api.is_collective() {
            return;
        }
        for moved in self.transfers.iter_mut().flatten() {
            let before = moved.count().max(1) as f64;
            let (whole, rest) = (moved.bytes / size, moved.bytes % size);
            moved.sizes = vec![(size, whole), (rest, 1)];
            moved.sizes.retain(|(size, count)| *size > 0 && *count > 0);
            let count = moved.count();
            let part = |of: i64| (count as f64 * of as f64 / before) as i64;
            let consecutive = part(moved.consecutive).min(count - 1).max(0);
            let sequential = part(moved.sequential).clamp(consecutive, (count - 1).max(0));
            (moved.consecutive, moved.sequential) = (consecutive, sequential);
        }
    }

    /// Its processes, those that take part in a shared file one by one.
    pub(crate) fn ranks(&self) -> std::ops::Range<i64> {
        match self.rank {
            -1 => 0..self.procs,
            rank => rank..rank + 1,
        }
    }
}

impl Transfer {
    /// Requests.
    pub(crate) fn count(&self) -> i64 {
        self.sizes.iter().map(|(_, count)| count).sum()
    }

    /// Byte after the highest one touched.
    pub(crate) fn extent(&self) -> i64 {
        let jumps = self.sequential - self.consecutive;
        self.bytes + (jumps.max(0).saturating_mul(self.gap)).min(self.bytes)
    }

    /// Seconds from the first to the last moment.
    pub(crate) fn window(&self) -> f64 {
        self.end - self.start
    }
}

impl Api {
    pub(crate) fn mpi(collective: bool, library: Library) -> Self {
        Self::Mpi {
            collective,
            library,
        }
    }

    fn is_collective(self) -> bool {
        match self {
            Self::Mpi { collective, .. } => collective,
            _ => false,
        }
    }
}

/// At most `most` ranks, evenly spread.
pub(crate) fn some_ranks(nprocs: i64, most: i64) -> Vec<i64> {
    let count = nprocs.min(most);
    (0..count).map(|at| at * nprocs / count).collect()
}

/// Part `at` of `of` of a number; the parts sum to it.
pub(crate) fn share(number: i64, at: i64, of: i64) -> i64 {
    let edge = |at: i64| (i128::from(number) * i128::from(at) / i128::from(of)) as i64;
    edge(at + 1) - edge(at)
}

/// Adds to the count of a size.
pub(crate) fn add_size(sizes: &mut Vec<(i64, i64)>, size: i64, count: i64) {
    match sizes.iter_mut().find(|(known, _)| *known == size) {
        Some((_, known)) => *known += count,
        None => sizes.push((size, count)),
    }
}

/// Processes of `procs` that move bytes: collective buffering leaves large requests of a few.
fn actors(api: Api, procs: i64) -> i64 {
    match api.is_collective() {
        true => (procs / 32).clamp(1, 1024),
        false => procs,
    }
}

/// Requests that sum to `bytes`: mostly of one size, a share of small ones, and what is left over.
fn requests(bytes: i64, request: i64, small: f64, small_size: i64) -> Vec<(i64, i64)> {
    let request = request.clamp(1, bytes.max(1));
    let main = bytes / request;
    let smalls = (main as f64 * small / (1.0 - small)) as i64;
    // The small ones take the place of some of the main ones.
    let smalls = smalls.min(bytes / 4 / small_size.max(1));
    let main = (bytes - smalls * small_size) / request;
    let rest = bytes - smalls * small_size - main * request;
    let mut sizes = vec![];
    for (size, count) in [(request, main), (small_size, smalls), (rest, 1)] {
        if size > 0 && count > 0 {
            add_size(&mut sizes, size, count);
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_sum_to_the_bytes() {
        for (bytes, request, small, size) in [
            (1, 64, 0.0, 8),
            (1000, 64, 0.5, 24),
            (123_456_789, 4096, 0.3, 512),
            (64, 64, 0.9, 8),
        ] {
            let sizes = requests(bytes, request, small, size);
            assert_eq!(
                sizes.iter().map(|(size, count)| size * count).sum::<i64>(),
                bytes
            );
            assert!(sizes.iter().all(|(size, count)| *size > 0 && *count > 0));
        }
    }

    #[test]
    fn small_requests_have_the_share_that_was_asked() {
        let sizes = requests(1 << 30, 65536, 0.4, 512);
        let small = sizes.iter().find(|(size, _)| *size == 512).unwrap().1 as f64;
        let all: i64 = sizes.iter().map(|(_, count)| count).sum();
        assert!((small / all as f64 - 0.4).abs() < 0.01);
    }
}
