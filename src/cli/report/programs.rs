//! Programs of others that a page is handed to.

use anyhow::bail;
use std::path::{Path, PathBuf};

/// The program that an environment variable names, else the first of some that is on the path, else the first of some files.
///
/// # Errors
/// `what`, and how to have one, if there is none.
pub(super) fn find(
    what: &str,
    variable: &str,
    names: &[&str],
    files: &[&str],
) -> anyhow::Result<PathBuf> {
    let of_variable = std::env::var_os(variable).filter(|named| !named.is_empty());
    if let Some(named) = of_variable.map(PathBuf::from) {
        return match on_path(&named) {
            Some(program) => Ok(program),
            None => bail!(
                "{what}: {variable} names {}, which is no program",
                crate::text::shown_path(&named)
            ),
        };
    }
    let mut found = names.iter().chain(files).map(Path::new);
    match found.find_map(on_path) {
        Some(program) => Ok(program),
        None => bail!(
            "{what}: found no {} on the path; install one, or name it in the variable {variable}",
            names.join(", ")
        ),
    }
}

/// A path made absolute, a name where the path has it.
fn on_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        let whole = std::path::absolute(name).ok()?;
        return is_program(&whole).then_some(whole);
    }
    let directories = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&directories).map(|directory| directory.join(name));
    programs.find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
