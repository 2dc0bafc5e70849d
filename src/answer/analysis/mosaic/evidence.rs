//! What classes rest on, and how sure they are.

use crate::math::io_pattern::operation::Direction;

/// What the operations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Traced accesses.
    Dxt,
    /// Bytes by interval of time.
    Heatmap,
    /// First and last access of each file.
    Window,
}

impl Evidence {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dxt => "dxt",
            Self::Heatmap => "heatmap",
            Self::Window => "window",
        }
    }
}

/// First and last access of a record or file in one direction, as far as they tell how sure it is that the bytes lie between them evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Bytes moved.
    pub bytes: i64,
    /// Seconds from first to last access.
    pub length: f64,
    /// Which part of them its processes spent in I/O; None if that is unknown.
    pub busy: Option<f64>,
}

/// What the operations come from, with what confidence depends on.
#[derive(Clone, Debug, PartialEq)]
pub enum Basis {
    /// Traced accesses.
    Dxt,
    /// Bins of so many seconds.
    Heatmap(f64),
    /// Windows of reads and of writes.
    Window([Vec<Window>; 2]),
}

impl Basis {
    /// What it is.
    pub fn evidence(&self) -> Evidence {
        match self {
            Self::Dxt => Evidence::Dxt,
            Self::Heatmap(_) => Evidence::Heatmap,
            Self::Window(_) => Evidence::Window,
        }
    }

    /// How sure the classes of a direction are, from 0 to 1: correction c6, for a file that is held open for hours only looks steady. None for a direction
    /// without bytes in any window. `total`: length of the run, seconds.
    ///
    /// # Source
    /// MOSAIC, confidence: 1 for traces; for bins how small they are beside a quarter of the run; for windows the share of bytes in those that are
    /// shorter than a quarter, or at least half busy.
    pub fn confidence(&self, direction: Direction, total: f64) -> Option<f64> {
        let quarter = total / 4.0;
        match self {
            Self::Dxt => Some(1.0),
            Self::Heatmap(width) if quarter > 0.0 => Some((1.0 - width / quarter).max(0.0)),
            Self::Heatmap(_) => Some(0.0),
            Self::Window(windows) => {
                // A sum of none by `sum` is -0.
                let sum = |windows: &mut dyn Iterator<Item = &Window>| {
                    windows.fold(0.0, |sum, window| sum + window.bytes as f64)
                };
                let windows = &windows[direction as usize];
                let is_sure = |window: &&Window| {
                    window.length < quarter || window.busy.is_some_and(|busy| busy >= 0.5)
                };
                let all = sum(&mut windows.iter());
                let sure = sum(&mut windows.iter().filter(is_sure));
                (all > 0.0).then(|| sure / all)
            }
        }
    }
}
