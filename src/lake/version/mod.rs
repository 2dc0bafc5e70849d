//! Versions of a lake: what they name, and how the next one is published.
//!
//! A `manifest` names the lists of a version: `list_file` reads and writes them, `file_index` and `input_index` put them together.
//! A `pinned` version reads what a question needs of them, a `snapshot` all. `commit` publishes the next version, under a `lease`; `recovery` is about a
//! newest version that is gone. `first_version` is that of a lake that is made whole.
//! `shared_text` writes text that is shared. `store` is the only file that knows where the bytes lie; `calls` tells of what it does to them.

pub(super) mod calls;
pub(super) mod commit;
pub(super) mod file_index;
pub(super) mod file_list;
pub(super) mod first_version;
pub(super) mod input_index;
pub(super) mod input_lists;
pub(super) mod lease;
pub(super) mod list_file;
pub(super) mod manifest;
pub(super) mod owner;
pub(super) mod owner_file;
pub(super) mod pinned;
pub(super) mod range_result;
pub(super) mod ranges;
pub(super) mod recovery;
mod shared_text;
pub(super) mod site;
pub(super) mod snapshot;
pub(super) mod store;
pub(super) mod time;
pub(super) mod user_function;
