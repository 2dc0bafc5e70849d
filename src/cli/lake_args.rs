//! The lake that a command is about: its argument, else `IOLODE_LAKE`, else `lake = ".."` in the user's `config.toml`.

use super::screen::Terminal;
use crate::error::{Error, Result};
use crate::text::shown_path;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable that names a lake.
const VARIABLE: &str = "IOLODE_LAKE";

/// The lake, by its place on the command line.
#[derive(clap::Args)]
pub(super) struct LakeArg {
    /// The lake (default: IOLODE_LAKE, else that of the config file)
    #[arg(value_name = "LAKE")]
    lake: Option<PathBuf>,
}

impl LakeArg {
    /// The lake, which is read.
    ///
    /// # Errors
    /// As [`given_or_default`].
    pub(super) fn to_read(&self) -> Result<PathBuf> {
        Ok(given_or_default(self.lake.as_deref(), "LAKE")?.path)
    }

    /// The lake, which is changed: says which it is if it was not named.
    ///
    /// # Errors
    /// As [`given_or_default`].
    pub(super) fn to_change(&self, screen: &Terminal) -> Result<PathBuf> {
        let chosen = given_or_default(self.lake.as_deref(), "LAKE")?;
        chosen.say(screen);
        Ok(chosen.path)
    }
}

/// A lake and who named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) path: PathBuf,
    /// The variable or the file that names it; None for an argument.
    pub(super) by: Option<String>,
}

impl Chosen {
    /// Says which lake is taken, if the command line does not.
    pub(super) fn say(&self, screen: &Terminal) {
        if let Some(by) = &self.by {
            screen.say(format_args!(
                "lake {}, named by {by}",
                shown_path(&self.path)
            ));
        }
    }
}

/// The lake that was given, else the default; `argument` is how one is given.
///
/// # Errors
/// [`Error::Invalid`] if there is none, which names the ways to give one; those of [`default_lake`].
pub(super) fn given_or_default(given: Option<&Path>, argument: &str) -> Result<Chosen> {
    if let Some(given) = given {
        return Ok(Chosen {
            path: given.into(),
            by: None,
        });
    }
    default_lake()?.ok_or_else(|| none_given(argument))
}

/// What is said where no lake is given.
pub(super) fn none_given(argument: &str) -> Error {
    let file = config_file(|name| std::env::var_os(name));
    let file = file.map_or_else(
        || "~/.config/iolode/config.toml".into(),
        |file| file.display().to_string(),
    );
    Error::Invalid(format!(
        "no lake given: name it as {argument}, in the variable {VARIABLE}, or as `lake = \"/path\"` in {file}"
    ))
}

/// The lake of the environment: of the variable, else of the config file; None if neither names one.
///
/// # Errors
/// [`Error::Io`] if there is a config file that cannot be read, [`Error::Invalid`] if it is wrong.
pub(super) fn default_lake() -> Result<Option<Chosen>> {
    default_of(|name| std::env::var_os(name))
}

fn default_of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Chosen>> {
    if let Some(path) = variable(VARIABLE).filter(|path| !path.is_empty()) {
        return Ok(Some(Chosen {
            path: path.into(),
            by: Some(VARIABLE.into()),
        }));
    }
    let Some(file) = config_file(&variable) else {
        return Ok(None);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(&file, "cannot read", e)),
    };
    let wrong = |why: &str| {
        let why = why.trim().lines().collect::<Vec<_>>().join(" ");
        Error::Invalid(format!("{}: {why}", file.display()))
    };
    let config: Config = toml::from_str(&text).map_err(|e| wrong(e.message()))?;
    let Some(lake) = config.lake else {
        return Ok(None);
    };
    let path = match (lake.strip_prefix("~/"), variable("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => PathBuf::from(&lake),
    };
    match path.is_absolute() {
        true => Ok(Some(Chosen {
            path,
            by: Some(file.display().to_string()),
        })),
        false => Err(wrong(&format!(
            "lake `{lake}`: expected an absolute path, or one that begins with ~/"
        ))),
    }
}

/// What the config file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    lake: Option<String>,
}

/// Where the config file is; None where the user has no directory.
fn config_file(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("iolode/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default in an environment with these variables.
    fn default(variables: &[(&str, &str)]) -> Result<Option<Chosen>, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        default_of(variable).map_err(|e| e.to_string())
    }

    #[test]
    fn the_variable_wins_over_the_file_which_lies_where_xdg_or_home_says() {
        let dir = tempfile::tempdir().unwrap();
        let (home, config) = (dir.path().join("home"), dir.path().join("config"));
        for (directory, text) in [
            (home.join(".config/iolode"), "lake = \"~/of-home\"\n"),
            (config.join("iolode"), "lake = '/of/xdg'"),
        ] {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("config.toml"), text).unwrap();
        }
        let (home, config) = (home.to_str().unwrap(), config.to_str().unwrap());
        let path = |variables: &[(&str, &str)]| {
            let chosen = default(variables).unwrap();
            chosen.map(|chosen| chosen.path.display().to_string())
        };
        assert_eq!(path(&[]), None);
        assert_eq!(path(&[("HOME", "/nowhere")]), None);
        assert_eq!(path(&[("HOME", home)]), Some(format!("{home}/of-home")));
        let both = [("HOME", home), ("XDG_CONFIG_HOME", config)];
        assert_eq!(path(&both), Some("/of/xdg".into()));
        let relative = [("HOME", home), ("XDG_CONFIG_HOME", "config")];
        assert_eq!(path(&relative), Some(format!("{home}/of-home")));
        let all = [both[0], both[1], ("IOLODE_LAKE", "here/lake")];
        assert_eq!(path(&all), Some("here/lake".into()));
        let empty = [both[0], both[1], ("IOLODE_LAKE", "")];
        assert_eq!(path(&empty), Some("/of/xdg".into()));
        let by = default(&all).unwrap().unwrap().by;
        assert_eq!(by.as_deref(), Some("IOLODE_LAKE"));
    }

    #[test]
    fn a_config_file_that_is_wrong_is_named_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("iolode")).unwrap();
        let file = dir.path().join("iolode/config.toml");
        let why = |text: &str| {
            std::fs::write(&file, text).unwrap();
            default(&[("XDG_CONFIG_HOME", dir.path().to_str().unwrap())])
        };
        assert_eq!(why("# nothing\n"), Ok(None));
        for (text, word) in [
            ("laek = '/x'", "laek"),
            ("lake = 3", "string"),
            ("lake = 'month/lake'", "absolute"),
            ("lake =", ""),
        ] {
            let why = why(text).unwrap_err();
            assert!(why.starts_with(&format!("{}: ", file.display())), "{why}");
            assert!(why.contains(word) && why.lines().count() == 1, "{why}");
        }
    }
}
