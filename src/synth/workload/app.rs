//! The programs of the month: who they are, how often they run, and how they do I/O.

/// How a program lays out its I/O; `shape` has a function for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Time steps into shared HDF5 files.
    Hdf5Steps,
    /// Time steps into shared PnetCDF files.
    PnetcdfSteps,
    /// Shared files, each process for itself through MPI-IO.
    Configurations,
    /// One file for each process.
    PrivateFiles,
    /// Files shared by groups of processes.
    Groups,
    /// Files that a process writes and reads back.
    Scratch,
    /// Trajectories of replicas, with text logs.
    Trajectories,
    /// Shared files through POSIX.
    SharedFiles,
    /// One process reads many files and writes a few.
    ManyFiles,
}

/// Interface that a job uses for its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    Posix,
    Independent,
    Collective,
}

/// Size of a job by processes, as the paper's figure 10 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 1.
    One,
    /// 2 to 1,024.
    Small,
    /// 1,025 to 8,192.
    Medium,
    /// More.
    Large,
}

/// What part of a job's bytes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ratio {
    WriteOnly,
    /// Under 90 %.
    Mixed,
    /// 90 % and more.
    MostlyRead,
    ReadOnly,
}

/// A program, and its jobs among [`BLOCK`].
pub(crate) struct App {
    /// Name of the program; empty: one of the many that run now and then.
    pub(crate) name: &'static str,
    /// Command line; `{user}` and `{run}` are filled in.
    pub(crate) command: &'static str,
    pub(crate) shape: Shape,
    /// Whether it may write several logs for a job side by side, without MPI.
    pub(crate) forks: bool,
    /// Jobs by size and interface.
    pub(crate) jobs: &'static [(Class, Interface, u64)],
    /// Jobs by [`Ratio`], in its order.
    pub(crate) ratios: [u64; 4],
    /// Jobs whose share of consecutive requests is under 50 %, from 50 to 80 %, above 80 %.
    pub(crate) consecutive: [u64; 3],
    /// Bytes that a job moves, from the smallest to the largest.
    pub(crate) bytes: (f64, f64),
    /// Typical sizes of a request, smallest and largest.
    pub(crate) requests: (f64, f64),
}

impl App {
    /// Its jobs among [`BLOCK`].
    pub(crate) fn count(&self) -> u64 {
        self.jobs.iter().map(|(_, _, count)| count).sum()
    }
}

/// Jobs after which the mixture repeats: the counts of [`APPS`] sum to it.
pub(crate) const BLOCK: u64 = 1000;

use Class::{Large, Medium, One, Small};
use Interface::{Collective, Independent, Posix};

const GB: f64 = 1e9;
const TB: f64 = 1e12;
const KIB: f64 = 1024.0;
const MIB: f64 = 1048576.0;

/// Every program. Counts, ratios and shares are set so that a block has the distributions of the paper's figures 5 to 8
/// and 10: top ten programs near 72 % of the bytes read and 76 % of those written; 7 % of jobs write only, 23 % read
/// only, 53 % read over 90 %; 10 % have under half of their requests consecutive and half of them over 80 %; MPI-IO in
/// 1.2 % of jobs of one process, 0.4 % of small, 22.2 % of medium and 45.9 % of large ones, mostly collective.
pub(crate) const APPS: &[App] = &[
    App {
        name: "plasma_pic",
        command: "/home/{user}/bin/plasma_pic -in deck_{run}.nml -restart auto",
        shape: Shape::Hdf5Steps,
        forks: false,
        jobs: &[
            (Medium, Collective, 14),
            (Medium, Posix, 4),
            (Large, Collective, 9),
        ],
        ratios: [8, 12, 5, 2],
        consecutive: [3, 14, 10],
        bytes: (20.0 * GB, 8.0 * TB),
        requests: (MIB, 16.0 * MIB),
    },
    App {
        name: "clim_ocean",
        command: "/home/{user}/clim/bin/clim_ocean namelist.{run} --tile 12x24",
        shape: Shape::PnetcdfSteps,
        forks: false,
        jobs: &[
            (One, Collective, 1),
            (One, Independent, 2),
            (Small, Collective, 1),
            (Small, Independent, 1),
            (Small, Posix, 20),
            (Medium, Collective, 8),
            (Large, Collective, 4),
        ],
        ratios: [1, 20, 13, 3],
        consecutive: [3, 16, 18],
        bytes: (2.0 * GB, 7.0 * TB),
        requests: (256.0 * KIB, 8.0 * MIB),
    },
    App {
        name: "lattice_qcd",
        command: "/home/{user}/qcd/lattice_qcd --ensemble b{run} --props 12",
        shape: Shape::Configurations,
        forks: false,
        jobs: &[
            (Small, Posix, 10),
            (Medium, Independent, 8),
            (Large, Independent, 4),
        ],
        ratios: [1, 6, 9, 6],
        consecutive: [2, 8, 12],
        bytes: (8.0 * GB, 12.0 * TB),
        requests: (128.0 * KIB, 4.0 * MIB),
    },
    App {
        name: "cosmo_nbody",
        command: "/scratch/{user}/cosmo/cosmo_nbody params.{run} 1",
        shape: Shape::PrivateFiles,
        forks: false,
        jobs: &[(Medium, Posix, 25), (Large, Posix, 10)],
        ratios: [8, 17, 7, 3],
        consecutive: [1, 8, 26],
        bytes: (20.0 * GB, 8.0 * TB),
        requests: (512.0 * KIB, 16.0 * MIB),
    },
    App {
        name: "storm_les",
        command: "/home/{user}/les/storm_les -case {run} -nx 2048",
        shape: Shape::Groups,
        forks: false,
        jobs: &[(Small, Posix, 40), (Medium, Posix, 25)],
        ratios: [2, 23, 28, 12],
        consecutive: [6, 30, 29],
        bytes: (1.0 * GB, 4.0 * TB),
        requests: (16.0 * KIB, 4.0 * MIB),
    },
    App {
        name: "quantum_dft",
        command: "/sw/chem/7.2/quantum_dft -i molecule_{run}.in",
        shape: Shape::Scratch,
        forks: false,
        jobs: &[(Small, Posix, 80), (Medium, Posix, 10)],
        ratios: [4, 56, 26, 4],
        consecutive: [32, 46, 12],
        bytes: (0.2 * GB, 1.8 * TB),
        requests: (2.0 * KIB, 512.0 * KIB),
    },
    App {
        name: "md_fold",
        command: "/sw/md/2025.1/md_fold run -s topol_{run}.tpr -maxh 12",
        shape: Shape::Trajectories,
        forks: false,
        jobs: &[(One, Posix, 10), (Small, Posix, 70)],
        ratios: [10, 50, 15, 5],
        consecutive: [2, 26, 52],
        bytes: (0.05 * GB, 1.6 * TB),
        requests: (8.0 * KIB, 1.0 * MIB),
    },
    App {
        name: "seismic_rtm",
        command: "/home/{user}/rtm/seismic_rtm shots_{run}.par",
        shape: Shape::Groups,
        forks: false,
        jobs: &[(Small, Posix, 30), (Medium, Posix, 15), (Large, Posix, 4)],
        ratios: [2, 12, 21, 14],
        consecutive: [6, 25, 18],
        bytes: (2.0 * GB, 6.0 * TB),
        requests: (64.0 * KIB, 8.0 * MIB),
    },
    App {
        name: "genome_asm",
        command: "/sw/bio/genome_asm --reads batch{run} --k 63",
        shape: Shape::ManyFiles,
        forks: true,
        jobs: &[(One, Posix, 60)],
        ratios: [1, 14, 30, 15],
        consecutive: [6, 24, 30],
        bytes: (0.1 * GB, 1.5 * TB),
        requests: (4.0 * KIB, 1.0 * MIB),
    },
    App {
        name: "train_net.py",
        command: "/usr/bin/python3 /home/{user}/ml/train_net.py --data shards{run} --epochs 12",
        shape: Shape::ManyFiles,
        forks: true,
        jobs: &[(One, Posix, 45)],
        ratios: [0, 5, 20, 20],
        consecutive: [13, 20, 12],
        bytes: (0.5 * GB, 2.2 * TB),
        requests: (16.0 * KIB, 1.0 * MIB),
    },
    App {
        name: "flame_dns",
        command: "/home/{user}/flame/flame_dns -f input_{run}",
        shape: Shape::SharedFiles,
        forks: false,
        jobs: &[(Medium, Posix, 16), (Large, Posix, 6)],
        ratios: [6, 11, 4, 1],
        consecutive: [6, 10, 6],
        bytes: (10.0 * GB, 6.5 * TB),
        requests: (64.0 * KIB, 4.0 * MIB),
    },
    App {
        name: "post_hist.py",
        command: "/usr/bin/python3 /home/{user}/tools/post_hist.py /scratch/{user}/out{run}",
        shape: Shape::ManyFiles,
        forks: false,
        jobs: &[(One, Posix, 40), (Small, Posix, 30)],
        ratios: [0, 8, 27, 35],
        consecutive: [8, 30, 32],
        bytes: (0.05 * GB, 1.0 * TB),
        requests: (4.0 * KIB, 4.0 * MIB),
    },
    App {
        name: "",
        command: "/home/{user}/{app}/{app} -c {run}.cfg",
        shape: Shape::ManyFiles,
        forks: false,
        jobs: &[(One, Posix, 110), (Small, Posix, 278), (Medium, Posix, 10)],
        ratios: [27, 166, 95, 110],
        consecutive: [12, 143, 243],
        bytes: (0.01 * GB, 3.0 * TB),
        requests: (1.0 * KIB, 4.0 * MIB),
    },
];

/// Programs of the last entry of [`APPS`], by number.
pub(crate) const OTHERS: u64 = 160;

/// Name of the program number `other` among those that run now and then.
pub(crate) fn other_name(other: u64) -> String {
    const FIRST: [&str; 10] = ["ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "vu", "ze"];
    const LAST: [&str; 8] = ["dyn", "flow", "fit", "grid", "mesh", "mc", "sim", "spec"];
    let (first, last) = (
        FIRST[(other % 10) as usize],
        LAST[(other / 10 % 8) as usize],
    );
    let suffix = if other >= 80 { "2" } else { "" };
    format!("{first}{last}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_counts_sums_to_a_block() {
        let sum = |of: fn(&App) -> u64| APPS.iter().map(of).sum::<u64>();
        assert_eq!(sum(App::count), BLOCK);
        for app in APPS {
            assert_eq!(
                app.count(),
                app.ratios.iter().sum::<u64>(),
                "{}: ratios",
                app.name
            );
            assert_eq!(
                app.count(),
                app.consecutive.iter().sum::<u64>(),
                "{}: consecutive",
                app.name
            );
        }
    }

    #[test]
    fn sizes_and_interfaces_are_those_of_figure_10() {
        let count = |class: Class, interface: Option<Interface>| -> f64 {
            let jobs = APPS.iter().flat_map(|app| app.jobs);
            let of = jobs.filter(|(c, i, _)| {
                *c == class && interface.is_none_or(|interface| *i == interface)
            });
            of.map(|(_, _, count)| *count as f64).sum()
        };
        for (class, percent) in [(One, 98.8), (Small, 99.6), (Medium, 77.8), (Large, 54.1)] {
            let share = 100.0 * count(class, Some(Posix)) / count(class, None);
            assert!((share - percent).abs() < 0.15, "{class:?}: {share}");
        }
    }

    #[test]
    fn read_ratios_and_consecutive_shares_are_those_of_figures_7_and_8() {
        let ratios: Vec<u64> = (0..4)
            .map(|i| APPS.iter().map(|app| app.ratios[i]).sum())
            .collect();
        assert_eq!(ratios, [70, 400, 300, 230]);
        let consecutive: Vec<u64> = (0..3)
            .map(|i| APPS.iter().map(|app| app.consecutive[i]).sum())
            .collect();
        assert_eq!(consecutive, [100, 400, 500]);
    }

    #[test]
    fn the_other_programs_have_names_of_their_own() {
        let names: std::collections::BTreeSet<String> = (0..OTHERS).map(other_name).collect();
        assert_eq!(names.len() as u64, OTHERS);
    }
}
