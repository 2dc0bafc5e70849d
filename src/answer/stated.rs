//! What an answer is about, in words: the period, the zone of its times, the lakes at their versions, and the parameters.

use super::answer::{Answer, Block};
use crate::text::{shown, shown_path};

impl Answer {
    /// What the page is about, by its names: the period with its zone, the lakes, and the parameters.
    pub(in crate::answer) fn stated(&self) -> Vec<(String, String)> {
        let mut stated = vec![("Period".to_string(), self.of_period())];
        stated.extend(
            self.zone
                .iter()
                .map(|zone| ("Times in".into(), zone.clone())),
        );
        for lake in &self.lakes {
            let path = lake.path.as_deref().map(shown_path);
            let name = path.unwrap_or_else(|| shown(&lake.name).into_owned());
            stated.push(("Lake".into(), format!("{name}, version {}", lake.version)));
        }
        let parameters = self.parameters.iter();
        let others = parameters.filter(|param| param.name != "from" && param.name != "to");
        stated.extend(others.map(|param| {
            let value = param.value.as_str().map(|text| shown(text).into_owned());
            (
                param.name.to_string(),
                value.unwrap_or_else(|| param.value.to_string()),
            )
        }));
        stated
    }

    /// The times that are looked at, in words.
    fn of_period(&self) -> String {
        let given = |wanted: &str| {
            let mut parameters = self.parameters.iter();
            parameters
                .find(|param| param.name == wanted)?
                .value
                .as_str()
        };
        match (&self.period, given("from"), given("to")) {
            (Some(period), ..) => format!("{} to {}", period.from, period.to),
            (None, Some(from), _) => format!("{from} and later"),
            (None, None, Some(to)) => format!("before {to}"),
            (None, None, None) => "all times of the lake".into(),
        }
    }

    /// The first block of a report, with what the report is about below what it is for; None of another answer, whose page says it in its own way.
    pub(crate) fn head(&self) -> Option<Block> {
        self.zone.as_ref()?;
        let Some(Block::Text(text)) = self.blocks.first() else {
            return None;
        };
        let about = self.about();
        let (doc, others) = text.lines.split_at(text.lines.len().min(1));
        let lines = [doc, &about, others].concat();
        Some(Block::text(text.title.clone(), lines))
    }

    /// What the answer is about, a line for each name.
    pub(in crate::answer) fn about(&self) -> Vec<String> {
        let stated = self.stated().into_iter();
        stated
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    }
}
