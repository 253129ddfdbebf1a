//! How long vectors are.

/// A vector shorter than this has no direction but that of rounding.
pub const LENGTH_MIN: f64 = f32::EPSILON as f64;

/// A vector's length, in double precision: the square of what a server sends may be beyond single.
pub fn length(vector: &[f32]) -> f64 {
    vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt()
}

/// Brings a vector to length one; one without a direction stays as it is.
pub fn normalise(vector: &mut [f32]) {
    let length = length(vector);
    if length > LENGTH_MIN {
        for number in vector {
            #[expect(clippy::cast_possible_truncation, reason = "a component is no longer than one")]
            {
                *number = (f64::from(*number) / length) as f32;
            }
        }
    }
}
