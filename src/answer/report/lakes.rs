//! Rows that the questions of a report have, and those that two of them share.

use crate::engine::{Engine, Question};
use crate::error::{Error, Result};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::record_batch::RecordBatch;
use std::sync::{Arc, Mutex};

/// The rows of a question, with the units of their columns.
pub(super) struct Rows {
    pub(super) batch: RecordBatch,
    pub(super) units: Vec<Option<String>>,
    /// Why there are no rows, and the like.
    pub(super) notes: Vec<String>,
}

/// The lakes that are asked, and the rows that are known already: what the head of a page says is said of rows that a section shows as well.
pub(super) struct Lakes<'e> {
    pub(super) engine: &'e Engine,
    known: Mutex<Vec<(String, Arc<Rows>)>>,
}

impl<'e> Lakes<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        Self {
            engine,
            known: Mutex::default(),
        }
    }

    /// The rows of a question; of one that was asked by [`Lakes::remembered`] those that it had.
    ///
    /// # Errors
    /// Those of the question.
    pub(super) async fn rows(&self, question: Question) -> Result<Arc<Rows>> {
        let statement = question.statement.to_string();
        let known = self.known.lock().unwrap_or_else(|e| e.into_inner()).clone();
        match known.into_iter().find(|(known, _)| *known == statement) {
            Some((_, rows)) => Ok(rows),
            None => Ok(Arc::new(self.ask(question).await?)),
        }
    }

    /// The rows of a question that another will ask for again.
    ///
    /// # Errors
    /// Those of the question.
    pub(super) async fn remembered(&self, question: Question) -> Result<Arc<Rows>> {
        let statement = question.statement.to_string();
        let rows = self.rows(question).await?;
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        known.push((statement, rows.clone()));
        Ok(rows)
    }

    async fn ask(&self, question: Question) -> Result<Rows> {
        let mut answer = self.engine.run_question(question).await?;
        let (schema, units) = (answer.schema(), answer.units().to_vec());
        let (mut batches, mut notes) = (vec![], vec![]);
        loop {
            match answer.next().await {
                Ok(Some(batch)) => batches.push(batch),
                Ok(None) => break,
                // A name that is not in the lake is why there are no rows, and no fault of the report.
                Err(error @ Error::Unknown { .. }) => {
                    notes.push(error.to_string().replacen("unknown", "Unknown", 1) + ".");
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        notes.extend(answer.notes().iter().cloned());
        let batch = concat_batches(&schema, &batches).map_err(|e| Error::Invalid(e.to_string()))?;
        Ok(Rows {
            batch,
            units,
            notes,
        })
    }
}
