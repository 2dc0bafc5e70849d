//! Whether a direction repeats itself.

use super::class::Class;
use super::group::Group;
use super::segment::Segment;

/// Seconds up to which a period counts as one of seconds, minutes, hours.
const LIMITS: [(f64, Class); 3] = [
    (30.0, Class::PeriodicS),
    (1800.0, Class::PeriodicMin),
    (43_200.0, Class::PeriodicH),
];

/// A direction that repeats itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Seconds from one repetition to the next.
    pub seconds: f64,
    /// Which part of them is I/O.
    pub busy: f64,
}

impl Period {
    /// That of segments that come at equal distances: the part that is I/O is that of the time up to the last one, after which none is known to follow.
    pub fn of_train(segments: &[Segment]) -> Option<Self> {
        let (last, before) = segments.split_last()?;
        let seconds = last.start - before.first()?.start;
        let work: f64 = before.iter().map(Segment::work).sum();
        Some(Self {
            seconds: seconds / before.len() as f64,
            busy: match seconds > 0.0 {
                true => work / seconds,
                false => 0.0,
            },
        })
    }

    /// Its classes, in the order in which they are given.
    pub fn classes(&self) -> Vec<Class> {
        let limit = LIMITS.iter().find(|(limit, _)| self.seconds <= *limit);
        let length = limit.map_or(Class::PeriodicDayOrMore, |(_, class)| *class);
        let mut classes = vec![Class::Periodic, length];
        if self.busy <= 0.25 {
            classes.push(Class::PeriodicLowBusyTime);
        }
        if self.busy >= 0.75 {
            classes.push(Class::PeriodicHighBusyTime);
        }
        classes
    }
}

/// The period of groups, mode `reference`; None if most segments are no repetitions.
///
/// # Source
/// MOSAIC, periodicity. In mode `full` correction c8 stands for it: [`super::train`].
pub fn period(groups: &[Group]) -> Option<Period> {
    let repeated = || groups.iter().filter(|group| group.segments > 1);
    let single = groups.len() - repeated().count();
    let n: usize = repeated().map(|group| group.segments).sum();
    if n <= 3 * single {
        return None;
    }
    let start = repeated().map(|group| group.start).reduce(f64::min)?;
    let end = repeated().map(|group| group.end).reduce(f64::max)?;
    let busy = repeated().map(|group| match group.period > 0.0 {
        true => group.segments as f64 * group.work / group.period,
        false => 0.0,
    });
    Some(Period {
        seconds: (end - start) / n as f64,
        busy: busy.sum::<f64>() / n as f64,
    })
}
