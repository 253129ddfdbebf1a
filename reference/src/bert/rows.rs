//! What lies between the matrix products, row after row in place. These few functions take as long as the products
//! when each number is computed by itself, so they are written over as many as the processor takes at once.

use std::f32::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result};
use pulp::{Arch, Simd, WithSimd};

use crate::bert::folder::Activation;

/// What is done to each row of a tensor.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// A row of the same length is added.
    Add(&'a [f32]),
    /// A function of each number.
    Activate(Activation),
    /// softmax of the row times this.
    Softmax(f32),
}

/// A layer norm: of a tensor and another that is added first.
#[derive(Debug)]
pub struct Norm {
    /// A factor for each number of a row.
    pub weight: Vec<f32>,
    /// What is added to it.
    pub bias: Vec<f32>,
    /// What keeps a row of equal numbers from a division by zero.
    pub epsilon: f32,
}

impl InplaceOp1 for Step<'_> {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        Arch::new().dispatch(Rows { rows: rows(storage, layout)?, step: *self });
        Ok(())
    }
}

impl InplaceOp2 for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout, other: &CpuStorage, _: &Layout) -> Result<()> {
        Arch::new().dispatch(Normed { rows: rows(storage, layout)?, added: other.as_slice()?, norm: self });
        Ok(())
    }
}

// Macros, since a closure is not sure to be inlined, and one that is not is compiled for a processor without lanes.

/// Puts a function of each number in its place.
macro_rules! map {
    ($simd:ident, $row:expr, |$x:ident| $value:expr) => {{
        let (lanes, rest) = S::as_mut_simd_f32s($row);
        for lane in lanes {
            let $x = *lane;
            *lane = $value;
        }
        if !rest.is_empty() {
            let $x = $simd.partial_load_f32s(rest);
            $simd.partial_store_f32s(rest, $value);
        }
    }};
}

/// Puts a function of each number and its fellow of another row in its place.
macro_rules! zip {
    ($simd:ident, $row:expr, $other:expr, |$x:ident, $y:ident| $value:expr) => {{
        let ((lanes, rest), (others, other_rest)) = (S::as_mut_simd_f32s($row), S::as_simd_f32s($other));
        for (lane, other) in lanes.iter_mut().zip(others) {
            let ($x, $y) = (*lane, *other);
            *lane = $value;
        }
        if !rest.is_empty() {
            let ($x, $y) = ($simd.partial_load_f32s(rest), $simd.partial_load_f32s(other_rest));
            $simd.partial_store_f32s(rest, $value);
        }
    }};
}

/// The sum of a function that is zero at zero.
macro_rules! sum {
    ($simd:ident, $row:expr, |$x:ident| $value:expr) => {{
        let (lanes, rest) = S::as_simd_f32s($row);
        let $x = $simd.partial_load_f32s(rest);
        let mut sum = $value;
        for lane in lanes {
            let $x = *lane;
            sum = $simd.add_f32s(sum, $value);
        }
        $simd.reduce_sum_f32s(sum)
    }};
}

/// A tensor's numbers, and how many are in a row.
fn rows<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<std::slice::ChunksExactMut<'a, f32>> {
    match (storage, layout.dims().last()) {
        (CpuStorage::F32(numbers), Some(width)) => Ok(numbers.chunks_exact_mut(*width)),
        _ => candle_core::bail!("rows are of single precision"),
    }
}

struct Rows<'a> {
    rows: std::slice::ChunksExactMut<'a, f32>,
    step: Step<'a>,
}

impl WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for row in self.rows {
            match self.step {
                Step::Add(other) => zip!(simd, row, other, |x, y| simd.add_f32s(x, y)),
                Step::Activate(Activation::Gelu) => map!(simd, row, |x| gelu(simd, x)),
                Step::Activate(Activation::GeluTanh) => map!(simd, row, |x| gelu_tanh(simd, x)),
                Step::Activate(Activation::Relu) => map!(simd, row, |x| simd.max_f32s(x, simd.splat_f32s(0.0))),
                Step::Softmax(scale) => softmax(simd, row, scale),
            }
        }
    }
}

struct Normed<'a> {
    rows: std::slice::ChunksExactMut<'a, f32>,
    added: &'a [f32],
    norm: &'a Norm,
}

impl WithSimd for Normed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Norm { weight, bias, epsilon } = self.norm;
        for (row, added) in self.rows.zip(self.added.chunks_exact(weight.len())) {
            zip!(simd, row, added, |x, y| simd.add_f32s(x, y));
            let middle = simd.splat_f32s(sum!(simd, row, |x| x) / row.len() as f32);
            map!(simd, row, |x| simd.sub_f32s(x, middle));
            let variance = sum!(simd, row, |x| simd.mul_f32s(x, x)) / row.len() as f32;
            let scale = simd.splat_f32s((variance + epsilon).sqrt().recip());
            zip!(simd, row, weight, |x, w| simd.mul_f32s(simd.mul_f32s(x, scale), w));
            zip!(simd, row, bias, |x, b| simd.add_f32s(x, b));
        }
    }
}

#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32], scale: f32) {
    let (lanes, rest) = S::as_simd_f32s(row);
    let mut most = simd.splat_f32s(rest.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    for lane in lanes {
        most = simd.max_f32s(most, *lane);
    }
    let most = simd.splat_f32s(simd.reduce_max_f32s(most));
    let scale = simd.splat_f32s(scale);
    map!(simd, row, |x| exp(simd, simd.mul_f32s(simd.sub_f32s(x, most), scale)));
    let share = simd.splat_f32s(sum!(simd, row, |x| x).recip());
    map!(simd, row, |x| simd.mul_f32s(x, share));
}

/// x·Φ(x) by the error function of Abramowitz and Stegun 7.1.26, which is right to 1.5e-7.
#[inline(always)]
fn gelu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let size = simd.abs_f32s(x);
    let z = simd.mul_f32s(size, simd.splat_f32s(FRAC_1_SQRT_2));
    let one = simd.splat_f32s(1.0);
    let t = simd.div_f32s(one, simd.mul_add_f32s(z, simd.splat_f32s(0.327_591_1), one));
    let factors = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6, 0.0];
    let tail = simd.mul_f32s(polynomial(simd, t, factors), exp(simd, simd.neg_f32s(simd.mul_f32s(z, z))));
    let half = simd.mul_f32s(size, simd.splat_f32s(0.5));
    simd.sub_f32s(simd.max_f32s(x, simd.splat_f32s(0.0)), simd.mul_f32s(half, tail))
}

/// x/2·(1 + tanh(√(2/π)·(x + 0.044715x³))), which is x by the logistic function of twice what tanh is of.
#[inline(always)]
fn gelu_tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let bent = simd.mul_add_f32s(simd.mul_f32s(x, x), simd.splat_f32s(0.044_715), one);
    let twice = simd.mul_f32s(simd.mul_f32s(x, bent), simd.splat_f32s(-1.595_769));
    simd.div_f32s(x, simd.add_f32s(one, exp(simd, twice)))
}

/// 2ⁿ·eʳ with r within ln 2 / 2 of zero, where six terms of the series are right to a unit of the last place.
#[inline(always)]
fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    // Added to a number, it leaves the nearest whole one in the lowest bits.
    let rounder = simd.splat_f32s(12_582_912.0);
    let x = simd.min_f32s(simd.max_f32s(x, simd.splat_f32s(-86.0)), simd.splat_f32s(86.0));
    let shifted = simd.mul_add_f32s(x, simd.splat_f32s(LOG2_E), rounder);
    let rest = simd.mul_add_f32s(simd.sub_f32s(shifted, rounder), simd.splat_f32s(-LN_2), x);
    let factors = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let power = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let bits = simd.transmute_u32s_f32s(polynomial(simd, rest, factors));
    simd.transmute_f32s_u32s(simd.add_u32s(bits, power))
}

/// The highest power's factor first.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: S::f32s, factors: [f32; N]) -> S::f32s {
    let mut value = simd.splat_f32s(factors[0]);
    for factor in &factors[1..] {
        value = simd.mul_add_f32s(value, x, simd.splat_f32s(*factor));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::straight;
    use candle_core::{Device, Tensor};

    /// Rows of a length that leaves a rest, whatever the processor takes at once.
    const WIDTH: usize = 37;

    /// Two rows of numbers from -9 to 9.
    fn numbers() -> Vec<f32> {
        (0..2 * WIDTH).map(|at| (at * 29 % 73) as f32 / 4.0 - 9.0).collect()
    }

    fn check(says: &str, step: Step<'_>, expected: impl Fn(&[f64]) -> Vec<f64>) {
        let tensor = Tensor::from_vec(numbers(), (2, WIDTH), &Device::Cpu).unwrap();
        tensor.inplace_op1(&step).unwrap();
        let rows = tensor.to_vec2::<f32>().unwrap();
        for (found, given) in rows.iter().zip(numbers().chunks(WIDTH)) {
            let given: Vec<f64> = given.iter().copied().map(f64::from).collect();
            for ((found, expected), given) in found.iter().zip(expected(&given)).zip(&given) {
                assert!((f64::from(*found) - expected).abs() < 1e-6, "{says} of {given}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn rows_become_what_the_formulas_say() {
        let each = |f: fn(f64) -> f64| move |row: &[f64]| row.iter().map(|x| f(*x)).collect::<Vec<_>>();
        check("GELU", Step::Activate(Activation::Gelu), each(straight::gelu));
        let tanh = |x: f64| x * 0.5 * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x.powi(3))).tanh());
        check("GELU by tanh", Step::Activate(Activation::GeluTanh), each(tanh));
        check("ReLU", Step::Activate(Activation::Relu), each(|x| x.max(0.0)));
        let softmax = |row: &[f64]| {
            let total: f64 = row.iter().map(|x| (x * 12.0).exp()).sum();
            row.iter().map(|x| (x * 12.0).exp() / total).collect()
        };
        check("softmax", Step::Softmax(12.0), softmax);
    }
}
