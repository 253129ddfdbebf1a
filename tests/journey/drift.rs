//! Tools that change under their callers.

use serin::rag::fault::{Dose, Drift, Fault};

use crate::stage::{Expected, Stage, evidence, reference};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_tools_is_as_loud_as_it_hurts() {
    let rows = [
        (Drift::Wording, "wording", "ticket", "only texts differ"),
        (Drift::Compatible, "compatible", "notice", "an argument more"),
        (Drift::Breaking, "breaking", "page", "the declared search no longer fits"),
    ];
    let mut servers = Vec::new();
    let mut monitors = String::new();
    for (_, id, ..) in rows {
        let server = reference().await;
        monitors.push_str(&format!("  - id: {id}\n    url: {}\n    canaries:\n", server.mcp_url()));
        monitors.push_str("      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }\n");
        servers.push(server);
    }
    let stage = Stage::start(&monitors).await;
    for ((drift, id, ..), server) in rows.iter().zip(&servers) {
        stage.well(id).await;
        server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).drift(*drift));
    }
    let mut opened = Vec::new();
    for (_, monitor, severity, sentence) in rows {
        let drifted = Expected { monitor, signal: "contract", reason: "schema_drift", severity, stage: "tools" };
        let message = stage.opened(sentence, drifted).await;
        assert!(
            !evidence(&message, "class").is_empty() || !evidence(&message, "invalid_call").is_empty(),
            "{message:#?}"
        );
        opened.push((sentence, message));
    }
    for server in &servers {
        server.faults().all_off();
    }
    for (sentence, message) in opened {
        stage.resolved(sentence, &message).await;
    }
}
