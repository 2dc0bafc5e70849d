//! Text from outside, such as names of files and programs, in a form that can be printed.

pub mod amount;
#[cfg(feature = "engine")]
pub(crate) mod column_amount;

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// The text with what would steer a terminal, end the line or reorder the characters around it as escapes: `\n`, `\x1b`, `\u{202e}`.
/// A backslash stays, so that text which was escaped already is not changed.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => escaped.extend(c.escape_default()),
            // Writing to a String cannot fail.
            c if is_unsafe(c) && c <= '\u{ff}' => _ = write!(escaped, "\\x{:02x}", u32::from(c)),
            c if is_unsafe(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// As [`shown`], of text whose line ends are its own layout, such as a query plan.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(shown).collect();
    Cow::Owned(lines.join("\n"))
}

/// As [`shown`], of a path.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
}

/// A path as one word of a shell's command line, for commands that are printed to be run: as it is where that is safe, else in quotes.
pub fn quoted(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(b);
    match path.to_str() {
        Some(text) if !text.is_empty() && bytes.iter().all(is_plain) => text.to_string(),
        Some(text) if !text.contains(is_unsafe) => format!("'{}'", text.replace('\'', r"'\''")),
        // What cannot be printed has no other form.
        _ => {
            let mut word = String::from("$'");
            for byte in bytes {
                match byte {
                    b'\'' | b'\\' => word.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => word.push(char::from(*byte)),
                    _ => _ = write!(word, "\\x{byte:02x}"),
                }
            }
            word + "'"
        }
    }
}

/// Control characters (C0, DEL, C1), separators of lines and paragraphs, marks of writing direction.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Numbers in ascending order as text: `1 to 3, 5`.
pub(crate) fn ranges(numbers: &[u64]) -> String {
    let parts: Vec<String> = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .filter_map(|part| match part {
            [] => None,
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first} to {last}")),
        })
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_safe_is_lent_as_it_is() {
        for text in [
            "",
            "/scratch/a b",
            "Größe 日本 🙂",
            "C:\\n\\x1b",
            "\u{feff}a\u{a0}",
        ] {
            assert!(matches!(shown(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(shown_lines(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn controls_line_ends_and_marks_of_direction_are_escapes() {
        for (text, expected) in [
            ("a\nb\r\n", r"a\nb\r\n"),
            ("\t", r"\t"),
            ("\u{1b}[31mred\u{1b}[0m", r"\x1b[31mred\x1b[0m"),
            ("\0\u{7}\u{1f}\u{7f}", r"\x00\x07\x1f\x7f"),
            // C1: next line, control sequence introducer, operating system command.
            ("\u{80}\u{85}\u{9b}\u{9d}\u{9f}", r"\x80\x85\x9b\x9d\x9f"),
            ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
            (
                "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}",
                r"\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}",
            ),
            (
                "\u{2066}\u{2067}\u{2068}\u{2069}",
                r"\u{2066}\u{2067}\u{2068}\u{2069}",
            ),
            ("\u{200e}\u{200f}\u{61c}", r"\u{200e}\u{200f}\u{61c}"),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(expected), expected, "escaped once more");
        }
    }

    #[test]
    fn neighbours_of_what_is_escaped_stay() {
        for c in [
            ' ', '~', '\u{a0}', '\u{61b}', '\u{61d}', '\u{200d}', '\u{2010}', '\u{2027}',
            '\u{202f}', '\u{2065}', '\u{206a}',
        ] {
            assert_eq!(shown(&c.to_string()), c.to_string());
        }
    }

    #[test]
    fn of_a_layout_the_lines_stay_and_nothing_else() {
        assert_eq!(
            shown_lines("Sort\u{1b}\n  Scan\r\n"),
            "Sort\\x1b\n  Scan\\r\n"
        );
        assert_eq!(shown_lines("a\n\nb"), "a\n\nb");
    }

    #[test]
    fn of_a_path_bytes_that_are_no_text_are_replaced() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\n\xff"));
        assert_eq!(shown_path(path), "/a\\n\u{fffd}");
    }
}
