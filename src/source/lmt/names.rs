//! What a target's name says: `snx11168-OST00ad` is OST 173 of the file system snx11168.
//!
//! The number is hexadecimal. LMT's own OST_ID is no index: it counts targets in the order in which they were first seen.

use crate::source::ReadContext;

/// What kind of target a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Object storage.
    Ost,
    /// Metadata.
    Mdt,
}

/// What a target's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The file system, as LMT names it.
    pub fs: &'a str,
    /// OST or MDT.
    pub kind: Kind,
    /// Its index.
    pub index: i32,
}

impl<'a> Target<'a> {
    /// The parts of a name such as `lc1-OST001f` or `lc1-MDT0000_UUID`; None if it is none.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let name = name.trim();
        let name = name.strip_suffix("_UUID").unwrap_or(name);
        // A file system's name may hold a dash itself.
        let (fs, target) = name.rsplit_once('-')?;
        let (kind, index) = match target.split_at_checked(3)? {
            ("OST", index) => (Kind::Ost, index),
            ("MDT", index) => (Kind::Mdt, index),
            _ => return None,
        };
        let hex = (1..=8).contains(&index.len()) && index.bytes().all(|b| b.is_ascii_hexdigit());
        let index = i32::from_str_radix(index, 16).ok().filter(|_| hex)?;
        (!fs.is_empty()).then_some(Self { fs, kind, index })
    }

    /// The index, if it is a target of this kind.
    pub(super) fn of(self, kind: Kind) -> Option<Self> {
        (self.kind == kind).then_some(self)
    }
}

/// The site's name of the file system that LMT calls `name`: a database's name is `filesystem_` and that of the file system.
pub(super) fn file_system(context: &ReadContext, name: &str) -> String {
    let name = name.strip_prefix("filesystem_").unwrap_or(name);
    context.lmt_file_system(name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_target_is_hexadecimal_and_a_uuid_suffix_says_nothing() {
        let target = |name| Target::parse(name).map(|t| (t.fs.to_string(), t.kind, t.index));
        let ost = |fs: &str, index| Some((fs.to_string(), Kind::Ost, index));
        assert_eq!(target("snx11168-OST00ad"), ost("snx11168", 173));
        assert_eq!(target("snx11168-OST00AD_UUID"), ost("snx11168", 173));
        assert_eq!(target("scratch-2-OST0010"), ost("scratch-2", 16));
        assert_eq!(
            target("lc1-MDT0000_UUID"),
            Some(("lc1".to_string(), Kind::Mdt, 0))
        );
        for none in [
            "",
            "OST0000",
            "-OST0000",
            "lc1-OST",
            "lc1-OSTxyz",
            "lc1-OST+001",
            "lc1-OSTffffffff",
            "lc1-OST000000001",
            "lc1-MGS",
            "tycho-mds1",
            "lc1-é",
        ] {
            assert_eq!(target(none), None, "{none}");
        }
    }

    #[test]
    fn the_site_renames_a_file_system_and_a_database_is_named_after_one() {
        let context = ReadContext {
            lmt_names: vec![("snx11168".into(), "cscratch".into())],
            ..ReadContext::default()
        };
        assert_eq!(file_system(&context, "snx11168"), "cscratch");
        assert_eq!(file_system(&context, "filesystem_snx11168"), "cscratch");
        assert_eq!(file_system(&context, "filesystem_lc1"), "lc1");
    }
}
