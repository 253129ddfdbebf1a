//! Pages that many have open at once. Each of them looks again when it hears of a change; what they look at is drawn and packed
//! once for all who see the same, as long as nobody was told of anything since.
//!
//! Who is signed in otherwise, or may do something else, sees another page: nothing is ever shared between them.

use std::collections::HashMap;
use std::future::Future;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::domain::api_key::Role;

/// Pages say how long ago something was: that is out by no more.
const AGE_MAX: Duration = Duration::from_secs(1);
/// Pages kept at once, some tens of kB each.
const PAGES_MAX: usize = 64;
/// Longer addresses are somebody's own.
const ADDRESS_BYTES_MAX: usize = 500;

/// What somebody looks at, and everything of them that shows on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    /// Path and query.
    pub page: String,
    /// Whether they may see the fleet.
    pub admitted: bool,
    /// Whether they signed in.
    pub signed_in: bool,
    /// What they may do.
    pub role: Option<Role>,
    /// The name that they signed in by.
    pub name: Option<Arc<str>>,
}

/// The pages that are kept.
#[derive(Debug)]
pub(crate) struct SharedPages {
    pages: Mutex<HashMap<Seen, Arc<Kept>>>,
    age_max: Duration,
}

impl Default for SharedPages {
    fn default() -> Self {
        Self { pages: Mutex::default(), age_max: AGE_MAX }
    }
}

/// One page; whoever draws it holds it, and whoever wants it meanwhile waits.
type Kept = tokio::sync::Mutex<Option<Drawn>>;

#[derive(Debug)]
struct Drawn {
    /// What had been told when drawing began.
    stamp: Stamp,
    at: Instant,
    packed: Bytes,
}

/// How often open pages were told of something, and how often there was news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(pub u64, pub u64);

impl SharedPages {
    /// The page as it is kept, or as `draw` draws it. `stamp` says what was told so far; while nobody listens, which is none,
    /// each is drawn for itself.
    pub(crate) async fn show(
        &self,
        stamp: impl Fn() -> Option<Stamp>,
        seen: Seen,
        headers: &HeaderMap,
        draw: impl Future<Output = askama::Result<String>>,
    ) -> Response {
        let is_shared = stamp().is_some() && seen.page.len() <= ADDRESS_BYTES_MAX && takes_gzip(headers);
        if !is_shared {
            return match draw.await {
                Ok(html) => Html(html).into_response(),
                Err(error) => failed(&error),
            };
        }
        let kept = self.kept(seen);
        let mut kept = kept.lock().await;
        // As it is when it is this one's turn: whoever waited for the drawing of another has heard of no more than it shows.
        let now = stamp();
        if let Some(drawn) = kept.as_ref().filter(|drawn| Some(drawn.stamp) == now && drawn.at.elapsed() < self.age_max)
        {
            return answer(drawn.packed.clone());
        }
        match draw.await {
            Ok(html) => {
                let packed = packed(&html);
                let at = Instant::now();
                *kept = now.map(|stamp| Drawn { stamp, at, packed: packed.clone() });
                answer(packed)
            }
            Err(error) => failed(&error),
        }
    }

    fn kept(&self, seen: Seen) -> Arc<Kept> {
        let mut pages = self.pages.lock();
        if pages.len() >= PAGES_MAX && !pages.contains_key(&seen) {
            pages.clear();
        }
        Arc::clone(pages.entry(seen).or_default())
    }
}

/// Every browser does; what else asks gets it as the layer for all answers packs it.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let takes = |value: &HeaderValue| {
        value.to_str().is_ok_and(|value| value.split(',').any(|one| matches!(one.trim(), "gzip" | "gzip;q=1.0")))
    };
    headers.get_all(header::ACCEPT_ENCODING).iter().any(takes)
}

fn packed(html: &str) -> Bytes {
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(5));
    // Into memory, which takes everything.
    let _infallible = packer.write_all(html.as_bytes());
    packer.finish().unwrap_or_default().into()
}

fn answer(packed: Bytes) -> Response {
    let mut answer = (StatusCode::OK, packed).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    answer
}

fn failed(error: &askama::Error) -> Response {
    tracing::error!(%error, "a page could not be written");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::atomic::{AtomicU64, Ordering};

    use axum::body::to_bytes;
    use flate2::read::GzDecoder;
    use futures_util::future::join_all;

    use super::*;

    fn seen(page: &str, role: Option<Role>, name: Option<&str>) -> Seen {
        let (page, name) = (page.to_owned(), name.map(Arc::from));
        Seen { page, admitted: role.is_some(), signed_in: name.is_some(), role, name }
    }

    fn browser() -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br, zstd"))])
    }

    /// What is drawn is the number of the drawing.
    async fn look(pages: &SharedPages, drawn: &AtomicU64, stamp: Option<Stamp>, seen: Seen) -> String {
        let draw = async {
            tokio::task::yield_now().await;
            Ok((drawn.fetch_add(1, Ordering::Relaxed) + 1).to_string())
        };
        let answer = pages.show(|| stamp, seen, &browser(), draw).await;
        let is_packed = answer.headers().get(header::CONTENT_ENCODING).is_some_and(|one| one == "gzip");
        let body = to_bytes(answer.into_body(), 1_000).await.unwrap();
        let mut text = String::new();
        match is_packed {
            true => drop(GzDecoder::new(&body[..]).read_to_string(&mut text)),
            false => text = String::from_utf8(body.to_vec()).unwrap(),
        }
        text
    }

    #[tokio::test]
    async fn it_is_drawn_once_for_all_who_see_the_same_until_something_was_told() {
        let pages = SharedPages { age_max: Duration::from_secs(3_600), ..SharedPages::default() };
        let drawn = AtomicU64::new(0);
        let owner = |page: &str| seen(page, Some(Role::Owner), None);
        let all = join_all((0..200).map(|_| look(&pages, &drawn, Some(Stamp(1, 1)), owner("/")))).await;
        assert!(all.iter().all(|page| page == "1"), "one drawing for two hundred");
        let rows = [
            (Some(Stamp(1, 1)), owner("/"), "1", "the same again"),
            (Some(Stamp(2, 1)), owner("/"), "2", "a beat was told"),
            (Some(Stamp(2, 2)), owner("/"), "3", "there is news that nobody was told of yet"),
            (Some(Stamp(2, 2)), owner("/?q=a"), "4", "another search"),
            (Some(Stamp(2, 2)), seen("/", Some(Role::Read), None), "5", "one who may not act"),
            (Some(Stamp(2, 2)), seen("/", Some(Role::Owner), Some("Ada")), "6", "one with a name"),
            (Some(Stamp(2, 2)), seen("/", None, None), "7", "one who is let in nowhere"),
            (Some(Stamp(2, 2)), owner("/"), "3", "and the first one's is still there"),
            (None, owner("/"), "8", "nobody listens"),
            (None, owner("/"), "9", "so that each is drawn for itself"),
        ];
        for (stamp, seen, expected, sentence) in rows {
            assert_eq!(look(&pages, &drawn, stamp, seen).await, expected, "{sentence}");
        }
        for nth in 0..1_000 {
            look(&pages, &drawn, Some(Stamp(2, 2)), owner(&format!("/?q={nth}"))).await;
        }
        assert!(pages.pages.lock().len() <= PAGES_MAX, "searches take no more room than that");
        let (aged, drawn) = (SharedPages { age_max: Duration::ZERO, ..SharedPages::default() }, AtomicU64::new(0));
        for expected in ["1", "2"] {
            let page = look(&aged, &drawn, Some(Stamp(1, 1)), owner("/")).await;
            assert_eq!(page, expected, "a page says how long ago things were, and is too old");
        }
    }
}
