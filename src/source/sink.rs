//! The builders that a reader fills.

use crate::error::Result;
use crate::table::{TABLES, TableBuilder, table};

/// Takes rows out of builders that hold many.
type Drain = Box<dyn FnMut(&mut [TableBuilder]) -> Result<()> + Send>;

/// Builders of the tables that are asked for; a reader leaves out what is not here.
#[derive(Default)]
pub struct BatchSink {
    builders: Vec<TableBuilder>,
    /// Takes the rows of an input while it is read.
    drain: Option<Drain>,
    /// Place in `builders` of each of [`TABLES`].
    places: Vec<Option<usize>>,
    /// Whether each of [`TABLES`] is left out of the next inputs.
    hidden: Vec<bool>,
}

impl BatchSink {
    /// Empty builders for the named tables.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] for a name that is no table.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let (mut builders, mut places) = (vec![], vec![None; TABLES.len()]);
        for name in names {
            let table = table(name)?;
            if let Some(at) = TABLES.iter().position(|(n, _)| *n == name) {
                places[at] = Some(builders.len());
                builders.push(TableBuilder::new(table));
            }
        }
        Ok(Self {
            builders,
            drain: None,
            places,
            hidden: vec![false; TABLES.len()],
        })
    }

    /// Leaves a table out of the inputs that are read from now on, or takes it again. Its builder and rows stay.
    pub fn leave_out(&mut self, name: &str, hidden: bool) {
        if let Some(at) = TABLES.iter().position(|(n, _)| *n == name)
            && let Some(entry) = self.hidden.get_mut(at)
        {
            *entry = hidden;
        }
    }

    /// Place in `builders` of a table that is asked for.
    fn place(&self, name: &str) -> Option<usize> {
        let at = TABLES.iter().position(|(n, _)| *n == name)?;
        let place = (*self.places.get(at)?)?;
        (!self.hidden.get(at)?).then_some(place)
    }

    /// The builder of a table, if it is asked for.
    pub fn get(&mut self, name: &str) -> Option<&mut TableBuilder> {
        let place = self.place(name)?;
        self.builders.get_mut(place)
    }

    /// Whether a table is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Sets the callback that drains full builders while a dump, or a log that is larger than memory, is read.
    pub fn set_drain(
        &mut self,
        drain: impl FnMut(&mut [TableBuilder]) -> Result<()> + Send + 'static,
    ) {
        self.drain = Some(Box::new(drain));
    }

    /// Removes that callback.
    pub fn remove_drain(&mut self) {
        self.drain = None;
    }

    /// Hands the builders, which hold whole rows only, to that callback, if there is one.
    ///
    /// # Errors
    /// Those of the callback: the input must not be read on.
    pub fn flush(&mut self) -> Result<()> {
        match &mut self.drain {
            Some(take) => take(&mut self.builders),
            None => Ok(()),
        }
    }

    /// All builders, in the order in which they were asked for.
    pub fn builders(&mut self) -> &mut [TableBuilder] {
        &mut self.builders
    }
}
