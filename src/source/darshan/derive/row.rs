//! Writing one row, column after column, in the order of its schema.

use crate::table::{Column, TableBuilder};

/// A row on its way into a builder. Columns are written in the order of the schema; each call names its column, and the
/// tests check that the names are the schema's.
pub(in crate::source::darshan) struct RowWriter<'a> {
    builder: &'a mut TableBuilder,
    at: usize,
}

impl<'a> RowWriter<'a> {
    pub(in crate::source::darshan) fn new(builder: &'a mut TableBuilder) -> Self {
        Self { builder, at: 0 }
    }

    fn next(&mut self, name: &str) -> &mut Column {
        if cfg!(any(test, debug_assertions)) {
            assert_eq!(
                self.builder.table().columns[self.at].name,
                name,
                "column {} of {}",
                self.at,
                self.builder.table().name
            );
        }
        self.at += 1;
        self.builder.column(self.at - 1)
    }

    pub(in crate::source::darshan) fn int(&mut self, name: &str, value: impl Into<Option<i64>>) {
        self.next(name).int64().push(value);
    }

    pub(in crate::source::darshan) fn id(&mut self, name: &str, value: u64) {
        self.next(name).uint64().push(value);
    }

    pub(in crate::source::darshan) fn float(&mut self, name: &str, value: impl Into<Option<f64>>) {
        self.next(name).float64().push(value);
    }

    pub(in crate::source::darshan) fn time(&mut self, name: &str, micros: impl Into<Option<i64>>) {
        self.next(name).timestamp().push(micros);
    }

    pub(in crate::source::darshan) fn flag(&mut self, name: &str, value: impl Into<Option<bool>>) {
        self.next(name).boolean().append_option(value.into());
    }

    pub(in crate::source::darshan) fn text(&mut self, name: &str, value: Option<&str>) {
        self.next(name).utf8().append_option(value);
    }

    pub(in crate::source::darshan) fn bytes(&mut self, name: &str, value: Option<&[u8]>) {
        self.next(name).binary().append_option(value);
    }

    pub(in crate::source::darshan) fn texts<'t>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = &'t str>,
    ) {
        let list = self.next(name).list();
        let items = list.items(0).utf8();
        let length = values.map(|value| items.append_value(value)).count();
        list.push(length);
    }

    pub(in crate::source::darshan) fn int32s(
        &mut self,
        name: &str,
        values: Option<&[Option<i32>]>,
    ) {
        let list = self.next(name).list();
        match values {
            Some(values) => {
                let items = list.items(0).int32();
                values.iter().for_each(|value| items.push(*value));
                list.push(values.len());
            }
            None => list.push_null(),
        }
    }

    pub(in crate::source::darshan) fn int64s(&mut self, name: &str, values: Option<&[i64]>) {
        let list = self.next(name).list();
        match values {
            Some(values) => {
                let items = list.items(0).int64();
                items.extend(values.iter().copied(), |_| true);
                list.push(values.len());
            }
            None => list.push_null(),
        }
    }

    /// Every column must have been written.
    pub(in crate::source::darshan) fn end(self) {
        debug_assert_eq!(self.at, self.builder.table().columns.len());
    }
}
