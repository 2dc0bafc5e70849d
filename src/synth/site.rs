//! `site.toml`: what the logs of the month do not say and its site knows.

use crate::synth::system::{DEFAULT_STRIPE, FILE_SYSTEMS};
use chrono::{DateTime, NaiveDateTime};
use std::fmt::Write;

/// Zone of the site: the stamps of LMT and the times of sacct are in it. Noon in UTC, when the month is busiest, is two in the afternoon there.
pub(crate) const ZONE: chrono_tz::Tz = chrono_tz::Europe::Berlin;
/// Name of the cluster.
pub(crate) const CLUSTER: &str = "synth";

/// A moment, seconds since 1970, as the clocks of the site show it.
pub(crate) fn local(seconds: i64) -> NaiveDateTime {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.with_timezone(&ZONE).naive_local()
}

/// The text of `site.toml`.
pub(crate) fn text() -> String {
    let mut text =
        format!("# The site of a synthetic month.\ncluster = '{CLUSTER}'\ntimezone = '{ZONE}'\n");
    let (size, count) = DEFAULT_STRIPE;
    for fs in &FILE_SYSTEMS {
        let (mount, name, lmt) = (fs.mount, fs.name, fs.lmt);
        let _ = write!(
            text,
            "\n[[mount]]\npath = '{mount}'\nfs = '{name}'\nlmt = '{lmt}'\nosts = '0-{}'\nstripe_size = {size}\nstripe_count = {count}\n",
            fs.osts - 1
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_says_what_lmt_calls_each_mount() {
        let site: toml::Table = text().parse().unwrap();
        assert_eq!(site["timezone"].as_str(), Some("Europe/Berlin"));
        let mounts = site["mount"].as_array().unwrap();
        let names: Vec<_> = (mounts.iter())
            .map(|m| (m["path"].as_str().unwrap(), m["lmt"].as_str().unwrap()))
            .collect();
        assert_eq!(names, [("/scratch", "synscr"), ("/home", "synhom")]);
    }
}
