//! Style, script and icon, built into the binary and served under names that hold their hash, so they may be kept forever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

/// One file of the pages.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its address, hash included.
    pub path: String,
    content_type: &'static str,
    text: &'static str,
}

pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| asset("app", "css", "text/css; charset=utf-8", include_str!("assets/app.css")));
/// Of the public page alone, which shares nothing with those behind the sign-in.
pub(crate) static PUBLIC_STYLE: LazyLock<Asset> =
    LazyLock::new(|| asset("public", "css", "text/css; charset=utf-8", include_str!("assets/public.css")));
/// What keeps an open page fresh.
pub(crate) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| asset("app", "js", "text/javascript; charset=utf-8", include_str!("assets/app.js")));
/// The theme, before anything is drawn.
pub(crate) static THEME: LazyLock<Asset> =
    LazyLock::new(|| asset("theme", "js", "text/javascript; charset=utf-8", include_str!("assets/theme.js")));
/// Brings what is drawn anew into an open page without touching what stays: idiomorph, a kept library without dependencies.
pub(crate) static MORPH: LazyLock<Asset> =
    LazyLock::new(|| asset("morph", "js", "text/javascript; charset=utf-8", include_str!("assets/idiomorph.min.js")));
/// The finch in the browser's tab.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| asset("serin", "svg", "image/svg+xml", include_str!("assets/serin.svg")));

const FOREVER: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "public, max-age=31536000, immutable")];

pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    let asked = format!("/assets/{name}");
    for asset in [&*STYLE, &*PUBLIC_STYLE, &*SCRIPT, &*THEME, &*MORPH, &*ICON] {
        if asset.path == asked {
            return (FOREVER, [(header::CONTENT_TYPE, asset.content_type)], asset.text).into_response();
        }
    }
    StatusCode::NOT_FOUND.into_response()
}

fn asset(stem: &str, ending: &str, content_type: &'static str, text: &'static str) -> Asset {
    let hash: String = Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Asset { path: format!("/assets/{stem}.{hash}.{ending}"), content_type, text }
}
