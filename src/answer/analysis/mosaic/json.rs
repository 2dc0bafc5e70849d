//! A log's classes as JSON, in the form of the published tool.

use super::result::Mosaic;
use crate::math::io_pattern::group::Group;
use crate::math::io_pattern::operation::Direction;
use serde_json::{Value, json};

impl Mosaic {
    /// `{"classes": {..}, "metadata": {..}, "read": [groups], "write": [groups], "infos": {..}}`, as the published tool has it. Without classes these are
    /// null, and `infos.status` says why. `infos` is ours.
    pub fn to_json(&self) -> Value {
        let classes = self.patterns.as_ref().map(|_| {
            json!({
                "metadata_classes": self.metadata_class_names(),
                "read_classes": self.class_names(Direction::Read),
                "write_classes": self.class_names(Direction::Write),
            })
        });
        let metadata = self.metadata.as_ref().map(|load| {
            json!({
                "highest_spike": load.highest_spike,
                "spike_count": load.spike_count,
                "average_per_spike": load.average_per_spike,
                "operations_per_second": load.operations_per_second,
                "operations_duration": load.operations_duration,
            })
        });
        let groups = |direction| -> Option<Vec<Value>> {
            let groups = &self.pattern(direction)?.groups;
            let group = |each| group(each, self.knows_opens());
            Some(groups.iter().map(group).collect())
        };
        let of = |direction| {
            let pattern = self.pattern(direction);
            json!({
                "shares": pattern.and_then(|pattern| pattern.shares),
                "period": pattern.and_then(|pattern| Some(pattern.period?.seconds)),
                "busy": pattern.and_then(|pattern| Some(pattern.period?.busy)),
                "confidence": pattern.and_then(|pattern| pattern.confidence),
            })
        };
        json!({
            "classes": classes,
            "metadata": metadata,
            "read": groups(Direction::Read),
            "write": groups(Direction::Write),
            "infos": {
                "mode": self.mode.name(),
                "status": self.status.name(),
                "evidence": self.evidence.map(|evidence| evidence.name()),
                "partial_trace": self.partial_trace,
                "run_time": self.run_time,
                "confidence": self.confidence(),
                "read": of(Direction::Read),
                "write": of(Direction::Write),
            },
        })
    }
}

fn group(group: &Group, knows_opens: bool) -> Value {
    json!({
        "start": group.start,
        "end": group.end,
        "segments": group.segments,
        "period": group.period,
        "work": group.work,
        "work_cv": group.work_cv,
        "bytes": group.bytes,
        "ranks": group.ranks,
        "metadata": knows_opens.then_some(group.metadata),
    })
}
