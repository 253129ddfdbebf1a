//! Which monitors there are, for somebody who names one that is not.

use crate::cli::remote::{ApiAnswer, Remote};
use crate::config::Loaded;
use crate::config::check::checker::similar;

/// Ids named in one line; the rest is counted.
const IDS_SHOWN_MAX: usize = 8;

/// The first ids of `total`, and how many more there are.
pub(crate) fn listed<'i>(ids: impl Iterator<Item = &'i str>, total: usize) -> String {
    let shown: Vec<&str> = ids.take(IDS_SHOWN_MAX).collect();
    match total.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What may have been meant by `id`: one of `ids` that is like it, else those there are, `total` of them.
pub(crate) fn instead(id: &str, ids: &[&str], total: usize) -> String {
    match similar(id, ids.iter().copied()) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => format!("known here: {}", listed(ids.iter().copied(), total)),
    }
}

/// The same of a file's monitors: an id may be that of a listed one, which a running Serin knows alone.
pub(crate) fn instead_in(loaded: &Loaded, id: &str) -> String {
    let mut unread = loaded.fleet.discovery.sources.iter().map(|source| &source.id);
    let of = unread.find(|source| {
        !loaded.lists.contains(source) && id.strip_prefix(&***source).is_some_and(|rest| rest.starts_with('-'))
    });
    if let Some(source) = of {
        return format!("what '{source}' lists is not known here: the running Serin keeps it beside its database");
    }
    let ids: Vec<&str> = loaded.fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
    instead(id, &ids, ids.len())
}

/// Refuses an id of which the running Serin has no monitor.
///
/// # Errors
/// Where it has none, or does not answer.
pub(crate) async fn ensure_known(remote: &Remote, id: &str) -> anyhow::Result<()> {
    let path: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let answer = remote.get(&format!("/monitors/{path}")).await?;
    if answer.status == 404 { Err(no_monitor(remote, id, &answer).await) } else { Ok(()) }
}

/// A refusal for want of such a monitor, with what may have been meant.
pub(crate) async fn no_monitor(remote: &Remote, id: &str, refused: &ApiAnswer) -> anyhow::Error {
    // By id: the first page holds the ids that are shown.
    let found = remote.get("/monitors?after=").await.map(|answer| answer.body).unwrap_or_default();
    let ids = found["monitors"].as_array().into_iter().flatten().filter_map(|monitor| monitor["id"].as_str());
    let ids: Vec<&str> = ids.collect();
    let total = found["total"].as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or(ids.len());
    match ids.is_empty() {
        true => anyhow::anyhow!("{}", refused.error()),
        false => anyhow::anyhow!("{}; {}", refused.error(), instead(id, &ids, total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_none_is_told_which_there_are() {
        let ten = ["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8", "i9", "j10"];
        let rows: [(&str, &[&str], usize, &str, &str); 4] = [
            ("dcos", &["docs", "wiki"], 2, "did you mean 'docs'?", "letters in another order"),
            ("intranet", &["docs", "wiki"], 2, "known here: docs, wiki", "nothing like it"),
            ("intranet", &ten, 10, "known here: a1, b2, c3, d4, e5, f6, g7, h8 and 2 more", "many"),
            ("intranet", &["docs"], 50_000, "known here: docs and 49999 more", "more than were read"),
        ];
        for (id, ids, total, expected, sentence) in rows {
            assert_eq!(instead(id, ids, total), expected, "{sentence}");
        }
    }
}
