//! A byte stream, plain or TLS, that counts what passes on the wire.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// Bytes taken over one connection. Bodies are bounded by who reads them; this bounds what never becomes a body, such as
/// interim answers without end. A probe's whole conversation is far below it.
const RECEIVED_MAX: u64 = 64 * 1024 * 1024;

/// An established connection's bytes.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Counted),
    /// TLS over TCP; boxed, for a TLS session is a kilobyte.
    Tls(Box<TlsStream<Counted>>),
}

/// Bytes that passed, TLS overhead included.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
    heard: AtomicU64,
}

impl Traffic {
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes that the other side said, without TLS's own, which come unasked.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

/// The other side sent more than a connection takes.
#[derive(Debug, thiserror::Error)]
#[error("more than {RECEIVED_MAX} bytes came over one connection")]
pub(crate) struct TooMuch;

/// A TCP stream with its counter.
#[derive(Debug)]
pub(crate) struct Counted {
    inner: TcpStream,
    traffic: Arc<Traffic>,
}

impl Counted {
    /// Counts into `traffic`, which outlives the stream.
    pub(crate) fn new(inner: TcpStream, traffic: Arc<Traffic>) -> Self {
        Self { inner, traffic }
    }
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        let read = buf.filled().len().saturating_sub(before);
        let so_far = self.traffic.received.fetch_add(read as u64, Ordering::Relaxed);
        if so_far + read as u64 > RECEIVED_MAX {
            return Poll::Ready(Err(io::Error::other(TooMuch)));
        }
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = &polled {
            self.traffic.sent.fetch_add(*written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        if let Poll::Ready(Ok(written)) = &polled {
            self.traffic.sent.fetch_add(*written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let (polled, traffic) = match self.get_mut() {
            Self::Plain(plain) => (Pin::new(&mut *plain).poll_read(cx, buf), &plain.traffic),
            Self::Tls(tls) => (Pin::new(tls.as_mut()).poll_read(cx, buf), &tls.get_ref().0.traffic),
        };
        let heard = buf.filled().len().saturating_sub(before);
        traffic.heard.fetch_add(heard as u64, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, slices),
            Self::Tls(tls) => Pin::new(tls.as_mut()).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }
}
