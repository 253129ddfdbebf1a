//! A block of addresses, as the file names it.

/// A block of addresses in CIDR form, such as `10.20.0.0/16`; `config` has checked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network(pub String);
