//! ROLLUP, CUBE and GROUPING SETS as DataFusion 55.2 takes them.
//!
//! It takes a number in them for a constant, where it is the position of an output in `GROUP BY 1`, and refuses keys that belong together, `ROLLUP ((a, b), c)`: these are written out
//! as `GROUPING SETS ((a, b, c), (a, b), ())`.

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Select, SelectItem, Value};

/// Keys that belong together in CUBE at most: each subset is a grouping.
const CUBE: usize = 12;

/// Writes those of a SELECT so.
///
/// # Errors
/// What is said of a position that no output has.
pub(super) fn write_out(select: &mut Select) -> Result<(), String> {
    let GroupByExpr::Expressions(terms, _) = &mut select.group_by else {
        return Ok(());
    };
    for term in terms {
        let (Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets)) = term else {
            continue;
        };
        for keys in sets.iter_mut() {
            write_out_positions(keys, &select.projection, "GROUP BY")?;
        }
        let are_composite = sets.iter().any(|keys| keys.len() != 1);
        *term = match term {
            Expr::Rollup(sets) if are_composite => {
                let prefixes = (0..=sets.len()).rev();
                Expr::GroupingSets(prefixes.map(|end| together(&sets[..end])).collect())
            }
            Expr::Cube(sets) if are_composite && sets.len() <= CUBE => {
                let subset = |bits: usize| {
                    let keys = sets.iter().enumerate();
                    let keys = keys.filter(|(at, _)| bits >> at & 1 == 1);
                    together(keys.map(|(_, keys)| keys))
                };
                Expr::GroupingSets((0..1 << sets.len()).rev().map(subset).collect())
            }
            _ => continue,
        };
    }
    Ok(())
}

/// Writes the outputs in the place of their positions.
///
/// # Errors
/// What is said of a position that no output has; it names the clause.
pub(super) fn write_out_positions(
    keys: &mut [Expr],
    outputs: &[SelectItem],
    clause: &str,
) -> Result<(), String> {
    for key in keys {
        if let Some(position) = position(key) {
            *key = at(outputs, position, clause)?;
        }
    }
    Ok(())
}

fn position(key: &Expr) -> Option<usize> {
    match key {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The expression of an output.
fn at(outputs: &[SelectItem], position: usize, clause: &str) -> Result<Expr, String> {
    match position.checked_sub(1).and_then(|at| outputs.get(at)) {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
            Ok(expr.clone())
        }
        Some(_) => Err(format!(
            "position {position} in {clause} is that of `*`; write the names of the columns"
        )),
        None => Err(format!(
            "position {position} in {clause} is that of no output; there are {}",
            outputs.len()
        )),
    }
}

/// All of these keys, each once.
fn together<'a>(sets: impl IntoIterator<Item = &'a Vec<Expr>>) -> Vec<Expr> {
    let mut all: Vec<Expr> = vec![];
    for key in sets.into_iter().flatten() {
        if !all.contains(key) {
            all.push(key.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand; so does DuckDB.
    #[test]
    fn numbers_are_positions_and_keys_may_belong_together() {
        const T: &str = "(VALUES (1, 'x'), (1, 'y'), (2, 'x')) AS t(a, s)";
        for (sql, rows) in [
            (
                "SELECT a, count(*) FROM {T} GROUP BY ROLLUP (1)",
                vec!["1 | 2", "2 | 1", "NULL | 3"],
            ),
            (
                "SELECT a, 7 AS seven, count(*) FROM {T} GROUP BY GROUPING SETS ((1), ())",
                vec!["1 | 7 | 2", "2 | 7 | 1", "NULL | 7 | 3"],
            ),
            (
                "SELECT a + 1, s, count(*) FROM {T} GROUP BY CUBE (1, 2)",
                vec![
                    "2 | NULL | 2",
                    "2 | x | 1",
                    "2 | y | 1",
                    "3 | NULL | 1",
                    "3 | x | 1",
                    "NULL | NULL | 3",
                    "NULL | x | 2",
                    "NULL | y | 1",
                ],
            ),
            (
                "SELECT a, s, count(*) FROM {T} GROUP BY ROLLUP ((a, s))",
                vec!["1 | x | 1", "1 | y | 1", "2 | x | 1", "NULL | NULL | 3"],
            ),
            (
                "SELECT a, s, count(*), grouping(a, s) FROM {T} WHERE s = 'x' GROUP BY CUBE ((a, s), a)",
                vec![
                    "1 | NULL | 1 | 1",
                    "1 | x | 1 | 0",
                    "1 | x | 1 | 0",
                    "2 | NULL | 1 | 1",
                    "2 | x | 1 | 0",
                    "2 | x | 1 | 0",
                    "NULL | NULL | 2 | 3",
                ],
            ),
        ] {
            let mut answer = ask(&sql.replace("{T}", T)).unwrap_or_else(|e| panic!("{sql}: {e}"));
            answer.sort();
            assert_eq!(answer, rows, "{sql}");
        }
        let error = ask(&format!("SELECT a FROM {T} GROUP BY ROLLUP (2)")).unwrap_err();
        assert_eq!(
            error,
            "position 2 in GROUP BY is that of no output; there are 1"
        );
    }
}
