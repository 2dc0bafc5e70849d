//! Units of the columns of an answer, for a person who reads it.
//!
//! A column of a table has the unit of its schema file, a column of a view or named query that of its front matter. An expression has one where
//! its parts say so for certain: the sum of bytes is bytes, a count is a count, bytes by seconds are bytes per second. Anything else has
//! none, and is shown as a number.

use super::catalog::views::view;
use super::queries::{QueryColumn, queries};
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, JoinType, LogicalPlan, Operator, WindowFunctionDefinition,
};

/// The unit of a column: `B`, `s`, `count`, ..; None where none is known.
type Unit = Option<String>;

/// Functions of one row whose result has the unit of their arguments.
const SAME: &[&str] = &[
    "abs", "ceil", "coalesce", "floor", "greatest", "ifnull", "least", "nullif", "nvl", "round",
    "trunc",
];

/// Functions of several rows whose result has the unit of their first argument.
const SAME_OF_ROWS: &[&str] = &[
    "approx_median",
    "approx_percentile_cont",
    "avg",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "max",
    "mean",
    "median",
    "min",
    "nth_value",
    "percentile_cont",
    "stddev",
    "stddev_pop",
    "sum",
];

/// The units of the columns that a plan gives, in their order.
pub(super) fn units(plan: &LogicalPlan) -> Vec<Unit> {
    let schema = plan.schema();
    let known = match plan {
        LogicalPlan::Projection(project) => of_all(&project.expr, &project.input),
        LogicalPlan::Aggregate(aggregate) => {
            let mut known = match &aggregate.group_expr[..] {
                // Which set a row is of stands behind the columns of all.
                [Expr::GroupingSet(sets)] => {
                    let mut known = of_all(sets.distinct_expr(), &aggregate.input);
                    known.push(None);
                    known
                }
                exprs => of_all(exprs, &aggregate.input),
            };
            known.extend(of_all(&aggregate.aggr_expr, &aggregate.input));
            known
        }
        LogicalPlan::Window(window) => {
            let mut known = units(&window.input);
            known.extend(of_all(&window.window_expr, &window.input));
            known
        }
        LogicalPlan::Filter(filter) => units(&filter.input),
        LogicalPlan::Sort(sort) => units(&sort.input),
        LogicalPlan::Limit(limit) => units(&limit.input),
        LogicalPlan::Distinct(Distinct::All(input)) => units(input),
        LogicalPlan::Distinct(Distinct::On(on)) => of_all(&on.select_expr, &on.input),
        LogicalPlan::Subquery(subquery) => units(&subquery.subquery),
        LogicalPlan::SubqueryAlias(alias) => match described(alias.alias.table(), schema) {
            Some(columns) => declared(columns),
            None => units(&alias.input),
        },
        LogicalPlan::Union(union) => union.inputs.first().map_or(vec![], |input| units(input)),
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => units(&join.left),
            JoinType::RightSemi | JoinType::RightAnti => units(&join.right),
            _ => [units(&join.left), units(&join.right)].concat(),
        },
        _ => vec![],
    };
    // Marks of joins are columns, too.
    match known.len() == schema.fields().len() {
        true => known,
        false => of_fields(schema),
    }
}

/// The units that the columns of a named query or view declare.
fn declared(columns: &[QueryColumn]) -> Vec<Unit> {
    let units = columns.iter().map(|column| &column.unit);
    units
        .map(|unit| (!unit.is_empty()).then(|| unit.clone()))
        .collect()
}

/// The columns of the view or named query of that name, if these are all of them.
fn described(name: &str, schema: &DFSchema) -> Option<&'static [QueryColumn]> {
    let query = || queries().iter().find(|query| query.is_called(name));
    let columns = match view(name) {
        Some(view) => &view.columns,
        None => &query()?.columns,
    };
    let names = columns.iter().map(|column| &column.name);
    let same = names.eq(schema.fields().iter().map(|field| field.name()));
    same.then_some(columns)
}

fn of_fields(schema: &DFSchema) -> Vec<Unit> {
    let fields = schema.fields().iter();
    fields
        .map(|field| field.metadata().get("unit").cloned())
        .collect()
}

fn of_all<'e>(exprs: impl IntoIterator<Item = &'e Expr>, input: &LogicalPlan) -> Vec<Unit> {
    let inner = Inner {
        schema: input.schema(),
        units: units(input),
    };
    exprs.into_iter().map(|expr| inner.of(expr)).collect()
}

/// What expressions look at.
struct Inner<'a> {
    schema: &'a DFSchema,
    units: Vec<Unit>,
}

impl Inner<'_> {
    fn of(&self, expr: &Expr) -> Unit {
        match expr {
            Expr::Alias(alias) => self.of(&alias.expr),
            Expr::Column(column) => {
                let at = self.schema.maybe_index_of_column(column)?;
                self.units.get(at)?.clone()
            }
            Expr::Cast(cast) => self.of(&cast.expr),
            Expr::TryCast(cast) => self.of(&cast.expr),
            Expr::Negative(inner) => self.of(inner),
            Expr::BinaryExpr(binary) => self.of_two(binary),
            Expr::Case(case) => {
                let parts = case.when_then_expr.iter().map(|(_, then)| then);
                self.same(parts.chain(&case.else_expr).map(AsRef::as_ref))
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) => {
                // What follows the first argument of these is how, not what.
                let of_first = ["round", "trunc", "nullif"].contains(&func.name());
                let args = if of_first {
                    &args[..1.min(args.len())]
                } else {
                    args
                };
                SAME.contains(&func.name())
                    .then(|| self.same(args.iter()))
                    .flatten()
            }
            Expr::AggregateFunction(AggregateFunction { func, params }) => {
                self.of_rows(func.name(), &params.args)
            }
            Expr::WindowFunction(window) => {
                let name = match &window.fun {
                    WindowFunctionDefinition::AggregateUDF(function) => function.name(),
                    WindowFunctionDefinition::WindowUDF(function) => function.name(),
                };
                self.of_rows(name, &window.params.args)
            }
            _ => None,
        }
    }

    fn of_rows(&self, name: &str, args: &[Expr]) -> Unit {
        match name {
            "count" | "approx_distinct" => Some("count".into()),
            name if SAME_OF_ROWS.contains(&name) => self.of(args.first()?),
            _ => None,
        }
    }

    fn of_two(&self, binary: &BinaryExpr) -> Unit {
        let (left, right) = (self.of(&binary.left), self.of(&binary.right));
        match (binary.op, left.as_deref(), right.as_deref()) {
            (Operator::Plus | Operator::Minus, Some(a), Some(b)) if a == b => left,
            (Operator::Divide, Some("B"), Some("s")) => Some("B/s".into()),
            _ => None,
        }
    }

    /// The one unit of several expressions; constants such as 0 and NULL have that of the others.
    fn same<'e>(&self, exprs: impl Iterator<Item = &'e Expr>) -> Unit {
        let mut found: Unit = None;
        for expr in exprs.filter(|expr| !is_constant(expr)) {
            let unit = self.of(expr)?;
            match &found {
                Some(other) if *other != unit => return None,
                _ => found = Some(unit),
            }
        }
        found
    }
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::tests::{block_on, engine};
    use crate::lake::Lake;

    /// The units of a query over an empty lake, `-` where there is none.
    fn units(sql: &str) -> String {
        let lake = Lake::in_memory().unwrap();
        let units = block_on(async { engine(&lake, 2).run(sql).await.unwrap().units().to_vec() });
        let units = units.iter().map(|unit| unit.as_deref().unwrap_or("-"));
        units.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_expression_has_the_unit_that_its_parts_have_for_certain() {
        for (select, expected) in [
            ("app, bytes_read, run_time, nprocs", "- B s count"),
            (
                "bytes_read as b, bytes_read + bytes_written, -bytes_read",
                "B B B",
            ),
            (
                "bytes_read * 2, bytes_read / 1e9, bytes_read + nprocs",
                "- - -",
            ),
            (
                "bytes_read / run_time, round(bytes_read / nullif(run_time, 0), 1)",
                "B/s B/s",
            ),
            (
                "bytes_read::double, coalesce(bytes_read, 0), greatest(bytes_read, bytes_written)",
                "B B B",
            ),
            (
                "case when nprocs > 1 then bytes_read else 0 end, case when nprocs > 1 then bytes_read else run_time end",
                "B -",
            ),
            (
                "sum(bytes_read) over (partition by app), row_number() over (order by app)",
                "B -",
            ),
        ] {
            assert_eq!(
                units(&format!("select {select} from darshan_log")),
                expected,
                "{select}"
            );
        }
        for (sql, expected) in [
            (
                "select app, count(*), sum(bytes_read), avg(run_time), count(distinct uid) from darshan_log group by app order by 3 limit 2",
                "- count B s count",
            ),
            (
                "with t as (select app, max(bytes_read) as m from darshan_log group by rollup (app)) select m, t.app from t",
                "B -",
            ),
            (
                "select f.bytes_read, l.run_time from darshan_file as f join darshan_log as l using (log_id)",
                "B s",
            ),
            ("select bytes_read from darshan_log union all select 1", "B"),
            ("select app, bytes_written from top_write()", "- B"),
            ("select distinct bytes_read from darshan_job", "B"),
            ("select 1, 'a'", "- -"),
        ] {
            assert_eq!(units(sql), expected, "{sql}");
        }
    }
}
