//! What the jobs of a month are: the usual ones, and those in which something is planted.

pub(crate) mod case;
pub(crate) mod cause;
pub(crate) mod fault;
pub(crate) mod healthy;
pub(crate) mod kind;
pub(crate) mod neighbour;
pub(crate) mod plan;
pub(crate) mod slow_ost;
pub(crate) mod unscheduled;
