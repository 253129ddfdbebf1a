//! `serin completions` and `serin man`: what a shell and man(1) know of the commands, from the definitions they are parsed by.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

/// Prints what a shell needs to complete commands, such as `serin completions bash > /etc/bash_completion.d/serin`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Writes a manual page for each command, such as `serin man /usr/local/share/man/man1`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder, which is made where it is not there; without one the page of serin(1) is printed.
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// Prints the completions.
pub(crate) fn completions(mut command: Command, args: &CompletionsArgs) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "serin", &mut text);
    printed(&text)
}

/// Writes or prints the pages.
///
/// # Errors
/// Where the folder cannot be written.
pub(crate) fn pages(command: Command, args: &ManArgs) -> anyhow::Result<ExitCode> {
    let Some(folder) = &args.folder else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        return Ok(printed(&text));
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    clap_mangen::generate_to(command, folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// A reader that has seen enough, such as `head`, is no failure.
fn printed(text: &[u8]) -> ExitCode {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            anstream::eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
