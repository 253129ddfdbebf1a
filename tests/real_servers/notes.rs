//! The five notes, and how servers keep them. `copper`, `varroa` and `tonnage` stand in one note each.

use serde_json::{Value, json};

/// A short text with a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) lines: [&'static str; 2],
}

pub(crate) const NOTES: [Note; 5] = [
    Note {
        name: "tides",
        title: "Tide tables",
        lines: ["The harbour master reads the tide tables every morning.", "Spring tides follow the new moon."],
    },
    Note {
        name: "boilers",
        title: "Boiler upkeep",
        lines: ["A copper boiler needs its valve checked each quarter.", "Descale it with vinegar."],
    },
    Note {
        name: "harbour-dues",
        title: "Harbour dues",
        lines: ["Ships in the harbour pay dues by tonnage.", "Invoices go out on Friday."],
    },
    Note {
        name: "beekeeping",
        title: "Beekeeping",
        lines: ["Inspect the hive for varroa in late summer.", "Feed sugar syrup in autumn."],
    },
    Note {
        name: "ferry",
        title: "Ferry rota",
        lines: ["The ferry leaves the harbour at six.", "Two crews share the week."],
    },
];

impl Note {
    /// The text alone.
    pub(crate) fn body(&self) -> String {
        self.lines.join("\n")
    }

    /// As a Markdown file.
    pub(crate) fn markdown(&self) -> String {
        format!("# {}\n\n{}\n", self.title, self.body())
    }

    /// As a Python file that says the text in comments.
    pub(crate) fn python(&self) -> String {
        let [first, second] = self.lines;
        format!("\"\"\"{}\"\"\"\n\n# {first}\n# {second}\nNAME = \"{}\"\n", self.title, self.name)
    }

    /// As an entity of a knowledge graph.
    pub(crate) fn entity(&self) -> Value {
        json!({"type": "entity", "name": self.name, "entityType": "note", "observations": self.lines})
    }

    /// As a row of a table, in SQL.
    fn row(&self) -> String {
        format!("('{}', '{}', '{}')", self.name, self.title, self.body())
    }
}

/// The table that holds the notes.
pub(crate) const TABLE: &str = "CREATE TABLE notes (name TEXT PRIMARY KEY, title TEXT, body TEXT)";

/// All notes as rows of the table.
pub(crate) fn rows() -> String {
    format!("INSERT INTO notes (name, title, body) VALUES {}", NOTES.map(|note| note.row()).join(", "))
}
