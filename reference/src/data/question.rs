//! A question with a known answer, and the file such questions are kept in: one JSON object a line.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The grade of a source that answers in full.
pub const FULL: u8 = 2;
/// The grade of a near-duplicate: the right section of the wrong variant.
pub const NEAR: u8 = 1;
/// Questions in one file: more than a night of asking.
const QUESTIONS_MAX: usize = 100_000;
/// Bytes of one line; a question of 2,000 letters with its sources is far below.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What a question isolates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Holds a token that only its source has: the keyword retriever.
    Keyword,
    /// Shares no content stem with its source: the vector retriever.
    Meaning,
    /// Asked as a person would: both.
    Mixed,
    /// Is about what the corpus does not hold: the threshold.
    Negative,
    /// The verbatim text of a chunk: holes in the index.
    #[serde(rename = "self")]
    Verbatim,
}

impl QuestionKind {
    /// Every kind, in the order of tables.
    pub const ALL: [Self; 5] = [Self::Keyword, Self::Meaning, Self::Mixed, Self::Verbatim, Self::Negative];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Meaning => "meaning",
            Self::Mixed => "mixed",
            Self::Negative => "negative",
            Self::Verbatim => "self",
        }
    }
}

/// A source that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its name, as hits give it.
    pub source: String,
    /// How well it answers, 1 or more; `FULL` where nothing is said.
    #[serde(default = "full")]
    pub grade: u8,
}

fn full() -> u8 {
    FULL
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedQuestion {
    /// Its name, unique in its file.
    pub id: String,
    /// What it isolates.
    pub kind: QuestionKind,
    /// As it is asked.
    pub query: String,
    /// Sources that answer; empty for a negative one, and only for it.
    pub expected: Vec<Expected>,
}

/// Why a file of questions is not understood; the message names the line.
#[derive(Debug, thiserror::Error)]
pub enum QuestionsError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// A line is not a question.
    #[error("{path}, line {line}: {why}")]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What does not fit, and what would.
        why: String,
    },
    /// There is nothing to ask.
    #[error("{0} holds no question; each line is one, as `serin reference generate` writes them")]
    Empty(PathBuf),
}

/// Reads a file of questions; blank lines are passed over.
///
/// # Errors
/// `QuestionsError` for the first line that is not a question.
pub fn read(path: &Path) -> Result<Vec<JudgedQuestion>, QuestionsError> {
    let unreadable = |why| QuestionsError::Unreadable { path: path.to_owned(), why };
    let mut file = std::io::BufReader::new(std::fs::File::open(path).map_err(unreadable)?);
    let mut questions: Vec<JudgedQuestion> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for line in 1.. {
        let wrong = |why: String| QuestionsError::Line { path: path.to_owned(), line, why };
        let mut bytes = Vec::new();
        let mut limited = std::io::Read::take(&mut file, LINE_BYTES_MAX as u64 + 1);
        if limited.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            break;
        }
        if bytes.len() > LINE_BYTES_MAX {
            return Err(wrong(format!("a line has {LINE_BYTES_MAX} bytes at most")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let question: JudgedQuestion = serde_json::from_slice(&bytes).map_err(|why| wrong(why.to_string()))?;
        checked(&question).map_err(wrong)?;
        if !ids.insert(question.id.clone()) {
            return Err(wrong(format!("the id '{}' is taken; give each question its own", question.id)));
        }
        if questions.len() == QUESTIONS_MAX {
            return Err(wrong(format!("a file has {QUESTIONS_MAX} questions at most; split it")));
        }
        questions.push(question);
    }
    if questions.is_empty() { Err(QuestionsError::Empty(path.to_owned())) } else { Ok(questions) }
}

fn checked(question: &JudgedQuestion) -> Result<(), String> {
    if question.id.trim().is_empty() || question.query.trim().is_empty() {
        return Err("'id' and 'query' must not be empty".to_owned());
    }
    if (question.kind == QuestionKind::Negative) != question.expected.is_empty() {
        return Err("a negative question expects nothing, and every other one a source".to_owned());
    }
    let mut sources: Vec<&str> = question.expected.iter().map(|expected| expected.source.as_str()).collect();
    sources.sort_unstable();
    if sources.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a source is expected twice; name it once, with one grade".to_owned());
    }
    if question.expected.iter().any(|expected| expected.grade == 0 || expected.source.is_empty()) {
        return Err("an expected source has a name, and a grade of 1 or more".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: Result<usize, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.jsonl");
        std::fs::write(&path, text).unwrap();
        match (read(&path), expected) {
            (Ok(questions), Ok(count)) => assert_eq!(questions.len(), count, "{says}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{says}: {error}"),
            (got, _) => panic!("{says}: {got:?}"),
        }
    }

    #[test]
    fn a_file_is_read_or_refused_by_line() {
        let good = r#"{"id":"a","kind":"keyword","query":"X-1","expected":[{"source":"a.md"}]}"#;
        let none = r#"{"id":"n","kind":"negative","query":"bread","expected":[]}"#;
        check("one question a line, blank ones pass", &format!("{good}\n\n{none}\n"), Ok(2));
        check("the last line needs no end", good, Ok(1));
        check("nothing is no file of questions", "\n", Err("holds no question"));
        check("an id is unique", &format!("{good}\n{good}\n"), Err("line 2: the id 'a' is taken"));
        check("a typo is named", &good.replace("query", "qwery"), Err("unknown field `qwery`"));
        check("a kind is one of five", &good.replace("keyword", "lexical"), Err("unknown variant"));
        check("an answer is needed", &none.replace("negative", "mixed"), Err("a negative question expects nothing"));
        check(
            "a source counts once",
            &good.replace(r#"{"source":"a.md"}"#, r#"{"source":"a.md"},{"source":"a.md","grade":1}"#),
            Err("expected twice"),
        );
        check("a grade says something", &good.replace(r#""a.md""#, r#""a.md","grade":0"#), Err("a grade of 1"));
        check("a line has an end", &good.replace("X-1", &"x".repeat(70_000)), Err("65536 bytes at most"));
        check("self is the verbatim kind", &good.replace("keyword", "self"), Ok(1));
    }
}
