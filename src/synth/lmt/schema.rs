//! The tables of LMT's schema 1.1 that hold samples and names: `schema.sql`, in the order of their names as mysqldump has them.
//!
//! # Source
//! `scripts/create_schema-1.1.sql` of LMT 3: names, types and keys of columns.

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<&'static str>,
    /// Columns of the primary key, with commas; none for operations of MDTs.
    pub(crate) key: Option<String>,
    /// The statement that makes it in MySQL.
    pub(crate) create: &'static str,
}

/// Names of operations by number from 1 on: what Lustre may count, not only what MDTs do.
pub(crate) const OPERATIONS: &str = "open close mknod link unlink mkdir rmdir rename getxattr setxattr iocontrol get_info set_info_async attach detach setup \
    precleanup cleanup process_config postrecov add_conn del_conn connect reconnect disconnect statfs statfs_async packmd \
    unpackmd checkmd preallocate precreate create destroy setattr setattr_async getattr getattr_async brw brw_async \
    prep_async_page reget_short_lock release_short_lock queue_async_io queue_group_io trigger_group_io set_async_flags \
    teardown_async_page merge_lvb adjust_kms punch sync migrate copy iterate preprw commitrw enqueue match change_cbdata \
    cancel cancel_unused join_lru init_export destroy_export extent_calc llog_init llog_finish pin unpin import_event notify \
    health_check quotacheck quotactl quota_adjust_quint ping register_page_removal_cb unregister_page_removal_cb \
    register_lock_cancel_cb unregister_lock_cancel_cb";

/// The operations that an MDT counts, in the order in which LMT inserts them: the last of its string first.
pub(crate) const COUNTED: &str = "quotactl notify llog_init getattr setattr destroy create statfs disconnect reconnect connect process_config getxattr \
    rename rmdir mkdir unlink link mknod close open";

impl Table {
    /// The table of this name.
    pub(crate) fn named(name: &str) -> Self {
        let all = include_str!("schema.sql").split(";\n").map(str::trim_start);
        let tables = all.filter(|create| !create.is_empty()).map(Self::parse);
        let found = tables.into_iter().find(|table| table.name == name);
        found.expect("the schema has each table that is written")
    }

    fn parse(create: &'static str) -> Self {
        let name = |line: &'static str| line.split('`').nth(1).unwrap_or_default();
        let lines = || create.lines().map(str::trim);
        let key = lines().find_map(|line| line.strip_prefix("PRIMARY KEY ")?.strip_suffix(','));
        Self {
            name: name(create),
            columns: lines()
                .filter(|line| line.starts_with('`'))
                .map(name)
                .collect(),
            key: key.map(|key| key.replace("`,`", ", ").replace(['(', ')', '`'], "")),
            create,
        }
    }
}

/// Number of an operation.
pub(crate) fn operation_id(name: &str) -> i64 {
    let found = OPERATIONS.split(' ').position(|known| known == name);
    found.map_or(0, |at| at as i64 + 1)
}
