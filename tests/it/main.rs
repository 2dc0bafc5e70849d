//! What crosses modules, from the outside: the program as a user runs it.

mod cli;
mod inspect;
mod util;
