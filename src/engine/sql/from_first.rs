//! `FROM t` without SELECT has all columns, as in DuckDB. DataFusion 55.2 plans it without any, and so without rows.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Select, SelectFlavor, SelectItem, VisitorMut, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Writes `SELECT *` to each FROM that stands alone.
pub(in crate::engine) fn write_out(statement: &mut Statement) {
    let _ = super::visit::visit_mut(statement, &mut Selects);
}

struct Selects;

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            select.flavor = SelectFlavor::Standard;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    #[test]
    fn from_alone_has_all_columns() {
        const T: &str = "(VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS t(v, s)";
        assert_eq!(
            ask(&format!("FROM {T} ORDER BY v DESC LIMIT 2")).unwrap(),
            ["3 | c", "2 | b"]
        );
        assert_eq!(
            ask(&format!("SELECT max(v) FROM (FROM {T})")).unwrap(),
            ["3"]
        );
        assert_eq!(ask(&format!("FROM {T} SELECT s LIMIT 1")).unwrap(), ["a"]);
    }
}
