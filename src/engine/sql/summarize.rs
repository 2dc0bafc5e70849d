//! `SUMMARIZE t`, `SUMMARIZE TABLE t` and `SUMMARIZE SELECT ..`: a row for each column, under the names that DuckDB gives them.
//!
//! Neither sqlparser 0.62 nor DataFusion knows the statement. It is read as `SELECT * FROM (..)` under an alias that no user can type, and
//! its plan, which says what the columns are, is put under an aggregate of one row. Lists of that row are unnested to the rows of the answer.
//!
//! Values are text where columns of several types share a place. `approx_unique` is an estimate, and so are `q25`, `q50` and `q75` above 50
//! values. Averages are of numbers, quantiles of numbers and times; lists, structures and binary values have a count and NULL.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Column, Result, ScalarValue, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::functions_nested::expr_fn::{array_element, make_array};
use datafusion::logical_expr::{
    AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, cast, lit, when,
};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Ident, Query, SetExpr, Statement as SqlStatement, TableFactor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use std::sync::Arc;

/// The alias of what is summarized: with a character that ends a text, so that no user has it.
const ALIAS: &str = "summarize\0";

/// Statements up to the end of the text, SUMMARIZE among them.
///
/// # Errors
/// As DataFusion's parser.
pub(in crate::engine) fn parse_statements(parser: &mut DFParser<'_>) -> Result<Vec<Statement>> {
    let mut statements = vec![];
    loop {
        while parser.parser.consume_token(&Token::SemiColon) {}
        if parser.parser.peek_token() == Token::EOF {
            return Ok(statements);
        }
        statements.push(match begins(&parser.parser) {
            true => {
                read(&mut parser.parser).map_err(|e| DataFusionError::SQL(Box::new(e), None))?
            }
            false => parser.parse_statement()?,
        });
        let next = parser.parser.peek_token();
        if next != Token::SemiColon && next != Token::EOF {
            let expected = parser.parser.expected("end of statement", next);
            return expected.map_err(|e| DataFusionError::SQL(Box::new(e), None));
        }
    }
}

fn begins(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_token().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("summarize"))
}

fn read(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    parser.next_token();
    let is_query = match parser.peek_token().token {
        Token::Word(word) => {
            matches!(
                word.keyword,
                Keyword::SELECT | Keyword::WITH | Keyword::VALUES
            )
        }
        token => token == Token::LParen,
    };
    let query = match is_query {
        true => parser.parse_query()?,
        false => {
            let _ = parser.parse_keyword(Keyword::TABLE);
            let relation = parser.parse_table_factor()?;
            let mut all = query("SELECT * FROM t")?;
            if let Some(from) = first(&mut all) {
                *from = relation;
            }
            all
        }
    };
    let mut marked = self::query("SELECT * FROM (SELECT 1) AS t")?;
    if let Some(TableFactor::Derived {
        subquery, alias, ..
    }) = first(&mut marked)
    {
        *subquery = query;
        if let Some(alias) = alias {
            alias.name = Ident::with_quote('"', ALIAS);
        }
    }
    Ok(Statement::Statement(Box::new(SqlStatement::Query(marked))))
}

fn query(sql: &str) -> Result<Box<Query>, ParserError> {
    Parser::new(&GenericDialect {})
        .try_with_sql(sql)?
        .parse_query()
}

/// The first relation of FROM.
fn first(query: &mut Query) -> Option<&mut TableFactor> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(&mut select.from.first_mut()?.relation),
        _ => None,
    }
}

/// Whether a statement is SUMMARIZE, as it was read.
pub(in crate::engine) fn is_asked(statement: &Statement) -> bool {
    let Statement::Statement(statement) = statement else {
        return false;
    };
    let SqlStatement::Query(query) = statement.as_ref() else {
        return false;
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    matches!(select.from.first().map(|from| &from.relation), Some(TableFactor::Derived { alias: Some(alias), .. })
        if alias.name.value == ALIAS)
}

/// The plan of the summary of what a plan gives.
///
/// # Errors
/// Those of DataFusion.
pub(in crate::engine) fn of(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let functions = Functions::of(state)?;
    let mut aggregates = vec![functions.count.call(vec![lit(1_i64)]).alias(ROWS)];
    let mut lists: Vec<Vec<Expr>> = HEADINGS.iter().map(|_| vec![]).collect();
    for (at, (table, field)) in plan.schema().iter().enumerate() {
        let column = Expr::Column(Column::from((table, field)));
        let summary =
            functions.column(at, field.name(), column, field.data_type(), &mut aggregates);
        for (list, value) in lists.iter_mut().zip(summary?) {
            list.push(value);
        }
    }
    let columns = HEADINGS.iter().zip(lists);
    let columns = columns.map(|(name, values)| make_array(values).alias(*name));
    let names = HEADINGS.iter().map(|name| Column::new_unqualified(*name));
    LogicalPlanBuilder::from(plan)
        .aggregate(Vec::<Expr>::new(), aggregates)?
        .project(columns.collect::<Vec<_>>())?
        .unnest_columns_with_options(names.collect(), Default::default())?
        .build()
}

/// The columns of the answer.
const HEADINGS: [&str; 12] = [
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
];

/// The name of the aggregate that counts the rows.
const ROWS: &str = "rows";

/// What is used of the session.
struct Functions {
    count: Arc<AggregateUDF>,
    min: Arc<AggregateUDF>,
    max: Arc<AggregateUDF>,
    distinct: Arc<AggregateUDF>,
    avg: Arc<AggregateUDF>,
    std: Arc<AggregateUDF>,
    quantiles: Arc<AggregateUDF>,
    round: Arc<ScalarUDF>,
    replace: Arc<ScalarUDF>,
}

impl Functions {
    fn of(state: &SessionState) -> Result<Self> {
        let missing = |name: &str| exec_datafusion_err!("there is no function {name}");
        let aggregate = |name: &str| {
            let found = state.aggregate_functions().get(name).cloned();
            found.ok_or_else(|| missing(name))
        };
        let scalar = |name: &str| {
            let found = state.scalar_functions().get(name).cloned();
            found.ok_or_else(|| missing(name))
        };
        Ok(Self {
            count: aggregate("count")?,
            min: aggregate("min")?,
            max: aggregate("max")?,
            distinct: aggregate("approx_distinct")?,
            avg: aggregate("avg")?,
            std: aggregate("stddev")?,
            quantiles: aggregate("approx_percentiles")?,
            round: scalar("round")?,
            replace: scalar("regexp_replace")?,
        })
    }

    /// The values of a column under [`HEADINGS`], over aggregates that are added.
    fn column(
        &self,
        at: usize,
        name: &str,
        column: Expr,
        kind: &DataType,
        aggregates: &mut Vec<Expr>,
    ) -> Result<[Expr; HEADINGS.len()]> {
        let mut add = |what: &str, aggregate: Expr| {
            let name = format!("{what} {at}");
            aggregates.push(aggregate.alias(&name));
            Expr::Column(Column::new_unqualified(name))
        };
        let none = || lit(ScalarValue::Utf8(None));
        let (min, max) = match is_ordered(kind) {
            true => (
                text(add("min", self.min.call(vec![column.clone()]))),
                text(add("max", self.max.call(vec![column.clone()]))),
            ),
            false => (none(), none()),
        };
        let (avg, std) = match kind.is_numeric() {
            true => {
                let number = cast(column.clone(), DataType::Float64);
                (
                    text(add("avg", self.avg.call(vec![number.clone()]))),
                    text(add("std", self.std.call(vec![number]))),
                )
            }
            false => (none(), none()),
        };
        let quantiles = match (kind, kind.is_numeric()) {
            (_, true) => Some(column.clone()),
            (DataType::Timestamp(..), _) => Some(cast(column.clone(), DataType::Int64)),
            (DataType::Date32, _) => {
                Some(cast(cast(column.clone(), DataType::Int32), DataType::Int64))
            }
            _ => None,
        };
        let [q25, q50, q75] = match quantiles {
            Some(values) => {
                let parts = vec![cast(values, DataType::Float64), lit(4_i64)];
                let list = add("quantiles", self.quantiles.call(parts));
                [2, 3, 4].map(|quarter: i64| {
                    self.quantile(array_element(list.clone(), lit(quarter)), kind)
                })
            }
            None => [none(), none(), none()],
        };
        // DataFusion estimates the distinct values of no floats and dictionaries.
        let distinct = match kind {
            DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::Dictionary(..) => text(column.clone()),
            _ => column.clone(),
        };
        let distinct = add("distinct", self.distinct.call(vec![distinct]));
        let values = add("count", self.count.call(vec![column]));
        let rows = Expr::Column(Column::new_unqualified(ROWS));
        let float = |count: Expr| cast(count, DataType::Float64);
        let missing = (float(rows.clone()) - float(values)) / float(rows.clone());
        let missing = self.round.call(vec![missing * lit(100.0), lit(2_i64)]);
        let missing = when(rows.clone().gt(lit(0_i64)), missing).end()?;
        Ok([
            lit(name),
            lit(sql_type(kind)),
            min,
            max,
            cast(distinct, DataType::Int64),
            avg,
            std,
            q25,
            q50,
            q75,
            rows,
            cast(missing, DataType::Decimal128(9, 2)),
        ])
    }

    /// A quantile as text of the type of its column.
    fn quantile(&self, value: Expr, kind: &DataType) -> Expr {
        let whole = |value: Expr| cast(self.round.call(vec![value]), DataType::Int64);
        match kind {
            DataType::Timestamp(..) => text(cast(whole(value), kind.clone())),
            DataType::Date32 => text(cast(cast(whole(value), DataType::Int32), DataType::Date32)),
            // Between two integers there may be a half.
            kind if kind.is_integer() => {
                let end = [lit("\\.0$"), lit("")];
                let text = vec![text(value)];
                self.replace.call([text, end.to_vec()].concat())
            }
            _ => text(value),
        }
    }
}

/// Whether least and greatest value are told.
fn is_ordered(kind: &DataType) -> bool {
    use DataType as T;
    kind.is_numeric()
        || kind.is_temporal()
        || matches!(kind, T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View)
}

fn text(value: Expr) -> Expr {
    cast(value, DataType::Utf8)
}

/// The name in SQL of a type; of one that has none there, Arrow's.
fn sql_type(kind: &DataType) -> String {
    use DataType as T;
    match kind {
        T::Boolean => "BOOLEAN".into(),
        T::Int8 => "TINYINT".into(),
        T::Int16 => "SMALLINT".into(),
        T::Int32 => "INTEGER".into(),
        T::Int64 => "BIGINT".into(),
        T::UInt8 => "TINYINT UNSIGNED".into(),
        T::UInt16 => "SMALLINT UNSIGNED".into(),
        T::UInt32 => "INTEGER UNSIGNED".into(),
        T::UInt64 => "BIGINT UNSIGNED".into(),
        T::Float32 => "REAL".into(),
        T::Float64 => "DOUBLE".into(),
        T::Decimal128(digits, scale) => format!("DECIMAL({digits}, {scale})"),
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "VARCHAR".into(),
        T::Binary | T::LargeBinary | T::BinaryView => "BYTEA".into(),
        T::Date32 => "DATE".into(),
        T::Time64(_) => "TIME".into(),
        T::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond, _)
        | T::Timestamp(TimeUnit::Nanosecond, _) => "TIMESTAMP".into(),
        T::Interval(_) | T::Duration(_) => "INTERVAL".into(),
        T::List(item) | T::LargeList(item) => format!("{}[]", sql_type(item.data_type())),
        T::Dictionary(_, value) => sql_type(value),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::functions::tests::ask;

    /// By hand, and as DuckDB 1.4 answers, whose quantiles of whole numbers are whole.
    #[test]
    fn a_summary_has_a_row_for_each_column() {
        let sql = "SUMMARIZE SELECT * FROM (VALUES (1, 'b', 0.5, true, TIMESTAMP '2026-09-01 00:00:00'), \
                   (4, 'a', 1.5, false, TIMESTAMP '2026-09-03 00:00:00'), (3, NULL, NULL, NULL, TIMESTAMP '2026-09-02 00:00:00')) \
                   AS t(n, s, f, b, at)";
        let rows = [
            "n | BIGINT | 1 | 4 | 3 | 2.6666666666666665 | 1.5275252316519468 | 2 | 3 | 3.5 | 3 | 0.00",
            "s | VARCHAR | a | b | 2 | NULL | NULL | NULL | NULL | NULL | 3 | 33.33",
            "f | DOUBLE | 0.5 | 1.5 | 2 | 1.0 | 0.7071067811865476 | 0.75 | 1.0 | 1.25 | 3 | 33.33",
            "b | BOOLEAN | false | true | 2 | NULL | NULL | NULL | NULL | NULL | 3 | 33.33",
            "at | TIMESTAMP | 2026-09-01T00:00:00 | 2026-09-03T00:00:00 | 3 | NULL | NULL | 2026-09-01T12:00:00 | 2026-09-02T00:00:00 | 2026-09-02T12:00:00 | 3 | 0.00",
        ];
        assert_eq!(ask(sql).unwrap(), rows);
    }

    #[test]
    fn what_is_summarized_may_be_written_in_several_ways() {
        let names = |sql: &str| -> Vec<String> {
            let rows = ask(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
            let name = |row: &String| row.split(" | ").next().unwrap_or_default().to_string();
            rows.iter().map(name).collect()
        };
        for sql in [
            "SUMMARIZE (SELECT 1 AS a, 2 AS b)",
            "summarize WITH t AS (SELECT 1 AS a, 2 AS b) SELECT * FROM t ORDER BY ALL;",
            "SUMMARIZE SELECT array[1] AS a, x'00' AS b",
            "SUMMARIZE SELECT NULL AS a, interval '1 day' AS b",
        ] {
            assert_eq!(names(sql), ["a", "b"], "{sql}");
        }
        assert_eq!(names("SUMMARIZE TABLE generate_series(1, 3)"), ["value"]);
        assert_eq!(names("SUMMARIZE information_schema.tables").len(), 4);
        let none = ask("SUMMARIZE SELECT 1 AS a WHERE false").unwrap();
        assert_eq!(
            none,
            ["a | BIGINT | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL"]
        );
    }

    #[test]
    fn a_mistake_in_it_is_told_as_in_any_statement() {
        let why = ask("SUMMARIZE nowhere").unwrap_err();
        assert!(why.starts_with("unknown table `nowhere`"), "{why}");
        let why = ask("SUMMARIZE SELECT 1 2").unwrap_err();
        assert!(why.contains("cannot read the query"), "{why}");
        let why = ask("SUMMARIZE").unwrap_err();
        assert!(why.contains("cannot read the query"), "{why}");
        assert_eq!(ask("SELECT 1 AS summarize").unwrap(), ["1"]);
    }
}
