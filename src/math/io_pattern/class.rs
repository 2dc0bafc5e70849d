//! The classes of a direction, and their names.

use super::operation::Direction;

/// What one direction's I/O is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Most bytes in the first quarter of the run.
    OnStart,
    /// Hardly any bytes in the first quarter, and as many in the others.
    AfterStart,
    /// Most bytes in the last quarter.
    OnEnd,
    /// Hardly any bytes in the last quarter, and as many in the others.
    BeforeEnd,
    /// In first and last quarter alike, hardly any between.
    OnStartAndOnEnd,
    /// Hardly any in first and last quarter.
    AfterStartBeforeEnd,
    /// All quarters alike.
    Steady,
    /// None of those before.
    UnclearPattern,
    /// Too few bytes, opens and seeks to be looked at.
    Insignificant,
    /// Most segments are repetitions.
    Periodic,
    /// With a period of up to 30 seconds.
    PeriodicS,
    /// With a period of up to 30 minutes.
    PeriodicMin,
    /// With a period of up to 12 hours.
    PeriodicH,
    /// With a longer period.
    PeriodicDayOrMore,
    /// At most a quarter of the period is I/O.
    PeriodicLowBusyTime,
    /// At least three quarters of the period are I/O.
    PeriodicHighBusyTime,
}

impl Class {
    /// Its name without the direction.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnStart => "on_start",
            Self::AfterStart => "after_start",
            Self::OnEnd => "on_end",
            Self::BeforeEnd => "before_end",
            Self::OnStartAndOnEnd => "on_start_and_on_end",
            Self::AfterStartBeforeEnd => "after_start_before_end",
            Self::Steady => "steady",
            Self::UnclearPattern => "unclear_pattern",
            Self::Insignificant => "insignificant",
            Self::Periodic => "periodic",
            Self::PeriodicS => "periodic_s",
            Self::PeriodicMin => "periodic_min",
            Self::PeriodicH => "periodic_h",
            Self::PeriodicDayOrMore => "periodic_day_or_more",
            Self::PeriodicLowBusyTime => "periodic_low_busy_time",
            Self::PeriodicHighBusyTime => "periodic_high_busy_time",
        }
    }

    /// Its name with the direction, as in `read_on_start`.
    pub fn full_name(self, direction: Direction) -> String {
        format!("{}{}", direction.prefix(), self.name())
    }
}
