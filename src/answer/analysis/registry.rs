//! The list of analyses, their parameters and the values that these are given.

use super::diagnose;
use crate::answer::answer::Answer;
use crate::engine::Engine;
use crate::engine::queries::{Param, ParamType};
use crate::error::{Error, Result};
use futures::future::BoxFuture;

/// A question that is answered with [`Answer`]s.
pub struct Analysis {
    /// Its name.
    pub name: &'static str,
    /// What it answers, one line.
    pub doc: &'static str,
    /// Its parameters.
    pub params: fn() -> Vec<Param>,
    /// What it finds, given [`Analysis::values`].
    ///
    /// # Errors
    /// Those of the lake; [`crate::Error::Unknown`] or [`crate::Error::Invalid`] for what the lake holds nothing of.
    pub answers: for<'a> fn(&'a Engine, &'a Values) -> BoxFuture<'a, Result<Vec<Answer>>>,
}

/// Every analysis, in the order in which they are shown.
pub const ANALYSES: &[Analysis] = &[Analysis {
    name: "diagnose",
    doc: "One job on one page: where its I/O time was spent, and likely causes of slow I/O",
    params: || {
        vec![
            param(
                "job",
                ParamType::Int,
                Some("NULL"),
                "Job id (default: each job, where there are few)",
            ),
            param(
                "log",
                ParamType::Int,
                Some("NULL"),
                "One log of it, by its log_id",
            ),
            param(
                "long",
                ParamType::Bool,
                Some("false"),
                "Also the critical path by busy times, and the factors beside those of other jobs",
            ),
        ]
    },
    answers: |engine, values| {
        Box::pin(async move {
            let (job, log) = (values.int("job")?, values.int("log")?);
            diagnose::answers(engine, job, log, values.is("long")?).await
        })
    },
}];

/// The values of an analysis's parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<(String, String)>);

impl Analysis {
    /// The value of each parameter: what was given, as somebody types it, else its default. A parameter whose default is NULL has none.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Unknown`] if a value is missing, is none of its parameter's type, or has no parameter.
    pub fn values(&self, given: &[(String, String)]) -> Result<Values> {
        let params = (self.params)();
        for (name, value) in given {
            let param = params.iter().find(|param| param.is_called(name));
            let known = params.iter().map(|param| param.name.as_str());
            let param = param.ok_or_else(|| Error::unknown("parameter", name, known))?;
            param.literal(value)?;
        }
        let mut values = vec![];
        for param in params {
            let found = given.iter().find(|(name, _)| param.is_called(name));
            match (found, &param.default) {
                (Some((_, value)), _) => values.push((param.name, value.clone())),
                (None, Some(_)) => {
                    values.extend(param.typed_default().map(|value| (param.name, value)))
                }
                (None, None) => {
                    let (flag, doc) = (param.flag(), param.doc);
                    let why = format!("{} needs --{flag}: {doc}", self.name);
                    return Err(Error::Invalid(why));
                }
            }
        }
        Ok(Values(values))
    }
}

impl Values {
    /// A whole number; None if the parameter has no value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is none.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        let parse = |value: &str| {
            let value = value.trim().parse();
            value.map_err(|_| Error::Invalid(format!("--{name}: expected a whole number")))
        };
        self.value(name).map(parse).transpose()
    }

    /// Whether it is set; not if the parameter has no value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is neither true nor false.
    pub fn is(&self, name: &str) -> Result<bool> {
        match self.value(name).map(|value| value.trim().to_lowercase()) {
            None => Ok(false),
            Some(value) => value
                .parse()
                .map_err(|_| Error::Invalid(format!("--{name}: expected true or false"))),
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(known, _)| known == name);
        value.map(|(_, value)| value.as_str())
    }
}

fn param(name: &str, kind: ParamType, default: Option<&str>, doc: &str) -> Param {
    Param {
        name: name.into(),
        aliases: vec![],
        kind,
        default: default.map(String::from),
        values: vec![],
        range: None,
        doc: doc.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analysis_has_the_values_that_were_given_and_defaults() {
        let analysis = Analysis {
            params: || {
                vec![
                    param("job", ParamType::Int, None, "Job id"),
                    param("top", ParamType::Int, Some("5"), ""),
                    param("unit", ParamType::Text, Some("'log'"), ""),
                    param("name", ParamType::Text, Some("'the user''s'''"), ""),
                    param("fs", ParamType::Text, Some("NULL"), ""),
                    param("all", ParamType::Bool, Some("false"), ""),
                ]
            },
            ..ANALYSES[0]
        };
        let values = |given: &[(&str, &str)]| {
            let given = given
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            analysis.values(&given.collect::<Vec<_>>())
        };
        let expected = [
            ("job", "7"),
            ("top", "3"),
            ("unit", "log"),
            ("name", "the user's'"),
            ("all", "false"),
        ];
        let expected = expected.map(|(name, value)| (name.to_string(), value.to_string()));
        let found = values(&[("top", "3"), ("job", "7")]).unwrap();
        assert_eq!(found, Values(expected.to_vec()));
        assert_eq!(found.int("top").unwrap(), Some(3));
        assert_eq!(found.int("fs").unwrap(), None);
        assert!(!found.is("all").unwrap());
        assert!(
            values(&[("job", "7"), ("all", "true")])
                .unwrap()
                .is("all")
                .unwrap()
        );
        for (given, why) in [
            (&[][..], "diagnose needs --job: Job id"),
            (&[("job", "many")], "--job `many`: expected a whole number"),
            (&[("jobs", "7")], "unknown parameter `jobs`"),
        ] {
            let error = values(given).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
