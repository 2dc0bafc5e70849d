//! The job region: who ran what, when, on how many processes, and what was mounted.
//!
//! | | before 3.41 | 3.41 |
//! |---|---|---|
//! | uid i64 | 0 | 0 |
//! | start seconds, nanoseconds i64 | 8, - | 8, 16 |
//! | end seconds, nanoseconds i64 | 16, - | 24, 32 |
//! | nprocs i64, job id i64 | 24, 32 | 40, 48 |
//! | metadata, 1024 bytes of text | 40 | 56 |
//! | command line and mounts, text to the end | 1064 | 1080 |
//!
//! Source: FORMAT.md 3.

use super::header::Header;

/// Bytes of the region that mean something.
const LENGTH: usize = 4096;

/// What the job region says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// User id.
    pub uid: i64,
    /// Start, seconds since 1970.
    pub start_sec: i64,
    /// Nanoseconds beyond; 0 before version 3.41.
    pub start_nsec: i64,
    /// End, seconds since 1970.
    pub end_sec: i64,
    /// Nanoseconds beyond; 0 before version 3.41.
    pub end_nsec: i64,
    /// Processes.
    pub nprocs: i64,
    /// Job id.
    pub job_id: i64,
    /// Lines `key=value`.
    pub metadata: Vec<u8>,
    /// Command line, arguments joined by blanks.
    pub exe: Vec<u8>,
    /// Darshan cut the command line short.
    pub exe_truncated: bool,
    /// What was mounted, in the order of the log.
    pub mounts: Vec<Mount>,
    /// Whole seconds, of which the last one counts: versions before 3.41.
    pub whole_seconds: bool,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Type, such as `lustre`.
    pub fs_type: Vec<u8>,
    /// Where it is mounted.
    pub path: Vec<u8>,
}

impl Job {
    /// Reads the inflated region into `self`; None if it ends before the job id. Of a region that is not `whole`, texts
    /// whose end is missing are left empty.
    pub(super) fn read(&mut self, header: &Header, bytes: &[u8], whole: bool) -> Option<()> {
        let bytes = bytes.get(..LENGTH).unwrap_or(bytes);
        let word = |at: usize| header.order.i64(bytes, 8 * at);
        self.whole_seconds = header.version < (3, 41);
        [
            self.uid,
            self.start_sec,
            self.start_nsec,
            self.end_sec,
            self.end_nsec,
            self.nprocs,
            self.job_id,
        ] = match self.whole_seconds {
            true => [word(0)?, word(1)?, 0, word(2)?, 0, word(3)?, word(4)?],
            false => [
                word(0)?,
                word(1)?,
                word(2)?,
                word(3)?,
                word(4)?,
                word(5)?,
                word(6)?,
            ],
        };
        let text = if self.whole_seconds { 40 } else { 56 };
        let metadata = bytes
            .get(text..)
            .map_or(&[][..], |tail| tail.get(..1024).unwrap_or(tail));
        let tail = bytes.get(text + 1024..).unwrap_or_default();
        let [metadata, tail] = [metadata, tail].map(|text| match whole || text.contains(&0) {
            true => until_nul(text),
            false => &[],
        });
        self.metadata.clear();
        self.metadata.extend_from_slice(metadata);
        self.tail(tail);
        Some(())
    }

    /// The command line, and after each newline a mount: type, tab, path. There may be no newline at all.
    fn tail(&mut self, tail: &[u8]) {
        let mut lines = tail.split(|b| *b == b'\n');
        let exe = lines.next().unwrap_or_default();
        let cut = exe.strip_suffix(b"<TRUNCATED>");
        self.exe_truncated = cut.is_some();
        self.exe.clear();
        self.exe
            .extend_from_slice(cut.unwrap_or(exe).trim_ascii_end());
        self.mounts.clear();
        for line in lines {
            // A line that is no pair is left out, not the log.
            let Some(tab) = line.iter().position(|b| *b == b'\t') else {
                continue;
            };
            let (fs_type, path) = (&line[..tab], &line[tab + 1..]);
            if !fs_type.is_empty() && path.starts_with(b"/") {
                self.mounts.push(Mount {
                    fs_type: fs_type.to_vec(),
                    path: path.to_vec(),
                });
            }
        }
    }

    /// Run time in seconds. Before version 3.41 times are whole seconds and the end counts as one.
    pub fn run_time(&self) -> f64 {
        let seconds = self.end_sec.saturating_sub(self.start_sec) as f64;
        match self.whole_seconds {
            true => seconds + 1.0,
            false => seconds + (self.end_nsec.saturating_sub(self.start_nsec)) as f64 / 1e9,
        }
    }

    /// Start, microseconds since 1970; None if it is no time.
    pub fn start_micros(&self) -> Option<i64> {
        micros(self.start_sec, self.start_nsec)
    }

    /// End, microseconds since 1970; None if it is no time.
    pub fn end_micros(&self) -> Option<i64> {
        micros(self.end_sec, self.end_nsec)
    }
}

fn micros(seconds: i64, nanoseconds: i64) -> Option<i64> {
    if seconds <= 0 {
        return None;
    }
    seconds
        .checked_mul(1_000_000)?
        .checked_add(nanoseconds / 1000)
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &[u8]) -> Job {
        let mut job = Job::default();
        job.tail(text);
        job
    }

    #[test]
    fn a_command_line_without_a_mount_is_kept_and_a_cut_one_is_flagged() {
        let job = tail(b"java -cp a.jar <TRUNCATED>");
        assert_eq!(
            (job.exe.as_slice(), job.exe_truncated, job.mounts.len()),
            (&b"java -cp a.jar"[..], true, 0)
        );
    }

    #[test]
    fn a_mount_point_may_hold_a_blank_and_a_bad_line_costs_only_itself() {
        let job = tail(b"./a b\nlustre\t/my scratch\nnonsense\nnfs\t/home\next4\trelative");
        let mounts: Vec<_> = job
            .mounts
            .iter()
            .map(|m| String::from_utf8_lossy(&m.path).into_owned())
            .collect();
        assert_eq!(mounts, ["/my scratch", "/home"]);
        assert_eq!(job.exe, b"./a b");
    }

    #[test]
    fn the_last_second_counts_before_version_3_41() {
        let job = Job {
            start_sec: 10,
            end_sec: 14,
            whole_seconds: true,
            ..Job::default()
        };
        assert_eq!(job.run_time(), 5.0);
        let job = Job {
            start_sec: 10,
            start_nsec: 500_000_000,
            end_sec: 14,
            end_nsec: 250_000_000,
            ..Job::default()
        };
        assert_eq!(job.run_time(), 3.75);
        assert_eq!(job.start_micros(), Some(10_500_000));
    }
}
