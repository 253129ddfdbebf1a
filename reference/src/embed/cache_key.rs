//! What a vector in the cache is found by.

use sha2::{Digest as _, Sha256};

use crate::embed::{Embedder, Purpose};

/// The key of a text's vector: SHA-256 over the model's name, revision, width and normalisation, the prefix of the
/// purpose, and the text. Each part is preceded by its length, so that no two lists of parts read the same.
pub fn cache_key(embedder: &dyn Embedder, purpose: Purpose, text: &str) -> [u8; 32] {
    let model = embedder.model();
    let width = model.dimensions.to_string();
    let normalised = if model.normalised { "normalised" } else { "free" };
    let parts = [&model.name, &model.revision, width.as_str(), normalised, embedder.prefix(purpose), text];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::inputs::Prefixes;
    use crate::embed::{EmbedError, Model};

    #[derive(Debug)]
    struct Declared(Model, Prefixes);

    #[async_trait::async_trait]
    impl Embedder for Declared {
        fn model(&self) -> &Model {
            &self.0
        }
        async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(vec![vec![1.0]; texts.len()])
        }
        fn batch_max(&self) -> usize {
            1
        }
        fn prefix(&self, purpose: Purpose) -> &str {
            self.1.of(purpose)
        }
    }

    fn facts(name: &'static str, revision: &'static str, normalised: bool, query: &str) -> Declared {
        let model = Model { name: name.into(), revision: revision.into(), dimensions: 1, normalised };
        Declared(model, Prefixes { document: String::new(), query: query.to_owned() })
    }

    fn check(says: &str, differs: bool, facts: &Declared, purpose: Purpose, text: &str) {
        let base = cache_key(&self::facts("ab", "c", true, "q: "), Purpose::Document, "text");
        assert_eq!(cache_key(facts, purpose, text) != base, differs, "{says}");
    }

    #[test]
    fn whatever_moves_the_vector_moves_the_key() {
        use Purpose::{Document, Query};
        check("the same is the same", false, &facts("ab", "c", true, "q: "), Document, "text");
        check("another query prefix is nothing to a document", false, &facts("ab", "c", true, ""), Document, "text");
        check("another text", true, &facts("ab", "c", true, "q: "), Document, "texts");
        check("another name", true, &facts("abc", "c", true, "q: "), Document, "text");
        check("a letter moved from name to revision", true, &facts("a", "bc", true, "q: "), Document, "text");
        check("another normalisation", true, &facts("ab", "c", false, "q: "), Document, "text");
        check("another purpose with a prefix of its own", true, &facts("ab", "c", true, "q: "), Query, "text");
        check("a purpose without a prefix shares", false, &facts("ab", "c", true, ""), Query, "text");
        let written = cache_key(&facts("ab", "c", true, "q: "), Query, "text");
        let inside = cache_key(&facts("ab", "c", true, ""), Query, "q: text");
        assert_ne!(written, inside, "a prefix is not the beginning of a text");
    }
}
