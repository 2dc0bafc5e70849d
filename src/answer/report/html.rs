//! The page of a report: one file that opens from disk, without a network.

use super::rounded::rounded;
use crate::answer::answer::{Answer, Block, Section};
use crate::answer::chart::Figure;
use crate::error::{Error, Result};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;

/// plotly.js as the browser inflates it.
const PLOTLY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.min.js.gz"));

/// The name of plotly.js where it lies beside the pages.
pub const PLOTLY_FILE: &str = "plotly.min.js";

/// Where a page has plotly.js from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Script {
    /// It is in the page, compressed.
    #[default]
    Inside,
    /// It lies next to the page, as [`PLOTLY_FILE`].
    Beside,
}

#[derive(Template)]
#[template(path = "page.html", config = "src/answer/report/askama.toml")]
struct Page<'a> {
    title: &'a str,
    doc: &'a str,
    /// How much the logs explain, and what could not be read.
    head: &'a [String],
    /// The period, the lakes and the parameters, by their names.
    facts: Vec<(String, String)>,
    sections: Vec<&'a Section>,
    /// JSON in which nothing ends the element that it is in.
    figures: String,
    style: &'static str,
    script: &'static str,
    /// plotly.js, compressed, in base 64; empty if it lies beside the page.
    plotly: String,
    plotly_file: &'static str,
    has_figures: bool,
    version: &'static str,
}

impl Answer {
    /// The page as HTML.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it cannot be written as HTML.
    pub fn html(&self, script: Script) -> Result<String> {
        let (mut title, mut doc, mut head) = ("", "", &[][..]);
        if let Some(Block::Text(text)) = self.blocks.first() {
            title = &text.title;
            if let [first, rest @ ..] = text.lines.as_slice() {
                (doc, head) = (first, rest);
            }
        }
        let sections = self.blocks.iter().filter_map(|block| match block {
            Block::Section(section) => Some(section.as_ref()),
            _ => None,
        });
        let sections: Vec<&Section> = sections.collect();
        let figures: Vec<_> = sections
            .iter()
            .map(|section| section.chart.as_ref().map(drawn))
            .collect();
        let has_figures = figures.iter().any(Option::is_some);
        let bad = |why: String| Error::Invalid(format!("the page cannot be written: {why}"));
        let figures = serde_json::to_string(&figures).map_err(|e| bad(e.to_string()))?;
        let page = Page {
            title,
            doc,
            head,
            facts: self.stated(),
            figures: in_script(&figures),
            sections,
            style: include_str!("page.css"),
            script: include_str!("page.js"),
            plotly: match script {
                Script::Inside if has_figures => STANDARD.encode(PLOTLY),
                _ => String::new(),
            },
            plotly_file: match script {
                Script::Beside if has_figures => PLOTLY_FILE,
                _ => "",
            },
            has_figures,
            version: env!("CARGO_PKG_VERSION"),
        };
        page.render().map_err(|e| bad(e.to_string()))
    }
}

impl Section {
    /// Whether its chart has axes side by side, or paths beside it: no phone has room for these.
    fn is_wide(&self) -> bool {
        let form = self.chart.as_ref().map(|figure| figure.form);
        form.is_some_and(|form| ["parallel", "timeline"].contains(&form))
    }
}

/// What the script of the page needs of a chart: the figure, and which rows of the table a range of it chooses.
fn drawn(figure: &Figure) -> Value {
    rounded(
        json!({"data": figure.plot["data"], "layout": figure.plot["layout"], "brush": figure.brush}),
    )
}

/// plotly.js, for pages that have it beside them.
///
/// # Errors
/// [`Error::Invalid`] if the program is damaged.
pub fn plotly() -> Result<String> {
    let mut script = String::new();
    let read = GzDecoder::new(PLOTLY).read_to_string(&mut script);
    read.map_err(|e| Error::Invalid(format!("plotly.js: {e}")))?;
    Ok(script)
}

/// JSON that may stand in a script element: no text of somebody else's ends it.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_carries_plotly_alone_with_the_traces_of_its_charts() {
        let script = plotly().unwrap();
        assert!(
            script.starts_with("/**\n* plotly.js v3."),
            "{}",
            &script[..80]
        );
        assert!(!script.contains("MathJax.loader"));
        // Of 4.6 MB.
        assert!(script.len() < 1_500_000, "{}", script.len());
        let has = |name: &str| script.contains(&format!("moduleType:\"trace\",name:\"{name}\""));
        assert!(
            ["scatter", "bar", "box", "heatmap", "parcoords"]
                .into_iter()
                .all(has)
        );
        assert!(
            !["pie", "sankey", "surface", "scattermap"]
                .into_iter()
                .any(has)
        );
    }

    #[test]
    fn text_of_others_does_not_end_the_element_of_the_charts() {
        let json = in_script(r#"["</script><img src=x onerror=alert(1)>&"]"#);
        assert!(!json.contains(['<', '>', '&']), "{json}");
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, ["</script><img src=x onerror=alert(1)>&"]);
    }
}
