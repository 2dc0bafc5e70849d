//! SQL before DataFusion plans it: forms that it does not plan, or plans wrongly, are written in others, and statements that cannot be answered rightly
//! are refused with what to write instead.
//!
//! In the order in which a statement meets them (`Engine::parse`, then `Engine::plan`):
//!
//! | when | files |
//! |---|---|
//! | parsing | `summarize` (its own statement), `long_chains`, `user_column`; then `queries::expand` puts in named queries |
//! | parsed: written out | `outer_using`; `workarounds::distinct_from` |
//! | parsed: refused | `using`, `refused_clauses`, `time_zone` |
//! | before planning: written out | `from_first`, `other_forms` (with `distinct_order`, `row_values`, `grouping_sets`, `quantified`), `named_windows`, `nested_with`, `order_all` (marks), `output_names`, `order_aliases` |
//! | once more, if DataFusion refused the plan (`PLAN_FALLBACKS`) | `headings`, `cast_names`, `order_positions`, `using` (qualifies names) |
//! | the plan | `order_all` (written out), `logical::grouping_keys` |
//!
//! `condition_names` has the columns of a condition that stands alone. `visit` walks over the SQL of a statement, for all of them.

pub(in crate::engine) mod cast_names;
pub(in crate::engine) mod condition_names;
mod distinct_order;
pub(in crate::engine) mod from_first;
mod grouping_sets;
pub(in crate::engine) mod headings;
pub(in crate::engine) mod long_chains;
pub(in crate::engine) mod named_windows;
pub(in crate::engine) mod nested_with;
pub(in crate::engine) mod order_aliases;
pub(in crate::engine) mod order_all;
pub(in crate::engine) mod order_positions;
pub(in crate::engine) mod other_forms;
pub(in crate::engine) mod outer_using;
pub(in crate::engine) mod output_names;
mod quantified;
pub(in crate::engine) mod refused_clauses;
mod row_values;
pub(in crate::engine) mod summarize;
pub(in crate::engine) mod time_zone;
pub(super) mod user_column;
pub(in crate::engine) mod using;
pub(in crate::engine) mod visit;
