//! The real mysqldump written otherwise: the rows are the same.

use crate::lmt_files::{DUMP, context, real, rows};
use iolode::source::lmt::Lmt;
use iolode::source::{BatchSink, Input, Source};

crate::tests! {
    [Data] => {
        rows_on_one_line_are_the_same_rows,
        the_order_of_columns_is_that_of_the_list_else_of_the_definition_else_of_the_schema,
        a_file_that_becomes_shorter_while_it_is_read_is_damaged_or_refused,
    }
}

fn real_text() -> String {
    String::from_utf8(real(DUMP)).unwrap()
}

/// All tables of a text have the rows of the real dump.
fn check_same(text: &str) {
    let whole = real(DUMP);
    for name in Lmt.tables() {
        let expected = rows(name, &Input::from_bytes(DUMP, whole.clone()), &context());
        let found = rows(
            name,
            &Input::from_bytes("dump.sql", text.as_bytes().to_vec()),
            &context(),
        );
        assert_eq!(found, expected, "{name}");
    }
}

fn rows_on_one_line_are_the_same_rows() {
    let text = real_text();
    check_same(
        &text
            .replace("VALUES\n(", "VALUES (")
            .replace("),\n(", "),("),
    );
    check_same(&text.replace('\n', "\r\n"));
    check_same(&text.replace("INSERT INTO", "INSERT  IGNORE INTO"));
    // A statement for each row.
    let each = regex::Regex::new(r"(?s)(INSERT INTO `\w+` VALUES)\n(.*?\));\n").unwrap();
    let apart = each.replace_all(&text, |found: &regex::Captures| {
        format!(
            "{} {};\n",
            &found[1],
            found[2].replace("),\n(", &format!(");\n{} (", &found[1]))
        )
    });
    assert!(apart.matches("INSERT INTO `OST_DATA`").count() == 1464);
    check_same(&apart);
}

fn the_order_of_columns_is_that_of_the_list_else_of_the_definition_else_of_the_schema() {
    let text = real_text();
    let definitions = regex::Regex::new(r"(?s)CREATE TABLE `\w+` \(.*?\n\)[^\n]*;\n").unwrap();
    check_same(&definitions.replace_all(&text, ""));
    let from = text.find("INSERT INTO `OST_DATA` VALUES\n").unwrap();
    let to = from + text[from..].find(";\n").unwrap();
    let (head, data) = text[from..to].split_once('\n').unwrap();
    let turned: Vec<String> = data
        .lines()
        .map(|row| {
            let values = row
                .trim_end_matches(',')
                .trim_matches(['(', ')'])
                .rsplit(',');
            format!("({})", values.collect::<Vec<_>>().join(","))
        })
        .collect();
    let columns = "`INODES_USED`, `INODES_FREE`,`KBYTES_USED`,`KBYTES_FREE`,`PCT_CPU`,`WRITE_BYTES`,`READ_BYTES`,`ts_id`,`OST_ID`";
    let turned = turned.join(",\n");
    let list = head.replace(" VALUES", &format!(" ({columns}) VALUES\n{turned}"));
    check_same(&format!("{}{list}{}", &text[..from], &text[to..]));
    // The same order from the definition.
    let definition: String = columns
        .split(',')
        .map(|name| format!("  {} bigint(20),\n", name.trim()))
        .collect();
    let definition =
        format!("CREATE TABLE `OST_DATA` (\n{definition}  PRIMARY KEY (`x`)\n);\n{head}\n{turned}");
    let without = definitions.replace(&text[..from], "");
    let own = regex::Regex::new(r"(?s)CREATE TABLE `OST_DATA` \(.*?\n\)[^\n]*;\n").unwrap();
    let without = own.replace(&without, "");
    check_same(&format!("{without}{definition}{}", &text[to..]));
}

fn a_file_that_becomes_shorter_while_it_is_read_is_damaged_or_refused() {
    let whole = real(DUMP);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &whole).unwrap();
    let input = Input::open(file.path()).unwrap();
    file.as_file().set_len(whole.len() as u64 / 2).unwrap();
    let mut tables = BatchSink::new(["lmt_ost"]).unwrap();
    let error = Lmt
        .reader(context())
        .read(&input, 1, None, &mut tables)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("it became shorter while it was read"),
        "{error}"
    );
}
