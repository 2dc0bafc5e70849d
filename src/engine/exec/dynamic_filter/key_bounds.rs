//! The bounds of the keys of a build side, gathered as its rows come.
//!
//! A scan of the probe side needs the bounds of all partitions that its rows may meet, and asks for them when the join has the whole of
//! one of them; of the others nobody may have asked yet. A scan never waits for another task: rows that are missing it reads itself, up to
//! 32 MiB of a partition ([`AHEAD`]), and they are kept until the join asks for them. So the bounds of small build sides are known however the
//! partitions are scheduled.
//!
//! | state of a partition | a scan that needs its bounds |
//! |---|---|
//! | `NotStarted`: nobody has asked for its rows | starts it, as the join would |
//! | `Running`: it is read, by the join or ahead of it | reads on until all rows have come; one task reads at a time, which one does not matter |
//! | `Complete`: all rows were read | has its bounds |
//! | `Unavailable`: it failed, the join wants no more of it, it came twice, or what was read ahead is too large | reads everything |

use crate::engine::node_rewrite::Node;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_functions_aggregate_common::min_max::{max_batch, min_batch};
use futures::future::{BoxFuture, FutureExt, Shared};
use futures::{StreamExt, stream};
use std::collections::VecDeque;
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// Bytes of a partition that are read ahead of the join at most. The bounds of larger build sides rule little out, and a join that takes one
/// partition after another would not hold all of them.
const AHEAD: usize = 32 << 20;

/// The least and the greatest of a key. None if there is none that is not NULL.
pub(super) type MinMax = Option<(ScalarValue, ScalarValue)>;

type Keys = Arc<[Arc<dyn PhysicalExpr>]>;

/// Reads the next rows of a partition into its queue, once for all who wait for them; whoever waits reads.
type Next = Shared<BoxFuture<'static, ()>>;

/// What is known of the keys of one partition of the build side.
#[derive(Clone)]
enum State {
    NotStarted,
    Running,
    Complete(Vec<MinMax>),
    Unavailable,
}

/// One partition of the build side.
struct Part {
    state: State,
    /// Whether the join has asked for its rows.
    asked: bool,
    /// Whether the join wants no more of them.
    closed: bool,
    /// The bounds of the rows that have come.
    bounds: Vec<MinMax>,
    /// Rows that the join has not taken yet, and the bytes that are reserved for them.
    rows: VecDeque<(Result<RecordBatch>, usize)>,
    /// Memory for rows that the join has not taken yet; None before the partition is started.
    memory: Option<MemoryReservation>,
    /// Reads more rows; None before it is started and after its last row.
    next: Option<Next>,
}

/// What the two nodes share.
pub(super) struct KeyBounds {
    keys: Keys,
    parts: Vec<Arc<Mutex<Part>>>,
    /// What gives the rows, once the first of its partitions was asked for.
    build: OnceLock<(Node, Arc<TaskContext>)>,
}

impl KeyBounds {
    /// The bounds of these keys, in so many partitions.
    pub(super) fn of(keys: Vec<Arc<dyn PhysicalExpr>>, parts: usize) -> Self {
        let part = || Part {
            state: State::NotStarted,
            asked: false,
            closed: false,
            bounds: vec![None; keys.len()],
            rows: VecDeque::new(),
            memory: None,
            next: None,
        };
        Self {
            parts: (0..parts).map(|_| Arc::new(Mutex::new(part()))).collect(),
            keys: keys.into(),
            build: OnceLock::new(),
        }
    }

    /// All partitions.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.parts.len()
    }

    /// The bounds of these partitions together. None if those of one of them cannot be known.
    pub(super) async fn bounds(&self, parts: Range<usize>) -> Option<Vec<MinMax>> {
        let mut all: Option<Vec<MinMax>> = None;
        for part in parts {
            let bounds = self.bounds_of(part).await?;
            all = Some(match all {
                None => bounds,
                Some(all) => all
                    .into_iter()
                    .zip(bounds)
                    .map(|(a, b)| wider(a, b))
                    .collect(),
            });
        }
        all
    }

    async fn bounds_of(&self, partition: usize) -> Option<Vec<MinMax>> {
        loop {
            let next = {
                let mut part = lock(self.parts.get(partition)?);
                match &part.state {
                    State::Complete(bounds) => return Some(bounds.clone()),
                    State::Unavailable => return None,
                    State::Running => {}
                    State::NotStarted => {
                        let (build, context) = self.build.get()?;
                        // The join is told why when it asks.
                        let rows = build.execute(partition, context.clone()).ok()?;
                        self.start(partition, &mut part, rows, context);
                    }
                }
                part.next.clone()?
            };
            next.await;
        }
    }

    fn start(
        &self,
        partition: usize,
        part: &mut Part,
        rows: SendableRecordBatchStream,
        context: &TaskContext,
    ) {
        part.state = State::Running;
        let memory = MemoryConsumer::new(format!("KeyBoundsExec[{partition}]"));
        part.memory = Some(memory.register(context.memory_pool()));
        part.next = self.parts.get(partition).map(|of| {
            let of = Arc::downgrade(of);
            next(of, self.keys.clone(), rows)
        });
    }

    /// The rows of a partition for the join. None if it has had them: then they come a second time, and may be others.
    fn ask(
        &self,
        partition: usize,
        build: &Node,
        context: Arc<TaskContext>,
    ) -> Result<Option<Asked>> {
        let _ = self.build.set((build.clone(), context.clone()));
        let Some(shared) = self.parts.get(partition) else {
            return Ok(None);
        };
        let mut part = lock(shared);
        if part.asked {
            part.state = State::Unavailable;
            return Ok(None);
        }
        if matches!(part.state, State::NotStarted) {
            let rows = build.execute(partition, context.clone())?;
            self.start(partition, &mut part, rows, &context);
        }
        part.asked = true;
        Ok(Some(Asked(shared.clone())))
    }
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(|e| e.into_inner())
}

/// Reads the next rows of a partition.
fn next(part: Weak<Mutex<Part>>, keys: Keys, mut rows: SendableRecordBatchStream) -> Next {
    let read = async move {
        let item = rows.next().await;
        let found = match &item {
            Some(Ok(batch)) => bounds_in(&keys, batch),
            _ => Ok(vec![]),
        };
        let Some(shared) = part.upgrade() else {
            return;
        };
        let mut shared = lock(&shared);
        shared.next = None;
        match (item, found) {
            _ if shared.closed => {}
            (None, _) => shared.complete(),
            (Some(Ok(batch)), Ok(found)) => {
                shared.add(batch, found);
                shared.next = Some(next(part, keys, rows));
            }
            (Some(Err(e)), _) | (_, Err(e)) => {
                shared.state = State::Unavailable;
                shared.rows.push_back((Err(e), 0));
            }
        }
    };
    read.boxed().shared()
}

/// The least and the greatest of each key in some rows.
fn bounds_in(keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<MinMax>> {
    let of = |key: &Arc<dyn PhysicalExpr>| {
        let values = key.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(match values.null_count() < values.len() {
            true => Some((min_batch(&values)?, max_batch(&values)?)),
            false => None,
        })
    };
    keys.iter().map(of).collect()
}

impl Part {
    /// Rows have come.
    fn add(&mut self, batch: RecordBatch, found: Vec<MinMax>) {
        let bounds = std::mem::take(&mut self.bounds);
        self.bounds = bounds
            .into_iter()
            .zip(found)
            .map(|(a, b)| wider(a, b))
            .collect();
        let mut reserved = 0;
        if let Some(memory) = &mut self.memory {
            let bytes = batch.get_array_memory_size();
            let fits = memory.size() + bytes <= AHEAD && memory.try_grow(bytes).is_ok();
            match fits {
                true => reserved = bytes,
                false => self.state = State::Unavailable,
            }
        }
        self.rows.push_back((Ok(batch), reserved));
    }

    /// All rows have come.
    fn complete(&mut self) {
        if matches!(self.state, State::Running) {
            self.state = State::Complete(std::mem::take(&mut self.bounds));
        }
    }

    /// The rows that the join takes next.
    fn take(&mut self) -> Option<Result<RecordBatch>> {
        let (rows, reserved) = self.rows.pop_front()?;
        if let Some(memory) = &mut self.memory {
            memory.shrink(reserved);
        }
        Some(rows)
    }
}

/// A partition whose rows the join takes. Dropped before the last of them, it is read no further.
struct Asked(Arc<Mutex<Part>>);

impl Asked {
    /// The next rows; None after the last.
    async fn rows(&self) -> Option<Result<RecordBatch>> {
        loop {
            let next = {
                let mut part = lock(&self.0);
                if let Some(rows) = part.take() {
                    return Some(rows);
                }
                part.next.clone()?
            };
            next.await;
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut part = lock(&self.0);
        part.closed = true;
        if matches!(part.state, State::Running) {
            part.state = State::Unavailable;
        }
        part.memory = None;
        let rest = (std::mem::take(&mut part.rows), part.next.take());
        // Others may wait for the lock, and there may be much to drop.
        drop(part);
        drop(rest);
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
    key_bounds: Arc<KeyBounds>,
}

impl KeyBoundsExec {
    pub(super) fn new(input: Node, key_bounds: Arc<KeyBounds>) -> Self {
        Self { input, key_bounds }
    }
}

impl Debug for KeyBoundsExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for KeyBoundsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<String> = self
            .key_bounds
            .keys
            .iter()
            .map(ToString::to_string)
            .collect();
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
        for key in self.key_bounds.keys.iter() {
            if f(key)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        Ok(Arc::new(Self {
            input: children.swap_remove(0),
            key_bounds: self.key_bounds.clone(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(asked) = self
            .key_bounds
            .ask(partition, &self.input, context.clone())?
        else {
            return self.input.execute(partition, context);
        };
        let rows = stream::unfold(asked, async |asked| Some((asked.rows().await?, asked)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
