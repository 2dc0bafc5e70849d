//! What a program of the month of periods writes, and what its log tells of it. Data alone; the names of variants are those of truth.json.

use serde::Serialize;
use serde_json::{Value, json};

/// When a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rhythm {
    /// A checkpoint after each period.
    Checkpoints,
    /// Large checkpoints with one period, and small ones with another.
    TwoPeriods,
    /// As many bytes at moments that were drawn from the whole run: no period.
    AnyTime,
    /// The same within the first tenth of the run: no period.
    AtStart,
    /// Few bytes at a time, all the time: no period.
    Stream,
}

/// What the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// First and last access of a file for each checkpoint.
    Files,
    /// First and last access of one file that is held open.
    HeldOpen,
    /// The same, and bytes by interval of time.
    Heatmap,
    /// The same, and each request.
    Dxt,
}

impl Told {
    pub(crate) const ALL: [Self; 4] = [Self::Files, Self::HeldOpen, Self::Heatmap, Self::Dxt];
}

/// A job of the month of periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repeats {
    pub(crate) rhythm: Rhythm,
    /// Checkpoints, the large ones where there are two kinds, or bursts without a period.
    pub(crate) bursts: i64,
    /// Standard deviation by which a checkpoint is off its time, as a part of the period.
    pub(crate) jitter: f64,
    /// Which part of all bytes goes into a file that is written all the time.
    pub(crate) stream: Option<f64>,
    pub(crate) told: Told,
    /// Seconds from checkpoint to checkpoint; the mean of them where there is no period.
    pub(crate) period: f64,
    /// Seconds from small checkpoint to small checkpoint.
    pub(crate) second_period: Option<f64>,
}

impl Repeats {
    /// What truth.json says of it.
    pub(crate) fn truth(&self) -> Value {
        let is_periodic = matches!(self.rhythm, Rhythm::Checkpoints | Rhythm::TwoPeriods);
        let first = is_periodic.then_some(self.period);
        json!({
            "rhythm": self.rhythm,
            "bursts": self.bursts,
            "jitter": self.jitter,
            "stream": self.stream,
            "told_by": self.told,
            "periods": first.into_iter().chain(self.second_period).collect::<Vec<_>>(),
        })
    }
}
