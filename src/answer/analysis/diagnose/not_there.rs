//! Why a lake has nothing to say of a job.

use crate::answer::rows::rows;
use crate::engine::Engine;
use crate::error::{Error, Result};
use serde::Deserialize;

/// Why there is no log at all.
///
/// # Errors
/// Those of the lake.
pub(super) async fn no_log(engine: &Engine) -> Result<Error> {
    #[derive(Deserialize)]
    struct Input {
        path: String,
        status: String,
        error: Option<String>,
    }
    let sql = "SELECT path, status, error FROM lake_input WHERE source = 'darshan' OR source IS NULL ORDER BY path LIMIT 1";
    let inputs: Vec<Input> = rows(engine, sql).await?;
    Ok(Error::Invalid(match inputs.into_iter().next() {
        Some(input) => format!(
            "there is no Darshan log; {} is {}{}",
            input.path,
            input.status,
            input.error.map_or(String::new(), |why| format!(": {why}"))
        ),
        None => {
            "there is no Darshan log in what was given, or none in the period of --from and --to"
                .into()
        }
    }))
}

/// Why there is nothing to say of a job, and the nearest jobs.
///
/// # Errors
/// Those of the lake.
pub(super) async fn no_job(engine: &Engine, job: i64) -> Result<Error> {
    #[derive(Deserialize)]
    struct Known {
        job_id_text: Option<String>,
        job_id: i64,
        state: Option<String>,
    }
    let sql = format!(
        "SELECT job_id_text, job_id, state FROM slurm_job WHERE job_id = {job} OR job_id_text = '{job}' ORDER BY submit_time DESC LIMIT 1"
    );
    let known: Vec<Known> = rows(engine, &sql).await?;
    if let Some(known) = known.first() {
        return Ok(Error::Invalid(format!(
            "job {job}: there is no Darshan log of it; Slurm knows it as {} (raw id {}), {}",
            known.job_id_text.as_deref().unwrap_or("a job"),
            known.job_id,
            known.state.as_deref().unwrap_or("in an unknown state")
        )));
    }
    #[derive(Deserialize)]
    struct Near {
        below: Option<i64>,
        above: Option<i64>,
    }
    let sql = format!(
        "SELECT max(job_id) FILTER (WHERE job_id < {job}) AS below, min(job_id) FILTER (WHERE job_id > {job}) AS above FROM darshan_log"
    );
    let near: Vec<Near> = rows(engine, &sql).await?;
    let near = near.into_iter().flat_map(|near| [near.below, near.above]);
    let near: Vec<String> = near.flatten().map(|id| id.to_string()).collect();
    let near = match near.as_slice() {
        [] => String::new(),
        [near] => format!("; the nearest job with a log is {near}"),
        near => format!("; the nearest jobs with a log are {}", near.join(" and ")),
    };
    Ok(Error::Invalid(format!(
        "job {job}: there is no Darshan log of it, and no Slurm record either{near}"
    )))
}
