//! The reference server: a house of its own, of ours it uses only `net`.
