//! No file of a module of src imports, by whatever way, a file that imports it.
//!
//! Files are nodes; an edge stands where code that is not a test names an item that is defined in another file. A re-export counts as the
//! file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

crate::tests! {
    [] => {
        no_files_import_one_another,
        a_circle_is_found_through_inline_paths_and_re_exports_and_not_through_tests,
    }
}

type Name = Vec<String>;

/// What the code of one module names, in absolute paths.
#[derive(Default)]
struct Module {
    /// Where it is defined.
    file: PathBuf,
    /// What it imports, by the name that it gives it; and whether it only passes it on.
    uses: BTreeMap<String, (Name, bool)>,
    /// Paths in its code, as they are written.
    paths: Vec<Name>,
}

/// All modules, inline ones too, by their path in the crate.
#[derive(Default)]
struct Crate(BTreeMap<Name, Module>);

struct Reader<'c> {
    all: &'c mut Crate,
    file: PathBuf,
    at: Name,
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list
            .tokens
            .to_string()
            .split(['(', ',', ' '])
            .any(|word| word == "test"),
        meta => meta.path().is_ident("test"),
    })
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        let module = self.all.0.entry(self.at.clone()).or_default();
        module.file.clone_from(&self.file);
        module
    }

    fn uses(&mut self, tree: &syn::UseTree, before: Name, is_export: bool) {
        let with = |name: &syn::Ident| [before.clone(), vec![name.to_string()]].concat();
        let (name, path) = match tree {
            syn::UseTree::Path(path) => {
                return self.uses(&path.tree, with(&path.ident), is_export);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.uses(tree, before.clone(), is_export);
                }
                return;
            }
            syn::UseTree::Glob(_) => return,
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before)
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            syn::UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
        };
        let path = absolute(&self.at, &path).unwrap_or_else(|| [self.at.clone(), path].concat());
        self.module().uses.insert(name, (path, is_export));
    }
}

/// A path that begins with `crate`, `self` or `super`, from the root of the crate.
fn absolute(at: &[String], path: &[String]) -> Option<Name> {
    let (mut from, mut rest) = match path.first()?.as_str() {
        "crate" => (vec![], &path[1..]),
        "self" => (at.to_vec(), &path[1..]),
        "super" => (at.to_vec(), path),
        _ => return None,
    };
    while rest.first().is_some_and(|name| name == "super") {
        from.pop();
        rest = &rest[1..];
    }
    from.extend_from_slice(rest);
    Some(from)
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_test(&module.attrs) || module.content.is_none() {
            return;
        }
        self.at.push(module.ident.to_string());
        self.module();
        visit::visit_item_mod(self, module);
        self.at.pop();
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            let is_export = !matches!(item.vis, syn::Visibility::Inherited);
            self.uses(&item.tree, vec![], is_export);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        let names = names.collect();
        self.module().paths.push(names);
        visit::visit_path(self, path);
    }

    // Whom an item is visible to is not what it names.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // What a macro is given is not parsed; paths are found by their `::`.
        let text = item.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.contains("::")) {
            let names = word.split("::").map(str::to_string).collect();
            self.module().paths.push(names);
        }
        visit::visit_macro(self, item);
    }
}

impl Crate {
    fn read(sources: &[(PathBuf, String)]) -> Self {
        let mut all = Self::default();
        for (path, text) in sources {
            let is_of_tests = path
                .iter()
                .any(|part| part == "tests" || part == "tests.rs");
            if is_of_tests || path.ends_with("main.rs") {
                continue;
            }
            let mut at: Name = path
                .iter()
                .skip(1)
                .map(|part| part.to_str().unwrap().into())
                .collect();
            let last = at.pop().unwrap();
            match last.trim_end_matches(".rs") {
                "mod" | "lib" => {}
                name => at.push(name.into()),
            }
            let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            if is_test(&file.attrs) {
                continue;
            }
            let mut reader = Reader {
                all: &mut all,
                file: path.clone(),
                at,
            };
            reader.module();
            reader.visit_file(&file);
        }
        all
    }

    /// The file that defines what a path names; None if it is nothing of this crate.
    fn definer(&self, path: &[String], depth: usize) -> Option<&Path> {
        let known = (1..=path.len())
            .rev()
            .find(|n| self.0.contains_key(&path[..*n]))?;
        let module = &self.0[&path[..known]];
        if let Some((target, _)) = path.get(known).and_then(|name| module.uses.get(name))
            && depth < 8
        {
            let target = [target.as_slice(), &path[known + 1..]].concat();
            return self.definer(&target, depth + 1);
        }
        Some(&module.file)
    }

    /// For each file those that it names.
    fn edges(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut edges: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (at, module) in &self.0 {
            let imported = module.uses.values().filter(|(_, is_export)| !is_export);
            let mut named: Vec<Name> = imported.map(|(path, _)| path.clone()).collect();
            for path in &module.paths {
                let child = || {
                    let child = [at.as_slice(), &path[..1]].concat();
                    self.0
                        .contains_key(&child)
                        .then(|| [at.as_slice(), path].concat())
                };
                let import = || {
                    let (target, _) = module.uses.get(path.first()?)?;
                    Some([target.as_slice(), &path[1..]].concat())
                };
                named.extend(absolute(at, path).or_else(import).or_else(child));
            }
            let files = named.iter().filter_map(|path| self.definer(path, 0));
            let of = edges.entry(&module.file).or_default();
            of.extend(files.filter(|file| *file != module.file));
        }
        edges
    }
}

/// A circle through a file, if there is one.
fn circle<'a>(
    edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    at: &'a Path,
    way: &mut Vec<&'a Path>,
    done: &mut BTreeSet<&'a Path>,
) -> Option<Vec<&'a Path>> {
    if let Some(begin) = way.iter().position(|file| *file == at) {
        return Some(way[begin..].to_vec());
    }
    if done.contains(at) {
        return None;
    }
    way.push(at);
    let next = edges.get(at).into_iter().flatten();
    let found = next
        .copied()
        .find_map(|next| circle(edges, next, way, done));
    way.pop();
    done.insert(at);
    found
}

fn first_circle(sources: &[(PathBuf, String)]) -> Option<Vec<PathBuf>> {
    let all = Crate::read(sources);
    let edges = all.edges();
    let mut done = BTreeSet::new();
    let found = edges
        .keys()
        .find_map(|file| circle(&edges, file, &mut vec![], &mut done));
    found.map(|files| files.into_iter().map(Path::to_path_buf).collect())
}

fn no_files_import_one_another() {
    let found = first_circle(&super::tidy::rust_sources());
    assert!(found.is_none(), "a circle of imports: {found:#?}");
}

fn a_circle_is_found_through_inline_paths_and_re_exports_and_not_through_tests() {
    let made = |files: &[(&str, &str)]| -> Vec<(PathBuf, String)> {
        files
            .iter()
            .map(|(path, text)| (format!("src/{path}").into(), text.to_string()))
            .collect()
    };
    let exports = ("m/mod.rs", "mod a; mod b; pub use a::A; pub use b::B;");
    let circle = made(&[
        exports,
        ("m/a.rs", "use super::B; pub struct A(B);"),
        ("m/b.rs", "pub struct B; fn f() { crate::m::A::new(); }"),
    ]);
    assert_eq!(
        first_circle(&circle),
        Some(vec!["src/m/a.rs".into(), "src/m/b.rs".into()])
    );
    let tested = made(&[
        exports,
        ("m/a.rs", "use super::B; pub struct A(B);"),
        (
            "m/b.rs",
            "pub struct B; #[cfg(test)] mod tests { use super::super::A; }",
        ),
    ]);
    assert_eq!(first_circle(&tested), None);
}
