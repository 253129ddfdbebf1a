//! What is shipped beside the binary: manifests, the action of pull requests, and what licences it all stands under.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/packaging/.venv/bin");

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("it is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
#[ignore = "needs kubernetes-validate, which tests/install.sh installs"]
fn kubernetes_of_several_years_takes_the_manifests_to_the_letter() {
    for version in ["1.28.0", "1.37.0"] {
        let mut command = Command::new(format!("{TOOLS}/kubernetes-validate"));
        let seen = run(command.args(["--strict", "-k", version, "packaging/kubernetes/serin.yaml"]).current_dir(ROOT));
        let passed = String::from_utf8_lossy(&seen.stdout).matches(" passed ").count()
            + String::from_utf8_lossy(&seen.stderr).matches(" passed ").count();
        assert_eq!(passed, 2, "both documents were looked at, under {version}: {seen:?}");
    }
}

#[test]
#[ignore = "needs check-jsonschema, which tests/install.sh installs"]
fn github_takes_the_action() {
    let mut command = Command::new(format!("{TOOLS}/check-jsonschema"));
    run(command.args(["--builtin-schema", "vendor.github-actions", "packaging/action/action.yml"]).current_dir(ROOT));
}

#[test]
fn whatever_licence_is_named_no_dependency_stands_against_it() {
    // Each asks for no more than its own text; a dependency has to offer one of them, for each part of it.
    let easy = ["MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC", "0BSD", "BSD-2-Clause"];
    let easy =
        [&easy[..], &["BSD-3-Clause", "Zlib", "Unicode-3.0", "Unlicense", "CDLA-Permissive-2.0", "BSL-1.0"]].concat();
    let mut command = Command::new(env!("CARGO"));
    let listed = run(command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(ROOT));
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let packages = listed["packages"].as_array().expect("a list");
    let offers_one = |part: &str| {
        part.replace('/', " OR ").split(" OR ").any(|licence| easy.contains(&licence.trim().trim_matches(['(', ')'])))
    };
    let of_others = packages.iter().filter(|package| !package["source"].is_null());
    let hard: BTreeSet<String> = of_others
        .filter(|package| !package["license"].as_str().is_some_and(|said| said.split(" AND ").all(offers_one)))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .filter(|line| line != "\"mailin\": \"MIT/X11\"")
        .collect();
    assert!(hard.is_empty(), "{hard:#?}");
}

/// A repository whose main branch has one monitor, with a change on top; `gh` writes down what it was asked.
struct Repository(tempfile::TempDir);

const MONITORS: &str = "version: 1\nmonitors:\n  - { id: docs, url: http://127.0.0.1:9/mcp }\n";

impl Repository {
    fn with(change: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Self(folder);
        fs::create_dir(own.path().join("bin")).expect("a folder");
        // It knows one comment of this file's, where the test puts it there; each call is kept with the body it brings.
        let gh = "#!/bin/sh\necho \"$*\" >> \"$KEPT/calls\"\ncase \"$*\" in *--paginate*) cat \"$KEPT/comments\" 2>/dev/null; exit 0;; esac\n\
                  for word; do case \"$word\" in body=@*) cp \"${word#body=@}\" \"$KEPT/body\";; esac; done\n";
        fs::write(own.path().join("bin/gh"), gh).expect("a file");
        fs::set_permissions(own.path().join("bin/gh"), fs::Permissions::from_mode(0o755)).expect("its mode");
        fs::create_dir(own.path().join("tree")).expect("a folder");
        own.git(&["init", "--quiet", "--initial-branch=main"]);
        own.commit(MONITORS);
        own.git(&["tag", "base"]);
        own.commit(change);
        own
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) {
        run(Command::new("git")
            .args(arguments)
            .current_dir(self.path().join("tree"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null"));
    }

    fn commit(&self, monitors: &str) {
        fs::write(self.path().join("tree/monitors.yaml"), monitors).expect("a file");
        self.git(&["add", "."]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        self.git(&[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "a change"]].concat());
    }

    /// What the action does; whether it passed, and the comment it wrote.
    fn review(&self) -> (bool, String) {
        let path = format!("{}:{}", self.path().join("bin").display(), std::env::var("PATH").expect("a path"));
        let output = Command::new(format!("{ROOT}/packaging/action/review.sh"))
            .current_dir(self.path().join("tree"))
            .env("PATH", path)
            .env("KEPT", self.path())
            .env("SERIN", env!("CARGO_BIN_EXE_serin"))
            .env("SERIN_BASE", "base")
            .env("SERIN_PULL", "7")
            .env("GITHUB_REPOSITORY", "a/b")
            .env("GITHUB_STEP_SUMMARY", self.path().join("summary"))
            .env("GITHUB_OUTPUT", self.path().join("output"))
            .output()
            .expect("bash is installed");
        let body = self.read("body");
        assert_eq!(body, self.read("summary"), "the comment and the summary say the same: {output:?}");
        (output.status.success(), body)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }
}

#[test]
fn a_pull_request_is_told_what_it_would_change() {
    let added = format!("{MONITORS}  - {{ id: wiki, url: http://127.0.0.1:9/wiki }}\n");
    let hostile = format!("{MONITORS}  - {{ id: wiki, url: http://127.0.0.1:9/wiki, name: \"```````` @all\" }}\n");
    let rows: [(&str, &str, bool, &[&str], &str); 4] = [
        ("a monitor more", &added, true, &["what would change", "wiki"], "changes=true"),
        ("the same", MONITORS, true, &["nothing changes"], "changes=false"),
        (
            "a fault",
            "version: 1\nmonitors:\n  - { id: docs, ur: x }\n",
            false,
            &["has faults", "monitors.yaml:3"],
            "changes=true",
        ),
        ("a name that would end the block", &hostile, true, &["what would change"], "changes=true"),
    ];
    for (sentence, change, passes, says, output) in rows {
        let repository = Repository::with(change);
        let (passed, body) = repository.review();
        assert_eq!(passed, passes, "{sentence}: {body}");
        assert!(says.iter().all(|word| body.contains(word)), "{sentence}: {body}");
        let fences = body.lines().filter(|line| line.trim_start().starts_with("```")).count();
        assert_eq!(fences, body.matches("```").count(), "{sentence}: nothing within closes the block: {body}");
        assert_eq!(repository.read("output").trim(), output, "{sentence}");
        assert!(repository.read("calls").contains("--method POST repos/a/b/issues/7/comments"), "{sentence}");
    }
}

#[test]
fn a_second_push_changes_the_comment_that_is_there() {
    let repository = Repository::with(MONITORS);
    fs::write(repository.path().join("comments"), "41\n").expect("a file");
    assert!(repository.review().0);
    let calls = repository.read("calls");
    assert!(calls.contains("--method PATCH repos/a/b/issues/comments/41"), "{calls}");
    assert!(!calls.contains("POST"), "{calls}");
}
