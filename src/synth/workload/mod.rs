//! The I/O of one log: which process moves how many bytes of which file, and when.
//!
//! A [`Workload`] is played in phases. All accesses of a phase start together; each takes as long as its bytes take from
//! the processes and OSTs that it has, and the clock goes on when the slowest is through.

pub(crate) mod app;
pub(crate) mod realistic;
pub(crate) mod shape;
pub(crate) mod stage;

use crate::synth::random::Random;
use crate::synth::scenario::plan::Job;
use crate::synth::system::{DEFAULT_STRIPE, SLOWDOWN, System, lustre, record_id};
use std::collections::HashMap;

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

/// What an access moves.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) path: String,
    /// Process; -1: all of them.
    pub(crate) rank: i64,
    pub(crate) api: Api,
    pub(crate) read: i64,
    pub(crate) written: i64,
}

/// One direction of a file use, as POSIX or STDIO sees it.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
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
}

impl Flow {
    /// Requests.
    pub(crate) fn count(&self) -> i64 {
        self.sizes.iter().map(|(_, count)| count).sum()
    }

    /// Byte after the highest one touched.
    pub(crate) fn extent(&self) -> i64 {
        let jumps = self.sequential - self.consecutive;
        self.bytes + (jumps.max(0).saturating_mul(self.gap)).min(self.bytes)
    }
}

/// A process, or all of them, with one file.
#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) rank: i64,
    /// Processes that take part.
    pub(crate) procs: i64,
    pub(crate) api: Api,
    pub(crate) read: Option<Flow>,
    pub(crate) written: Option<Flow>,
    /// Opening and closing.
    pub(crate) opened: f64,
    pub(crate) closed: f64,
    /// Seconds in metadata operations, summed over processes.
    pub(crate) meta: f64,
    pub(crate) layout: Option<FileLayout>,
    /// Seconds of the slowest process, where they are given and not drawn.
    pub(crate) slowest: Option<f64>,
}

/// Where a file on Lustre lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLayout {
    pub(crate) stripe_size: i64,
    pub(crate) osts: Vec<i64>,
    /// Made of two extents: the first of one stripe, the second of all.
    pub(crate) progressive: bool,
}

/// A log in the making.
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
    /// Whether the log is rounded and repeats itself as real ones do.
    pub(crate) realistic: bool,
    /// Whether files that belong together have the same counts.
    pub(crate) alike: bool,
    /// What is drawn anew for each file where they are alike.
    pub(crate) pattern: Random,
    pub(crate) clock: f64,
    pub(crate) uses: Vec<FileUse>,
    layouts: HashMap<u64, FileLayout>,
    next_ost: i64,
}

impl Workload {
    pub(crate) fn new(job: &Job, system: System, random: Random) -> Self {
        let mut workload = Self {
            pattern: random.clone(),
            realistic: false,
            alike: false,
            random,
            system,
            nprocs: job.nprocs,
            consecutive: job.consecutive,
            request: job.request.max(64),
            small: 0.0,
            stripe: DEFAULT_STRIPE,
            progressive: false,
            slow: true,
            traced: None,
            clock: 0.0,
            uses: vec![],
            layouts: HashMap::new(),
            next_ost: 0,
        };
        workload.small = if workload.random.chance(0.3) {
            workload.random.float(0.0, 0.4)
        } else {
            0.0
        };
        workload.clock = workload.random.float(0.05, 2.0);
        workload.next_ost = workload.random.int(0, 10_000);
        workload
    }

    /// Lets time pass without I/O.
    pub(crate) fn compute(&mut self, seconds: f64) {
        self.clock += seconds * self.random.float(0.7, 1.3);
    }

    /// Plays accesses that start together, and moves the clock to the end of the last.
    pub(crate) fn phase(&mut self, parts: impl IntoIterator<Item = Part>) {
        let (from, mut to) = (self.clock, self.clock);
        for part in parts {
            let delay = self.random.float(0.0, 0.02);
            let (end, file) = self.phases(part, from + delay);
            to = to.max(end);
            self.uses.push(file);
        }
        self.clock = to;
    }

    /// A file that is open all the time and touched now and then, such as a log that is written line by line.
    pub(crate) fn background(&mut self, part: Part, until: f64) {
        let (_, mut file) = self.phases(part, 0.05);
        for flow in [&mut file.read, &mut file.written].into_iter().flatten() {
            flow.end = until.max(flow.end) - 0.01;
        }
        file.closed = until.max(file.closed);
        self.uses.push(file);
    }

    /// One access from `start` on, and when it ends.
    fn phases(&mut self, part: Part, start: f64) -> (f64, FileUse) {
        let Part {
            path,
            rank,
            api,
            read,
            written,
        } = part;
        let id = record_id(&path);
        let rank = if self.nprocs == 1 { 0 } else { rank };
        let procs = if rank < 0 { self.nprocs } else { 1 };
        let layout = self.layout(id, &path);
        let opens = procs as f64 * self.random.float(0.0002, 0.003);
        let opened = start;
        let mut clock = start + self.random.float(0.0003, 0.01);
        let mut directions = [(read, None), (written, None)];
        // What is read was there before; what is read back was written first.
        if path.contains("/scr/") {
            directions.reverse();
        }
        for (bytes, flow) in directions.iter_mut().filter(|(bytes, _)| *bytes > 0) {
            let made = self.flow(*bytes, procs, api, clock, layout.as_ref());
            clock = made.end + self.random.float(0.0001, 0.01);
            *flow = Some(made);
        }
        if path.contains("/scr/") {
            directions.reverse();
        }
        let [(_, read), (_, written)] = directions;
        let closed = clock + self.random.float(0.0001, 0.005);
        let meta = opens + self.random.float(0.0001, 0.001) * procs as f64;
        (
            closed,
            FileUse {
                id,
                path,
                rank,
                procs,
                api,
                read,
                written,
                opened,
                closed,
                meta,
                layout,
                slowest: None,
            },
        )
    }

    /// An access whose time is given: `seconds` from `start` on, of which each process that moves bytes is busy the share
    /// `busy`, the slowest one, too.
    pub(crate) fn timed(&mut self, part: Part, start: f64, seconds: f64, busy: f64) {
        let opened = start - self.random.float(0.0003, 0.003);
        let (_, mut file) = self.phases(part, opened);
        let actors = actors(file.api, file.procs) as f64;
        for flow in [&mut file.read, &mut file.written].into_iter().flatten() {
            (flow.start, flow.end) = (start, start + seconds);
            flow.time = actors * seconds * busy;
            // Operations on metadata take next to none of it.
            file.meta = file.meta.min(flow.time / 500.0);
            file.slowest = Some(seconds * busy * (1.0 + file.meta / flow.time));
        }
        file.closed = start + seconds + self.random.float(0.0002, 0.005);
        self.uses.push(file);
    }

    /// One direction: its requests, and how long they take.
    fn flow(
        &mut self,
        bytes: i64,
        procs: i64,
        api: Api,
        start: f64,
        layout: Option<&FileLayout>,
    ) -> Flow {
        let collective = matches!(
            api,
            Api::Mpi {
                collective: true,
                ..
            }
        );
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
            (
                Api::Mpi {
                    collective: true, ..
                },
                _,
            ) => 4 << 20,
            (_, None) if self.alike => realistic::request(self.request, share),
            (_, None) => self.request.min((share / 24).max(1)),
            (_, Some(most)) => self.request.max(share / most),
        };
        let small = if collective || api == Api::Stdio || self.traced.is_some() {
            0.0
        } else {
            self.small
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
        let time = actors as f64 * seconds * busy;
        Flow {
            bytes,
            sizes,
            consecutive,
            sequential,
            gap,
            start,
            end: start + seconds,
            time,
        }
    }

    /// How long it takes `procs` processes to move these bytes, with requests of this size, to or from these OSTs.
    fn seconds(
        &mut self,
        bytes: i64,
        procs: i64,
        request: i64,
        layout: Option<&FileLayout>,
    ) -> f64 {
        // A process waits about as long for a request as 128 KiB take.
        let efficiency = request as f64 / (request as f64 + 131_072.0);
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
        let slow = self.slow && osts.len() == 1 && osts.first() == Some(&self.system.slow_ost);
        (seconds * if slow { SLOWDOWN } else { 1.0 }).max(2e-5)
    }

    /// The layout of a file, the same whoever opens it; files made one after another lie on OSTs one after another.
    fn layout(&mut self, id: u64, path: &str) -> Option<FileLayout> {
        let (osts, _) = lustre(path)?;
        if let Some(layout) = self.layouts.get(&id) {
            return Some(layout.clone());
        }
        // Only the output of this job has the striping that its owner asked for.
        let custom = self.stripe != DEFAULT_STRIPE && path.contains("/out/");
        let (stripe_size, count) = if custom { self.stripe } else { DEFAULT_STRIPE };
        let first = self.next_ost;
        self.next_ost += count;
        let layout = FileLayout {
            stripe_size,
            osts: (0..count.min(osts))
                .map(|stripe| (first + stripe) % osts)
                .collect(),
            progressive: custom && self.progressive,
        };
        self.layouts.insert(id, layout.clone());
        Some(layout)
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

    /// Puts the next new file on this OST of /scratch.
    pub(crate) fn next_file_on(&mut self, ost: i64) {
        self.next_ost = ost;
    }
}

/// Processes of `procs` that move bytes: collective buffering leaves large requests of a few.
fn actors(api: Api, procs: i64) -> i64 {
    match api {
        Api::Mpi {
            collective: true, ..
        } => (procs / 32).clamp(1, 1024),
        _ => procs,
    }
}

/// Requests that sum to `bytes`: mostly of one size, a share of small ones, and what is left over.
fn requests(bytes: i64, request: i64, small: f64, small_size: i64) -> Vec<(i64, i64)> {
    let mut sizes: Vec<(i64, i64)> = vec![];
    let mut add = |size: i64, count: i64| {
        if size > 0 && count > 0 {
            match sizes.iter_mut().find(|(known, _)| *known == size) {
                Some((_, known)) => *known += count,
                None => sizes.push((size, count)),
            }
        }
    };
    let request = request.clamp(1, bytes.max(1));
    let main = bytes / request;
    let smalls = (main as f64 * small / (1.0 - small)) as i64;
    // The small ones take the place of some of the main ones.
    let smalls = smalls.min(bytes / 4 / small_size.max(1));
    let main = (bytes - smalls * small_size) / request;
    add(request, main);
    add(small_size, smalls);
    add(bytes - smalls * small_size - main * request, 1);
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
