//! Rows as a file: CSV by RFC 4180, or one JSON object a line.

use std::io::{self, Write};

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FileFormat {
    /// RFC 4180: a line of names, then a line a row, ended by CR LF; nothing where there is no value.
    Csv,
    /// One JSON object a line; null where there is no value.
    Jsonl,
}

/// Writes rows of the same columns.
pub(crate) struct RowWriter<W: Write> {
    columns: &'static [&'static str],
    to: RowTarget<W>,
}

enum RowTarget<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> RowWriter<W> {
    /// Begins; CSV says its columns at once, so that a file without rows is one too.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn new(shape: FileFormat, columns: &'static [&'static str], to: W) -> io::Result<Self> {
        let to = match shape {
            FileFormat::Jsonl => RowTarget::Jsonl(to),
            FileFormat::Csv => {
                let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to);
                csv.write_record(columns).map_err(io_error)?;
                RowTarget::Csv(Box::new(csv))
            }
        };
        Ok(Self { columns, to })
    }

    /// Writes a row: a value for each column.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn row(&mut self, values: Vec<Value>) -> io::Result<()> {
        match &mut self.to {
            RowTarget::Csv(csv) => csv.write_record(values.into_iter().map(cell)).map_err(io_error),
            RowTarget::Jsonl(to) => {
                let names = self.columns.iter().map(|name| (*name).to_owned());
                let object: Map<String, Value> = names.zip(values).collect();
                serde_json::to_writer(&mut *to, &object)?;
                to.write_all(b"\n")
            }
        }
    }

    /// Ends: what was held back is written. Gives back where to.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn end(self) -> io::Result<W> {
        match self.to {
            RowTarget::Csv(csv) => csv.into_inner().map_err(|error| io::Error::from(error.error().kind())),
            RowTarget::Jsonl(mut to) => to.flush().map(|()| to),
        }
    }
}

/// The system's own error, by whose kind a reader who has seen enough is known: `csv` makes one that has none.
fn io_error(error: csv::Error) -> io::Error {
    let said = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        _ => io::Error::other(said),
    }
}

/// A value as a cell. A spreadsheet runs what starts like a formula, and texts may come from servers and people, so
/// such a text gets an apostrophe in front (owasp.org, "CSV Injection").
fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(shape: FileFormat, rows: &[Vec<Value>]) -> String {
        let mut out = RowWriter::new(shape, &["a", "b"], Vec::new()).unwrap();
        rows.iter().for_each(|row| out.row(row.clone()).unwrap());
        String::from_utf8(out.end().unwrap()).unwrap()
    }

    #[test]
    fn a_reader_who_has_seen_enough_is_known_at_any_row() {
        for shape in [FileFormat::Csv, FileFormat::Jsonl] {
            let (reader, writer) = io::pipe().unwrap();
            let mut out = RowWriter::new(shape, &["a"], writer).unwrap();
            drop(reader);
            let refused = (0..100_000).find_map(|row| out.row(vec![json!(row)]).err()).expect("nobody reads any more");
            assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe, "{shape:?}: {refused}");
        }
    }

    #[test]
    fn a_row_is_a_line_whatever_is_in_it() {
        let rows = [
            (vec![], "a,b\r\n", "", "no rows"),
            (
                vec![vec![json!(null), json!(-1.5)]],
                "a,b\r\n,-1.5\r\n",
                "{\"a\":null,\"b\":-1.5}\n",
                "nothing, and a number",
            ),
            (
                vec![vec![json!("one, \"two\"\r\nthree"), json!({"k": "v"})]],
                "a,b\r\n\"one, \"\"two\"\"\r\nthree\",\"{\"\"k\"\":\"\"v\"\"}\"\r\n",
                "{\"a\":\"one, \\\"two\\\"\\r\\nthree\",\"b\":{\"k\":\"v\"}}\n",
                "everything that must be quoted",
            ),
            (
                vec![vec![json!("=1+1"), json!("@x")]],
                "a,b\r\n'=1+1,'@x\r\n",
                "{\"a\":\"=1+1\",\"b\":\"@x\"}\n",
                "formulas",
            ),
        ];
        for (rows, csv, jsonl, sentence) in rows {
            assert_eq!(written(FileFormat::Csv, &rows), csv, "{sentence}");
            assert_eq!(written(FileFormat::Jsonl, &rows), jsonl, "{sentence}");
        }
    }
}
