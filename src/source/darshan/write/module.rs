//! Module regions, and the records whose size varies.

use super::encode::Bytes;
use super::record::Record;
use crate::source::darshan::ModuleId;
use crate::source::darshan::header::ByteOrder;

/// One module region.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Which module.
    pub id: ModuleId,
    /// Version that is stored and whose layout is written.
    pub version: u32,
    /// The records.
    pub records: Records,
    /// Records (of [`Records::Raw`]: bytes) in each compressed stream, in order; what they leave over goes into one more
    /// stream. Darshan writes one stream for each rank. Empty: one stream in all. 0 is an empty stream.
    pub streams: Vec<usize>,
}

impl Module {
    /// A module region of one stream.
    pub fn new(id: ModuleId, version: u32, records: Records) -> Self {
        Self {
            id,
            version,
            records,
            streams: vec![],
        }
    }
}

/// Records of one module. Which kind belongs to which module is not checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Records {
    /// Modules with a fixed number of counters.
    Counters(Vec<Record>),
    /// LUSTRE.
    Lustre(Vec<Layout>),
    /// DXT_POSIX, DXT_MPIIO.
    Dxt(Vec<Trace>),
    /// HEATMAP.
    Heatmap(Vec<Heatmap>),
    /// MDHIM.
    Mdhim(Vec<Mdhim>),
    /// APMPI.
    Apmpi(Apmpi),
    /// The region's bytes before compression: unknown modules, APXC, and all that is wrong on purpose.
    Raw(Vec<u8>),
}

/// The striping of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Record id.
    pub id: u64,
    /// Process; -1 if all of them saw it.
    pub rank: i64,
    /// OSTs of the file system (version 1).
    pub osts: i64,
    /// MDTs of the file system (version 1).
    pub mdts: i64,
    /// OST that was asked for the first stripe, -1 for any (version 1).
    pub stripe_offset: i64,
    /// Components; version 1 holds only the first.
    pub components: Vec<Component>,
}

/// A component of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Stripe size in bytes; -1 marks an unused slot.
    pub stripe_size: i64,
    /// Pattern bits: 0 raid0, 2 on the MDT, 4 overstriped.
    pub pattern: i64,
    /// Flag bits.
    pub flags: i64,
    /// First byte.
    pub ext_start: i64,
    /// Byte after the last one, -1 for the end of the file.
    pub ext_end: i64,
    /// Mirror, 0 if there is none.
    pub mirror_id: i64,
    /// OST pool, at most 15 bytes.
    pub pool: Vec<u8>,
    /// OST of each stripe, -1 if unknown; their number is the stripe count.
    pub osts: Vec<i64>,
}

impl Component {
    /// A plain layout of one component that covers the file.
    pub fn plain(stripe_size: i64, osts: Vec<i64>) -> Self {
        Self {
            stripe_size,
            pattern: 0,
            flags: 0,
            ext_start: 0,
            ext_end: -1,
            mirror_id: 0,
            pool: vec![],
            osts,
        }
    }

    /// A slot that holds no component: it and all after it do not count.
    pub fn unused() -> Self {
        Self::plain(-1, vec![])
    }
}

/// The accesses of one process to one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Record id.
    pub id: u64,
    /// Process, never -1.
    pub rank: i64,
    /// -1 if all processes opened the file.
    pub shared: i64,
    /// Node, at most 63 bytes.
    pub hostname: Vec<u8>,
    /// Writes.
    pub writes: Vec<Segment>,
    /// Reads.
    pub reads: Vec<Segment>,
}

/// One access.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// File offset in bytes. DXT_MPIIO 1 stores it too, but readers must not believe it.
    pub offset: i64,
    /// Bytes.
    pub length: i64,
    /// Seconds since the start.
    pub start: f64,
    /// Seconds since the start.
    pub end: f64,
    /// Thread (DXT_POSIX 2, DXT_MPIIO 3).
    pub thread: u64,
}

/// Bytes moved by one process through one interface, by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// Record id, of `heatmap:POSIX` and the like.
    pub id: u64,
    /// Process.
    pub rank: i64,
    /// Seconds in a bin.
    pub bin_width: f64,
    /// Bytes written in each bin.
    pub writes: Vec<i64>,
    /// Bytes read in each bin; cut or filled up to the number of `writes`.
    pub reads: Vec<i64>,
}

/// A record of the MDHIM module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mdhim {
    /// Record id.
    pub id: u64,
    /// Process.
    pub rank: i64,
    /// PUTS, GETS, PUT_MAX_SIZE, GET_MAX_SIZE, SERVERS.
    pub ints: [i64; 5],
    /// F_PUT_TIMESTAMP, F_GET_TIMESTAMP, F_PUT_MAX_DURATION, F_GET_MAX_DURATION.
    pub floats: [f64; 4],
    /// Operations sent to each server; as many as SERVERS are true, one at least.
    pub servers: Vec<i64>,
}

/// What the APMPI module holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Apmpi {
    /// Record id of the header.
    pub id: u64,
    /// Whether synchronisation times were measured.
    pub sync: bool,
    /// Variance over ranks of the MPI time.
    pub variance_total: f64,
    /// Variance over ranks of the synchronisation time.
    pub variance_sync: f64,
    /// One for each process.
    pub records: Vec<ApmpiRecord>,
}

/// MPI calls of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApmpiRecord {
    /// Record id.
    pub id: u64,
    /// Process.
    pub rank: i64,
    /// 396 counters; those that are not given are 0.
    pub ints: Vec<u64>,
    /// 222 times of operations, 16 synchronisation times, then the total and the total of synchronisation.
    pub floats: Vec<f64>,
    /// Node, at most 127 bytes.
    pub node: Vec<u8>,
}

impl Module {
    /// The region before compression, and where each of its records ends.
    pub(super) fn encode(&self, order: ByteOrder) -> (Vec<u8>, Vec<usize>) {
        let (mut to, mut ends) = (Bytes::new(order), vec![]);
        match &self.records {
            Records::Counters(records) => each(records, &mut to, &mut ends, |r, to| {
                r.write(self.id, self.version, to)
            }),
            Records::Lustre(layouts) => each(layouts, &mut to, &mut ends, |l, to| {
                l.write(self.version, to)
            }),
            Records::Dxt(traces) => {
                let thread = matches!(
                    (self.id, self.version),
                    (ModuleId::DXT_POSIX, 2..) | (ModuleId::DXT_MPIIO, 3..)
                );
                each(traces, &mut to, &mut ends, |trace, to| {
                    trace.write(thread, to)
                });
            }
            Records::Heatmap(heatmaps) => each(heatmaps, &mut to, &mut ends, Heatmap::write),
            Records::Mdhim(records) => each(records, &mut to, &mut ends, Mdhim::write),
            Records::Apmpi(apmpi) => {
                apmpi.write_header(&mut to);
                each(&apmpi.records, &mut to, &mut ends, ApmpiRecord::write);
            }
            Records::Raw(bytes) => {
                to.raw(bytes);
                ends = (1..=bytes.len()).collect();
            }
        }
        (to.bytes, ends)
    }
}

fn each<T>(records: &[T], to: &mut Bytes, ends: &mut Vec<usize>, write: impl Fn(&T, &mut Bytes)) {
    for record in records {
        write(record, to);
        ends.push(to.bytes.len());
    }
}

impl Layout {
    fn write(&self, version: u32, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(self.rank);
        if version < 2 {
            let none = Component::plain(0, vec![]);
            let component = self.components.first().unwrap_or(&none);
            let width = component.osts.len() as i64;
            let head = [
                self.osts,
                self.mdts,
                self.stripe_offset,
                component.stripe_size,
                width,
            ];
            head.iter()
                .chain(&component.osts)
                .for_each(|value| to.i64(*value));
            return;
        }
        to.i64(self.components.len() as i64);
        to.i64(self.components.iter().map(|c| c.osts.len() as i64).sum());
        for c in &self.components {
            let count = c.osts.len() as i64;
            let ints = [
                c.stripe_size,
                count,
                c.pattern,
                c.flags,
                c.ext_start,
                c.ext_end,
                c.mirror_id,
            ];
            ints.iter().for_each(|value| to.i64(*value));
            to.text(&c.pool, 16);
        }
        self.components
            .iter()
            .flat_map(|c| &c.osts)
            .for_each(|ost| to.i64(*ost));
    }
}

impl Trace {
    fn write(&self, thread: bool, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(self.rank);
        to.i64(self.shared);
        to.text(&self.hostname, 64);
        to.i64(self.writes.len() as i64);
        to.i64(self.reads.len() as i64);
        for segment in self.writes.iter().chain(&self.reads) {
            to.i64(segment.offset);
            to.i64(segment.length);
            to.f64(segment.start);
            to.f64(segment.end);
            if thread {
                to.u64(segment.thread);
            }
        }
    }
}

impl Heatmap {
    fn write(&self, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(self.rank);
        to.f64(self.bin_width);
        to.i64(self.writes.len() as i64);
        // Two pointers of the process that wrote the log.
        to.u64(0x7f3a_5c00_1040);
        to.u64(0x7f3a_5c00_2080);
        self.writes.iter().for_each(|bytes| to.i64(*bytes));
        (0..self.writes.len()).for_each(|bin| to.i64(self.reads.get(bin).copied().unwrap_or(0)));
    }
}

impl Mdhim {
    fn write(&self, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(self.rank);
        self.ints.iter().for_each(|value| to.i64(*value));
        self.floats.iter().for_each(|value| to.f64(*value));
        let servers = self.servers.len().max(1);
        (0..servers).for_each(|server| to.i64(self.servers.get(server).copied().unwrap_or(0)));
    }
}

impl Apmpi {
    fn write_header(&self, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(0);
        // "APMPI" as a number.
        to.i64(0x0041_504d_5049);
        to.u32(u32::from(self.sync));
        to.u32(0);
        to.f64(self.variance_total);
        to.f64(self.variance_sync);
    }
}

impl ApmpiRecord {
    fn write(&self, to: &mut Bytes) {
        to.u64(self.id);
        to.i64(self.rank);
        (0..396).for_each(|at| to.u64(self.ints.get(at).copied().unwrap_or(0)));
        (0..240).for_each(|at| to.f64(self.floats.get(at).copied().unwrap_or(0.0)));
        to.text(&self.node, 128);
    }
}
