//! Amounts as people read them.

/// Bytes with a binary unit and three digits at most: `817 B`, `1.50 MiB`, `12.3 GiB`, `512 GiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ => binary(bytes as f64, ""),
    }
}

/// Bytes per second, in the same way: `12.3 GiB/s`.
pub fn rate(rate: f64) -> String {
    match rate {
        rate if rate < 1023.5 => format!("{rate:.0} B/s"),
        _ => binary(rate, "/s"),
    }
}

fn binary(mut value: f64, per: &str) -> String {
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        // What would be rounded to 1024 has the next unit.
        if value < 1023.5 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    match value {
        v if v < 9.995 => format!("{v:.2} {unit}{per}"),
        v if v < 99.95 => format!("{v:.1} {unit}{per}"),
        v => format!("{v:.0} {unit}{per}"),
    }
}

/// A count with blanks between thousands: `1 234 567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 file`, `1 234 files`.
pub fn counted(n: impl TryInto<u64>, one: &str, several: &str) -> String {
    let n = n.try_into().unwrap_or(0);
    let noun = if n == 1 { one } else { several };
    format!("{} {noun}", count(n))
}

/// A number with two digits that count.
pub fn significant(number: f64) -> String {
    match number {
        n if n.abs() >= 99.5 => count(n.round().max(0.0) as u64),
        n if n.abs() >= 9.95 => format!("{n:.0}"),
        n => format!("{n:.1}"),
    }
}

/// Seconds, three digits at most: `42 us`, `0.123 s`, `45.6 s`, `12 min 3 s`, `3 h 20 min`.
pub fn seconds(s: f64) -> String {
    match s {
        0.0 => "0 s".into(),
        s if s.abs() < 0.000_999_5 => format!("{:.0} us", s * 1e6),
        s if s < 0.9995 => format!("{s:.3} s"),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 3599.5 => {
            let s = s.round() as u64;
            format!("{} min {} s", s / 60, s % 60)
        }
        s if s >= 359_970.0 => format!("{} h", count((s / 3600.0).round() as u64)),
        s => {
            let minutes = (s / 60.0).round() as u64;
            format!("{} h {} min", count(minutes / 60), minutes % 60)
        }
    }
}

/// A part of a whole: `95 %`, `0.4 %`, `0 %`.
pub fn share(part: f64) -> String {
    match 100.0 * part {
        0.0 => "0 %".into(),
        p if p.abs() < 0.05 => "0.0 %".into(),
        p if p.abs() < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_have_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1_572_864, "1.50 MiB"),
            (13_207_024_435, "12.3 GiB"),
            (549_755_813_888, "512 GiB"),
            // 9.996, 99.96 and 1023.7 of their units.
            (10_733_122_159, "10.0 GiB"),
            (107_331_221_590, "100 GiB"),
            (1_048_269, "1.00 MiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(rate(2.0), "2 B/s");
        assert_eq!(rate(13_207_024_435.0), "12.3 GiB/s");
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1 000", "1 234 567"]
        );
    }

    #[test]
    fn counts_have_their_noun_and_numbers_two_digits() {
        let files = |n| counted(n, "file", "files");
        assert_eq!(
            [0, 1, 1234].map(files),
            ["0 files", "1 file", "1 234 files"]
        );
        assert_eq!(
            [0.0, 1.04, 9.94, 9.96, 99.6, 1234.0].map(significant),
            ["0.0", "1.0", "9.9", "10", "100", "1 234"]
        );
    }

    #[test]
    fn times_are_told_in_the_unit_that_fits() {
        for (s, text) in [
            (0.0, "0 s"),
            (0.000_042_4, "42 us"),
            (0.1234, "0.123 s"),
            (0.9999, "1.00 s"),
            (45.64, "45.6 s"),
            (723.2, "12 min 3 s"),
            (3599.9, "1 h 0 min"),
            (12_000.0, "3 h 20 min"),
        ] {
            assert_eq!(seconds(s), text);
        }
    }

    #[test]
    fn shares_are_percent() {
        for (part, text) in [
            (0.0, "0 %"),
            (0.0001, "0.0 %"),
            (0.0044, "0.4 %"),
            (0.0996, "10 %"),
            (0.954, "95 %"),
            (-0.02, "-2.0 %"),
        ] {
            assert_eq!(share(part), text);
        }
    }
}
