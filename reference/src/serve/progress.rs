//! Progress of a call over MCP, for a client that gave a `progressToken` with it.
//!
//! Its answer is a stream of events then, in either era; without a token nothing of this is sent.

use std::pin::pin;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::watch;

use crate::index::progress::{self, Embedded};

/// Does a call, telling its client how far it has come. What changes while a notification is on its way is told by the
/// next: a client is never told faster than it reads.
pub async fn telling<T>(context: RequestContext<RoleServer>, call: impl Future<Output = T>) -> T {
    let Some(token) = context.meta.get_progress_token() else { return call.await };
    let (tell, mut heard) = watch::channel(Embedded::default());
    let mut call = pin!(progress::told(tell, call));
    let mut before = Embedded::default();
    // The first says that it has begun: reading a long document takes its time, too.
    notify(&context.peer, &token, before).await;
    loop {
        tokio::select! {
            biased;
            outcome = &mut call => return outcome,
            Ok(()) = heard.changed() => {
                let now = *heard.borrow_and_update();
                // It only ever grows, says the specification.
                if now.done > before.done {
                    before = now;
                    notify(&context.peer, &token, now).await;
                }
            }
        }
    }
}

async fn notify(peer: &Peer<RoleServer>, token: &ProgressToken, Embedded { done, of }: Embedded) {
    let mut told = ProgressNotificationParam::new(token.clone(), done as f64);
    told.total = (of > 0).then_some(of as f64);
    told.message = Some(if of > 0 { "embedding".to_owned() } else { "reading".to_owned() });
    // Who has gone away is not told; the call goes on or is cancelled as it would be without.
    let _gone = peer.notify_progress(told).await;
}
