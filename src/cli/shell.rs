//! Lines to statements and commands: what `-c`, `-f`, a pipe and the prompt have in common.
//!
//! A line that begins with a backslash, where no statement is open, is a command; everything else is SQL up to its semicolon.
//! What statements are asked of is an [`Executor`], so that the shell can be tested without a lake.

use super::executor::{Ask, Executor};
use super::output::writer::{Numbers, Sink, Style};
use super::output::{FORMATS, Format, format};
use super::schema;
use super::screen::{TerminalStyle, Watched};
use super::split_statements::split;
use anyhow::bail;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The next line begins something new.
    Ready,
    /// A statement is open.
    More,
    /// The user wants to leave.
    Quit,
}

/// A file that is there under its name once it is whole.
pub(crate) struct OutFile {
    path: PathBuf,
    /// Its name until then; None for what is no regular file.
    temporary: Option<PathBuf>,
    file: Watched<File>,
}

/// How answers look; what `\format`, `\x`, `\human` and `\timing` change.
pub(crate) struct Settings {
    /// Their form.
    pub(crate) format: &'static Format,
    /// A line for each value.
    pub(crate) expanded: bool,
    /// Whether tables have amounts with units where the unit of a column is known.
    pub(crate) human: bool,
    /// Whether the time is said.
    pub(crate) timing: bool,
}

/// Reads lines, runs what they say.
pub(crate) struct Shell<'a, E> {
    /// What runs statements.
    pub(crate) executor: E,
    /// How answers look.
    pub(crate) settings: Settings,
    stdout: Sink<'a>,
    look: TerminalStyle,
    out: Option<OutFile>,
    buffer: String,
    /// Answers written to where they go now: some formats hold one only.
    answers: u64,
    /// Files that read one another.
    depth: u32,
}

/// Commands: names, arguments and meaning, in the order shown.
const COMMANDS: &[(&str, &str, &str)] = &[
    (
        "\\d",
        "[TABLE]",
        "tables and named queries; or the columns of one, with unit and meaning",
    ),
    (
        "\\df",
        "[FUNCTION]",
        "iolode's own functions and yours; or how one is called",
    ),
    (
        "\\format",
        "[NAME]",
        "list the output formats, or choose one",
    ),
    (
        "\\x",
        "",
        "toggle one line per value (vertical) for table output",
    ),
    (
        "\\human",
        "",
        "toggle bytes, rates, times, shares and counts with units in table output",
    ),
    ("\\timing", "", "toggle timing"),
    ("\\i", "FILE", "run the statements of a file"),
    (
        "\\o",
        "[FILE]",
        "write results to a file; without a file, to the terminal again",
    ),
    ("\\?", "", "this help; also \\h"),
    ("\\q", "", "quit; also Ctrl-D"),
];

/// Names of the commands, for completion.
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, ..)| *name)
}

impl<'a, E: Executor> Shell<'a, E> {
    /// A shell that writes to stdout, which looks like that, or to a file.
    pub(crate) fn new(
        executor: E,
        settings: Settings,
        stdout: Sink<'a>,
        look: TerminalStyle,
        out: Option<OutFile>,
    ) -> Self {
        Self {
            executor,
            settings,
            stdout,
            look,
            out,
            buffer: String::new(),
            answers: 0,
            depth: 0,
        }
    }

    /// What was entered and not run yet.
    pub(crate) fn open(&self) -> &str {
        &self.buffer
    }

    /// Forgets what was entered and not run yet.
    pub(crate) fn forget(&mut self) {
        self.buffer.clear();
    }

    /// Takes one line, runs the statements that it ends.
    ///
    /// # Errors
    /// Those of the first statement that fails; what follows it on the same line is forgotten.
    pub(crate) fn feed(&mut self, line: &str) -> anyhow::Result<Step> {
        let word = line.trim();
        if self.buffer.is_empty() {
            if word.starts_with('\\') {
                return self.command(word);
            }
            match word.trim_end_matches(';').trim_end() {
                "quit" | "exit" => return Ok(Step::Quit),
                "help" => return self.command("\\?"),
                _ => {}
            }
        }
        self.buffer.push_str(line);
        self.buffer.push('\n');
        let text = std::mem::take(&mut self.buffer);
        let statements = split(&text);
        for statement in statements.complete {
            self.run(Ask::Sql(statement))?;
        }
        if statements.rest.is_empty() {
            return Ok(Step::Ready);
        }
        // As it was typed, blank lines included: they may stand inside a text.
        let from = text.rfind(statements.rest).unwrap_or(0);
        self.buffer = text[from..].to_string();
        Ok(Step::More)
    }

    /// Takes a whole text; the last statement needs no semicolon.
    ///
    /// # Errors
    /// As [`Shell::feed`], with the line at which the statement begins if that is not the first.
    pub(crate) fn feed_all(&mut self, text: &str) -> anyhow::Result<Step> {
        let mut begin = 1;
        let at = |begin: usize, error: anyhow::Error| match begin {
            1 => error,
            line => error.context(format!("the statement at line {line}")),
        };
        for (number, line) in text.lines().enumerate() {
            if self.buffer.trim().is_empty() {
                begin = number + 1;
            }
            if self.feed(line).map_err(|e| at(begin, e))? == Step::Quit {
                return Ok(Step::Quit);
            }
        }
        let rest = std::mem::take(&mut self.buffer);
        if !rest.trim().is_empty() {
            self.run(Ask::Sql(rest.trim())).map_err(|e| at(begin, e))?;
        }
        Ok(Step::Ready)
    }

    /// Ends the file that answers go to, if they do.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.end_file()
    }

    fn end_file(&mut self) -> anyhow::Result<()> {
        self.answers = 0;
        self.out.take().map_or(Ok(()), OutFile::finish)
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// Those of the statement.
    pub(crate) fn run(&mut self, ask: Ask<'_>) -> anyhow::Result<()> {
        let format = self.settings.format;
        let look = match self.out.is_some() {
            true => TerminalStyle::default(),
            false => self.look,
        };
        let style = Style {
            look,
            expanded: self.settings.expanded,
            numbers: match (self.settings.human, &ask) {
                (true, _) => Numbers::Human,
                // A named query is read by a person who has not chosen its digits.
                (false, Ask::Query(..)) if look.width.is_some() => Numbers::Rounded,
                (false, _) => Numbers::Plain,
            },
            is_file: self.out.as_ref().is_some_and(OutFile::is_file),
            ..Style::default()
        };
        if format.binary {
            let name = format.name;
            if self.out.is_none() && self.look.width.is_some() {
                bail!(
                    "{name} is nothing for a terminal; redirect stdout, or give a file with -o or \\o"
                );
            }
            if self.answers > 0 {
                bail!("{name} holds the answer of one statement only; give each a file of its own");
            }
        }
        let begin = Instant::now();
        let sink: Sink<'_> = match &mut self.out {
            Some(file) => &mut file.file,
            None => self.stdout,
        };
        let ran = self.executor.run(ask, format, style, sink);
        match &mut self.out {
            Some(file) => file.flush()?,
            None => self.stdout.flush()?,
        }
        let ran = ran?;
        self.answers += u64::from(ran.answered);
        ran.notes.iter().for_each(say);
        if format.name == "table" {
            let rows = match (ran.answered, ran.rows) {
                (false, _) => "done".to_string(),
                (true, 1) => "1 row".to_string(),
                (true, rows) => format!("{} rows", super::size::count(rows)),
            };
            match self.settings.timing {
                true => say(format_args!(
                    "{rows} in {:.3} s",
                    begin.elapsed().as_secs_f64()
                )),
                false => say(rows),
            }
        }
        Ok(())
    }

    fn command(&mut self, line: &str) -> anyhow::Result<Step> {
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim().trim_end_matches(';').trim();
        match (name, argument) {
            ("\\q", _) => return Ok(Step::Quit),
            ("\\?" | "\\h", _) => self.help()?,
            ("\\d", table) => self.describe(table)?,
            ("\\df", function) => self.functions(function)?,
            ("\\x", _) => {
                self.settings.expanded = !self.settings.expanded;
                say(format_args!(
                    "expanded answers {}",
                    on(self.settings.expanded)
                ));
            }
            ("\\human", _) => {
                self.settings.human = !self.settings.human;
                say(format_args!(
                    "numbers with units {}",
                    on(self.settings.human)
                ));
            }
            ("\\timing", _) => {
                self.settings.timing = !self.settings.timing;
                say(format_args!("timing {}", on(self.settings.timing)));
            }
            ("\\format", "") => {
                for format in FORMATS {
                    let mark = if format.name == self.settings.format.name {
                        "*"
                    } else {
                        " "
                    };
                    say(format_args!("{mark} {:8} {}", format.name, format.doc));
                }
            }
            ("\\format", name) => {
                self.settings.format = format(name).map_err(crate::Error::Invalid)?
            }
            ("\\o", "") => self.end_file()?,
            ("\\o", path) => {
                self.end_file()?;
                self.out = Some(OutFile::create(Path::new(path))?);
            }
            ("\\i", "") => bail!("\\i needs a file"),
            ("\\i", path) => {
                // A file that reads itself would do so for ever.
                if self.depth == 16 {
                    bail!("{path}: files read one another more than 16 deep");
                }
                let text = std::fs::read_to_string(path)
                    .map_err(|e| crate::Error::io(path, "cannot read", e))?;
                self.depth += 1;
                let step = self.feed_all(&text);
                self.depth -= 1;
                return step;
            }
            _ => return Err(crate::Error::unknown("command", name, commands()).into()),
        }
        Ok(Step::Ready)
    }

    fn help(&mut self) -> anyhow::Result<()> {
        say(
            "Statements end with a semicolon and may take several lines. Ctrl-C stops a statement, TAB completes names.",
        );
        for (name, argument, meaning) in COMMANDS {
            say(format_args!(
                "  {:18} {meaning}",
                format!("{name} {argument}")
            ));
        }
        Ok(())
    }

    fn describe(&mut self, table: &str) -> anyhow::Result<()> {
        let style = Style {
            look: self.look,
            ..Style::default()
        };
        if table.is_empty() {
            let names = self.executor.names()?;
            let tables = schema::of_names(&names)?;
            let note = FORMATS[0].write(self.stdout, &tables, schema::sentences(style))?;
            note.into_iter().for_each(say);
            return Ok(self.stdout.flush()?);
        }
        let bare = table.rsplit('.').next().unwrap_or(table);
        match schema::described(bare) {
            Some(described) => described
                .show(&FORMATS[0], self.stdout, style)?
                .into_iter()
                .for_each(say),
            None => {
                let names = self.executor.names()?;
                let known = names.tables.keys().map(|(_, table)| table.as_str());
                let columns = names
                    .columns(table)
                    .ok_or_else(|| crate::Error::unknown("table", table, known))?;
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                let batch = schema::texts(&[("column", columns)])?;
                FORMATS[0].write(self.stdout, &batch, schema::sentences(style))?;
            }
        }
        Ok(self.stdout.flush()?)
    }

    fn functions(&mut self, name: &str) -> anyhow::Result<()> {
        let style = Style {
            look: self.look,
            ..Style::default()
        };
        // Those of a lake that cannot be read are not worth an error here.
        let users = self.executor.names().unwrap_or_default().users;
        match name {
            "" => {
                let style = schema::sentences(style);
                FORMATS[0].write(self.stdout, &schema::functions(&users)?, style)?;
            }
            name => writeln!(self.stdout, "{}", schema::function(name, &users)?)?,
        }
        Ok(self.stdout.flush()?)
    }
}

impl OutFile {
    /// A file to write to. One of that name stays as it is until the new one is whole.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let regular = std::fs::metadata(path).is_ok_and(|file| file.is_file());
        let opened = match regular || !path.exists() {
            true => made_beside(path, |temporary| File::create_new(temporary))
                .map(|(temporary, file)| (Some(temporary), file)),
            false => (File::options().write(true).open(path)).map(|file| (None, file)),
        };
        let (temporary, file) = opened.map_err(|e| crate::Error::io(path, "cannot create", e))?;
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
            file: Watched::new(file),
        })
    }

    /// Whether it is one that can be read at any place, and not a pipe. By their names `.arrows` are streams.
    fn is_file(&self) -> bool {
        let is_stream = self
            .path
            .extension()
            .is_some_and(|of| of.eq_ignore_ascii_case("arrows"));
        self.temporary.is_some() && !is_stream
    }

    /// What was written so far is in the file then.
    fn flush(&mut self) -> anyhow::Result<()> {
        let _ = self.file.flush();
        match self.file.failed() {
            Some((_, why)) => bail!("{}: cannot write: {why}", self.path.display()),
            None => Ok(()),
        }
    }

    /// Writes a whole text or page, which is in the file then.
    ///
    /// # Errors
    /// If it cannot be written; the file stays as it was.
    pub(crate) fn write(self, page: &[u8]) -> anyhow::Result<()> {
        self.fill(|file| Ok(file.write_all(page)?))
    }

    /// Has a function write the file, which is whole then, on the disk as well: a full one may be noticed no earlier.
    ///
    /// # Errors
    /// If it cannot be written; the file stays as it was.
    pub(crate) fn fill(
        mut self,
        write: impl FnOnce(Sink<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let written = write(&mut self.file);
        // Why the file took no more says more than what the function made of it.
        self.flush()?;
        written?;
        if let Some(temporary) = &self.temporary {
            let synced = File::open(temporary).and_then(|file| file.sync_all());
            synced.map_err(|e| crate::Error::io(&self.path, "cannot write", e))?;
        }
        self.finish()
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.flush()?;
        if let Some(temporary) = self.temporary.take() {
            let moved = std::fs::rename(&temporary, &self.path);
            moved.map_err(|e| crate::Error::io(&self.path, "cannot write", e))?;
        }
        Ok(())
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        // Not finished: what is there is not whole.
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Makes something beside that path, under a name such as `page.html.5e0c41f7.partial` that nothing has: another thread, or a process of this id on another node, makes its own.
///
/// # Errors
/// Those of `make`, which fails if there is something of that name.
pub(crate) fn made_beside<T>(
    path: &Path,
    make: impl Fn(&Path) -> std::io::Result<T>,
) -> std::io::Result<(PathBuf, T)> {
    loop {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        let random = uuid::Uuid::new_v4().as_fields().0;
        name.push(format!(".{random:08x}.partial"));
        let temporary = path.with_file_name(name);
        match make(&temporary) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (temporary, made)),
        }
    }
}

fn on(switch: bool) -> &'static str {
    if switch { "on" } else { "off" }
}

/// A line on stderr, escaped, for it may name files and programs. That nobody can read it is no reason to stop.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        crate::text::shown(&line.to_string())
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::executor::{Names, Ran};

    /// Writes down what it is asked; `fail` fails, `set ..` has no answer.
    #[derive(Default)]
    struct Asked(Vec<String>);

    impl Executor for Asked {
        fn run(
            &mut self,
            ask: Ask<'_>,
            format: &Format,
            _: Style,
            sink: Sink<'_>,
        ) -> anyhow::Result<Ran> {
            let Ask::Sql(sql) = ask else {
                bail!("nothing typed is parsed before it is run")
            };
            self.0.push(sql.to_string());
            if sql == "fail" {
                bail!("no");
            }
            writeln!(sink, "{} {sql}", format.name)?;
            Ok(Ran {
                rows: 1,
                answered: !sql.starts_with("set"),
                notes: vec![],
            })
        }

        fn names(&mut self) -> anyhow::Result<Names> {
            let mut names = Names::default();
            names.add("lake", "mine", "colour");
            let twice = ["lake", "twice", "twice(x BIGINT) RETURNS BIGINT", "x * 2"];
            names.users.push(twice.map(str::to_string));
            Ok(names)
        }
    }

    /// What a shell was asked, what it wrote, and how its last line ended.
    fn check(terminal: bool, lines: &[&str]) -> (Vec<String>, String, anyhow::Result<Step>) {
        let mut out = vec![];
        let settings = Settings {
            format: &FORMATS[0],
            expanded: false,
            human: false,
            timing: false,
        };
        let look = TerminalStyle {
            width: terminal.then_some(80),
            color: false,
        };
        let mut shell = Shell::new(Asked::default(), settings, &mut out, look, None);
        let mut last = Ok(Step::Ready);
        for line in lines {
            last = shell.feed(line);
        }
        let asked = std::mem::take(&mut shell.executor.0);
        shell.finish().unwrap();
        (asked, String::from_utf8(out).unwrap(), last)
    }

    #[test]
    fn two_writers_of_one_file_each_have_their_own_until_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page.html");
        let [first, second, third] = [(); 3].map(|()| OutFile::create(&path).unwrap());
        first.write(b"first").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        second.write(b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        drop(third);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    /// Of four names that are tried three are taken.
    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let tried = std::cell::RefCell::new(vec![]);
        let make = |path: &Path| {
            tried.borrow_mut().push(path.to_path_buf());
            match tried.borrow().len() {
                4 => Ok(()),
                _ => Err(std::io::ErrorKind::AlreadyExists.into()),
            }
        };
        let (name, ()) = made_beside(Path::new("a/b.csv"), make).unwrap();
        let tried = tried.into_inner();
        assert_eq!((tried.len(), &tried[3]), (4, &name));
        assert!(tried.iter().collect::<std::collections::HashSet<_>>().len() > 1);
        let name = name.to_str().unwrap();
        assert!(name.starts_with("a/b.csv.") && name.ends_with(".partial"));
        let refused = made_beside(Path::new("b.csv"), |_| {
            Err::<(), _>(std::io::ErrorKind::PermissionDenied.into())
        });
        assert_eq!(
            refused.unwrap_err().kind(),
            std::io::ErrorKind::PermissionDenied
        );
    }

    #[test]
    fn a_statement_ends_at_its_semicolon_however_many_lines_it_takes() {
        let (asked, written, last) = check(false, &["select 1; select", "", "  2", "; select 3"]);
        assert_eq!(asked, ["select 1", "select\n\n  2"]);
        assert_eq!(written, "table select 1\ntable select\n\n  2\n");
        assert_eq!(last.unwrap(), Step::More);
        assert_eq!(check(false, &["-- a remark", ""]).2.unwrap(), Step::Ready);
    }

    #[test]
    fn a_backslash_begins_a_command_only_where_no_statement_is_open() {
        let (asked, written, _) = check(false, &["\\format json", "select", "\\x", "1;"]);
        assert_eq!(asked, ["select\n\\x\n1"]);
        assert!(written.starts_with("json "));
        let why = check(false, &["\\formt json"]).2.unwrap_err().to_string();
        assert_eq!(why, "unknown command `\\formt`; did you mean `\\format`?");
        let why = check(false, &["\\format jsn"]).2.unwrap_err().to_string();
        assert!(
            why.starts_with("unknown format `jsn`; there are table, csv"),
            "{why}"
        );
    }

    #[test]
    fn words_of_other_shells_leave_as_well() {
        for line in ["\\q", "quit", "exit;", " exit "] {
            assert_eq!(check(false, &[line]).2.unwrap(), Step::Quit, "{line}");
        }
        assert_eq!(check(false, &["select", "quit"]).2.unwrap(), Step::More);
    }

    #[test]
    fn what_follows_a_failure_on_its_line_is_not_run() {
        let (asked, _, last) = check(false, &["select 1; fail; select 2;"]);
        assert_eq!(asked, ["select 1", "fail"]);
        assert_eq!(last.unwrap_err().to_string(), "no");
        let (asked, ..) = check(false, &["fail; select", "select 3;"]);
        assert_eq!(asked, ["fail", "select 3"]);
    }

    #[test]
    fn the_last_statement_of_a_text_needs_no_semicolon() {
        let settings = Settings {
            format: &FORMATS[1],
            expanded: false,
            human: false,
            timing: false,
        };
        let mut out = vec![];
        let mut shell = Shell::new(
            Asked::default(),
            settings,
            &mut out,
            TerminalStyle::default(),
            None,
        );
        shell.feed_all("select 1;\nselect 2 -- two\n").unwrap();
        assert_eq!(shell.executor.0, ["select 1", "select 2 -- two"]);
    }

    #[test]
    fn a_file_of_statements_is_run_and_one_that_reads_itself_stops() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.sql"), dir.path().join("b.sql"));
        std::fs::write(&a, "select 1;\nselect 2").unwrap();
        std::fs::write(&b, format!("\\i {}\n", b.display())).unwrap();
        let (asked, _, last) = check(false, &[&format!("\\i {}", a.display())]);
        assert_eq!(asked, ["select 1", "select 2"]);
        assert_eq!(last.unwrap(), Step::Ready);
        let why = check(false, &[&format!("\\i {}", b.display())])
            .2
            .unwrap_err();
        assert!(
            why.to_string()
                .ends_with("files read one another more than 16 deep")
        );
        let why = check(false, &["\\i /nowhere/x.sql"]).2.unwrap_err();
        assert!(
            why.to_string()
                .ends_with("cannot read: no such file or directory")
        );
    }

    #[test]
    fn answers_go_to_a_file_that_is_there_once_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out.txt");
        let to_file = format!("\\o {}", file.display());
        let (_, written, _) = check(false, &[&to_file, "select 1;", "\\o", "select 2;"]);
        assert_eq!(written, "table select 2\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "table select 1\n");
        // One that is dropped before its end leaves the old one, and nothing else.
        let mut half = OutFile::create(&file).unwrap();
        half.file.write_all(b"half").unwrap();
        drop(half);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "table select 1\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_binary_format_holds_one_answer_and_is_nothing_for_a_terminal() {
        let (asked, _, last) = check(false, &["\\format arrow", "set a; select 1;", "select 2;"]);
        assert_eq!(asked, ["set a", "select 1"]);
        assert!(
            last.unwrap_err()
                .to_string()
                .contains("the answer of one statement only")
        );
        let why = check(true, &["\\format parquet", "select 1;"])
            .2
            .unwrap_err();
        assert!(
            why.to_string()
                .starts_with("parquet is nothing for a terminal")
        );
    }

    #[test]
    fn tables_that_nobody_described_are_described_by_their_columns() {
        assert!(check(false, &["\\d"]).1.contains(" lake | mine "));
        assert!(check(false, &["\\d"]).1.contains(" | top_write() "));
        assert!(check(false, &["\\d mine"]).1.contains(" colour"));
        let page = check(false, &["\\d diagnose"]).1;
        assert!(
            page.starts_with("diagnose, a page: ") && page.contains(" --job"),
            "{page}"
        );
        assert!(
            check(false, &["\\d lake.darshan_log"])
                .1
                .starts_with("darshan_log: One Darshan log")
        );
        let why = check(false, &["\\d mien"]).2.unwrap_err().to_string();
        assert_eq!(why, "unknown table `mien`; did you mean `mine`?");
        assert!(check(false, &["\\df"]).1.contains("ost_count("));
        assert!(check(false, &["\\df ost_count"]).1.contains("Example:"));
        assert!(check(false, &["\\df"]).1.contains("twice(x BIGINT)"));
        assert_eq!(
            check(false, &["\\df twice"]).1,
            "twice(x BIGINT) RETURNS BIGINT\n  RETURN x * 2\n  kept by lake\n"
        );
        let why = check(false, &["\\df twcie"]).2.unwrap_err().to_string();
        assert_eq!(why, "unknown function `twcie`; did you mean `twice`?");
    }
}
