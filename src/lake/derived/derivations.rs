//! Which derived tables an ingest fills.

use super::derivation::Derivation;
use super::derived_table::DerivedTable;
use crate::error::{Error, Result};
use crate::lake::ingest::options::IngestOptions;
use crate::lake::version::manifest::Manifest;
use std::collections::BTreeMap;

/// The derived tables that an ingest fills, and the versions that the next manifest notes.
pub(in crate::lake) struct Derivations {
    pub(in crate::lake) tables: Vec<Derivation>,
    pub(in crate::lake) versions: BTreeMap<String, u32>,
}

impl Derivations {
    /// Those of a lake, and those that are asked for. Where the lake keeps a table that nobody here can fill, its rows are of no version once logs come.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an analysis that nobody knows.
    pub(in crate::lake) fn new(
        manifest: &Manifest,
        options: &IngestOptions<'_>,
        has_logs: bool,
    ) -> Result<Self> {
        let mut versions = manifest.derived.clone();
        for name in &options.analyze {
            let found = options.derived.iter().find(|known| known.name() == name);
            let known = options.derived.iter().map(|known| known.name());
            let found = found.ok_or_else(|| Error::unknown("analysis", name, known))?;
            versions.entry(found.table().into()).or_default();
        }
        let mut tables = vec![];
        for (table, version) in &mut versions {
            match options.derived_table(table) {
                Some(known) => {
                    tables.push(Derivation {
                        table: table.clone(),
                        anew: known.version() != *version,
                    });
                    *version = known.version();
                }
                None if has_logs => *version = 0,
                None => {}
            }
        }
        Ok(Self { tables, versions })
    }

    /// Whether a range with these tables has rows to derive anew.
    pub(in crate::lake) fn is_outdated<'t>(
        &self,
        options: &IngestOptions<'_>,
        mut tables: impl Iterator<Item = &'t str>,
    ) -> bool {
        let anew = self.tables.iter().filter(|table| table.anew);
        let anew: Vec<&dyn DerivedTable> = anew
            .filter_map(|table| options.derived_table(&table.table))
            .collect();
        tables.any(|of_range| {
            let concerns = |known: &&dyn DerivedTable| {
                known.table() == of_range || known.made_of().contains(&of_range)
            };
            anew.iter().any(concerns)
        })
    }
}
