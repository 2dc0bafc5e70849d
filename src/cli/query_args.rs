//! What questions are asked of: lakes, or logs that are imported first.

use super::exit::Exit;
use super::interrupt;
use super::lake_args::default_lake;
use super::period::period;
use super::progress::{self, Bar};
use super::screen::Terminal;
use crate::answer::analysis::DERIVED;
use crate::error::Error;
use crate::lake::{IngestOptions, Lake};
use std::path::PathBuf;

/// What questions are asked of, and with how much.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct QueryArgs {
    /// The lake; several may be given, each is then a SQL schema under the name of its directory, or under NAME=DIR (default: IOLODE_LAKE, else that of the config file)
    #[arg(long, value_name = "LAKE")]
    pub(crate) lake: Vec<String>,
    /// Read this version of the lake instead of its newest
    #[arg(long, value_name = "N")]
    pub(crate) version: Option<u64>,
    /// Query these logs or directories of logs, without a lake
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) logs: Vec<PathBuf>,
    /// First import what is new in the registered sources of the lake
    #[arg(long)]
    pub(crate) ingest: bool,
    /// With --logs or --ingest: only logs that start at this date or later
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// With --logs or --ingest: only logs that start before this date
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    /// Time zone of dates that name no offset, and of times in answers of named queries, such as Europe/Berlin (default: the lake's, else UTC)
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// With --logs or --ingest: import traced accesses (DXT) as well
    #[arg(long)]
    pub(crate) dxt: bool,
    /// Memory for sorts, joins and groupings, such as 2GiB (default: half of the machine's, or of its control group's if that is less)
    #[arg(long, value_name = "SIZE", value_parser = super::size::parse)]
    pub(crate) memory: Option<u64>,
    /// Number of threads (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Run large statements on the cluster of this connect file, which `iolode cluster scheduler` wrote
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE", conflicts_with = "logs")]
    pub(crate) cluster: Option<PathBuf>,
    /// With --cluster: statements whose scans read less run in this process (default: 256MiB, and all of them if the cluster has no more cores than --threads)
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "SIZE", value_parser = super::size::parse, requires = "cluster")]
    pub(crate) cluster_above: Option<u64>,
    /// Report when a statement was planned again, for example for lack of memory, and with --cluster where it ran
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// What names the lake, if it is the default one.
    #[arg(skip)]
    pub(crate) lake_by: Option<String>,
    /// Whether SQL may not read other files of this machine.
    #[arg(skip)]
    pub(crate) no_local_files: bool,
}

impl QueryArgs {
    /// The same with the default lake, if neither a lake nor logs are given and there is one.
    ///
    /// # Errors
    /// Those of the config file.
    pub(crate) fn or_default_lake(&self) -> anyhow::Result<Self> {
        let mut ask = self.clone();
        if self.lake.is_empty()
            && self.logs.is_empty()
            && let Some(chosen) = default_lake()?
        {
            ask.lake.push(chosen.path.display().to_string());
            ask.lake_by = chosen.by;
        }
        Ok(ask)
    }

    /// Imports logs into a lake: those of some paths, or what is new in the registered sources.
    ///
    /// # Errors
    /// Those of the ingest.
    pub(super) fn take_in(
        &self,
        lake: &Lake,
        paths: &[PathBuf],
        screen: &Terminal,
    ) -> anyhow::Result<Exit> {
        let zone = match &self.timezone {
            Some(name) => super::period::zone(name).map_err(Error::Invalid)?,
            None => lake.site()?.zone()?,
        };
        let period =
            period(self.from.as_deref(), self.to.as_deref(), zone).map_err(Error::Invalid)?;
        let (_during, cancel) = interrupt::during_ingest()?;
        let mut options = IngestOptions {
            paths: paths.iter().cloned().map(Into::into).collect(),
            period,
            dxt: self.dxt,
            derived: DERIVED,
            // What is asked once and kept nowhere has all that can be asked.
            analyze: match lake.root() {
                None => DERIVED.iter().map(|known| known.name().into()).collect(),
                Some(_) => vec![],
            },
            cancel,
            ..IngestOptions::default()
        };
        if let Some(threads) = self.threads {
            options.threads = usize::from(threads);
        }
        let bar = Bar::new(screen);
        let report = lake.ingest(&options, &bar);
        bar.clear();
        let report = report?;
        Ok(match report.version {
            // Of logs that are asked once nothing is to be told but what is wrong with them.
            Some(_) if lake.root().is_none() => progress::damage(&report, lake, screen),
            Some(_) => progress::end(&report, lake, bar.elapsed(), screen),
            None => progress::failures(&report, screen),
        })
    }
}
