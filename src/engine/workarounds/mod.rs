//! What DataFusion 55.2 gets wrong: it answers wrongly without an error, or not at all where other databases do, or needs far more
//! time (`date_trunc`) or memory (`count_distinct`).
//!
//! Each file says what is wrong, with the number of DataFusion's issue where there is one, and makes it right. A file goes when
//! DataFusion is right. A physical rule of this kind lies in `planning` or `exec`. What is only switched off, because a setting
//! suffices, is in `session::state`.

pub(in crate::engine) mod aggregates;
pub(in crate::engine) mod all_sets;
pub(in crate::engine) mod boolean_case;
pub(in crate::engine) mod cast_bounds;
mod comoments;
pub(in crate::engine) mod comparisons;
pub(in crate::engine) mod correlated;
pub(in crate::engine) mod count_distinct;
pub(in crate::engine) mod date_intervals;
pub(in crate::engine) mod date_part;
pub(in crate::engine) mod date_trunc;
mod decimal_floats;
pub(in crate::engine) mod distinct_from;
pub(in crate::engine) mod durations;
pub(in crate::engine) mod emptied_unions;
pub(in crate::engine) mod function_orders;
pub(in crate::engine) mod functional_dependencies;
pub(in crate::engine) mod in_lists;
pub(in crate::engine) mod interval_order;
pub(in crate::engine) mod kept_nulls;
pub(in crate::engine) mod keys_of_one_name;
pub(in crate::engine) mod keywords;
pub(in crate::engine) mod literal_keys;
mod moving_frames;
pub(in crate::engine) mod null_equality;
pub(in crate::engine) mod order_twice;
pub(in crate::engine) mod percentile_cont;
mod percentile_values;
pub(in crate::engine) mod range_frames;
pub(in crate::engine) mod signed_counts;
pub(in crate::engine) mod subquery_nulls;
pub(in crate::engine) mod sum;
pub(in crate::engine) mod to_char;
pub(in crate::engine) mod total_filters;
pub(in crate::engine) mod window_identity;
