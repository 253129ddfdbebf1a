//! The binary: only a link; what it does is [`serin::cli::command_line`].

use std::process::ExitCode;

/// Beats allocate on many threads at once; see Cargo.toml.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serin::live::footprint::give_back_at_once();
    serin::cli::command_line::main()
}
