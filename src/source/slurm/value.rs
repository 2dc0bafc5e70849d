//! Values as sacct prints them: ids, lengths of time, amounts, states, exit codes, trackable resources.
//!
//! Each reader gives `Some(None)` for an empty field and None for what is no such value, so that a line that was split at the
//! wrong place is noticed.

use std::borrow::Cow;

/// What a displayed and a raw id say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Id<'a> {
    /// Raw id; below 0 where it is not known.
    pub(super) job_id: i64,
    /// As Slurm shows it, with the step.
    pub(super) text: &'a str,
    /// The step, if it is one.
    pub(super) step: Option<&'a str>,
    pub(super) array_job_id: Option<i64>,
    pub(super) array_task_id: Option<i64>,
    /// Tasks that a pending record stands for.
    pub(super) array_tasks: Option<&'a str>,
    pub(super) het_job_id: Option<i64>,
    pub(super) het_offset: Option<i64>,
}

/// What stands before and after the first such byte. Values are short: a loop over their bytes is quicker than a search.
#[inline]
fn split(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|b| b == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The number before a name, and the name.
#[inline]
fn number(text: &str) -> Option<(i64, &str)> {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    let value = match end {
        1..=18 => digits(&text.as_bytes()[..end])?,
        _ => text[..end].parse().ok()?,
    };
    Some((value, &text[end..]))
}

/// The number that digits make, 18 at most: so many cannot overflow.
#[inline]
fn digits(text: &[u8]) -> Option<i64> {
    (text.len() <= 18).then_some(())?;
    text.iter().try_fold(0i64, |value, b| {
        b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0'))
    })
}

/// Reads `2`, `2.batch`, `3_4`, `3_4.0`, `34_[7-9%2]`, `29+1`, `29+1.2`; `raw` is JobIDRaw, if the dump has it.
///
/// The raw id of a plain job is its id. That of an array task or of a het component is only in JobIDRaw (the last task has the
/// array's own); without it the id is below 0, the same whenever this id comes, and that of no job.
pub(super) fn id<'a>(text: &'a str, raw: Option<&'a str>) -> Option<Id<'a>> {
    let (shown, step) = match split(text, b'.') {
        Some((shown, step)) if !step.is_empty() => (shown, Some(step)),
        Some(_) => return None,
        None => (text, None),
    };
    let good = |step: &str| {
        step.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'+')
    };
    if !step.is_none_or(good) {
        return None;
    }
    let mut id = Id {
        text,
        step,
        ..Id::default()
    };
    let (first, rest) = number(shown)?;
    let mut stand_in = None;
    match rest.as_bytes().first() {
        None => {}
        Some(b'_') => {
            id.array_job_id = Some(first);
            let task = &rest[1..];
            if let Some(tasks) = task.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
                let listed = |b: u8| b.is_ascii_digit() || b",-%:.".contains(&b);
                if tasks.is_empty() || !tasks.bytes().all(listed) {
                    return None;
                }
                id.array_tasks = Some(tasks);
            } else {
                let task = number(task).filter(|(_, rest)| rest.is_empty())?.0;
                id.array_task_id = Some(task);
                stand_in = Some(unknown(first, task, 0)?);
            }
        }
        Some(b'+') => {
            let offset = number(&rest[1..]).filter(|(_, rest)| rest.is_empty())?.0;
            (id.het_job_id, id.het_offset) = (Some(first), Some(offset));
            // The leader has the id by which all are shown.
            stand_in = if offset == 0 {
                None
            } else {
                Some(unknown(first, offset, 1)?)
            };
        }
        Some(_) => return None,
    }
    id.job_id = match raw {
        // That of a plain job.
        Some(raw) if raw == text => rest.is_empty().then_some(first)?,
        Some(raw) => {
            let (raw, raw_step) =
                split(raw, b'.').map_or((raw, None), |(raw, step)| (raw, Some(step)));
            let (raw, rest) = number(raw)?;
            if !rest.is_empty() || raw_step != step {
                return None;
            }
            raw
        }
        None => stand_in.unwrap_or(first),
    };
    Some(id)
}

/// An id below 0 for a task (`kind` 0) or component (1) whose raw id the dump does not say.
fn unknown(job: i64, part: i64, kind: i64) -> Option<i64> {
    let part = part.checked_mul(2)?.checked_add(kind)?;
    (part < 1 << 24).then_some(())?;
    Some(
        -job.checked_mul(1 << 24)?
            .checked_add(part)?
            .checked_add(1)?,
    )
}

/// A whole number.
pub(super) fn int(text: &str) -> Option<Option<i64>> {
    if text.is_empty() {
        return Some(None);
    }
    let negative = text.as_bytes()[0] == b'-';
    let digits = &text.as_bytes()[usize::from(negative)..];
    if digits.is_empty() || digits.len() > 18 {
        // Beyond all real counts; what Slurm prints for "not set" has 20 digits.
        return (digits.len() <= 20 && digits.iter().all(u8::is_ascii_digit) && !digits.is_empty())
            .then_some(None);
    }
    let value = self::digits(digits)?;
    Some(Some(if negative { -value } else { value }))
}

/// Seconds of `[D-]HH:MM:SS`, `HH:MM:SS.mmm`, `MM:SS.mmm`.
pub(super) fn duration(text: &str) -> Option<Option<f64>> {
    match hours(text.as_bytes()) {
        Some(seconds) => Some(Some(seconds as f64)),
        None => any_duration(text),
    }
}

/// Seconds of `HH:MM:SS`, as most are.
#[inline]
fn hours(text: &[u8]) -> Option<i64> {
    let [a, b, b':', c, d, b':', e, f] = text else {
        return None;
    };
    let two = |a: &u8, b: &u8| digits(&[*a, *b]);
    Some(two(a, b)? * 3600 + two(c, d)? * 60 + two(e, f)?)
}

fn any_duration(text: &str) -> Option<Option<f64>> {
    if text.is_empty() || text == "INVALID" {
        return Some(None);
    }
    let (days, clock) = match split(text, b'-') {
        Some((days, clock)) => (number(days).filter(|(_, rest)| rest.is_empty())?.0, clock),
        None => (0, text),
    };
    let (whole, fraction) = split(clock, b'.').unwrap_or((clock, ""));
    let (mut seconds, mut parts) = (0i64, 0);
    for part in whole.split(':') {
        let value = number(part).filter(|(_, rest)| rest.is_empty())?.0;
        seconds = seconds.checked_mul(60)?.checked_add(value)?;
        parts += 1;
    }
    if !(2..=3).contains(&parts)
        || fraction.len() > 9
        || !fraction.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let seconds = days.checked_mul(86_400)?.checked_add(seconds)?;
    let fraction = match fraction.parse::<u32>() {
        Ok(value) => f64::from(value) / 10f64.powi(fraction.len() as i32),
        Err(_) => 0.0,
    };
    Some(Some(seconds as f64 + fraction))
}

/// An amount with a suffix of powers of 1024: `71052K`, `69.39M`, `12`. Bytes for what is bytes.
pub(super) fn amount(text: &str) -> Option<Option<i64>> {
    let (figure, factor) = split_suffix(text);
    if figure.is_empty() {
        return text.is_empty().then_some(None);
    }
    match digits(figure.as_bytes()) {
        Some(whole) => Some(whole.checked_mul(factor)),
        None => any_amount(figure, factor),
    }
}

fn any_amount(figure: &str, factor: i64) -> Option<Option<i64>> {
    if factor == 1 && !figure.contains('.') {
        return int(figure);
    }
    let mut digits = figure.bytes();
    if !digits.all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    if let Some(whole) = int(figure) {
        return Some(whole.and_then(|whole| whole.checked_mul(factor)));
    }
    let value: f64 = figure.parse().ok()?;
    Some(Some((value * factor as f64).round() as i64))
}

fn split_suffix(text: &str) -> (&str, i64) {
    let power = match text.as_bytes().last() {
        Some(b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(b'P') => 5,
        Some(b'E') => 6,
        _ => return (text, 1),
    };
    (&text[..text.len() - 1], 1 << (10 * power))
}

/// ReqMem: bytes, and what they are for. `400M` is for the job; before Slurm 21.08 `2Gn` was for each node, `4000Mc` for each CPU.
pub(super) fn req_mem(text: &str) -> Option<Option<(i64, &'static str)>> {
    let (figure, per) = match text.as_bytes().last() {
        Some(b'n') => (&text[..text.len() - 1], "node"),
        Some(b'c') => (&text[..text.len() - 1], "cpu"),
        _ => (text, "job"),
    };
    let bytes = amount(figure.strip_suffix('?').unwrap_or(figure))?;
    Some(bytes.map(|bytes| (bytes, per)))
}

/// Slurm's states and their numbers in its accounting tables; those from 256 on are flags beside a state there.
const STATES: [(&str, i64); 24] = [
    ("PENDING", 0),
    ("RUNNING", 1),
    ("SUSPENDED", 2),
    ("COMPLETED", 3),
    ("CANCELLED", 4),
    ("FAILED", 5),
    ("TIMEOUT", 6),
    ("NODE_FAIL", 7),
    ("PREEMPTED", 8),
    ("BOOT_FAIL", 9),
    ("DEADLINE", 10),
    ("OUT_OF_MEMORY", 11),
    ("LAUNCH_FAILED", 1 << 8),
    ("REQUEUED", 1 << 10),
    ("REQUEUE_HOLD", 1 << 11),
    ("SPECIAL_EXIT", 1 << 12),
    ("RESIZING", 1 << 13),
    ("CONFIGURING", 1 << 14),
    ("COMPLETING", 1 << 15),
    ("STOPPED", 1 << 16),
    ("REVOKED", 1 << 19),
    ("REQUEUE_FED", 1 << 20),
    ("SIGNALING", 1 << 22),
    ("STAGE_OUT", 1 << 23),
];

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State<'a> {
    pub(super) name: &'a str,
    pub(super) code: Option<i64>,
    /// User id of who cancelled it.
    pub(super) by: Option<i64>,
}

/// Reads `COMPLETED`, `CANCELLED by 1002`. A state that is new to us has no number.
pub(super) fn state(text: &str) -> Option<State<'_>> {
    let word = |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let (name, by) = match word(text) {
        true => (text, None),
        false => {
            let (name, by) = text.split_once(" by ")?;
            let by = number(by).filter(|(_, rest)| rest.is_empty())?.0;
            (name, Some(by))
        }
    };
    let known = STATES.iter().find(|(state, _)| *state == name);
    (!name.is_empty() && word(name)).then_some(State {
        name,
        code: known.map(|(_, code)| *code),
        by,
    })
}

/// Exit code and signal of `3:0`.
pub(super) fn exit_code(text: &str) -> Option<Option<(i64, i64)>> {
    if text.is_empty() {
        return Some(None);
    }
    let (code, signal) = split(text, b':')?;
    Some(int(code)?.zip(int(signal)?))
}

/// Names and amounts of trackable resources.
pub(super) type Tres<'a> = Vec<(Cow<'a, str>, i64)>;

/// Trackable resources of `billing=8,cpu=8,mem=1200M,node=4`: bytes where they are bytes, seconds of CPU time. What is not set is
/// left out.
pub(super) fn tres(text: &str) -> Option<Tres<'_>> {
    let mut found = vec![];
    tres_into(text, &mut found).then_some(found)
}

/// The same into a list that is there; false if it is none, and then anything is in it.
pub(super) fn tres_into<'a>(text: &'a str, found: &mut Tres<'a>) -> bool {
    found.clear();
    let mut rest = text;
    while !rest.is_empty() {
        let (pair, others) = match split(rest, b',') {
            // A comma at the end stands before a pair that is none.
            Some((_, "")) => return false,
            Some(both) => both,
            None => (rest, ""),
        };
        match tres_pair(pair) {
            Some(pair) => found.extend(pair),
            None => return false,
        }
        rest = others;
    }
    true
}

fn tres_pair(pair: &str) -> Option<Option<(Cow<'_, str>, i64)>> {
    let (name, value) = split(pair, b'=')?;
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'.' | b':' | b'-');
    (!name.is_empty() && name.bytes().all(good)).then_some(())?;
    let value = match value.bytes().any(|b| b == b':') {
        true => duration(value)?.map(|seconds| seconds.round() as i64),
        false => amount(value)?,
    };
    Some(value.map(|value| (name.into(), value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_of_plain_jobs_array_tasks_and_het_components_are_told_apart() {
        let plain = id("2.batch", Some("2.batch")).unwrap();
        assert_eq!((plain.job_id, plain.step), (2, Some("batch")));
        let task = id("3_4.0", Some("28.0")).unwrap();
        assert_eq!(
            (task.job_id, task.array_job_id, task.array_task_id),
            (28, Some(3), Some(4))
        );
        let last = id("3_5", Some("3")).unwrap();
        assert_eq!((last.job_id, last.array_task_id), (3, Some(5)));
        let waiting = id("34_[7-9%2]", Some("34")).unwrap();
        assert_eq!(
            (waiting.job_id, waiting.array_tasks, waiting.array_task_id),
            (34, Some("7-9%2"), None)
        );
        let component = id("29+1.2", Some("30.2")).unwrap();
        assert_eq!(
            (component.job_id, component.het_job_id, component.het_offset),
            (30, Some(29), Some(1))
        );
        for text in [
            "", "x", "1.", "1_x", "1+", "1_[", "1_[]", "1 2", "1.a b", "None",
        ] {
            assert_eq!(id(text, None), None, "{text}");
        }
        // Raw and shown id of one line are of one step.
        assert_eq!(id("2.batch", Some("2.0")), None);
    }

    #[test]
    fn without_a_raw_id_a_task_has_an_id_of_no_job() {
        assert_eq!(id("7", None).unwrap().job_id, 7);
        assert_eq!(id("29+0.1", None).unwrap().job_id, 29);
        let ids = ["3_0", "3_1", "3_5", "29+1", "3+1"].map(|text| id(text, None).unwrap().job_id);
        assert!(ids.iter().all(|id| *id < 0), "{ids:?}");
        assert_eq!(
            ids.iter().collect::<std::collections::HashSet<_>>().len(),
            5
        );
        assert_eq!(id("3_0.batch", None).unwrap().job_id, ids[0]);
        assert_eq!(id("9223372036854775807_1", None), None);
    }

    #[test]
    fn lengths_of_time_are_seconds() {
        assert_eq!(duration("00:00:05"), Some(Some(5.0)));
        assert_eq!(duration("1-12:00:00"), Some(Some(129_600.0)));
        assert_eq!(
            duration("24837-19:22:40"),
            Some(Some(24_837.0 * 86_400.0 + 69_760.0))
        );
        assert_eq!(duration("00:00.130"), Some(Some(0.13)));
        assert_eq!(duration("02:03.5"), Some(Some(123.5)));
        assert_eq!(duration(""), Some(None));
        for text in [
            "5",
            "a:b",
            "1:2:3:4",
            "UNLIMITED",
            "1-2",
            "-1:00:00",
            "99999999999999:00:00:00",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn suffixes_are_powers_of_1024() {
        assert_eq!(amount("71052K"), Some(Some(72_757_248)));
        assert_eq!(amount("12345"), Some(Some(12_345)));
        // 69.39 MiB, as --units=M rounds 72,757,248 B.
        assert_eq!(amount("69.39M"), Some(Some(72_760_689)));
        assert_eq!(amount("2T"), Some(Some(2 << 40)));
        assert_eq!(amount("18446744073709551614"), Some(None));
        assert_eq!(amount(""), Some(None));
        for text in ["K", "1.2.3M", "nid01234", "-1M", "1e5", "0x10"] {
            assert_eq!(amount(text), None, "{text}");
        }
        assert_eq!(req_mem("1200M"), Some(Some((1200 << 20, "job"))));
        assert_eq!(req_mem("2Gn"), Some(Some((2 << 30, "node"))));
        assert_eq!(req_mem("4000Mc"), Some(Some((4000 << 20, "cpu"))));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        #[test]
        fn what_is_read_at_a_glance_is_what_a_closer_look_finds(
            clock in "[0-9:.x]{8}|[0-9]{2}:[0-9]{2}:[0-9]{2}",
            figure in "[0-9]{1,21}|[0-9.-]{1,6}",
            suffix in "[KMGTPE]?",
            id in "[0-9]{1,3}([.][0-9]|[_+][0-9]|[.]batch|x)?",
        ) {
            prop_assert_eq!(duration(&clock), any_duration(&clock));
            let text = format!("{figure}{suffix}");
            let (rest, factor) = split_suffix(&text);
            prop_assert_eq!(amount(&text), any_amount(rest, factor));
            // A 0 in front makes another text of the same raw id.
            let raw = format!("0{id}");
            prop_assert_eq!(super::id(&id, Some(&id)), super::id(&id, Some(&raw)));
        }
    }

    #[test]
    fn a_state_says_who_cancelled_it() {
        let by = |by| State {
            name: "CANCELLED",
            code: Some(4),
            by,
        };
        assert_eq!(state("CANCELLED by 1002"), Some(by(Some(1002))));
        assert_eq!(state("CANCELLED"), Some(by(None)));
        assert_eq!(state("REQUEUED").unwrap().code, Some(1024));
        assert_eq!(state("NEVER_SEEN").unwrap().code, None);
        // Cut off by fixed-width output.
        assert_eq!(state("CANCELLED+"), None);
        assert_eq!(state(""), None);
    }

    #[test]
    fn resources_are_counts_bytes_or_seconds() {
        let text = "billing=2,cpu=00:01:10,gres/craynetwork=4,mem=200M,energy=18446744073709551614";
        let expected = [
            ("billing", 2),
            ("cpu", 70),
            ("gres/craynetwork", 4),
            ("mem", 200 << 20),
        ];
        assert_eq!(
            tres(text).unwrap(),
            expected.map(|(name, value)| (name.into(), value))
        );
        assert_eq!(tres(""), Some(vec![]));
        assert_eq!(tres("cpu"), None);
        assert_eq!(exit_code("0:15"), Some(Some((0, 15))));
        assert_eq!(exit_code("3"), None);
    }
}
