//! The form of a page, and the page in it.

use super::args::{Args, Form, Place};
use super::browser::Browser;
use super::kept::is_directory;
use crate::answer::answer::Answer;
use crate::answer::report::Script;
use crate::text::shown_path;
use anyhow::bail;
use clap::ValueEnum;

/// The form that is asked for, else that of the file.
///
/// # Errors
/// If the ending of the file is that of no form.
pub(super) fn form(args: &Args) -> anyhow::Result<Form> {
    if args.png.is_some() {
        return Ok(Form::Png);
    }
    let (form, out) = match (args.format, &args.out) {
        (Some(form), _) => return Ok(form),
        (None, None) if !args.mail.is_empty() => return Ok(Form::Html),
        (None, None) => return Ok(Form::Text),
        (None, Some(out)) if is_directory(out) => return Ok(Form::Html),
        (None, Some(out)) => (out.extension().and_then(|ending| ending.to_str()), out),
    };
    match form.and_then(Form::of_ending) {
        Some(form) => Ok(form),
        None => {
            let forms = Form::value_variants()
                .iter()
                .filter_map(Form::to_possible_value);
            let forms: Vec<String> = forms.map(|form| form.get_name().to_string()).collect();
            bail!(
                "--out {}: the ending says no form of a page; give one by --format: {}",
                shown_path(out),
                forms.join(", ")
            )
        }
    }
}

/// What a form needs a browser for; None if it needs none.
pub(super) fn browser_for(form: Form) -> Option<&'static str> {
    match form {
        Form::Pdf => Some("--format pdf"),
        Form::Png => Some("--png"),
        _ => None,
    }
}

/// The page of an answer.
///
/// # Errors
/// If it cannot be written in that form.
pub(super) fn page(
    answer: &Answer,
    form: Form,
    js: Place,
    browser: Option<&Browser>,
) -> anyhow::Result<Vec<u8>> {
    if let Some(browser) = browser {
        let html = answer.html(Script::Inside)?;
        return match form {
            Form::Png => browser.png(&html),
            _ => browser.pdf(&html),
        };
    }
    let text = match form {
        Form::Html => answer.html(match js {
            Place::Inside => Script::Inside,
            Place::Beside => Script::Beside,
        })?,
        Form::Markdown => answer.markdown(),
        Form::Json => serde_json::to_string_pretty(answer)? + "\n",
        Form::Text => answer.page(),
        // These have been printed above, and written section by section.
        Form::Pdf | Form::Png | Form::CsvDir => String::new(),
    };
    Ok(text.into_bytes())
}
