//! A page printed or drawn by a browser without a window.
//!
//! The page says on the console when its charts are drawn. A browser that ends without having said so has printed a page without charts, which is no page.

use super::programs::find;
use crate::error::Error;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A browser that can print without a window.
pub(super) struct Browser {
    program: PathBuf,
    /// Where the page, the browser's profile and what it writes are; gone with it.
    directory: tempfile::TempDir,
}

/// Names of browsers that have the options used here.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// No window, and nothing that asks the network.
const OPTIONS: [&str; 12] = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--no-pdf-header-footer",
    // Time of the page, which runs as fast as the page lets it.
    "--virtual-time-budget=60000",
    // The console of the page goes to stderr.
    "--enable-logging=stderr",
    "--force-device-scale-factor=2",
];

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// What the page says on the console once it is drawn, with its height behind it.
const DRAWN: &str = "iolode-page-drawn-";

/// Has all charts drawn, in view or not, and says on the console that they are, with the height of the page.
const DRAW_ALL: &str = r#"<script>
document.documentElement.dataset.draw = "all";
addEventListener("load", () => {
  const root = document.documentElement;
  const say = () => requestAnimationFrame(() => console.log("iolode-page-drawn-" + root.scrollHeight));
  if (!document.querySelector(".chart") || root.dataset.drawn) return say();
  new MutationObserver(say).observe(root, { attributes: true, attributeFilter: ["data-drawn"] });
});
</script>"#;

/// Two charts on a page of paper.
const PAPER: &str =
    "<style>@page { size: A4; margin: 15mm 12mm; } .chart { height: 18rem; }</style>";

/// A section alone: its title, findings and chart, or its table if it has no chart.
const SECTION: &str = "<style>header, nav, footer, .sql, summary, .hint, .tools, .modebar, figure ~ details { display: none !important; } section { margin: 0; border: 0; } .scroll { max-height: none; }</style>";

/// Width of the picture of a section, in pixels of the page.
const WIDTH: u32 = 1100;

impl Browser {
    /// The browser of `CHROMIUM`, else of the path.
    ///
    /// # Errors
    /// If there is none; `what` it is needed for is said.
    pub(super) fn find(what: &str) -> anyhow::Result<Self> {
        let program = Self::program(what)?;
        let directory = tempfile::Builder::new().prefix("iolode-page.").tempdir();
        let directory = directory.context("cannot make a temporary directory for the browser")?;
        Ok(Self { program, directory })
    }

    /// Where that browser is.
    ///
    /// # Errors
    /// As [`Browser::find`].
    pub(super) fn program(what: &str) -> anyhow::Result<PathBuf> {
        find(&format!("{what} needs a browser"), "CHROMIUM", &NAMES, &[])
    }

    /// A page of HTML as PDF.
    ///
    /// # Errors
    /// If the browser does not print it.
    pub(super) fn pdf(&self, page: &str) -> anyhow::Result<Vec<u8>> {
        Ok(self.written(page, PAPER, "pdf", "--print-to-pdf", 900)?.0)
    }

    /// The picture of a page with one section.
    ///
    /// # Errors
    /// If the browser does not draw it.
    pub(super) fn png(&self, page: &str) -> anyhow::Result<Vec<u8>> {
        let draw = |height| self.written(page, SECTION, "png", "--screenshot", height);
        // The first look tells how high the section is.
        let (_, height) = draw(600)?;
        Ok(draw(height)?.0)
    }

    /// What the browser writes of the page, and how high the page is.
    fn written(
        &self,
        page: &str,
        style: &str,
        ending: &str,
        option: &str,
        height: u32,
    ) -> anyhow::Result<(Vec<u8>, u32)> {
        let html = self.directory.path().join("page.html");
        // No text of others in the page can end its head: it is escaped.
        let page = page.replacen("</head>", &format!("{style}{DRAW_ALL}</head>"), 1);
        std::fs::write(&html, page).map_err(|e| Error::io(&html, "cannot write", e))?;
        let out = html.with_extension(ending);
        let with_path = |option: &str, path: &Path| {
            let mut word = OsString::from(format!("{option}="));
            word.push(path);
            word
        };
        let mut command = Command::new(&self.program);
        command.args(OPTIONS);
        // Its settings and caches are not those of the user.
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env(variable, html.with_extension("profile"));
        }
        if rustix::process::geteuid().is_root() {
            // It refuses its sandbox to root.
            command.arg("--no-sandbox");
        }
        command
            .arg(format!("--window-size={WIDTH},{height}"))
            .arg(with_path(
                "--user-data-dir",
                &html.with_extension("profile"),
            ))
            .arg(with_path(option, &out))
            .arg(url(&html));
        let said = self.run(&mut command)?;
        let written = std::fs::read(&out).unwrap_or_default();
        let drawn = said.rsplit_once(DRAWN).map(|(_, behind)| {
            let digits = behind.find(|c: char| !c.is_ascii_digit());
            behind[..digits.unwrap_or(behind.len())].parse()
        });
        let program = self.program.display();
        match (written.is_empty(), drawn) {
            (false, Some(Ok(height))) => Ok((written, height)),
            (false, _) => bail!("{program}: has not drawn the charts of the page"),
            (true, _) => bail!("{program}: wrote nothing: {}", last_line(&said)),
        }
    }

    /// Runs the browser to its end; what it says.
    fn run(&self, command: &mut Command) -> anyhow::Result<String> {
        let program = self.program.display();
        let log = self.directory.path().join("log");
        let stderr = std::fs::File::create(&log).map_err(|e| Error::io(&log, "cannot write", e))?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut running = command
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("{program}: cannot be started"))?;
        let begun = Instant::now();
        while running.try_wait()?.is_none() {
            if begun.elapsed() > PATIENCE {
                let _ = running.kill();
                let _ = running.wait();
                bail!("{program}: did not end within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = std::fs::read(&log).unwrap_or_default();
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// The URL of a file.
fn url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            // Writing to a String cannot fail.
            byte => _ = write!(url, "%{byte:02X}"),
        }
    }
    url
}

fn last_line(said: &str) -> &str {
    let mut lines = said.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or("no word why")
}
