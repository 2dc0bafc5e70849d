//! Records of fixed size: each counter is a column.

use super::{Module, ModuleId, Shape, int, mdhim};
use crate::source::darshan::layout::{Layout, Slot};
use crate::source::darshan::records::Records;
use crate::table::{Column, TableBuilder};

/// Records that are turned into columns together: small enough that their counters stay in the second-level cache.
const BLOCK: usize = 128;

/// Records that are read side by side: so many counters are one line of memory.
const LANES: usize = 8;

/// Appends the records in the given order to the module's table, column by column.
///
/// Negative counts become NULL, except POSIX strides; floats that are -1 become NULL, others stay as they are. `name` is asked
/// for those of objects in files. `is_whole`: the records are all of the module, so that their numbers are those of the log.
pub(in crate::source::darshan) fn fill<'l>(
    records: &Records<'_>,
    order: &[u32],
    module: &Module,
    (log_id, job_id): (i64, i64),
    name: impl Fn(u64) -> Option<&'l [u8]>,
    is_whole: bool,
    builder: &mut TableBuilder,
) {
    let numbers = builder.table().position("record");
    let layout = records.layout;
    let names = module.counters.map_or(&[][..], |(_, ints, _)| ints);
    let mut block = Block::new(layout, order.len());
    for order in order.chunks(BLOCK) {
        let n = order.len();
        block.take(records, order);
        builder.column(0).int64().extend_constant(log_id, n);
        builder.column(1).int64().extend_constant(job_id, n);
        builder.column(2).uint64().extend(block.ids(0), |_| true);
        let ranks = builder.column(3).int64();
        ranks.extend_from_slice(block.ints(8), |_| true);
        let mut column = 4;
        if matches!(module.id, ModuleId::H5D | ModuleId::PNETCDF_VAR) {
            let objects = builder.column(column).utf8();
            for id in block.ids(0) {
                objects.append_option(name(id).map(String::from_utf8_lossy));
            }
            column += 1;
            let files = builder.column(column).uint64();
            match layout.file_record_id {
                Some(slot) => files.extend(block.ids(slot), |_| true),
                None => files.extend_constant(None, n),
            }
            column += 1;
        }
        for (slot, name) in layout.ints.iter().zip(names) {
            match (builder.column(column), slot) {
                (Column::UInt64(ids), Slot::At(slot)) => ids.extend(block.ids(*slot), |_| true),
                (Column::UInt64(ids), _) => ids.extend_constant(None, n),
                (counts, Slot::At(slot)) => {
                    let (counts, values) = (counts.int64(), block.ints(*slot));
                    match is_signed(module, name) {
                        true => counts.extend_from_slice(values, |_| true),
                        false => counts.extend_from_slice(values, |v| v >= 0),
                    }
                }
                (counts, Slot::Sum(a, b)) => {
                    let both = block.ints(*a).iter().zip(block.ints(*b));
                    let sums = both.map(|(a, b)| match (*a, *b) {
                        (a, b) if a < 0 || b < 0 => -1,
                        (a, b) => a.saturating_add(b),
                    });
                    counts.int64().extend(sums, |v| v >= 0);
                }
                (counts, Slot::Missing) => counts.int64().extend_constant(None, n),
            }
            column += 1;
        }
        for slot in &layout.floats {
            let floats = builder.column(column).float64();
            match slot {
                Slot::At(slot) => floats.extend(block.floats(*slot), |v| v != -1.0),
                _ => floats.extend_constant(None, n),
            }
            column += 1;
        }
        tails(records, order, module, column, builder);
        if let Some(at) = numbers {
            let numbers = builder.column(at).int64();
            match is_whole {
                true => numbers.extend(order.iter().map(|record| i64::from(*record)), |_| true),
                false => numbers.extend_constant(None, n),
            }
        }
    }
}

/// Some records, counter by counter.
struct Block {
    len: usize,
    /// From one counter to the next in `words`. No power of two, or the counters of a record would meet in few sets of the cache.
    stride: usize,
    /// The first eight bytes of all records, then the second ones, and so on.
    words: Vec<i64>,
}

impl Block {
    fn new(layout: &Layout, records: usize) -> Self {
        let stride = records.min(BLOCK).next_multiple_of(LANES) + LANES;
        Self {
            len: 0,
            stride,
            words: vec![0; layout.size / 8 * stride],
        }
    }

    /// Goes on to these records, at most [`BLOCK`].
    ///
    /// Records lie in no order. So each is read from front to back, eight at a time, and they are written to one line of each
    /// counter: read counter by counter, every value would be waited for.
    fn take(&mut self, records: &Records<'_>, order: &[u32]) {
        self.len = order.len().min(BLOCK);
        for (group, order) in order[..self.len].chunks(LANES).enumerate() {
            let rows: [&[[u8; 8]]; LANES] = std::array::from_fn(|lane| {
                let record = order.get(lane).map(|record| *record as usize);
                record.map_or(&[][..], |record| records.bytes_of(record).as_chunks().0)
            });
            let lines = self.words.chunks_exact_mut(self.stride);
            let lines = lines.map(|line| &mut line[LANES * group..][..LANES]);
            let words = lines.len();
            if rows.iter().all(|row| row.len() >= words) {
                let rows = rows.map(|row| &row[..words]);
                for (word, line) in lines.enumerate() {
                    for (value, row) in line.iter_mut().zip(rows) {
                        *value = i64::from_le_bytes(row[word]);
                    }
                }
            } else {
                for (word, line) in lines.enumerate() {
                    for (value, row) in line.iter_mut().zip(rows) {
                        *value = row.get(word).map_or(0, |bytes| i64::from_le_bytes(*bytes));
                    }
                }
            }
        }
    }

    /// The eight bytes at `slot` of every record.
    fn ints(&self, slot: usize) -> &[i64] {
        let from = slot / 8 * self.stride;
        &self.words[from..from + self.len]
    }

    fn ids(&self, slot: usize) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.ints(slot).iter().map(|word| *word as u64)
    }

    fn floats(&self, slot: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        let words = self.ints(slot).iter();
        words.map(|word| f64::from_bits(*word as u64))
    }
}

/// What follows the counters: UUIDs and object ids of DAOS, the histogram of MDHIM.
fn tails(
    records: &Records<'_>,
    block: &[u32],
    module: &Module,
    column: usize,
    builder: &mut TableBuilder,
) {
    for record in block {
        let at = records.start(*record as usize);
        if let Some(tail) = records.layout.tail.map(|tail| at + tail) {
            for (i, column) in [column, column + 1].into_iter().enumerate() {
                let bytes: Option<[u8; 16]> = records
                    .bytes
                    .get(tail + 16 * i..tail + 16 * (i + 1))
                    .and_then(|b| b.try_into().ok());
                builder
                    .column(column)
                    .utf8()
                    .append_option(bytes.map(|b| uuid::Uuid::from_bytes(b).to_string()));
            }
            if module.id == ModuleId::DAOS {
                builder
                    .column(column + 2)
                    .uint64()
                    .push(int(records.bytes, tail + 32) as u64);
                builder
                    .column(column + 3)
                    .uint64()
                    .push(int(records.bytes, tail + 40) as u64);
            }
        }
        if module.shape == Shape::Mdhim {
            let end = records.start(*record as usize + 1);
            let histogram = records.bytes.get(at + mdhim::HEAD..end).unwrap_or_default();
            let (bins, _) = histogram.as_chunks::<8>();
            let list = builder.column(column).list();
            let values = bins.iter().map(|bin| i64::from_le_bytes(*bin));
            list.items(0).int64().extend(values, |_| true);
            list.push(bins.len());
        }
    }
}

/// Whether a negative value of a counter means something.
fn is_signed(module: &Module, name: &str) -> bool {
    module.id == ModuleId::POSIX && name.ends_with("_STRIDE")
}

#[cfg(test)]
mod tests {
    use super::super::MODULES;
    use crate::table::table;

    #[test]
    fn the_columns_of_a_table_are_the_counters_of_its_module() {
        for module in MODULES {
            let Some((prefix, ints, floats)) = module.counters else {
                continue;
            };
            let table = table(module.table).unwrap();
            let from = if table.columns[4].name == "name" {
                6
            } else {
                4
            };
            let expected: Vec<String> = ints
                .iter()
                .chain(floats)
                .map(|name| format!("{prefix}{name}").to_lowercase())
                .collect();
            let found: Vec<&str> = table.columns[from..][..expected.len()]
                .iter()
                .map(|c| c.name.as_str())
                .collect();
            assert_eq!(found, expected, "{}", module.name);
        }
    }
}
