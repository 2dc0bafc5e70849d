//! Ranges of job ids: how they are cut, and where they lie.

use super::*;

#[test]
fn many_logs_are_cut_into_ranges_of_about_equal_size() {
    let bench = Bench::new();
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.files().len(), 16);
    assert!(
        snapshot
            .files()
            .iter()
            .all(|file| (210..=315).contains(&file.rows))
    );
    assert_eq!(bench.rows().len(), MANY);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn an_overfull_range_is_cut_and_no_row_is_lost() {
    let bench = Bench::with(&CreateOptions {
        range_bytes: 1500,
        ..CreateOptions::default()
    });
    let mut expected = vec![];
    for round in 0..6 {
        for i in 0..20i64 {
            let job = (i * 37 + round * 11) % 500;
            bench.log(
                &format!("{round}-{i}"),
                &format!("mounts {job} 0 /{round}-{i} {}", "padding ".repeat(20)),
            );
            expected.push(row(job, &format!("/{round}-{i}")));
        }
        bench.ingest();
        let report = bench.lake.check().unwrap();
        assert!(report.wrong.is_empty(), "{:?}", report.wrong);
    }
    expected.sort();
    let mut found: Vec<_> = bench
        .rows()
        .into_iter()
        .filter(|(_, name)| name.starts_with('/'))
        .collect();
    found.sort();
    assert_eq!(found, expected);
    assert!(bench.lake.snapshot(None).unwrap().splits().len() > 3);
}

#[test]
fn a_lake_in_memory_holds_the_same_rows() {
    let bench = Bench::new();
    for job in 0..50 {
        bench.log(&format!("{job}"), &format!("mounts {} 0 /{job}", job % 7));
    }
    bench.ingest();
    let memory = Lake::in_memory().unwrap();
    memory.ingest(&bench.options(), &Silent).unwrap();
    assert_eq!(rows(&memory), bench.rows());
    assert!(memory.check().unwrap().wrong.is_empty());
}

#[test]
fn ranges_lie_on_the_directories_that_were_given() {
    let disks = tempfile::tempdir().unwrap();
    let dirs = ["a", "b"].map(|name| disks.path().join(name)).to_vec();
    let site = SiteFile {
        place: Placement::Dirs { dirs: dirs.clone() },
        ..SiteFile::default()
    };
    let bench = Bench::with(&CreateOptions {
        settings: site.to_text().unwrap(),
        ..CreateOptions::default()
    });
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 /{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    for (number, dir) in dirs.iter().enumerate() {
        let on = snapshot
            .files()
            .iter()
            .filter(|file| file.ost == Some(number as i64));
        assert_eq!(on.clone().count(), 8);
        assert!(
            on.into_iter()
                .all(|file| Path::new(&file.path).starts_with(dir))
        );
    }
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_lake_that_began_with_few_logs_gets_ranges_when_many_come() {
    let bench = Bench::new();
    bench.log("first", "mounts 300 0 first");
    bench.ingest();
    assert_eq!(bench.lake.snapshot(None).unwrap().splits().len(), 0);
    for job in 0..MANY {
        bench.log(&format!("{job}"), &format!("mounts {job} 0 n{job}"));
    }
    bench.ingest();
    let snapshot = bench.lake.snapshot(None).unwrap();
    assert_eq!(snapshot.splits().len(), 15);
    assert_eq!(bench.rows().len(), MANY + 1);
    assert_eq!(bench.lake.check().unwrap().wrong, []);
}
