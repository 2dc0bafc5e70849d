//! SQL text and named queries, before DataFusion plans them: named queries are put in, statements that cannot be answered rightly are refused.

pub(in crate::engine) mod all_sets;
pub(in crate::engine) mod cast_names;
pub mod factors;
pub(in crate::engine) mod from_first;
pub(super) mod front_matter;
pub(in crate::engine) mod headings;
pub(in crate::engine) mod long_chains;
pub(in crate::engine) mod named_windows;
pub(in crate::engine) mod nested_with;
pub(in crate::engine) mod order_aliases;
pub(in crate::engine) mod order_all;
pub(in crate::engine) mod order_positions;
pub(in crate::engine) mod other_forms;
pub(in crate::engine) mod output_names;
pub(in crate::engine) mod param_names;
pub mod queries;
pub(super) mod query_call;
pub(super) mod query_params;
pub(super) mod query_scope;
pub(in crate::engine) mod question;
pub(in crate::engine) mod refused_clauses;
pub(super) mod ruled_out;
pub(in crate::engine) mod summarize;
pub(in crate::engine) mod time_zone;
pub(super) mod user_column;
pub(in crate::engine) mod using;
pub(in crate::engine) mod visit;
