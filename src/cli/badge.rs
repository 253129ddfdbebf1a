//! `serin badge`: the addresses of a monitor's or a component's badges, ready for a README.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};

use crate::cli::config_file::declared;
use crate::config::check::checker::similar;
use crate::config::read::source;
use crate::deliver::public_marks::{BadgeKind, BadgeOf, PublicMarks};
use crate::domain::fleet::Fleet;
use crate::domain::status_page::StatusPage;
use crate::store::read::public::link_key_at;

/// What a picture shows to whoever cannot see it, before the badge itself does.
const ALT_OF_MONITORS: &str = "search";

/// Prints the addresses of badges in Markdown: how it is now, over 90 days the share of time up and of right answers, and
/// the P95 of its searches.
///
/// Whoever knows an address sees the badge, without signing in; nobody can guess one. A badge of a monitor names no
/// monitor, one of a component of `status:` has its public name.
#[derive(Debug, clap::Args)]
pub(crate) struct BadgeArgs {
    /// The monitor, by its id, or the component of `status:`, by its name.
    #[arg(value_name = "MONITOR")]
    name: String,
    /// The configuration that declares it.
    #[arg(long, default_value = "monitors.yaml", value_name = "FILE")]
    config: PathBuf,
}

/// Prints them.
///
/// # Errors
/// Where nothing has this name, or no Serin made the key that addresses are signed with.
pub(crate) async fn run(args: BadgeArgs) -> anyhow::Result<ExitCode> {
    let loaded = declared(&source::read(&args.config)?)?;
    let of = subject(&loaded.fleet, &args.name)?;
    let database = loaded.settings.database.as_ref().context("the database's address refers to what is not set")?;
    ensure!(
        database.file().is_none_or(Path::exists),
        "{database} is not there yet: badges are signed with a key in it, which `serin run` makes at its first start",
    );
    let key = link_key_at(database).await.with_context(|| format!("{database} cannot be read"))?;
    let Some(key) = key else { bail!("{database} has no key of links yet; `serin run` makes it when it starts") };
    anstream::println!("{}", markdown(&PublicMarks::new(key), &loaded.fleet, of));
    Ok(ExitCode::SUCCESS)
}

fn subject<'f>(fleet: &'f Fleet, name: &str) -> anyhow::Result<BadgeOf<'f>> {
    let is_component = |page: &StatusPage| page.components.iter().any(|component| component.name == name);
    let is_monitor = fleet.monitors.iter().any(|monitor| monitor.id.as_str() == name);
    ensure!(
        !(is_monitor && fleet.status_page.as_ref().is_some_and(is_component)),
        "both a monitor and a component are called '{name}'; give the component another name"
    );
    if let Some(monitor) = fleet.monitors.iter().find(|monitor| monitor.id.as_str() == name) {
        return Ok(BadgeOf::Monitor(monitor.id.as_str()));
    }
    let components = || fleet.status_page.iter().flat_map(|page| &page.components);
    if let Some(component) = components().find(|component| component.name == name) {
        return Ok(BadgeOf::Component(&component.name));
    }
    let ids = fleet.monitors.iter().map(|monitor| monitor.id.as_str());
    let all = ids.chain(components().map(|component| component.name.as_str()));
    match similar(name, all) {
        Some(word) => bail!("neither a monitor nor a component is called '{name}'; did you mean '{word}'?"),
        None => bail!("neither a monitor nor a component of `status:` is called '{name}'"),
    }
}

/// A line a badge; where there is a page that everybody may see, it leads there.
fn markdown(marks: &PublicMarks, fleet: &Fleet, of: BadgeOf<'_>) -> String {
    let name = match of {
        BadgeOf::Monitor(_) => ALT_OF_MONITORS,
        BadgeOf::Component(name) => name,
    };
    let name: String = name.chars().map(|letter| if "[]()\\".contains(letter) { ' ' } else { letter }).collect();
    let line = |kind: BadgeKind| {
        let picture = format!("![{name}: {}]({})", kind.slug(), marks.badge_url(&fleet.public_url, of, kind));
        match fleet.status_page {
            Some(_) => format!("[{picture}]({}/status)", fleet.public_url),
            None => picture,
        }
    };
    BadgeKind::ALL.map(line).join("\n")
}
