//! Who runs the large statements of a session: this process, or the cluster of a connect file.

use super::query_args::QueryArgs;
use crate::engine::Runner;
use crate::lake::Lake;
use std::sync::Arc;

/// A lake under its name in SQL, and the version that is asked.
pub(super) type OpenLake = (String, Arc<Lake>, Option<u64>);

/// Who runs large statements, if not this process.
///
/// # Errors
/// Those of the connect file.
#[cfg(feature = "cluster")]
pub(super) fn runner(
    ask: &QueryArgs,
    lakes: &[OpenLake],
) -> anyhow::Result<Option<Arc<dyn Runner>>> {
    use super::warnings;
    use crate::cluster::{ConnectFile, client};
    let Some(file) = &ask.cluster else {
        return Ok(None);
    };
    warnings::show(warnings::Logger::Command);
    let runner = client::ClusterRunner::new(
        ConnectFile::read(file)?,
        lakes.iter().map(|(_, lake, _)| lake.as_ref()),
        ask.cluster_above,
    );
    Ok(Some(Arc::new(runner)))
}

/// This process runs all statements.
#[cfg(not(feature = "cluster"))]
pub(super) fn runner(_: &QueryArgs, _: &[OpenLake]) -> anyhow::Result<Option<Arc<dyn Runner>>> {
    Ok(None)
}

/// Who converts the ranges of an ingest, on the cluster of a connect file.
///
/// # Errors
/// Those of the connect file.
#[cfg(feature = "cluster")]
pub(super) fn ranges(
    file: &std::path::Path,
    lake: &Lake,
) -> anyhow::Result<Arc<dyn crate::lake::RangeRunner>> {
    use super::warnings;
    use crate::cluster::{ConnectFile, ingest::ClusterRanges};
    warnings::show(warnings::Logger::Command);
    let ranges = ClusterRanges::new(ConnectFile::read(file)?, lake)?;
    Ok(Arc::new(ranges))
}
