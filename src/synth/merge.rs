//! JSON that is put together from parts.

use serde_json::Value;

/// Puts a value into a place; of two objects it puts the members of one into the places of the other, which gets those
/// that it lacks.
pub(crate) fn merge(place: &mut Value, value: Value) {
    match (place, value) {
        (Value::Object(places), Value::Object(values)) => {
            for (name, value) in values {
                merge(places.entry(name).or_insert(Value::Null), value);
            }
        }
        (place, value) => *place = value,
    }
}
