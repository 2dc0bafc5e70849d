//! Paths without what they say: component by component, with the endings that say what is in a file.

use super::pseudonym::Key;
use crate::table::Domain;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// Components that are remembered.
const MOST: usize = 1 << 18;

/// Endings of file names that say what is in a file and nothing else.
const ENDINGS: &str = include_str!("endings.txt");

/// Makes the pseudonyms of paths.
pub(super) struct Paths {
    key: Key,
    known: HashMap<String, String>,
}

impl Paths {
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            known: HashMap::new(),
        }
    }

    /// The pseudonym of a path. Each component has its own, whatever stands around it; standard streams stay.
    pub(super) fn of(&mut self, path: &str) -> String {
        if matches!(path, "<STDIN>" | "<STDOUT>" | "<STDERR>") {
            return path.into();
        }
        let mut made = String::with_capacity(path.len() * 2);
        for (number, component) in path.split('/').enumerate() {
            if number > 0 {
                made.push('/');
            }
            self.push(component, &mut made);
        }
        made
    }

    /// The pseudonym of the name of an object in a file: the path, a colon, and what stands in the file.
    pub(super) fn of_object(&mut self, name: &str) -> String {
        match name.split_once(':') {
            Some((path, object)) => format!("{}:{}", self.of(path), self.of(object)),
            None => self.of(name),
        }
    }

    fn push(&mut self, component: &str, made: &mut String) {
        if matches!(component, "" | "." | "..") {
            return made.push_str(component);
        }
        if let Some(known) = self.known.get(component) {
            return made.push_str(known);
        }
        let (stem, ending) = ending(component);
        let text = self.key.text(Domain::Path, stem) + ending;
        made.push_str(&text);
        // Names of files with a number in them would fill the memory, and are made again as fast.
        if self.known.len() < MOST {
            self.known.insert(component.to_string(), text);
        }
    }
}

/// A name, and those of its endings that are well known: `run.tar.gz` is `run` and `.tar.gz`.
fn ending(name: &str) -> (&str, &str) {
    static KNOWN: OnceLock<HashSet<&str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| ENDINGS.split_whitespace().collect());
    let mut from = name.len();
    while let Some(dot) = name[..from].rfind('.').filter(|dot| *dot > 0) {
        if !known.contains(name[dot + 1..from].to_ascii_lowercase().as_str()) {
            break;
        }
        from = dot;
    }
    name.split_at(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_endings_stay_and_nothing_else_of_a_name() {
        let endings =
            ["run.tar.gz", "run.alice", ".bashrc", "a.7.H5", "h5", "x."].map(|n| ending(n).1);
        assert_eq!(endings, [".tar.gz", "", "", ".H5", "", ""]);
    }

    #[test]
    fn a_component_has_one_pseudonym_wherever_it_stands() {
        let mut paths = Paths::new(Key::of(&[7; 32]));
        let [a, b] = ["/scratch/alice/run.h5", "/home/alice/"].map(|path| paths.of(path));
        let parts = |path: &str| path.split('/').map(str::to_string).collect::<Vec<_>>();
        let (a, b) = (parts(&a), parts(&b));
        assert_eq!((a.len(), b.len(), &a[2], b[3].as_str()), (4, 4, &b[2], ""));
        assert!(a[3].ends_with(".h5") && a[3].len() == 19);
        assert_eq!(paths.of("<STDOUT>"), "<STDOUT>");
        assert_eq!(
            paths.of_object("/scratch:/a/b"),
            format!("/{}:/{}/{}", a[1], paths.of("a"), paths.of("b"))
        );
    }
}
