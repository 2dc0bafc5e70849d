//! The bounds of the keys of a build side, gathered as its rows come.

use crate::engine::rule::Node;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_functions_aggregate_common::min_max::{max_batch, min_batch};
use futures::{StreamExt, TryStreamExt, stream};
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The least and the greatest of a key. None if there is none that is not NULL.
pub(super) type MinMax = Option<(ScalarValue, ScalarValue)>;

/// What is known of the keys of one partition of the rows that are held.
#[derive(Clone)]
enum State {
    /// Its rows have not been asked for.
    NotStarted,
    /// Its rows are being read.
    Running,
    /// All rows were read.
    Complete(Vec<MinMax>),
    /// Nobody wanted all of them, or they came twice.
    Unavailable,
}

/// Partitions are asked for at once, each by a task of its own, so that none of them waits for long. But whoever asks for one after
/// the other must have the rows of the first before the second is asked for at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the two nodes share.
pub(super) struct KeyBounds {
    parts: Vec<watch::Sender<State>>,
}

impl KeyBounds {
    pub(super) fn of(parts: usize) -> Self {
        Self {
            parts: (0..parts)
                .map(|_| watch::Sender::new(State::NotStarted))
                .collect(),
        }
    }

    /// All partitions.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.parts.len()
    }

    /// The bounds of these partitions together. None if nobody asks for the rows of one of them.
    pub(super) async fn reach(&self, parts: Range<usize>) -> Option<Vec<MinMax>> {
        let parts = self.parts.get(parts)?;
        let asked = async {
            for part in parts {
                let mut part = part.subscribe();
                let _ = part
                    .wait_for(|part| !matches!(part, State::NotStarted))
                    .await;
            }
        };
        timeout(PATIENCE, asked).await.ok()?;
        let mut all: Option<Vec<MinMax>> = None;
        for part in parts {
            let mut part = part.subscribe();
            let part = part.wait_for(|part| !matches!(part, State::Running)).await;
            let part = part.ok()?.clone();
            let State::Complete(reach) = part else {
                return None;
            };
            all = Some(match all {
                None => reach,
                Some(all) => all
                    .into_iter()
                    .zip(reach)
                    .map(|(a, b)| wider(a, b))
                    .collect(),
            });
        }
        all
    }
}

pub(super) fn wider(a: MinMax, b: MinMax) -> MinMax {
    match (a, b) {
        (Some((low, high)), Some((least, most))) => Some((
            if number(&least) < number(&low) {
                least
            } else {
                low
            },
            if number(&most) > number(&high) {
                most
            } else {
                high
            },
        )),
        (a, b) => a.or(b),
    }
}

/// A value of a type that [`has_bounds`].
pub(super) fn number(value: &ScalarValue) -> Option<i128> {
    match value {
        ScalarValue::Int32(value) => value.map(i128::from),
        ScalarValue::Int64(value) | ScalarValue::TimestampMicrosecond(value, _) => {
            value.map(i128::from)
        }
        ScalarValue::UInt64(value) => value.map(i128::from),
        _ => None,
    }
}

/// Rows as they come, and the bounds of their keys.
pub(super) struct KeyBoundsExec {
    input: Node,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    noted: Arc<KeyBounds>,
}

impl KeyBoundsExec {
    pub(super) fn new(
        input: Node,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        noted: Arc<KeyBounds>,
    ) -> Self {
        Self { input, keys, noted }
    }
}

/// The bounds of one partition as its rows come. Dropped before the last of them, it says so.
struct Noting {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    noted: Arc<KeyBounds>,
    part: usize,
    reach: Vec<MinMax>,
}

impl Noting {
    fn begin(&self) {
        self.noted.parts[self.part].send_modify(|part| {
            *part = match part {
                State::NotStarted => State::Running,
                _ => State::Unavailable,
            }
        });
    }

    fn take_in(&mut self, batch: &RecordBatch) -> Result<()> {
        for (key, reach) in self.keys.iter().zip(&mut self.reach) {
            let values = key.evaluate(batch)?.into_array(batch.num_rows())?;
            if values.null_count() < values.len() {
                let found = (min_batch(&values)?, max_batch(&values)?);
                *reach = wider(reach.take(), Some(found));
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        let reach = std::mem::take(&mut self.reach);
        self.noted.parts[self.part].send_modify(|part| {
            if matches!(part, State::Running) {
                *part = State::Complete(reach);
            }
        });
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.noted.parts[self.part].send_modify(|part| {
            if matches!(part, State::Running) {
                *part = State::Unavailable;
            }
        });
    }
}

impl Debug for KeyBoundsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for KeyBoundsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "KeyBoundsExec: [{}]", keys.join(", "))
    }
}

impl ExecutionPlan for KeyBoundsExec {
    fn name(&self) -> &str {
        "KeyBoundsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for key in &self.keys {
            if f(key)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        Ok(Arc::new(Self {
            input: children.swap_remove(0),
            keys: self.keys.clone(),
            noted: self.noted.clone(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let noting = Noting {
            keys: self.keys.clone(),
            noted: self.noted.clone(),
            part: partition,
            reach: vec![None; self.keys.len()],
        };
        let rows = stream::once(async move {
            noting.begin();
            stream::try_unfold((rows, noting), async |(mut rows, mut noting)| {
                let Some(batch) = rows.try_next().await? else {
                    noting.end();
                    return Ok(None);
                };
                noting.take_in(&batch)?;
                Ok::<_, DataFusionError>(Some((batch, (rows, noting))))
            })
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            rows.flatten(),
        )))
    }
}
