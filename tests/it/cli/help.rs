//! What a newcomer tries: the demo, the schema, completions and manual pages.

use crate::cli_program::{fresh, iolode};

crate::tests! {
    [] => {
        a_demo_answers_its_questions_and_can_be_run_again,
        the_schema_lists_tables_views_and_columns,
        completions_and_manual_pages_are_made,
    }
}

fn a_demo_answers_its_questions_and_can_be_run_again() {
    let dir = fresh();
    let run = || iolode(dir.path(), &["demo", "here", "--jobs", "60"]).ok();
    let first = run();
    assert_eq!(first.matches("\n    select ").count(), 7, "{first}");
    assert!(first.contains("4. Try next"), "{first}");
    let second = run();
    assert!(
        second.contains("they are there from an earlier run") && second.contains("nothing new: "),
        "{second}"
    );
    let answers = |text: &str| text.split_once("3. Seven questions").unwrap().1.to_string();
    assert_eq!(answers(&first), answers(&second));
    // A run that was stopped while it wrote its logs starts them again.
    std::fs::remove_file(dir.path().join("here/logs/truth.json")).unwrap();
    assert_eq!(answers(&run()), answers(&first));
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/thesis.tex"), "").unwrap();
    assert!(
        iolode(dir.path(), &["demo", "mine"])
            .failed()
            .contains("holds no demo")
    );
}

fn the_schema_lists_tables_views_and_columns() {
    let dir = fresh();
    let all = iolode(dir.path(), &["schema", "--format", "csv"]).ok();
    for table in [
        "darshan_log,",
        "darshan_dxt,",
        "lake_input,",
        "darshan_job,",
    ] {
        assert!(
            all.lines().any(|line| line.starts_with(table)),
            "{table} is missing"
        );
    }
    let file = iolode(dir.path(), &["schema", "darshan_file"]).ok();
    assert!(
        file.starts_with("darshan_file: One file in one log"),
        "{file}"
    );
    let row = file
        .lines()
        .find(|line| line.starts_with(" bytes_written "))
        .unwrap();
    assert!(
        row.contains("| Int64") && row.contains("| B ") && row.contains("| never"),
        "{row}"
    );
    assert!(all.contains("\ndiagnose,"), "{all}");
    let page = iolode(dir.path(), &["schema", "diagnose"]).ok();
    assert!(
        page.starts_with("diagnose, a page: One job on one page") && page.contains("\n --job"),
        "{page}"
    );
    let page = iolode(dir.path(), &["schema", "percentiles"]).ok();
    assert!(
        page.starts_with("percentiles(") && page.contains("\nExample:\n"),
        "{page}"
    );
    let why = iolode(dir.path(), &["schema", "ratio", "--format", "csv"]).failed();
    assert!(why.contains("ratio is a function"), "{why}");
    let why = iolode(dir.path(), &["schema", "darshan_fiel"]).failed();
    assert_eq!(
        why,
        "unknown table `darshan_fiel`; did you mean `darshan_file`?"
    );
}

fn completions_and_manual_pages_are_made() {
    let dir = fresh();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            iolode(dir.path(), &["completions", shell])
                .ok()
                .contains("iolode"),
            "{shell}"
        );
    }
    assert!(iolode(dir.path(), &["man"]).ok().contains(".TH iolode 1"));
    assert!(
        iolode(dir.path(), &["man", "lake", "create"])
            .ok()
            .contains("range")
    );
    assert!(
        iolode(dir.path(), &["man", "lke"])
            .failed()
            .contains("did you mean `lake`?")
    );
}
