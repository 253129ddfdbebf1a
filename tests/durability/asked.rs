//! What people ask for is done, whatever becomes of the Serin that they asked.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::process::Serin;
use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_accepted_is_accepted_though_serin_died_before() {
    let (stage, file) = Stage::set(1).await;
    stage.write(&file);
    let (serin, address) = Serin::start(&stage.config()).await;
    let tools = "/api/v1/monitors/s0/tools";
    stage.shown(address, tools, "a list is accepted", |page| page.contains("\"accepted\":{")).await;
    stage.servers[0].faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("compatible"));
    stage.shown(address, tools, "another is seen", |page| page.contains("\"differs\":true")).await;
    let (_, seen) = stage.get(address, tools).await;
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    let hash = seen["seen"]["hash"].as_str().expect("a hash").to_owned();
    serin.kill().await;

    // What a Serin writes that answers and dies.
    let options = SqliteConnectOptions::new().filename(stage.database()).disable_statement_logging();
    let mut writing = options.connect().await.expect("the database opens");
    for (id, action, subject, monitor) in
        [("a1", "accept", &*hash, "s0"), ("a2", "accept", &*hash, "gone"), ("a3", "recheck", "", "s0")]
    {
        let insert = "INSERT INTO actions (id, at, actor, action, subject, monitor) VALUES ($1, unixepoch() * 1000000, 'ada', $2, $3, $4)";
        let insert = sqlx::query(insert).bind(id).bind(action).bind(subject).bind(monitor);
        insert.execute(&mut writing).await.expect("it is written");
    }
    sqlx::Connection::close(writing).await.expect("it closes");

    // Whose server is away at first: what is to be accepted has to be seen once more.
    stage.refuse(0);
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 3).await;
    stage
        .counted(
            "nobody can do that any more",
            1,
            "SELECT COUNT(*) FROM actions WHERE id = 'a2' AND applied_at > 0",
            &[],
        )
        .await;
    assert_eq!(
        stage.count("SELECT COUNT(*) FROM actions WHERE id = 'a1' AND applied_at IS NULL", &[]).await,
        1,
        "waits"
    );
    stage.servers[0].faults().off(Fault::Refused);
    let is_accepted = |page: &str| page.contains("\"differs\":false") && page.contains("\"by\":\"ada\"");
    stage.shown(address, tools, "it is accepted now", is_accepted).await;
    let done = "SELECT COUNT(*) FROM actions WHERE applied_at IS NOT NULL AND action = 'accept'";
    stage.counted("and is done", 2, done, &[]).await;
    assert_eq!(
        stage.count("SELECT COUNT(*) FROM actions WHERE action = 'recheck'", &[]).await,
        0,
        "a look leaves none"
    );
    serin.stop().await;
}
