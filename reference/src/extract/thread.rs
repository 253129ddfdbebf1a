//! A reader in a thread of its own: it may panic, or take too long, and whoever waits goes on.
//!
//! A thread cannot be stopped. It looks at the clock itself and ends soon after nobody waits; one that does not come to
//! look keeps its place, and when all places are kept the next document is refused and not read.

use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::extract::budget::Budget;
use crate::extract::kind::Kind;
use crate::extract::limits::{FILE_BYTES_MAX, WITHIN};
use crate::extract::refusal::Refusal;

/// Readers at work at once, those that nobody waits for any more among them.
const READERS_MAX: usize = 4;
/// The parser of PDF goes down 512 levels; this is many times what they take.
const STACK_BYTES: usize = 16 << 20;

static READERS: Semaphore = Semaphore::const_new(READERS_MAX);

/// The text of a document, as Markdown where it is none.
///
/// # Errors
/// Why there is none.
pub async fn text(kind: Kind, bytes: Vec<u8>) -> Result<String, Refusal> {
    if kind == Kind::Text {
        return Ok(String::from_utf8(bytes).unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()));
    }
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Refusal::File);
    }
    apart(&READERS, WITHIN, kind, move |budget| kind.text(&bytes, budget).map(std::borrow::Cow::into_owned)).await
}

async fn apart(
    places: &'static Semaphore,
    within: Duration,
    kind: Kind,
    read: impl FnOnce(&mut Budget) -> Result<String, Refusal> + Send + 'static,
) -> Result<String, Refusal> {
    let place = tokio::time::timeout(within, places.acquire()).await.map_err(|_late| Refusal::Busy)?;
    let place = place.map_err(|_closed| Refusal::Busy)?;
    let (done, waiting) = oneshot::channel();
    let reader = std::thread::Builder::new().name(format!("read-{}", kind.name())).stack_size(STACK_BYTES);
    let started = reader.spawn(move || {
        let _place = place;
        // A panic ends this thread alone and drops `done`; nobody may be listening any more, which is as well.
        let _unheard = done.send(read(&mut Budget::new()));
    });
    started.map_err(|_full| Refusal::Busy)?;
    match tokio::time::timeout(within, waiting).await {
        Ok(Ok(text)) => text,
        Ok(Err(_gone)) => Err(Refusal::Panicked(kind.name())),
        Err(_late) => Err(Refusal::Slow),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_panics_is_a_refusal_with_the_readers_name() {
        static PLACES: Semaphore = Semaphore::const_new(1);
        for _ in 0..3 {
            let told = apart(&PLACES, WITHIN, Kind::Pdf, |_| panic!("on purpose")).await;
            assert_eq!(told, Err(Refusal::Panicked("PDF")), "and its place is free again");
        }
        assert_eq!(apart(&PLACES, WITHIN, Kind::Pdf, |_| Ok("a".to_owned())).await, Ok("a".to_owned()));
    }

    #[tokio::test]
    async fn readers_that_hang_do_not_pile_up() {
        static PLACES: Semaphore = Semaphore::const_new(2);
        let (end, hang) = mpsc::channel::<()>();
        let hang = Arc::new(parking_lot::Mutex::new(hang));
        for _ in 0..2 {
            let hang = Arc::clone(&hang);
            let told = apart(&PLACES, Duration::ZERO, Kind::Html, move |_| {
                let _ended = hang.lock().recv();
                Ok(String::new())
            });
            assert_eq!(told.await, Err(Refusal::Slow));
        }
        assert_eq!(
            apart(&PLACES, Duration::ZERO, Kind::Html, |_| Ok(String::new())).await,
            Err(Refusal::Busy),
            "no third thread"
        );
        drop(end);
        let _place = PLACES.acquire_many(2).await.unwrap();
    }
}
