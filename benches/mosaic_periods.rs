//! Which planted periods MOSAIC finds, and how often it finds one where there is none: both modes on the same logs.

use iolode::Error;
use iolode::answer::analysis::mosaic::io_pattern::operation::Direction;
use iolode::answer::analysis::mosaic::{LogRows, Mode, Options, of_log};
use iolode::source::InputProvider;
use iolode::synth::{GeneratedInputs, Kind, Month};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What logs hold, in the order of the columns.
const TOLD_BY: [&str; 4] = ["files", "held_open", "heatmap", "dxt"];

/// Logs of a kind: how many there are, how many have the class periodic, and how many of these a period within a tenth of one that is planted. For each mode.
#[derive(Clone, Copy, Default)]
struct Tally {
    logs: u64,
    found: [u64; 2],
    right: [u64; 2],
}

/// A month of periods of so many jobs, as two tables in Markdown: what is found of checkpoints, and where there are none.
pub(crate) fn periods(jobs: u64, seed: u64) -> iolode::Result<String> {
    let month = Month::of(Kind::Periods, jobs, seed);
    let root = Path::new("/synth");
    let inputs = GeneratedInputs::new(&month, root, 2, &|_| ())?;
    let truth: Value =
        serde_json::from_str(inputs.truth()).map_err(|e| Error::Invalid(e.to_string()))?;
    let mut kinds: Vec<String> = vec![];
    let mut tallies: BTreeMap<(String, &str), Tally> = BTreeMap::new();
    for job in truth["jobs"].as_array().into_iter().flatten() {
        let input = inputs.open(&root.join(job["log"].as_str().unwrap_or_default()))?;
        let (rows, _) = LogRows::of_input(&input)?;
        let kind = kind(job);
        if !kinds.contains(&kind) {
            kinds.push(kind.clone());
        }
        let told = TOLD_BY.into_iter().find(|told| job["told_by"] == *told);
        let tally = tallies.entry((kind, told.unwrap_or_default())).or_default();
        tally.logs += 1;
        for (at, mode) in [Mode::Full, Mode::Reference].into_iter().enumerate() {
            let mosaic = of_log(&rows, mode, &Options::default());
            let found = mosaic.pattern(Direction::Write).and_then(|p| p.period);
            let planted = job["periods"].as_array().into_iter().flatten();
            let is_right = |period: f64| {
                let mut near = planted.filter_map(Value::as_f64);
                near.any(|planted| (period / planted - 1.0).abs() <= 0.1)
            };
            tally.found[at] += u64::from(found.is_some());
            tally.right[at] += u64::from(found.is_some_and(|found| is_right(found.seconds)));
        }
    }
    let part = |of: u64, all: u64| format!("{:.0}", 100.0 * of as f64 / all.max(1) as f64);
    let mut text = String::new();
    for is_planted in [true, false] {
        let columns = TOLD_BY.map(|told| format!("{told}: full | reference"));
        let _ = writeln!(
            text,
            "| % of logs | logs of each | {} |",
            columns.join(" | ")
        );
        let _ = writeln!(text, "|{}", "---|".repeat(2 + 2 * TOLD_BY.len()));
        let mut sums = [[0u64; 3]; 4];
        for kind in kinds
            .iter()
            .filter(|kind| kind.starts_with("k = ") == is_planted)
        {
            let _ = write!(text, "| {kind} ");
            for (at, told) in TOLD_BY.into_iter().enumerate() {
                let tally = tallies
                    .get(&(kind.clone(), told))
                    .copied()
                    .unwrap_or_default();
                if at == 0 {
                    let _ = write!(text, "| {} ", tally.logs);
                }
                sums[at][0] += tally.logs;
                for mode in 0..2 {
                    sums[at][1 + mode] += tally.found[mode];
                    let found = part(tally.found[mode], tally.logs);
                    let right = part(tally.right[mode], tally.logs);
                    let _ = match is_planted {
                        true => write!(text, "| {found} ({right}) "),
                        false => write!(text, "| {found} "),
                    };
                }
            }
            text.push_str("|\n");
        }
        if !is_planted {
            let _ = write!(text, "| all, of 1,000 | {} ", sums[0][0]);
            for [logs, full, reference] in sums {
                let of = |found: u64| 1000.0 * found as f64 / logs.max(1) as f64;
                let _ = write!(text, "| {:.1} | {:.1} ", of(full), of(reference));
            }
            text.push_str("|\n");
        }
        text.push('\n');
    }
    Ok(text)
}

/// What is planted, in a few words: those with checkpoints begin with their number.
fn kind(job: &Value) -> String {
    let (bursts, jitter) = (&job["bursts"], job["jitter"].as_f64().unwrap_or(0.0));
    let beside = match job["stream"].is_null() {
        true => "",
        false => ", stream",
    };
    let jitter = format!("jitter {:.0} %", 100.0 * jitter);
    match job["rhythm"].as_str().unwrap_or_default() {
        "checkpoints" => format!("k = {bursts}, {jitter}{beside}"),
        "two_periods" => format!("k = {bursts} large, small beside, {jitter}"),
        "any_time" => format!("{bursts} at any time{beside}"),
        "at_start" => format!("{bursts} in the first tenth"),
        other => other.replace('_', " "),
    }
}
