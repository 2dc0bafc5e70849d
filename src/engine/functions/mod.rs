//! SQL functions, one file each.
//!
//! # Adding a function
//! One file with a `static` [`Scalar`] or [`Aggregate`]: its [`FunctionDoc`] (what it is, how it is called, an example with its
//! answer), the types it takes, and its kernel over whole arrays. One line in [`SCALAR`] or [`AGGREGATE`]; its call as an
//! expression in [`call`], in the same order; and `tests/slt/functions/NAME.slt`. Tests fail without these, and run the example.
//! `information_schema.routines` shows it, and every session has the function.
//!
//! An aggregate implements [`GroupsAccumulator`](datafusion::logical_expr::GroupsAccumulator) over flat vectors with an honest `size()`, and its partial states merge
//! to the same answer in whatever order they come; `single::Single` makes of it the accumulator that windows need.

mod accumulate;
mod arguments;
mod bin;
mod bin_counts;
pub mod call;
mod definition;
mod erfc;
mod grouped;
mod interval;
mod ost;
mod quantile;
mod ratio;
mod set;
mod single;
mod whole_percent;

pub(super) use definition::is_ours;
pub use definition::{Aggregate, FunctionDoc, Scalar};
pub(super) use grouped::{Grouped, passing};
pub(super) use quantile::exact::quantiles_at;
pub(super) use quantile::quantiles::{QUANTILES, asked as asked_quantiles};
pub(super) use set::set_agg::SET_AGG;

/// Every scalar function, in the order in which they are shown.
pub static SCALAR: &[&Scalar] = &[
    &ost::ost_bits::OST_BITS,
    &ost::ost_count::OST_COUNT,
    &ost::ost_list::OST_LIST,
    &ost::ost_contains::OST_CONTAINS,
    &ost::ost_and::OST_AND,
    &ost::ost_or::OST_OR,
    &ost::ost_overlap::OST_OVERLAP,
    &bin::BIN,
    &whole_percent::WHOLE_PERCENT,
    &ratio::RATIO,
    &erfc::ERFC,
];

/// Every aggregate function, in the order in which they are shown.
pub static AGGREGATE: &[&Aggregate] = &[
    &ost::ost_union::OST_UNION,
    &ost::ost_intersect::OST_INTERSECT,
    &quantile::percentiles::PERCENTILES,
    &quantile::quantiles::QUANTILES,
    &quantile::approx_percentiles::APPROX_PERCENTILES,
    &bin_counts::BIN_COUNTS,
    &set::set_agg::SET_AGG,
    &set::set_union::SET_UNION,
    &interval::critical_files::CRITICAL_FILES,
    &interval::io_time::IO_TIME,
    &interval::io_pattern::IO_PATTERN,
];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
    use datafusion::execution::session_state::SessionStateBuilder;

    /// The rows of batches, cells separated by ` | `.
    pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = vec![];
        for batch in batches {
            let columns: Vec<_> = batch
                .columns()
                .iter()
                .map(|c| ArrayFormatter::try_new(c, &options).unwrap())
                .collect();
            rows.extend((0..batch.num_rows()).map(|i| {
                columns
                    .iter()
                    .map(|c| c.value(i).to_string())
                    .collect::<Vec<_>>()
                    .join(" | ")
            }));
        }
        rows
    }

    /// The rows that a query without a lake gives, or its error.
    pub(crate) fn ask(sql: &str) -> std::result::Result<Vec<String>, String> {
        let engine = Engine::new(EngineOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            Ok(rows(
                &engine
                    .run(sql)
                    .await
                    .map_err(|e| e.to_string())?
                    .collect()
                    .await
                    .map_err(|e| e.to_string())?,
            ))
        })
    }

    #[test]
    fn every_example_gives_the_answer_in_its_doc() {
        for doc in SCALAR
            .iter()
            .map(|f| &f.doc)
            .chain(AGGREGATE.iter().map(|f| &f.doc))
        {
            assert_eq!(
                ask(doc.example).unwrap().join("\n"),
                doc.answer,
                "{}",
                doc.name
            );
        }
    }

    #[test]
    fn every_doc_says_what_its_function_is_and_takes() {
        for doc in SCALAR
            .iter()
            .map(|f| &f.doc)
            .chain(AGGREGATE.iter().map(|f| &f.doc))
        {
            assert!(
                doc.syntax.starts_with(&format!("{}(", doc.name)),
                "{}",
                doc.name
            );
            assert!(
                doc.description.ends_with('.') && doc.example.contains(doc.name),
                "{}",
                doc.name
            );
            for (argument, text) in doc.arguments {
                assert!(
                    doc.syntax.contains(argument) && !text.is_empty(),
                    "{}: {argument}",
                    doc.name
                );
            }
        }
    }

    #[test]
    fn no_function_takes_a_name_that_datafusion_has() {
        let plain = SessionStateBuilder::new_with_default_features().build();
        let mut seen = std::collections::HashSet::new();
        for name in SCALAR
            .iter()
            .map(|f| f.doc.name)
            .chain(AGGREGATE.iter().map(|f| f.doc.name))
        {
            assert!(seen.insert(name), "{name} is listed twice");
            assert!(
                !plain.scalar_functions().contains_key(name)
                    && !plain.aggregate_functions().contains_key(name),
                "{name}"
            );
            assert!(
                !plain.window_functions().contains_key(name)
                    && !plain.table_functions().contains_key(name),
                "{name}"
            );
        }
    }

    #[test]
    fn a_wrong_argument_is_named_with_the_way_to_call_the_function() {
        let error = ask("SELECT ost_count(1.5)").unwrap_err();
        assert_eq!(
            error,
            "ost_count: argument 1 cannot be of type Float64: ost_count(bits)"
        );
        let error = ask("SELECT ost_contains(x'00')").unwrap_err();
        assert_eq!(
            error,
            "ost_contains takes 2 arguments, 1 were given: ost_contains(bits, ost)"
        );
    }
}
