//! The columns of an answer before it is asked for.

use super::{Engine, Question};
use crate::error::{Error, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

impl Engine {
    /// The columns of the answer to a question. Nothing is run.
    ///
    /// # Errors
    /// As [`Engine::sql`]; [`Error::Invalid`] for a statement that is no query.
    pub async fn columns(&self, question: Question) -> Result<Vec<String>> {
        let is_query = match &question.statement {
            Statement::Statement(statement) => matches!(statement.as_ref(), Sql::Query(_)),
            _ => false,
        };
        if !is_query {
            return Err(Error::Invalid("the statement is no query".into()));
        }
        let frame = self.plan(question.statement).await?;
        let fields = frame.schema().fields().iter();
        Ok(fields.map(|field| field.name().clone()).collect())
    }
}
