//! Real dumps against the accounting tables that they were made from.

use super::*;
use crate::source::Status;
use crate::source::tests::shared;
use crate::table::table;
use arrow::array::AsArray;
use arrow::compute::{SortColumn, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use std::collections::{BTreeMap, BTreeSet};

/// What a lake would hold of some inputs: jobs, steps, and what became of each input.
struct Read {
    jobs: RecordBatch,
    steps: RecordBatch,
    outcomes: Vec<Outcome>,
}

fn read_with(site: Site, inputs: &[Input]) -> Result<Read> {
    let mut tables = BatchSink::new(Slurm.tables().iter().copied())?;
    let mut reader = Slurm.reader(Arc::new(site));
    let mut outcomes = vec![];
    for input in inputs {
        let mut head = vec![];
        input.read_at(0, input.len().min(4096) as usize, &mut head)?;
        assert!(
            Slurm.probe(input.path(), &head),
            "{}",
            input.path().display()
        );
        assert_eq!(Slurm.peek(input)?, Peek::Dump);
        outcomes.push(reader.read(input, 0, None, &mut tables)?);
    }
    let mut kept = vec![];
    for (name, builder) in Slurm.tables().iter().zip(tables.builders()) {
        let rows = builder.finish()?;
        let table = table(name)?;
        let sort: Vec<SortColumn> = table
            .sort
            .iter()
            .map(|name| SortColumn {
                values: rows.column_by_name(name).unwrap().clone(),
                options: Some(arrow::compute::SortOptions {
                    descending: false,
                    nulls_first: false,
                }),
            })
            .collect();
        let order = lexsort_to_indices(&sort, None).unwrap();
        let rows = take_record_batch(&rows, &order).unwrap();
        kept.push(Slurm.row_merger(name).unwrap().resolve(&rows)?);
    }
    let steps = kept.pop().unwrap();
    Ok(Read {
        jobs: kept.pop().unwrap(),
        steps,
        outcomes,
    })
}

/// State of each job of a dump, for the mutation tests.
pub(super) fn jobs_by_id(bytes: Vec<u8>) -> Result<BTreeMap<i64, Option<String>>> {
    let mut tables = BatchSink::new(Slurm.tables().iter().copied())?;
    Slurm
        .reader(Arc::default())
        .read(&Input::from_bytes("dump", bytes), 0, None, &mut tables)?;
    let rows = tables.builders()[0].finish()?;
    Ok(ints(&rows, "job_id")
        .into_iter()
        .flatten()
        .zip(texts(&rows, "state"))
        .collect())
}

fn read(texts: &[&str]) -> Read {
    let inputs: Vec<Input> = texts
        .iter()
        .map(|text| Input::from_bytes("dump.psv", text.as_bytes().to_vec()))
        .collect();
    read_with(Site::default(), &inputs).unwrap()
}

fn ints(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>()
        .iter()
        .collect()
}

fn seconds(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let times = rows
        .column_by_name(name)
        .unwrap()
        .as_primitive::<TimestampMicrosecondType>();
    times
        .iter()
        .map(|time| time.map(|t| t / 1_000_000))
        .collect()
}

fn floats(rows: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    rows.column_by_name(name)
        .unwrap()
        .as_primitive::<Float64Type>()
        .iter()
        .collect()
}

fn texts(rows: &RecordBatch, name: &str) -> Vec<Option<String>> {
    rows.column_by_name(name)
        .unwrap()
        .as_string::<i32>()
        .iter()
        .map(|t| t.map(str::to_string))
        .collect()
}

/// A table of the accounting database: rows by column name.
fn truth(name: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let text = std::fs::read_to_string(shared(name)?).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        names
            .iter()
            .zip(line.split('\t'))
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect()
    };
    Some(lines.map(row).collect())
}

/// What is compared of a job: everything that the database and a form both have.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Job {
    id: i64,
    shown: Option<String>,
    state: Option<i64>,
    by: Option<i64>,
    exit: Option<(i64, i64)>,
    submit: Option<i64>,
    eligible: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
    suspended: Option<i64>,
    limit: Option<i64>,
    nodes: Option<String>,
    node_count: Option<i64>,
    task: Option<i64>,
    het: Option<i64>,
    last: bool,
}

fn jobs_of_truth(folder: &str) -> Option<Vec<Job>> {
    let rows = truth(&format!("{folder}/truth_db_job_table.tsv"))?;
    let int = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<i64>().ok();
    let known = |v: Option<i64>| v.filter(|v| *v != 0);
    let mut jobs: Vec<Job> = rows
        .iter()
        // sacct leaves out what was never eligible, unless it is asked for by number.
        .filter(|row| int(row, "time_eligible") != Some(0))
        .map(|row| {
            let (id, array, het) = (
                int(row, "id_job").unwrap(),
                known(int(row, "id_array_job")),
                known(int(row, "het_job_id")),
            );
            let task = int(row, "id_array_task").filter(|task| *task != 0xffff_fffe);
            let offset = het.and(int(row, "het_job_offset"));
            let shown = match (array, task, het, offset) {
                (Some(array), Some(task), ..) => format!("{array}_{task}"),
                (_, _, Some(leader), Some(offset)) => format!("{leader}+{offset}"),
                _ => id.to_string(),
            };
            let status = int(row, "exit_code").unwrap();
            // What a shell makes of a signal, 128 more than its number, sacct prints without the 128.
            let code =
                Some(status >> 8 & 0xff).map(|code| if code > 128 { code - 128 } else { code });
            let start = known(int(row, "time_start"));
            Job {
                id,
                shown: Some(shown),
                state: int(row, "state"),
                by: int(row, "kill_requid"),
                exit: code.zip(Some(status & 0x7f)),
                submit: int(row, "time_submit"),
                eligible: known(int(row, "time_eligible")),
                start,
                end: known(int(row, "time_end")),
                suspended: int(row, "time_suspended"),
                limit: int(row, "timelimit").map(|minutes| minutes * 60),
                nodes: Some(row["nodelist"].clone()).filter(|list| list != "None assigned"),
                node_count: int(row, "nodes_alloc"),
                task,
                het,
                last: false,
            }
        })
        .collect();
    jobs.sort_by_key(|job| (job.id, job.submit));
    for at in 0..jobs.len() {
        jobs[at].last = jobs.get(at + 1).is_none_or(|next| next.id != jobs[at].id);
    }
    Some(jobs)
}

fn jobs_of(rows: &RecordBatch) -> Vec<Job> {
    let (ids, shown, states, by) = (
        ints(rows, "job_id"),
        texts(rows, "job_id_text"),
        ints(rows, "state_code"),
        ints(rows, "cancelled_by"),
    );
    let (codes, signals) = (ints(rows, "exit_code"), ints(rows, "exit_signal"));
    let times =
        ["submit_time", "eligible_time", "start_time", "end_time"].map(|name| seconds(rows, name));
    let (suspended, limit) = (floats(rows, "suspended"), floats(rows, "timelimit"));
    let (nodes, counts, tasks, hets) = (
        texts(rows, "node_list"),
        ints(rows, "node_count"),
        ints(rows, "array_task_id"),
        ints(rows, "het_job_id"),
    );
    let last = rows.column_by_name("last_record").unwrap().as_boolean();
    (0..rows.num_rows())
        .map(|row| Job {
            id: ids[row].unwrap(),
            shown: shown[row].clone(),
            state: states[row],
            by: by[row],
            exit: codes[row].zip(signals[row]),
            submit: times[0][row],
            eligible: times[1][row],
            start: times[2][row],
            end: times[3][row],
            suspended: suspended[row].map(|s| s as i64),
            limit: limit[row].map(|s| s as i64),
            nodes: nodes[row].clone(),
            node_count: counts[row],
            task: tasks[row],
            het: hets[row],
            last: last.value(row),
        })
        .collect()
}

fn file(name: &str) -> Option<Input> {
    Some(Input::open(shared(name)?).unwrap())
}

fn site(zone: &str) -> Site {
    Site {
        zone: zone.parse().unwrap(),
        ..Site::default()
    }
}

/// The same jobs with what a form does not have left out.
fn without(jobs: &[Job], hide: impl Fn(&mut Job)) -> Vec<Job> {
    let mut jobs = jobs.to_vec();
    jobs.iter_mut().for_each(hide);
    jobs.sort();
    jobs
}

#[test]
fn every_form_of_a_real_dump_gives_the_jobs_of_the_accounting_table() {
    let Some(all) = jobs_of_truth("slurm/run1") else {
        return;
    };
    assert_eq!(all.len(), 43);
    let last: Vec<Job> = all.iter().filter(|job| job.last).cloned().collect();
    assert_eq!(last.len(), 41);
    type Hide = fn(&mut Job);
    let everything: Hide = |_| {};
    // Names stand there for who cancelled, and 0 for every exit code.
    let no_name: Hide =
        |job| (job.by, job.exit) = (None, job.exit.filter(|_| job.state != Some(5)));
    // Array tasks and het components but the leader have no raw id there.
    fn plain(job: &mut Job) {
        let component = job.het.is_some_and(|leader| leader != job.id);
        job.id = if job.task.is_some() || component {
            -1
        } else {
            job.id
        };
    }
    let recommended: Hide = |job| job.suspended = None;
    let times: Hide = |job| {
        (
            job.exit,
            job.suspended,
            job.limit,
            job.nodes,
            job.node_count,
            job.eligible,
        ) = Default::default();
    };
    let eligible: Hide = |job| {
        (
            job.exit,
            job.suspended,
            job.limit,
            job.nodes,
            job.node_count,
        ) = Default::default()
    };
    let nodes: Hide = |job| {
        (job.exit, job.suspended, job.limit, job.submit, job.eligible) = Default::default();
        job.node_count = job.node_count.filter(|count| *count > 0);
    };
    let states: Hide = |job| {
        (
            job.exit,
            job.suspended,
            job.limit,
            job.nodes,
            job.node_count,
            job.eligible,
        ) = Default::default();
        (job.submit, job.start, job.end) = Default::default();
    };
    let relative: Hide = |job| {
        plain(job);
        (
            job.exit,
            job.suspended,
            job.limit,
            job.nodes,
            job.node_count,
            job.eligible,
            job.submit,
        ) = Default::default();
    };
    let iominer: Hide = |job| {
        plain(job);
        (job.submit, job.eligible, job.suspended, job.limit) = Default::default();
    };
    let default: Hide = |job| {
        plain(job);
        (
            job.submit,
            job.eligible,
            job.start,
            job.end,
            job.suspended,
            job.limit,
            job.nodes,
            job.node_count,
        ) = Default::default();
    };
    // It was made for jobs that started.
    let started: Vec<Job> = last.iter().filter(|job| job.id != 15).cloned().collect();
    let forms: [(&str, &[Job], Hide, &str); 16] = [
        ("sacct_P_ALL_D.psv", &all, everything, "UTC"),
        ("sacct_P_ALL.psv", &last, everything, "UTC"),
        ("sacct_X_P_ALL.psv", &last, everything, "UTC"),
        ("sacct.json", &all, no_name, "UTC"),
        ("sacct_P_recommended.psv", &last, recommended, "UTC"),
        ("sacct_n_P_noheader.psv", &last, recommended, "UTC"),
        (
            "sacct_P_TZ_LosAngeles.psv",
            &last,
            times,
            "America/Los_Angeles",
        ),
        ("sacct_P_tzoffset.psv", &last, times, "UTC"),
        ("sacct_P_epoch.psv", &last, eligible, "UTC"),
        ("sacct_P_relative.psv", &last, relative, "UTC"),
        ("sacct_P_noconvert.psv", &last, states, "UTC"),
        ("sacct_P_unitsM.psv", &last, states, "UTC"),
        ("sacct_P_delim_us.txt", &last, nodes, "UTC"),
        ("sacct_iominer_format.psv", &started, iominer, "UTC"),
        ("sacct_P_default.psv", &last, default, "UTC"),
        ("sacct_p_default_trailing.psv", &last, default, "UTC"),
    ];
    for (name, expected, hide, zone) in forms {
        let Some(input) = file(&format!("slurm/run1/{name}")) else {
            return;
        };
        let columns = "JobID,JobIDRaw,User,Account,Partition,QOS,State,ExitCode,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,Timelimit,NNodes,NCPUS,NTasks,NodeList,ReqMem,MaxRSS,JobName";
        let site = Site {
            hints: Hints {
                slurm_columns: columns.split(',').map(str::to_string).collect(),
                ..Hints::default()
            },
            ..site(zone)
        };
        // Relative times are those of the day on which they were printed.
        let input = input.with_modified(1_795_226_793_000_000);
        let read = read_with(site, &[input]).unwrap();
        assert_eq!(
            read.outcomes[0].status,
            Status::Ok,
            "{name}: {:?}",
            read.outcomes[0]
        );
        let found = jobs_of(&read.jobs);
        let shape = |jobs: &[Job]| {
            without(jobs, |job| {
                hide(job);
                // An id that the form does not say is below 0.
                job.id = job.id.max(-1);
                job.last = true;
            })
        };
        let (found_shape, expected_shape) = (shape(&found), shape(expected));
        for (found, expected) in found_shape.iter().zip(&expected_shape) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        if std::ptr::fn_addr_eq(hide, everything) || std::ptr::fn_addr_eq(hide, no_name) {
            let flags = |jobs: &[Job]| -> BTreeSet<_> {
                let early = jobs.iter().filter(|job| !job.last);
                early.map(|job| (job.id, job.submit)).collect()
            };
            assert_eq!(flags(&found), flags(expected), "{name}");
        }
    }
}

/// What is compared of a step.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    job: i64,
    step: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
    state: Option<i64>,
    nodes: Option<String>,
    node_count: Option<i64>,
    ntasks: Option<i64>,
    name: Option<String>,
}

#[test]
fn the_steps_of_a_real_dump_are_those_of_the_accounting_table() {
    let (Some(jobs), Some(steps)) = (
        truth("slurm/run1/truth_db_job_table.tsv"),
        truth("slurm/run1/truth_db_step_table.tsv"),
    ) else {
        return;
    };
    let ids: BTreeMap<&str, i64> = jobs
        .iter()
        .map(|row| (row["job_db_inx"].as_str(), row["id_job"].parse().unwrap()))
        .collect();
    let mut expected: Vec<Step> = steps
        .iter()
        .map(|row| Step {
            job: ids[row["job_db_inx"].as_str()],
            step: Some(match row["id_step"].as_str() {
                "-5" => "batch".to_string(),
                "-4" => "extern".to_string(),
                id => id.to_string(),
            }),
            start: row["time_start"].parse().ok(),
            end: row["time_end"].parse().ok().filter(|end| *end != 0),
            state: row["state"].parse().ok(),
            nodes: Some(row["nodelist"].clone()),
            node_count: row["nodes_alloc"].parse().ok(),
            ntasks: row["task_cnt"].parse().ok(),
            name: Some(row["step_name"].clone()),
        })
        .collect();
    expected.sort();
    assert_eq!(expected.len(), 90);
    for form in ["sacct_P_ALL_D.psv", "sacct.json"] {
        let Some(input) = file(&format!("slurm/run1/{form}")) else {
            return;
        };
        let rows = read_with(site("UTC"), &[input]).unwrap().steps;
        let (jobs, names) = (ints(&rows, "job_id"), texts(&rows, "step_name"));
        let (steps, states, nodes) = (
            texts(&rows, "step_id"),
            ints(&rows, "state_code"),
            texts(&rows, "node_list"),
        );
        let (start, end) = (seconds(&rows, "start_time"), seconds(&rows, "end_time"));
        let (counts, tasks) = (ints(&rows, "node_count"), ints(&rows, "ntasks"));
        let mut found: Vec<Step> = (0..rows.num_rows())
            .map(|row| Step {
                job: jobs[row].unwrap(),
                step: steps[row].clone(),
                start: start[row],
                end: end[row],
                state: states[row],
                nodes: nodes[row].clone(),
                node_count: counts[row],
                ntasks: tasks[row],
                name: names[row].clone(),
            })
            .collect();
        found.sort();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{form}");
        }
        assert_eq!(found.len(), expected.len(), "{form}");
    }
}

#[test]
fn what_users_wrote_is_kept_with_its_delimiters_and_line_ends() {
    for form in ["sacct_P_ALL_D.psv", "sacct.json"] {
        let Some(input) = file(&format!("slurm/run1/{form}")) else {
            return;
        };
        let rows = read_with(site("UTC"), &[input]).unwrap().jobs;
        let ids = ints(&rows, "job_id");
        let row = |id: i64| ids.iter().position(|i| *i == Some(id)).unwrap();
        let of = |column: &str, id: i64| texts(&rows, column)[row(id)].clone().unwrap_or_default();
        assert_eq!(of("job_name", 11), "name|with|pipes", "{form}");
        assert_eq!(of("job_name", 13), "two\nlines", "{form}");
        assert_eq!(of("comment", 11), "a|b \"c\" ,d", "{form}");
        assert_eq!(of("comment", 13), "line1\nline2", "{form}");
    }
}

#[test]
fn sizes_and_times_of_a_step_are_bytes_and_seconds() {
    // Of 1.batch the accounting table has mem 72757248, vmem 79859712, disk 21033940 and 20971614, 12965 us + 117396 us.
    let Some(input) = file("slurm/run1/sacct_P_ALL_D.psv") else {
        return;
    };
    let rows = read_with(site("UTC"), &[input]).unwrap().steps;
    let at = (0..rows.num_rows())
        .find(|row| ints(&rows, "job_id")[*row] == Some(1))
        .unwrap();
    assert_eq!(ints(&rows, "max_rss")[at], Some(72_757_248));
    assert_eq!(ints(&rows, "max_vmsize")[at], Some(79_859_712));
    assert_eq!(floats(&rows, "total_cpu")[at], Some(0.130));
    // sacct rounds to hundredths of a MiB.
    let read = ints(&rows, "max_disk_read")[at].unwrap();
    assert!((read - 21_033_940).abs() <= (1 << 20) / 200, "{read}");
    let Some(input) = file("slurm/run1/sacct.json") else {
        return;
    };
    let rows = read_with(site("UTC"), &[input]).unwrap().steps;
    assert_eq!(ints(&rows, "max_disk_read")[at], Some(21_033_940));
    assert_eq!(ints(&rows, "max_disk_write")[at], Some(20_971_614));
    assert_eq!(floats(&rows, "total_cpu")[at], Some(0.130361));
}

#[test]
fn cpu_time_of_a_job_in_json_is_that_which_sacct_prints() {
    let Some(files) = ["sacct_P_ALL_D.psv", "sacct.json"]
        .map(|name| shared(&format!("slurm/run1/{name}")))
        .into_iter()
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let [text, json] = [0, 1].map(|at| {
        let rows = read_with(Site::default(), &[Input::open(&files[at]).unwrap()])
            .unwrap()
            .jobs;
        let ids = ints(&rows, "job_id")
            .into_iter()
            .zip(seconds(&rows, "submit_time"));
        let known = ids
            .zip(floats(&rows, "total_cpu"))
            .filter(|(_, cpu)| cpu.is_some_and(|cpu| cpu > 0.0));
        known
            .map(|(id, cpu)| (id, (cpu.unwrap() * 1000.0).round() as i64))
            .collect::<BTreeMap<_, _>>()
    });
    assert!(text.len() > 20, "{text:?}");
    // Text has milliseconds of which each step's may be rounded.
    for (id, cpu) in &text {
        let other = json.get(id).copied().unwrap_or_default();
        assert!((cpu - other).abs() <= 3, "{id:?}: {cpu} {other}");
    }
}

#[test]
fn counts_may_be_in_thousands_and_a_value_that_is_none_is_named() {
    let text = "JobIDRaw|JobID|State|NNodes|AllocCPUS\n1|1|COMPLETED|2K|96K\n2|2|COMPLETED|1.5K|3\n3|3|COMPLETED|many|3\n4|4|COMPLETED|4|4\n";
    let read = read(&[text]);
    assert_eq!(ints(&read.jobs, "node_count"), [2048, 1536, 4].map(Some));
    assert_eq!(ints(&read.jobs, "ncpus"), [98_304, 3, 4].map(Some));
    assert_eq!(
        read.outcomes[0].why.as_deref(),
        Some(
            "1 line cannot be split for certain and it was left out: 4; line 4 has NNodes `many`, which is none"
        )
    );
}

#[test]
fn a_last_line_without_an_end_is_left_out_for_its_values_may_be_cut() {
    let text = "JobIDRaw|JobID|State|NNodes\n1|1|COMPLETED|128\n2|2|COMPLETED|128\n";
    let read = read(&[&text[..text.len() - 2]]);
    assert_eq!(ints(&read.jobs, "job_id"), [Some(1)]);
    assert_eq!(read.outcomes[0].status, Status::Damaged);
    assert_eq!(
        read.outcomes[0].why.as_deref(),
        Some(
            "1 line cannot be split for certain and it was left out: 3; the last line has no end: the dump was cut"
        )
    );
}

/// A job name may hold a line end, so that what is left of the last line could be the rest of the name before.
#[test]
fn what_is_left_of_a_last_line_is_no_part_of_the_text_before() {
    let text = "JobIDRaw|JobID|State|NNodes|JobName\n1|1|COMPLETED|128|solver\n2.ba";
    let read = read(&[text]);
    assert_eq!(texts(&read.jobs, "job_name"), [Some("solver".to_string())]);
    assert_eq!(read.outcomes[0].status, Status::Damaged);
    assert_eq!(
        read.outcomes[0].why.as_deref(),
        Some(
            "1 line cannot be split for certain and it was left out: 3; the last line has no end: the dump was cut"
        )
    );
}

#[test]
fn nodes_are_counted_where_a_dump_has_no_times() {
    let read = read(&["JobIDRaw|JobID|State|NNodes|NodeList\n\
        1|1|COMPLETED|4|n[1-4]\n2|2|TIMEOUT|3|\n3|3|PENDING|5|\n4|4|CANCELLED by 7|6|None assigned\n5|5|CANCELLED by 7|7|\n"]);
    // The last may or may not have run.
    assert_eq!(
        ints(&read.jobs, "node_count"),
        [Some(4), Some(3), Some(0), Some(0), None]
    );
}

#[test]
fn line_ends_of_other_systems_and_a_byte_order_mark_change_nothing() {
    let text = "JobID|JobIDRaw|State|JobName\n1|1|FAILED|a|b\n2|2|TIMEOUT|c\n";
    let (plain, odd) = (
        read(&[text]),
        read(&[&format!("\u{feff}{}", text.replace('\n', "\r\n"))]),
    );
    assert_eq!(odd.outcomes[0], Outcome::default());
    assert_eq!(
        texts(&odd.jobs, "job_name"),
        [Some("a|b".to_string()), Some("c".to_string())]
    );
    assert_eq!(odd.jobs, plain.jobs);
}

#[test]
fn a_header_may_come_again_and_columns_may_be_new_to_us() {
    let read = read(&[
        "jobid|STATE|Start|End|Sparkle|NNodes\n1|FAILED|2026-09-01T00:00:00|2026-09-01T00:01:00|x y|2\n\n\
         JobIDRaw|JobID|State|NNodes\n9|3_1|TIMEOUT|4\n",
    ]);
    assert_eq!(read.outcomes[0], Outcome::default());
    assert_eq!(ints(&read.jobs, "job_id"), [Some(1), Some(9)]);
    assert_eq!(ints(&read.jobs, "node_count"), [Some(2), Some(4)]);
}

#[test]
fn a_dump_without_a_single_record_is_an_error_and_an_empty_one_is_none() {
    let failed = |text: &str| {
        let input = Input::from_bytes("dump.psv", text.as_bytes().to_vec());
        read_with(Site::default(), &[input])
            .map(|read| read.outcomes[0].clone())
            .map_err(|e| e.to_string())
    };
    assert_eq!(failed("JobID|State\n"), Ok(Outcome::default()));
    assert_eq!(
        failed("JobID|State\nx|y\nz\n").unwrap_err(),
        "dump.psv: text: none of its 2 lines is a record of these columns; line 2 has JobID `x`, which is none"
    );
    assert!(
        failed("1|1|COMPLETED\n")
            .unwrap_err()
            .contains("line 1: no header with sacct's column names")
    );
    assert!(
        failed("JobID           JobName      State \n------- ------ -----\n")
            .unwrap_err()
            .contains("fixed width")
    );
}

#[test]
fn json_of_newer_parsers_says_the_same_as_plain_json() {
    let old = r#"{"meta": {"plugin": {"type": "openapi/dbv0.0.39"}}, "errors": [], "jobs": [{"job_id": 58, "name": "arr", "user": "ada", "account": "a",
        "array": {"job_id": 45, "task_id": 0, "task": null}, "het": {"job_id": 0, "job_offset": null}, "nodes": "nid[01-02]", "allocation_nodes": 2,
        "state": {"current": "FAILED", "reason": "None"}, "exit_code": {"status": "ERROR", "return_code": 3}, "kill_request_user": null,
        "time": {"elapsed": 60, "eligible": 1700000000, "start": 1700000001, "end": 1700000061, "submission": 1700000000, "suspended": 0, "limit": 90},
        "required": {"CPUs": 4, "memory": 50}, "tres": {"allocated": [{"type": "cpu", "name": null, "id": 1, "count": 4}, {"type": "gres", "name": "gpu", "id": 9, "count": 2}], "requested": []},
        "steps": [{"step": {"job_id": 58, "id": 0, "name": "sim"}, "state": "FAILED", "exit_code": {"status": "SIGNALED", "return_code": null, "signal": {"signal_id": 9, "name": "KILL"}},
        "time": {"elapsed": 60, "start": 1700000001, "end": 1700000061, "suspended": 0}, "nodes": {"count": 2, "range": "nid[01-02]", "list": []}, "tasks": {"count": 8}, "tres": {}}]}]}"#;
    let new = r#"{"jobs": [{"job_id": 58, "name": "arr", "user": "ada", "account": "a",
        "array": {"job_id": 45, "task_id": {"set": true, "infinite": false, "number": 0}, "task": ""}, "het": {"job_id": 0, "job_offset": {"set": false, "infinite": false, "number": 0}}, "nodes": "nid[01-02]", "allocation_nodes": 2,
        "state": {"current": ["FAILED"], "reason": "None"}, "exit_code": {"status": ["ERROR"], "return_code": {"set": true, "infinite": false, "number": 3}, "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}}, "kill_request_user": "",
        "time": {"elapsed": 60, "eligible": 1700000000, "start": 1700000001, "end": 1700000061, "submission": 1700000000, "suspended": 0, "limit": {"set": true, "infinite": false, "number": 90}},
        "required": {"CPUs": 4, "memory_per_cpu": {"set": false, "infinite": false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 50}},
        "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 4}, {"type": "gres", "name": "gpu", "id": 9, "count": 2}], "requested": []},
        "steps": [{"step": {"id": "58.0", "name": "sim"}, "state": ["FAILED"], "exit_code": {"status": ["SIGNALED"], "return_code": {"set": false, "infinite": false, "number": 0}, "signal": {"id": {"set": true, "infinite": false, "number": 9}, "name": "KILL"}},
        "time": {"elapsed": 60, "start": {"set": true, "infinite": false, "number": 1700000001}, "end": {"set": true, "infinite": false, "number": 1700000061}, "suspended": 0}, "nodes": {"count": 2, "range": "nid[01-02]", "list": []}, "tasks": {"count": 8}, "tres": {}}]}],
        "meta": {"plugin": {"data_parser": "data_parser/v0.0.42"}, "slurm": {"version": {"major": "24"}}}, "errors": [], "warnings": []}"#;
    let (old, new) = (read(&[old]), read(&[new]));
    assert_eq!((&old.jobs, &old.steps), (&new.jobs, &new.steps));
    assert_eq!(texts(&new.jobs, "job_id_text"), [Some("45_0".to_string())]);
    assert_eq!(
        (ints(&new.jobs, "exit_code"), ints(&new.jobs, "exit_signal")),
        (vec![Some(3)], vec![Some(0)])
    );
    assert_eq!(floats(&new.jobs, "timelimit"), [Some(5400.0)]);
    assert_eq!(ints(&new.jobs, "req_mem"), [Some(50 << 20)]);
    assert_eq!(
        (
            ints(&new.steps, "exit_code"),
            ints(&new.steps, "exit_signal")
        ),
        (vec![Some(0)], vec![Some(9)])
    );
    assert_eq!(
        texts(&new.steps, "job_id_text"),
        [Some("45_0.0".to_string())]
    );
}

#[test]
fn json_that_ends_too_early_keeps_the_jobs_before() {
    let Some(path) = shared("slurm/run1/sacct.json") else {
        return;
    };
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() / 2);
    let read = read_with(Site::default(), &[Input::from_bytes("sacct.json", bytes)]).unwrap();
    assert_eq!(read.outcomes[0].status, Status::Damaged);
    let why = read.outcomes[0].why.clone().unwrap();
    assert!(
        why.contains("it ends in the middle of a value") && why.contains("jobs before were taken"),
        "{why}"
    );
    assert!(read.jobs.num_rows() > 10);
}
