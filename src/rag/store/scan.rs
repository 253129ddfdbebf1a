//! The vector arm: an exact scan.

use crate::rag::fault::kinds::{Dose, Fault};
use crate::rag::fault::switches::Faults;
use crate::rag::store::vectors::{Entry, Index};
use crate::rag::text::draw::mix;

/// A chunk the vector arm found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The chunk's key.
    pub id: i64,
    /// Cosine of question and chunk, -1 to 1.
    pub cosine: f32,
}

/// The nearest chunks, the nearest first; equal ones by key. A chunk at a right angle or beyond is not
/// near, so a question without words, or vectors of zeros, bring nothing.
///
/// `source` narrows to sources that begin with it.
pub fn search(index: &Index, question: &[f32], source: &str, depth: usize, faults: &Faults) -> Vec<Near> {
    let unreachable = faults.dose(Fault::VectorsUnreachable);
    let zeroed = faults.dose(Fault::VectorsZeroed);
    let mut near: Vec<Near> = index
        .iter()
        .filter(|(entry, _)| entry.source.starts_with(source) && !struck(unreachable, entry))
        .map(|(entry, vector)| {
            let cosine = if struck(zeroed, entry) { 0.0 } else { dot(question, vector) };
            Near { id: entry.id, cosine }
        })
        .filter(|near| near.cosine > 0.0)
        .collect();
    near.sort_by(|left, right| right.cosine.total_cmp(&left.cosine).then(left.id.cmp(&right.id)));
    near.truncate(depth);
    near
}

/// Whether a fault that strikes a share of the chunks strikes this one.
pub fn struck(dose: Option<Dose>, entry: &Entry) -> bool {
    dose.is_some_and(|dose| {
        let number =
            entry.source.bytes().fold(mix(entry.ordinal.cast_unsigned()), |sum, byte| mix(sum ^ u64::from(byte)));
        dose.strikes(number)
    })
}

/// The dot product, which for vectors of length one is the cosine. Eight sums at a time, so that the
/// compiler may use the machine's wide registers; their order is fixed, so the bits are too.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left_wide, left_rest) = left.as_chunks::<8>();
    let (right_wide, right_rest) = right.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (a, b) in left_wide.iter().zip(right_wide) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum::<f32>()
}
