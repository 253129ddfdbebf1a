//! Accepts connections and answers on them, within the limits of [`crate::web::connections`].
//!
//! A connection is one task that also watches its own time; whoever is chosen to make room ends at once. On shutdown
//! what is being answered is answered to its end, and nothing else.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use chrono::Utc;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::deliver::internal::InternalAlerts;
use crate::web::connections::{Answering, ConnectionLine, ConnectionPlace, Connections, Limits};
use crate::web::router::router;
use crate::web::source::PeerAddress;
use crate::web::state::WebState;

/// Pause after a connection could not be accepted for want of files or memory: the next cannot be either.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves the pages until shutdown, and then until every answer under way is over.
pub async fn serve(
    listener: impl Into<Arc<TcpListener>>,
    mut state: WebState,
    limits: Limits,
    shutdown: CancellationToken,
) {
    state.streams = Arc::new(Semaphore::new(limits.streams));
    let alerts = state.alerts.clone();
    answer_by(router(state), listener.into(), alerts, limits, shutdown).await;
}

/// The same, by what answers; the listener may be served by another one afterwards.
pub async fn answer_by(
    router: Router,
    listener: Arc<TcpListener>,
    alerts: InternalAlerts,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let all = Connections::new(limits);
    let mut tasks = JoinSet::new();
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            // First of all: who comes after that is answered by whoever serves next.
            biased;
            () = shutdown.cancelled() => break,
            Some(_ended) = tasks.join_next() => continue,
            accepted = accepted(&listener, &alerts) => accepted,
        };
        let Some((stream, address)) = accepted else { continue };
        number += 1;
        let place = tokio::select! {
            () = shutdown.cancelled() => break,
            place = all.place(number, address.ip()) => place,
        };
        tasks.spawn(connection(stream, address, place, router.clone(), shutdown.clone()));
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// The next connection; none where it was gone again, or could not be taken, after a pause.
async fn accepted(listener: &TcpListener, alerts: &InternalAlerts) -> Option<(TcpStream, SocketAddr)> {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => None,
        Err(error) => {
            if !alerts.out_of_files("a connection to the pages", Utc::now()) {
                tracing::warn!(%error, "a connection to the pages could not be accepted");
            }
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    place: ConnectionPlace,
    router: Router,
    shutdown: CancellationToken,
) {
    // Nagle would cost a caller that keeps its connection 40 ms an answer.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused");
    }
    let line = &place.line;
    let answer = service_fn(|request: Request<Incoming>| answer(router.clone(), request, address, Arc::clone(line)));
    let io = TokioIo::new(Watched { stream, line: Arc::clone(line) });
    // Its time for the head would be that between two requests too; ours are two.
    let mut serving = pin!(http1::Builder::new().header_read_timeout(None).serve_connection(io, answer));
    let ended = tokio::select! {
        ended = in_time(serving.as_mut(), line) => ended,
        () = line.closed.cancelled() => return,
        () = shutdown.cancelled() => {
            serving.as_mut().graceful_shutdown();
            in_time(serving, line).await
        }
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection to the pages ended early");
    }
}

/// Runs a connection to its end, or until it has taken too long over something; none then.
///
/// Whatever moves its deadline happens while it is polled, so that one look afterwards is enough.
async fn in_time<T>(mut serving: Pin<&mut impl Future<Output = T>>, line: &ConnectionLine) -> Option<T> {
    let mut alarm = pin!(sleep_until(Instant::now()));
    poll_fn(|context| {
        if let Poll::Ready(ended) = serving.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        let Some(deadline) = line.deadline() else { return Poll::Pending };
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        alarm.as_mut().poll(context).map(|()| None)
    })
    .await
}

async fn answer(
    router: Router,
    request: Request<Incoming>,
    address: SocketAddr,
    line: Arc<ConnectionLine>,
) -> Result<Response<ServedAnswer>, Infallible> {
    let answering = line.answers();
    let mut request = request.map(Body::new);
    let source = PeerAddress(line.source(address.ip(), request.headers()));
    request.extensions_mut().insert(source);
    request.extensions_mut().insert(line);
    let response = router.oneshot(request).await?;
    Ok(response.map(|body| ServedAnswer { body, _answering: answering }))
}

/// An answer's body; while it is there, the request is being answered.
#[derive(Debug)]
struct ServedAnswer {
    body: Body,
    _answering: Answering,
}

impl HttpBody for ServedAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that tells when something moves on it.
#[derive(Debug)]
struct Watched {
    stream: TcpStream,
    line: Arc<ConnectionLine>,
}

impl Watched {
    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.line.has_written(matches!(written, Poll::Ready(Ok(1..))));
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.line.has_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
