//! The file that a monitor is put into: looked at before the first request, read anew when it is written.

use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::cli::init::append;
use crate::cli::init::compose::{Draft, new_file};
use crate::cli::init::given::{InitArgs, InitInput, WrittenReference};
use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Monitor, MonitorId};

/// What the file holds already, and a new monitor has to fit in with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Ids that are taken.
    pub ids: Vec<String>,
    /// The monitor whose place the new one takes, by its id; none: the new one comes behind the last.
    pub replaced: Option<String>,
}

/// What the file holds. What would keep the monitor out of it is said before any request is sent; `is_terminal`:
/// whether somebody can be asked.
///
/// # Errors
/// Where nobody could say yes, the file cannot be written or has faults, or it watches this server already and that
/// monitor is not to be replaced or cannot be.
pub(crate) fn standing(args: &InitArgs, given: &InitInput, is_terminal: bool) -> anyhow::Result<Standing> {
    let Some(file) = &args.append else { return Ok(Standing::default()) };
    if !args.yes && !is_terminal {
        bail!("{} was not changed: give --yes to append without being asked", file.display());
    }
    append::try_out(file).with_context(|| {
        format!("cannot write {}: its folder has to be there, and yours to write into", file.display())
    })?;
    if !file.exists() {
        return Ok(Standing::default());
    }
    let text = read(file)?;
    let loaded = append::checked(file, &text, &[])
        .map_err(|faults| anyhow::anyhow!("{} has faults to mend first:\n{faults}", file.display()))?;
    append::inserted(&text, |_| String::new()).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
    let replaced = to_replace(args, given, &loaded.fleet.monitors)?;
    if let Some(id) = &replaced {
        let line = own_line(&loaded.fleet, id)?;
        append::replaced(&text, line, |_| String::new())
            .map_err(|why| anyhow::anyhow!("{}: '{id}' cannot be cut out: {why}", file.display()))?;
    }
    let ids = loaded.fleet.monitors.iter().map(|monitor| monitor.id.to_string()).collect();
    Ok(Standing { ids, replaced })
}

/// The monitor that gives up its place, where that is wished and one watches this server already.
fn to_replace(args: &InitArgs, given: &InitInput, monitors: &[Arc<Monitor>]) -> anyhow::Result<Option<String>> {
    let watching = monitors.iter().filter(|monitor| given.is_watched_by(monitor));
    let watching: Vec<&str> = watching.map(|monitor| monitor.id.as_str()).collect();
    let is_declared = |id: &&str| monitors.iter().any(|monitor| monitor.id.as_str() == *id);
    match (args.id.as_deref().filter(is_declared), &watching[..]) {
        (Some(id), watching) if args.replace && watching.contains(&id) => Ok(Some(id.to_owned())),
        (Some(id), _) => bail!("the file declares a monitor '{id}' already; give another --id"),
        (None, []) => Ok(None),
        (None, [id]) if args.replace => Ok(Some((*id).to_owned())),
        (None, [id, other, ..]) if args.replace => {
            bail!("'{id}' and '{other}' both watch this server: give the one to replace by --id")
        }
        (None, _) if args.id.is_some() => Ok(None),
        (None, [id, ..]) => bail!(
            "'{id}' watches this server already: give --replace to put the new monitor in its place, or --id to add it \
             once more"
        ),
    }
}

/// The line on which a monitor of the file itself starts.
fn own_line(fleet: &Fleet, id: &str) -> anyhow::Result<u32> {
    let monitor = fleet.monitors.iter().find(|monitor| monitor.id.as_str() == id);
    let monitor = monitor.with_context(|| format!("'{id}' is not in the file any more; start once more"))?;
    if fleet.provenance.included.first().is_some_and(|included| included.first_line <= monitor.line) {
        let (included, _) = fleet.provenance.place(monitor.line);
        bail!(
            "'{id}' stands in {included}, which the file includes: take it out there by hand, then append without --replace"
        );
    }
    Ok(monitor.line)
}

/// Puts the monitor into a file, or makes the file; asks first where nobody said yes.
///
/// # Errors
/// Where somebody said no, or the file cannot be written as it should be.
pub(crate) fn put_into(
    file: &Path,
    draft: &mut Draft,
    written: &WrittenReference,
    replaced: Option<&str>,
    yes: bool,
) -> anyhow::Result<()> {
    anstream::print!("{}", draft.item(2));
    if !yes {
        match replaced {
            None => anstream::eprint!("append this to {}? [y/N] ", file.display()),
            Some(id) => anstream::eprint!("put this in the place of '{id}' in {}? [y/N] ", file.display()),
        }
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("{} was not changed", file.display());
        }
    }
    write(file, draft, written, replaced)?;
    anstream::eprintln!("monitor '{}' is in {} now, and the file was checked", draft.id, file.display());
    Ok(())
}

/// Reads the file once more: somebody may have edited it while the server was explored and the proposal was read.
fn write(file: &Path, draft: &mut Draft, written: &WrittenReference, replaced: Option<&str>) -> anyhow::Result<()> {
    let text = whole_text(file, draft, written, replaced)?;
    append::replace(file, &text).with_context(|| format!("cannot write {}", file.display()))
}

/// The file as it will be, checked; `replaced` is the monitor whose place the new one takes. Where its `defaults`
/// contradict our rhythm and limits, theirs hold.
///
/// # Errors
/// Where it would not be right any more, or another of its monitors would change.
pub(crate) fn whole_text(
    file: &Path,
    draft: &mut Draft,
    written: &WrittenReference,
    replaced: Option<&str>,
) -> anyhow::Result<String> {
    if !file.exists() {
        let text = new_file(&draft.item(2));
        append::checked(file, &text, &written.known)
            .map_err(|faults| anyhow::anyhow!("the proposal is not right yet:\n{faults}"))?;
        return Ok(text);
    }
    let text = read(file)?;
    let before = append::checked(file, &text, &written.known)
        .map_err(|faults| anyhow::anyhow!("{} has faults to mend first:\n{faults}", file.display()))?;
    let line = replaced.map(|id| own_line(&before.fleet, id)).transpose()?;
    let edited = |draft: &Draft| match line {
        None => append::inserted(&text, |indent| draft.item(indent)),
        Some(line) => append::replaced(&text, line, |indent| draft.item(indent)),
    };
    let mut with = |by_defaults| {
        draft.by_defaults = by_defaults;
        let loaded = append::checked(file, &edited(draft)?, &written.known)?;
        // What a beat costs depends on what the file's `defaults` add to it.
        let ours = loaded.fleet.monitors.iter().find(|monitor| monitor.id.as_str() == draft.id);
        draft.calls_per_day = ours.map(|monitor| monitor.calls_per_day());
        edited(draft).map(|whole| (whole, loaded))
    };
    let (whole, after) = with(false)
        .or_else(|_| with(true))
        .map_err(|faults| anyhow::anyhow!("{} would not be right any more:\n{faults}", file.display()))?;
    let kept = others(&before.fleet, replaced);
    if others(&after.fleet, Some(draft.id.as_str())) != kept || after.fleet.monitors.len() != kept.len() + 1 {
        bail!("{}: this would change another monitor; put the printed YAML in by hand", file.display());
    }
    Ok(whole)
}

/// By what all monitors but one are told from what they were.
fn others<'f>(fleet: &'f Fleet, but: Option<&str>) -> Vec<(&'f MonitorId, &'f str)> {
    let others = fleet.monitors.iter().filter(|monitor| Some(monitor.id.as_str()) != but);
    others.map(|monitor| (&monitor.id, monitor.definition_hash.as_str())).collect()
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: InitArgs,
    }

    fn taken(file: &Path, line: &[&str], is_terminal: bool) -> Result<Vec<String>, String> {
        let file = file.to_str().unwrap();
        let args = Line::parse_from([&["init", "--append", file], line].concat()).args;
        let given = InitInput::read(&args).unwrap();
        standing(&args, &given, is_terminal).map(|standing| standing.ids).map_err(|why| format!("{why:#}"))
    }

    fn replaced(file: &Path, line: &[&str]) -> Result<Option<String>, String> {
        let args = [&["init", "--replace", "--append", file.to_str().unwrap()], line].concat();
        let args = Line::parse_from(args).args;
        let given = InitInput::read(&args).unwrap();
        standing(&args, &given, true).map(|standing| standing.replaced).map_err(|why| format!("{why:#}"))
    }

    #[test]
    fn a_server_that_the_file_watches_already_is_known() {
        const FILE: &str = "version: 1
monitors:
  - { id: docs, url: \"https://docs.example.org/mcp/\" }
  - { id: unset, url: \"${env:SERIN_TEST_NOT_SET}\" }
  - { id: notes, command: npx, args: [-y, server, --api-key, \"${env:NOTES_API_KEY}\"], env: { MODE: a } }
";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.yaml");
        std::fs::write(&file, FILE).unwrap();
        let program = ["--", "npx", "-y", "server", "--api-key", "s3cret"];
        let with = |more: &[&'static str]| [more, &program].concat();
        let rows = [
            (
                vec!["https://DOCS.example.org/mcp"],
                Some("'docs' watches this server already: give --replace"),
                "the same",
            ),
            (vec!["https://docs.example.org/mcp", "--id", "more"], None, "once more, on purpose"),
            (vec!["https://docs.example.org/mcp", "--id", "docs"], Some("give another --id"), "under the same id"),
            (vec!["https://docs.example.org/other"], None, "another path"),
            (with(&["--env", "MODE=a"]), Some("'notes' watches this server already"), "the same program"),
            (with(&["--env", "MODE=b"]), None, "another environment"),
            (vec!["--env", "MODE=a", "--", "npx", "-y", "other"], None, "other arguments"),
        ];
        for (line, expected, sentence) in rows {
            match (taken(&file, &line, true), expected) {
                (Ok(ids), None) => assert_eq!(ids, ["docs", "unset", "notes"], "{sentence}"),
                (Err(why), Some(expected)) => assert!(why.contains(expected), "{sentence}: {why}"),
                (found, _) => panic!("{sentence}: {found:?}"),
            }
        }
    }

    #[test]
    fn the_monitor_that_watches_this_server_gives_up_its_place_where_that_is_wished() {
        const FILE: &str = "version: 1
include: [team.yaml]
monitors:
  - { id: docs, url: \"https://docs.example.org/mcp\" }
  - { id: two, url: \"https://two.example.org/mcp\" }
  - { id: twice, url: \"https://two.example.org/mcp/\" }
";
        const TEAM: &str = "version: 1\nmonitors:\n  - { id: team, url: \"https://team.example.org/mcp\" }\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.yaml");
        std::fs::write(&file, FILE).unwrap();
        std::fs::write(folder.path().join("team.yaml"), TEAM).unwrap();
        type Row<'r> = (&'r [&'r str], Result<Option<&'r str>, &'r str>, &'r str);
        let rows: [Row<'_>; 7] = [
            (&["https://docs.example.org/mcp"], Ok(Some("docs")), "the one that does"),
            (&["https://docs.example.org/mcp", "--id", "new"], Ok(Some("docs")), "under another id"),
            (&["https://docs.example.org/mcp", "--id", "two"], Err("give another --id"), "under that of another"),
            (&["https://new.example.org/mcp"], Ok(None), "nothing to replace"),
            (&["https://two.example.org/mcp"], Err("give the one to replace by --id"), "two of them"),
            (&["https://two.example.org/mcp", "--id", "twice"], Ok(Some("twice")), "one of the two"),
            (&["https://team.example.org/mcp"], Err("'team' stands in team.yaml"), "in a file that is included"),
        ];
        for (line, expected, sentence) in rows {
            match (replaced(&file, line), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected, "{sentence}"),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{sentence}: {why}"),
                (found, _) => panic!("{sentence}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_monitor_takes_the_place_of_another_and_no_other_changes() {
        const FILE: &str = "version: 1
monitors:
  # ours
  - id: docs
    url: https://docs.example.org/mcp
    every: 90s   # gone with it

  # theirs
  - { id: b, url: \"https://b.example.org/mcp\" }   # stays
";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.yaml");
        let written = WrittenReference::default();
        let url = "https://docs.example.org/mcp".to_owned();
        let mut draft = Draft { id: "docs".to_owned(), url, ..Draft::default() };
        std::fs::write(&file, FILE).unwrap();
        let whole = whole_text(&file, &mut draft, &written, Some("docs")).unwrap();
        let (head, tail) = FILE.split_once("  - id: docs").unwrap();
        let tail = &tail[tail.find("\n  # theirs").unwrap()..];
        assert_eq!(whole, format!("{head}{}{tail}", draft.item(2)));

        let shared = FILE.replace("every: 90s", "every: &pace 90s").replace("{ id: b,", "{ id: b, every: *pace,");
        let rows = [
            (FILE.to_owned(), "nobody", "start once more", "somebody took it out meanwhile"),
            (shared, "docs", "would not be right any more", "another takes from it"),
        ];
        for (text, id, expected, sentence) in rows {
            std::fs::write(&file, text).unwrap();
            let found = whole_text(&file, &mut draft, &written, Some(id)).map_err(|why| format!("{why:#}"));
            assert!(matches!(&found, Err(why) if why.contains(expected)), "{sentence}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_known_before_anything_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.yaml");
        let nowhere = folder.path().join("nowhere/m.yaml");
        let url = "https://docs.example.org/mcp";
        assert!(taken(&file, &[url], false).is_err_and(|why| why.contains("give --yes")), "nobody to be asked");
        assert!(taken(&nowhere, &[url], true).is_err_and(|why| why.contains("its folder")), "no folder");
        assert_eq!(taken(&file, &[url, "--yes"], false), Ok(Vec::new()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing stays of the trial");
    }

    #[test]
    fn an_edit_made_while_the_proposal_is_read_stays() {
        const FILE: &str = "version: 1\nmonitors:\n  - { id: docs, url: \"https://docs.example.org/mcp\" }\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.yaml");
        std::fs::write(&file, FILE).unwrap();
        let url = "https://new.example.org/mcp".to_owned();
        let mut draft = Draft { id: "new".to_owned(), url, ..Draft::default() };
        let written = WrittenReference::default();
        whole_text(&file, &mut draft, &written, None).unwrap();
        std::fs::write(&file, format!("# edited meanwhile\n{FILE}")).unwrap();
        write(&file, &mut draft, &written, None).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# edited meanwhile\n") && text.contains("- id: new"), "{text}");
    }
}
