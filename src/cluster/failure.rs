//! A query's error on its way from an executor to the client: what it is, not how Ballista prints it.

use crate::engine::parts::{ON_EXECUTOR, external, is_exhausted, text_of, text_of_arrow};
use crate::error::Error;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::FailedTask;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Stands before an error in the text that a job failed with.
const MARK: &str = "iolode-failure:";

/// An error of a query.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Failure {
    /// The memory of an executor did not suffice.
    Exhausted(String),
    /// Anything else, in one line.
    Query(String),
}

/// The failure of a task of the executor at this address whose files lie in `work_dir`, for the scheduler. Whether it is tried again is Ballista's to say: it is when files of another executor are gone.
pub(crate) fn of_task(error: DataFusionError, address: &str, work_dir: &Path) -> FailedTask {
    let cause = beneath(&error);
    // Files of this form are those of a shuffle, and come from an executor that may have died meanwhile.
    let of_shuffle = match &cause {
        Cause::Arrow(arrow) => matches!(arrow, ArrowError::IpcError(_)),
        Cause::DataFusion(error) => {
            matches!(error.find_root(), DataFusionError::ArrowError(arrow, _) if matches!(**arrow, ArrowError::IpcError(_)))
        }
    };
    let of_files = |text: String| {
        let text = match text.to_lowercase().contains("no space left on device") {
            true => format!(
                "{}: no space left on device; make room there, or start it with another --work-dir",
                work_dir.display()
            ),
            false => text,
        };
        Failure::Query(format!("executor at {address}: {text}"))
    };
    let failure = match cause {
        Cause::DataFusion(cause) if is_exhausted(cause) => Failure::Exhausted(format!(
            "{}{ON_EXECUTOR}{address}",
            cause.find_root().strip_backtrace()
        )),
        Cause::DataFusion(cause) if is_of_files(cause) => of_files(text_of(cause)),
        Cause::DataFusion(cause) => Failure::Query(text_of(cause)),
        Cause::Arrow(cause @ ArrowError::IoError(..)) => of_files(text_of_arrow(cause)),
        Cause::Arrow(cause) => Failure::Query(text_of_arrow(cause)),
    };
    let mut task = FailedTask::from(BallistaError::from(error));
    if !of_shuffle
        && matches!(
            task.failed_reason,
            Some(FailedReason::ExecutionError(_) | FailedReason::IoError(_))
        )
        && let Ok(failure) = serde_json::to_string(&failure)
    {
        task.error = format!("{MARK}{failure}");
    }
    task
}

/// Whether an error is about files of the executor: those of its lakes, or of its work directory.
fn is_of_files(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::IoError(_)
        | DataFusionError::ObjectStore(_)
        | DataFusionError::ParquetError(_) => true,
        DataFusionError::ArrowError(error, _) => matches!(
            **error,
            ArrowError::IoError(..) | ArrowError::ParquetError(_) | ArrowError::ExternalError(_)
        ),
        _ => false,
    }
}

/// What Ballista has wrapped in an error of its own.
enum Cause<'a> {
    DataFusion(&'a DataFusionError),
    Arrow(&'a ArrowError),
}

fn beneath(error: &DataFusionError) -> Cause<'_> {
    let DataFusionError::External(inner) = error.find_root() else {
        return Cause::DataFusion(error);
    };
    match inner.downcast_ref::<BallistaError>() {
        Some(BallistaError::DataFusionError(inner)) => beneath(inner),
        Some(BallistaError::ArrowError(inner)) => Cause::Arrow(inner),
        _ => Cause::DataFusion(error),
    }
}

/// The error that a job failed with.
///
/// # Errors
/// Why the cluster did not finish it, where the statement is not at fault.
pub(crate) fn of_job(text: &str) -> Result<DataFusionError, String> {
    // Of a task that was tried several times Ballista prints the error as a literal, which JSON reads as well.
    let literal = text.find(&format!("\"{MARK}"));
    let literal = literal.and_then(|at| first_json::<String>(&text[at..]));
    let task = literal.as_deref().unwrap_or(text);
    let failure = task.split_once(MARK).and_then(|(_, rest)| first_json(rest));
    match failure {
        Some(Failure::Exhausted(text)) => Ok(DataFusionError::ResourcesExhausted(text)),
        Some(Failure::Query(text)) => Ok(external(Error::Invalid(text))),
        None => Err(text.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

/// The value that a text begins with.
fn first_json<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::exec_datafusion_err;

    const WORK: &str = "/local";

    #[test]
    fn an_error_arrives_as_what_it_was() {
        let job = |task: FailedTask| format!("Job failed due to stage 2 failed: {}\n", task.error);
        let sent = of_task(
            exec_datafusion_err!("division by \"zero\""),
            "n1:7",
            WORK.as_ref(),
        );
        let arrived = of_job(&job(sent)).unwrap();
        assert_eq!(text_of(&arrived), "division by \"zero\"");
        let sent = of_task(
            DataFusionError::ResourcesExhausted("3 of 2 MB".into()),
            "n1:7",
            WORK.as_ref(),
        );
        assert!(!sent.retryable);
        let arrived = of_job(&job(sent)).unwrap();
        assert!(is_exhausted(&arrived));
        let sent = of_task(
            exec_datafusion_err!("no file \"a\\b\""),
            "n1:7",
            WORK.as_ref(),
        );
        let often = format!(
            "Job failed due to stage 1 failed: Tasks [0, 1] in Stage 1 failed 4 times, fail the stage, most recent failure reason: {:?}",
            sent.error
        );
        assert_eq!(text_of(&of_job(&often).unwrap()), "no file \"a\\b\"");
        let other = of_job("Job failed\ndue to a reason").unwrap_err();
        assert_eq!(other, "Job failed due to a reason");
    }

    #[test]
    fn an_error_about_files_says_on_which_executor() {
        // That of a full disk.
        let full = std::io::Error::from_raw_os_error(28);
        let sent = of_task(DataFusionError::IoError(full), "n1:7", WORK.as_ref());
        let arrived = text_of(&of_job(&sent.error).unwrap());
        assert_eq!(
            arrived,
            "executor at n1:7: /local: no space left on device; make room there, or start it with another --work-dir"
        );
    }

    #[test]
    fn files_of_an_executor_that_is_gone_are_not_an_error_of_the_query() {
        let gone = BallistaError::FetchFailed("e1".into(), 1, 3, "connection refused".into());
        let task = of_task(
            DataFusionError::External(Box::new(gone)),
            "n1:7",
            WORK.as_ref(),
        );
        assert!(matches!(
            task.failed_reason,
            Some(FailedReason::FetchPartitionError(_))
        ));
        // A connection that ends in the middle of a file.
        let broken = || ArrowError::IpcError("error reading a body from connection".into());
        for error in [
            DataFusionError::ArrowError(Box::new(broken()), None),
            DataFusionError::External(Box::new(BallistaError::ArrowError(Box::new(broken())))),
        ] {
            assert!(of_job(&of_task(error, "n1:7", WORK.as_ref()).error).is_err());
        }
    }
}
