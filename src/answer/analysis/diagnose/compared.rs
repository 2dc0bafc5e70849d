//! The factors of a job beside those of the jobs of the month around it.

use super::job::{Compared, Job, Rank};
use super::others::period;
use crate::answer::answer::{Block, Cell, Column, Table};
use crate::answer::rows::rows;
use crate::engine::Engine;
use crate::error::Result;
use crate::text::amount::{count, rate, share, significant};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

/// Days before and after a job whose jobs it is compared with: a month.
const AROUND: i64 = 15;

/// Columns of `perf_factors` in which a job is compared with others.
const COMPARED: [&str; 6] = [
    "small",
    "non_consec",
    "coll",
    "ost_count",
    "proc_per_ost",
    "bw_critical",
];

/// The job's numbers in a direction beside those of the other jobs of the month; None where it moved nothing.
///
/// # Errors
/// Those of the lake.
pub(super) async fn gather(
    engine: &Engine,
    direction: &str,
    job: i64,
    start: DateTime<Utc>,
    of: impl Fn(i64) -> bool,
) -> Result<Option<Vec<Compared>>> {
    #[derive(Deserialize)]
    struct Known {
        log_id: i64,
    }
    let own = format!("perf_factors(direction => '{direction}', grain => 'job', job => {job})");
    let known: Vec<Known> = rows(engine, &format!("SELECT log_id FROM {own}")).await?;
    let Some(known) = known.iter().find(|known| of(known.log_id)) else {
        return Ok(None);
    };
    #[derive(Deserialize)]
    struct Factor {
        name: String,
        value: Option<f64>,
        app_others: i64,
        app_below: Option<f64>,
        others: i64,
        below: Option<f64>,
    }
    let numbers = |name: &str| {
        let below = format!(
            "CASE WHEN a.{name} < m.{name} THEN 1.0 WHEN a.{name} = m.{name} THEN 0.5 WHEN a.{name} > m.{name} THEN 0.0 END"
        );
        format!(
            "named_struct('name', '{name}', 'value', CAST(max(m.{name}) AS DOUBLE), 'app_others', count({below}) FILTER (WHERE a.app = m.app), \
             'app_below', avg({below}) FILTER (WHERE a.app = m.app), 'others', count({below}), 'below', avg({below}))"
        )
    };
    let numbers: Vec<String> = COMPARED.iter().map(|name| numbers(name)).collect();
    let days = TimeDelta::days(AROUND);
    let sql = format!(
        "WITH a AS (SELECT * FROM perf_factors(direction => '{direction}', grain => 'job', {})), \
         m AS (SELECT * FROM {own} WHERE log_id = {}), \
         c AS (SELECT unnest(make_array({})) AS row FROM m LEFT JOIN a ON a.job_id <> m.job_id OR a.log_id <> m.log_id) \
         SELECT row['name'] AS name, row['value'] AS value, row['app_others'] AS app_others, row['app_below'] AS app_below, row['others'] AS others, row['below'] AS below FROM c",
        period(start - days, start + days),
        known.log_id,
        numbers.join(", ")
    );
    let found: Vec<Factor> = rows(engine, &sql).await?;
    let compared = COMPARED.into_iter().filter_map(|name| {
        let row = found.iter().find(|row| row.name == name)?;
        Some(Compared {
            name,
            value: row.value,
            own_app: Rank {
                others: row.app_others,
                below: row.app_below,
            },
            month: Rank {
                others: row.others,
                below: row.below,
            },
        })
    });
    Ok(Some(compared.collect()))
}

/// Among fewer others a percentile says nothing.
const FEW: i64 = 10;

pub(super) fn block(job: &Job, direction: &'static str) -> Option<Block> {
    let compared = job.compared.get(direction)?;
    let others = |of: fn(&Compared) -> i64| compared.iter().map(of).max().unwrap_or(0);
    const BELOW: &str = "Part of them that has a smaller value; of equal ones half";
    let mut columns = vec![
        Column::new("factor", "", "", "The factor"),
        Column::new("value", "this job", "", "Its value"),
    ];
    let (own, month) = (others(|c| c.own_app.others), others(|c| c.month.others));
    if own >= FEW {
        let heading = format!("percentile of own program ({own})");
        columns.push(Column::new("own_program", heading, "", BELOW));
    }
    if month >= FEW {
        let heading = format!("percentile of month ({month})");
        columns.push(Column::new("month", heading, "", BELOW));
    }
    let mut table = Table::new(
        format!("Factors of the critical files by windows, {direction}"),
        columns,
    );
    for number in compared {
        let name = match number.name {
            "small" => "requests <= 1 KiB",
            "non_consec" => "non-consecutive requests",
            "coll" => "collective MPI-IO",
            "ost_count" => "OSTs",
            "proc_per_ost" => "processes per OST, at most",
            "bw_critical" => "bandwidth by windows",
            other => other,
        };
        let shown = |value: f64| match number.name {
            "small" | "non_consec" => share(value),
            "coll" if value > 0.0 => "yes".into(),
            "coll" => "no".into(),
            "bw_critical" => rate(value),
            "ost_count" => count(value.max(0.0) as u64),
            _ => significant(value),
        };
        let mut cells = vec![Cell::text(Some(name), ""), Cell::of(number.value, shown)];
        cells.extend((own >= FEW).then(|| percentile(&number.own_app)));
        cells.extend((month >= FEW).then(|| percentile(&number.month)));
        table.push(cells);
    }
    if own >= FEW || month >= FEW {
        table.notes.push(
            "P26: 26 % of the other jobs have a smaller value; in brackets: how many others there are"
                .into(),
        );
    }
    Some(Block::Table(table))
}

/// `P98`: larger than 98 % of the others.
fn percentile(rank: &Rank) -> Cell {
    Cell::of(rank.below, |below| format!("P{:.0}", 100.0 * below))
}
