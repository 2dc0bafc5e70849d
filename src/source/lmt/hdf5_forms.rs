//! HDF5 files of LMT: h5lmt of pylmt, or a TOKIO time series of pytokio.

use crate::error::Result;
use crate::source::lmt::hdf5::{File, Form};
use crate::source::{BatchSink, Input, Outcome, ReadContext};

/// Checks that a file is LMT's.
pub(super) fn peek(input: &Input) -> Result<()> {
    File::open(input)?.form().map(|_| ())
}

/// Appends the rows of a file.
pub(super) fn read(
    input: &Input,
    context: &ReadContext,
    tables: &mut BatchSink,
) -> Result<Outcome> {
    let file = File::open(input)?;
    match file.form()? {
        Form::H5lmt => super::h5lmt::read(&file, context, tables),
        Form::Series => super::tokio_hdf5::read(&file, context, tables),
    }
}
