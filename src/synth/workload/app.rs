//! The programs of the month: who they are, how often they run, and how they do I/O.

use serde::Deserialize;
use std::sync::LazyLock;

/// Every program: `apps.toml`. The last entry stands for the many that run now and then.
pub(crate) static APPS: LazyLock<Vec<App>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        app: Vec<App>,
    }
    let file: File = toml::from_str(include_str!("apps.toml")).expect("apps.toml has apps");
    file.app
});

/// Jobs after which the mixture repeats: the counts of [`APPS`] sum to it.
pub(crate) const BLOCK: u64 = 1000;

/// A program, and its jobs among [`BLOCK`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct App {
    /// Name of the program; empty: one of the many that run now and then.
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) shape: Shape,
    #[serde(default)]
    pub(crate) forks: bool,
    pub(crate) jobs: Vec<(Class, Interface, u64)>,
    pub(crate) ratios: [u64; 4],
    pub(crate) consecutive: [u64; 3],
    pub(crate) bytes: (f64, f64),
    pub(crate) requests: (f64, f64),
}

/// How a program lays out its I/O; `shape` has a function for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Interface {
    Posix,
    Independent,
    Collective,
}

/// Size of a job by processes, as the paper's figure 10 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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

/// Programs of the last entry of [`APPS`], by number.
pub(crate) const OTHERS: u64 = 160;

impl App {
    /// Its jobs among [`BLOCK`].
    pub(crate) fn count(&self) -> u64 {
        self.jobs.iter().map(|(_, _, count)| count).sum()
    }

    /// The app of this name.
    pub(crate) fn named(name: &str) -> &'static Self {
        let found = APPS.iter().find(|app| app.name == name);
        found.unwrap_or(&APPS[0])
    }
}

/// Name of the program number `other` among those that run now and then.
pub(crate) fn other_name(other: u64) -> String {
    const FIRST: [&str; 10] = ["ka", "lo", "mi", "ne", "pu", "ra", "so", "ti", "vu", "ze"];
    const LAST: [&str; 8] = ["dyn", "flow", "fit", "grid", "mesh", "mc", "sim", "spec"];
    let (first, last) = (other as usize % 10, other as usize / 10 % 8);
    let suffix = if other >= 80 { "2" } else { "" };
    format!("{}{}{suffix}", FIRST[first], LAST[last])
}

#[cfg(test)]
mod tests {
    use super::Class::{Large, Medium, One, Small};
    use super::Interface::Posix;
    use super::*;

    #[test]
    fn every_table_of_counts_sums_to_a_block() {
        let sum = |of: fn(&App) -> u64| APPS.iter().map(of).sum::<u64>();
        assert_eq!(sum(App::count), BLOCK);
        for app in &*APPS {
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
            let jobs = APPS.iter().flat_map(|app| &app.jobs);
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
