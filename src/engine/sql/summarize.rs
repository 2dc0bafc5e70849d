//! `SUMMARIZE t`, `SUMMARIZE TABLE t` and `SUMMARIZE SELECT ..`: a row for each column, under the names that DuckDB gives them.
//!
//! Neither sqlparser 0.62 nor DataFusion knows the statement. It is read as `SELECT * FROM (..)` under an alias that no user can type, and
//! its plan, which says what the columns are, is put under an aggregate of one row, of which the answer is made.
//!
//! Values are text where columns of several types share a place. `approx_unique` is an estimate, and so are `q25`, `q50` and `q75` above 50
//! values. Averages and quantiles are of numbers and times; lists, structures and binary values have a count and NULL.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute;
use datafusion::arrow::datatypes::{DataType, Fields, Float64Type, Int64Type};
use datafusion::common::{Column, DFSchema, Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, cast, lit};
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

/// The plan of the figures of what a plan gives, one row; [`rows`] makes the answer of it. All of it in one plan would be planned for minutes
/// where a table has a hundred columns.
///
/// # Errors
/// Those of DataFusion.
pub(in crate::engine) fn figures(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let functions = Functions::of(state)?;
    let mut figures = vec![functions.count.call(vec![lit(1_i64)]).alias(ROWS)];
    for (at, (table, field)) in plan.schema().iter().enumerate() {
        let column = Expr::Column(Column::from((table, field)));
        functions.add(at, column, field.data_type(), &mut figures);
    }
    let builder = LogicalPlanBuilder::from(plan);
    builder.aggregate(Vec::<Expr>::new(), figures)?.build()
}

/// The names of the figures of a column, before its number, and of the number of rows.
const ROWS: &str = "rows";
const MIN: &str = "min";
const MAX: &str = "max";
const AVG: &str = "avg";
const STD: &str = "std";
const DISTINCT: &str = "distinct";
const VALUES: &str = "values";
const QUARTILES: &str = "quartiles";

/// What is used of the session.
struct Functions {
    count: Arc<AggregateUDF>,
    min: Arc<AggregateUDF>,
    max: Arc<AggregateUDF>,
    distinct: Arc<AggregateUDF>,
    avg: Arc<AggregateUDF>,
    std: Arc<AggregateUDF>,
    percentiles: Arc<AggregateUDF>,
}

impl Functions {
    fn of(state: &SessionState) -> Result<Self> {
        let aggregate = |name: &str| {
            let found = state.aggregate_functions().get(name).cloned();
            found.ok_or_else(|| exec_datafusion_err!("there is no function {name}"))
        };
        Ok(Self {
            count: aggregate("count")?,
            min: aggregate("min")?,
            max: aggregate("max")?,
            distinct: aggregate("approx_distinct")?,
            avg: aggregate("avg")?,
            std: aggregate("stddev")?,
            percentiles: aggregate("approx_percentiles")?,
        })
    }

    /// Adds the figures of a column.
    fn add(&self, at: usize, column: Expr, kind: &DataType, figures: &mut Vec<Expr>) {
        let mut add = |what: &str, function: &Arc<AggregateUDF>, args: Vec<Expr>| {
            figures.push(function.call(args).alias(format!("{what} {at}")));
        };
        let number = |expr: Expr| cast(expr, DataType::Float64);
        add(VALUES, &self.count, vec![column.clone()]);
        // DataFusion estimates the distinct values of no floats and dictionaries.
        let distinct = match kind {
            kind if kind.is_floating() => cast(column.clone(), DataType::Utf8),
            DataType::Dictionary(..) => cast(column.clone(), DataType::Utf8),
            _ => column.clone(),
        };
        add(DISTINCT, &self.distinct, vec![distinct]);
        if is_ordered(kind) {
            add(MIN, &self.min, vec![column.clone()]);
            add(MAX, &self.max, vec![column.clone()]);
        }
        let values = match kind {
            kind if kind.is_numeric() => {
                add(STD, &self.std, vec![number(column.clone())]);
                column
            }
            DataType::Timestamp(..) => cast(column, DataType::Int64),
            DataType::Date32 => cast(cast(column, DataType::Int32), DataType::Int64),
            _ => return,
        };
        add(AVG, &self.avg, vec![number(values.clone())]);
        add(
            QUARTILES,
            &self.percentiles,
            vec![number(values), lit(4_i64)],
        );
    }
}

/// The answer: a row for each column of `summarized`, of the row of its figures.
///
/// # Errors
/// Those of Arrow.
pub(in crate::engine) fn rows(summarized: &DFSchema, figures: &RecordBatch) -> Result<RecordBatch> {
    let count = |name: &str| {
        let column = figures.column_by_name(name);
        let column = column.map(|column| compute::cast(column, &DataType::Int64));
        let column = column.transpose()?;
        let value = column.filter(|column| column.len() == 1);
        Ok::<_, DataFusionError>(
            value.map_or(0, |column| column.as_primitive::<Int64Type>().value(0)),
        )
    };
    let rows = count(ROWS)?;
    // Texts of the columns of the answer, in their order, those that are counts apart.
    let mut texts: [Vec<Option<String>>; 9] = Default::default();
    let (mut distinct, mut missing) = (vec![], vec![]);
    for (at, field) in summarized.fields().iter().enumerate() {
        let figure = |what: &str| figures.column_by_name(&format!("{what} {at}"));
        let text = |what: &str| figure(what).map_or(Ok(None), text);
        let quartiles = match figure(QUARTILES) {
            Some(list) => quartiles(list, field.data_type())?,
            None => [None, None, None],
        };
        let avg = match figure(AVG) {
            Some(avg) => as_text(avg, field.data_type())?,
            None => None,
        };
        let of_column = [
            Some(field.name().clone()),
            Some(sql_type(field.data_type())),
            text(MIN)?,
            text(MAX)?,
            avg,
            text(STD)?,
        ];
        let of_column = of_column.into_iter().chain(quartiles);
        for (texts, value) in texts.iter_mut().zip(of_column) {
            texts.push(value);
        }
        distinct.push(count(&format!("{DISTINCT} {at}"))?);
        let lacking = rows - count(&format!("{VALUES} {at}"))?;
        // Hundredths of a percent.
        let lacking = (rows > 0).then(|| (lacking as f64 / rows as f64 * 1e4).round() as i128);
        missing.push(lacking);
    }
    let [name, kind, min, max, avg, std, q25, q50, q75] =
        texts.map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef);
    let rows = vec![rows; distinct.len()];
    let missing = Decimal128Array::from(missing).with_precision_and_scale(9, 2)?;
    let columns: [(&str, ArrayRef); 12] = [
        ("column_name", name),
        ("column_type", kind),
        ("min", min),
        ("max", max),
        ("approx_unique", Arc::new(Int64Array::from(distinct))),
        ("avg", avg),
        ("std", std),
        ("q25", q25),
        ("q50", q50),
        ("q75", q75),
        ("count", Arc::new(Int64Array::from(rows))),
        ("null_percentage", Arc::new(missing)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// The first value of a column as text; None for NULL.
fn text(column: &ArrayRef) -> Result<Option<String>> {
    let texts = compute::cast(column, &DataType::Utf8)?;
    let is_there = !texts.is_empty() && !texts.is_null(0);
    Ok(is_there.then(|| texts.as_string::<i32>().value(0).to_string()))
}

/// The three quartiles between least and greatest value, as text of the type of their column.
fn quartiles(list: &ArrayRef, kind: &DataType) -> Result<[Option<String>; 3]> {
    let list = list.as_list::<i32>();
    if list.is_empty() || list.is_null(0) {
        return Ok([None, None, None]);
    }
    let values = list.value(0);
    let quartile = |at: usize| {
        let value = values.slice(at, 1);
        let number = value.as_primitive::<Float64Type>().value(0);
        match kind.is_integer() && number.fract() == 0.0 {
            true => Ok(Some(format!("{number:.0}"))),
            // Between two integers there may be a half.
            false => as_text(&value, kind),
        }
    };
    Ok([quartile(1)?, quartile(2)?, quartile(3)?])
}

/// A number that stands for a value of some type, as text: a time as a time, anything else as the number. None for NULL.
fn as_text(number: &ArrayRef, kind: &DataType) -> Result<Option<String>> {
    let whole = || -> ArrayRef {
        let numbers = number.as_primitive::<Float64Type>().iter();
        let whole = numbers.map(|n| n.map(|n| n.round() as i64));
        Arc::new(whole.collect::<Int64Array>())
    };
    match kind {
        DataType::Timestamp(..) => text(&compute::cast(&whole(), kind)?),
        DataType::Date32 => {
            let days = compute::cast(&whole(), &DataType::Int32)?;
            text(&compute::cast(&days, kind)?)
        }
        _ => text(number),
    }
}

/// Whether least and greatest value are told.
fn is_ordered(kind: &DataType) -> bool {
    use DataType as T;
    kind.is_numeric()
        || kind.is_temporal()
        || matches!(kind, T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View)
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
        T::Timestamp(..) => "TIMESTAMP".into(),
        T::Interval(_) | T::Duration(_) => "INTERVAL".into(),
        T::List(item) | T::LargeList(item) => format!("{}[]", sql_type(item.data_type())),
        T::Dictionary(_, value) => sql_type(value),
        T::Struct(fields) => format!("STRUCT({})", fields_of(fields, true)),
        T::Map(entries, _) => match entries.data_type() {
            T::Struct(fields) => format!("MAP({})", fields_of(fields, false)),
            _ => kind.to_string(),
        },
        other => other.to_string(),
    }
}

/// The types of fields, with their names or without.
fn fields_of(fields: &Fields, named: bool) -> String {
    let fields = fields.iter().map(|field| match named {
        true => format!("{} {}", field.name(), sql_type(field.data_type())),
        false => sql_type(field.data_type()),
    });
    fields.collect::<Vec<_>>().join(", ")
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
            "at | TIMESTAMP | 2026-09-01T00:00:00 | 2026-09-03T00:00:00 | 3 | 2026-09-02T00:00:00 | NULL | 2026-09-01T12:00:00 | 2026-09-02T00:00:00 | 2026-09-02T12:00:00 | 3 | 0.00",
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
            "SUMMARIZE SELECT DATE '2026-09-01' AS a, named_struct('x', 1) AS b",
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
