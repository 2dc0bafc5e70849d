//! Users' own functions, which a lake keeps beside its data.
//!
//! They stand in the manifest, so that each version knows those it had. The lake keeps their text and does not read it; what
//! it means is the engine's matter.

use crate::error::Result;
use crate::lake::Lake;
use crate::lake::version::commit::Change;
use crate::lake::version::user_function::UserFunction;

impl Lake {
    /// Publishes a version that differs from the newest in its functions alone; None if `change` leaves them as they are.
    ///
    /// `change` is given the functions of the newest version and gives those of the next. When somebody else commits at the
    /// same time it is asked again, with theirs: two changes of different functions both land, and one of the same function
    /// sees what the other did.
    ///
    /// # Errors
    /// Those of `change`; [`crate::Error::Conflict`] if others commit all the time; [`crate::Error::Io`], as of a lake that may only be read.
    pub fn change_functions(
        &self,
        operation: &str,
        change: impl Fn(&[UserFunction]) -> Result<Vec<UserFunction>>,
    ) -> Result<Option<u64>> {
        self.change(|snapshot| {
            let old = &snapshot.manifest.functions;
            let functions = change(old)?;
            Ok((functions != *old).then(|| Change {
                operation,
                functions: Some(functions),
                ..Change::default()
            }))
        })
    }
}
