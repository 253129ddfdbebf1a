//! Files as they stand: bytes, what they include, YAML as a tree that keeps its places, and how a fault in them is said.
//!
//! Read `bytes`, `glob` and `include` (the files beside the first), `discovered` (what lists brought in), `lock_files`, `stamp` (are they still the same), `source` (all with
//! their commit; as they are kept, `kept_files`), `node` (values with their places) and `tree` (how they are put together; `map_keys` and `redaction` help
//! it), `json_lines` (the same of golden sets), `syntax` (what was meant where that fails), `diagnostic` (how it is said), `reference` (`${…}`;
//! what may be shown of an address that holds some: `shown_address`).

pub mod bytes;
pub mod glob;
pub mod diagnostic;
pub(super) mod map_keys;
pub(super) mod redaction;
pub(super) mod node;
pub(super) mod syntax;
pub(super) mod tree;
pub(super) mod json_lines;
pub(super) mod reference;
pub(super) mod shown_address;
pub mod discovered;
pub(super) mod include;
pub mod lock_files;
pub mod users_file;
pub(super) mod stamp;
pub mod source;
pub mod kept_files;
