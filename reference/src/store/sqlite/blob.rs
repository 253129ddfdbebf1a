//! Numbers as a column keeps them.

/// Numbers as a store keeps them: f32, little endian.
pub fn to_blob(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Numbers as they were before they were kept.
pub fn from_blob(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _rest) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
