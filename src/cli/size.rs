//! Sizes as people write them; as people read them they are in [`crate::text::amount`].

pub(crate) use crate::text::amount::{count, counted, size as show};

/// The bytes that `512M`, `2GiB`, `1.5 GB` or `4096` stand for.
///
/// K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024, as Slurm and the shells have them; KB, MB, GB, TB are powers of 1000.
///
/// # Errors
/// What was expected, if it is no size or too large for 64 bits.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let expected = || {
        format!("`{text}` is not a size; expected a number with a unit, such as `512M` or `2GiB`")
    };
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(expected()),
    };
    let bytes = number * factor as f64;
    // 2^53: beyond it not every number of bytes exists as f64, and no machine has that much.
    if bytes <= 9_007_199_254_740_992.0 {
        Ok(bytes as u64)
    } else {
        Err(format!("`{text}` is too large a size"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_unless_they_end_in_a_decimal_b() {
        for (text, bytes) in [
            ("4096", 4096),
            ("512M", 512 << 20),
            ("512m", 512 << 20),
            ("2GiB", 2 << 30),
            ("2 GiB", 2 << 30),
            ("2GB", 2_000_000_000),
            ("1.5K", 1536),
            ("1T", 1 << 40),
            ("0", 0),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_an_example() {
        for text in ["", "M", "-1", "1X", "1.2.3M", "99999999T", "1e3"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("lots").unwrap_err().contains("`512M`"));
    }
}
