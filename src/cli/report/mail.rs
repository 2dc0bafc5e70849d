//! A mail with a page, handed to `sendmail -t`.
//!
//! The message is `multipart/mixed`: text and simple HTML as alternatives, then the page. All parts are in base 64, so that no line of theirs can end a part or be
//! read as a header. What stands in a header is in letters of ASCII without control characters, or an encoded word of RFC 2047.

use super::programs::find;
use crate::answer::answer::Answer;
use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Who sends a mail to whom.
pub(super) struct Mailer<'a> {
    program: PathBuf,
    to: &'a [String],
    from: Option<&'a str>,
}

/// A page, and the name that it has as a file.
pub(super) struct Attached {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) page: Vec<u8>,
}

/// Bytes of a line of base 64 that a mail may have.
const LINE: usize = 57;

/// Bytes of an encoded word's text: with them the word has at most 75 letters.
const WORD: usize = 42;

impl<'a> Mailer<'a> {
    /// A mailer by the sendmail of this machine.
    ///
    /// # Errors
    /// As [`Mailer::program`].
    pub(super) fn find(to: &'a [String], from: Option<&'a str>) -> anyhow::Result<Self> {
        let program = Self::program()?;
        Ok(Self { program, to, from })
    }

    /// The sendmail of `SENDMAIL`, else of the path, else where systems have it.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn program() -> anyhow::Result<PathBuf> {
        let files = ["/usr/sbin/sendmail", "/usr/lib/sendmail"];
        find("--mail needs sendmail", "SENDMAIL", &["sendmail"], &files)
    }

    /// Sends what an answer says, with its page; `period` is its name in the subject.
    ///
    /// # Errors
    /// If sendmail does not take the message.
    pub(super) fn send(
        &self,
        answer: &Answer,
        period: Option<&str>,
        attached: &Attached,
    ) -> anyhow::Result<()> {
        let program = self.program.display();
        let subject = match period {
            Some(period) => format!("{}: {period}", answer.title()),
            None => answer.title().to_string(),
        };
        let (text, html) = (answer.mail_text(), answer.mail_html()?);
        let message = message(self.to, self.from, &subject, &text, &html, attached);
        let mut running = Command::new(&self.program)
            // -i: a line with a dot alone does not end the message.
            .args(["-t", "-i"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{program}: cannot be started"))?;
        let mut stdin = running.stdin.take();
        // A sendmail that reads nothing says why on stderr.
        let written = stdin
            .as_mut()
            .map(|stdin| stdin.write_all(message.as_bytes()));
        drop(stdin);
        let done = running.wait_with_output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        match (done.status.success(), written) {
            (true, Some(Ok(()))) => Ok(()),
            (true, _) => bail!("{program}: did not read the message"),
            (false, _) => bail!(
                "{program}: did not take the message ({}): {}",
                done.status,
                said.trim()
            ),
        }
    }
}

/// The address of a mail, for clap.
///
/// # Errors
/// What was expected.
pub(super) fn address(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.@".contains(c);
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => (text, "localhost"),
    };
    match text.chars().all(is_plain) && !user.is_empty() && !host.is_empty() {
        true => Ok(text.into()),
        false => Err("expected an address such as ops@example.org".into()),
    }
}

fn message(
    to: &[String],
    from: Option<&str>,
    subject: &str,
    text: &str,
    html: &str,
    attached: &Attached,
) -> String {
    let mut message = String::new();
    let mut header = |name: &str, value: &str| {
        message.extend([name, ": ", value, "\n"]);
    };
    if let Some(from) = from {
        header("From", from);
    }
    header("To", &to.join(",\n "));
    header("Subject", &encoded(subject));
    header("MIME-Version", "1.0");
    // No reply of an absence.
    header("Auto-Submitted", "auto-generated");
    header("Content-Type", "multipart/mixed; boundary=\"=_page\"");
    // A boundary holds `_`, which base 64 has not.
    let (name, kind) = (file_name(&attached.name), attached.kind);
    message += "\n--=_page\nContent-Type: multipart/alternative; boundary=\"=_text\"\n\n";
    part(
        &mut message,
        "=_text",
        "text/plain; charset=utf-8",
        "",
        text.as_bytes(),
    );
    part(
        &mut message,
        "=_text",
        "text/html; charset=utf-8",
        "",
        html.as_bytes(),
    );
    message += "--=_text--\n\n";
    let disposition = format!("Content-Disposition: attachment; filename=\"{name}\"\n");
    part(&mut message, "=_page", kind, &disposition, &attached.page);
    message += "--=_page--\n";
    message
}

fn part(message: &mut String, boundary: &str, kind: &str, headers: &str, bytes: &[u8]) {
    message.extend(["--", boundary, "\nContent-Type: ", kind, "\n", headers]);
    message.push_str("Content-Transfer-Encoding: base64\n\n");
    for line in bytes.chunks(LINE) {
        STANDARD.encode_string(line, message);
        message.push('\n');
    }
}

/// The text of a header: as it is where it is printable ASCII, else encoded words of RFC 2047 on lines of their own.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|b| (b' '..=b'~').contains(&b));
    // A header line may have 998 letters, and a text that looks like an encoded word must be one.
    if is_plain && text.len() <= 200 && !text.contains("=?") {
        return text.into();
    }
    let (mut words, mut word): (Vec<String>, String) = (vec![], String::new());
    for c in text.chars() {
        if word.len() + c.len_utf8() > WORD {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
    }
    words.push(word);
    let words = words
        .iter()
        .map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    words.collect::<Vec<_>>().join("\n ")
}

/// The name of a file in letters that need no quotes.
fn file_name(name: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "._-".contains(c) {
        true => c,
        false => '_',
    };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_word_that_adds_no_header() {
        for good in ["ops@example.org", "root", "a.b+c@x-y.example"] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "a b@x",
            "a@x\nBcc: b@x",
            "a@x,b@x",
            "A <a@x>",
            "@x",
            "a@",
            "ä@x",
            "\"a\"@x",
            "a@x;",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    /// The words are those of RFC 2047; `w6Q=` is what Python's base64 makes of `ä`.
    #[test]
    fn a_header_has_printable_ascii_alone() {
        assert_eq!(
            encoded("I/O of the week: 2026-W48"),
            "I/O of the week: 2026-W48"
        );
        assert_eq!(encoded("ä"), "=?utf-8?B?w6Q=?=");
        let long = encoded(&"ä\r\nBcc: x@y ".repeat(40));
        assert!(long.lines().count() > 10);
        for (at, line) in long.split('\n').enumerate() {
            let word = if at == 0 {
                Some(line)
            } else {
                line.strip_prefix(' ')
            };
            let word = word.unwrap();
            assert!(word.len() <= 75 && word.starts_with("=?utf-8?B?") && word.ends_with("?="));
            assert!(!line.contains('\r'));
        }
        assert!(encoded("=?utf-8?B?w6Q=?=").starts_with("=?utf-8?B?PT91"));
        assert_eq!(file_name("my \"page\"\r\n/ä.html"), "my__page_____.html");
    }
}
