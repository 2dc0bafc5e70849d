//! Numbers of a table by the unit of their column.

use crate::text::amount::{count, rate, seconds, share, significant, size};

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// What is said in another unit than the column has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Bytes,
    /// Bytes per second; the factor is that of the column's unit.
    Rate(f64),
    Seconds,
    Count,
    /// A part of a whole, which is 1 in the column: people read percent.
    Share,
}

impl Amount {
    /// The amount that a column of that unit holds; None where a plain number says as much.
    pub(crate) fn of(unit: &str) -> Option<Self> {
        Some(match unit {
            "B" => Self::Bytes,
            "B/s" => Self::Rate(1.0),
            "MiB/s" => Self::Rate(MIB),
            "s" => Self::Seconds,
            "count" => Self::Count,
            "fraction" => Self::Share,
            _ => return None,
        })
    }

    /// A number as people say it; None if it is none, or negative where there is no such amount.
    pub(crate) fn said(self, number: &str) -> Option<String> {
        // Integers above 2^53 keep their digits.
        if let (Self::Count, Ok(n)) = (self, number.parse()) {
            return Some(count(n));
        }
        let value: f64 = number.parse().ok().filter(|v: &f64| v.is_finite())?;
        if value < 0.0 {
            let amount = self.said(number.strip_prefix('-')?)?;
            return Some(format!("-{amount}"));
        }
        Some(match self {
            Self::Bytes => size(value.round() as u64),
            Self::Rate(factor) => rate(value * factor),
            Self::Seconds => seconds(value),
            Self::Count if value.fract() == 0.0 => count(value as u64),
            Self::Count => significant(value),
            Self::Share => share(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_in_the_unit_that_fits_their_column() {
        for (unit, number, said) in [
            ("B", "13207024435", "12.3 GiB"),
            ("B", "1572864.4", "1.50 MiB"),
            ("B", "0", "0 B"),
            ("B", "-2048", "-2.00 KiB"),
            ("B/s", "13207024435.0", "12.3 GiB/s"),
            ("MiB/s", "2048", "2.00 GiB/s"),
            ("s", "723.2", "12 min 3 s"),
            ("s", "0.1234", "0.123 s"),
            ("s", "-45.64", "-45.6 s"),
            ("count", "1234567", "1 234 567"),
            (
                "count",
                "18446744073709551615",
                "18 446 744 073 709 551 615",
            ),
            ("count", "2345.0", "2 345"),
            ("count", "2.25", "2.2"),
            ("fraction", "0.354", "35 %"),
            ("fraction", "-0.004", "-0.4 %"),
        ] {
            let amount = Amount::of(unit).unwrap();
            assert_eq!(
                amount.said(number).as_deref(),
                Some(said),
                "{number} {unit}"
            );
        }
        assert_eq!(Amount::of("rank"), None);
        for odd in ["NaN", "inf", "a", ""] {
            assert_eq!(Amount::Bytes.said(odd), None, "{odd}");
        }
    }
}
