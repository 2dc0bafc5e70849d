//! Records of fixed size: each counter is a column.

use super::{Module, ModuleId, Shape, float, int, mdhim};
use crate::source::darshan::layout::Slot;
use crate::source::darshan::records::Records;
use crate::table::{Column, TableBuilder};
use arrow::array::ListBuilder;

/// Records whose columns are filled together: so many of most modules stay in the first-level cache.
const BLOCK: usize = 64;

/// Appends the records in the given order to the module's table, column by column.
///
/// Negative counts become NULL, except POSIX strides; floats that are -1 become NULL, others stay as they are.
pub(in crate::source::darshan) fn fill(
    records: &Records<'_>,
    order: &[u32],
    module: &Module,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    let layout = records.layout;
    let mut rows: Vec<&[u8]> = Vec::with_capacity(BLOCK);
    for block in order.chunks(BLOCK) {
        let n = block.len();
        rows.clear();
        rows.extend(
            block
                .iter()
                .map(|record| records.bytes_of(*record as usize)),
        );
        let rows = rows.as_slice();
        builder.column(0).int64().extend_constant(log_id, n);
        builder.column(1).int64().extend_constant(job_id, n);
        builder
            .column(2)
            .uint64()
            .extend(rows.iter().map(|row| int(row, 0) as u64), |_| true);
        builder
            .column(3)
            .int64()
            .extend(rows.iter().map(|row| int(row, 8)), |_| true);
        let mut column = 4;
        if matches!(module.id, ModuleId::H5D | ModuleId::PNETCDF_VAR) {
            match layout.file_record_id {
                Some(slot) => builder
                    .column(column)
                    .uint64()
                    .extend(rows.iter().map(|row| int(row, slot) as u64), |_| true),
                None => builder.column(column).uint64().extend_constant(None, n),
            }
            column += 1;
        }
        let names = module.counters.map_or(&[][..], |(_, ints, _)| ints);
        for (slot, name) in layout.ints.iter().zip(names) {
            let values = |slot: usize| rows.iter().map(move |row| int(row, slot));
            match (builder.column(column), slot) {
                (Column::UInt64(ids), Slot::At(slot)) => {
                    ids.extend(values(*slot).map(|v| v as u64), |_| true)
                }
                (Column::UInt64(ids), _) => ids.extend_constant(None, n),
                (counts, Slot::At(slot)) if is_signed(module, name) => {
                    counts.int64().extend(values(*slot), |_| true)
                }
                (counts, Slot::At(slot)) => counts.int64().extend(values(*slot), |v| v >= 0),
                (counts, Slot::Sum(a, b)) => {
                    counts.int64().extend(
                        values(*a).zip(values(*b)).map(|(a, b)| {
                            if a < 0 || b < 0 {
                                -1
                            } else {
                                a.saturating_add(b)
                            }
                        }),
                        |v| v >= 0,
                    );
                }
                (counts, Slot::Missing) => counts.int64().extend_constant(None, n),
            }
            column += 1;
        }
        for slot in &layout.floats {
            let floats = builder.column(column).float64();
            match slot {
                Slot::At(slot) => {
                    floats.extend(rows.iter().map(|row| float(row, *slot)), |v| v != -1.0)
                }
                _ => floats.extend_constant(None, n),
            }
            column += 1;
        }
        tails(records, block, module, column, builder);
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
            let end = records.end(*record as usize);
            let list: &mut ListBuilder<_> = builder.column(column).int64_list();
            let histogram = records.bytes.get(at + mdhim::HEAD..end).unwrap_or_default();
            histogram
                .chunks_exact(8)
                .for_each(|b| list.values().append_value(int(b, 0)));
            list.append(true);
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
            let from = if table.columns[4].name == "file_record_id" {
                5
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
