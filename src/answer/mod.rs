//! Answers that are more than one table: made of the answers to several questions, as blocks of a page.
//!
//! # Adding an analysis
//! One file here that makes an [`Answer`]; one line in [`ANALYSES`]. `iolode query NAME` then writes its page, or its JSON.

pub mod amount;
#[allow(clippy::module_inception)]
pub mod answer;
pub mod diagnose;
mod rows;

use crate::engine::Engine;
use crate::engine::queries::{Param, ParamType};
use crate::error::{Error, Result};
use answer::Answer;
use futures::future::BoxFuture;

/// A question that is answered with [`Answer`]s.
pub struct Analysis {
    /// Its name.
    pub name: &'static str,
    /// What it answers, one line.
    pub doc: &'static str,
    /// Its parameters.
    pub params: fn() -> Vec<Param>,
    /// What it finds.
    ///
    /// # Errors
    /// Those of the lake; [`crate::Error::Unknown`] or [`crate::Error::Invalid`] for what the lake holds nothing of.
    pub answers: for<'a> fn(&'a Engine, &'a Values) -> BoxFuture<'a, Result<Vec<Answer>>>,
}

impl Analysis {
    /// Refuses values that are none of their types.
    ///
    /// # Errors
    /// [`Error::Invalid`]
    pub fn check(&self, values: &Values) -> Result<()> {
        let params = (self.params)();
        values.0.iter().try_for_each(|(name, value)| {
            let param = params.iter().find(|param| param.name == *name);
            param.map_or(Ok(()), |param| param.literal(value).map(drop))
        })
    }
}

/// The values of an analysis's parameters.
#[derive(Clone, Debug, Default)]
pub struct Values(pub Vec<(String, String)>);

impl Values {
    /// A whole number.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not given or is none.
    pub fn int(&self, name: &str) -> Result<i64> {
        let given = self.0.iter().find(|(known, _)| known == name);
        let (_, value) = given.ok_or_else(|| Error::Invalid(format!("--{name} is missing")))?;
        value
            .trim()
            .parse()
            .map_err(|_| Error::Invalid(format!("--{name} `{value}`: expected a whole number")))
    }
}

/// Every analysis, in the order in which they are shown.
pub const ANALYSES: &[Analysis] = &[Analysis {
    name: "diagnose",
    doc: "One job on one page: where its I/O time was spent, and likely causes of slow I/O",
    params: || vec![job()],
    answers: |engine, values| {
        Box::pin(async move { diagnose::answers(engine, values.int("job")?).await })
    },
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
