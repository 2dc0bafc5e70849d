//! Lists of OSTs as people write them.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// OST indexes in the order given, each once: `0-247`, `0-7,12`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OstSet(pub Vec<i64>);

impl FromStr for OstSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("`{text}` is not a list of OSTs; expected numbers and ranges, such as `0-7,12`")
        };
        let number = |text: &str| {
            let number = text.trim().parse::<i64>().ok();
            number.filter(|n| (0..65_536).contains(n))
        };
        let mut list = vec![];
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = number(from)
                .zip(number(to))
                .filter(|(from, to)| from <= to)
                .ok_or_else(expected)?;
            let new: Vec<i64> = (from..=to).filter(|ost| !list.contains(ost)).collect();
            list.extend(new);
        }
        Ok(Self(list))
    }
}

impl TryFrom<String> for OstSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<OstSet> for String {
    /// Runs of following indexes become ranges.
    fn from(list: OstSet) -> Self {
        let runs = list.0.chunk_by(|a, b| a + 1 == *b);
        let shown = runs.filter_map(|run| match run {
            [one] => Some(one.to_string()),
            run => Some(format!("{}-{}", run.first()?, run.last()?)),
        });
        shown.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_osts_are_numbers_and_ranges() {
        let list = |text: &str| text.parse::<OstSet>().map(|list| list.0);
        assert_eq!(list("0-3,12, 7"), Ok(vec![0, 1, 2, 3, 12, 7]));
        assert_eq!(list("5,4-6"), Ok(vec![5, 4, 6]));
        for text in ["", "a", "3-1", "-1", "1,,2", "1-", "65536"] {
            assert!(list(text).is_err(), "{text}");
        }
        assert_eq!(
            String::from("0-3,12,7".parse::<OstSet>().unwrap()),
            "0-3,12,7"
        );
    }
}
