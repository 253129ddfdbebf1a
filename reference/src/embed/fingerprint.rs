//! How an index knows its embedder again.

use serde::{Deserialize, Serialize};

use crate::embed::embedder::{EmbedError, Embedder, Model, Purpose};
use crate::embed::length::length;

/// What an index remembers of the embedder that made it: its facts, and what it made of fixed texts,
/// so that a model that changed behind its name is noticed too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The facts.
    pub model: Model,
    /// What it made of the fixed texts.
    pub probes: Vec<Probe>,
}

/// A fixed text and its vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// What it was embedded for.
    pub purpose: Purpose,
    /// The text.
    pub text: String,
    /// The vector.
    pub vector: Vec<f32>,
}

/// The least cosine of a probe then and now. Hosted models jitter in the fourth decimal; another
/// model, another prefix or another pooling is far below.
const PROBE_COSINE_MIN: f64 = 0.999;

/// The fixed texts: prose, a code, another script, a question, a question with a code. An index
/// holds them too, so a change of this list asks for no new index until its next build.
const PROBES: [(Purpose, &str); 5] = [
    (Purpose::Document, "the quick brown fox pages an engineer about a stale index"),
    (Purpose::Document, "RAG-1107: fn connect(timeout_ms: u64) -> Result<Pool, Error>"),
    (Purpose::Document, "Füße über Größe; 検索サーバーの索引が古い"),
    (Purpose::Query, "Why are the first searches after a restart slow?"),
    (Purpose::Query, "what does error RAG-1107 mean"),
];

/// Has the embedder make its fingerprint now.
///
/// # Errors
/// Where it does not embed.
pub async fn fingerprint(embedder: &dyn Embedder) -> Result<Fingerprint, EmbedError> {
    let mut probes = Vec::with_capacity(PROBES.len());
    for purpose in [Purpose::Document, Purpose::Query] {
        let texts: Vec<String> =
            PROBES.iter().filter(|(own, _)| *own == purpose).map(|(_, text)| (*text).to_owned()).collect();
        let vectors = embedder.embed(&texts, purpose).await?;
        probes.extend(texts.into_iter().zip(vectors).map(|(text, vector)| Probe { purpose, text, vector }));
    }
    Ok(Fingerprint { model: embedder.model().clone(), probes })
}

impl Fingerprint {
    /// Whether vectors of these two mean the same: equal facts, and each text that both know in the same direction.
    ///
    /// # Errors
    /// What does not fit, as a sentence that names both and the mend. `self` is the index, `now` the embedder.
    pub fn fits(&self, now: &Self) -> Result<(), String> {
        const MEND: &str = "set the former embedder again, or build the index anew with --full-rebuild";
        let (was, is) = (&self.model, &now.model);
        if was != is {
            return Err(format!("the index was built with {was}, and the embedder is {is}: {MEND}"));
        }
        // Without an embedder there are no vectors that could mean something else.
        if was.dimensions == 0 {
            return Ok(());
        }
        let mut compared = 0;
        for probe in &self.probes {
            let same = |other: &&Probe| other.purpose == probe.purpose && other.text == probe.text;
            let Some(other) = now.probes.iter().find(same) else { continue };
            compared += 1;
            let cosine = cosine(&probe.vector, &other.vector);
            if cosine.is_nan() || cosine < PROBE_COSINE_MIN {
                return Err(format!(
                    "the index was built with {was}, and the embedder calls itself {is} but makes other vectors \
                     (cosine {cosine:.4} for {:?}): {MEND}",
                    probe.text
                ));
            }
        }
        if compared == 0 {
            return Err(format!(
                "the index was built with {was}, and nothing shows that the embedder, {is}, is the same: {MEND}"
            ));
        }
        Ok(())
    }
}

/// The cosine, -1 to 1; 0 where the widths differ, not a number where a vector has no direction.
fn cosine(left: &[f32], right: &[f32]) -> f64 {
    if left.len() != right.len() {
        return 0.0;
    }
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(left, right) / (length(left) * length(right))
}

#[cfg(test)]
#[cfg(feature = "builtin")]
mod tests {
    use super::*;
    use crate::embed::hashing::HashingEmbedder;

    /// `expected` is a part of the refusal; empty where it fits.
    fn check(says: &str, was: &Fingerprint, is: &Fingerprint, expected: &str) {
        match was.fits(is) {
            Ok(()) => assert_eq!(expected, "", "{says}: it fits"),
            Err(why) => {
                assert!(!expected.is_empty() && why.contains(expected), "{says}: {why}");
                assert!(why.contains("--full-rebuild"), "{says}: the mend is named: {why}");
            }
        }
    }

    #[tokio::test]
    async fn an_index_knows_its_embedder() {
        let index = fingerprint(&HashingEmbedder::INDEX).await.unwrap();
        let other = fingerprint(&HashingEmbedder::OTHER).await.unwrap();
        let stored: Fingerprint = serde_json::from_str(&serde_json::to_string(&index).unwrap()).unwrap();
        check("it fits itself, out of the store", &stored, &index, "");
        check(
            "another model does not",
            &index,
            &other,
            "384 dimensions, length one), and the embedder is serin-hash-b",
        );
        let change = |change: &dyn Fn(&mut Fingerprint)| {
            let mut changed = index.clone();
            change(&mut changed);
            changed
        };
        let jitter = change(&|print| print.probes.iter_mut().for_each(|probe| probe.vector[0] += 0.0005));
        check("a hosted model jitters", &index, &jitter, "");
        let masked = change(&|print| print.probes.clone_from(&other.probes));
        check("another model under the same name does not", &index, &masked, "makes other vectors");
        let zeroed = change(&|print| print.probes[0].vector.fill(0.0));
        check("nor does one that makes zeros", &index, &zeroed, "makes other vectors");
        let narrow = change(&|print| print.probes[0].vector.truncate(3));
        check("nor one of another width", &index, &narrow, "makes other vectors");
        let revised = change(&|print| print.model.revision = "3".into());
        check("nor another revision", &index, &revised, "(3, 384 dimensions");
        let free = change(&|print| print.model.normalised = false);
        check("nor another normalisation", &index, &free, "free length");
        let strange = change(&|print| print.probes.clear());
        check("nor one that nothing is known of", &index, &strange, "nothing shows");
    }
}
