//! A month of which no file is written: a lake takes in its logs and dumps one by one as they are made.
//!
//! Everything is made twice. The first time tells how large each log is, whose it is and when it ran, which is what the accounting,
//! the samples and the cuts of the lake depend on; nothing else is kept. The second time somebody reads it.

use crate::error::{Error, Result};
use crate::source::darshan::Darshan;
use crate::source::darshan::write::Encoder;
use crate::source::{Input, InputMeta, InputProvider, Peek, Source};
use crate::synth::lmt::Samples;
use crate::synth::scenario::plan::Plan;
use crate::synth::slurm::{Entry, Ledger};
use crate::synth::truth::Dumps;
use crate::synth::write::{
    Files, NOT_DARSHAN, all_loads, each_job, make_job, summary, truth_text, windows,
};
use crate::synth::{Kind, Month, Summary, site};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of logs that are kept because others of their jobs were asked for.
const KEPT: usize = 16 << 20;

/// The inputs of a month, made when they are read: the same bytes under the same paths as [`crate::synth::write()`] has them.
pub struct GeneratedInputs {
    plan: Plan,
    root: PathBuf,
    ledger: Option<Ledger>,
    /// Entries of each day's dump.
    days: Vec<Vec<Entry>>,
    samples: Option<Samples>,
    inputs: Vec<Kept>,
    /// Place in `inputs` by the hash of the path.
    places: HashMap<u64, u32>,
    summary: Summary,
    truth: String,
    aside: Mutex<Aside>,
}

/// What is known of an input.
struct Kept {
    /// Below the root.
    path: Box<Path>,
    bytes: u64,
    /// Seconds since 1970.
    modified: i64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// File `number` of a job, and where its rows belong, if that is known.
    Log {
        job: u32,
        number: u32,
        peek: Option<Peek>,
    },
    NotDarshan,
    /// The dump of a day.
    Slurm(usize),
    /// A database.
    Lmt(usize),
}

/// What can be used again.
#[derive(Default)]
struct Aside {
    encoders: Vec<Encoder>,
    /// Logs that were made with others of their job, by job and number.
    logs: HashMap<(u32, u32), Vec<u8>>,
    bytes: usize,
}

impl GeneratedInputs {
    /// A month whose files would lie below `root`, an absolute path at which nothing needs to be. Every log is made once, on so many
    /// threads; `progress` is called on this one with the number of jobs done.
    ///
    /// # Errors
    /// [`Error::Invalid`] if what was planted is no JSON, which it always is.
    pub fn new(month: &Month, root: &Path, threads: usize, progress: &dyn Fn(u64)) -> Result<Self> {
        let look = |index: u64, files: Files| {
            let look = files.into_iter().zip(0..).map(|((path, bytes), number)| {
                let bytes_of_it = bytes.len() as u64;
                // Of what the reader does not take at once the lake finds out itself why.
                let known = Darshan.probe(&path, &bytes[..bytes.len().min(4096)]);
                let peek = known
                    .then(|| Darshan.peek(&Input::from_bytes(&path, bytes)).ok())
                    .flatten();
                Kept {
                    path: path.into(),
                    bytes: bytes_of_it,
                    modified: 0,
                    what: What::Log {
                        job: index as u32,
                        number,
                        peek,
                    },
                }
            });
            Ok(look.collect::<Vec<Kept>>())
        };
        let (mut facts, mut inputs) = (vec![], vec![]);
        for (of_job, mut kept) in each_job(month, threads, progress, &look)? {
            let ended = of_job.windows.iter().map(|(_, end)| *end as i64).max();
            for input in &mut kept {
                input.modified = ended.unwrap_or(month.end());
            }
            facts.push(of_job);
            inputs.append(&mut kept);
        }
        let (mut ledger, mut samples, mut dumps) = (None, None, Dumps::default());
        if month.slurm || month.lmt_seconds > 0 {
            let made = Ledger::new(month, windows(&mut facts));
            if month.lmt_seconds > 0 {
                let loads = all_loads(month, &mut facts, &made);
                let (made, account) = Samples::new(month, loads)?;
                dumps.lmt = Some(account.truth(month));
                samples = Some(made);
            }
            if month.slurm {
                dumps.slurm = Some(made.truth());
                ledger = Some(made);
            }
        }
        let mut add = |path: PathBuf, bytes, modified, what| {
            inputs.push(Kept {
                path: path.into(),
                bytes,
                modified,
                what,
            });
        };
        let below = Month::paths(Path::new(""));
        if month.kind == Kind::Usual {
            let (name, text) = NOT_DARSHAN;
            add(
                name.into(),
                text.len() as u64,
                month.start,
                What::NotDarshan,
            );
        }
        let days = ledger.as_ref().map_or(vec![], Ledger::days);
        for (ledger, day) in ledger
            .iter()
            .flat_map(|l| (0..days.len()).map(move |d| (l, d)))
        {
            let printed = month.start + (day as i64 + 1) * 86_400;
            let path = below.slurm.join(ledger.name(day as i64));
            add(path, 0, printed, What::Slurm(day));
        }
        let databases = samples.iter().flat_map(Samples::names).enumerate();
        for (at, (name, made)) in databases {
            add(below.lmt.join(name), 0, made, What::Lmt(at));
        }
        let places = inputs.iter().zip(0..);
        let places = places.map(|(input, at)| (hash(&root.join(&input.path)), at));
        dumps.files = (days.len() + samples.as_ref().map_or(0, |s| s.names().count())) as u64;
        Ok(Self {
            plan: Plan::new(*month),
            root: root.to_path_buf(),
            days,
            samples,
            places: places.collect(),
            summary: summary(month, &facts, &dumps),
            truth: truth_text(month, &facts, &dumps)?,
            aside: Mutex::default(),
            ledger,
            inputs,
        })
    }

    /// What there is of it; the bytes of dumps are not known.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// What was planted: the text of `truth.json`.
    pub fn truth(&self) -> &str {
        &self.truth
    }

    /// What the site knows: the text of `site.toml`.
    pub fn site() -> String {
        site::text()
    }

    fn find(&self, path: &Path) -> Option<&Kept> {
        let at = *self.places.get(&hash(path))?;
        let found = &self.inputs[at as usize];
        (path.strip_prefix(&self.root).ok()? == &*found.path).then_some(found)
    }

    /// File `number` of a job. The others that are made with it are put aside, for a job's logs are read one after another.
    fn log(&self, job: u32, number: u32) -> Vec<u8> {
        let mut encoder = None;
        if let Ok(mut aside) = self.aside.lock() {
            if let Some(bytes) = aside.logs.remove(&(job, number)) {
                aside.bytes -= bytes.len();
                return bytes;
            }
            encoder = aside.encoders.pop();
        }
        let mut encoder = encoder.unwrap_or_default();
        let (_, mut files) = make_job(&self.plan, u64::from(job), &mut encoder);
        let wanted = std::mem::take(&mut files[number as usize].1);
        if let Ok(mut aside) = self.aside.lock() {
            aside.encoders.push(encoder);
            for ((_, bytes), other) in files.into_iter().zip(0..) {
                if other == number {
                    continue;
                }
                if aside.bytes + bytes.len() > KEPT {
                    aside.logs.clear();
                    aside.bytes = 0;
                }
                aside.bytes += bytes.len();
                if let Some(same) = aside.logs.insert((job, other), bytes) {
                    aside.bytes -= same.len();
                }
            }
        }
        wanted
    }
}

fn hash(path: &Path) -> u64 {
    xxh3_64(path.as_os_str().as_encoded_bytes())
}

impl InputProvider for GeneratedInputs {
    fn list(&self) -> Vec<InputMeta> {
        let listed = self.inputs.iter().map(|input| InputMeta {
            path: self.root.join(&input.path),
            bytes: input.bytes,
            modified: input.modified * 1_000_000,
        });
        listed.collect()
    }

    fn peek(&self, path: &Path) -> Option<(&'static str, Peek)> {
        match self.find(path)?.what {
            What::Log { peek, .. } => Some(("darshan", peek?)),
            What::NotDarshan => None,
            What::Slurm(_) => Some(("slurm", Peek::Dump)),
            What::Lmt(_) => Some(("lmt", Peek::Dump)),
        }
    }

    fn open(&self, path: &Path) -> Result<Input> {
        let nothing = || {
            let why = std::io::Error::other("the month has no such input");
            Error::io(path, "cannot open", why)
        };
        let input = self.find(path).ok_or_else(nothing)?;
        let made = match input.what {
            What::Log { job, number, .. } => Input::from_bytes(path, self.log(job, number)),
            What::NotDarshan => Input::from_bytes(path, NOT_DARSHAN.1.into()),
            What::Slurm(day) => {
                let ledger = self.ledger.as_ref().ok_or_else(nothing)?;
                let text = ledger.dump(day as i64, &self.days[day]);
                Input::from_bytes(path, text.into_bytes())
            }
            What::Lmt(at) => {
                let samples = self.samples.as_ref().ok_or_else(nothing)?;
                let no_file =
                    |e| Error::io(std::env::temp_dir(), "cannot make a temporary file", e);
                let file = tempfile::NamedTempFile::new().map_err(no_file)?;
                let file = file.into_temp_path();
                samples.write(at, &file)?;
                Input::from_temporary(path, file)?
            }
        };
        Ok(made.with_modified(input.modified * 1_000_000))
    }
}
