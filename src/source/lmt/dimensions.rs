//! The small tables of an LMT database: which target an id stands for, and which time.

use super::clock::{self, NEVER};
use super::names::{Kind, Target, file_system};
use crate::source::ReadContext;
use chrono::NaiveDateTime;
use std::collections::HashMap;

/// One value of a database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    /// NULL, or a column that this copy of the database lacks.
    Null,
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Text.
    Text(&'a [u8]),
}

impl Field<'_> {
    /// The value as a whole number, if it is one.
    pub(super) fn int(self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(n),
            Self::Float(x) => whole(x),
            Self::Text(text) => {
                let text = std::str::from_utf8(text).ok()?.trim();
                text.parse().ok().or_else(|| whole(text.parse().ok()?))
            }
            Self::Null => None,
        }
    }

    /// The value as a number, if it is one.
    pub(super) fn float(self) -> Option<f64> {
        let x = match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
            Self::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok()?,
            Self::Null => return None,
        };
        x.is_finite().then_some(x)
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
            _ => None,
        }
    }
}

/// A number as a whole one, if it is one: copies of databases write 0.0 for 0.
fn whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < 9.0e18).then_some(x as i64)
}

/// The small tables and those of their columns that are wanted, in this order.
pub(super) const TABLES: [(&str, &[&str]); 6] = [
    ("FILESYSTEM_INFO", &["FILESYSTEM_ID", "FILESYSTEM_NAME"]),
    ("OSS_INFO", &["OSS_ID", "FILESYSTEM_ID", "HOSTNAME"]),
    ("OST_INFO", &["OST_ID", "OSS_ID", "OST_NAME", "HOSTNAME"]),
    ("MDS_INFO", &["MDS_ID", "MDS_NAME", "HOSTNAME"]),
    ("OPERATION_INFO", &["OPERATION_ID", "OPERATION_NAME"]),
    (STAMPS, &["TS_ID", "TIMESTAMP"]),
];

/// The one of them that grows: a row for each 5 seconds.
pub(super) const STAMPS: &str = "TIMESTAMP_INFO";

/// Rows of each of the others, at most. The largest file systems have some thousand targets.
const MOST: usize = 1 << 20;

/// Rows of the small tables as they are read.
#[derive(Default)]
pub(super) struct Rows {
    file_systems: HashMap<i64, String>,
    osses: Vec<(i64, Option<i64>, String)>,
    osts: Vec<(i64, Option<i64>, String, Option<String>)>,
    mdts: Vec<(i64, String, Option<String>)>,
    ops: Vec<(i64, String)>,
    stamps: Vec<(i64, Option<NaiveDateTime>)>,
}

impl Rows {
    /// Takes a row of one of [`TABLES`], with its columns in the order given there; false if it makes no sense.
    pub(super) fn push(&mut self, table: &str, fields: &[Field]) -> bool {
        let field = |at: usize| fields.get(at).copied().unwrap_or(Field::Null);
        let Some(id) = field(0).int() else {
            return false;
        };
        let full = |rows: usize| rows >= MOST;
        match table {
            "FILESYSTEM_INFO" if !full(self.file_systems.len()) => field(1)
                .text()
                .map(|name| self.file_systems.insert(id, name))
                .is_some(),
            "OSS_INFO" if !full(self.osses.len()) => field(2)
                .text()
                .map(|host| self.osses.push((id, field(1).int(), host)))
                .is_some(),
            "OST_INFO" if !full(self.osts.len()) => field(2)
                .text()
                .map(|name| self.osts.push((id, field(1).int(), name, field(3).text())))
                .is_some(),
            "MDS_INFO" if !full(self.mdts.len()) => field(1)
                .text()
                .map(|name| self.mdts.push((id, name, field(2).text())))
                .is_some(),
            "OPERATION_INFO" if !full(self.ops.len()) => field(1)
                .text()
                .map(|name| self.ops.push((id, name)))
                .is_some(),
            STAMPS => {
                let stamp = match field(1) {
                    Field::Text(text) => clock::datetime(text),
                    _ => None,
                };
                self.stamps.push((id, stamp));
                true
            }
            _ => false,
        }
    }

    /// What the ids stand for, and what is wrong with the tables. `database` names the file system of servers whose own rows do
    /// not.
    pub(super) fn finish(
        self,
        context: &ReadContext,
        database: Option<&str>,
    ) -> (Info, Vec<String>) {
        let mut wrong = vec![];
        let mut nameless = |table: &str, name: &str| {
            if wrong.len() < 3 {
                wrong.push(format!(
                    "{table}: `{}` is not the name of a target",
                    name.escape_default()
                ));
            }
        };
        let hosts: HashMap<i64, &str> = self
            .osses
            .iter()
            .map(|(id, _, host)| (*id, host.as_str()))
            .collect();
        let mut served: HashMap<i64, String> = HashMap::new();
        let mut osts = vec![];
        for (id, oss, name, host) in &self.osts {
            match Target::parse(name).and_then(|target| target.of(Kind::Ost)) {
                Some(target) => {
                    let fs = file_system(context, target.fs);
                    if let Some(oss) = oss {
                        served.entry(*oss).or_insert_with(|| fs.clone());
                    }
                    let server = oss.and_then(|oss| hosts.get(&oss).copied());
                    let server = server.map(str::to_string).or_else(|| host.clone());
                    osts.push((
                        *id,
                        Place {
                            fs,
                            index: target.index,
                            server,
                        },
                    ));
                }
                None => nameless("OST_INFO", name),
            }
        }
        let mut mdts = vec![];
        for (id, name, server) in self.mdts {
            match Target::parse(&name).and_then(|target| target.of(Kind::Mdt)) {
                Some(target) => {
                    let fs = file_system(context, target.fs);
                    mdts.push((
                        id,
                        Place {
                            fs,
                            index: target.index,
                            server,
                        },
                    ));
                }
                None => nameless("MDS_INFO", &name),
            }
        }
        // A server's file system: that of its targets, else what its own row says, else the database's.
        let mut osses = vec![];
        for (id, file_system_id, host) in self.osses {
            let own = file_system_id.and_then(|id| self.file_systems.get(&id).map(String::as_str));
            let fs = served.remove(&id);
            let fs = fs.or_else(|| own.or(database).map(|name| file_system(context, name)));
            if let Some(fs) = fs {
                osses.push((
                    id,
                    Place {
                        fs,
                        index: 0,
                        server: Some(host),
                    },
                ));
            }
        }
        let mut stamps = self.stamps;
        // Sorted nearly always already. Of two with one id the first stays, as everywhere.
        stamps.sort_by_key(|(id, _)| *id);
        stamps.dedup_by_key(|(id, _)| *id);
        let (ids, stamps): (Vec<i64>, Vec<_>) = stamps.into_iter().unzip();
        if !stamps.is_empty() {
            context.note_local_times();
        }
        let (times, unknown) = clock::resolve(context.zone, &stamps);
        if unknown.skipped > 0 {
            wrong.push(format!(
                "{} time stamps name an hour that {} does not have; is that the zone of the server? their rows are left out",
                unknown.skipped, context.zone
            ));
        }
        if unknown.none > 0 {
            wrong.push(format!(
                "{} time stamps are none; their rows are left out",
                unknown.none
            ));
        }
        let info = Info {
            osts: Ids::new(osts),
            osses: Ids::new(osses),
            mdts: Ids::new(mdts),
            ops: Ids::new(self.ops),
            times: Ids { ids, values: times },
        };
        (info, wrong)
    }
}

/// What the ids of a database stand for.
#[derive(Default)]
pub(super) struct Info {
    /// OSTs by OST_ID.
    pub osts: Ids<Place>,
    /// Servers by OSS_ID; their index says nothing.
    pub osses: Ids<Place>,
    /// MDTs by MDS_ID.
    pub mdts: Ids<Place>,
    /// Names of operations by OPERATION_ID.
    pub ops: Ids<String>,
    /// Microseconds since 1970 by TS_ID; [`NEVER`] where not known.
    pub times: Ids<i64>,
}

/// A target or a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its file system, as the site names it.
    pub fs: String,
    /// Index of the target.
    pub index: i32,
    /// The server.
    pub server: Option<String>,
}

/// What belongs to ids.
pub(super) struct Ids<T> {
    /// Ascending, each once.
    ids: Vec<i64>,
    values: Vec<T>,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Self {
            ids: vec![],
            values: vec![],
        }
    }
}

impl<T> Ids<T> {
    fn new(mut rows: Vec<(i64, T)>) -> Self {
        rows.sort_by_key(|(id, _)| *id);
        rows.dedup_by_key(|(id, _)| *id);
        let (ids, values) = rows.into_iter().unzip();
        Self { ids, values }
    }

    /// All values.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    /// All ids.
    pub(super) fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// Place of an id among the values. `near` is the place of one asked for before: rows come in the order of an id.
    #[inline]
    pub(super) fn find(&self, id: i64, near: usize) -> Option<usize> {
        let first = *self.ids.first()?;
        // Ids without holes need no search.
        let guess = usize::try_from(id.wrapping_sub(first)).unwrap_or(usize::MAX);
        for place in [guess, near, near.wrapping_add(1)] {
            if self.ids.get(place) == Some(&id) {
                return Some(place);
            }
        }
        self.ids.binary_search(&id).ok()
    }
}

impl Ids<i64> {
    /// Stamps with their times, from a place on.
    pub(super) fn from(&self, place: usize) -> impl Iterator<Item = (&i64, &i64)> {
        let (ids, times) = (self.ids.get(place..), self.values.get(place..));
        let ids = ids.unwrap_or_default().iter();
        ids.zip(times.unwrap_or_default())
    }

    /// The time of a stamp whose place is known; None if the zone never had it.
    #[inline]
    pub(super) fn time(&self, place: usize) -> Option<i64> {
        self.values
            .get(place)
            .copied()
            .filter(|time| *time != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_with_and_without_holes_and_of_two_the_first_counts() {
        let ids = Ids::new(vec![(7, 'a'), (9, 'c'), (8, 'b'), (9, 'x'), (40, 'd')]);
        let find = |id, near| ids.find(id, near).map(|place| ids.values[place]);
        for near in [0, 3, usize::MAX] {
            let found = [7, 8, 9, 40, 10, 41, i64::MIN, i64::MAX].map(|id| find(id, near));
            assert_eq!(found[..4], [Some('a'), Some('b'), Some('c'), Some('d')]);
            assert_eq!(found[4..], [None; 4]);
        }
    }

    #[test]
    fn a_target_belongs_to_the_file_system_in_its_name_and_a_server_to_that_of_its_targets() {
        let mut rows = Rows::default();
        let text = |t: &'static str| Field::Text(t.as_bytes());
        assert!(rows.push("FILESYSTEM_INFO", &[Field::Int(1), text("lc1")]));
        assert!(rows.push("OSS_INFO", &[Field::Int(4), Field::Int(1), text("tycho1")]));
        assert!(rows.push("OSS_INFO", &[Field::Int(5), Field::Int(1), text("tycho2")]));
        // In lc1 OST_ID 1 is OST0010.
        assert!(rows.push(
            "OST_INFO",
            &[
                Field::Int(1),
                Field::Int(4),
                text("lc2-OST0010"),
                text("elsewhere")
            ]
        ));
        assert!(rows.push(
            "MDS_INFO",
            &[Field::Int(1), text("tycho-mds1"), Field::Null]
        ));
        assert!(!rows.push(
            "OST_INFO",
            &[Field::Null, Field::Int(4), text("lc2-OST0010")]
        ));
        let (info, wrong) = rows.finish(&ReadContext::default(), None);
        let server = Some("tycho1".to_string());
        assert_eq!(
            info.osts.values(),
            [Place {
                fs: "lc2".into(),
                index: 16,
                server
            }]
        );
        let systems: Vec<_> = info.osses.values().iter().map(|p| p.fs.as_str()).collect();
        assert_eq!(systems, ["lc2", "lc1"]);
        assert_eq!(
            wrong,
            ["MDS_INFO: `tycho-mds1` is not the name of a target"]
        );
    }
}
