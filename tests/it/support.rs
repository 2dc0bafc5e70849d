//! What several tests need.

use iolode::lake::{CreateOptions, IngestOptions, IngestReport, Lake, Silent};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The real logs; None where they are absent. A folder that is named must have them.
pub(crate) fn find_data() -> Option<PathBuf> {
    let is_there = |data: &PathBuf| data.join("darshan").is_dir();
    if let Some(named) = std::env::var_os("IOLODE_SHARED_DATA").map(PathBuf::from) {
        assert!(
            is_there(&named),
            "IOLODE_SHARED_DATA: {} has no folder `darshan`",
            named.display()
        );
        return Some(named);
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    Some(beside).filter(is_there)
}

/// Any python3.
pub(crate) fn find_python() -> Option<PathBuf> {
    let found = Command::new("python3").arg("--version").output().is_ok();
    found.then(|| "python3".into())
}

/// Python with the packages of tests/oracles/python/requirements.txt: `IOLODE_PYTHON`, which must have them, or target/venv as
/// scripts/venv.sh makes it, or python3.
pub(crate) fn find_packages() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let lacks = |python: &PathBuf| -> Option<String> {
            let packages = Command::new(python)
                .args(["-c", "import darshan, duckdb, polars, pyarrow"])
                .output();
            match packages {
                Ok(output) if output.status.success() => None,
                Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
                Err(error) => Some(error.to_string()),
            }
        };
        if let Some(named) = std::env::var_os("IOLODE_PYTHON").map(PathBuf::from) {
            let lacking = lacks(&named);
            assert_eq!(lacking, None, "IOLODE_PYTHON: {}", named.display());
            return Some(named);
        }
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../venv/bin/python");
        [made, "python3".into()]
            .into_iter()
            .find(|python| lacks(python).is_none())
    };
    FOUND.get_or_init(find).clone()
}

/// The Python of [`find_packages`], if it has what drives a browser.
pub(crate) fn find_playwright() -> Option<PathBuf> {
    let imports = ["-c", "import axe_playwright_python, playwright"];
    let has = |python: &PathBuf| {
        let output = Command::new(python).args(imports).output();
        output.is_ok_and(|output| output.status.success())
    };
    find_packages().filter(has)
}

/// The real logs, for a test that says that it needs them.
pub(crate) fn shared_data() -> PathBuf {
    find_data().expect("the test needs Data")
}

/// Any python3, for a test that says that it needs it.
#[cfg(feature = "engine")]
pub(crate) fn any_python() -> PathBuf {
    find_python().expect("the test needs Python")
}

/// Python with packages, for a test that says that it needs them.
pub(crate) fn python() -> PathBuf {
    find_packages().expect("the test needs Packages")
}

/// Runs a script of tests/oracles and shows what it says if it fails.
pub(crate) fn run_python(python: &Path, script: &str, arguments: &[&Path]) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles");
    let output = Command::new(python)
        .arg(scripts.join(script))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{script}:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{script}: {said}");
    said
}

/// A new lake with the logs below `paths`, DXT among them if asked for.
pub(crate) fn lake_of(root: &Path, paths: &[PathBuf], dxt: bool) -> (Lake, IngestReport) {
    let lake = Lake::create(root, &CreateOptions::default()).unwrap();
    let options = IngestOptions {
        paths: paths.iter().cloned().map(Into::into).collect(),
        dxt,
        ..IngestOptions::default()
    };
    let report = lake.ingest(&options, &Silent).unwrap();
    (lake, report)
}

/// Writes batches of one schema into a Parquet file.
#[cfg(feature = "engine")]
pub(crate) fn write_parquet(path: &Path, batches: &[arrow::record_batch::RecordBatch]) {
    use parquet::arrow::ArrowWriter;

    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}
