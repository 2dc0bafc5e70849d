//! Users' functions in the manifest: what each version knows, and who wins a race.

use super::*;

fn function(name: &str, body: &str) -> UserFunction {
    UserFunction {
        name: name.into(),
        parameters: vec![UserParameter {
            name: "x".into(),
            type_name: "BIGINT".into(),
        }],
        returns: "BIGINT".into(),
        body: body.into(),
    }
}

/// One more function; refused if there is one of that name.
fn add(lake: &Lake, new: &UserFunction) -> Result<Option<u64>> {
    lake.change_functions(&format!("create function {}", new.name), |have| match have
        .iter()
        .any(|known| known.name == new.name)
    {
        true => Err(Error::Invalid("it is there".into())),
        false => Ok(have.iter().chain([new]).cloned().collect()),
    })
}

fn names(lake: &Lake, version: Option<u64>) -> Vec<String> {
    let snapshot = lake.snapshot(version).unwrap();
    let functions = &snapshot.manifest().functions;
    functions.iter().map(|f| f.name.clone()).collect()
}

#[test]
fn a_function_is_a_version_of_its_own_and_stays_through_what_comes_after() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 1 x");
    bench.ingest();
    assert_eq!(add(&bench.lake, &function("f", "x")).unwrap(), Some(3));
    bench.log("b", "mounts 2 1 y z");
    bench.ingest();
    bench.lake.forget(SOURCE).unwrap();
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 5);
    assert_eq!(names(&bench.lake, None), ["f"]);
    assert_eq!(names(&bench.lake, Some(3)), ["f"]);
    assert_eq!(names(&bench.lake, Some(2)), [""; 0]);
    // What it changed is nothing else: rows and bytes are those of before, and its name is in the history.
    let (before, after) = (bench.lake.snapshot(Some(2)), bench.lake.snapshot(Some(3)));
    let (before, after) = (before.unwrap(), after.unwrap());
    let (before, after) = (before.manifest(), after.manifest());
    assert_eq!(after.operation, "create function f");
    assert_eq!(
        (before.summary.rows, before.summary.bytes, &before.files),
        (after.summary.rows, after.summary.bytes, &after.files)
    );
    assert_eq!((after.summary.inputs, after.summary.files_added), (0, 0));
    // Nothing to change is no version.
    let same = bench.lake.change_functions("x", |have| Ok(have.to_vec()));
    assert_eq!(same.unwrap(), None);
    assert!(bench.lake.check().unwrap().wrong.is_empty());
}

#[test]
fn a_manifest_without_functions_has_none_and_one_with_them_is_read_back() {
    let lake = Lake::in_memory().unwrap();
    let path = Manifest::path(1);
    let text = String::from_utf8(lake.store().read(&path).unwrap().unwrap().to_vec()).unwrap();
    assert!(!text.contains("functions"), "{text}");
    let functions = vec![
        function("f", "CASE WHEN x < 1 THEN 'it''s' ELSE \"X\" END"),
        function("Ü \"g\"", "f(x)"),
    ];
    assert_eq!(
        functions[1].signature(),
        "\"Ü \"\"g\"\"\"(x BIGINT) RETURNS BIGINT"
    );
    let changed = lake.change_functions("two", |_| Ok(functions.clone()));
    assert_eq!(changed.unwrap(), Some(2));
    let again = Manifest::read(lake.store(), 2).unwrap().unwrap();
    assert_eq!(again.functions, functions);
    let text = serde_json::to_value(&again).unwrap();
    assert_eq!(text["functions"][0]["parameters"][0]["type"], "BIGINT");
    assert_eq!(text["format"], 2);
}

#[test]
fn of_functions_made_at_the_same_time_all_are_there_and_of_one_name_one() {
    let bench = Bench::new();
    bench.log("a", "mounts 1 1 x");
    let lakes: Vec<Lake> = (0..8)
        .map(|_| Lake::open(bench.lake.root().unwrap()).unwrap())
        .collect();
    let (made, refused): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        // Each name twice, and an ingest beside them.
        let ingest = scope.spawn(|| bench.ingest());
        let made: Vec<_> = lakes
            .iter()
            .enumerate()
            .map(|(at, lake)| {
                let new = function(&format!("f{}", at / 2), &at.to_string());
                scope.spawn(move || add(lake, &new))
            })
            .collect();
        let made = made.into_iter().map(|made| made.join().unwrap());
        let both = made.partition(|made| made.is_ok());
        assert_eq!(ingest.join().unwrap().rows, 1);
        both
    });
    assert_eq!((made.len(), refused.len()), (4, 4));
    for error in refused {
        assert_eq!(error.unwrap_err().to_string(), "it is there");
    }
    let mut all = names(&bench.lake, None);
    all.sort();
    assert_eq!(all, ["f0", "f1", "f2", "f3"]);
    assert_eq!(bench.rows(), [row(1, "x")]);
    assert_eq!(bench.lake.snapshot(None).unwrap().version(), 6);
}

#[test]
fn somebody_who_commits_all_the_time_is_named_in_the_end() {
    let lake = Lake::in_memory().unwrap();
    let other = lake.clone();
    let count = std::sync::atomic::AtomicU64::new(0);
    let error = lake
        .change_functions("mine", |_| {
            let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let theirs = vec![function("theirs", &n.to_string())];
            other.change_functions("theirs", |_| Ok(theirs.clone()))?;
            Ok(vec![function("mine", "x")])
        })
        .unwrap_err();
    assert!(
        matches!(&error, Error::Conflict { .. })
            && error
                .to_string()
                .ends_with("others committed 100 times while this change was ready; run it again"),
        "{error}"
    );
}
