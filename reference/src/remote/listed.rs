//! Answers that list a thing for each of several that were sent, by its index and in any order.

/// Reads each thing of a list, and puts it where what it is for stood. What was sent is called `sent`.
///
/// # Errors
/// Where an index stands twice or is none, and what `read` does not take.
pub fn in_order<I, T>(
    things: impl IntoIterator<Item = (usize, I)>,
    (count, sent): (usize, &str),
    read: impl Fn(usize, I) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut places: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for (index, thing) in things {
        let Some(place @ None) = places.get_mut(index) else {
            return Err(format!("index {index} is there twice, or beyond the {count} {sent}"));
        };
        *place = Some(read(index, thing)?);
    }
    // Who calls has counted them: as many as places, none twice, so each place is filled.
    Ok(places.into_iter().flatten().collect())
}
