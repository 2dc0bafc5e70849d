//! LMT's database in a live server.

use crate::columns::ints;
use crate::lmt_files::{DUMP, context, real, resolved, rows};
use iolode::source::lmt::Lmt;
use iolode::source::{BatchSink, Input, Outcome, Peek, Period, ReadContext, Source};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

crate::tests! {
    [Data, MariaDb] => {
        a_live_database_gives_the_rows_of_its_dump,
    }
}

/// A MariaDB of its own, on loopback; stopped when it is dropped.
struct MariaDb {
    folder: tempfile::TempDir,
    process: Child,
    port: u16,
}

impl MariaDb {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
        let root = Command::new("id")
            .arg("-u")
            .output()
            .is_ok_and(|id| id.stdout.trim_ascii() == b"0");
        let user = root.then_some("--user=root");
        let installed = Command::new("mariadb-install-db")
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ])
            .arg(format!("--datadir={}", path("db")))
            .args(user)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(installed.unwrap().success(), "no new database");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = Command::new("mariadbd")
            .args([
                "--no-defaults",
                "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=32M",
                "--skip-log-bin",
            ])
            .args([
                format!("--datadir={}", path("db")),
                format!("--socket={}", path("s.sock")),
            ])
            .args([
                format!("--pid-file={}", path("p.pid")),
                format!("--port={port}"),
            ])
            .args(user)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            folder,
            process,
            port,
        };
        for _ in 0..600 {
            if server
                .client(&[])
                .args(["-e", "SELECT 1"])
                .output()
                .is_ok_and(|o| o.status.success())
            {
                return server;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("mariadbd does not answer after a minute");
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut client = Command::new("mariadb");
        client.arg("--no-defaults").arg(format!(
            "--socket={}",
            self.folder.path().join("s.sock").display()
        ));
        client.arg("-uroot").args(arguments);
        client
    }

    fn run(&self, sql: &str) {
        let output = self.client(&["-e", sql]).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn a_live_database_gives_the_rows_of_its_dump() {
    let dump = real(DUMP);
    let server = MariaDb::start();
    server.run("CREATE DATABASE filesystem_snx11025; CREATE DATABASE wordpress");
    server.run("CREATE USER 'lmt'@'127.0.0.1' IDENTIFIED BY 'se cret'; GRANT SELECT ON *.* TO 'lmt'@'127.0.0.1'");
    let mut load = server
        .client(&["filesystem_snx11025"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut load.stdin.take().unwrap(), &dump).unwrap();
    assert!(load.wait().unwrap().success());

    let address = |password: &str, name: &str| {
        format!("mysql://lmt:{password}@127.0.0.1:{}/{name}", server.port)
    };
    let live = Input::server(&address("se%20cret", "filesystem_snx11025"));
    assert!(Lmt.serves(live.address().unwrap()));
    assert_eq!(Lmt.peek(&live).unwrap(), Peek::Dump);
    let dump = Input::from_bytes(DUMP, dump);
    for name in Lmt.tables() {
        let (found, outcome) = rows(name, &live, &context());
        assert_eq!(outcome, Outcome::default());
        let expected = resolved(name, &[&rows(name, &dump, &context()).0]);
        assert_eq!(resolved(name, &[&found]), expected, "{name}");
    }

    // One minute, and the margin of a minute on both sides: 00:01:00 to 00:04:00, without the end.
    let begin = 1_517_126_400_000_000;
    let period = Period {
        from: Some(begin + 120_000_000),
        to: Some(begin + 180_000_000),
    };
    let site_of_minute = Arc::new(ReadContext {
        period,
        ..(*context()).clone()
    });
    for input in [&live, &dump] {
        let (found, _) = rows("lmt_mdt", input, &site_of_minute);
        let times = ints(&found, "time").into_iter().flatten();
        assert!(
            times.eq((0..36).map(|at| begin + 60_000_000 + at * 5_000_000)),
            "{:?}",
            input.path()
        );
    }

    let refused = |input: &Input| {
        let error = Lmt
            .reader(context())
            .read(input, 1, None, &mut BatchSink::new(["lmt_ost"]).unwrap())
            .unwrap_err();
        let error = error.to_string();
        assert!(!error.contains("wrong-secret"), "{error}");
        error
    };
    let error = refused(&Input::server(&address(
        "wrong-secret",
        "filesystem_snx11025",
    )));
    assert!(
        error.contains("cannot connect: access denied") || error.contains("Access denied"),
        "{error}"
    );
    let error = refused(&Input::server(&address("se%20cret", "wordpress")));
    assert!(error.contains("not LMT's"), "{error}");
    drop(server);
    let error = refused(&live);
    assert!(error.contains("cannot connect"), "{error}");
}
