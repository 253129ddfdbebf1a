//! Whether what is about to be written still may be.
//!
//! Between the claim of a delivery and the first byte of its message lie a name, a connection and a handshake, and the
//! machine may sleep anywhere in between. What is written after that may come behind what somebody else, who claimed
//! the same meanwhile, has said since. So whoever writes asks once more, and last of all.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use thiserror::Error;

/// Asked just before a message is written. Cheap to clone; clones share the answer.
#[derive(Clone)]
pub struct WritePermit(Arc<Terms>);

struct Terms {
    holds: Box<dyn Fn() -> bool + Send + Sync>,
    withheld: AtomicBool,
}

/// Nothing was written: it was too late for it.
#[derive(Debug, Error)]
#[error("too much time passed before it could be written; nothing was")]
pub(crate) struct Withheld;

impl WritePermit {
    /// One that always holds: nobody else could be at the same.
    pub fn always() -> Self {
        Self::while_holds(|| true)
    }

    /// One that holds as long as this says so.
    pub fn while_holds(holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(Terms { holds: Box::new(holds), withheld: AtomicBool::new(false) }))
    }

    /// Whether somebody was refused: nothing was written then, and the attempt was none.
    pub fn was_withheld(&self) -> bool {
        self.0.withheld.load(Ordering::Relaxed)
    }

    /// Asks.
    ///
    /// # Errors
    /// [`Withheld`] where it holds no more.
    pub(crate) fn ask(&self) -> Result<(), Withheld> {
        if (self.0.holds)() {
            return Ok(());
        }
        self.0.withheld.store(true, Ordering::Relaxed);
        Err(Withheld)
    }

    /// A body of these bytes that asks when the connection takes it, which is when head and body are written.
    pub(crate) fn body(&self, bytes: Bytes) -> impl Body<Data = Bytes, Error = Withheld> + Send + Sync + 'static {
        PermittedBody { permit: self.clone(), bytes: Some(bytes) }
    }
}

impl fmt::Debug for WritePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WritePermit").field("was_withheld", &self.was_withheld()).finish_non_exhaustive()
    }
}

struct PermittedBody {
    permit: WritePermit,
    bytes: Option<Bytes>,
}

impl Body for PermittedBody {
    type Data = Bytes;
    type Error = Withheld;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Withheld>>> {
        let Some(bytes) = self.bytes.take() else { return Poll::Ready(None) };
        Poll::Ready(Some(self.permit.ask().map(|()| Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use chrono::Utc;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::cli::demo::inbox::Inbox;
    use crate::cli::demo::smtp_sink::{Manners, SmtpSink};
    use crate::deliver::attempt::Frozen;
    use crate::deliver::channel::ChannelSender;
    use crate::deliver::services::samples::opened;
    use crate::domain::fleet::Fleet;
    use crate::domain::network::Network;
    use crate::domain::paging::delivery::AttemptEnd;
    use crate::domain::receiver::{Channel, Receiver, Smtp, SmtpTls};
    use crate::domain::secret::{Address, Secret};

    /// One that holds so many times.
    fn holding(times: usize) -> WritePermit {
        let asked = AtomicUsize::new(0);
        WritePermit::while_holds(move || asked.fetch_add(1, Ordering::Relaxed) < times)
    }

    fn receiver(channel: Channel) -> Receiver {
        Receiver { name: "oncall".to_owned(), channel, at_most: None, line: 1, definition_hash: String::new() }
    }

    /// Takes connections, and says in the end what was written to the first.
    async fn listening() -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let read = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text
        });
        (url, read)
    }

    #[tokio::test]
    async fn what_is_withheld_leaves_no_byte_on_the_wire() {
        drop(rustls::crypto::ring::default_provider().install_default());
        let sender = ChannelSender::new().unwrap();
        let fleet = Fleet { allow_private: vec![Network("127.0.0.0/8".to_owned())], ..Fleet::default() };
        let payload = opened().frozen();
        let message = Frozen { id: "n", payload: &payload, external_ref: None, over_at: None, replayed: false };
        let (url, read) = listening().await;
        let hook = Channel::Webhook {
            url: Address { shown: String::new(), resolved: Secret::new(&url) },
            secrets: vec![],
            form: Box::default(),
        };
        let rows =
            [(holding(0), "before it connects"), (holding(1), "once it is connected: the machine slept while it did")];
        for (permit, sentence) in rows {
            let end = sender.attempt_while(&permit, &fleet, &receiver(hook.clone()), message, Utc::now()).await.end;
            assert!(matches!(end, AttemptEnd::Failed { .. }), "{sentence}: {end:?}");
            assert!(permit.was_withheld(), "{sentence}");
        }
        assert_eq!(read.await.unwrap(), "", "a connection was made, and nothing written");
    }

    #[tokio::test]
    async fn a_mail_is_withheld_before_its_text() {
        let inbox = Inbox::new(None);
        let sink = SmtpSink::bind(inbox.clone(), Manners::default()).await.unwrap();
        let port = sink.address().unwrap().port();
        let stop = CancellationToken::new();
        let running = tokio::spawn(sink.run(stop.clone()));
        let sender = ChannelSender::new().unwrap();
        let smtp = Smtp {
            host: "127.0.0.1".into(),
            port,
            tls: SmtpTls::None,
            login: None,
            from: "serin@example.org".into(),
            ca: None,
        };
        let fleet = Fleet { smtp: Some(smtp), ..Fleet::default() };
        let mailbox = receiver(Channel::Email { to: vec!["sre@example.org".to_owned()] });
        let payload = opened().frozen();
        let message = Frozen { id: "n", payload: &payload, external_ref: None, over_at: None, replayed: false };
        for (permit, mails) in [(holding(0), 0), (holding(1), 1), (WritePermit::always(), 2)] {
            let end = sender.attempt_while(&permit, &fleet, &mailbox, message, Utc::now()).await.end;
            assert_eq!(permit.was_withheld(), end != AttemptEnd::Accepted, "{end:?}");
            assert_eq!(inbox.items().len(), mails, "one that was withheld is sent to everybody by the next");
        }
        stop.cancel();
        drop(running.await);
    }
}
