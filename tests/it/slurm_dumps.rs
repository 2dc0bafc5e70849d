//! Real dumps of sacct against the accounting tables that they were made from.

use crate::columns::{floats, ints, sorted, texts};
use crate::support::shared_data;
use arrow::array::AsArray;
use arrow::record_batch::RecordBatch;
use iolode::Result;
use iolode::source::slurm::{Slurm, hostlist};
use iolode::source::{BatchSink, Hints, Input, Outcome, Peek, ReadContext, Source, Status};
use iolode::table::table;
use read::read_with;
use std::collections::{BTreeMap, BTreeSet};

/// How the reader's own tests read.
#[path = "../../src/source/slurm/tests/read.rs"]
mod read;

crate::tests! {
    [Data] => {
        every_form_of_a_real_dump_gives_the_jobs_of_the_accounting_table,
        the_steps_of_a_real_dump_are_those_of_the_accounting_table,
        what_users_wrote_is_kept_with_its_delimiters_and_line_ends,
        sizes_and_times_of_a_step_are_bytes_and_seconds,
        cpu_time_of_a_job_in_json_is_that_which_sacct_prints,
        json_that_ends_too_early_keeps_the_jobs_before,
        every_column_of_a_real_sacct_is_known,
        lists_of_nodes_are_those_that_scontrol_shows,
    }
}

/// Times in whole seconds.
fn seconds(rows: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let times = ints(rows, name).into_iter();
    times.map(|time| time.map(|t| t / 1_000_000)).collect()
}

fn site(zone: &str) -> ReadContext {
    ReadContext {
        zone: zone.parse().unwrap(),
        ..ReadContext::default()
    }
}

fn file(name: &str) -> Input {
    Input::open(shared_data().join(name)).unwrap()
}

/// A table of the accounting database: rows by column name.
fn truth(name: &str) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(shared_data().join(name)).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        names
            .iter()
            .zip(line.split('\t'))
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect()
    };
    lines.map(row).collect()
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

fn jobs_of_truth(folder: &str) -> Vec<Job> {
    let rows = truth(&format!("{folder}/truth_db_job_table.tsv"));
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
    jobs
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

/// The same jobs with what a form does not have left out.
fn without(jobs: &[Job], hide: impl Fn(&mut Job)) -> Vec<Job> {
    let mut jobs = jobs.to_vec();
    jobs.iter_mut().for_each(hide);
    jobs.sort();
    jobs
}

fn every_form_of_a_real_dump_gives_the_jobs_of_the_accounting_table() {
    let all = jobs_of_truth("slurm/run1");
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
        let input = file(&format!("slurm/run1/{name}"));
        let columns = "JobID,JobIDRaw,User,Account,Partition,QOS,State,ExitCode,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,Timelimit,NNodes,NCPUS,NTasks,NodeList,ReqMem,MaxRSS,JobName";
        let site = ReadContext {
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
        // Nothing in the dump says which day that is.
        let why = read.outcomes[0].why.as_deref().unwrap_or_default();
        let says = why.contains(
            "times without a date are taken for those of 2026-11-21, when the file was last changed",
        );
        assert_eq!(says, name == "sacct_P_relative.psv", "{name}: {why}");
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

fn the_steps_of_a_real_dump_are_those_of_the_accounting_table() {
    let (jobs, steps) = (
        truth("slurm/run1/truth_db_job_table.tsv"),
        truth("slurm/run1/truth_db_step_table.tsv"),
    );
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
        let input = file(&format!("slurm/run1/{form}"));
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

fn what_users_wrote_is_kept_with_its_delimiters_and_line_ends() {
    for form in ["sacct_P_ALL_D.psv", "sacct.json"] {
        let input = file(&format!("slurm/run1/{form}"));
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

fn sizes_and_times_of_a_step_are_bytes_and_seconds() {
    // Of 1.batch the accounting table has mem 72757248, vmem 79859712, disk 21033940 and 20971614, 12965 us + 117396 us.
    let input = file("slurm/run1/sacct_P_ALL_D.psv");
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
    let input = file("slurm/run1/sacct.json");
    let rows = read_with(site("UTC"), &[input]).unwrap().steps;
    assert_eq!(ints(&rows, "max_disk_read")[at], Some(21_033_940));
    assert_eq!(ints(&rows, "max_disk_write")[at], Some(20_971_614));
    assert_eq!(floats(&rows, "total_cpu")[at], Some(0.130361));
}

fn cpu_time_of_a_job_in_json_is_that_which_sacct_prints() {
    let files = ["sacct_P_ALL_D.psv", "sacct.json"];
    let [text, json] = [0, 1].map(|at| {
        let rows = read_with(
            ReadContext::default(),
            &[file(&format!("slurm/run1/{}", files[at]))],
        )
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

fn json_that_ends_too_early_keeps_the_jobs_before() {
    let mut bytes = std::fs::read(shared_data().join("slurm/run1/sacct.json")).unwrap();
    bytes.truncate(bytes.len() / 2);
    let read = read_with(
        ReadContext::default(),
        &[Input::from_bytes("sacct.json", bytes)],
    )
    .unwrap();
    assert_eq!(read.outcomes[0].status, Status::Damaged);
    let why = read.outcomes[0].why.clone().unwrap();
    assert!(
        why.contains("it ends in the middle of a value") && why.contains("jobs before were taken"),
        "{why}"
    );
    assert!(read.jobs.num_rows() > 10);
}

/// A header of columns of fixed width is refused, and a line is one only if every name in it is a column's.
fn every_column_of_a_real_sacct_is_known() {
    let names = shared_data().join("slurm/run1/sacct_helpformat.txt");
    let text = std::fs::read_to_string(names).unwrap();
    let is_known = |name: &str| {
        let header = format!("JobID {name}\n").into_bytes();
        Slurm.peek(&Input::from_bytes("header", header)).is_err()
    };
    assert!(!is_known("Sparkle"));
    let unknown: Vec<&str> = text
        .split_whitespace()
        .filter(|name| !is_known(name))
        .collect();
    assert_eq!(unknown, [] as [&str; 0]);
    assert_eq!(text.split_whitespace().count(), 109);
}

fn lists_of_nodes_are_those_that_scontrol_shows() {
    let lists = shared_data().join("slurm/hostlist_expected_by_scontrol.txt");
    let text = std::fs::read_to_string(lists).unwrap();
    let mut lines = text.lines();
    let mut cases = 0;
    while let (Some(list), Some(expected)) = (lines.next(), lines.next()) {
        let list = list.strip_prefix("== ").unwrap();
        let names = hostlist::expand(list).unwrap();
        assert_eq!(names.join(","), expected, "{list}");
        cases += 1;
    }
    assert_eq!(cases, 12);
}
