//! Values made less exact.

use crate::table::Coarse;

/// Reasons of Slurm that name nobody.
const REASONS: &str = "None Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive JobHeldAdmin \
    JobHeldUser BeginTime Licenses AssociationJobLimit AssociationResourceLimit AssociationTimeLimit Reservation ReqNodeNotAvail FrontEndDown \
    NodeDown BadConstraints SystemFailure JobLaunchFailure NonZeroExitCode TimeLimit InactiveLimit InvalidAccount InvalidQOS QOSUsageThreshold \
    QOSJobLimit QOSResourceLimit QOSTimeLimit Cleaning Prolog QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit QOSMaxNodePerUserLimit \
    QOSMaxSubmitJobPerUserLimit QOSMaxWallDurationPerJobLimit QOSGrpCpuLimit QOSGrpNodeLimit QOSGrpMemLimit AssocGrpCpuLimit \
    AssocGrpCPUMinutesLimit AssocGrpNodeLimit AssocMaxJobsLimit AssocMaxWallDurationPerJobLimit MaxJobsPerAccount RaisedSignal \
    NodeFailure OutOfMemory DependencyNeverSatisfied DeadLine JobArrayTaskLimit Preempted Requeued";

/// Trackable resources whose names are Slurm's own.
const TRES: [&str; 11] = [
    "cpu",
    "mem",
    "node",
    "billing",
    "energy",
    "pages",
    "vmem",
    "fs/disk",
    "fs/lustre",
    "ic/ofed",
    "gres/gpu",
];

/// Whether a trackable resource has one of Slurm's own names: licenses and devices are named by the site.
pub(super) fn is_plain_tres(name: &str) -> bool {
    TRES.contains(&name)
}

/// The first word of a reason, if Slurm has it: what follows may name nodes or users.
pub(super) fn reason(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    let word = &text[..end.unwrap_or(text.len())];
    REASONS.split_whitespace().find(|known| *known == word)
}

/// MPI-IO hints whose values are numbers or switches, `name=value` with semicolons between: others may name hosts and files.
pub(super) fn hints(text: &str) -> Option<String> {
    let is_plain = |hint: &&str| {
        hint.split_once('=').is_some_and(|(name, value)| {
            let is_name = name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            let is_switch = ["enable", "disable", "automatic", "true", "false"].contains(&value);
            is_name && (is_number || is_switch)
        })
    };
    let kept: Vec<&str> = text.split(';').filter(is_plain).collect();
    (!kept.is_empty()).then(|| kept.join(";"))
}

/// Types of file systems as kernels name them.
const FS_TYPES: &str = "lustre gpfs nfs nfs3 nfs4 ext2 ext3 ext4 xfs btrfs zfs jfs reiserfs tmpfs ramfs devtmpfs rootfs squashfs overlay overlayfs aufs iso9660 \
    udf vfat ntfs ntfs3 fuse fuseblk fusectl cifs smb3 smbfs afs autofs beegfs ceph panfs pvfs2 orangefs glusterfs hdfs dvs daos daos_dfs unifyfs wekafs cvmfs \
    cvmfs2 9p virtiofs proc sysfs cgroup cgroup2 cpuset debugfs tracefs securityfs devpts mqueue hugetlbfs pstore bpf binfmt_misc configfs efivarfs \
    rpc_pipefs nfsd selinuxfs usbfs nsfs none unknown UNKNOWN other";

/// A type of file system, if it is well known: programs that mount something of their own name it as they like.
pub(super) fn fs_type(text: &str) -> &'static str {
    let known = |word: &str| FS_TYPES.split_whitespace().find(|known| *known == word);
    let of_fuse = || text.split('.').next().and_then(known);
    known(text).or_else(of_fuse).unwrap_or("other")
}

/// Microseconds to which times are rounded down; None for what is no time.
pub(super) fn unit(coarse: Coarse) -> Option<i64> {
    match coarse {
        Coarse::Minute => Some(60_000_000),
        Coarse::Hour => Some(3_600_000_000),
        Coarse::Day => Some(86_400_000_000),
        Coarse::Reason | Coarse::Hints | Coarse::FsType | Coarse::Pools | Coarse::Tres => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_texts_stays_what_names_nobody() {
        assert_eq!(
            reason("ReqNodeNotAvail, UnavailableNodes:nid[01-04]"),
            Some("ReqNodeNotAvail")
        );
        assert_eq!(reason("held for alice"), None);
        let text = "romio_no_indep_rw=true;cb_nodes=4;cb_config_list=nid00012:*;x=";
        assert_eq!(
            hints(text).as_deref(),
            Some("romio_no_indep_rw=true;cb_nodes=4")
        );
        assert_eq!(hints("striping=/a"), None);
        let types = ["lustre", "fuse.alice.AppImage", "alicefs"].map(fs_type);
        assert_eq!(types, ["lustre", "fuse", "other"]);
        assert!(is_plain_tres("gres/gpu") && !is_plain_tres("license/alice"));
    }
}
