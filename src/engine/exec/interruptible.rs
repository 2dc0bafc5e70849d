//! Plans that end soon after they are told to.
//!
//! A task of tokio can be given up only where it waits. DataFusion's operators wait for their inputs, and those give way to other tasks
//! now and then. A join that makes very many rows of few, or looks at very many pairs and keeps none, is in between for hours:
//! the threads of the session are then lost to it. So the rows of joins give way, too, and they and the condition of a join fail once their statement is to end.
//!
//! This is no optimizer rule: it is applied to a plan that is about to run, and changes no answer.

use super::stoppable::StoppableExec;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use std::fmt::{Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends the statements of a session.
#[derive(Debug, Default)]
pub(in crate::engine) struct Stop(Mutex<Arc<AtomicBool>>);

impl Stop {
    /// What is set when the statements that run now are to end.
    pub(in crate::engine) fn flag(&self) -> Arc<AtomicBool> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends the statements that run now; later ones do not notice.
    pub(in crate::engine) fn stop(&self) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *now).store(true, Ordering::Relaxed);
    }
}

/// The plan, whose joins end soon after the flag is set or their task is given up.
///
/// # Errors
/// Those of DataFusion.
pub(crate) fn interruptible(
    plan: Arc<dyn ExecutionPlan>,
    stop: &Arc<AtomicBool>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let filter = |filter: &JoinFilter| {
            let condition = Arc::new(Condition {
                inner: filter.expression().clone(),
                stop: stop.clone(),
            });
            let (columns, schema) = (filter.column_indices().to_vec(), filter.schema().clone());
            JoinFilter::new(condition, columns, schema)
        };
        let join: Arc<dyn ExecutionPlan> =
            if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
                let (left, right) = (join.left().clone(), join.right().clone());
                let builder = NestedLoopJoinExecBuilder::new(left, right, *join.join_type());
                let builder = builder.with_projection_ref(join.projection().clone());
                Arc::new(builder.with_filter(join.filter().map(filter)).build()?)
            } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
                match join.filter() {
                    Some(condition) => {
                        let builder = join.builder().with_filter(Some(filter(condition)));
                        builder.build_exec()?
                    }
                    None => plan,
                }
            } else if plan.is::<CrossJoinExec>() || plan.is::<SortMergeJoinExec>() {
                plan
            } else {
                return Ok(Transformed::no(plan));
            };
        Ok(Transformed::yes(StoppableExec::plan(join, stop)))
    })?;
    Ok(plan.data)
}

/// A condition that fails once its statement is to end.
#[derive(Debug)]
struct Condition {
    inner: Arc<dyn PhysicalExpr>,
    stop: Arc<AtomicBool>,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for Condition {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.stop.load(Ordering::Relaxed) {
            true => exec_err!("interrupted"),
            false => self.inner.evaluate(batch),
        }
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(inner), true) => Ok(Arc::new(Self {
                inner,
                stop: self.stop.clone(),
            })),
            _ => exec_err!("a condition has one part"),
        }
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::{Engine, EngineOptions, runtime};
    use std::time::{Duration, Instant};

    /// They would take hours: 10^12 pairs, none of which is in the answer, or all of which are counted.
    const ENDLESS: [&str; 4] = [
        "SELECT count(*) FROM generate_series(1, 1000000) AS a(x) JOIN generate_series(1, 1000000) AS b(y) ON x + y < 0",
        "SELECT count(x + y) FROM generate_series(1, 1000000) AS a(x) CROSS JOIN generate_series(1, 1000000) AS b(y)",
        "SELECT count(*) FROM generate_series(1, 1000000) AS a(x) JOIN generate_series(1, 1000000) AS b(y) ON x % 2 = y % 2 AND x + y < 0",
        "SELECT count(x + y) FROM generate_series(1, 1000000) AS a(x) JOIN generate_series(1, 1000000) AS b(y) ON x % 2 = y % 2",
    ];

    #[test]
    fn a_join_ends_soon_after_it_is_told_to_and_gives_its_memory_back() {
        let engine = Engine::new(EngineOptions {
            threads: Some(2),
            memory: Some(1 << 30),
            ..EngineOptions::default()
        })
        .unwrap();
        let pool = engine.context().runtime_env().memory_pool.clone();
        for sql in ENDLESS {
            let runtime = runtime(Some(2)).unwrap();
            let running = engine.clone();
            let task = runtime.spawn(async move { running.run(sql).await.map(|_| ()) });
            // Both sides are read, and the pairs are being made.
            let begin = Instant::now();
            while pool.reserved() == 0 && begin.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(100));
            assert!(!task.is_finished(), "{sql}");
            engine.interrupt();
            task.abort();
            let told = Instant::now();
            // Waits for the threads, which wait for what they are about.
            runtime.shutdown_timeout(Duration::from_secs(60));
            assert!(told.elapsed() < Duration::from_secs(20), "{sql}");
            assert_eq!(pool.reserved(), 0, "{sql}");
        }
        // What comes later is not told.
        let runtime = runtime(Some(2)).unwrap();
        let rows = runtime.block_on(async {
            let sql = "SELECT count(*) FROM generate_series(1, 3) AS a(x) JOIN generate_series(1, 3) AS b(y) ON x < y";
            let rows = engine.run(sql).await.unwrap().collect().await.unwrap();
            crate::engine::functions::tests::rows(&rows)
        });
        assert_eq!(rows, ["3"]);
    }
}
