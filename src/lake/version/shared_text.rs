//! Text that is shared, written and read as any other.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_ref().serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}
