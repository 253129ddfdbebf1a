//! What the API says of receivers, deliveries and replays, and to everybody.

use schemars::SchemaGenerator;
use serde_json::json;

use crate::domain::paging::delivery::DeliveryState;
use crate::domain::paging::notification::Event;
use crate::hindsight::body::WhyBody;
use crate::web::openapi::operation::{Operation, number, one_of, schema, text};
use crate::web::public::summary;
use crate::web::{ledger, receivers, replay};

pub(crate) fn of_receivers(schemas: &mut SchemaGenerator) -> [Operation; 2] {
    [
        Operation::get(
            "/api/v1/receivers",
            "receivers",
            "Who can be notified",
            schema::<receivers::ReceiverList>(schemas),
        ),
        Operation {
            query: vec![("wait", "Seconds to wait for its receipt, 60 at most; 20 without it.", number(0))],
            gives: vec![(200, "How it went, taken or not.", Some(schema::<receivers::ReceiverTest>(schemas)))],
            refuses: &[
                (404, "There is no receiver of this name."),
                (409, "It is being tested."),
                (422, "Say who tests."),
            ],
            ..Operation::post(
                "/api/v1/receivers/{name}/test",
                "test_receiver",
                "Send a message that nothing is wrong, on the way that a page takes",
                Some(schema::<receivers::TestWanted>(schemas)),
            )
        },
    ]
}

pub(crate) fn of_why(schemas: &mut SchemaGenerator) -> [Operation; 2] {
    let moment = || json!({ "type": "string", "format": "date-time" });
    let answer = schema::<WhyBody>(schemas);
    let why = |path, name, what| Operation {
        query: vec![(
            "at",
            "The moment whose readings are told; without it the incident's opening, of a monitor now.",
            moment(),
        )],
        refuses: &[
            (404, "There is no incident or monitor with this id."),
            (422, "The moment cannot be read, or lies ahead."),
        ],
        ..Operation::get(path, name, what, answer.clone())
    };
    [
        why("/api/v1/incidents/{id}/why", "incident_why", "Why people were notified of an incident, or were not"),
        why(
            "/api/v1/monitors/{id}/why",
            "monitor_why",
            "Why people were notified of a monitor at a moment, or were not",
        ),
    ]
}

pub(crate) fn of_deliveries(schemas: &mut SchemaGenerator) -> Operation {
    let states = DeliveryState::ALL;
    let moment = || json!({ "type": "string", "format": "date-time" });
    Operation {
        query: vec![
            ("incident", "Only of this incident.", text()),
            ("receiver", "Only to this receiver.", text()),
            ("monitor", "Only about this monitor.", text()),
            ("kind", "Only of this event.", one_of(&Event::ALL.map(Event::slug))),
            ("state", "Only in this state.", one_of(&states.map(DeliveryState::slug))),
            ("from", "Only what came to be at this moment or later.", moment()),
            ("to", "Only what came to be before this moment.", moment()),
            ("before", "The `next` of the page before, empty to begin.", text()),
        ],
        refuses: &[(422, "A state, a kind or a moment cannot be read.")],
        ..Operation::get(
            "/api/v1/deliveries",
            "deliveries",
            "Messages to receivers with each attempt to send them, the latest first, a page at a time",
            schema::<ledger::DeliveryList>(schemas),
        )
    }
}

pub(crate) fn of_replays(schemas: &mut SchemaGenerator) -> [Operation; 2] {
    let done = schema::<replay::Replayed>(schemas);
    let gives = || vec![(202, "How many are brought again, and how many are left out, and why.", Some(done.clone()))];
    const REFUSES: &[(u16, &str)] = &[
        (404, "The ledger has no delivery that fits."),
        (422, "It does not say who replays, or what; or it is more than 1,000."),
    ];
    [
        Operation {
            gives: gives(),
            refuses: REFUSES,
            ..Operation::post(
                "/api/v1/deliveries/{id}/replay",
                "replay",
                "Bring a delivery once more, with the same id and bytes",
                Some(schema::<replay::ReplayOne>(schemas)),
            )
        },
        Operation {
            gives: gives(),
            refuses: REFUSES,
            ..Operation::post(
                "/api/v1/deliveries/replay",
                "replay_several",
                "Bring those of an incident or of a stretch of time once more",
                Some(schema::<replay::ReplayWanted>(schemas)),
            )
        },
    ]
}

/// In the shape of another, which is why its addresses are not below `/api/v1`.
pub(crate) fn of_public(schemas: &mut SchemaGenerator) -> [Operation; 5] {
    let incidents = schema::<summary::IncidentsOnly>(schemas);
    let rows = [
        ("/api/v2/summary.json", "public_summary", "All that everybody may see", schema::<summary::Summary>(schemas)),
        ("/api/v2/status.json", "public_status", "How everything is", schema::<summary::StatusOnly>(schemas)),
        (
            "/api/v2/components.json",
            "public_components",
            "How each component is",
            schema::<summary::ComponentsOnly>(schemas),
        ),
        ("/api/v2/incidents.json", "public_incidents", "What was wrong in the last 30 days", incidents.clone()),
        ("/api/v2/incidents/unresolved.json", "public_unresolved", "What is wrong", incidents),
    ];
    rows.map(|(path, id, summary, body)| Operation {
        refuses: &[(404, "The file shows nothing to everybody.")],
        ..Operation::get(path, id, summary, body)
    })
}
