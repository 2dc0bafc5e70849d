//! `cluster` is a name, Slurm's own for a column of its accounting.
//!
//! sqlparser 0.62 takes it for the beginning of Hive's `CLUSTER BY` and cannot read `SELECT job_id, cluster FROM slurm_job`.
//! DataFusion has no such clause, so the word gets quotes.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use std::borrow::Cow;
use std::collections::HashSet;

const WORD: &str = "cluster";

/// The statements with quotes around that word. What cannot be taken apart is left as it is, for the parser to say why.
pub(in crate::engine) fn quoted(sql: &str) -> Cow<'_, str> {
    if !sql.to_ascii_lowercase().contains(WORD) {
        return sql.into();
    }
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() else {
        return sql.into();
    };
    let words: HashSet<(u64, u64)> = tokens
        .iter()
        .filter(|token| {
            matches!(&token.token, Token::Word(word) if word.keyword == Keyword::CLUSTER && word.quote_style.is_none())
        })
        .map(|token| (token.span.start.line, token.span.start.column))
        .collect();
    let (mut written, mut line, mut column, mut skip) = (String::new(), 1, 1, 0);
    for c in sql.chars() {
        if words.contains(&(line, column)) {
            written.push_str("\"cluster\"");
            skip = WORD.len();
        }
        match skip {
            0 => written.push(c),
            _ => skip -= 1,
        }
        (line, column) = if c == '\n' {
            (line + 1, 1)
        } else {
            (line, column + 1)
        };
    }
    written.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::functions::tests::ask;

    #[test]
    fn a_column_named_cluster_needs_no_quotes_wherever_it_stands() {
        let from = "FROM (SELECT 1 AS job_id, 'cori' AS \"cluster\") AS s";
        for sql in [
            format!("SELECT job_id, cluster {from}"),
            format!("SELECT job_id,\n  CLUSTER {from}"),
            format!(
                "SELECT job_id, s.cluster {from} WHERE cluster = 'cori' ORDER BY job_id, cluster"
            ),
            format!("SELECT count(*), cluster {from} GROUP BY cluster"),
        ] {
            assert_eq!(ask(&sql).unwrap(), ["1 | cori"], "{sql}");
        }
    }

    #[test]
    fn texts_comments_and_longer_names_stay_as_they_are() {
        for sql in [
            "select 'cluster', \"cluster\", clusters -- cluster",
            "select 1",
            "select 'cluster",
        ] {
            assert_eq!(quoted(sql), sql);
        }
        assert_eq!(quoted("select 'ü', cluster"), "select 'ü', \"cluster\"");
    }
}
