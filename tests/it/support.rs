//! What several tests need.

use iolode::lake::{CreateOptions, IngestOptions, IngestReport, Lake, Silent};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The real logs; None, said aloud, where they are absent.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let named = std::env::var_os("IOLODE_SHARED_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = [named, Some(beside)]
        .into_iter()
        .flatten()
        .find(|data| data.join("darshan").is_dir());
    if found.is_none() {
        eprintln!("skipped: ../shared/data is absent");
    }
    found
}

/// Any python3; None, said aloud, where there is none.
#[cfg(feature = "engine")]
pub(crate) fn any_python() -> Option<PathBuf> {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no python3");
    }
    found.then(|| "python3".into())
}

/// Python with the packages of tests/oracles/python/requirements.txt: `IOLODE_PYTHON`, or target/venv as scripts/venv.sh makes it.
/// None, said aloud, where there is none.
pub(crate) fn python() -> Option<PathBuf> {
    let named = std::env::var_os("IOLODE_PYTHON").map(PathBuf::from);
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../venv/bin/python");
    let found = [named, Some(made), Some("python3".into())]
        .into_iter()
        .flatten()
        .find(|python| {
            let packages = Command::new(python)
                .args(["-c", "import darshan, duckdb, polars, pyarrow"])
                .output();
            packages.is_ok_and(|output| output.status.success())
        });
    if found.is_none() {
        eprintln!(
            "skipped: there is no python3 with pydarshan and DuckDB; scripts/venv.sh makes one"
        );
    }
    found
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
