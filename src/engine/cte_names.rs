//! Names for the common table expressions of a named query that nobody else has.
//!
//! DataFusion refuses a WITH within a statement whose own WITH has the same name already: `WITH log AS (..) SELECT .. FROM
//! low_write()` could not be asked, for low_write calls one of its parts `log`.

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Puts the name of a named query before those of its common table expressions, and where these are asked. Columns are found by
/// the old names, which are aliases then.
pub(super) fn qualify(query: &mut Query, name: &str) {
    let mut own = Names(BTreeSet::new());
    let _ = query.visit(&mut own);
    let _ = query.visit(&mut Qualify {
        names: own.0,
        query: name,
    });
}

/// Collects names.
struct Names(BTreeSet<String>);

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let parts = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0
            .extend(parts.map(|part| part.alias.name.value.clone()));
        ControlFlow::Continue(())
    }
}

struct Qualify<'a> {
    names: BTreeSet<String>,
    query: &'a str,
}

impl Qualify<'_> {
    fn name(&self, part: &str) -> Ident {
        Ident::with_quote('"', format!("{}.{part}", self.query))
    }
}

impl VisitorMut for Qualify<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            part.alias.name = self.name(&part.alias.name.value);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && let [ObjectNamePart::Identifier(ident)] = &name.0[..]
            && self.names.contains(&ident.value)
        {
            let old = ident.clone();
            *name = ObjectName::from(vec![self.name(&old.value)]);
            alias.get_or_insert(TableAlias {
                explicit: true,
                name: old,
                columns: vec![],
                at: None,
            });
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    #[test]
    fn parts_are_named_after_the_query_and_columns_keep_their_names() {
        let sql = "WITH a AS (SELECT 1 AS x), b AS (SELECT a.x FROM a) SELECT b.x, c.x, d.x FROM b JOIN a AS c ON c.x = b.x JOIN d ON d.x IN (SELECT x FROM b)";
        let mut query = Parser::new(&GenericDialect {})
            .try_with_sql(sql)
            .and_then(|mut parser| parser.parse_query())
            .unwrap();
        qualify(&mut query, "q");
        assert_eq!(
            query.to_string(),
            "WITH \"q.a\" AS (SELECT 1 AS x), \"q.b\" AS (SELECT a.x FROM \"q.a\" AS a) SELECT b.x, c.x, d.x FROM \"q.b\" AS b JOIN \"q.a\" AS c ON c.x = b.x JOIN d ON d.x IN (SELECT x FROM \"q.b\" AS b)"
        );
    }
}
