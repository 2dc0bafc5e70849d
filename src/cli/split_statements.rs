//! Where one SQL statement ends and the next begins.

/// A text cut at its semicolons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Statements<'a> {
    /// Statements that a semicolon ends, without it. Those of blanks and comments alone are left out.
    pub(crate) complete: Vec<&'a str>,
    /// What follows the last semicolon; empty if that is blanks and comments alone.
    pub(crate) rest: &'a str,
}

/// Cuts a text at its semicolons, but not inside quotes (`'..'`, `E'..'`, `".."`, `` `..` ``, `$tag$..$tag$`) and comments
/// (`-- ..`, `/* .. */`, which nest): where DataFusion's parser ends a statement.
pub(crate) fn split(text: &str) -> Statements<'_> {
    let bytes = text.as_bytes();
    let (mut complete, mut from, mut at, mut says_something) = (vec![], 0, 0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = match rest[0] {
            b';' => {
                if says_something {
                    complete.push(text[from..at].trim());
                }
                (from, says_something) = (at + 1, false);
                at += 1;
                continue;
            }
            b'-' if rest.starts_with(b"--") => {
                at += line(rest);
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = comment(rest);
                // An open comment may still be followed by something: it is no blank.
                says_something |= end.is_none();
                at += end.unwrap_or(rest.len());
                continue;
            }
            b'\'' => quoted(rest, b'\'', escapes(&bytes[..at])),
            quote @ (b'"' | b'`') => quoted(rest, quote, false),
            b'$' => dollar(rest),
            c if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => 1,
        };
        says_something = true;
        at += end;
    }
    let rest = if says_something {
        text[from..].trim()
    } else {
        ""
    };
    Statements { complete, rest }
}

/// Length of a comment to the end of its line.
fn line(text: &[u8]) -> usize {
    text.iter()
        .position(|c| *c == b'\n')
        .map_or(text.len(), |end| end + 1)
}

/// Length of a block comment and those inside it; None if it is not closed.
fn comment(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Length of a quoted text; a doubled quote inside stands for itself.
fn quoted(text: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' if escapes => at += 2,
            c if c == quote && text.get(at + 1) == Some(&quote) => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Whether a string that begins here is one with backslashes: `E'..'`.
fn escapes(before: &[u8]) -> bool {
    let is_word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    match before {
        [.., c, b'e' | b'E'] => !is_word(c),
        [b'e' | b'E'] => true,
        _ => false,
    }
}

/// Length of `$tag$..$tag$`; 1 if it is a placeholder such as `$1`.
fn dollar(text: &[u8]) -> usize {
    let word = text[1..]
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || **c == b'_')
        .count();
    if text.get(1 + word) != Some(&b'$') || text[1].is_ascii_digit() {
        return 1;
    }
    let (tag, body) = text.split_at(word + 2);
    body.windows(tag.len())
        .position(|window| window == tag)
        .map_or(text.len(), |end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, complete: &[&str], rest: &str) {
        let found = split(text);
        assert_eq!(
            (found.complete.as_slice(), found.rest),
            (complete, rest),
            "{text}"
        );
    }

    #[test]
    fn statements_end_at_semicolons() {
        check(
            "select 1; select 2 ;\nselect",
            &["select 1", "select 2"],
            "select",
        );
        check("select 1;", &["select 1"], "");
        check(" ;; \n;", &[], "");
        check("", &[], "");
    }

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_end_a_statement() {
        check("select ';', 'it''s;';", &["select ';', 'it''s;'"], "");
        check(
            "select \"a;\"\"b\", `c;`;",
            &["select \"a;\"\"b\", `c;`"],
            "",
        );
        check("select 1 -- no; end\n;", &["select 1 -- no; end"], "");
        check(
            "select /* a; /* b; */ c; */ 1;",
            &["select /* a; /* b; */ c; */ 1"],
            "",
        );
        check(
            "select $$a;b$$, $x$;$$;$x$;",
            &["select $$a;b$$, $x$;$$;$x$"],
            "",
        );
        check(r"select E'\';', '\';", &[r"select E'\';', '\'"], "");
        check(
            "select $1; select name'a'';';",
            &["select $1", "select name'a'';'"],
            "",
        );
    }

    #[test]
    fn comments_alone_are_no_statement() {
        check("-- hello;\n/* ; */;select 1; -- bye", &["select 1"], "");
        check("-- hello\nselect 1", &[], "-- hello\nselect 1");
    }

    #[test]
    fn what_is_open_waits_for_more() {
        for open in [
            "select 'a;",
            "select \"a;",
            "select $$a;",
            "/* a;",
            "select E'\\'; ",
        ] {
            check(open, &[], open.trim());
        }
    }
}
