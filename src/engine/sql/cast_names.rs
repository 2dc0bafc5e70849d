//! `SELECT min(CAST(time AS DATE)), min(time)`: an aggregate of a cast beside the same aggregate of the column.
//!
//! DataFusion 55.2 names a cast like what is cast, and refuses two aggregates of one name, also where outputs have names of their own. Only a query that
//! was refused is changed: each cast in a call gets a function around it that gives what it is given, those to one type as often, and to another once more.

use super::headings;
use super::visit::change_outside_subqueries;
use crate::engine::workarounds::functional_dependencies::OPTIMIZER_BARRIER;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, VisitorMut,
};
use std::ops::ControlFlow;

/// The statement with such functions; None if nothing is cast in a call.
pub(in crate::engine) fn told_apart(statement: Statement) -> Option<Statement> {
    let mut statement = headings::distinct(statement.clone()).unwrap_or(statement);
    let mut calls = Calls { types: vec![] };
    let _ = super::visit::visit_mut(&mut statement, &mut calls);
    (!calls.types.is_empty()).then_some(statement)
}

/// Looks for calls; the types of the casts in them so far.
struct Calls {
    types: Vec<String>,
}

impl VisitorMut for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && !is_same(function)
        {
            change_outside_subqueries(&mut function.args, |expr| self.tell_apart(expr));
        }
        ControlFlow::Continue(())
    }
}

impl Calls {
    fn tell_apart(&mut self, expr: &mut Expr) {
        if let Expr::Cast { data_type, .. } = &*expr {
            let data_type = data_type.to_string();
            let place = self.types.iter().position(|known| *known == data_type);
            let place = place.unwrap_or_else(|| {
                self.types.push(data_type);
                self.types.len() - 1
            });
            for _ in 0..=place {
                *expr = same(expr.clone());
            }
        }
    }
}

fn is_same(function: &Function) -> bool {
    function.name.to_string() == OPTIMIZER_BARRIER.name()
}

/// A call of the function that gives what it is given.
fn same(expr: Expr) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(OPTIMIZER_BARRIER.name())]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))],
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn aggregates_of_a_cast_stand_beside_those_of_the_column() {
        const T: &str = "(VALUES (1), (10), (9)) AS t(a)";
        for (select, rows) in [
            (
                "min(cast(a AS VARCHAR)) AS e, max(cast(a AS VARCHAR)), max(a) AS m, min(a)",
                "1 | 9 | 10 | 1",
            ),
            ("count(cast(a AS VARCHAR)), count(a)", "3 | 3"),
            ("max(a), max(a::varchar), max(a::double)", "10 | 9 | 10.0"),
            ("sum(a::double / 4) AS f, sum(a / 4)", "5.0 | 4"),
            (
                "(SELECT max(a::varchar) || max(a) FROM (VALUES (9), (10)) AS u(a)) AS s",
                "910",
            ),
        ] {
            let sql = format!("SELECT {select} FROM {T}");
            let sql = match select.starts_with('(') {
                true => format!("SELECT {select}"),
                false => sql,
            };
            assert_eq!(ask(&sql).unwrap(), [rows], "{sql}");
        }
        let sql = format!(
            "SELECT a % 2 AS g, min(cast(a AS VARCHAR)) AS v, min(a) AS a FROM {T} GROUP BY a % 2 HAVING max(a::varchar) > '1' ORDER BY min(t.a)"
        );
        assert_eq!(ask(&sql).unwrap(), ["1 | 1 | 1", "0 | 10 | 10"]);
    }
}
