//! Answers that are more than one table: pages made of the answers to several questions.
//!
//! # Adding an analysis
//! One file here; one line in [`ANALYSES`]. `iolode query NAME` then writes its page.

pub mod amount;
pub mod diagnose;
mod rows;

use crate::engine::Engine;
use crate::engine::queries::{Param, ParamType};
use crate::error::Result;
use futures::future::BoxFuture;

/// A question that is answered with a page of text.
pub struct Analysis {
    /// Its name.
    pub name: &'static str,
    /// What it answers, one line.
    pub doc: &'static str,
    /// Its parameter: a job.
    pub param: fn() -> Param,
    /// Its page.
    ///
    /// # Errors
    /// Those of the lake; [`crate::Error::Unknown`] or [`crate::Error::Invalid`] for a job of which the lake holds nothing.
    pub page: for<'a> fn(&'a Engine, i64) -> BoxFuture<'a, Result<String>>,
}

/// Every analysis, in the order in which they are shown.
pub const ANALYSES: &[Analysis] = &[Analysis {
    name: "diagnose",
    doc: "One job on one page: where its I/O time was spent, and likely causes of slow I/O",
    param: job,
    page: |engine, job| Box::pin(diagnose::page(engine, job)),
}];

fn job() -> Param {
    Param {
        name: "job".into(),
        kind: ParamType::Int,
        default: None,
        values: vec![],
        doc: "Job id".into(),
    }
}
