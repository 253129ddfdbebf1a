//! The keyword arm: BM25 over FTS5.

use sqlx::{Row as _, SqliteConnection};

use crate::rag::store::sqlite::StoreError;
use crate::rag::text::words as text;

/// Words of a question that are searched for; further ones add work and hardly any meaning.
const TERMS_MAX: usize = 32;

/// Keys of the chunks that hold words of the question, the best first.
///
/// `source` narrows to sources that begin with it. Equal scores are ordered by key.
///
/// # Errors
/// `StoreError::Sql`.
pub async fn search(
    connection: &mut SqliteConnection,
    question: &str,
    source: &str,
    depth: usize,
) -> Result<Vec<i64>, StoreError> {
    let expression = expression(question);
    if expression.is_empty() {
        return Ok(Vec::new());
    }
    // bm25() is negative and smaller is better; a heading counts double.
    let rows = sqlx::query(
        "SELECT chunks.id FROM words JOIN chunks ON chunks.id = words.rowid \
         WHERE words MATCH $1 AND substr(chunks.source, 1, length($2)) = $2 \
         ORDER BY bm25(words, 2.0, 1.0), chunks.id LIMIT $3",
    )
    .bind(expression)
    .bind(source)
    .bind(i64::try_from(depth).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// The question as FTS5 wants it: each term quoted, so that nothing a user types is an operator, and
/// a code such as `RAG-1107` is one phrase.
fn expression(question: &str) -> String {
    let mut terms: Vec<String> = Vec::new();
    for term in question.split_whitespace() {
        let term: String = term.chars().filter(|c| *c != '"' && !c.is_control()).collect();
        let bare = term.trim_matches(|c: char| !c.is_alphanumeric());
        if bare.is_empty() || text::is_stop_word(bare) {
            continue;
        }
        let quoted = format!("\"{bare}\"");
        if !terms.contains(&quoted) {
            terms.push(quoted);
        }
        if terms.len() == TERMS_MAX {
            break;
        }
    }
    terms.join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, question: &str, expected: &str) {
        assert_eq!(expression(question), expected, "{says}");
    }

    #[test]
    fn questions_become_expressions() {
        check("small words go", "What is the pool?", "\"pool\"");
        check("a code is a phrase", "RAG-1107", "\"RAG-1107\"");
        check("operators are words", "a\" OR NEAR(b) *", "\"NEAR(b\"");
        check("repeats go", "pool pool", "\"pool\"");
        check("nothing stays nothing", "  ?! ", "");
    }
}
