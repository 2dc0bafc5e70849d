//! What makes the bytes of a log compress as those of real ones do.
//!
//! Clocks are doubles of seconds since 1970, of which a double holds a quarter of a microsecond: every time in a log is a multiple
//! of it, also a sum of times. Files that belong together have the same counts. And a node has dozens of mounts.

use crate::math::random::Random;
use crate::source::darshan::counters::posix;
use crate::source::darshan::job::Mount;
use crate::source::darshan::module;
use crate::source::darshan::write::{Module, Record, Records, mount};
use crate::synth::system::mount_list;

/// The smallest step of a clock, as a part of a second: 2^22 of them make one.
const TICKS: f64 = 4_194_304.0;

/// Share of logs whose files that belong together are alike.
pub(crate) const ALIKE: f64 = 0.8;

/// What the size of a file is a multiple of, where files are alike: whole requests of any that [`request`] gives.
pub(crate) fn unit(bytes: i64) -> i64 {
    request(16 << 20, bytes)
}

/// The size of a request for files that are alike: a power of two, near `wanted`, of which a process makes at least 32.
pub(crate) fn request(wanted: i64, share: i64) -> i64 {
    let most = wanted.min(share / 32).max(1) as u64;
    1 << most.ilog2()
}

/// What a program says of its requests' alignment when all its files are alike: of memory mostly nothing, of files that all or
/// none are aligned.
pub(crate) fn aligned(record: &mut Record, random: &mut Random) {
    let ints = &mut record.ints;
    let requests = ints[posix::READS] + ints[posix::WRITES];
    ints[posix::MEM_NOT_ALIGNED] = if random.chance(0.75) { 0 } else { requests };
    if ints[posix::FILE_NOT_ALIGNED] > 0 {
        ints[posix::FILE_NOT_ALIGNED] = requests;
    }
}

fn round(seconds: &mut f64) {
    *seconds = (*seconds * TICKS).round() / TICKS;
}

/// Rounds every time of a module as clocks do. Variances are no times.
pub(crate) fn by_the_clock(of: &mut Module) {
    match &mut of.records {
        Records::Counters(records) => {
            let known = module::module(of.id);
            let names = known
                .and_then(|known| known.counters)
                .map_or(&[][..], |(_, _, floats)| floats);
            for record in records {
                for (value, name) in record.floats.iter_mut().zip(names) {
                    if !name.contains("VARIANCE") {
                        round(value);
                    }
                }
            }
        }
        Records::Dxt(traces) => {
            for segment in traces
                .iter_mut()
                .flat_map(|trace| trace.reads.iter_mut().chain(&mut trace.writes))
            {
                round(&mut segment.start);
                round(&mut segment.end);
            }
        }
        _ => {}
    }
}

/// What a node mounts besides its file systems: of a batch system, of containers, of the maker of the machine.
const MOUNTS: &str = "tmpfs /dev/shm tmpfs /run devtmpfs /dev hugetlbfs /dev/hugepages mqueue /dev/mqueue sysfs /sys \
    securityfs /sys/kernel/security debugfs /sys/kernel/debug pstore /sys/fs/pstore cgroup /sys/fs/cgroup/memory \
    cgroup /sys/fs/cgroup/cpuset cgroup /sys/fs/cgroup/devices cgroup /sys/fs/cgroup/freezer selinuxfs /sys/fs/selinux \
    configfs /sys/kernel/config rpc_pipefs /var/lib/nfs/rpc_pipefs tmpfs /var/lib/dhcp overlay /etc/opt/vendor/release \
    squashfs /opt/modulefiles squashfs /usr/lib64/mpi dvs /global/common dvs /global/homes \
    cvmfs2 /cvmfs/software.example.org autofs /misc xfs /var/spool/slurmd ext4 /boot";

/// The mounts of a node on which a job runs.
pub(crate) fn mounts(job_id: i64, random: &mut Random) -> Vec<Mount> {
    // Nodes differ.
    let mut mounts: Vec<Mount> = mount_list(MOUNTS).filter(|_| random.chance(0.93)).collect();
    let image = random.bits();
    mounts.push(mount("squashfs", &format!("/var/lib/images/{image:016x}")));
    let memory = format!("/var/spool/slurmd/job{job_id}/shm");
    mounts.push(mount("tmpfs", &memory));
    mounts
}

/// What a command line says besides what a program needs.
pub(crate) fn arguments(dir: &str, random: &mut Random) -> String {
    let (seed, steps) = (random.int(1, 1_000_000_000), random.int(100, 500_000));
    let digest = random.bits();
    format!(
        " --output {dir}/out --restart-dir {dir}/in --steps {steps} --random-seed {seed} --checkpoint-interval {} --tag {digest:016x}",
        steps / random.int(2, 40)
    )
}
