//! Local time of a zone as moments: one rule for every source that prints times without a zone.
//!
//! | local time | moments |
//! |---|---|
//! | any other | one |
//! | in the hour that comes twice, when clocks are set back | two; what stands around the time decides |
//! | in the hour that clocks leap over | none: no clock of the zone ever showed it, so the time is not known and is counted |

use chrono::{DateTime, LocalResult, TimeZone};
use chrono_tz::Tz;

/// The moments that a local time is, seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moments {
    /// The zone does not have this local time.
    None,
    One(i64),
    /// The earlier and the later.
    Two(i64, i64),
}

/// Turns local times of one zone into moments; the zone's rules are asked once for each hour.
#[derive(Debug)]
pub(super) struct LocalTime {
    zone: Tz,
    /// Whole hours of local time in which the offset from UTC does not change, with that offset in seconds; by hour.
    offsets: Vec<(i64, i64)>,
}

/// Hours that are remembered.
const HOURS: usize = 64;

impl LocalTime {
    pub(super) fn new(zone: Tz) -> Self {
        Self {
            zone,
            offsets: vec![(i64::MIN, 0); HOURS],
        }
    }

    /// The moments of a local time, which is given as seconds since 1970-01-01 00:00 of the zone.
    pub(super) fn moments(&mut self, local: i64) -> Moments {
        let hour = local.div_euclid(3600);
        let slot = hour.rem_euclid(HOURS as i64) as usize;
        if self.offsets[slot].0 == hour {
            return Moments::One(local - self.offsets[slot].1);
        }
        // Changes of the clock lie on quarters of an hour, everywhere and always since 1970.
        let quarters = (hour * 3600..hour * 3600 + 3600).step_by(900);
        let mut offsets = quarters.map(|quarter| match self.look_up(quarter) {
            Moments::One(moment) => Some(quarter - moment),
            _ => None,
        });
        match offsets.next().flatten() {
            Some(offset) if offsets.all(|other| other == Some(offset)) => {
                self.offsets[slot] = (hour, offset);
                Moments::One(local - offset)
            }
            _ => self.look_up(local),
        }
    }

    fn look_up(&self, local: i64) -> Moments {
        let Some(naive) = DateTime::from_timestamp(local, 0) else {
            return Moments::None;
        };
        match self.zone.from_local_datetime(&naive.naive_utc()) {
            LocalResult::None => Moments::None,
            LocalResult::Single(time) => Moments::One(time.timestamp()),
            LocalResult::Ambiguous(a, b) => {
                let (a, b) = (a.timestamp(), b.timestamp());
                Moments::Two(a.min(b), a.max(b))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds since 1970 of a local time, as `date -u -d TIME +%s` prints them.
    fn local(text: &str) -> i64 {
        let time = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap();
        time.and_utc().timestamp()
    }

    #[test]
    fn a_local_time_is_none_one_or_two_moments() {
        // Clocks go forward at 2018-03-11 10:00 UTC = 1520762400 and back at 2018-11-04 09:00 UTC = 1541322000.
        let mut pacific = LocalTime::new(chrono_tz::America::Los_Angeles);
        for (text, moments) in [
            ("2018-03-11 01:59:59", Moments::One(1_520_762_399)),
            ("2018-03-11 02:00:00", Moments::None),
            ("2018-03-11 02:59:59", Moments::None),
            ("2018-03-11 03:00:00", Moments::One(1_520_762_400)),
            ("2018-11-04 00:59:59", Moments::One(1_541_318_399)),
            (
                "2018-11-04 01:00:00",
                Moments::Two(1_541_318_400, 1_541_322_000),
            ),
            (
                "2018-11-04 01:59:59",
                Moments::Two(1_541_321_999, 1_541_325_599),
            ),
            ("2018-11-04 02:00:00", Moments::One(1_541_325_600)),
        ] {
            // Twice: what was remembered changes nothing.
            assert_eq!(pacific.moments(local(text)), moments, "{text}");
            assert_eq!(pacific.moments(local(text)), moments, "{text}");
        }
    }

    #[test]
    fn offsets_of_parts_of_an_hour_and_changes_within_one_are_right() {
        let mut kolkata = LocalTime::new(chrono_tz::Asia::Kolkata);
        assert_eq!(
            kolkata.moments(local("2018-01-28 05:30:00")),
            Moments::One(1_517_097_600)
        );
        // Lord Howe Island goes forward by half an hour at 02:00, 2018-10-06 15:30 UTC = 1538839800.
        let mut island = LocalTime::new(chrono_tz::Australia::Lord_Howe);
        assert_eq!(
            island.moments(local("2018-10-07 01:59:59")),
            Moments::One(1_538_839_799)
        );
        assert_eq!(island.moments(local("2018-10-07 02:15:00")), Moments::None);
        assert_eq!(
            island.moments(local("2018-10-07 02:30:00")),
            Moments::One(1_538_839_800)
        );
    }
}
