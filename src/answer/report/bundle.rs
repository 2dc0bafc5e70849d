//! plotly.js without what no chart of a report is drawn with; `build.rs` uses it.
//!
//! plotly.js is a bundle that esbuild has made of some 1,200 modules, each a statement `var Name=wrap((exports,module)=>{..});`. One of them registers the types of traces,
//! `core.register([Bar(),Box(),..])`. In: the bundle. Out: the same without the types that are not wanted in this list, and without the modules that then no other names:
//! about a quarter. A browser reads and compiles all of it before it draws the first chart.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How esbuild writes the function that wraps a module, behind its name.
const WRAPPER: &str = "=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports)";

/// What the function of the whole bundle begins with.
const BEGIN: &str = "var Plotly=(()=>{";

const REGISTER: &str = ".register([";

/// What a module that describes a type of traces says of itself.
const TRACE: &str = "moduleType:\"trace\",name:\"";

/// The bundle with these types of traces, and with that of points and lines, which its core has. None if it is not built as described above.
pub(crate) fn with_traces(bundle: &str, traces: &[&str]) -> Option<String> {
    let code = code(bundle.as_bytes())?;
    let begin = bundle.find(BEGIN)? + BEGIN.len();
    let (statements, end) = statements(&code, begin)?;
    let wrapper = name_before(&bundle[..bundle.find(WRAPPER)?]);
    let mut modules = Modules(BTreeMap::new());
    for statement in &statements {
        if let Some(name) = wrapped(&bundle[statement.clone()], wrapper) {
            modules.0.insert(name, statement.clone());
        }
    }
    // The list of all types, and the part of it that is wanted.
    let list = bundle[begin..end].find(REGISTER)? + begin + REGISTER.len();
    let list = list..list + bundle[list..].find(']')?;
    let entries = bundle[list.clone()].split(',');
    let entries = entries.map(|entry| entry.strip_suffix("()"));
    let is_wanted = |entry: &&str| {
        let found = modules.trace(bundle, &code, entry);
        found.is_some_and(|found| traces.contains(&found))
    };
    let entries: Vec<&str> = entries.collect::<Option<_>>()?;
    let wanted: Vec<&str> = entries.iter().copied().filter(is_wanted).collect();
    if wanted.len() != traces.len() {
        return None;
    }
    // All modules that can be reached from what is no module: names of the same spelling in other scopes keep some more.
    let mut code = code;
    code[list.clone()].fill(b' ');
    let mut reached: BTreeSet<&str> = wanted.iter().copied().collect();
    let mut next: Vec<Range<usize>> = statements.clone();
    next.retain(|statement| !modules.0.values().any(|module| module == statement));
    next.extend(wanted.iter().map(|name| modules.0[name].clone()));
    while let Some(statement) = next.pop() {
        for name in modules.named_in(&code[statement]) {
            if reached.insert(name) {
                next.push(modules.0[name].clone());
            }
        }
    }
    let mut kept = bundle[..begin].to_string();
    for statement in statements {
        let text = &bundle[statement.clone()];
        match wrapped(text, wrapper) {
            Some(name) if !reached.contains(name) => {}
            _ if statement.contains(&list.start) => {
                kept += &bundle[statement.start..list.start];
                let calls: Vec<String> = wanted.iter().map(|name| format!("{name}()")).collect();
                kept += &calls.join(",");
                kept += &bundle[list.end..statement.end];
            }
            _ => kept += text,
        }
    }
    Some(kept + &bundle[end..])
}

/// The modules by their names, with their places in the bundle.
struct Modules<'a>(BTreeMap<&'a str, Range<usize>>);

impl<'a> Modules<'a> {
    /// The modules that code names.
    fn named_in(&self, code: &[u8]) -> Vec<&'a str> {
        let words = code.split(|byte| !is_of_name(*byte));
        let words = words.filter_map(|word| str::from_utf8(word).ok());
        let known = words.filter_map(|word| self.0.get_key_value(word));
        known.map(|(name, _)| *name).collect()
    }

    /// The type of traces of a module, which it describes itself or has from another.
    fn trace(&self, bundle: &'a str, code: &[u8], module: &str) -> Option<&'a str> {
        let mut level = vec![self.0.get(module)?.clone()];
        for _ in 0..4 {
            let mut found = level
                .iter()
                .filter_map(|place| bundle[place.clone()].split_once(TRACE));
            if let Some((_, rest)) = found.next() {
                return rest.split('"').next();
            }
            let named = level
                .iter()
                .flat_map(|place| self.named_in(&code[place.clone()]));
            level = named.map(|name| self.0[name].clone()).collect();
        }
        None
    }
}

/// The name of the module of a statement, if it is one.
fn wrapped<'a>(statement: &'a str, wrapper: &str) -> Option<&'a str> {
    let (name, rest) = statement
        .trim_start()
        .strip_prefix("var ")?
        .split_once('=')?;
    let rest = rest.strip_prefix(wrapper)?;
    (name.bytes().all(is_of_name) && rest.starts_with('(')).then_some(name)
}

/// The name at the end of a text.
fn name_before(text: &str) -> &str {
    let begin = text.bytes().rposition(|byte| !is_of_name(byte));
    &text[begin.map_or(0, |at| at + 1)..]
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// The statements of a function whose body begins there, and where the body ends.
fn statements(code: &[u8], begin: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let (mut statements, mut first, mut depth) = (vec![], begin, 0_usize);
    for at in begin..code.len() {
        let is_end = match code[at] {
            b'(' | b'[' | b'{' => {
                depth += 1;
                false
            }
            b'}' if depth == 0 => {
                statements.push(first..at);
                return Some((statements, at));
            }
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                // A function needs no semicolon.
                depth == 0 && code[at] == b'}' && code[first..at].starts_with(b"function")
            }
            b';' => depth == 0,
            _ => false,
        };
        if is_end {
            statements.push(first..at + 1);
            first = at + 1;
        }
    }
    None
}

/// The same bytes with blanks in the place of texts, comments and regular expressions: all brackets and names that are left are those of code.
fn code(script: &[u8]) -> Option<Vec<u8>> {
    let mut code = script.to_vec();
    // Open braces; true for those of `${` in a template, which goes on behind them.
    let mut braces: Vec<bool> = vec![];
    // The last byte that is code, and the word that ends there.
    let (mut before, mut word) = (b';', 0..0);
    let mut at = 0;
    while at < script.len() {
        let byte = script[at];
        let from = at;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'/' if script[at..].starts_with(b"//") => at += length(&script[at..], b"\n")?,
            b'/' if script[at..].starts_with(b"/*") => at += length(&script[at..], b"*/")?,
            b'"' | b'\'' => at = closed(script, at, byte)?,
            b'/' if !is_division(before, &script[word.clone()]) => at = closed(script, at, byte)?,
            b'`' => at = template(script, at, &mut braces)?,
            b'}' if braces.last() == Some(&true) => {
                braces.pop();
                at = template(script, at, &mut braces)?;
            }
            byte if is_of_name(byte) => {
                while script.get(at).copied().is_some_and(is_of_name) {
                    at += 1;
                }
                // `a.return / b` has no keyword.
                word = if before == b'.' { 0..0 } else { from..at };
                before = script[at - 1];
                continue;
            }
            other => {
                match other {
                    b'{' => braces.push(false),
                    b'}' => _ = braces.pop(),
                    _ => {}
                }
                at += 1;
                (before, word) = (other, 0..0);
                continue;
            }
        }
        code[from..at].fill(b' ');
        let is_comment = byte == b'/' && matches!(script.get(from + 1), Some(b'/' | b'*'));
        if !is_comment {
            (before, word) = match script[at - 1] {
                b'{' => (b'{', 0..0),
                _ => (b'"', 0..0),
            };
        }
    }
    Some(code)
}

/// Whether a slash behind that byte and word divides, and does not begin a regular expression.
fn is_division(before: u8, word: &[u8]) -> bool {
    const KEYWORDS: [&[u8]; 13] = [
        b"return",
        b"typeof",
        b"case",
        b"in",
        b"of",
        b"delete",
        b"void",
        b"instanceof",
        b"else",
        b"do",
        b"throw",
        b"new",
        b"yield",
    ];
    match before {
        b')' | b']' | b'}' | b'"' => true,
        byte => is_of_name(byte) && !KEYWORDS.contains(&word),
    }
}

/// How long the beginning of a script is that ends with these bytes.
fn length(script: &[u8], end: &[u8]) -> Option<usize> {
    let found = script.windows(end.len()).position(|bytes| bytes == end)?;
    Some(found + end.len())
}

/// Behind a text or regular expression that begins there.
fn closed(script: &[u8], begin: usize, end: u8) -> Option<usize> {
    let (mut at, mut is_class) = (begin + 1, false);
    loop {
        match *script.get(at)? {
            b'\\' => at += 1,
            b'[' if end == b'/' => is_class = true,
            b']' if end == b'/' => is_class = false,
            byte if byte == end && !is_class => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}

/// Behind a template, or a part of it, that begins there.
fn template(script: &[u8], begin: usize, braces: &mut Vec<bool>) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        match *script.get(at)? {
            b'\\' => at += 1,
            b'`' => return Some(at + 1),
            b'$' if script.get(at + 1) == Some(&b'{') => {
                braces.push(true);
                return Some(at + 2);
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Modules in which names stand in texts, templates, regular expressions and comments.
    const BUNDLE: &str = concat!(
        "/* ; } */(()=>{\nvar Plotly=(()=>{var q=Object,w=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports);",
        "var Core=w((e,t)=>{t.exports={register:n=>n,tick:`a${Tick()+`}`}b`}});",
        "var Tick=w((e,t)=>{t.exports=x=>x/2/\"Pie();\".length});",
        "var Bar=w((e,t)=>{t.exports=Bars()});",
        "var Bars=w((e,t)=>{t.exports={moduleType:\"trace\",name:\"bar\",is:Shape()}});",
        "function Pies(){return Shape()/1}",
        "var Shape=w(e=>{e.test=y=>/[/'](}|Deep)/.test(y)});",
        "var Pie=w((e,t)=>{/* Bars(); */t.exports={moduleType:\"trace\",name:\"pie\",of:Deep()}});",
        "var Deep=w(e=>{e.a='};'});",
        "var All=w((e,t)=>{var c=Core();c.register([Bar(),Pie()]);t.exports=c});",
        "return All();})();\n// }\nreturn Plotly})();"
    );

    #[test]
    fn modules_that_are_reached_from_wanted_types_alone_are_left() {
        let without = |bundle: &str, gone: &[&str]| {
            let mut left = bundle.to_string();
            for part in gone {
                assert!(left.contains(part), "{part}");
                left = left.replace(part, "");
            }
            left
        };
        let deep = "var Deep=w(e=>{e.a='};'});";
        let pie = "var Pie=w((e,t)=>{/* Bars(); */t.exports={moduleType:\"trace\",name:\"pie\",of:Deep()}});";
        let bar = "var Bar=w((e,t)=>{t.exports=Bars()});";
        let bars = "var Bars=w((e,t)=>{t.exports={moduleType:\"trace\",name:\"bar\",is:Shape()}});";
        assert_eq!(
            with_traces(BUNDLE, &["bar"]).unwrap(),
            without(BUNDLE, &[",Pie()", pie, deep])
        );
        assert_eq!(
            with_traces(BUNDLE, &["pie"]).unwrap(),
            without(BUNDLE, &["Bar(),", bar, bars])
        );
        assert_eq!(with_traces(BUNDLE, &["bar", "pie"]).unwrap(), BUNDLE);
    }

    #[test]
    fn what_is_built_otherwise_is_left_alone() {
        assert_eq!(with_traces(BUNDLE, &["bar", "box"]), None);
        for part in ["var Plotly=(()=>{", ".register([", "(t={exports:{}})"] {
            let other = BUNDLE.replace(part, "");
            assert_eq!(with_traces(&other, &["bar"]), None, "{part}");
        }
        assert_eq!(with_traces(&BUNDLE[..BUNDLE.len() - 40], &["bar"]), None);
        assert_eq!(with_traces("var a = '", &[]), None);
    }
}
