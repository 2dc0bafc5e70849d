//! Jobs that can be told by what everybody can see of them: program, nodes, processes and day.

use super::choose::Chosen;
use crate::engine::Engine;
use crate::error::Result;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use std::collections::{HashMap, HashSet};

/// Program, nodes, processes and day of a log.
type Look = (Option<String>, Option<i64>, Option<i64>, Option<i64>);

/// The looks of each job's logs.
#[derive(Default)]
pub(super) struct Looks {
    /// A number for each.
    numbers: HashMap<Look, usize>,
    /// Jobs, each with the number of a look of one of its logs.
    of_jobs: Vec<(i64, usize)>,
}

impl Looks {
    /// Those of the chosen logs.
    ///
    /// # Errors
    /// Those of the lake.
    pub(super) async fn ask(engine: &Engine, chosen: &Chosen) -> Result<Self> {
        let sql = "SELECT job_id, log_id, CAST(app AS VARCHAR) AS app, node_count, nprocs, \
            CAST(date_trunc('day', start_time) AS BIGINT) AS day FROM job";
        let mut rows = engine.run(sql).await?;
        let mut looks = Self::default();
        while let Some(batch) = rows.next().await? {
            let int = |at: usize, row: usize| {
                let column = batch.column(at).as_primitive::<Int64Type>();
                column.is_valid(row).then(|| column.value(row))
            };
            let apps = cast(batch.column(2), &DataType::Utf8)
                .map_err(|e| crate::error::Error::columns("job.app", e))?;
            let apps = apps.as_string::<i32>();
            for row in 0..batch.num_rows() {
                let (Some(job), Some(log)) = (int(0, row), int(1, row)) else {
                    continue;
                };
                if chosen.logs.contains_key(&log) {
                    let app = apps.is_valid(row).then(|| apps.value(row).to_string());
                    let look = (app, int(3, row), int(4, row), int(5, row));
                    looks.push(job, look);
                }
            }
        }
        Ok(looks.sorted())
    }

    fn push(&mut self, job: i64, look: Look) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(look).or_insert(next);
        self.of_jobs.push((job, number));
    }

    /// By job, each of its looks once.
    fn sorted(mut self) -> Self {
        self.of_jobs.sort_unstable();
        self.of_jobs.dedup();
        self
    }

    /// The jobs of which a log looks like those of fewer than `k` jobs, itself among them. Those that look like a job which goes for that reason go
    /// with it, if they are too few then.
    pub(super) fn fewer_than(&self, k: u64) -> HashSet<i64> {
        let mut small: HashSet<i64> = HashSet::new();
        loop {
            let more = self.rare(k, &small);
            if more.is_empty() {
                return small;
            }
            small.extend(more);
        }
    }

    /// How many jobs without those of `left_out` have a log that looks like no other job's.
    pub(super) fn alone(&self, left_out: &HashSet<i64>) -> u64 {
        self.rare(2, left_out).len() as u64
    }

    /// The jobs without those of `left_out` that look like fewer than `k` of these.
    fn rare(&self, k: u64, left_out: &HashSet<i64>) -> Vec<i64> {
        let left = || {
            let left = |(job, _): &&(i64, usize)| !left_out.contains(job);
            self.of_jobs.iter().filter(left)
        };
        let mut jobs = vec![0u64; self.numbers.len()];
        left().for_each(|(_, look)| jobs[*look] += 1);
        let rare = left().filter(|(_, look)| jobs[*look] < k);
        let mut rare: Vec<i64> = rare.map(|(job, _)| *job).collect();
        rare.dedup();
        rare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_if_one_of_its_logs_looks_like_too_few_and_takes_others_with_it() {
        let look = |app: &str| (Some(app.to_string()), Some(1), Some(8), Some(0));
        let jobs = [
            (1, "a"),
            (2, "a"),
            (3, "a"),
            (1, "a"),
            (3, "b"),
            (4, "c"),
            (5, "c"),
            (6, "c"),
        ];
        let mut looks = Looks::default();
        for (job, app) in jobs {
            looks.push(job, look(app));
        }
        let looks = looks.sorted();
        let of = |k| {
            let mut small: Vec<i64> = looks.fewer_than(k).into_iter().collect();
            small.sort_unstable();
            small
        };
        assert_eq!(of(1), [] as [i64; 0]);
        // Job 3 has a log that no other looks like.
        assert_eq!(of(2), [3]);
        // Without it there are two of `a`.
        assert_eq!(of(3), [1, 2, 3]);
        assert_eq!(of(4), [1, 2, 3, 4, 5, 6]);
    }
}
