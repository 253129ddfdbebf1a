//! The same model computed straight: plain loops in double precision, one text at a time, no padding. Slow, short,
//! and written from the formulas, so that two ways to the same numbers check each other.

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

use crate::bert::tiny::{EPSILON, HEADS, HIDDEN, LAYERS, Numbers, vocabulary};

type Row = Vec<f64>;

/// How far single precision may be off; the two ways of computing GELU are further apart than this.
pub(crate) const OFF_MAX: f64 = 5e-6;

/// Tokens, each with the segment it belongs to, to the last layer's states.
pub(crate) fn states(numbers: &Numbers, tokens: &[(&str, usize)]) -> Vec<Row> {
    let vocabulary = vocabulary();
    let row = |name: &str, at: usize| numbers[name].1[at * HIDDEN..(at + 1) * HIDDEN].to_vec();
    let mut states: Vec<Row> = tokens
        .iter()
        .enumerate()
        .map(|(place, (token, segment))| {
            let id = vocabulary.iter().position(|word| word == token).unwrap();
            let word = row("embeddings.word_embeddings.weight", id);
            let placed = sum(&word, &row("embeddings.position_embeddings.weight", place));
            let typed = sum(&placed, &row("embeddings.token_type_embeddings.weight", *segment));
            norm(numbers, "embeddings.LayerNorm", &typed)
        })
        .collect();
    for layer in 0..LAYERS {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let seen = attention(numbers, &at("attention.self"), &states);
        states = seen
            .iter()
            .zip(&states)
            .map(|(seen, state)| {
                let mixed = linear(numbers, &at("attention.output.dense"), seen);
                let attended = norm(numbers, &at("attention.output.LayerNorm"), &sum(&mixed, state));
                let wide: Row = linear(numbers, &at("intermediate.dense"), &attended).into_iter().map(gelu).collect();
                norm(numbers, &at("output.LayerNorm"), &sum(&linear(numbers, &at("output.dense"), &wide), &attended))
            })
            .collect();
    }
    states
}

/// The mean of the states, of length one.
pub(crate) fn mean(states: &[Row]) -> Row {
    let total = states.iter().fold(vec![0.0; HIDDEN], |total, state| sum(&total, state));
    one(&total)
}

/// A vector of length one.
pub(crate) fn one(vector: &[f64]) -> Row {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

/// The first state through pooler and classifier, as a score.
pub(crate) fn score(numbers: &Numbers, states: &[Row]) -> f64 {
    let pooled: Row = linear(numbers, "pooler.dense", &states[0]).into_iter().map(f64::tanh).collect();
    1.0 / (1.0 + (-linear(numbers, "classifier", &pooled)[0]).exp())
}

fn attention(numbers: &Numbers, at: &str, states: &[Row]) -> Vec<Row> {
    let all = |name: &str| -> Vec<Row> {
        states.iter().map(|state| linear(numbers, &format!("{at}.{name}"), state)).collect()
    };
    let (query, key, value) = (all("query"), all("key"), all("value"));
    let width = HIDDEN / HEADS;
    let mut seen = vec![vec![0.0; HIDDEN]; states.len()];
    for head in 0..HEADS {
        let own = head * width..(head + 1) * width;
        for (looking, seen) in seen.iter_mut().enumerate() {
            let looks: Row = key
                .iter()
                .map(|key| own.clone().map(|at| query[looking][at] * key[at]).sum::<f64>() / (width as f64).sqrt())
                .map(f64::exp)
                .collect();
            let total: f64 = looks.iter().sum();
            for (look, value) in looks.iter().zip(&value) {
                for at in own.clone() {
                    seen[at] += look / total * value[at];
                }
            }
        }
    }
    seen
}

fn linear(numbers: &Numbers, name: &str, input: &[f64]) -> Row {
    let weight = &numbers[&format!("{name}.weight")].1;
    let bias = &numbers[&format!("{name}.bias")].1;
    weight
        .chunks(input.len())
        .zip(bias)
        .map(|(row, bias)| row.iter().zip(input).map(|(w, x)| w * x).sum::<f64>() + bias)
        .collect()
}

fn norm(numbers: &Numbers, name: &str, input: &[f64]) -> Row {
    let count = input.len() as f64;
    let middle = input.iter().sum::<f64>() / count;
    let variance = input.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / count;
    let weight = &numbers[&format!("{name}.weight")].1;
    let bias = &numbers[&format!("{name}.bias")].1;
    let scaled = input.iter().map(|x| (x - middle) / (variance + EPSILON).sqrt());
    scaled.zip(weight).zip(bias).map(|((x, w), b)| x * w + b).collect()
}

fn sum(left: &[f64], right: &[f64]) -> Row {
    left.iter().zip(right).map(|(a, b)| a + b).collect()
}

/// x·Φ(x).
pub(crate) fn gelu(x: f64) -> f64 {
    x * 0.5 * (1.0 + erf(x / SQRT_2))
}

/// The error function by its Taylor series within 4, beyond which it is one to 2e-8.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut total) = (x, x);
    for n in 1..120 {
        let n = f64::from(n);
        term *= -x * x / n;
        total += term / (2.0 * n + 1.0);
    }
    total * FRAC_2_SQRT_PI
}
