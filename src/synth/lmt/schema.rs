//! The tables of LMT's schema 1.1 that hold samples and names.
//!
//! # Source
//! `scripts/create_schema-1.1.sql` of LMT 3: names, types and keys of columns.

/// A table.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Name and type of each column.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    /// Columns of the primary key; none for operations of MDTs.
    pub(crate) key: &'static [&'static str],
    /// Columns that have an index.
    pub(crate) indexes: &'static [&'static str],
}

const ID: &str = "int(11) NOT NULL";
const OWN_ID: &str = "int(11) NOT NULL AUTO_INCREMENT";
const STAMP_ID: &str = "int(10) unsigned NOT NULL";
const COUNT: &str = "bigint(20) DEFAULT NULL";
const PERCENT: &str = "float DEFAULT NULL";
const NAME: &str = "varchar(128) NOT NULL";
const MAYBE: &str = "varchar(128) DEFAULT NULL";

pub(crate) const FILESYSTEM_INFO: Table = Table {
    name: "FILESYSTEM_INFO",
    columns: &[
        ("FILESYSTEM_ID", OWN_ID),
        ("FILESYSTEM_NAME", NAME),
        ("FILESYSTEM_MOUNT_NAME", "varchar(64) NOT NULL"),
        ("SCHEMA_VERSION", "float NOT NULL"),
    ],
    key: &["FILESYSTEM_ID"],
    indexes: &["FILESYSTEM_ID"],
};

pub(crate) const MDS_DATA: Table = Table {
    name: "MDS_DATA",
    columns: &[
        ("MDS_ID", ID),
        ("TS_ID", STAMP_ID),
        ("PCT_CPU", PERCENT),
        ("KBYTES_FREE", COUNT),
        ("KBYTES_USED", COUNT),
        ("INODES_FREE", COUNT),
        ("INODES_USED", COUNT),
    ],
    key: &["MDS_ID", "TS_ID"],
    indexes: &["TS_ID", "MDS_ID"],
};

pub(crate) const MDS_INFO: Table = Table {
    name: "MDS_INFO",
    columns: &[
        ("MDS_ID", OWN_ID),
        ("FILESYSTEM_ID", ID),
        ("MDS_NAME", NAME),
        ("HOSTNAME", NAME),
        ("DEVICE_NAME", MAYBE),
    ],
    key: &["MDS_ID"],
    indexes: &["FILESYSTEM_ID", "MDS_ID"],
};

pub(crate) const MDS_OPS_DATA: Table = Table {
    name: "MDS_OPS_DATA",
    columns: &[
        ("MDS_ID", ID),
        ("TS_ID", STAMP_ID),
        ("OPERATION_ID", ID),
        ("SAMPLES", COUNT),
        ("SUM", COUNT),
        ("SUMSQUARES", COUNT),
    ],
    key: &[],
    indexes: &["TS_ID", "MDS_ID", "OPERATION_ID"],
};

pub(crate) const OPERATION_INFO: Table = Table {
    name: "OPERATION_INFO",
    columns: &[
        ("OPERATION_ID", OWN_ID),
        ("OPERATION_NAME", "varchar(64) NOT NULL"),
        ("UNITS", "varchar(16) NOT NULL"),
    ],
    key: &["OPERATION_ID"],
    indexes: &["OPERATION_ID"],
};

pub(crate) const OSS_DATA: Table = Table {
    name: "OSS_DATA",
    columns: &[
        ("OSS_ID", ID),
        ("TS_ID", STAMP_ID),
        ("PCT_CPU", PERCENT),
        ("PCT_MEMORY", PERCENT),
    ],
    key: &["OSS_ID", "TS_ID"],
    indexes: &["TS_ID", "OSS_ID"],
};

pub(crate) const OSS_INFO: Table = Table {
    name: "OSS_INFO",
    columns: &[
        ("OSS_ID", OWN_ID),
        ("FILESYSTEM_ID", ID),
        ("HOSTNAME", NAME),
        ("FAILOVERHOST", MAYBE),
    ],
    key: &["OSS_ID"],
    indexes: &["FILESYSTEM_ID", "OSS_ID"],
};

pub(crate) const OST_DATA: Table = Table {
    name: "OST_DATA",
    columns: &[
        ("OST_ID", ID),
        ("TS_ID", STAMP_ID),
        ("READ_BYTES", COUNT),
        ("WRITE_BYTES", COUNT),
        ("PCT_CPU", PERCENT),
        ("KBYTES_FREE", COUNT),
        ("KBYTES_USED", COUNT),
        ("INODES_FREE", COUNT),
        ("INODES_USED", COUNT),
    ],
    key: &["OST_ID", "TS_ID"],
    indexes: &["TS_ID", "OST_ID"],
};

pub(crate) const OST_INFO: Table = Table {
    name: "OST_INFO",
    columns: &[
        ("OST_ID", OWN_ID),
        ("OSS_ID", ID),
        ("OST_NAME", NAME),
        ("HOSTNAME", NAME),
        ("OFFLINE", "tinyint(1) DEFAULT NULL"),
        ("DEVICE_NAME", MAYBE),
    ],
    key: &["OST_ID"],
    indexes: &["OSS_ID", "OST_ID"],
};

pub(crate) const TIMESTAMP_INFO: Table = Table {
    name: "TIMESTAMP_INFO",
    columns: &[
        ("TS_ID", "int(10) unsigned NOT NULL AUTO_INCREMENT"),
        ("TIMESTAMP", "datetime NOT NULL"),
    ],
    key: &["TS_ID"],
    indexes: &["TIMESTAMP", "TS_ID"],
};

/// Names of operations by number from 1 on: what Lustre may count, not only what MDTs do.
pub(crate) const OPERATIONS: [&str; 81] = [
    "open",
    "close",
    "mknod",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "rename",
    "getxattr",
    "setxattr",
    "iocontrol",
    "get_info",
    "set_info_async",
    "attach",
    "detach",
    "setup",
    "precleanup",
    "cleanup",
    "process_config",
    "postrecov",
    "add_conn",
    "del_conn",
    "connect",
    "reconnect",
    "disconnect",
    "statfs",
    "statfs_async",
    "packmd",
    "unpackmd",
    "checkmd",
    "preallocate",
    "precreate",
    "create",
    "destroy",
    "setattr",
    "setattr_async",
    "getattr",
    "getattr_async",
    "brw",
    "brw_async",
    "prep_async_page",
    "reget_short_lock",
    "release_short_lock",
    "queue_async_io",
    "queue_group_io",
    "trigger_group_io",
    "set_async_flags",
    "teardown_async_page",
    "merge_lvb",
    "adjust_kms",
    "punch",
    "sync",
    "migrate",
    "copy",
    "iterate",
    "preprw",
    "commitrw",
    "enqueue",
    "match",
    "change_cbdata",
    "cancel",
    "cancel_unused",
    "join_lru",
    "init_export",
    "destroy_export",
    "extent_calc",
    "llog_init",
    "llog_finish",
    "pin",
    "unpin",
    "import_event",
    "notify",
    "health_check",
    "quotacheck",
    "quotactl",
    "quota_adjust_quint",
    "ping",
    "register_page_removal_cb",
    "unregister_page_removal_cb",
    "register_lock_cancel_cb",
    "unregister_lock_cancel_cb",
];

/// The operations that an MDT counts, in the order in which LMT inserts them: the last of its string first.
pub(crate) const COUNTED: [&str; 21] = [
    "quotactl",
    "notify",
    "llog_init",
    "getattr",
    "setattr",
    "destroy",
    "create",
    "statfs",
    "disconnect",
    "reconnect",
    "connect",
    "process_config",
    "getxattr",
    "rename",
    "rmdir",
    "mkdir",
    "unlink",
    "link",
    "mknod",
    "close",
    "open",
];

/// Number of an operation.
pub(crate) fn operation_id(name: &str) -> i64 {
    (OPERATIONS.iter().position(|known| *known == name)).map_or(0, |at| at as i64 + 1)
}
