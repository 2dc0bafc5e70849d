//! Dumps of sacct as text and as JSON; real ones are read in tests/it/slurm_dumps.rs.

mod read;

use super::*;
use crate::source::Status;
use crate::table::columns::{floats, ints, sorted, texts};
use crate::table::table;
use read::{Read, read_with};

fn read(texts: &[&str]) -> Read {
    let inputs: Vec<Input> = texts
        .iter()
        .map(|text| Input::from_bytes("dump.psv", text.as_bytes().to_vec()))
        .collect();
    read_with(ReadContext::default(), &inputs).unwrap()
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
            "1 line cannot be split for certain and it was left out: 4; line 4 has NNodes `many`, which is none; the dump lacks Start and End: such jobs are joined with no log"
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
            "1 line cannot be split for certain and it was left out: 3; the last line has no end: the dump was cut; the dump lacks Start and End: such jobs are joined with no log"
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
            "1 line cannot be split for certain and it was left out: 3; the last line has no end: the dump was cut; the dump lacks Start and End: such jobs are joined with no log"
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
    assert_eq!(odd.outcomes, plain.outcomes);
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
         JobIDRaw|JobID|State|NNodes|Strat\n9|3_1|TIMEOUT|4|2026-09-01T00:00:00\n",
    ]);
    let why = "the dump lacks Start and End: such jobs are joined with no log; sacct has no column Sparkle, Strat";
    assert_eq!(
        read.outcomes[0],
        Outcome {
            status: Status::Ok,
            why: Some(why.into())
        }
    );
    assert_eq!(ints(&read.jobs, "job_id"), [Some(1), Some(9)]);
    assert_eq!(ints(&read.jobs, "node_count"), [Some(2), Some(4)]);
}

#[test]
fn a_dump_without_a_single_record_is_an_error_and_an_empty_one_is_none() {
    let failed = |text: &str| {
        let input = Input::from_bytes("dump.psv", text.as_bytes().to_vec());
        read_with(ReadContext::default(), &[input])
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
fn json_of_others_is_no_dump() {
    let is_dump = |head: &str| Slurm.probe(std::path::Path::new("x.json"), head.as_bytes());
    assert!(is_dump(r#"{"jobs": [{"job_id": 1"#));
    assert!(is_dump(
        r#"{ "meta" : {"Slurm": {"version": {"major": "23"}}, "jobs""#
    ));
    // What was planted in a synthetic month: a number of jobs, and the word among the values.
    assert!(!is_dump(
        r#"{"counts": {"jobs": 12}, "faults": [{"name": "meta", "jobs": 3}], "slurm": []"#
    ));
    assert!(!is_dump(
        r#"{"jobs": {"slurm": []}, "kind": "meta", "meta": 1}"#
    ));
    assert!(!is_dump(r#"[{"jobs": []}]"#));
    assert!(!is_dump(
        r#"{"faults": [{"doc": "a \"{\" in it", "jobs": [{"job_id": 1}]}], "jobs": 2000}"#
    ));
    assert!(is_dump(r#"{"x": "\\", "errors": [{}], "jobs": [{"#));
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
