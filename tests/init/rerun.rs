//! `serin init` run once more: after a server that did not answer, and in the place of what the first try wrote.

use serin::domain::monitor::CanaryKind;

use crate::{fleet, reference, said, serin};

#[tokio::test]
async fn a_server_that_did_not_answer_is_not_put_into_a_file() {
    const FILE: &str = "version: 1\nmonitors:\n  - { id: docs, url: \"https://docs.example.org/mcp\" }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.yaml");
    let file = path.to_str().unwrap();
    let rows: [(&[&str], &str, &str); 2] = [
        (&["http://127.0.0.1:9/mcp"], "the server could not be asked", "an address"),
        (&["--", "sh", "-c", "echo fatal: no data >&2; exit 3"], "it said: fatal: no data", "a program"),
    ];
    for (server, expected, sentence) in rows {
        for before in [None, Some(FILE)] {
            if let Some(text) = before {
                std::fs::write(&path, text).unwrap();
            }
            let output = serin(&[&["init", "--yes", "--append", file], server].concat(), &[]).await;
            let (yaml, err) = said(&output);
            assert_eq!((output.status.code(), &*yaml), (Some(1), ""), "{sentence}: {err}");
            assert!(err.contains("was not changed") && err.contains(expected), "{sentence}: {err}");
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before, "{sentence}");
        }
        std::fs::remove_file(&path).unwrap();
        let output = serin(&[&["init"], server].concat(), &[]).await;
        let (yaml, err) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{sentence}, printed: {err}");
        assert_eq!(fleet(&yaml).monitors.len(), 1, "{sentence}, printed: {err}");
    }
}

#[tokio::test]
async fn a_monitor_is_replaced_under_its_id_and_the_rest_of_the_file_stays() {
    let (url, _stop) = reference(None).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.yaml");
    let file = path.to_str().unwrap();
    let run = async |more: &[&str]| serin(&[&["init", &url, "--append", file, "--yes"], more].concat(), &[]).await;

    let head = "# ours\nversion: 1\nmonitors:\n  # the first\n";
    let old = format!("  - id: handbook\n    url: {url}\n    # LOOK: an old remark\n");
    let tail = "\n  # the second\n  - { id: other, url: \"https://o.example.org/mcp\" }   # stays\n";
    std::fs::write(&path, format!("{head}{old}{tail}")).unwrap();
    let output = run(&["--canaries", "0"]).await;
    assert!(output.status.code() == Some(1) && said(&output).1.contains("give --replace"), "{output:?}");

    for (more, id) in [(&["--canaries", "2"][..], "handbook"), (&["--canaries", "2", "--id", "docs"][..], "docs")] {
        let output = run(&[&["--replace"], more].concat()).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(head) && text.ends_with(tail) && !text.contains("an old remark"), "{text}");
        let fleet = fleet(&text);
        let ids: Vec<&str> = fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
        assert_eq!(ids, [id, "other"], "{text}");
        let asked = fleet.monitors[0].canaries.iter().filter(|canary| canary.kind != CanaryKind::Negative);
        assert!(asked.count() > 0, "{text}");
    }
}
