//! The part of an ingest that runs on a cluster: each range is a job of one row.

use super::client::present;
use super::connect_file::ConnectFile;
use super::convert_exec::{BYTES, ConvertRangesExec};
use super::job::Job;
use super::parts::encode;
use super::session;
use super::stage_exec::Figures;
use crate::engine::parts::{NO_LAKE, for_cluster, runtime, session_state, text_of};
use crate::error::{Error, Result};
use crate::lake::{Lake, RangeRunner};
use ballista_core::extension::SessionConfigHelperExt;
use ballista_core::serde::protobuf::KeyValuePair;
use datafusion::arrow::array::{AsArray, BinaryArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::datasource::memory::MemorySourceConfig;
use futures::TryStreamExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How often an ingest that waits for a range looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// Ranges that wait at the scheduler for each core, so that none is ever idle.
const AHEAD: usize = 2;

/// Has a cluster convert the ranges of a lake.
pub struct ClusterRanges {
    keys: Arc<ConnectFile>,
    lakes: Vec<(String, PathBuf)>,
    settings: Vec<KeyValuePair>,
    threads: Runtime,
}

impl ClusterRanges {
    /// Of this lake, on this cluster.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no threads are to be had.
    pub fn new(keys: ConnectFile, lake: &Lake) -> Result<Self> {
        let root = lake.root().map(PathBuf::from);
        let state = session_state(2, None, NO_LAKE, runtime(2, None)?);
        let state = for_cluster(state, 2, |config| session::configure(config, &keys));
        Ok(Self {
            lakes: root
                .map(|root| (lake.id().to_string(), root))
                .into_iter()
                .collect(),
            settings: state.config().to_key_value_pairs(),
            keys: Arc::new(keys),
            threads: crate::engine::runtime(Some(2))?,
        })
    }

    fn job(
        &self,
        lake_id: &str,
        request: Vec<u8>,
        ost: Option<i64>,
    ) -> Result<Job, DataFusionError> {
        let request = BinaryArray::from_iter_values([request]);
        let request = RecordBatch::try_new(BYTES.clone(), vec![Arc::new(request)])?;
        let rows = MemorySourceConfig::try_new_exec(&[vec![request]], BYTES.clone(), None)?;
        let plan = ConvertRangesExec::plan(rows, lake_id.into(), ost);
        Ok(Job {
            keys: self.keys.clone(),
            plan: encode(&plan)?,
            settings: self.settings.clone(),
            figures: Figures::default(),
            resent: Arc::default(),
        })
    }
}

/// The answer of a job.
async fn answer(job: Job) -> Result<Vec<u8>, DataFusionError> {
    let rows: Vec<RecordBatch> = job.rows().await?.try_collect().await?;
    let answers = rows
        .iter()
        .filter_map(|rows| rows.column(0).as_binary_opt::<i32>());
    let mut answers = answers.flat_map(|answers| answers.iter().flatten());
    let lacks = || DataFusionError::Execution("a range has no answer".into());
    answers.next().map(<[u8]>::to_vec).ok_or_else(lacks)
}

impl RangeRunner for ClusterRanges {
    fn width(&self) -> Result<usize> {
        let present = self.threads.block_on(present(&self.keys, &self.lakes))?;
        Ok(AHEAD * present.cores())
    }

    fn convert(
        &self,
        lake_id: &str,
        request: Vec<u8>,
        ost: Option<i64>,
        cancel: &AtomicBool,
    ) -> Result<Vec<u8>> {
        let failed = |error: DataFusionError| match error {
            DataFusionError::External(error) => match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => Error::Invalid(error.to_string()),
            },
            error => Error::Invalid(text_of(&error)),
        };
        let job = self.job(lake_id, request, ost).map_err(failed)?;
        let interrupted = async {
            while !cancel.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK).await;
            }
        };
        self.threads.block_on(async {
            tokio::select! {
                answer = answer(job) => answer.map_err(failed),
                () = interrupted => Err(Error::Interrupted),
            }
        })
    }
}
