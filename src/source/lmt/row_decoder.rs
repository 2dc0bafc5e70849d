//! How the rows of an INSERT into a table of samples are read: which of their values go where.

use super::dimensions::Field;
use super::row_template::RowTemplate;
use super::row_template::Step;
use super::samples::{Holds, NULL, Samples, Table, float_bits};
use super::values;

/// What happens with the values of a row, column by column.
pub(super) struct RowDecoder {
    steps: Vec<Step>,
    /// Wanted columns that the rows lack, with what stands for NULL in them.
    lacking: Vec<(usize, i64)>,
    /// What rows before looked like, if the next ones may look the same.
    shape: Option<RowTemplate>,
    /// How long the last row was that did not.
    length: usize,
}

impl RowDecoder {
    /// What to do with rows that have these columns.
    pub(super) fn new(columns: &[String], table: &Table) -> Self {
        let wanted = |name: &str| table.columns.iter().position(|column| column.name == name);
        let floats = |at: usize| {
            table
                .columns
                .get(at)
                .is_some_and(|column| column.holds == Holds::Float)
        };
        let steps = columns.iter().map(|name| match wanted(name) {
            Some(at) if floats(at) => Step::Float(at),
            Some(at) => Step::Int(at),
            None => Step::Skip,
        });
        let lacking = (0..table.columns.len())
            .filter(|at| !columns.iter().any(|name| wanted(name) == Some(*at)))
            .map(|at| (at, if floats(at) { float_bits(None) } else { NULL }));
        Self {
            steps: steps.collect(),
            lacking: lacking.collect(),
            shape: None,
            length: 0,
        }
    }

    /// Puts the row whose parenthesis stands at `at`, and rows behind it that look the same; how many they are, and where the last
    /// ends, behind its other parenthesis. None if it is no row.
    #[inline]
    pub(super) fn rows(
        &mut self,
        text: &[u8],
        at: usize,
        samples: &mut Samples,
    ) -> Option<(usize, usize)> {
        let shape = self.shape.as_ref();
        let (rows, end) = match shape.and_then(|shape| shape.rows(text, at, samples)) {
            Some(found) => found,
            None => (1, self.new_row(text, at, samples)?),
        };
        for (column, value) in &self.lacking {
            samples.next(*column, rows).fill(*value);
        }
        Some((rows, end))
    }

    /// Puts a row that does not look like the one before; where it ends.
    fn new_row(&mut self, text: &[u8], at: usize, samples: &mut Samples) -> Option<usize> {
        let end = self.row(text, at, samples)?;
        // Where rows differ all the time it is not worth it to look at each of them so closely.
        let length = end - at;
        if std::mem::replace(&mut self.length, length) == length {
            self.shape = RowTemplate::of(text, at, length, &self.steps);
        }
        Some(end)
    }

    /// Puts a row value by value.
    fn row(&self, text: &[u8], mut at: usize, samples: &mut Samples) -> Option<usize> {
        at += 1;
        let last = self.steps.len() - 1;
        for (step_at, step) in self.steps.iter().enumerate() {
            let separator = if step_at == last { b')' } else { b',' };
            if let Step::Int(column) = step
                && let Some((value, end)) = values::digits(text, at)
                && text.get(end) == Some(&separator)
            {
                samples.put(*column, value);
                at = end + 1;
                continue;
            }
            if let Step::Float(column) = step
                && let Some((value, end)) = values::decimal(text, at)
                && text.get(end) == Some(&separator)
            {
                samples.put(*column, float_bits(Some(value)));
                at = end + 1;
                continue;
            }
            // PCT_CPU of OST_DATA is 0 or NULL in every row, and nobody wants it.
            if *step == Step::Skip
                && let Some(length) = nothing(text.get(at..at + 5)?, separator)
            {
                at += length + 1;
                continue;
            }
            at = closer(text, at, *step, samples)?;
            if text.get(at) != Some(&separator) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }
}

/// The length of NULL or of one digit before a separator.
#[inline]
fn nothing(text: &[u8], separator: u8) -> Option<usize> {
    match text {
        [b'0'..=b'9', end, ..] if *end == separator => Some(1),
        [b'N', b'U', b'L', b'L', end, ..] if *end == separator => Some(4),
        _ => None,
    }
}

/// Puts a value that is no plain number; where it ends.
#[cold]
fn closer(text: &[u8], at: usize, step: Step, samples: &mut Samples) -> Option<usize> {
    let mut buffer = vec![];
    let (field, end) = values::field(text, at, &mut buffer)?;
    match step {
        Step::Int(column) => samples.put(
            column,
            match field {
                Field::Null => NULL,
                field => field.int()?,
            },
        ),
        Step::Float(column) => samples.put(column, float_bits(field.float())),
        Step::Skip => {}
    }
    Some(end)
}
