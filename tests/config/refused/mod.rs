//! What is wrong with a file: a sentence, the file, and each fault as `line:column message => mend`.

mod status;
mod structure;
mod monitors;
mod rules;
mod paging;
mod replicas;
mod depends_on;
mod drills;
mod discover;
mod maintenance;
