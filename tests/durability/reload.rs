//! A bad file changes nothing and says so everywhere; the next good one ends that.

use crate::process::Serin;
use crate::stage::{Stage, received, times};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_file_changes_nothing_until_a_good_one_comes() {
    let (stage, file) = Stage::set(2).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;

    let two = stage.text(&file);
    stage.write_text(&two.replace("every: 1s", "evry: 1s"));
    // Without a handler, a hangup ends a process.
    serin.signal("HUP").await;
    serin.logged("the file has faults; the last good one stays in force").await;
    serin.logged("monitors.yaml:9:3").await;
    stage.shown(address, "/", "the banner names the fault", |page| page.contains("evry")).await;
    let (status, page) = stage.get(address, "/").await;
    assert_eq!(status, 200);
    assert!(page.contains("/monitors/s0") && page.contains("/monitors/s1"), "the old fleet is on the page");
    stage.shown(address, "/metrics", "the metric counts the banner", |text| text.contains("serin_banners 1")).await;
    let trouble = received(&stage.ops, "serin.trouble", None).await;
    assert!(trouble.evidence.0.iter().any(|(_, value)| value == "config_rejected"), "{trouble:?}");
    for id in ["s0", "s1"] {
        stage.more_beats(id, 2).await;
    }
    let versions = "SELECT COUNT(*) FROM config_versions";
    assert_eq!(stage.count(versions, &[]).await, 1, "beats are judged by the old file");

    let mut one = file;
    one.monitors.truncate(1);
    stage.write(&one);
    serin.signal("HUP").await;
    serin.logged("the new file is in force").await;
    stage.shown(address, "/", "the banner is gone", |page| !page.contains("evry")).await;
    stage.shown(address, "/metrics", "and its count", |text| text.contains("serin_banners 0")).await;
    received(&stage.ops, "serin.trouble_over", None).await;
    stage.more_beats("s0", 2).await;
    assert_eq!(stage.count(versions, &[]).await, 2, "the good file is in force");
    let left = "SELECT COUNT(*) FROM monitors WHERE id = $1 AND removed_at IS NOT NULL";
    assert_eq!(stage.count(left, &["s1"]).await, 1, "s1 left with it");
    assert_eq!(times(&stage.ops, "serin.trouble"), 1, "told once");
    assert!(stage.oncall.hooks().is_empty(), "and no monitor is blamed");
    serin.stop().await;
}
