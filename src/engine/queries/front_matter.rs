//! The front matter of a file of SQL: lines that begin with `---`.

/// The TOML in the lines at a file's head that begin with `---`, and what follows.
pub(in crate::engine) fn front_matter(text: &str) -> (String, String) {
    let front: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("---"))
        .collect();
    let sql: Vec<&str> = text.lines().skip(front.len()).collect();
    (front.join("\n"), sql.join("\n"))
}
