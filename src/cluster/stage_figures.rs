//! What the tasks of a stage have read and written: counted by executors, added up by the scheduler, shown by EXPLAIN ANALYZE.

use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::{NamedCount, OperatorMetric, OperatorMetricsSet};
use datafusion::physical_plan::metrics::MetricsSet;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a task has read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskFigures {
    /// Rows that its scans of data files gave.
    pub(crate) rows_scanned: u64,
    /// Bytes that they read.
    pub(crate) bytes_scanned: u64,
    /// Rows that it wrote for the next stage, or for the client.
    pub(crate) rows: u64,
    /// Bytes of these.
    pub(crate) bytes: u64,
}

/// What all tasks of a stage together have read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageFigures {
    /// Tasks that have ended.
    pub(crate) tasks: u64,
    pub(crate) rows_scanned: u64,
    pub(crate) bytes_scanned: u64,
    /// Bytes of these on OSTs of the executors that read them.
    pub(crate) bytes_of_owners: u64,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Time of all tasks together, in milliseconds.
    pub(crate) task_ms: u64,
    /// When the first task was handed out and the last had ended, milliseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

impl TaskFigures {
    /// What the scans of a plan that has run have read.
    pub(crate) fn of_scans(metrics: &[MetricsSet]) -> Self {
        let mut figures = Self::default();
        for of_node in metrics {
            // Only scans of data files count these.
            if let Some(bytes) = of_node.sum_by_name("bytes_scanned") {
                figures.bytes_scanned += bytes.as_usize() as u64;
                figures.rows_scanned += of_node.output_rows().unwrap_or(0) as u64;
            }
        }
        figures
    }

    /// As they are sent with a task's status.
    pub(crate) fn to_metrics(self) -> Vec<OperatorMetricsSet> {
        let values = [self.rows_scanned, self.bytes_scanned, self.rows, self.bytes];
        let metrics = NAMES.iter().zip(values).map(|(name, value)| {
            let name = name.to_string();
            OperatorMetric {
                partition: None,
                metric: Some(Metric::Count(NamedCount { name, value })),
            }
        });
        vec![OperatorMetricsSet {
            metrics: metrics.collect(),
        }]
    }

    /// As they came with a task's status.
    pub(crate) fn from_metrics(metrics: &[OperatorMetricsSet]) -> Self {
        let value = |name: &str| {
            let metrics = metrics.iter().flat_map(|of_node| &of_node.metrics);
            metrics
                .filter_map(|metric| match &metric.metric {
                    Some(Metric::Count(count)) if count.name == name => Some(count.value),
                    _ => None,
                })
                .sum()
        };
        let [rows_scanned, bytes_scanned, rows, bytes] = NAMES.map(value);
        Self {
            rows_scanned,
            bytes_scanned,
            rows,
            bytes,
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// The names of the figures as they are sent.
const NAMES: [&str; 4] = ["rows_scanned", "bytes_scanned", "rows", "bytes"];

impl StageFigures {
    /// Adds a task that took so many milliseconds and has ended now; whether it read OSTs of its executor alone.
    pub(crate) fn add(&mut self, task: TaskFigures, by_owner: bool, task_ms: u64, now: u64) {
        self.tasks += 1;
        self.rows_scanned += task.rows_scanned;
        self.bytes_scanned += task.bytes_scanned;
        self.bytes_of_owners += if by_owner { task.bytes_scanned } else { 0 };
        self.rows += task.rows;
        self.bytes += task.bytes;
        self.task_ms += task_ms;
        self.ended = self.ended.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_arrive_and_add_up() {
        let task = TaskFigures {
            rows_scanned: 5,
            bytes_scanned: 700,
            rows: 2,
            bytes: 30,
        };
        assert_eq!(TaskFigures::from_metrics(&task.to_metrics()), task);
        let mut stage = StageFigures {
            began: 1000,
            ..StageFigures::default()
        };
        stage.add(task, true, 40, 1050);
        stage.add(task, false, 60, 1040);
        let expected = StageFigures {
            tasks: 2,
            rows_scanned: 10,
            bytes_scanned: 1400,
            bytes_of_owners: 700,
            rows: 4,
            bytes: 60,
            task_ms: 100,
            began: 1000,
            ended: 1050,
        };
        assert_eq!(stage, expected);
    }
}
