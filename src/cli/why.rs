//! `serin why ID`: why people were told of a monitor or an incident, or were not.

use std::path::PathBuf;
use std::process::ExitCode;

use chrono::{DateTime, Utc};

use crate::cli::config_file::declared;
use crate::cli::database::DatabaseArgs;
use crate::config::read::source;
use crate::domain::fleet::Fleet;
use crate::hindsight::body::WhyBody;
use crate::hindsight::why::{Meant, PART_CHARS_MIN, Question, Topic, meant, why};
use crate::store::StoreError;
use crate::store::read::readers::Readers;

/// Says why people were told of a monitor or an incident, or were not: readings, thresholds, what held it, and who heard.
///
/// The first line is the answer. Works beside a Serin that runs, or without one: beats of the last 35 days are weighed again
/// by the file that was in force then, and older incidents are told from the record.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// A monitor's id, an incident's, or four characters or more of its beginning.
    #[arg(value_name = "ID")]
    pub id: String,
    /// The moment, such as 2026-11-25T03:00:00+01:00; without it now, or when the incident opened.
    #[arg(long, value_name = "TIME")]
    pub at: Option<DateTime<Utc>>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Looks it up and prints it.
///
/// # Errors
/// Where the database cannot be read, nothing has this id, or several incidents may be meant.
pub(crate) async fn run(args: WhyArgs) -> anyhow::Result<ExitCode> {
    let database = args.database.address()?;
    let failed = |error: StoreError| anyhow::anyhow!("{database}: {error}");
    let store = Readers::beside(&database).await.map_err(failed)?;
    let topic = topic(meant(&store, &args.id).await.map_err(failed)?, &args.id)?;
    let (path, in_force) = in_force(&args.database);
    let question = Question { topic, at: args.at, now: Utc::now(), path, in_force };
    let answer = why(&store, question).await?;
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&WhyBody::of(&answer))?);
    } else {
        answer.lines().iter().for_each(|line| anstream::println!("{line}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn topic(meant: Meant, id: &str) -> anyhow::Result<Topic> {
    match meant {
        Meant::One(topic) => Ok(topic),
        Meant::Several(ids) => {
            anyhow::bail!("several incidents begin with '{id}', name one of them: {}", ids.join(", "))
        }
        Meant::Nothing => anyhow::bail!(
            "neither a monitor nor an incident is '{id}'; `serin incidents --all` lists incidents, of which \
             {PART_CHARS_MIN} characters of the beginning are enough, `serin status` the monitors"
        ),
    }
}

/// The file at hand, where it can be read: it need not be read again where it is the one that judged.
fn in_force(args: &DatabaseArgs) -> (PathBuf, Option<Fleet>) {
    let loaded = source::read(&args.config).ok().and_then(|source| declared(&source).ok());
    (args.config.clone(), loaded.map(|loaded| loaded.fleet))
}
