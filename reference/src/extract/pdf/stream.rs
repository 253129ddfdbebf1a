//! What streams hold.

use std::borrow::Cow;

use hayro_syntax::object::Stream;

use crate::extract::budget::Budget;
use crate::extract::refusal::Refusal;

/// A stream's bytes; `None` where they cannot be read.
pub(super) fn decoded<'a>(stream: &Stream<'a>, budget: &mut Budget) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
    budget.in_time()?;
    let Ok(data) = stream.decoded_data() else { return Ok(None) };
    budget.inflated(data.len())?;
    Ok(Some(data))
}
