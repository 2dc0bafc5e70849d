//! The prompt of `iolode sql`: line editing, history, completion.

mod complete;

use super::executor::{Executor, Names};
use super::interrupt;
use super::screen::color_is_wanted;
use super::shell::{Shell, Step, say};
use rustyline::completion::Completer;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Statements that are remembered.
const HISTORY: usize = 10_000;

/// Reads lines from the terminal and runs them until the user leaves. An error is said and the prompt comes again.
///
/// # Errors
/// If the terminal cannot be read.
pub(crate) fn run<E: Executor>(shell: &mut Shell<'_, E>, described: &str) -> anyhow::Result<()> {
    let _prompt = interrupt::at_the_prompt()?;
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY)?
        .history_ignore_dups(true)?
        .build();
    let mut editor: Editor<Typing, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Typing::default()));
    editor.set_auto_add_history(false);
    let history = history();
    if let Some(path) = &history {
        let _ = editor.load_history(path);
    }
    say(format_args!(
        "iolode {}, {described}",
        env!("CARGO_PKG_VERSION")
    ));
    say("\\? for help, \\d for tables, \\q to leave");
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() {
            "iolode> "
        } else {
            "     -> "
        };
        if let Some(typing) = editor.helper_mut() {
            typing.before = shell.open().to_string();
            if typing.names.is_none() {
                // Without a lake that can be read there is nothing to complete, but still a prompt.
                typing.names = Some(shell.executor.names().unwrap_or_default());
            }
        }
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                shell.forget();
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(anyhow::Error::new(error).context("cannot read the terminal")),
        };
        if !statement.is_empty() {
            statement.push('\n');
        }
        statement.push_str(&line);
        let step = shell.feed(&line);
        let open = matches!(step, Ok(Step::More));
        if open {
            continue;
        }
        let entered = std::mem::take(&mut statement);
        if !entered.trim().is_empty() {
            let _ = editor.add_history_entry(entered.trim());
            if let Some(path) = &history {
                let _ = editor.append_history(path);
            }
        }
        match step {
            Ok(Step::Quit) => break,
            Ok(_) => {}
            Err(error) => {
                shell.forget();
                complain(&error);
            }
        }
        if changes_names(&entered)
            && let Some(typing) = editor.helper_mut()
        {
            typing.names = None;
        }
    }
    Ok(())
}

fn complain(error: &anyhow::Error) {
    let line = super::exit::message(error);
    match std::io::stderr().is_terminal() && color_is_wanted() {
        true => {
            let line = crate::text::shown(&line);
            let _ = writeln!(std::io::stderr(), "\x1b[31m{line}\x1b[0m");
        }
        false => say(line),
    }
}

/// Whether there may be other tables or columns after these statements.
fn changes_names(entered: &str) -> bool {
    let entered = entered.to_lowercase();
    ["create", "drop", "\\i"]
        .iter()
        .any(|word| entered.contains(word))
}

/// Where statements are remembered: `iolode/history` in the user's directory for state. None if there is no such place.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let directory = state.join("iolode");
    std::fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}

/// What the line editor knows.
#[derive(Default)]
struct Typing {
    /// What can be named; None until it was asked for.
    names: Option<Names>,
    /// The lines of the statement before this one.
    before: String,
}

impl Helper for Typing {}
impl Hinter for Typing {
    type Hint = String;
}
impl Highlighter for Typing {}
impl Validator for Typing {}

impl Completer for Typing {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(match &self.names {
            Some(names) => complete::complete(&self.before, line, at, names),
            None => (at, vec![]),
        })
    }
}
