//! A probe, whole: its steps in order, and the looks beside them.

pub(crate) mod secrets;
pub(crate) mod declarations;
pub(crate) mod search;
pub(crate) mod harvest;
pub(crate) mod source_list;
pub(crate) mod steps;
pub(crate) mod health_check;
pub(crate) mod connectivity;
pub(crate) mod reach;
pub(crate) mod cross;
