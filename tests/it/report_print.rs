//! Pages that a browser prints and draws.

use crate::cli_program::{Run, fresh, iolode, program, small};
use flate2::read::ZlibDecoder;
use std::fs::{read, write};
use std::io::Read;
use std::path::Path;

crate::tests! {
    [Chromium] => {
        a_page_of_pdf_has_its_charts,
        a_section_is_a_picture_with_its_chart,
    }
    [] => {
        without_a_browser_nothing_is_written_and_the_line_says_what_is_missing,
    }
}

/// Bars in `BLUE`, a section without a chart, and far below the first screen bars of which the second colour is in no other chart.
const OURS: &str = r#"
title = "Ours"
doc = "D"
[[section]]
title = "Bars"
why = "W"
sql = "SELECT 'a' AS name, 3 AS n UNION ALL SELECT 'b', 5 ORDER BY name"
chart = { form = "bar", x = "name", y = ["n"] }
[[section]]
title = "Table"
why = "W"
sql = "SELECT 'c' AS name, value AS n FROM generate_series(1, 40)"
[[section]]
title = "More"
why = "W"
sql = "SELECT 'a' AS name, 3 AS n, 4 AS m"
chart = { form = "bar", x = "name", y = ["n", "m"] }
"#;

/// The first colour of charts: #0072b2.
const BLUE: [u8; 3] = [0x00, 0x72, 0xb2];

fn report(directory: &Path, more: &[&str]) -> Run {
    write(directory.join("ours.toml"), OURS).unwrap();
    let args = [&["report", "ours.toml", "--lake", small().lake()], more].concat();
    iolode(directory, &args)
}

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut inflated = vec![];
    let _ = ZlibDecoder::new(bytes).read_to_end(&mut inflated);
    inflated
}

fn a_page_of_pdf_has_its_charts() {
    let directory = fresh();
    let path = directory.path();
    report(path, &["--out", "page.pdf"]).ok();
    let page = read(path.join("page.pdf")).unwrap();
    assert!(page.starts_with(b"%PDF-"));
    // What is drawn stands in compressed streams.
    let begin = b"stream\n";
    let places = page.windows(begin.len()).enumerate();
    let places = places.filter(|(_, found)| found == begin);
    let drawn = places.flat_map(|(at, _)| inflated(&page[at + begin.len()..]));
    let drawn: Vec<u8> = drawn.collect();
    // The colours in which the bars are filled, #0072b2 and #e69f00, in parts of one: 0x72 / 255 is 0.4471.
    for colour in [&b"0 .4471 .698 rg"[..], b".902 .6235 0 rg"] {
        assert!(drawn.windows(colour.len()).any(|found| found == colour));
    }
    // The browser leaves its own below the home of the user, which is here.
    let names = std::fs::read_dir(path).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    assert_eq!(names, ["ours.toml", "page.pdf"]);
}

/// Width, height and pixels of a PNG of eight bits a channel.
fn decoded(png: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    assert_eq!(png[24], 8);
    let channels = if png[25] == 6 { 4 } else { 3 };
    let (mut data, mut at) = (vec![], 8);
    while at < png.len() {
        let length = number(at);
        if png[at + 4..at + 8] == *b"IDAT" {
            data.extend_from_slice(&png[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let data = inflated(&data);
    let line = width * channels;
    let mut above = vec![0; line];
    let mut pixels = vec![];
    for row in data.chunks_exact(line + 1) {
        let mut this = row[1..].to_vec();
        for at in 0..line {
            let before = |line: &[u8]| {
                if at < channels {
                    0
                } else {
                    line[at - channels]
                }
            };
            let (left, corner) = (before(&this), before(&above));
            let (a, b, c) = (i32::from(left), i32::from(above[at]), i32::from(corner));
            let far = |x: i32| (a + b - c - x).abs();
            let predicted = match row[0] {
                0 => 0,
                1 => left,
                2 => above[at],
                3 => u8::try_from((a + b) / 2).unwrap(),
                _ if far(a) <= far(b) && far(a) <= far(c) => left,
                _ if far(b) <= far(c) => above[at],
                _ => corner,
            };
            this[at] = this[at].wrapping_add(predicted);
        }
        pixels.extend(
            this.chunks_exact(channels)
                .map(|pixel| [pixel[0], pixel[1], pixel[2]]),
        );
        above = this;
    }
    (width, height, pixels)
}

fn a_section_is_a_picture_with_its_chart() {
    let directory = fresh();
    let path = directory.path();
    let draw = |section: &str| {
        report(path, &["--png", section, "--out", "section.png"]).ok();
        decoded(&read(path.join("section.png")).unwrap())
    };
    let (width, height, pixels) = draw("bars");
    assert_eq!((width, pixels.len()), (2200, width * height));
    let blue = pixels.iter().filter(|pixel| **pixel == BLUE).count();
    assert!(blue > pixels.len() / 20, "{blue} of {}", pixels.len());
    // A section without a chart is its table, as high as it is: 40 rows of 20 pixels at least, at twice the size.
    let (_, height, pixels) = draw("2");
    assert!(height > 1600, "{height}");
    assert!(!pixels.contains(&BLUE));
    let why = report(path, &["--png", "Bar", "--out", "other.png"]).failed();
    assert!(
        why.starts_with("unknown section `Bar`") && why.contains("`Bars`"),
        "{why}"
    );
}

fn without_a_browser_nothing_is_written_and_the_line_says_what_is_missing() {
    let directory = fresh();
    let path = directory.path();
    write(path.join("ours.toml"), OURS).unwrap();
    let ask = |variable: Option<&str>, more: &[&str]| {
        let mut run = program(path);
        run.env("PATH", path).env_remove("CHROMIUM");
        run.envs(variable.map(|named| ("CHROMIUM", named)));
        run.args(["report", "ours.toml", "--lake", small().lake()]);
        Run::of(run.args(more)).failed()
    };
    let why = ask(None, &["--out", "page.pdf"]);
    let expected = "--format pdf needs a browser: found no chromium, chromium-browser, google-chrome, google-chrome-stable, chrome on the path; install one, or \
                    name it in the variable CHROMIUM";
    assert_eq!(why, expected);
    let why = ask(None, &["--png", "1", "--out", "a.png"]);
    assert!(why.starts_with("--png needs a browser: "), "{why}");
    let why = ask(Some("/nowhere/chromium"), &["--out", "page.pdf"]);
    let expected =
        "--format pdf needs a browser: CHROMIUM names /nowhere/chromium, which is no program";
    assert_eq!(why, expected);
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 1);
}
