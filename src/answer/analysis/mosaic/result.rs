//! The classes of a log.

use super::evidence::{Basis, Evidence};
use super::log_rows::LogRows;
use super::metadata::{self, MetadataLoad};
use super::observed::{Execution, Observed};
use super::options::{Mode, Options};
use super::status::Status;
use super::{full, reference};
use crate::math::io_pattern::operation::Direction;
use crate::math::io_pattern::pattern::{Pattern, Run, TooMany, pattern};

/// The classes of a log, with what they rest on.
#[derive(Clone, Debug, PartialEq)]
pub struct Mosaic {
    /// How it was looked at.
    pub mode: Mode,
    /// Whether there are classes, or why not.
    pub status: Status,
    /// What the operations come from; None where the log holds none.
    pub evidence: Option<Evidence>,
    /// Accesses were traced, but too few of them, so that the classes rest on something else.
    pub partial_trace: bool,
    /// Length of the run, seconds: up to its end or its last access; None without classes.
    pub run_time: Option<f64>,
    /// Bytes of the operations that were read and written; None without classes.
    pub bytes: Option<[i64; 2]>,
    /// Reading and writing; None without classes.
    pub patterns: Option<[Pattern; 2]>,
    /// The load on the metadata servers; None without classes.
    pub metadata: Option<MetadataLoad>,
}

impl Mosaic {
    /// A log without classes.
    fn without(mode: Mode, status: Status) -> Self {
        Self {
            mode,
            status,
            evidence: None,
            partial_trace: false,
            run_time: None,
            bytes: None,
            patterns: None,
            metadata: None,
        }
    }

    /// What a direction does; None without classes.
    pub fn pattern(&self, direction: Direction) -> Option<&Pattern> {
        Some(&self.patterns.as_ref()?[direction as usize])
    }

    /// The classes of a direction, with its prefix; None without classes.
    pub fn class_names(&self, direction: Direction) -> Option<Vec<String>> {
        let classes = &self.pattern(direction)?.classes;
        let names = classes.iter().map(|class| class.full_name(direction));
        Some(names.collect())
    }

    /// The metadata classes; None without classes.
    pub fn metadata_class_names(&self) -> Option<Vec<&'static str>> {
        let classes = &self.metadata.as_ref()?.classes;
        Some(classes.iter().map(|class| class.name()).collect())
    }

    /// Whether it is known which opens and seeks belong to a segment: traces and bins do not say.
    pub(super) fn knows_opens(&self) -> bool {
        !matches!(self.evidence, Some(Evidence::Dxt | Evidence::Heatmap))
    }

    /// How sure the classes are, from 0 to 1: the lesser of both directions, of those that moved bytes; None if none did.
    pub fn confidence(&self) -> Option<f64> {
        let patterns = self.patterns.as_ref()?.iter();
        let known = patterns.filter_map(|pattern| pattern.confidence);
        known.reduce(f64::min)
    }
}

/// The classes of a log.
///
/// # Example
/// ```no_run
/// use iolode::answer::analysis::mosaic::{LogRows, Mode, Options, of_log};
///
/// let (rows, _) = LogRows::of_input(&iolode::source::Input::open("job.darshan")?)?;
/// println!("{}", of_log(&rows, Mode::Full, &Options::default()).to_json());
/// # Ok::<(), iolode::Error>(())
/// ```
pub fn of_log(rows: &LogRows, mode: Mode, options: &Options) -> Mosaic {
    let Some(run) = &rows.run else {
        return Mosaic::without(mode, Status::NoModule);
    };
    let observed = match mode {
        Mode::Reference => reference::observe(rows),
        Mode::Full => full::observe(rows),
    };
    match observed.and_then(|observed| Ok((observed, Execution::of_run(run)?))) {
        Ok((observed, execution)) => of_observed(observed, &execution, mode, options),
        Err(status) => Mosaic::without(mode, status),
    }
}

/// The classes of what is known of a log, wherever it is known from.
pub fn of_observed(
    observed: Observed,
    execution: &Execution,
    mode: Mode,
    options: &Options,
) -> Mosaic {
    let bytes = [0, 1].map(|direction: usize| {
        let bytes = observed.operations[direction].iter().map(|o| o.bytes);
        bytes.fold(0, i64::saturating_add)
    });
    let seen = Mosaic {
        evidence: Some(observed.basis.evidence()),
        partial_trace: observed.partial_trace,
        ..Mosaic::without(mode, Status::Ok)
    };
    match classify(observed, execution, mode, options) {
        Ok((total, patterns, load)) => Mosaic {
            run_time: Some(total),
            bytes: Some(bytes),
            patterns: Some(patterns),
            metadata: Some(load),
            ..seen
        },
        Err(status) => Mosaic { status, ..seen },
    }
}

fn classify(
    observed: Observed,
    execution: &Execution,
    mode: Mode,
    options: &Options,
) -> Result<(f64, [Pattern; 2], MetadataLoad), Status> {
    let total = observed.total(execution)?;
    let run = Run {
        total,
        nprocs: execution.nprocs,
        opens_and_seeks: (0, 0),
        bin: match observed.basis {
            Basis::Heatmap(width) => Some(width),
            _ => None,
        },
        min_bytes: options.min_bytes,
    };
    let [reads, writes] = observed.operations;
    let opens_and_seeks = observed.opens_and_seeks;
    let of = |operations: Vec<_>, direction| {
        let has_bytes = !operations.is_empty();
        let run = Run {
            opens_and_seeks: opens_and_seeks[direction as usize],
            ..run
        };
        let pattern = pattern(operations, run, mode.corrections());
        let mut pattern = pattern.map_err(|TooMany| Status::TooMany)?;
        let confidence = observed.basis.confidence(direction, total);
        pattern.confidence = confidence.filter(|_| has_bytes);
        Ok(pattern)
    };
    let patterns = [of(reads, Direction::Read)?, of(writes, Direction::Write)?];
    let load = metadata::load(&observed.accesses, execution.start, options.spikes);
    Ok((total, patterns, load))
}
