//! What MOSAIC's classes cost, log by log.

use cpu_time::ThreadTime;
use iolode::Error;
use iolode::answer::analysis::mosaic::evidence::Evidence;
use iolode::answer::analysis::mosaic::{LogRows, Mode, Options, of_log};
use iolode::source::Input;
use std::path::Path;

/// Times that a log's classes are found; the fastest counts, so that what else runs on the machine does not.
const TIMES: usize = 3;

/// CPU microseconds of the classes of every log below a directory, reading the log apart: in the median over all of them, over those that rest on traces or bins,
/// and of the slowest.
pub(crate) fn mosaic(directory: &Path, mode: &str) -> iolode::Result<String> {
    let mode = [Mode::Reference, Mode::Full]
        .into_iter()
        .find(|known| known.name() == mode)
        .ok_or_else(|| Error::unknown("mode", mode, ["reference", "full"]))?;
    let options = Options::default();
    let (mut all, mut traced, mut refused, mut with_classes) = (vec![], vec![], 0, 0);
    for entry in walkdir::WalkDir::new(directory).into_iter().flatten() {
        let is_file = entry.file_type().is_file();
        let input = is_file.then(|| Input::open(entry.path())).transpose()?;
        let Some(input) = input else { continue };
        let Ok((rows, _)) = LogRows::of_input(&input) else {
            refused += 1;
            continue;
        };
        let (mut fastest, mut evidence) = (f64::INFINITY, None);
        for time in 0..TIMES {
            let begin = ThreadTime::now();
            let mosaic = of_log(&rows, mode, &options);
            fastest = fastest.min(begin.elapsed().as_secs_f64() * 1e6);
            evidence = mosaic.evidence;
            with_classes += usize::from(time == 0 && mosaic.patterns.is_some());
        }
        all.push(fastest);
        if matches!(evidence, Some(Evidence::Dxt | Evidence::Heatmap)) {
            traced.push(fastest);
        }
    }
    let slowest = all.iter().copied().fold(0.0, f64::max);
    let sum: f64 = all.iter().sum();
    let (logs, of_traces) = (all.len(), traced.len());
    Ok(format!(
        "{{\"logs\": {logs}, \"with_classes\": {with_classes}, \"refused\": {refused}, \"median_us\": {:.1}, \"mean_us\": {:.1}, \"slowest_us\": {slowest:.1}, \
         \"traced\": {of_traces}, \"median_traced_us\": {:.1}}}",
        median(&mut all),
        sum / logs.max(1) as f64,
        median(&mut traced),
    ))
}

/// The middle one; 0 of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
