//! What a probe sends and nothing that is kept may show.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Url, form_urlencoded};

use crate::domain::monitor::Monitor;
use crate::untrusted_text::Scrub;

/// Everything we send that may not come back in evidence: the bearer, what the URLs hide, and what a program gets.
pub(crate) fn secrets_of(monitor: &Monitor) -> Scrub {
    let auth = &monitor.auth;
    let bearer = auth.bearer.iter().chain(auth.headers.iter().map(|(_, value)| value));
    let bearer = bearer.chain(auth.oauth.iter().map(|oauth| &oauth.client_secret)).map(|one| one.expose().to_owned());
    let urls = std::iter::once(&monitor.url).chain(&monitor.health).chain(monitor.reach.proxy.as_deref());
    let parsed = urls.filter_map(|address| Some((Url::parse(address.resolved.expose()).ok()?, &address.shown)));
    let hidden = parsed.flat_map(|(url, shown)| {
        let decoded = |text: &str| {
            form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        // As written, as it is sent, and as it stands in a header.
        let login = url.password().map(|password| (decoded(url.username()), decoded(password)));
        let password =
            url.password().map(str::to_owned).into_iter().chain(login.into_iter().flat_map(|(user, password)| {
                let basic = STANDARD.encode(format!("{user}:{password}"));
                [password, basic]
            }));
        let query = url.query().map(str::to_owned);
        let values: Vec<String> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
        // What does not stand in the shown address was resolved from somewhere.
        let path = url.path().split('/').filter(|part| !shown.contains(*part)).map(str::to_owned);
        password.chain(query).chain(values).chain(path).collect::<Vec<_>>()
    });
    let variables = monitor.reach.program.iter().flat_map(|program| &program.env).map(|(_, value)| value);
    // An argument that does not stand in the shown address was resolved from somewhere.
    let arguments = monitor.reach.program.iter().flat_map(|program| &program.args);
    let arguments = arguments.filter(|argument| !monitor.url.shown.contains(argument.expose()));
    let given = variables.chain(arguments).map(|value| value.expose().to_owned());
    Scrub::new(bearer.chain(hidden).chain(given))
}
