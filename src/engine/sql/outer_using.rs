//! `a FULL JOIN b USING (k)` with its key written out, where the tables around it have names.
//!
//! ```sql
//! SELECT k, sum(v) FROM a FULL JOIN b USING (k) GROUP BY k
//! SELECT coalesce(a.k, b.k) AS k, sum(v) FROM a FULL JOIN b ON a.k = b.k GROUP BY coalesce(a.k, b.k)
//! ```
//!
//! By the SQL standard the key of a RIGHT join is that of its right side. DataFusion 55.2 gives that of the left side for both (its issue 22881).
//! `SELECT *` has the keys first and once. What cannot be written so [`super::using::check`] refuses.

use super::using::name_of;
use super::visit::{change_outside_subqueries, visit_mut};
use crate::engine::udf::statement::normal;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Distinct, ExcludeSelectItem, Expr, Ident, JoinConstraint, JoinOperator,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Writes the keys of such joins out.
pub(in crate::engine) fn write_out(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut Joins);
}

struct Joins;

impl VisitorMut for Joins {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Query { body, order_by, .. } = query;
        if let SetExpr::Select(select) = body.as_mut() {
            let Some((tables, keys)) = joined_on(select) else {
                return ControlFlow::Continue(());
            };
            if let Some(order_by) = order_by
                && let OrderByKind::Expressions(terms) = &mut order_by.kind
            {
                // A name alone is that of an output.
                let is_output = |expr: &Expr| match expr {
                    Expr::Identifier(name) => {
                        select.projection.iter().any(|item| names(item, name))
                    }
                    _ => false,
                };
                for term in terms.iter_mut().filter(|term| !is_output(&term.expr)) {
                    put_in(&mut term.expr, &keys);
                }
            }
            write_into(select, &tables, &keys);
        } else {
            of_operands(body);
        }
        ControlFlow::Continue(())
    }
}

/// The SELECTs of a set operation. Queries in brackets are visited as queries of their own.
fn of_operands(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            if let Some((tables, keys)) = joined_on(select) {
                write_into(select, &tables, &keys);
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            of_operands(left);
            of_operands(right);
        }
        _ => {}
    }
}

/// A name of USING, and what it stands for.
struct Key {
    name: Ident,
    value: Expr,
}

/// A table, and those of its columns that are keys.
type Table = (Ident, Vec<Ident>);

/// Writes the joins of a SELECT with ON; its tables, and the keys that the joins had.
fn joined_on(select: &mut Select) -> Option<(Vec<Table>, Vec<Key>)> {
    match &mut select.from[..] {
        [from] if has_outer(from) => {
            let mut joined = from.clone();
            let found = merged(&mut joined)?;
            *from = joined;
            Some(found)
        }
        _ => None,
    }
}

/// Whether one of the joins is RIGHT or FULL and has USING.
fn has_outer(from: &TableWithJoins) -> bool {
    use JoinOperator::{FullOuter, Right, RightOuter};
    from.joins.iter().any(|join| {
        matches!(
            &join.join_operator,
            Right(JoinConstraint::Using(_))
                | RightOuter(JoinConstraint::Using(_))
                | FullOuter(JoinConstraint::Using(_))
        )
    })
}

/// None if a table has no name, or it is not known which table a key is of.
fn merged(from: &mut TableWithJoins) -> Option<(Vec<Table>, Vec<Key>)> {
    let first = name_of(&from.relation)?;
    let mut tables: Vec<Table> = vec![(first.clone(), vec![])];
    let mut keys: Vec<Key> = vec![];
    for (before, join) in from.joins.iter_mut().enumerate() {
        use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
        let table = name_of(&join.relation)?;
        let (constraint, keeps_left, keeps_right) = match &mut join.join_operator {
            Join(constraint) | Inner(constraint) | Left(constraint) | LeftOuter(constraint) => {
                (constraint, true, false)
            }
            Right(constraint) | RightOuter(constraint) => (constraint, false, true),
            FullOuter(constraint) => (constraint, true, true),
            _ => return None,
        };
        let mut own = vec![];
        match constraint {
            JoinConstraint::Using(names) => {
                let mut equal = vec![];
                for name in std::mem::take(names) {
                    let name = name.0.last()?.as_ident()?.clone();
                    let right = column(&table, &name);
                    let known = keys
                        .iter()
                        .position(|key| normal(&key.name) == normal(&name));
                    let left = match known {
                        Some(at) => keys[at].value.clone(),
                        // Of several tables before it any may have the column.
                        None if before == 0 => column(&first, &name),
                        None => return None,
                    };
                    let value = match (keeps_left, keeps_right) {
                        (true, true) => parsed(&format!("coalesce({left}, {right})"))?,
                        (true, false) => left.clone(),
                        (false, _) => right.clone(),
                    };
                    match known {
                        Some(at) => keys[at].value = value,
                        None => {
                            tables[0].1.push(name.clone());
                            keys.push(Key {
                                name: name.clone(),
                                value,
                            });
                        }
                    }
                    own.push(name);
                    equal.push(Expr::BinaryOp {
                        left: Box::new(left),
                        op: BinaryOperator::Eq,
                        right: Box::new(right),
                    });
                }
                let all = equal.into_iter().reduce(|left, right| Expr::BinaryOp {
                    left: Box::new(left),
                    op: BinaryOperator::And,
                    right: Box::new(right),
                });
                *constraint = JoinConstraint::On(all?);
            }
            JoinConstraint::On(condition) => put_in(condition, &keys),
            JoinConstraint::None if !keeps_right => {}
            _ => return None,
        }
        tables.push((table, own));
    }
    Some((tables, keys))
}

/// Puts what the keys stand for into all parts of a SELECT but FROM.
fn write_into(select: &mut Select, tables: &[Table], keys: &[Key]) {
    let mut outputs = vec![];
    for mut item in std::mem::take(&mut select.projection) {
        match &mut item {
            SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                outputs.extend(keys.iter().map(output));
                outputs.extend(tables.iter().map(without_keys));
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                let key = keys.iter().find(|key| normal(&key.name) == normal(name));
                outputs.push(key.map_or(item, output));
            }
            _ => {
                put_in(&mut item, keys);
                outputs.push(item);
            }
        }
    }
    select.projection = outputs;
    put_in(&mut select.selection, keys);
    put_in(&mut select.group_by, keys);
    put_in(&mut select.having, keys);
    put_in(&mut select.qualify, keys);
    put_in(&mut select.named_window, keys);
    if let Some(Distinct::On(terms)) = &mut select.distinct {
        put_in(terms, keys);
    }
}

fn output(key: &Key) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr: key.value.clone(),
        alias: key.name.clone(),
    }
}

/// The columns of a table but for its keys.
fn without_keys((table, keys): &Table) -> SelectItem {
    let names = keys.iter().map(|key| key.clone().into()).collect();
    let of = SelectItemQualifiedWildcardKind::ObjectName(table.clone().into());
    let options = WildcardAdditionalOptions {
        opt_exclude: (!keys.is_empty()).then_some(ExcludeSelectItem::Multiple(names)),
        ..WildcardAdditionalOptions::default()
    };
    SelectItem::QualifiedWildcard(of, options)
}

fn put_in(part: &mut impl VisitMut, keys: &[Key]) {
    change_outside_subqueries(part, |expr| {
        if let Expr::Identifier(name) = expr
            && let Some(key) = keys.iter().find(|key| normal(&key.name) == normal(name))
        {
            *expr = key.value.clone();
        }
    });
}

/// Whether an output has this name.
fn names(item: &SelectItem, name: &Ident) -> bool {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(of))
        | SelectItem::ExprWithAlias { alias: of, .. } => normal(of) == normal(name),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(of)) => {
            of.last().is_some_and(|of| normal(of) == normal(name))
        }
        SelectItem::Wildcard(_) => true,
        _ => false,
    }
}

fn column(table: &Ident, name: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), name.clone()])
}

fn parsed(sql: &str) -> Option<Expr> {
    let parser = Parser::new(&GenericDialect {}).try_with_sql(sql);
    parser.and_then(|mut parser| parser.parse_expr()).ok()
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    const TABLES: &str = "WITH a(k, v) AS (VALUES (1, 10), (2, 20), (NULL, 90)), b(k, w) AS (VALUES (2, 5), (3, 6), (3, 7)), c(k, v) AS (VALUES (3, 1), (4, 2)) ";

    /// By hand; so do PostgreSQL and DuckDB.
    #[test]
    fn the_key_is_that_of_the_side_that_has_a_row() {
        for (sql, rows) in [
            (
                "SELECT k FROM a FULL JOIN b USING (k) ORDER BY k",
                vec!["1", "2", "3", "3", "NULL"],
            ),
            (
                "SELECT * FROM a FULL JOIN b USING (k) ORDER BY k, w",
                vec![
                    "1 | 10 | NULL",
                    "2 | 20 | 5",
                    "3 | NULL | 6",
                    "3 | NULL | 7",
                    "NULL | 90 | NULL",
                ],
            ),
            (
                "SELECT k, v, w FROM a RIGHT JOIN b USING (k) ORDER BY w",
                vec!["2 | 20 | 5", "3 | NULL | 6", "3 | NULL | 7"],
            ),
            (
                "SELECT * FROM a RIGHT JOIN b USING (k) WHERE k > 2 ORDER BY w",
                vec!["3 | NULL | 6", "3 | NULL | 7"],
            ),
            (
                "SELECT k, sum(w), count(*) AS n FROM a FULL JOIN b USING (k) GROUP BY k HAVING k < 4 ORDER BY k DESC",
                vec!["3 | 13 | 2", "2 | 5 | 1", "1 | NULL | 1"],
            ),
            (
                "SELECT k + 0 AS s, a.k, b.k FROM a FULL JOIN b USING (k) WHERE k IN (1, 2) ORDER BY -k",
                vec!["2 | 2 | 2", "1 | 1 | NULL"],
            ),
            (
                "SELECT k, a.v, c.v FROM a FULL JOIN b USING (k) FULL JOIN c USING (k) ORDER BY k, 3",
                vec![
                    "1 | 10 | NULL",
                    "2 | 20 | NULL",
                    "3 | NULL | 1",
                    "3 | NULL | 1",
                    "4 | NULL | 2",
                    "NULL | 90 | NULL",
                ],
            ),
            (
                "SELECT DISTINCT k FROM a FULL JOIN b USING (k) UNION ALL SELECT k FROM a RIGHT JOIN c USING (k) ORDER BY 1",
                vec!["1", "2", "3", "3", "4", "NULL"],
            ),
            (
                "SELECT k FROM (SELECT \"K\" AS k FROM (SELECT 1 AS \"K\") AS x FULL JOIN (SELECT 2 AS \"K\") AS y USING (\"K\")) ORDER BY k",
                vec!["1", "2"],
            ),
            (
                "SELECT max(n) FROM (SELECT count(*) OVER (PARTITION BY k) AS n FROM a FULL JOIN b USING (k)) AS t",
                vec!["2"],
            ),
        ] {
            let sql = format!("{TABLES}{sql}");
            assert_eq!(ask(&sql).unwrap(), rows, "{sql}");
        }
    }
}
