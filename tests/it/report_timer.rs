//! What `iolode report --timer` prints: it is accepted by whoever is to run it, and runs the same command line whatever is in its paths.

use crate::cli_program::{Run, fresh, iolode, program, small};
use std::fs::{read_to_string, write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

crate::tests! {
    [Systemd] => {
        systemd_accepts_the_units_with_odd_paths,
    }
    [] => {
        the_command_of_the_service_writes_the_page,
        the_line_of_a_crontab_or_scrontab_writes_the_page,
        units_are_installed_for_the_user_and_replace_no_other_unless_asked,
        reports_of_two_programs_have_units_of_their_own,
        a_timer_that_nobody_would_see_is_refused,
        a_timer_is_refused_the_values_that_a_run_is_refused,
    }
}

const OURS: &str = "title = \"T\"\ndoc = \"D\"\n[[section]]\ntitle = \"S\"\nwhy = \"W\"\nsql = \"SELECT count(*) AS logs FROM darshan_log WHERE app <> $a\"\n\
                    [[param]]\nname = \"a\"\ntype = \"text\"\ndefault = \"'x'\"\ndoc = \"A\"\n";

/// A value with what shells, cron and systemd read as their own.
const ODD: &str = "it's 5% $HOME \"b\" ;#~*";

/// A directory of an odd name below another, with a lake and a report.
fn odd() -> (tempfile::TempDir, PathBuf) {
    let directory = fresh();
    let odd = directory.path().join(ODD);
    std::fs::create_dir(&odd).unwrap();
    symlink(&small().lake, odd.join("lake")).unwrap();
    write(odd.join("ours.toml"), OURS).unwrap();
    (directory, odd)
}

/// What is printed for a command line that is given in that directory.
fn printed(directory: &Path, more: &[&str]) -> String {
    let set = format!("a={ODD}");
    let asked = [
        "report",
        "ours.toml",
        "--lake",
        "lake",
        "--period",
        "last-week",
        "--set",
        &set,
        "--out",
        "ours.txt",
        "--timer",
        "weekly",
    ];
    let mut run = program(directory);
    run.env_remove("CHROMIUM").env_remove("SENDMAIL");
    Run::of(run.args(asked).args(more)).ok()
}

/// The files of what is printed: name and text.
fn units(printed: &str) -> Vec<(String, String)> {
    let parts = printed.split("# iolode-report-").skip(1);
    let units = parts.map(|part| {
        let (name, text) = part.split_once('\n').unwrap();
        (format!("iolode-report-{name}"), text.to_string())
    });
    units.collect()
}

/// The words of a line, by the rules of systemd.syntax(7) "Quoting" and systemd.service(5) "Command lines".
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' if quote.is_none() => words.extend(word.take()),
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote == Some(c) => quote = None,
            '\\' => {
                let escaped = chars.next().unwrap();
                assert!(['"', '\\'].contains(&escaped), "{line}");
                word.get_or_insert_default().push(escaped);
            }
            // Alone they would be a specifier and a variable.
            '%' | '$' => {
                assert_eq!(chars.next(), Some(c), "{line}");
                word.get_or_insert_default().push(c);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Runs a command elsewhere, without most of the environment, as a timer does.
fn run(command: &mut Command, page: &Path) {
    let done = command.current_dir("/").env_clear().stdin(Stdio::null());
    let done = done.env("PATH", "/usr/bin:/bin").output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let text = read_to_string(page).unwrap();
    assert!(text.starts_with("T\n"), "{text}");
    std::fs::remove_file(page).unwrap();
}

fn the_command_of_the_service_writes_the_page() {
    let (_directory, odd) = odd();
    let units = units(&printed(&odd, &[]));
    let line = units[0]
        .1
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let words = words(line.unwrap());
    assert!(words.contains(&format!("--set=a={ODD}")), "{words:?}");
    run(
        Command::new(&words[0]).args(&words[1..]),
        &odd.join("ours.txt"),
    );
}

fn systemd_accepts_the_units_with_odd_paths() {
    let (directory, odd) = odd();
    for when in ["daily", "weekly", "monthly"] {
        let asked = [
            "report",
            "ours.toml",
            "--lake",
            "lake",
            "--timezone",
            "Europe/Berlin",
            "--out",
            "ours.txt",
            "--timer",
            when,
        ];
        let units = units(&iolode(&odd, &asked).ok());
        assert_eq!(units.len(), 2);
        let mut verify = Command::new("systemd-analyze");
        verify.args(["--user", "--man=no", "--recursive-errors=no", "verify"]);
        for (name, text) in &units {
            write(directory.path().join(name), text).unwrap();
            verify.arg(directory.path().join(name));
        }
        let verified = verify
            .env("XDG_RUNTIME_DIR", directory.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&verified.stderr);
        assert!(
            verified.status.success() && said.is_empty(),
            "{when}: {said}"
        );
        // The first Monday, day and month after a Thursday, by the calendar.
        let time = units[1]
            .1
            .lines()
            .find_map(|line| line.strip_prefix("OnCalendar="));
        let next = Command::new("systemd-analyze")
            .args([
                "calendar",
                "--base-time=2026-10-01 12:00:00 UTC",
                time.unwrap(),
            ])
            .env("TZ", "UTC")
            .output()
            .unwrap();
        let next = String::from_utf8_lossy(&next.stdout).into_owned();
        let expected = match when {
            "daily" => "Fri 2026-10-02 04:00:00 UTC",
            "weekly" => "Mon 2026-10-05 04:00:00 UTC",
            // Winter time has begun.
            _ => "Sun 2026-11-01 05:00:00 UTC",
        };
        assert!(next.contains(expected), "{next}");
    }
}

fn the_line_of_a_crontab_or_scrontab_writes_the_page() {
    let (_directory, odd) = odd();
    for table in ["cron", "scrontab"] {
        let printed = printed(&odd, &["--timer-as", table]);
        let lines: Vec<&str> = printed.lines().collect();
        let (line, comments) = lines.split_last().unwrap();
        assert!(
            comments.iter().all(|line| line.starts_with('#')),
            "{printed}"
        );
        let has_options = comments
            .iter()
            .any(|line| line.starts_with("#SCRON --job-name=iolode-report-ours-it-s-5-"));
        assert_eq!(has_options, table == "scrontab", "{printed}");
        let mut fields = line.splitn(6, ' ');
        let times: Vec<&str> = fields.by_ref().take(5).collect();
        assert_eq!(times, ["0", "6", "*", "*", "1"]);
        let mut command = fields.next().unwrap().to_string();
        if table == "cron" {
            // By crontab(5): `%` ends the command, `\%` is `%`.
            assert!(
                !command.replace("\\%", "").contains(['%', '\\']),
                "{command}"
            );
            command = command.replace("\\%", "%");
        }
        run(
            Command::new("/bin/sh").args(["-c", &command]),
            &odd.join("ours.txt"),
        );
    }
    // The sendmail that is found here is found by cron.
    let sendmail = odd.join("sendmail");
    write(
        &sendmail,
        "#!/bin/sh\ncat > \"$(dirname \"$0\")/message\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&sendmail, PermissionsExt::from_mode(0o755)).unwrap();
    let asked = "report weekly --lake lake --mail a@example.org --out weekly.txt --timer weekly --timer-as scrontab";
    let mut of_mail = program(&odd);
    of_mail.env("SENDMAIL", "./sendmail");
    let printed = Run::of(of_mail.args(asked.split(' '))).ok();
    let line = printed.lines().last().unwrap();
    let command = line.strip_prefix("0 6 * * 1 ").unwrap();
    let done = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir("/")
        .status()
        .unwrap();
    assert!(done.success() && odd.join("weekly.txt").exists());
    let message = read_to_string(odd.join("message")).unwrap();
    assert!(message.starts_with("To: a@example.org\n"), "{message}");
    // What has no form in such a line.
    std::fs::create_dir(odd.join("a\nb")).unwrap();
    let asked = [
        "report",
        "ours.toml",
        "--lake",
        "lake",
        "--out",
        "a\nb/ours.txt",
        "--timer",
        "weekly",
        "--timer-as",
        "cron",
    ];
    let why = iolode(&odd, &asked).failed();
    assert!(why.contains("use --timer-as systemd"), "{why}");
}

fn reports_of_two_programs_have_units_of_their_own() {
    let (directory, odd) = odd();
    let config = directory.path().join("config");
    for app in ["flame_dns", "storm_les"] {
        let mut run = program(&odd);
        run.env("XDG_CONFIG_HOME", &config);
        let (set, out) = (format!("app={app}"), format!("{app}/"));
        let asked = ["report", "app", "--lake", "lake", "--period", "last-week"];
        run.args(asked).args(["--set", &set, "--out", &out]);
        run.args(["--keep", "9", "--timer", "weekly", "--install"]);
        Run::of(&mut run).ok();
        let unit = format!("systemd/user/iolode-report-app-{app}.service");
        let service = read_to_string(config.join(unit)).unwrap();
        assert!(service.contains(&format!("--set={set}")), "{service}");
    }
}

fn units_are_installed_for_the_user_and_replace_no_other_unless_asked() {
    let (directory, odd) = odd();
    let config = directory.path().join("config");
    let install = |out: &str, more: &[&str]| {
        let mut run = program(&odd);
        run.env("XDG_CONFIG_HOME", &config);
        run.args([
            "report",
            "weekly",
            "--lake",
            "lake",
            "--period",
            "last-week",
            "--timer",
            "weekly",
            "--install",
        ]);
        Run::of(run.args(["--out", out]).args(more))
    };
    let unit = |kind: &str| {
        config
            .join("systemd/user/iolode-report-weekly")
            .with_extension(kind)
    };
    let first = install("weekly.html", &[]);
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (Some(0), ""),
        "{first:?}"
    );
    for kind in ["service", "timer"] {
        assert!(
            first
                .stderr
                .contains(&format!("wrote {}\n", unit(kind).display())),
            "{first:?}"
        );
    }
    assert!(
        first
            .stderr
            .contains("systemctl --user enable --now iolode-report-weekly.timer")
    );
    assert!(first.stderr.contains("loginctl enable-linger"));
    let service = read_to_string(unit("service")).unwrap();
    assert!(service.contains("/weekly.html"), "{service}");
    // The same again is no other.
    let again = install("weekly.html", &[]);
    assert!(
        again.code == Some(0) && !again.stderr.contains("wrote"),
        "{again:?}"
    );
    let why = install("weekly.txt", &[]).failed();
    assert!(
        why.starts_with(&unit("service").display().to_string()),
        "{why}"
    );
    assert!(why.contains("--force"), "{why}");
    assert_eq!(read_to_string(unit("service")).unwrap(), service);
    install("weekly.txt", &["--force"]).ok();
    assert!(
        read_to_string(unit("service"))
            .unwrap()
            .contains("/weekly.txt")
    );
    assert_eq!(
        std::fs::read_dir(config.join("systemd/user"))
            .unwrap()
            .count(),
        2
    );
    // Without the variable, where systemd looks as well.
    let asked = [
        "report",
        "weekly",
        "--lake",
        "lake",
        "--out",
        "weekly.html",
        "--timer",
        "daily",
        "--install",
    ];
    let run = iolode(&odd, &asked);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        odd.join(".config/systemd/user/iolode-report-weekly.timer")
            .exists()
    );
    assert!(
        run.stderr
            .contains("note: the period is the same in each run"),
        "{run:?}"
    );
}

fn a_timer_that_nobody_would_see_is_refused() {
    let (_directory, odd) = odd();
    for (asked, why) in [
        (&["--timer", "weekly"][..], "--out FILE or --mail ADDRESS"),
        (&["--timer", "hourly", "--out", "a.html"], "weekly"),
        (&["--install", "--out", "a.html"], "--timer"),
        // What would be refused each week.
        (
            &["--timer", "weekly", "--out", "a.html", "--keep", "2"],
            "--period",
        ),
        (
            &[
                "--timer",
                "weekly",
                "--format",
                "csv-dir",
                "--mail",
                "a@example.org",
            ],
            "--out DIR",
        ),
        (
            &[
                "--timer",
                "weekly",
                "--timer-as",
                "cron",
                "--install",
                "--out",
                "a.html",
            ],
            "--install",
        ),
    ] {
        let asked = [&["report", "weekly", "--lake", "lake"], asked].concat();
        let found = iolode(&odd, &asked).failed();
        assert!(found.contains(why), "{asked:?}: {found}");
    }
    assert!(!odd.join("a.html").exists());
}

/// The same line as without `--timer`, and no unit.
fn a_timer_is_refused_the_values_that_a_run_is_refused() {
    let (directory, odd) = odd();
    let config = directory.path().join("config");
    let asked = |report: &str, set: &[&str], more: &[&str]| {
        let mut run = program(&odd);
        run.env("XDG_CONFIG_HOME", &config);
        run.args(["report", report, "--lake", "lake", "--out", "a.txt"]);
        let set = set.iter().flat_map(|set| ["--set", set]);
        Run::of(run.args(set).args(more)).failed()
    };
    for (report, set, why) in [
        ("ours.toml", &["b=1"][..], "unknown parameter `b`"),
        ("weekly", &["most=1"], "unknown parameter `most`"),
        ("job", &["job=seven"], "job"),
        ("job", &[], "the report job needs --set job=..: Job id"),
    ] {
        let of_run = asked(report, set, &[]);
        assert!(of_run.contains(why), "{of_run}");
        for more in [
            &["--timer", "weekly"][..],
            &["--timer", "weekly", "--timer-as", "cron"],
            &["--timer", "weekly", "--install"],
        ] {
            assert_eq!(asked(report, set, more), of_run, "{more:?}");
        }
    }
    assert!(!config.exists() && !odd.join("a.txt").exists());
}
