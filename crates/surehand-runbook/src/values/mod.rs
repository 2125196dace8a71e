//! The values that an agent sends: which are accepted, and what they are then.

mod characters;
mod check;
mod number;

pub(crate) use characters::is_refused;
pub(crate) use check::{Argument, Arguments, check_arguments, check_default, unusable_choice};
pub(crate) use number::to_ecmascript;
