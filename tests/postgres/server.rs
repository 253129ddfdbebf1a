//! What a server alone may do to us: end a connection, be one of several, sort as its locale has it, refuse a NUL.

use std::process::Command;
use std::time::Duration;

use serin::domain::database_address::DatabaseAddress;
use serin::domain::monitor::MonitorId;
use serin::store::{Store, StoreError};
use sqlx::Connection as _;

use crate::shared::{at, incident, outgoing, record, saying};
use crate::{Place, server};

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(60);

/// Ends every other connection to the place's database; how many there were.
async fn cut_off(place: &Place) -> i64 {
    let ended = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()";
    place.number(ended).await
}

/// What a commit is answered once the server has missed whoever was there before.
async fn until_known(store: &Store) -> Result<(), StoreError> {
    let answered = async {
        loop {
            match store.commit(record("docs", 180)).await {
                Err(StoreError::Unreachable(_) | StoreError::Taken) => {
                    tokio::time::sleep(Duration::from_millis(50)).await
                }
                answered => return answered,
            }
        }
    };
    tokio::time::timeout(LONG, answered).await.expect("it is known by then")
}

#[tokio::test]
async fn whoever_waits_for_a_connection_that_reads_gets_one_of_the_new_ones() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("committed");
    let monitor = MonitorId::new("docs");
    assert_eq!(store.reconnects(), 0, "the first connection is nobody's successor");
    for _ in 0..5 {
        let reads = (0..40).map(|_| store.beats(&monitor, 10, at(60)));
        let (_, read) = tokio::join!(cut_off(&place), futures_util::future::join_all(reads));
        assert!(read.iter().all(|read| *read != Err(StoreError::Closed)), "nothing has ended: {read:?}");
        assert_eq!(until_known(&store).await, Ok(()));
        assert!(store.beats(&monitor, 10, at(60)).await.is_ok(), "and reads go on");
    }
    assert!(store.reconnects() > 0, "and whoever goes on from what was written last hears that it may be lost");
    store.close().await;
    assert_eq!(store.beats(&monitor, 10, at(60)).await, Err(StoreError::Closed), "until it is closed");
}

#[tokio::test]
async fn a_connection_that_the_server_ends_costs_no_record_that_was_acknowledged() {
    let place = Place::new();
    let store = place.open().await;
    for nth in 0..5 {
        store.commit(record("docs", nth * 60)).await.expect("committed");
        assert!(cut_off(&place).await > 0, "there was one to end");
        // Nobody knows what became of the one that was on its way: it is said, and may be repeated.
        let told = store.commit(record("docs", nth * 60 + 1)).await;
        assert!(matches!(told, Ok(()) | Err(StoreError::Unreachable(_) | StoreError::Taken)), "{told:?}");
        assert_eq!(until_known(&store).await, Ok(()));
        store.commit(record("docs", nth * 60 + 1)).await.expect("it was said once more");
    }
    assert_eq!(place.number("SELECT COUNT(*) FROM beats").await, 10, "each once");
    assert!(store.beats(&MonitorId::new("docs"), 100, at(300)).await.is_ok(), "pages are read by new connections");
    store.close().await;
}

#[tokio::test]
async fn of_several_servers_the_one_that_takes_writes_is_used() {
    let place = Place::new();
    place.open().await.close().await;
    let (user, rest) = server().split_once('@').map(|(user, rest)| (user.to_owned(), rest.to_owned())).expect("a user");
    // Nobody listens at the first.
    let several = format!("{user}@127.0.0.1:1,{rest}{}", &place.name()[server().len()..]);
    let store =
        Store::open(&DatabaseAddress::parse(&several).expect("an address")).await.expect("the second takes writes");
    store.commit(record("docs", 0)).await.expect("committed");
    store.close().await;
    assert_eq!(place.number("SELECT COUNT(*) FROM beats").await, 1);
}

#[tokio::test]
async fn a_balancer_that_has_no_server_to_give_is_waited_for() {
    let balancer = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("postgres://serin@{}/serin", balancer.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut taken, _)) = balancer.accept().await {
            // It hears what is wanted, and closes.
            drop(tokio::io::AsyncReadExt::read(&mut taken, &mut [0; 64]).await);
        }
    });
    let refused =
        Store::open(&DatabaseAddress::parse(&address).expect("an address")).await.expect_err("nobody is there");
    assert!(refused.passing().is_some(), "{refused}");
}

#[tokio::test]
async fn texts_are_compared_by_their_bytes_whatever_the_locale() {
    let place = Place::new();
    place.make("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8' ENCODING 'UTF8'").await;
    let store = place.open().await;
    for (nth, id) in ["b-2", "B-1", "a-3", "b-1"].into_iter().enumerate() {
        let one = incident(id, &format!("monitor-{nth}"), 0);
        let change = serin::store::values::change_set::ChangeSet { incidents: vec![one], ..Default::default() };
        store.commit(change).await.expect("committed");
    }
    let ids = place.read("SELECT id FROM incidents ORDER BY id").await;
    assert_eq!(ids, ["B-1", "a-3", "b-1", "b-2"], "a locale would put them otherwise, and page by page lose some");
    store.close().await;
}

#[tokio::test]
async fn a_text_with_a_nul_is_kept_without_it_and_takes_nothing_with_it() {
    let place = Place::new();
    let store = place.open().await;
    let mut one = incident("i1", "docs", 0);
    one.summary = "a\0b".to_owned();
    let mut change = saying(vec![outgoing("n1", Some(&one), 1, &[("oncall", None)])]);
    change.incidents = vec![one];
    store.commit(change).await.expect("a server may send one");
    assert_eq!(place.read("SELECT summary FROM incidents").await, ["a\u{fffd}b"]);
    store.close().await;
}

#[tokio::test]
async fn tables_are_sqlites_column_by_column() {
    let place = Place::new();
    place.open().await.close().await;
    let here = "SELECT said FROM (SELECT table_name || '.' || column_name || \
                CASE is_nullable WHEN 'YES' THEN ' or none' ELSE '' END || ' ' || \
                CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB' WHEN 'double precision' THEN 'REAL' \
                ELSE upper(data_type) END AS said FROM information_schema.columns \
                WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations') AS columns ORDER BY said COLLATE \"C\"";
    let there = "SELECT t.name || '.' || c.name || CASE WHEN c.\"notnull\" OR c.pk > 0 THEN '' ELSE ' or none' END || ' ' || \
                 c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
                 WHERE t.type = 'table' AND t.name <> '_sqlx_migrations' ORDER BY 1";
    let file = place.folder.path().join("serin.db");
    Store::open(&file).await.expect("a file").close().await;
    let mut sqlite = sqlx::SqliteConnection::connect(&file.display().to_string()).await.expect("sqlite opens");
    let rows = sqlx::query_scalar::<_, String>(there).fetch_all(&mut sqlite).await.expect("columns");
    assert_eq!(place.read(here).await, rows);
}

#[tokio::test]
async fn a_dump_put_back_elsewhere_is_the_same_memory() {
    let (place, other) = (Place::new(), Place::new());
    let store = place.open().await;
    let one = incident("i1", "docs", 0);
    let mut change = saying(vec![outgoing("n1", Some(&one), 1, &[("oncall", None)])]);
    change.incidents = vec![one];
    store.commit(change).await.expect("committed");
    store.commit(record("docs", 0)).await.expect("committed");
    // In use, as a dump is made of it every night.
    let dump = place.folder.path().join("serin.dump");
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("PostgreSQL's programs are installed");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let dump = dump.display().to_string();
    run("pg_dump", &["--format=custom", "--file", &dump, &place.name()]);
    other.make("").await;
    run("pg_restore", &["--no-owner", "--dbname", &other.name(), &dump]);
    store.close().await;
    let store = other.open().await;
    for counted in ["beats", "asks", "incidents", "deliveries", "shards", "sources"] {
        let count = format!("SELECT COUNT(*) FROM {counted}");
        assert_eq!(other.number(&count).await, place.number(&count).await, "{counted}");
    }
    store.commit(record("docs", 60)).await.expect("and it goes on, with numbers that nobody has");
    assert_eq!(other.number("SELECT COUNT(*) FROM beats").await, 2);
    store.close().await;
}

#[tokio::test]
async fn a_history_moves_to_a_server_and_back_row_by_row() {
    let (place, folder) = (Place::new(), tempfile::tempdir().expect("a folder"));
    let (file, back) = (folder.path().join("serin.db"), folder.path().join("back.db"));
    let store = Store::open(&file).await.expect("a file");
    for nth in 0..450 {
        store.commit(record(&format!("docs-{}", nth % 7), nth * 60)).await.expect("committed");
    }
    let one = incident("i1", "docs-1", 0);
    let mut change = saying(vec![outgoing("n1", Some(&one), 1, &[("oncall", None), ("mail", None)])]);
    change.incidents = vec![one];
    store.commit(change).await.expect("committed");
    let moves = async |from: &str, to: &str| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
        let output = command.args(["migrate-store", from, to]).output().await.expect("it runs");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), said)
    };
    let (file, back) = (file.display().to_string(), back.display().to_string());
    place.make("").await;
    let (done, said) = moves(&file, &place.name()).await;
    assert!(!done && said.contains("in use by another serin"), "{said}");
    store.close().await;
    let (done, said) = moves(&file, &place.name()).await;
    assert!(done && said.contains("450 beats") && said.contains("900 asks") && said.contains("2 deliveries"), "{said}");
    let (done, said) = moves(&file, &place.name()).await;
    assert!(!done && said.contains("is not empty"), "{said}");
    // It goes on there, with numbers that nobody has.
    let store = place.open().await;
    let mut more = record("docs-1", 30_000);
    more.asks[0].sources = vec!["another/source.md".to_owned()];
    store.commit(more).await.expect("committed");
    store.close().await;
    let (done, said) = moves(&place.name(), &back).await;
    assert!(done && said.contains("451 beats"), "{said}");
    let store = Store::open(&std::path::PathBuf::from(&back)).await.expect("it is Serin's");
    let (here, there) = (store.beats(&MonitorId::new("docs-1"), 100, at(31_000)).await, place.open().await);
    assert_eq!(here, there.beats(&MonitorId::new("docs-1"), 100, at(31_000)).await, "beats are read alike");
    assert_eq!(store.incident("i1").await, there.incident("i1").await, "and so is what was told");
    store.close().await;
    there.close().await;
}
