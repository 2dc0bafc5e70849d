//! The time zone of what is typed.

use super::period::zone;
use super::query_args::QueryArgs;
use super::session::named;
use crate::error::Error;
use crate::lake::Lake;
use chrono_tz::Tz;

/// The time zone of dates on the command line: the one asked for, else that of the first lake, else UTC.
///
/// # Errors
/// Those of the lake, and of a name that is no zone.
pub(super) fn site_zone(ask: &QueryArgs) -> anyhow::Result<Tz> {
    Ok(match (&ask.timezone, ask.lake.first()) {
        (Some(name), _) => zone(name).map_err(Error::Invalid)?,
        (None, Some(lake)) => {
            let lake = Lake::open(named(lake).1)?;
            lake.version_or(ask.version, None)?.site()?.zone()?
        }
        (None, None) => Tz::UTC,
    })
}
