//! DataFusion's errors as one line, of errors that are still needed, and without what a session knows.

use super::error::{ErrorContext, arrow, line, message, plainer};
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;

/// The line of an error.
pub(crate) fn text_of(error: &DataFusionError) -> String {
    message(error, &ErrorContext::default())
}

/// The line of an error of Arrow.
pub(crate) fn text_of_arrow(error: &ArrowError) -> String {
    line(&plainer(arrow(error)))
}
