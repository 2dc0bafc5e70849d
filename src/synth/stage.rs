//! Stages of I/O whose times are given.
//!
//! A scene's phases take as long as their bytes do. What is planted with a known share of the time goes the other way round:
//! files and their times come first, in any unit, are scaled to the seconds and bytes that they should have, and are then
//! played as they are.

use super::fault::union;
use super::random::Random;
use super::scene::{Api, Scene};
use super::shape::part;
use super::system::DEFAULT_STRIPE;

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Its name in truth.json.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The other one.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }

    fn dir(self) -> &'static str {
        match self {
            Self::Read => "in",
            Self::Write => "out",
        }
    }
}

/// The requests of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    size: i64,
    consecutive: f64,
}

impl Requests {
    /// Large ones, one after another.
    pub(super) fn good(random: &mut Random) -> Self {
        Self {
            size: *random.pick(&[1, 2, 4, 8, 16]) << 20,
            consecutive: random.float(0.86, 0.97),
        }
    }

    /// Of at most 1 KiB, here and there.
    pub(super) fn small(random: &mut Random) -> Self {
        Self {
            size: random.int(64, 1000),
            consecutive: random.float(0.03, 0.3),
        }
    }

    /// Of at most 1 KiB, one after another.
    pub(super) fn small_consecutive(random: &mut Random) -> Self {
        Self {
            consecutive: random.float(0.88, 0.97),
            ..Self::small(random)
        }
    }
}

/// A file and its time.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Name below the directory of the job and the direction.
    pub(super) name: String,
    /// Process; -1: all of them.
    pub(super) rank: i64,
    pub(super) api: Api,
    pub(super) requests: Requests,
    /// Its stripes.
    pub(super) osts: Vec<i64>,
    pub(super) bytes: f64,
    /// From the start of the stage on.
    pub(super) start: f64,
    pub(super) length: f64,
    /// Share of its time in which its processes are busy.
    pub(super) busy: f64,
}

impl Piece {
    /// A file through POSIX with a time and bytes near 1, for no two files are equally fast.
    pub(super) fn new(
        random: &mut Random,
        name: String,
        rank: i64,
        requests: Requests,
        osts: Vec<i64>,
    ) -> Self {
        Self {
            name,
            rank,
            api: Api::Posix,
            requests,
            osts,
            bytes: random.noise(0.1),
            start: 0.0,
            length: random.noise(0.15),
            busy: random.float(0.94, 0.995),
        }
    }
}

/// Files of one time, and then a pause.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) pieces: Vec<Piece>,
    /// Seconds without I/O that follow.
    pub(super) pause: f64,
}

impl Stage {
    /// Files that are begun at nearly the same moment.
    pub(super) fn together(random: &mut Random, mut pieces: Vec<Piece>, pause: f64) -> Self {
        for piece in &mut pieces {
            piece.start = random.float(0.0, 0.02);
        }
        Self { pieces, pause }
    }

    /// Files of which each is begun when this share of the one before is over.
    pub(super) fn chain(
        random: &mut Random,
        mut pieces: Vec<Piece>,
        over: (f64, f64),
        pause: f64,
    ) -> Self {
        let mut next = 0.0;
        for piece in &mut pieces {
            piece.start = next;
            next += piece.length * random.float(over.0, over.1);
        }
        Self { pieces, pause }
    }

    /// Time in which at least one of its files is in use.
    fn length(&self) -> f64 {
        let ends = |piece: &Piece| (piece.start, piece.start + piece.length);
        union(&mut self.pieces.iter().map(ends).collect::<Vec<_>>())
    }

    fn scale(&mut self, time: f64, bytes: f64) {
        for piece in &mut self.pieces {
            piece.start *= time;
            piece.length *= time;
            piece.bytes *= bytes;
        }
    }

    /// Scales it so that a file is in use for `length` and so many bytes are moved.
    pub(super) fn fit(&mut self, length: f64, bytes: f64) {
        let moved: f64 = self.pieces.iter().map(|piece| piece.bytes).sum();
        self.scale(length / self.length(), bytes / moved);
    }
}

/// Scales stages so that together they take `seconds`, pauses left out, and move so many bytes.
pub(super) fn fit(stages: &mut [Stage], seconds: f64, bytes: f64) {
    let length: f64 = stages.iter().map(Stage::length).sum();
    let pieces = stages.iter().flat_map(|stage| &stage.pieces);
    let moved: f64 = pieces.map(|piece| piece.bytes).sum();
    for stage in stages {
        stage.scale(seconds / length, bytes / moved);
    }
}

/// Plays stages one after another; their times are seconds now. Files lie below `dir`.
pub(super) fn play(scene: &mut Scene, dir: &str, direction: Direction, stages: Vec<Stage>) {
    // The times are given: nothing else may make a file slow, and no request be small by chance.
    (scene.slow, scene.small) = (false, 0.0);
    for stage in stages {
        let from = scene.clock + 0.01;
        for piece in stage.pieces {
            let path = format!("{dir}/{}/{}", direction.dir(), piece.name);
            let stripe_size = match piece.osts.len() {
                0 | 1 => DEFAULT_STRIPE.0,
                _ => 1 << scene.random.int(20, 25),
            };
            scene.place(&path, stripe_size, piece.osts);
            scene.request = piece.requests.size;
            scene.consecutive = piece.requests.consecutive;
            let bytes = (piece.bytes as i64).max(1);
            let (read, written) = match direction {
                Direction::Read => (bytes, 0),
                Direction::Write => (0, bytes),
            };
            let start = from + piece.start;
            scene.clock = scene.clock.max(start + piece.length);
            scene.timed(
                part(path, piece.rank, piece.api, read, written),
                start,
                piece.length,
                piece.busy,
            );
        }
        scene.compute(stage.pause);
    }
}
