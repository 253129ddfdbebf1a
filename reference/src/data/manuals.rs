//! Fictional product manuals, document by document, with the questions that each answers.
//!
//! The same seed and size give the same bytes on every machine: only whole numbers are drawn. One
//! document is in memory at a time, so a million chunks need no more room than a hundred.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::data::asked;
use crate::data::passage;
use crate::data::plan::ManualsPlan;
use crate::data::question::{JudgedQuestion, QuestionKind};

/// The file of questions within a generated folder.
pub const QUESTIONS_FILE: &str = "questions.jsonl";
/// Kinds that are asked about passages.
const KINDS: [QuestionKind; 4] =
    [QuestionKind::Keyword, QuestionKind::Meaning, QuestionKind::Mixed, QuestionKind::Verbatim];

/// A document and what it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manual {
    /// Its name: a path with `/`, ending in `.md`.
    pub source: String,
    /// Markdown.
    pub text: String,
    /// Questions whose full answer it is.
    pub questions: Vec<JudgedQuestion>,
}

/// Every document of a plan, with `per_kind` questions of each kind spread over the corpus (fewer
/// where a small corpus has no more passages of the sort).
pub fn documents(plan: ManualsPlan, per_kind: usize) -> impl Iterator<Item = Manual> {
    let mut asked = [0; KINDS.len()];
    (0..plan.documents()).map(move |document| Manual {
        source: plan.source(document),
        text: passage::document(&plan, document),
        questions: questions(&plan, document, per_kind, &mut asked),
    })
}

/// What generating wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManualsWritten {
    /// Markdown files.
    pub documents: usize,
    /// Lines of `QUESTIONS_FILE`.
    pub questions: usize,
}

/// Why nothing, or not everything, was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Somebody's files are there.
    #[error("{0} is not empty: name another folder, or give --force to write over what has the same names")]
    NotEmpty(PathBuf),
    /// The file system refuses.
    #[error("{path} cannot be written: {why}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the operating system says.
        why: io::Error,
    },
}

/// Writes a corpus into a folder: Markdown files, and `QUESTIONS_FILE` with `per_kind` questions a kind.
///
/// # Errors
/// `WriteError`; without `force` a folder that holds anything is left alone.
pub fn write(plan: ManualsPlan, per_kind: usize, folder: &Path, force: bool) -> Result<ManualsWritten, WriteError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |why| WriteError::Io { path, why }
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    if !force && fs::read_dir(folder).map_err(at(folder))?.next().is_some() {
        return Err(WriteError::NotEmpty(folder.to_owned()));
    }
    let path = folder.join(QUESTIONS_FILE);
    let mut lines = BufWriter::new(fs::File::create(&path).map_err(at(&path))?);
    let mut written = ManualsWritten { documents: 0, questions: 0 };
    let mut ask = |question: &JudgedQuestion, written: &mut ManualsWritten| {
        written.questions += 1;
        serde_json::to_writer(&mut lines, question).map_err(io::Error::from).and_then(|()| lines.write_all(b"\n"))
    };
    for document in documents(plan, per_kind) {
        let path = folder.join(&document.source);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(at(parent))?;
        }
        fs::write(&path, &document.text).map_err(at(&path))?;
        written.documents += 1;
        for question in &document.questions {
            ask(question, &mut written).map_err(at(&folder.join(QUESTIONS_FILE)))?;
        }
    }
    for question in asked::negatives(per_kind) {
        ask(&question, &mut written).map_err(at(&path))?;
    }
    lines.flush().map_err(at(&path))?;
    Ok(written)
}

/// The questions due in a document. Those of a kind stand at even distances: once a distance is
/// passed, the next passage that carries such a question is asked about.
fn questions(
    plan: &ManualsPlan,
    document: usize,
    per_kind: usize,
    asked: &mut [usize; KINDS.len()],
) -> Vec<JudgedQuestion> {
    let mut questions = Vec::new();
    for ordinal in 0..plan.passages(document) {
        let passage = plan.passage(document, ordinal);
        for (kind, asked) in KINDS.into_iter().zip(asked.iter_mut()) {
            let due = *asked < per_kind && passage.id * per_kind >= *asked * plan.chunks();
            let question = due.then(|| asked::question(plan, document, &passage, kind, *asked)).flatten();
            if let Some(question) = question {
                *asked += 1;
                questions.push(question);
            }
        }
    }
    questions
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::text::words;

    fn digest(seed: u64, chunks: usize) -> String {
        let mut digest = Sha256::new();
        for document in documents(ManualsPlan::new(seed, chunks).unwrap(), 20) {
            digest.update(serde_json::to_vec(&(document.source, document.text, document.questions)).unwrap());
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn seed_and_size_decide_every_byte() {
        assert_eq!(
            digest(1, 300),
            "c065fdfa8f00087c",
            "pinned: a change of templates moves it, another machine must not"
        );
        assert_ne!(digest(2, 300), digest(1, 300));
    }

    #[test]
    fn questions_have_exact_answers() {
        let plan = ManualsPlan::new(9, 3_000).unwrap();
        let all: Vec<Manual> = documents(plan, 40).collect();
        let asked: Vec<&JudgedQuestion> = all.iter().flat_map(|document| &document.questions).collect();
        for kind in KINDS {
            assert_eq!(asked.iter().filter(|question| question.kind == kind).count(), 40, "{kind:?}");
        }
        for document in &all {
            let stems = words::content_stems(&document.text);
            for question in &document.questions {
                let asked = words::content_stems(&question.query);
                assert_eq!(question.expected[0].source, document.source);
                match question.kind {
                    QuestionKind::Meaning => {
                        assert!(!asked.iter().any(|stem| stems.contains(stem)), "{}", question.query)
                    }
                    QuestionKind::Verbatim => assert!(document.text.contains(&question.query)),
                    QuestionKind::Keyword => {
                        let code = question.query.split([' ', ',']).find(|word| word.contains('-')).unwrap();
                        let holders = all.iter().filter(|other| other.text.contains(code)).count();
                        assert_eq!(holders, 1, "{code}");
                    }
                    QuestionKind::Mixed => assert!(asked.iter().any(|stem| stems.contains(stem)), "{}", question.query),
                    QuestionKind::Negative => panic!("no document answers it"),
                }
            }
        }
    }

    #[test]
    fn a_folder_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let plan = ManualsPlan::new(1, 120).unwrap();
        let written = write(plan, 5, folder.path(), false).unwrap();
        assert_eq!(written, ManualsWritten { documents: 12, questions: 25 });
        let read = crate::data::question::read(&folder.path().join(QUESTIONS_FILE)).unwrap();
        assert_eq!(read.len(), 25);
        assert!(read.iter().flat_map(|q| &q.expected).all(|expected| folder.path().join(&expected.source).is_file()));
        assert!(matches!(write(plan, 5, folder.path(), false), Err(WriteError::NotEmpty(_))));
        assert!(write(plan, 5, folder.path(), true).is_ok());
    }
}
