//! The words of a command line that writes the same page from any directory.

use super::args::{Args, Place, is_file};
use crate::cli::query_args::QueryArgs;
use crate::cli::session::named;
use crate::error::Error;
use clap::ValueEnum;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The words behind the program: all options but those of the timer, with absolute paths; `ask` has the lake, also if it is the default one.
///
/// # Errors
/// If a path cannot be made absolute.
pub(super) fn words(args: &Args, ask: &QueryArgs) -> Result<Vec<OsString>, Error> {
    // Each option by its name: one that is new is missed by the compiler.
    let Args {
        name,
        period,
        set,
        format,
        out,
        keep,
        js,
        png,
        mail,
        mail_from,
        show: _,
        timer: _,
        timer_as: _,
        install: _,
        force: _,
        ask: _,
    } = args;
    let QueryArgs {
        lake,
        version,
        logs,
        ingest,
        from,
        to,
        timezone,
        dxt,
        memory,
        threads,
        #[cfg(feature = "cluster")]
        cluster,
        #[cfg(feature = "cluster")]
        cluster_above,
        verbose,
        lake_by: _,
        no_local_files: _,
    } = ask;
    let mut words: Vec<OsString> = vec!["report".into()];
    words.extend(name.as_deref().map(report).transpose()?);
    let mut option = |name: &str, value: &OsStr| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        words.push(word);
    };
    for given in lake {
        let (name, path) = named(given);
        let whole = absolute(path)?.into_os_string();
        let mut value = OsString::new();
        if path.as_os_str() != given.as_str() {
            value.push(format!("{name}="));
        }
        value.push(whole);
        option("lake", &value);
    }
    for path in logs {
        option("logs", absolute(path)?.as_os_str());
    }
    let texts = [
        ("version", version.map(|n| n.to_string())),
        ("period", period.clone()),
        ("from", from.clone()),
        ("to", to.clone()),
        ("timezone", timezone.clone()),
        ("memory", memory.map(|bytes| bytes.to_string())),
        ("threads", threads.map(|n| n.to_string())),
        ("format", format.and_then(value_name)),
        ("png", png.clone()),
        ("keep", keep.map(|n| n.to_string())),
        (
            "js",
            (*js != Place::Inside).then(|| value_name(*js)).flatten(),
        ),
        ("mail-from", mail_from.clone()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            option(name, OsStr::new(&text));
        }
    }
    set.iter().for_each(|set| option("set", OsStr::new(set)));
    mail.iter()
        .for_each(|address| option("mail", OsStr::new(address)));
    if let Some(out) = out {
        let mut whole = absolute(out)?.into_os_string();
        // A directory stays one, also where it is not there yet.
        if out.as_os_str().as_encoded_bytes().ends_with(b"/")
            && !whole.as_encoded_bytes().ends_with(b"/")
        {
            whole.push("/");
        }
        option("out", &whole);
    }
    #[cfg(feature = "cluster")]
    {
        if let Some(file) = cluster {
            option("cluster", absolute(file)?.as_os_str());
        }
        if let Some(bytes) = cluster_above {
            option("cluster-above", OsStr::new(&bytes.to_string()));
        }
    }
    let flags = [("--ingest", ingest), ("--dxt", dxt), ("--verbose", verbose)];
    words.extend(
        flags
            .into_iter()
            .filter(|(_, given)| **given)
            .map(|(flag, _)| flag.into()),
    );
    Ok(words)
}

fn report(name: &str) -> Result<OsString, Error> {
    match is_file(name) {
        true => Ok(absolute(Path::new(name))?.into_os_string()),
        false => Ok(name.into()),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|e| Error::io(path, "cannot use as a path", e))
}

fn value_name(value: impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, Command, FromArgMatches};

    fn words_of(line: &[&str]) -> Vec<String> {
        let matches = Args::augment_args(Command::new("report")).get_matches_from(line);
        let args = Args::from_arg_matches(&matches).unwrap();
        let words = words(&args, &args.ask).unwrap();
        words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn every_option_but_those_of_the_timer_is_there_with_absolute_paths() {
        let here = std::env::current_dir().unwrap();
        let here = here.display();
        #[allow(unused_mut)]
        let mut line = vec![
            "report",
            "ours.toml",
            "--lake",
            "a b",
            "--lake",
            "then=old",
            "--version",
            "3",
            "--logs",
            "x",
            "y",
            "--from=2026-01-01",
            "--to=2026-02-01",
            "--timezone=Europe/Berlin",
            "--memory=1KiB",
            "--threads=2",
            "--format=html",
            "--keep=4",
            "--js=beside",
            "--mail=a@x",
            "--mail=b@x",
            "--mail-from=c@x",
            "--set=a=b c",
            "--out",
            "pages/",
            "--ingest",
            "--dxt",
            "--verbose",
            "--timer=weekly",
            "--timer-as=cron",
        ];
        let words = words_of(&line);
        let expected = [
            "report".into(),
            format!("{here}/ours.toml"),
            format!("--lake={here}/a b"),
            format!("--lake=then={here}/old"),
            format!("--logs={here}/x"),
            format!("--logs={here}/y"),
            "--version=3".into(),
            "--from=2026-01-01".into(),
            "--to=2026-02-01".into(),
            "--timezone=Europe/Berlin".into(),
            "--memory=1024".into(),
            "--threads=2".into(),
            "--format=html".into(),
            "--keep=4".into(),
            "--js=beside".into(),
            "--mail-from=c@x".into(),
            "--set=a=b c".into(),
            "--mail=a@x".into(),
            "--mail=b@x".into(),
            format!("--out={here}/pages/"),
            "--ingest".into(),
            "--dxt".into(),
            "--verbose".into(),
        ];
        assert_eq!(words, expected);
        // Read again they say the same.
        let again: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words_of(&again), words);
        // Those that exclude others of the above.
        line = vec![
            "report",
            "weekly",
            "--png",
            "Load",
            "--out=a.png",
            "--period=last-week",
        ];
        #[cfg(feature = "cluster")]
        line.extend(["--cluster=c.toml", "--cluster-above=2KiB"]);
        let words = words_of(&line);
        assert_eq!(
            words[..4],
            ["report", "weekly", "--period=last-week", "--png=Load"]
        );
        #[cfg(feature = "cluster")]
        assert!(words.ends_with(&[
            format!("--cluster={here}/c.toml"),
            "--cluster-above=2048".into()
        ]));
    }
}
