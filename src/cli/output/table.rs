//! Aligned columns for a person.
//!
//! ```text
//!  app | jobs
//! -----+-----
//!  ior |   12
//! ```
//!
//! A column of times in UTC says so in its heading; other times have their offset from UTC behind them.
//!
//! Widths are those of the first rows ([`HEAD`]); a wider value further down shifts its row, so that no result has to be held
//! in memory whole. On a terminal, values are cut and columns left out until a row fits; elsewhere nothing is. A table that says which of
//! its columns are sentences has these on several lines instead.

use super::times::{LOCAL, has_local_times, heading};
use super::writer::{Numbers, RowWriter, Sink, Style};
use crate::text;
use crate::text::column_amount::Amount;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float64Type, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write as _;

/// Rows that widths are measured on.
const HEAD: usize = 1000;
/// To this width values are cut before a column is left out.
const NARROW: usize = 12;
/// The same of sentences, which take several lines.
const SENTENCE: usize = 16;

/// See the module.
pub(super) struct Table<'a> {
    sink: Sink<'a>,
    style: Style,
    columns: Vec<Column>,
    /// Rows not written yet, until widths are known.
    head: Vec<Vec<Cell>>,
    widths: Option<Vec<usize>>,
    rows: u64,
    /// Whether it is a query plan: its values have lines of their own, and every character of them is wanted.
    is_plan: bool,
}

struct Column {
    name: String,
    right: bool,
    is_float: bool,
    /// Whether it holds floats that are all whole in the first rows: then they have no fraction. Else all have one, aligned.
    is_whole: bool,
    /// Digits of a number with a fraction.
    digits: usize,
    /// What its numbers are said to be instead.
    amount: Option<Amount>,
    fit: Fit,
}

/// What becomes of a value that is wider than its column may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It is cut.
    Cut,
    /// Its column is as wide as it is.
    Whole,
    /// It goes on below.
    Wrap,
}

/// The text of a value; None for NULL.
type Cell = Option<String>;

impl<'a> Table<'a> {
    pub(super) fn new(sink: Sink<'a>, schema: &SchemaRef, mut style: Style) -> Self {
        let is_plan = schema
            .fields()
            .iter()
            .map(|f| f.name().as_str())
            .eq(["plan_type", "plan"]);
        if is_plan {
            style.look.width = None;
        }
        let columns = schema.fields().iter().map(|field| {
            let is_number = field.data_type().is_numeric();
            let unit = field.metadata().get("unit").filter(|_| is_number);
            let amount = match style.numbers {
                Numbers::Human => unit.and_then(|unit| Amount::of(unit)),
                Numbers::Plain | Numbers::Rounded => None,
            };
            Column {
                name: heading(field),
                right: is_number,
                is_float: *field.data_type() == DataType::Float64 && amount.is_none(),
                is_whole: false,
                digits: match (style.numbers, unit) {
                    (Numbers::Rounded, Some(_)) => ROUNDED,
                    _ => DIGITS,
                },
                amount,
                fit: match style.sentences {
                    [] => Fit::Cut,
                    of if of.contains(&field.name().as_str()) => Fit::Wrap,
                    _ => Fit::Whole,
                },
            }
        });
        Self {
            sink,
            style,
            columns: columns.collect(),
            head: vec![],
            widths: None,
            rows: 0,
            is_plan,
        }
    }

    /// Decides on widths and writes header and first rows, once.
    fn begin(&mut self) -> anyhow::Result<()> {
        if self.widths.is_some() || self.style.expanded {
            return Ok(());
        }
        for (at, column) in self.columns.iter_mut().enumerate() {
            let mut cells = self.head.iter().filter_map(|row| row[at].as_ref());
            column.is_whole = column.is_float && cells.all(|cell| cell.ends_with(".0"));
        }
        let mut widths: Vec<usize> = self.columns.iter().map(|c| width(&c.name)).collect();
        for row in &self.head {
            let cells = row.iter().zip(&self.columns);
            for ((cell, column), width_so_far) in cells.zip(&mut widths) {
                let widest = column.shown(cell).lines().map(width).max().unwrap_or(0);
                *width_so_far = (*width_so_far).max(widest);
            }
        }
        if let Some(room) = self.style.look.width {
            let least = self.columns.iter().zip(&widths);
            let least = least.map(|(column, width)| match column.fit {
                Fit::Cut => NARROW.min(*width),
                Fit::Whole => *width,
                Fit::Wrap => SENTENCE.min(*width),
            });
            widths = fit(widths.clone(), &least.collect::<Vec<_>>(), room);
        }
        let mut line = String::new();
        let mut rule = String::new();
        for (at, (column, width)) in self.columns.iter().zip(&widths).enumerate() {
            separate(&mut line, &mut rule, at);
            let name = cut(&column.name, *width);
            self.style
                .push(&mut line, "1", &pad(&name, *width, column.right));
            rule.push_str(&"-".repeat(*width));
        }
        writeln!(self.sink, "{}\n{rule}-", line.trim_end())?;
        self.widths = Some(widths);
        for row in std::mem::take(&mut self.head) {
            self.line(&row)?;
        }
        Ok(())
    }

    fn line(&mut self, row: &[Cell]) -> anyhow::Result<()> {
        let Some(widths) = &self.widths else {
            return Ok(());
        };
        let is_limited = self.style.look.width.is_some();
        let cells = row.iter().zip(&self.columns).zip(widths);
        let cells: Vec<Vec<String>> = cells
            .map(|((cell, column), width)| {
                let lines = column.shown(cell).lines();
                match (is_limited, column.fit) {
                    (false, _) => lines.map(str::to_string).collect(),
                    (true, Fit::Wrap) => lines.flat_map(|line| wrapped(line, *width)).collect(),
                    (true, _) => lines.map(|line| cut(line, *width)).collect(),
                }
            })
            .collect();
        let most = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for part in 0..most {
            let mut line = String::new();
            for (at, ((cell, column), width)) in
                row.iter().zip(&self.columns).zip(widths).enumerate()
            {
                separate(&mut line, &mut String::new(), at);
                let text = cells[at].get(part).map_or("", String::as_str);
                let text = pad(text, *width, column.right);
                match cell {
                    Some(_) => line.push_str(&text),
                    None => self.style.push(&mut line, "2", &text),
                }
            }
            writeln!(self.sink, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// One row, a line for each value.
    fn block(&mut self, row: &[Cell]) -> anyhow::Result<()> {
        let names = self
            .columns
            .iter()
            .map(|c| width(&c.name))
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        self.style
            .push(&mut text, "2", &format!("-[ {} ]-", self.rows));
        text.push('\n');
        for (cell, column) in row.iter().zip(&self.columns) {
            self.style
                .push(&mut text, "1", &pad(&column.name, names, false));
            text.push_str(" | ");
            match cell {
                Some(value) if column.is_float => text.push_str(as_whole(value)),
                Some(value) => text.push_str(value),
                None => self.style.push(&mut text, "2", "NULL"),
            }
            text.push('\n');
        }
        self.sink.write_all(text.as_bytes())?;
        Ok(())
    }
}

impl RowWriter for Table<'_> {
    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        let (options, is_plan) = (FormatOptions::default().with_null("NULL"), self.is_plan);
        let local = options.clone().with_timestamp_tz_format(Some(LOCAL));
        let formatters = batch
            .columns()
            .iter()
            .map(|column| {
                let is_local = has_local_times(column.data_type());
                ArrayFormatter::try_new(column, if is_local { &local } else { &options })
            })
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = batch
                .columns()
                .iter()
                .zip(&formatters)
                .zip(&self.columns)
                .map(|((column, formatter), shown)| {
                    (!column.is_null(row))
                        .then(|| formatter.value(row).try_to_string())
                        .transpose()
                        .map(|text| {
                            text.map(|text| {
                                let said = shown.amount.and_then(|amount| amount.said(&text));
                                match (said, column.as_primitive_opt::<Float64Type>()) {
                                    (Some(said), _) => said,
                                    (None, Some(floats)) => {
                                        shortened(text, floats.value(row), shown.digits)
                                    }
                                    (None, None) => text,
                                }
                            })
                        })
                        .map(|text| text.map(|text| printable(&text, is_plan)))
                });
            let cells = cells.collect::<Result<Vec<Cell>, _>>()?;
            self.rows += 1;
            match (self.style.expanded, &self.widths) {
                (true, _) => self.block(&cells)?,
                (false, Some(_)) => self.line(&cells)?,
                (false, None) => {
                    self.head.push(cells);
                    if self.head.len() == HEAD {
                        self.begin()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Option<String>> {
        self.begin()?;
        let kept = self.widths.as_ref().map_or(self.columns.len(), Vec::len);
        Ok((kept < self.columns.len()).then(|| {
            format!(
                "{kept} of {} columns fit; name the ones you want, or use \\x or --format csv",
                self.columns.len()
            )
        }))
    }
}

impl Style {
    /// Appends text with an attribute, where there is color.
    fn push(&self, line: &mut String, attribute: &str, text: &str) {
        let _ = match self.look.color {
            true => write!(line, "\x1b[{attribute}m{text}\x1b[0m"),
            false => write!(line, "{text}"),
        };
    }
}

fn separate(line: &mut String, rule: &mut String, at: usize) {
    line.push_str(if at == 0 { " " } else { " | " });
    rule.push_str(if at == 0 { "-" } else { "-+-" });
}

impl Column {
    fn shown<'c>(&self, cell: &'c Cell) -> &'c str {
        let text = cell.as_deref().unwrap_or("NULL");
        match self.is_whole {
            true => as_whole(text),
            false => text,
        }
    }
}

/// Widths of the leading columns such that a row takes at most `room`: the widest give way first, to their `least`, and
/// columns that do not fit even so are left out. One column always stays.
fn fit(mut widths: Vec<usize>, least: &[usize], room: usize) -> Vec<usize> {
    // A character on either side, three between columns.
    let line =
        |widths: &[usize]| widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1) + 2;
    while widths.len() > 1 && line(&least[..widths.len()]) > room {
        widths.pop();
    }
    let alone = [1];
    let least = match widths.len() {
        1 => &alone[..],
        n => &least[..n],
    };
    while line(&widths) > room {
        let over = line(&widths) - room;
        let shrinking = widths
            .iter()
            .zip(least)
            .filter(|(width, least)| width > least);
        let Some(widest) = shrinking.map(|(width, _)| *width).max() else {
            break;
        };
        let narrower = widths.iter().copied().filter(|width| *width < widest);
        let second = narrower.max().unwrap_or(0);
        let column = widths.iter_mut().zip(least);
        let mut column = column.filter(|(width, least)| **width == widest && **width > **least);
        let Some((width, least)) = column.next() else {
            break;
        };
        *width -= over.min(widest - second.max(*least)).max(1);
    }
    widths
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, right: bool) -> String {
    let blanks = " ".repeat(to.saturating_sub(width(text)));
    if right {
        blanks + text
    } else {
        text.to_string() + &blanks
    }
}

/// The text on lines of at most so many characters, cut between words where there are blanks.
fn wrapped(text: &str, to: usize) -> Vec<String> {
    let mut lines = vec![];
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && width(&line) + 1 + width(word) > to {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if width(&line) >= to.max(1) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// The text, or as much of it as fits with a sign that there is more.
fn cut(text: &str, to: usize) -> String {
    if width(text) <= to {
        return text.to_string();
    }
    let kept: String = text.chars().take(to.saturating_sub(1)).collect();
    kept + "…"
}

/// Digits that a person reads of a number with a fraction.
const DIGITS: usize = 6;
/// The same where numbers are rounded.
const ROUNDED: usize = 3;

/// The text of a number with so many significant digits at most; those in front of the point all stay, and so does a number without
/// a fraction.
fn shortened(text: String, value: f64, to: usize) -> String {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, _)) => (mantissa, true),
        None => (text.as_str(), false),
    };
    let digits = mantissa.chars().filter(char::is_ascii_digit);
    let significant = digits.skip_while(|c| *c == '0').count();
    if !value.is_finite() || significant <= to || (value.fract() == 0.0 && !exponent) {
        return text;
    }
    if exponent {
        let rounded = format!("{value:.*e}", to - 1);
        return match rounded.split_once('e') {
            Some((mantissa, power)) => format!("{}e{power}", without_zeros(mantissa)),
            None => rounded,
        };
    }
    let before = value.abs().log10().floor() as i64 + 1;
    let after = usize::try_from(to as i64 - before).unwrap_or(0);
    without_zeros(&format!("{value:.after$}")).to_string()
}

/// A number without the zeros that end its fraction.
fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A number without a fraction that is 0.
fn as_whole(number: &str) -> &str {
    number.strip_suffix(".0").unwrap_or(number)
}

/// The text with escapes in it: a path in a log must not steer the terminal. Lines of a query plan stay lines.
fn printable(value: &str, is_plan: bool) -> String {
    match is_plan {
        true => text::shown_lines(value).into_owned(),
        false => text::shown(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::format;
    use super::super::writer::{Numbers, Style};
    use super::fit;
    use crate::cli::screen::TerminalStyle;
    use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .unwrap()
    }

    fn two_rows() -> RecordBatch {
        batch(vec![
            ("app", Arc::new(StringArray::from(vec![Some("ior"), None]))),
            (
                "bytes",
                Arc::new(Int64Array::from(vec![Some(1_048_576), Some(-1)])),
            ),
            (
                "path",
                Arc::new(StringArray::from(vec!["/scratch/a", "/b\u{1b}[31m\n"])),
            ),
        ])
    }

    fn shown(batch: &RecordBatch, style: Style) -> (String, Option<String>) {
        let mut out = vec![];
        let note = format("table")
            .unwrap()
            .write(&mut out, batch, style)
            .unwrap();
        (String::from_utf8(out).unwrap(), note)
    }

    #[test]
    fn columns_are_aligned_numbers_to_the_right_and_null_is_named() {
        let expected = [
            " app  |   bytes | path",
            "------+---------+--------------",
            " ior  | 1048576 | /scratch/a",
            " NULL |      -1 | /b\\x1b[31m\\n",
        ];
        let (text, note) = shown(&two_rows(), Style::default());
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert_eq!(note, None);
    }

    #[test]
    fn a_fraction_has_six_digits_and_a_column_of_whole_numbers_none() {
        let numbers = |values: &[f64]| -> Vec<String> {
            let column = Float64Array::from(values.to_vec());
            let (text, _) = shown(&batch(vec![("x", Arc::new(column))]), Style::default());
            let lines = text.lines().skip(2);
            lines.map(|line| line.trim().to_string()).collect()
        };
        let values = [
            (0.160_577_285_029_703_28, "0.160577"),
            (0.021_739_130_434_782_608, "0.0217391"),
            (-12.345_678_9, "-12.3457"),
            (123_456_789.125, "123456789"),
            (0.999_999_99, "1"),
            (1.234_567_89e-7, "1.23457e-7"),
            (0.5, "0.5"),
            (1_234.5, "1234.5"),
            (98_304.0, "98304.0"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        let given = values.map(|(value, _)| value);
        assert_eq!(numbers(&given), values.map(|(_, text)| text));
        assert_eq!(
            numbers(&[98_304.0, 0.0, 182_882_520_928_186.0]),
            ["98304", "0", "182882520928186"]
        );
        // Other formats are read by programs.
        let column: ArrayRef = Arc::new(Float64Array::from(vec![0.160_577_285_029_703_28, 2.0]));
        let mut out = vec![];
        let csv = format("csv").unwrap();
        csv.write(&mut out, &batch(vec![("x", column)]), Style::default())
            .unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "x\n0.16057728502970328\n2.0\n"
        );
    }

    #[test]
    fn numbers_of_columns_with_a_unit_are_said_or_rounded_where_that_is_wanted() {
        let column = |unit: &str, values: Vec<Option<f64>>| {
            let metadata = [("unit".to_string(), unit.to_string())].into();
            let field = Field::new(format!("in {unit}"), DataType::Float64, true);
            let column: ArrayRef = Arc::new(Float64Array::from(values));
            (field.with_metadata(metadata), column)
        };
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = [
            column("B", vec![Some(13_207_024_435.0), None]),
            column("s", vec![Some(723.25), Some(0.123_456)]),
            column("%", vec![Some(12.345_678), Some(50.0)]),
        ]
        .into_iter()
        .unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let lines = |numbers: Numbers| -> Vec<String> {
            let style = Style {
                numbers,
                ..Style::default()
            };
            let (text, _) = shown(&batch, style);
            text.lines().map(str::to_string).collect()
        };
        let expected = [
            "     in B |       in s |    in %",
            "----------+------------+---------",
            " 12.3 GiB | 12 min 3 s | 12.3457",
            "     NULL |    0.123 s |    50.0",
        ];
        assert_eq!(lines(Numbers::Human), expected);
        let expected = [
            "        in B |  in s | in %",
            "-------------+-------+------",
            " 13207024435 |   723 | 12.3",
            "        NULL | 0.123 | 50.0",
        ];
        assert_eq!(lines(Numbers::Rounded), expected);
        assert!(lines(Numbers::Plain)[3].contains("0.123456"));
    }

    #[test]
    fn on_a_narrow_terminal_values_are_cut_and_columns_left_out_with_a_note() {
        let look = |width| Style {
            look: TerminalStyle {
                width: Some(width),
                color: false,
            },
            ..Style::default()
        };
        let long = batch(vec![
            ("a", Arc::new(StringArray::from(vec!["x".repeat(30)]))),
            ("b", Arc::new(Int64Array::from(vec![7]))),
        ]);
        let (text, note) = shown(&long, look(20));
        assert_eq!(
            text.lines().last().unwrap(),
            format!(" {}… | 7", "x".repeat(13))
        );
        assert_eq!(note, None);
        assert!(
            text.lines().all(|line| line.chars().count() <= 20),
            "{text}"
        );
        let many = batch(
            (0..9)
                .map(|_| ("c", two_rows().column(1).clone()))
                .collect(),
        );
        let (text, note) = shown(&many, look(25));
        assert_eq!(text.lines().last().unwrap(), "      -1 |      -1");
        assert!(note.unwrap().starts_with("2 of 9 columns fit"));
    }

    #[test]
    fn widths_that_fit_stay_and_the_widest_gives_way_first() {
        let cut = |widths: &[usize], room| {
            let least: Vec<usize> = widths.iter().map(|width| (*width).min(12)).collect();
            fit(widths.to_vec(), &least, room)
        };
        assert_eq!(cut(&[5, 40, 20], 100), [5, 40, 20]);
        assert_eq!(cut(&[5, 40, 20], 61), [5, 28, 20]);
        assert_eq!(cut(&[5, 40, 20], 37), [5, 12, 12]);
        assert_eq!(cut(&[100], 10), [8]);
        // Names stay whole.
        assert_eq!(fit(vec![30, 90], &[30, 24], 80), [30, 45]);
        assert_eq!(fit(vec![30, 90], &[30, 24], 50), [30]);
        assert_eq!(fit(vec![40, 30, 30], &[40, 24, 24], 100), [40, 24, 28]);
    }

    #[test]
    fn sentences_go_on_below_and_names_beside_them_stay_whole() {
        let style = Style {
            look: TerminalStyle {
                width: Some(51),
                color: false,
            },
            sentences: &["meaning"],
            ..Style::default()
        };
        let name = "a_name_of_22_letters__";
        let columns: [(&str, &str); 2] = [
            ("column", name),
            (
                "meaning",
                "Bytes that all processes read, and a_word_that_is_too_long_for_it",
            ),
        ];
        let columns = columns.map(|(name, text)| {
            let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
            (name, column)
        });
        let (text, note) = shown(&batch(columns.to_vec()), style);
        let expected = [
            " column                 | meaning",
            "------------------------+--------------------------",
            " a_name_of_22_letters__ | Bytes that all processes",
            "                        | read, and",
            "                        | a_word_that_is_too_long_",
            "                        | for_it",
        ];
        assert_eq!(
            (text.lines().collect::<Vec<_>>(), note),
            (expected.to_vec(), None)
        );
    }

    #[test]
    fn a_query_plan_keeps_its_lines_and_is_never_cut() {
        let plan = batch(vec![
            (
                "plan_type",
                Arc::new(StringArray::from(vec!["logical_plan", "x"])),
            ),
            (
                "plan",
                Arc::new(StringArray::from(vec!["Sort: a\n  Scan: t\n", "y"])),
            ),
        ]);
        let narrow = Style {
            look: TerminalStyle {
                width: Some(10),
                color: false,
            },
            ..Style::default()
        };
        let (text, _) = shown(&plan, narrow);
        let expected = [
            " plan_type    | plan",
            "--------------+-----------",
            " logical_plan | Sort: a",
            "              |   Scan: t",
            " x            | y",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn expanded_rows_have_a_line_for_each_value() {
        let style = Style {
            expanded: true,
            ..Style::default()
        };
        let (text, _) = shown(&two_rows().slice(0, 1), style);
        assert_eq!(
            text,
            "-[ 1 ]-\napp   | ior\nbytes | 1048576\npath  | /scratch/a\n"
        );
    }

    #[test]
    fn color_is_used_only_where_it_is_wanted() {
        let style = Style {
            look: TerminalStyle {
                width: None,
                color: true,
            },
            ..Style::default()
        };
        assert!(shown(&two_rows(), style).0.contains("\x1b[2mNULL\x1b[0m"));
        assert!(!shown(&two_rows(), Style::default()).0.contains('\x1b'));
    }

    #[test]
    fn rows_beyond_those_measured_are_written_as_they_come() {
        let numbers = batch(vec![(
            "n",
            Arc::new(Int64Array::from_iter_values((0..2500).map(|n| n * 1000))),
        )]);
        let (text, _) = shown(&numbers, Style::default());
        assert_eq!(text.lines().count(), 2 + 2500);
        assert_eq!(text.lines().last().unwrap(), " 2499000");
    }
}
