//! The functions that a session itself holds.

use crate::lake::UserFunction;
use std::sync::{PoisonError, RwLock};

/// The functions of a session.
#[derive(Default)]
pub(in crate::engine) struct SessionFunctions {
    /// What it keeps itself.
    pub(super) functions: RwLock<Vec<UserFunction>>,
    /// Names of the first lake's functions, as they were when last looked at; for suggestions.
    known_names: RwLock<Vec<String>>,
}

impl SessionFunctions {
    pub(super) fn functions(&self) -> Vec<UserFunction> {
        let functions = self.functions.read();
        functions.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every user's function that is known of.
    pub(in crate::engine) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.functions().into_iter().map(|f| f.name).collect();
        let known_names = self.known_names.read();
        names.extend(
            known_names
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .cloned(),
        );
        names
    }

    pub(super) fn learn_names(&self, functions: &[UserFunction]) {
        let names = functions.iter().map(|function| function.name.clone());
        *self
            .known_names
            .write()
            .unwrap_or_else(PoisonError::into_inner) = names.collect();
    }
}
