//! Keys of the API, the audit log and the lists of servers, as the document describes them.

use schemars::SchemaGenerator;

use crate::web::openapi::operation::{Operation, schema, text};
use crate::web::{audit, keys, listings};

const OWNERS: (u16, &str) =
    (403, "This wants the token itself or a user who is an owner, or it was sent by a page of another site.");

pub(crate) fn of_access(schemas: &mut SchemaGenerator) -> [Operation; 7] {
    let made = schema::<keys::KeyMade>(schemas);
    let let_go = schema::<listings::LetGo>(schemas);
    [
        Operation::get(
            "/api/v1/discover",
            "discover",
            "The lists of servers that others keep",
            schema::<listings::ListingList>(schemas),
        ),
        Operation {
            gives: vec![(202, "They go with the next reading.", Some(let_go))],
            query: vec![(
                "held_mark",
                "That of the source when this was decided; where others are held by now, nothing is let go.",
                text(),
            )],
            refuses: &[
                (404, "The file declares no source of this id."),
                (409, "Nothing of this list is held, or others than the mark says."),
            ],
            ..Operation::post(
                "/api/v1/discover/{source}/accept",
                "accept_list",
                "Let go what a list names no longer",
                None,
            )
        },
        Operation {
            gives: vec![(202, "It is read now.", None)],
            refuses: &[(404, "The file declares no source of this id.")],
            ..Operation::post("/api/v1/discover/{source}/read", "read_list", "Read a list before it is due", None)
        },
        Operation {
            refuses: &[OWNERS],
            ..Operation::get("/api/v1/keys", "keys", "Keys that open something", schema::<keys::KeyList>(schemas))
        },
        Operation {
            gives: vec![(201, "It opens; its secret is shown this once.", Some(made))],
            refuses: &[
                OWNERS,
                (409, "Nobody has to sign in, so that nobody needs a key; or too many are live."),
                (422, "It says nothing of what for, by whom, for how long, or names a role that there is not."),
            ],
            ..Operation::post("/api/v1/keys", "key", "Make a key", Some(schema::<keys::KeyWanted>(schemas)))
        },
        Operation {
            gives: vec![(200, "It opens nothing any more.", None)],
            refuses: &[OWNERS, (404, "There is no live key with this id."), (422, "Say who ends it.")],
            ..Operation::post(
                "/api/v1/keys/{id}/end",
                "end_key",
                "End a key before its time",
                Some(schema::<keys::KeyEnd>(schemas)),
            )
        },
        Operation {
            query: vec![("before", "Only what is older than the line of this id.", text())],
            refuses: &[OWNERS],
            ..Operation::get(
                "/api/v1/audit",
                "audit",
                "What was asked for, with which right and from where; the latest first",
                schema::<audit::AuditLog>(schemas),
            )
        },
    ]
}
