//! A WITH inside of a statement may name a part as a WITH around it does: `WITH a AS (..), b AS (WITH a AS (..) SELECT .. FROM a) ..`.
//!
//! DataFusion 55.2 refuses that. The inner part gets another name, and where it is asked the old one is its alias, by which columns are found.

use super::visit::{visit_mut, visit_part_mut};
use crate::engine::queries::query_scope::alias;
use crate::engine::udf::statement::normal;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableFactor, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives the inner ones of equal names others.
pub(in crate::engine) fn told_apart(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut Scopes::default());
}

/// The names that the WITHs around a query have, and how many were made.
#[derive(Default)]
struct Scopes {
    around: Vec<Vec<String>>,
    made: usize,
}

fn names(query: &Query) -> Vec<String> {
    let parts = query.with.iter().flat_map(|with| &with.cte_tables);
    parts.map(|part| normal(&part.alias.name)).collect()
}

impl VisitorMut for Scopes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let names = names(query);
        if let Some(mut with) = query.with.take() {
            for (at, from) in names.iter().enumerate() {
                if !self.around.iter().flatten().any(|name| name == from) {
                    continue;
                }
                self.made += 1;
                let to = Ident::with_quote('"', format!("{from}.{}", self.made));
                let (from, inner) = (from.as_str(), 0);
                let mut rename = Rename { from, to, inner };
                with.cte_tables[at].alias.name = rename.to.clone();
                // A part sees those before it, and itself where it is recursive.
                let first = if with.recursive { at } else { at + 1 };
                for part in &mut with.cte_tables[first..] {
                    let _ = visit_part_mut(&mut part.query, &mut rename);
                }
                let _ = visit_part_mut(query, &mut rename);
            }
            query.with = Some(with);
        }
        self.around.push(names);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }
}

/// Asks a part by its new name, but for queries whose own WITH has the old one.
struct Rename<'a> {
    from: &'a str,
    to: Ident,
    inner: usize,
}

impl Rename<'_> {
    fn has_its_own(&self, query: &Query) -> bool {
        names(query).iter().any(|name| name == self.from)
    }
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.inner += usize::from(self.has_its_own(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.inner -= usize::from(self.has_its_own(query));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias: named,
            args: None,
            ..
        } = factor
            && let [ObjectNamePart::Identifier(ident)] = &name.0[..]
            && self.inner == 0
            && normal(ident) == self.from
        {
            let old = ident.clone();
            *name = ObjectName::from(vec![self.to.clone()]);
            named.get_or_insert_with(|| alias(old));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn an_inner_with_hides_the_names_around_it() {
        for (sql, rows) in [
            (
                "WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) SELECT x FROM a) SELECT a.x, b.x FROM a, b",
                ["1 | 2"].as_slice(),
            ),
            (
                "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH a AS (SELECT x + 1 AS x FROM a), c AS (SELECT a.x * 10 AS y FROM a) SELECT a.x, y, (SELECT max(x) FROM a) FROM a, c) t, a",
                &["2 | 20 | 2 | 1"],
            ),
            (
                "WITH a AS (SELECT 1 AS x) SELECT x, (WITH a AS (SELECT 5 AS x), A2 AS (SELECT 6 AS x) SELECT max(A.x) + max(a2.x) FROM A, a2) FROM a",
                &["1 | 11"],
            ),
            (
                "WITH a AS (SELECT 1 AS x), b AS (WITH RECURSIVE a AS (SELECT 3 AS x UNION ALL SELECT x - 1 FROM a WHERE x > 1) SELECT count(*) AS n FROM a) SELECT x, n FROM a, b",
                &["1 | 3"],
            ),
            (
                "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH a AS (SELECT 2 AS x) SELECT a.x, b.x FROM a, (WITH a AS (SELECT 3 AS x) SELECT x FROM a) AS b(x)) t",
                &["2 | 3"],
            ),
            (
                "WITH a AS (SELECT 1 AS x) SELECT x FROM (WITH \"A\" AS (SELECT 2 AS x) SELECT a.x FROM a, \"A\") t",
                &["1"],
            ),
        ] {
            assert_eq!(ask(sql).unwrap(), rows, "{sql}");
        }
        let twice = ask("WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 3").unwrap_err();
        assert!(twice.contains("more than once"), "{twice}");
    }
}
