//! A report of which one section is wanted.

use super::file::Report;
use crate::error::{Error, Result};

impl Report {
    /// The same with one section alone: that of a title, in letters of either case, or of a place, from 1.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the nearest title, if there is no such section.
    pub fn only(mut self, wanted: &str) -> Result<Self> {
        let titles = self.sections.iter().map(|section| section.title.as_str());
        let is_wanted = |title: &str| title.to_lowercase() == wanted.to_lowercase();
        let by_title = titles.clone().position(is_wanted);
        let by_place = wanted.parse::<usize>().ok();
        let by_place = by_place.and_then(|place| place.checked_sub(1));
        let by_place = by_place.filter(|at| *at < self.sections.len());
        let at = by_title.or(by_place);
        let at = at.ok_or_else(|| Error::unknown("section", wanted, titles))?;
        self.sections = vec![self.sections.swap_remove(at)];
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::report;

    #[test]
    fn a_section_is_named_by_its_title_or_its_place() {
        let weekly = || report("weekly").unwrap();
        let title = |wanted: &str| {
            let only = weekly().only(wanted).unwrap();
            assert_eq!(only.sections.len(), 1);
            only.sections[0].title.clone()
        };
        assert_eq!(title("1"), weekly().sections[0].title);
        assert_eq!(title("coverage"), "Coverage");
        for wanted in ["0", "99", "Coverag"] {
            let why = weekly().only(wanted).unwrap_err().to_string();
            assert!(why.starts_with("unknown section"), "{why}");
        }
        let why = weekly().only("Coverag").unwrap_err().to_string();
        assert!(why.contains("`Coverage`"), "{why}");
    }
}
