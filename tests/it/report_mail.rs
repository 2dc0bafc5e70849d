//! Mails of `iolode report`: a stand-in for sendmail takes them, and Python's `email` reads them.

use crate::cli_program::{Run, fresh, program, small};
use crate::support::any_python;
use serde_json::Value;
use std::fs::{read, read_to_string, write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

crate::tests! {
    [Python] => {
        a_mail_has_text_html_and_the_page,
        text_of_others_adds_no_header_no_part_and_no_script,
    }
    [] => {
        a_sendmail_that_fails_or_is_not_there_is_an_error_in_one_line,
    }
}

const SENDMAIL: &str = "#!/bin/sh\necho \"$@\" > arguments\ncat > message\n";

const OURS: &str = r#"
title = "Week in Jülich"
doc = "D"
[[section]]
title = "Programs"
why = "W"
sql = "SELECT 'app' || value AS app, value * 1000 AS n FROM generate_series(1, 30)"
[[section.finding]]
says = "{app} has {n}"
most = 1
[[section]]
title = "Bad"
why = "W"
sql = "SELECT nothing FROM darshan_log"
"#;

/// What Python's `email` reads of a message: its headers, and the types and contents of its parts that have no parts.
const READ: &str = r#"
import email, email.policy, json, sys
message = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
parts = [part for part in message.walk() if not part.is_multipart()]
print(json.dumps({
    "headers": {name: str(value) for name, value in message.items()},
    "names": [name for name, _ in message.items()],
    "kinds": [part.get_content_type() for part in message.walk()],
    "files": [part.get_filename() for part in parts],
    "contents": [part.get_content() for part in parts],
    "defects": [str(defect) for part in message.walk() for defect in part.defects],
    "longest": max(len(line) for line in open(sys.argv[1])),
}))
"#;

/// `iolode report ours.toml` over the small lake, with that sendmail.
fn send(directory: &Path, report: &str, sendmail: &str, more: &[&str]) -> Run {
    write(directory.join("ours.toml"), report).unwrap();
    let stand_in = directory.join("bin/sendmail");
    std::fs::create_dir_all(stand_in.parent().unwrap()).unwrap();
    write(&stand_in, sendmail).unwrap();
    std::fs::set_permissions(&stand_in, PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut run = program(directory);
    run.env_remove("SENDMAIL");
    run.env(
        "PATH",
        format!("{}:{path}", directory.join("bin").display()),
    );
    run.args(["report", "ours.toml", "--lake", small().lake()]);
    Run::of(run.args(more))
}

fn message(directory: &Path) -> Value {
    let read = Command::new(any_python())
        .args(["-c", READ, "message"])
        .current_dir(directory)
        .output();
    let read = read.unwrap();
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    serde_json::from_slice(&read.stdout).unwrap()
}

fn a_mail_has_text_html_and_the_page() {
    let directory = fresh();
    let path = directory.path();
    let asked = "--period 2026-W37 --out page.html --mail ops@example.org --mail io@example.org --mail-from lake@example.org";
    let run = send(path, OURS, SENDMAIL, &asked.split(' ').collect::<Vec<_>>());
    // A section without an answer is in the mail as well.
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.stdout, "");
    assert_eq!(read_to_string(path.join("arguments")).unwrap(), "-t -i\n");
    let found = message(path);
    assert_eq!(found["defects"], Value::Array(vec![]), "{found}");
    let headers = &found["headers"];
    assert_eq!(headers["To"], "ops@example.org, io@example.org");
    assert_eq!(headers["From"], "lake@example.org");
    assert_eq!(headers["Subject"], "Week in Jülich: 2026-W37");
    assert_eq!(headers["Auto-Submitted"], "auto-generated");
    let kinds = [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "text/html",
        "text/html",
    ];
    assert_eq!(found["kinds"], Value::from(kinds.to_vec()));
    assert!(
        found["longest"].as_u64().unwrap() <= 78,
        "{}",
        found["longest"]
    );
    let contents = |at: usize| {
        found["contents"][at]
            .as_str()
            .unwrap()
            .replace("\r\n", "\n")
    };
    for (at, row) in [
        (0, "  app10  10000"),
        (1, "<td>app10</td><td align=\"right\">10000</td>"),
    ] {
        let content = contents(at);
        let period = "Period: 2026-09-07T00:00:00+00:00 to 2026-09-14T00:00:00+00:00";
        assert!(content.contains(period), "{content}");
        assert!(content.contains("app1 has 1000"), "{content}");
        assert!(content.contains(row), "{content}");
        // The first rows are enough: the page has them all.
        assert!(!content.contains("app11"), "{content}");
        assert!(
            content.contains("The first 10 rows; the page has 30."),
            "{content}"
        );
        assert!(
            content.contains("This section has no answer: "),
            "{content}"
        );
        assert!(!content.contains("<script"), "{content}");
    }
    assert_eq!(found["files"][2], "ours-2026-W37.html");
    let page = read_to_string(path.join("page.html")).unwrap();
    assert!(page.contains("app30"));
    assert!(contents(2) == page);
    // Without a file the mail alone has the page, and its sender is sendmail's own.
    std::fs::remove_file(path.join("page.html")).unwrap();
    let run = send(path, OURS, SENDMAIL, &["--mail", "ops@example.org"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    let found = message(path);
    assert_eq!(found["headers"].get("From"), None);
    assert_eq!(found["headers"]["Subject"], "Week in Jülich");
    assert_eq!(found["files"][2], "ours.html");
    assert!(!path.join("page.html").exists());
}

fn text_of_others_adds_no_header_no_part_and_no_script() {
    let directory = fresh();
    let path = directory.path();
    let evil = "\\n.\\n\\r\\n--=_page\\r\\nBcc: x@evil\\r\\n\\r\\n</td><script>alert(1)</script>=?utf-8?B?w6Q=?=";
    let report = format!(
        "title = \"T {evil}\"\ndoc = \"D {evil}\"\n[[section]]\ntitle = \"S {evil}\"\nwhy = \"W\"\nsql = \"\"\"SELECT '{evil}' AS x, 1 AS n\"\"\"\n\
         [[section.finding]]\nsays = \"{{x}} it is\"\n"
    );
    let run = send(path, &report, SENDMAIL, &["--mail", "ops@example.org"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let found = message(path);
    assert_eq!(found["defects"], Value::Array(vec![]), "{found}");
    let names = [
        "To",
        "Subject",
        "MIME-Version",
        "Auto-Submitted",
        "Content-Type",
    ];
    assert_eq!(found["names"], Value::from(names.to_vec()));
    assert_eq!(found["kinds"].as_array().unwrap().len(), 5);
    assert_eq!(found["headers"]["To"], "ops@example.org");
    let html = found["contents"][1].as_str().unwrap();
    assert!(!html.contains("<script"), "{html}");
    let escaped = ["&#60;script&#62;", "&lt;script&gt;"];
    assert!(escaped.iter().any(|text| html.contains(text)), "{html}");
}

fn a_sendmail_that_fails_or_is_not_there_is_an_error_in_one_line() {
    let directory = fresh();
    let path = directory.path();
    let good = OURS.split("[[section]]\ntitle = \"Bad\"").next().unwrap();
    let asked = ["--out", "page.txt", "--mail", "ops@example.org"];
    let full = "#!/bin/sh\ncat > /dev/null\necho 'queue file write error' >&2\nexit 75\n";
    let why = send(path, good, full, &asked).failed();
    assert!(
        why.contains("bin/sendmail: did not take the message"),
        "{why}"
    );
    assert!(why.ends_with("queue file write error"), "{why}");
    // The page is there.
    assert!(!read(path.join("page.txt")).unwrap().is_empty());
    std::fs::remove_file(path.join("page.txt")).unwrap();
    let mut run = program(path);
    run.env("SENDMAIL", "/nowhere/sendmail");
    run.args(["report", "ours.toml", "--lake", small().lake()]);
    let why = Run::of(run.args(asked)).failed();
    let expected = "--mail needs sendmail: SENDMAIL names /nowhere/sendmail, which is no program";
    assert_eq!(why, expected);
    assert!(!path.join("page.txt").exists());
    for bad in ["a b@x", "a@x\nBcc: b@x", "a@x,b@x"] {
        let why = send(path, good, SENDMAIL, &["--mail", bad]).failed();
        assert!(why.contains("expected an address"), "{why}");
    }
}
