//! Where DataFusion 55.2 answers wrongly without a word, or not at all where other databases do.
//!
//! Each file says what is wrong, with the number of DataFusion's issue where there is one, and makes it right or refuses it with a
//! line that says what to write instead. A file goes when DataFusion is right. What is only switched off, because a setting
//! suffices, is in [`super::session`].

pub(in crate::engine) mod aggregates;
pub(in crate::engine) mod all_sets;
pub(in crate::engine) mod arithmetic;
pub(in crate::engine) mod canonical;
pub(in crate::engine) mod count_distinct;
pub(in crate::engine) mod distinct_from;
pub(in crate::engine) mod durations;
pub(in crate::engine) mod float_keys;
pub(in crate::engine) mod headings;
pub(in crate::engine) mod join_order;
pub(in crate::engine) mod keywords;
pub(in crate::engine) mod long_chains;
pub(in crate::engine) mod order_twice;
pub(in crate::engine) mod percentile_cont;
pub(in crate::engine) mod sum;
pub(in crate::engine) mod time_zone;
pub(in crate::engine) mod unnest;
pub(in crate::engine) mod using;
