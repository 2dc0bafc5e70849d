//! The page of a job: what it says of real logs, and that its numbers are those of the facts.

use crate::cli_program::iolode;
use crate::support::shared_data;
use serde_json::Value;
use std::path::Path;

crate::tests! {
    [Data] => {
        the_bad_ost_is_the_cause_and_streams_are_never_named,
        data_sieving_metadata_and_single_writers_are_named,
        a_log_held_open_is_not_what_took_the_time,
        waiting_in_mpi_io_is_said_where_there_is_no_cause,
        what_is_not_read_is_not_said_to_be_nothing,
        of_a_damaged_log_it_is_not_said_that_nothing_stands_out,
        a_wrong_bit_costs_records_and_no_page,
        a_copy_of_a_log_is_no_damage_to_it,
        a_damaged_copy_counts_in_no_sum,
        a_log_that_is_cut_after_its_import_leaves_its_rows_alone,
        lost_traces_of_dxt_are_no_lost_records,
        nothing_saves_more_than_the_slowest_process_spends,
        hdf5_is_a_layer,
        a_page_says_what_is_not_known_and_of_what_its_sums_are,
        shares_times_and_bandwidths_follow_from_the_facts,
        the_facts_are_those_of_the_tables,
        jobs_and_logs_that_are_not_there_are_named_with_the_nearest,
        times_on_a_page_are_those_of_the_zone,
        a_record_of_another_zone_is_said_to_be,
        real_logs_have_the_causes_on_their_pages_that_were_expected_of_them,
    }
}

/// The log of this name, or the only one whose name begins with it.
fn log(name: &str) -> String {
    let logs = shared_data().join("darshan");
    let exact = logs.join(format!("{name}.darshan"));
    if exact.exists() {
        return exact.to_str().unwrap().into();
    }
    let found = std::fs::read_dir(&logs).unwrap().flatten();
    let found = found.filter(|entry| entry.file_name().to_str().unwrap().starts_with(name));
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].path().to_str().unwrap().into()
}

/// The page of one log without a lake.
fn page(name: &str, options: &[&str]) -> String {
    let log = log(name);
    let arguments = [&["diagnose", log.as_str()][..], options].concat();
    iolode(Path::new("."), &arguments).ok()
}

fn answer(name: &str) -> Value {
    let answers: Value = serde_json::from_str(&page(name, &["--format", "json"])).unwrap();
    answers[0].clone()
}

/// Rules of its causes, in their order.
fn causes(answer: &Value) -> Vec<(String, Option<String>)> {
    let block = answer["blocks"].as_array().unwrap().last().unwrap();
    let findings = block["findings"].as_array().unwrap().iter();
    let causes = findings.filter(|finding| finding["is_cause"] == true);
    causes
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().map(String::from);
            (text("rule").unwrap(), text("direction"))
        })
        .collect()
}

/// Of a file per process on each OST the bad one is the cause: its files wait, whatever the other processes do.
fn the_bad_ost_is_the_cause_and_streams_are_never_named() {
    let bad = answer("sample-badost");
    assert_eq!(causes(&bad), [("slow_ost".into(), Some("write".into()))]);
    let findings = &bad["blocks"].as_array().unwrap().last().unwrap()["findings"];
    assert_eq!(findings[0]["evidence"]["ost"], 14);
    assert_eq!(findings[0]["known_by"], "comparison");
    let bad = page("sample-badost", &[]);
    assert!(bad.contains("\n  1. OST 14 of "), "{bad}");
    // Whose files say so.
    assert!(
        bad.replace("\n  ", " ")
            .contains("in 85 files of 1 job in the 15 days"),
        "{bad}"
    );
    // By pydarshan 777.9 s of the slowest process in 727.2 s of windows; of sample 85.5 s in 111 s.
    let fsync = "an fsync behind the last write";
    assert!(bad.contains(fsync) && !page("sample", &[]).contains(fsync));
    let good = page("sample-goodost", &[]);
    assert!(
        good.ends_with("Likely causes\n  nothing stands out: no rule holds\n"),
        "{good}"
    );
    for name in ["sample", "sample-badost", "imbalanced-io"] {
        let page = page(name, &["--long"]);
        assert!(page.contains("Critical path by windows, write:"), "{page}");
        assert!(!page.contains("<STD"), "{page}");
    }
}

/// By the counters of the logs: jlbez reads 16.6 GB by POSIX though MPI-IO reads nothing, and no request is aligned; a java program waits in open;
/// fopen
/// writes 16 GiB, but at 3 GiB/s; imbalanced-io has one process for 49 GiB that 496 ask for.
fn data_sieving_metadata_and_single_writers_are_named() {
    let sieving = causes(&answer("jlbez_IO_test5"));
    let has = |causes: &[(String, Option<String>)], rule: &str| {
        causes.iter().any(|(known, _)| known == rule)
    };
    assert!(
        has(&sieving, "read_modify_write") && has(&sieving, "misaligned_file"),
        "{sieving:?}"
    );
    // The reads are those of the sieving.
    assert!(
        !sieving.contains(&("small_reads_shared".into(), Some("read".into()))),
        "{sieving:?}"
    );
    let single = causes(&answer("imbalanced-io"));
    assert!(has(&single, "few_aggregators"), "{single:?}");
    let metadata = causes(&answer("dxt"));
    assert_eq!(metadata, [("metadata_bound".into(), None)]);
    let stdio = causes(&answer("partial_data_stdio"));
    assert_eq!(stdio, []);
}

/// A text log of 44 KiB that one process has open for 11 minutes comes first by windows; the time went to a data file that 496 processes write.
fn a_log_held_open_is_not_what_took_the_time() {
    let page = page("imbalanced-io", &["--long"]);
    // The rest of the title, the names of the columns, the first file.
    let first = |heading: &str| {
        let list = page.split(heading).nth(1).unwrap();
        list.lines().nth(2).unwrap().to_string()
    };
    let busiest = first("Files with most I/O time:");
    assert!(busiest.ends_with("/lus/theta-fs0/312046190"), "{page}");
    assert!(
        first("Critical path by windows, write:").contains("43.7 KiB"),
        "{page}"
    );
    let busy = first("Critical path by busy times, write:");
    assert!(busy.contains(" GiB  /lus/theta-fs0/312046190"), "{page}");
    assert!(page.find("Files with most I/O time").unwrap() < page.find("Critical path").unwrap());
    // Where there is this log alone nobody can be looked for beside it.
    assert!(!page.contains("Others at the same time"), "{page}");
    assert!(page.contains("\nLayout\n"), "{page}");
}

/// Pages of logs without layouts, without a user name, with few others, and of many logs.
/// By pydarshan: 1,244,732 s in MPI-IO of 2,048 x 659 s, 1,244,095 of them reading; 20.87 s of 16 x 4 s, 13.90 of them writing, of which POSIX took 0.45 s.
fn waiting_in_mpi_io_is_said_where_there_is_no_cause() {
    for (name, part, most) in [
        ("skew-autobench-ior", "92 %", "100 % of that reading"),
        ("shane_macsio", "33 %", "67 % of that writing"),
    ] {
        let page = page(name, &[]);
        let said = format!(
            " but processes spend {part} of their run time in MPI-IO calls ({most}) and 0.7 %"
        );
        assert!(page.replace("\n  ", " ").contains(&said), "{page}");
    }
}

/// Of the first 440,000 bytes the layouts of some files are lost, those of OST 14 among them; of the first 20,000 all records.
fn of_a_damaged_log_it_is_not_said_that_nothing_stands_out() {
    let whole = std::fs::read(log("sample-badost")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let cut = directory.path().join("cut.darshan");
    for (bytes, said) in [
        (
            440_000,
            [
                "files whose OSTs are lost are missing here",
                "the cause may be in what is lost",
            ],
        ),
        (
            20_000,
            [
                "no record is left that has a time",
                "what is left of the damaged log names no OST",
            ],
        ),
    ] {
        std::fs::write(&cut, &whole[..bytes]).unwrap();
        let done = iolode(Path::new("."), &["diagnose", cut.to_str().unwrap()]);
        assert_eq!(done.code, Some(1));
        let page = done.stdout.replace("\n  ", " ");
        for said in said {
            assert!(page.contains(said), "{page}");
        }
        assert!(!page.contains("nothing stands out"), "{page}");
    }
}

/// The versions of modules begin at byte 296 of logs of 3.00 to 3.21 (FORMAT.md 1); POSIX is module 1. By pydarshan, MPI-IO made 13,184 calls to write.
fn what_is_not_read_is_not_said_to_be_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("newer.darshan");
    let page = |name: &str| {
        let mut bytes = std::fs::read(log(name)).unwrap();
        bytes[300] = 99;
        std::fs::write(&newer, bytes).unwrap();
        let done = iolode(Path::new("."), &["diagnose", newer.to_str().unwrap()]);
        let words: Vec<&str> = done.stdout.split_whitespace().collect();
        words.join(" ")
    };
    let jlbez = page("jlbez_IO_test5");
    for said in [
        "read in part (modules of newer versions): sums are lower bounds",
        "not read: POSIX region: module version 99 is not supported",
        "MPI-IO 0 B 16.3 GiB 0 13 184",
        "collective write - - - - - 99 %",
        "no rule holds for what is left of damaged or partial logs",
    ] {
        assert!(jlbez.contains(said), "{said}: {jlbez}");
    }
    for wrong in ["damage:", "bytes for each byte", "nothing stands out"] {
        assert!(!jlbez.contains(wrong), "{wrong}: {jlbez}");
    }
    let imbalanced = iolode(Path::new("."), &["diagnose", &log("imbalanced-io")]).stdout;
    let said = "partial: POSIX: Darshan ran out of memory, records are missing";
    assert!(
        imbalanced.contains(said) && !imbalanced.contains("damage:"),
        "{imbalanced}"
    );
    let goodost = page("sample-goodost");
    for wrong in [
        "no process spent",
        "no process spends",
        "the log does not name",
    ] {
        assert!(!goodost.contains(wrong), "{wrong}: {goodost}");
    }
}

/// The bits are in the names of imbalanced-io, and in the POSIX regions of both, whose whole logs read 53 791 621 684 and 22 519 602 B by pydarshan.
fn a_wrong_bit_costs_records_and_no_page() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("wrong.darshan");
    for (name, at, bit, said, most) in [
        (
            "imbalanced-io",
            2_571,
            0x20,
            "damage: name region",
            53_791_621_684,
        ),
        (
            "imbalanced-io",
            43_751,
            0x01,
            "cannot be true",
            53_791_621_684,
        ),
        ("dxt", 10_992, 0x04, "cannot be true", 22_519_602),
    ] {
        let mut bytes = std::fs::read(log(name)).unwrap();
        bytes[at] ^= bit;
        std::fs::write(&wrong, bytes).unwrap();
        let wrong = wrong.to_str().unwrap();
        let done = iolode(Path::new("."), &["diagnose", wrong]);
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        let page = done.stdout.replace("\n  ", " ");
        assert!(page.contains(said), "{page}");
        let sql = "select bytes_read from darshan_log";
        let args = ["sql", "--logs", wrong, "--format", "csv", "-c", sql];
        let read = iolode(Path::new("."), &args).stdout;
        let read: i64 = read.lines().nth(1).unwrap().parse().unwrap();
        assert!((1..=most).contains(&read), "{name} {at}: {read}");
    }
}

/// A copy beside a log is passed over, which is no damage.
fn a_copy_of_a_log_is_no_damage_to_it() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.darshan", "b.darshan"] {
        std::fs::copy(log("sample-goodost"), directory.path().join(name)).unwrap();
    }
    let done = iolode(directory.path(), &["diagnose", "b.darshan", "a.darshan"]);
    assert_eq!(done.code, Some(0));
    assert!(!done.stdout.contains("damage"), "{}", done.stdout);
    assert!(!done.stdout.contains("the same bytes"), "{}", done.stdout);
}

/// By pydarshan its processes write 512 GiB.
fn a_damaged_copy_counts_in_no_sum() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(log("sample-badost")).unwrap();
    std::fs::write(dir.path().join("whole.darshan"), &whole).unwrap();
    std::fs::write(dir.path().join("cut.darshan"), &whole[..200_000]).unwrap();
    let page = iolode(dir.path(), &["diagnose", "whole.darshan", "cut.darshan"]).stdout;
    for words in [
        "\n  2 048 processes; no Slurm record\n",
        "\n  a damaged copy of one of them is left out\n",
        "  512 GiB ",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("lower bounds"), "{page}");
}

fn a_log_that_is_cut_after_its_import_leaves_its_rows_alone() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(log("sample")).unwrap();
    let logs = dir.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    // The lake knows the bytes of the copy, too.
    for name in ["a.darshan", "b.darshan"] {
        std::fs::write(logs.join(name), &whole).unwrap();
    }
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan", "logs"];
    iolode(dir.path(), &ingest).ok();
    std::fs::write(logs.join("a.darshan"), &whole[..5000]).unwrap();
    let again = iolode(dir.path(), &ingest);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("damaged since it was imported"),
        "{again:?}"
    );
    let sql = "select count(*), min(status) from darshan_log";
    let count = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "--format", "csv", "-c", sql],
    )
    .ok();
    assert_eq!(count.lines().nth(1), Some("1,ok"));
    iolode(dir.path(), &["lake", "check", "lake"]).ok();
}

/// Without its last megabyte the log lacks a part of the traces of MPI-IO (by pydarshan 1.39 MB of POSIX's and 1.74 MB of MPI-IO's at its end).
fn lost_traces_of_dxt_are_no_lost_records() {
    let whole = std::fs::read(log("jeanbez_8_benchmark")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let cut = directory.path().join("cut.darshan");
    std::fs::write(&cut, &whole[..whole.len() - 1_000_000]).unwrap();
    let cut = cut.to_str().unwrap();
    let done = iolode(Path::new("."), &["diagnose", cut]);
    assert_eq!(done.code, Some(1));
    let page_of_cut = done.stdout;
    assert!(
        page_of_cut.contains("\n  traces of DXT are lost by damage: no sum counts them\n"),
        "{page_of_cut}"
    );
    let causes = |page: &str| page.split("Likely causes\n").nth(1).map(String::from);
    assert_eq!(
        causes(&page_of_cut),
        causes(&page("jeanbez_8_benchmark", &[]))
    );
}

/// By pydarshan: of jeanbez no process reads for more than 1.0137 s or writes for more than 2.5432 s in MPI-IO calls, which contain those of POSIX; of
/// noposixopens the slowest process spends 15.4433 s in metadata operations of shared records, where the mean of 32 is 0.5 s, and 19.83 s in all.
fn nothing_saves_more_than_the_slowest_process_spends() {
    let costs = |name: &str| -> Vec<(Option<String>, f64)> {
        let answer = answer(name);
        let block = answer["blocks"].as_array().unwrap().last().unwrap();
        let findings = block["findings"].as_array().unwrap().iter();
        let costs = findings.filter_map(|finding| {
            let direction = finding["direction"].as_str().map(String::from);
            Some((direction, finding["cost"].as_f64()?))
        });
        costs.collect()
    };
    let jeanbez = costs("jeanbez_8_benchmark");
    let most = |direction: &str| {
        let of = |(known, cost): &(Option<String>, f64)| {
            (known.as_deref() == Some(direction)).then_some(*cost)
        };
        jeanbez.iter().filter_map(of).fold(0.0, f64::max)
    };
    assert!(most("read") > 0.0 && most("read") < 1.0138, "{jeanbez:?}");
    assert!(most("write") < 2.5433, "{jeanbez:?}");
    let of_all = costs("noposixopens");
    let is_of_metadata = |cost: f64| (15.44..15.46).contains(&cost);
    assert!(
        of_all.iter().any(|(_, cost)| is_of_metadata(*cost)),
        "{of_all:?}"
    );
    assert!(of_all.iter().all(|(_, cost)| *cost < 19.84), "{of_all:?}");
}

/// By pydarshan: one shared record of a dataset, 16 reads and 16 writes of 256 KiB, H5D_USE_MPIIO_COLLECTIVE 0.
fn hdf5_is_a_layer() {
    let page = page("shane_ior-HDF5", &[]);
    let row = page.lines().find(|line| line.contains("HDF5 datasets"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(cells[2..], ["4.00", "MiB", "4.00", "MiB", "16", "16"]);
    assert!(page.contains("HDF5: 0 of 1 dataset use collective MPI-IO"));
}

fn a_page_says_what_is_not_known_and_of_what_its_sums_are() {
    let (dir, page) = lake_of_all();
    let gpfs = page("1797024");
    let others = gpfs.split("Others at the same time\n").nth(1).unwrap();
    assert!(
        others.starts_with(
            "  the log does not name OSTs: layout, and others on them, are not judged\n\n"
        ),
        "{gpfs}"
    );
    // None of the other logs of its month is of its program, and few are of its month.
    assert!(!gpfs.contains("percentile"), "{gpfs}");
    let sql = "select round(100 * sum(mpiio_coll_writes) / (sum(mpiio_coll_writes) + sum(mpiio_indep_writes) + 0.0)) as percent \
               from darshan_file where job_id = 1797024";
    let percent = iolode(
        dir.path(),
        &["sql", "--lake", "lake", "--format", "csv", "-c", sql],
    )
    .ok();
    let percent: f64 = percent.lines().nth(1).unwrap().parse().unwrap();
    let requests = gpfs.split("\nRequests\n").nth(1).unwrap();
    let writes = requests
        .lines()
        .find(|line| line.starts_with("  write "))
        .unwrap();
    assert!(writes.ends_with(&format!(" {percent} %")), "{gpfs}");
    let unnamed = page("4478544");
    assert!(
        unnamed.starts_with("job 4478544: vpicio_uni, uid 69615\n"),
        "{unnamed}"
    );
    // 17 programs, of which 16 run one after another within 31 min 49 s added up.
    let many = page("3116902");
    for words in [
        "\n  17 logs of 1 process each; no Slurm record\n",
        "; 17 logs, in which programs ran for ",
        " and 31 min 49 s added up\n",
        "in use for 58 min 49 s added up over files;",
        "of run time: of run times added up over logs;",
    ] {
        assert!(
            many.replace("\n  added", " added").contains(words),
            "{words}: {many}"
        );
    }
    for line in [gpfs, unnamed, many].iter().flat_map(|page| page.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

type Page = Box<dyn Fn(&str) -> String>;

fn lake_of_all() -> (std::rc::Rc<tempfile::TempDir>, Page) {
    let dir = std::rc::Rc::new(tempfile::tempdir().unwrap());
    let logs = shared_data().join("darshan");
    let ingest = ["ingest", "--create", "--lake", "lake", "--darshan"];
    iolode(
        dir.path(),
        &[&ingest[..], &[logs.to_str().unwrap()]].concat(),
    )
    .ok();
    let of = dir.clone();
    let page = move |job: &str| {
        let arguments = ["query", "diagnose", "--lake", "lake", "--job", job];
        iolode(of.path(), &arguments).ok()
    };
    (dir, Box::new(page))
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn near(found: &Value, expected: f64, what: &str) {
    let found = number(found);
    let near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    assert!(near, "{what}: {found}, not {expected}");
}

/// Every number of a table, by numerators and denominators that stand in `facts`; and the sentences' bandwidths.
fn shares_times_and_bandwidths_follow_from_the_facts() {
    for name in [
        "jlbez_IO_test5",
        "imbalanced-io",
        "sample-badost",
        "sample",
        "dxt",
        "partial_data_stdio",
    ] {
        let answer = answer(name);
        let facts = &answer["facts"];
        let sum = |of: &[&str]| -> f64 {
            let logs = facts["totals"].as_array().unwrap().iter();
            logs.flat_map(|log| of.iter().map(|name| log[*name].as_f64().unwrap_or(0.0)))
                .sum()
        };
        let all = sum(&["read_time", "write_time", "meta_time"]);
        let logs = facts["logs"].as_array().unwrap();
        let run_time: f64 = logs.iter().map(|log| number(&log["run_time"])).sum();
        let processes: f64 = logs
            .iter()
            .map(|log| number(&log["run_time"]) * number(&log["nprocs"]))
            .sum();
        near(&facts["process_seconds"], processes, name);
        let flow = |direction: &str, kind: &str| {
            let flows = facts["intervals"].as_array().unwrap().iter();
            let mut of = flows.filter(|f| f["direction"] == direction && f["interval"] == kind);
            of.next().map(|flow| &flow["flow"])
        };
        for block in answer["blocks"].as_array().unwrap() {
            let title = block["title"].as_str().unwrap();
            let rows = block["rows"].as_array().map_or(&[][..], |rows| rows);
            let notes = block["notes"].as_array().map_or(String::new(), |notes| {
                let notes = notes.iter().map(|note| note.as_str().unwrap());
                notes.collect::<Vec<_>>().join("\n")
            });
            let what = format!("{name}: {title}");
            if title == "I/O time" {
                for row in rows {
                    let (time, slowest) = match row["what"].as_str().unwrap() {
                        "read" => (sum(&["read_time"]), "read"),
                        "write" => (sum(&["write_time"]), "write"),
                        "metadata" => (sum(&["meta_time"]), "meta"),
                        _ => (all, "all"),
                    };
                    near(&row["process_time"], time, &what);
                    near(&row["of_io_time"], time / all, &what);
                    let slowest = number(&facts["slowest"][slowest]);
                    near(&row["slowest_time"], slowest, &what);
                    near(&row["slowest_of_run_time"], slowest / run_time, &what);
                    if let Some(flow) = flow(row["what"].as_str().unwrap(), "window") {
                        let window = number(&flow["critical_time"]);
                        near(&row["window_time"], window, &what);
                        near(&row["windows_of_clock"], window / run_time, &what);
                    }
                }
                let percent = 100.0 * all / processes;
                let shown = match percent {
                    p if p < 9.95 => format!("{p:.1} %"),
                    p => format!("{p:.0} %"),
                };
                assert!(
                    notes.starts_with(&format!("I/O is {shown} of ")),
                    "{what}: {notes}"
                );
            } else if title.starts_with("Files with most I/O time") {
                for row in rows {
                    let time: f64 = ["read_time", "write_time", "meta_time"]
                        .iter()
                        .map(|part| number(&row[*part]))
                        .sum();
                    near(&row["process_time"], time, &what);
                    // Times of MPI-IO calls and of POSIX calls do not add up.
                    match sum(&["incomplete"]) > 0.0 {
                        true => assert_eq!(row["share"], Value::Null, "{what}"),
                        false => near(&row["share"], time / all, &what),
                    }
                }
                let times: Vec<f64> = rows
                    .iter()
                    .map(|row| number(&row["process_time"]))
                    .collect();
                assert!(times.is_sorted_by(|a, b| a >= b), "{what}: {times:?}");
            } else if let Some(rest) = title.strip_prefix("Critical path by windows, ") {
                let direction = rest.split(':').next().unwrap();
                let flow = flow(direction, "window").unwrap();
                let critical = number(&flow["critical_time"]);
                let shares: f64 = rows.iter().map(|row| number(&row["share"])).sum();
                assert!((shares - 1.0).abs() < 1e-6, "{what}: {shares}");
                for row in rows {
                    near(&row["share"], number(&row["time"]) / critical, &what);
                }
                let bytes = number(&flow["bytes"]);
                let slowest = number(&facts["slowest"][direction]);
                let rates = [slowest, critical, number(&flow["span"])];
                let rates = rates.map(|time| iolode::text::amount::rate(bytes / time));
                let expected = format!(
                    "bandwidth: {} by the slowest process, {} by files in use, {} from the first",
                    rates[0], rates[1], rates[2]
                );
                assert!(notes.contains(&expected), "{what}: {notes}");
            } else if title == "Requests" {
                for row in rows {
                    let direction = row["direction"].as_str().unwrap();
                    let of = |name: &str| sum(&[&format!("{name}_{direction}")]);
                    near(&row["requests"], of("requests"), &what);
                    let calls = of("coll") + of("indep");
                    for (cell, part, whole) in [
                        ("small", of("small"), of("requests")),
                        ("up_to_1m", of("mib"), of("requests")),
                        ("sequential", of("seq"), of("requests")),
                        ("consecutive", of("consec"), of("requests")),
                        ("collective", of("coll"), calls),
                    ] {
                        match whole > 0.0 {
                            true => near(&row[cell], part / whole, &what),
                            false => assert!(row[cell].is_null(), "{what}: {row}"),
                        }
                    }
                }
            }
        }
    }
}

/// Sums, the slowest process and the union, asked of the tables in another way.
fn the_facts_are_those_of_the_tables() {
    let (dir, _) = lake_of_all();
    let ask = |sql: &str| -> Vec<Value> {
        let arguments = ["sql", "--lake", "lake", "--format", "json", "-c", sql];
        serde_json::from_str(&iolode(dir.path(), &arguments).ok()).unwrap()
    };
    for job in ["1797024", "6265799", "3116902", "1537455", "1452113755"] {
        let arguments = [
            "query", "diagnose", "--lake", "lake", "--format", "json", "--job", job,
        ];
        let answers: Value = serde_json::from_str(&iolode(dir.path(), &arguments).ok()).unwrap();
        let [answer] = &answers.as_array().unwrap()[..] else {
            panic!("{job} is one job")
        };
        let facts = &answer["facts"];
        let sums = &ask(&format!(
            "select sum(read_time) + sum(write_time) + sum(meta_time) as io, count(*) as files from darshan_file where job_id = {job} and not is_stream"
        ))[0];
        near(&facts["io_time"], number(&sums["io"]), job);
        // By darshan-parser's way: of shared records the slowest rank, of the others the rank with most.
        let slowest = &ask(&format!(
            "with r as (select p.log_id, p.rank, case when p.rank = -1 then p.posix_f_slowest_rank_time else p.posix_f_read_time + p.posix_f_write_time + p.posix_f_meta_time end as t \
                from darshan_posix p join darshan_file f on f.log_id = p.log_id and f.record_id = p.record_id where p.job_id = {job} and not f.is_stream and f.bytes_source like '%posix%' \
              union all select p.log_id, p.rank, case when p.rank = -1 then p.stdio_f_slowest_rank_time else p.stdio_f_read_time + p.stdio_f_write_time + p.stdio_f_meta_time end \
                from darshan_stdio p join darshan_file f on f.log_id = p.log_id and f.record_id = p.record_id where p.job_id = {job} and not f.is_stream and f.bytes_source like '%stdio%' \
              union all select p.log_id, p.rank, case when p.rank = -1 then p.mpiio_f_slowest_rank_time else p.mpiio_f_read_time + p.mpiio_f_write_time + p.mpiio_f_meta_time end \
                from darshan_mpiio p join darshan_file f on f.log_id = p.log_id and f.record_id = p.record_id where p.job_id = {job} and not f.is_stream and f.bytes_source = 'mpiio'), \
             s as (select log_id, rank, sum(t) as t from r group by log_id, rank) \
             select sum(t) as t from (select log_id, rank = -1 as shared, max(t) as t from s group by log_id, rank = -1)"
        ))[0];
        near(&facts["slowest"]["all"], number(&slowest["t"]), job);
        let union = &ask(&format!(
            "select io_time(a, b) as t from (select read_start_time as a, read_end_time as b from darshan_file where job_id = {job} and not is_stream and bytes_read > 0 \
             union all select write_start_time, write_end_time from darshan_file where job_id = {job} and not is_stream and bytes_written > 0)"
        ))[0];
        // Times on the clock are whole microseconds.
        let (found, expected) = (number(&facts["in_use"]), number(&union["t"]));
        assert!(
            (found - expected).abs() < 1e-4,
            "{job}: {found}, not {expected}"
        );
    }
}

fn jobs_and_logs_that_are_not_there_are_named_with_the_nearest() {
    let log = log("sample");
    for (options, words) in [
        (
            ["--job", "5"],
            "job 5: there is no Darshan log of it, and no Slurm record either; the nearest job with a log is 4478544",
        ),
        (["--log", "-5"], "log -5: the lake has no such log"),
        (["--format", "csv"], "diagnose is a page; --format csv"),
    ] {
        let refused = iolode(
            Path::new("."),
            &[&["diagnose", log.as_str()][..], &options].concat(),
        );
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    let logs = shared_data().join("darshan");
    let refused = iolode(Path::new("."), &["diagnose", logs.to_str().unwrap()]);
    assert!(
        refused
            .stderr
            .contains("diagnose needs --job or --log where there are more than 20 jobs"),
        "{}",
        refused.stderr
    );
}

/// By pydarshan it runs from 1497980979 to 1497981758 s after 1970: from 17:49:39 to 18:02:38 UTC on 2017-06-20.
fn times_on_a_page_are_those_of_the_zone() {
    for (options, times) in [
        (
            &[][..],
            "2017-06-20 17:49:39+00:00 to 2017-06-20 18:02:38+00:00; ",
        ),
        (
            &["--timezone", "Europe/Berlin"],
            "2017-06-20 19:49:39+02:00 to 2017-06-20 20:02:38+02:00; ",
        ),
    ] {
        let page = page("sample-badost", options);
        assert!(page.contains(&format!("\n  {times}")), "{page}");
    }
}

/// sacct's times are those of Berlin, and are first read as UTC. The log runs from 17:49:39 to 18:02:38 UTC.
fn a_record_of_another_zone_is_said_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let dump = "JobIDRaw|JobID|State|NNodes|Submit|Start|End\n\
                6265799|6265799|COMPLETED|64|2017-06-20T19:00:00|2017-06-20T19:49:30|2017-06-20T20:02:40\n";
    std::fs::write(dir.path().join("sacct.txt"), dump).unwrap();
    let log = log("sample-badost");
    let page = |lake: &str, zone: &[&str]| {
        let inputs = ["--darshan", &log, "--slurm", "sacct.txt"];
        let ingest = [&["ingest", "--create", "--lake", lake][..], &inputs, zone].concat();
        iolode(dir.path(), &ingest).ok();
        let page = iolode(dir.path(), &["query", "--lake", lake, "diagnose"]).ok();
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let wrong = page("wrong", &[]);
    let hint = "no Slurm record at that time, but one of this job 2 h 0 min later: if sacct's times were read in the wrong zone, \
                `iolode lake forget LAKE --slurm`, then ingest them with --timezone NAME";
    assert!(wrong.contains(hint), "{wrong}");
    let right = page("right", &["--timezone", "Europe/Berlin"]);
    assert!(
        right.contains(" on 64 nodes, COMPLETED (Slurm record: job)"),
        "{right}"
    );
}

/// `tests/oracles/duckdb/named_queries/verdicts.toml`.
#[derive(serde::Deserialize)]
struct Verdicts {
    page: Vec<Verdict>,
}

#[derive(serde::Deserialize)]
struct Verdict {
    /// Below the data.
    path: String,
    /// Rules that are to be among the causes.
    must: Vec<String>,
    /// Rules that are not; `any`: there is to be no cause.
    must_not: Vec<String>,
    reason: String,
}

fn real_logs_have_the_causes_on_their_pages_that_were_expected_of_them() {
    let verdicts = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracles/duckdb/named_queries/verdicts.toml");
    let verdicts: Verdicts = toml::from_str(&std::fs::read_to_string(verdicts).unwrap()).unwrap();
    assert_eq!(verdicts.page.len(), 88);
    let mut wrong = vec![];
    for verdict in &verdicts.page {
        let log = shared_data().join(&verdict.path);
        let arguments = ["diagnose", log.to_str().unwrap(), "--format", "json"];
        let answers: Value =
            serde_json::from_str(&iolode(Path::new("."), &arguments).ok()).unwrap();
        let causes: Vec<String> = causes(&answers[0])
            .into_iter()
            .map(|(rule, _)| rule)
            .collect();
        let missing = verdict.must.iter().filter(|rule| !causes.contains(rule));
        let none = verdict.must_not.iter().any(|rule| rule == "any");
        let surplus = causes
            .iter()
            .filter(|rule| none || verdict.must_not.contains(rule));
        let (missing, surplus): (Vec<_>, Vec<_>) = (missing.collect(), surplus.collect());
        if !(missing.is_empty() && surplus.is_empty()) {
            let what = format!("{}: without {missing:?}, with {surplus:?}", verdict.path);
            wrong.push(format!("{what}; but {}", verdict.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
