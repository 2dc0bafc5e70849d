//! Paths as a shell reads them.

use iolode::text::{quoted, shown};
use std::path::Path;

crate::tests! {
    [Bash] => {
        a_shell_reads_a_quoted_path_as_one_word_that_is_the_path,
    }
}

fn a_shell_reads_a_quoted_path_as_one_word_that_is_the_path() {
    use std::os::unix::ffi::OsStrExt;
    for (path, expected) in [
        ("/scratch/lake-1.2", "/scratch/lake-1.2"),
        ("my lake", "'my lake'"),
        ("", "''"),
        ("~/l", "'~/l'"),
        ("it's", r"'it'\''s'"),
        ("a\nb'", r"$'a\x0ab\''"),
    ] {
        assert_eq!(quoted(Path::new(path)), expected);
    }
    let mut all: Vec<Vec<u8>> = (1..=255).map(|byte| vec![b'a', byte, b'1']).collect();
    all.push("$(x) `y` \"z\" \\ ; & | > < * ? [ ] { } # ! ä \u{202e}".into());
    all.push(b"'\\'\n\xff'\\".to_vec());
    let path = |bytes: &[u8]| Path::new(std::ffi::OsStr::from_bytes(bytes)).to_path_buf();
    let words: Vec<String> = all.iter().map(|bytes| quoted(&path(bytes))).collect();
    assert!(words.iter().all(|word| shown(word) == word.as_str()));
    let script = format!("printf '%s\\0' {}", words.join(" "));
    let bash = std::process::Command::new("bash")
        .args(["-c", &script])
        .output();
    let expected: Vec<u8> = all
        .iter()
        .flat_map(|word| [word.as_slice(), b"\0"].concat())
        .collect();
    assert_eq!(bash.unwrap().stdout, expected);
}
