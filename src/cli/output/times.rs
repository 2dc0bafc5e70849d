//! Times: SQL has them in UTC, named queries show them in the zone of the site.

use super::writer::plain_type;
use crate::text;
use chrono_tz::Tz;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// The zone in which Arrow has a column of times in UTC that are shown as those of a place, with their offset: `UTC` itself is for times that are shown
/// as UTC.
const UTC_OF_A_PLACE: &str = "Etc/UTC";

/// A schema with the times of a zone instead of times in UTC.
pub(crate) fn in_zone(schema: &SchemaRef, zone: Tz) -> SchemaRef {
    let zone = match zone {
        Tz::UTC => UTC_OF_A_PLACE,
        zone => zone.name(),
    };
    let fields = schema.fields().iter().map(|field| {
        let times = |field: &Field| match field.data_type() {
            DataType::Timestamp(unit, Some(_)) => {
                Some(DataType::Timestamp(*unit, Some(zone.into())))
            }
            _ => None,
        };
        match has_times(field.data_type(), &|_| true) {
            true => field
                .as_ref()
                .clone()
                .with_data_type(plain_type(field, &times)),
            false => field.as_ref().clone(),
        }
    });
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        schema.metadata().clone(),
    ))
}

/// Whether values of a type are times of a zone that is meant, or hold such.
fn has_times(data_type: &DataType, is_meant: &impl Fn(&str) -> bool) -> bool {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => is_meant(zone),
        DataType::List(item)
        | DataType::ListView(item)
        | DataType::LargeList(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => has_times(item.data_type(), is_meant),
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.any(|field| has_times(field.data_type(), is_meant))
        }
        _ => false,
    }
}

/// Whether values of a type are times in another zone than UTC, or hold such.
pub(super) fn has_local_times(data_type: &DataType) -> bool {
    has_times(data_type, &|zone| !is_utc(zone))
}

/// Whether times of this zone are those that SQL has: UTC by either of its names.
fn is_utc(zone: &str) -> bool {
    ["UTC", "+00:00"].contains(&zone)
}

/// A time with its offset from UTC.
pub(super) const LOCAL: &str = "%Y-%m-%d %H:%M:%S%.f%:z";

/// The name of a column, and of times in UTC that they are.
pub(super) fn heading(field: &Field) -> String {
    let name = text::shown(field.name());
    match field.data_type() {
        DataType::Timestamp(_, Some(zone)) if is_utc(zone) => format!("{name} (UTC)"),
        _ => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::format;
    use super::super::writer::{Style, as_schema};
    use super::*;
    use datafusion::arrow::array::{ArrayRef, RecordBatch, TimestampMicrosecondArray};

    fn written(name: &str, batch: &RecordBatch) -> String {
        let mut out = vec![];
        let format = format(name).unwrap();
        format.write(&mut out, batch, Style::default()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_in_utc_are_told_in_the_heading_and_others_have_their_offset() {
        let times =
            TimestampMicrosecondArray::from(vec![1_789_124_445_000_000, 1_796_036_445_500_000]);
        let columns: [(&str, ArrayRef); 3] = [
            ("start", Arc::new(times.clone().with_timezone("UTC"))),
            ("now", Arc::new(times.clone().with_timezone("+00:00"))),
            ("hands", Arc::new(times)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let lines = |name: &str, batch: &RecordBatch| -> Vec<String> {
            let text = written(name, batch);
            let cells = text.lines().map(|line| {
                let cells = line.split([',', '|']).map(str::trim);
                cells.collect::<Vec<_>>().join(",")
            });
            cells.filter(|line| !line.starts_with('-')).collect()
        };
        let utc = "2026-09-11T11:00:45Z,2026-09-11T11:00:45Z,2026-09-11T11:00:45";
        assert_eq!(
            lines("table", &batch)[..2],
            ["start (UTC),now (UTC),hands", utc]
        );
        assert_eq!(lines("csv", &batch)[..2], ["start,now,hands", utc]);
        let in_zone = |name: &str, zone: Tz| {
            let schema = in_zone(&batch.schema(), zone);
            lines(name, &as_schema(&batch, &schema).unwrap())
        };
        // Summer time is over in November.
        assert_eq!(
            in_zone("table", Tz::Europe__Berlin),
            [
                "start,now,hands",
                "2026-09-11 13:00:45+02:00,2026-09-11 13:00:45+02:00,2026-09-11T11:00:45",
                "2026-11-30 12:00:45.500+01:00,2026-11-30 12:00:45.500+01:00,2026-11-30T11:00:45.500"
            ]
        );
        assert_eq!(
            in_zone("csv", Tz::Europe__Berlin)[1],
            "2026-09-11T13:00:45+02:00,2026-09-11T13:00:45+02:00,2026-09-11T11:00:45"
        );
        assert_eq!(
            in_zone("table", Tz::UTC)[..2],
            [
                "start,now,hands",
                "2026-09-11 11:00:45+00:00,2026-09-11 11:00:45+00:00,2026-09-11T11:00:45"
            ]
        );
    }
}
