//! A function that a user made, as a lake keeps it.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A function of the values of one row, written in SQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFunction {
    /// Its name; in lower case unless it was made with quotes.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<UserParameter>,
    /// The SQL type of its result.
    pub returns: String,
    /// The SQL expression that gives its result; the only names in it are those of the parameters and of functions.
    pub body: String,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserParameter {
    /// Its name; in lower case unless it was made with quotes.
    pub name: String,
    /// Its SQL type.
    #[serde(rename = "type")]
    pub type_name: String,
}

impl UserFunction {
    /// How it is called, and what it gives: `f(x BIGINT) RETURNS BIGINT`.
    pub fn signature(&self) -> String {
        let parameter = |p: &UserParameter| format!("{} {}", Name(&p.name), p.type_name);
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        format!(
            "{}({}) RETURNS {}",
            Name(&self.name),
            parameters.join(", "),
            self.returns
        )
    }
}

/// A name as SQL reads it back: in quotes unless it is plain.
pub(in crate::lake) struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let plain = self
            .0
            .starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && self
                .0
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
        match plain {
            true => f.write_str(self.0),
            false => write!(f, "\"{}\"", self.0.replace('"', "\"\"")),
        }
    }
}
