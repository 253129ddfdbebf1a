//! What each fuzz target asserts, shared by libFuzzer (fuzz_targets/) and by tests/fuzz_corpus.rs.

use serin::domain::fault::FaultKind;
use serin::probe::decode::rpc::{RpcMessage, read};
use serin::probe::decode::sse::{Decoder, EVENTS_MAX, Overflow, SseEvent};
use serin::untrusted_text::DETAIL_CHARS_MAX;

/// Bytes of an event here: small, so that the bound is often met.
const EVENT_BYTES_MAX: usize = 256;

/// An event stream decodes to the same events however it is cut, within bounds. The first byte says how it is cut.
pub(crate) fn sse(data: &[u8]) {
    let Some((cut, stream)) = data.split_first() else { return };
    let whole = decoded(std::iter::once(stream));
    let parts = decoded(stream.chunks(usize::from(*cut).max(1)));
    assert_eq!(whole, parts, "the same events, cut into pieces of {cut}");
    assert!(whole.1.len() <= EVENTS_MAX);
    assert!(whole.1.iter().all(|event| !event.data.is_empty() && event.data.len() <= EVENT_BYTES_MAX));
}

type Decoded = (Result<(), Overflow>, Vec<SseEvent>, Option<Vec<u8>>);

fn decoded<'d>(mut pieces: impl Iterator<Item = &'d [u8]>) -> Decoded {
    let mut decoder = Decoder::new(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    let outcome = pieces.try_for_each(|piece| decoder.push(piece, &mut events));
    (outcome, events, decoder.last_id().map(<[u8]>::to_vec))
}

/// A body is our answer, somebody else's message, or one of five faults with a bounded line of evidence.
pub(crate) fn rpc(data: &[u8]) {
    match read(data, 7) {
        Ok(RpcMessage::Result { raw, .. }) => {
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(raw.get()).is_ok(), "a result is JSON");
            assert!(raw.get().len() <= data.len());
        }
        Ok(RpcMessage::Error(error)) => assert!(error.message.len() <= data.len() * 3),
        Ok(RpcMessage::Other) => {}
        Err(misfit) => {
            use FaultKind::{BadResult, EmptyBody, NotJson, NotJsonRpc, WrongId};
            assert!(matches!(misfit.kind, BadResult | EmptyBody | NotJson | NotJsonRpc | WrongId), "{misfit:?}");
            assert!(misfit.detail.chars().count() <= DETAIL_CHARS_MAX, "{misfit:?}");
            assert!(!misfit.detail.chars().any(char::is_control), "{misfit:?}");
        }
    }
}
