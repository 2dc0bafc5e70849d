//! Named queries on real logs of which somebody else said what they show.

use crate::program::iolode;
use crate::util::shared_data;

/// Darshan's own examples of one bad storage target and of none: file per process, each on one of 24 OSTs.
#[test]
fn the_bad_ost_of_a_real_log_is_named_and_a_good_log_names_none() {
    let Some(data) = shared_data() else { return };
    for (log, slow) in [("sample-badost", vec!["14"]), ("sample-goodost", vec![])] {
        let path = data.join("darshan").join(format!("{log}.darshan"));
        let arguments = ["query", "slow_osts", "--format", "csv", "--logs"];
        let arguments = [&arguments[..], &[path.to_str().unwrap()]].concat();
        let answer = iolode(&data, &arguments).ok();
        let rows: Vec<Vec<&str>> = answer
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 24, "{answer}");
        let named: Vec<&str> = rows
            .iter()
            .filter(|row| row[3] == "true")
            .map(|row| row[1])
            .collect();
        assert_eq!(named, slow, "{log}");
    }
}
