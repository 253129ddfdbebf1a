//! The table of keys: what may stand in monitors.yaml, and what each key is for. Readers refuse what is not in it and
//! name what was probably meant, the JSON Schema takes the words, and so does `docs/`. How a value is read stands in the
//! section's own file; whether a change of it is one, in `definition`. It is as long as it is because it is one table.
//!
//! Runbooks are keyed by failure reason as well, which have a list of their own (`domain::reason`).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::domain::reason::{FailureReason, Layer};

const SEVERITY: &str = "How loud: page wakes someone, ticket waits for working hours, notice is for the record.";

/// Every key by the keys that lead to it, in the order in which readers name them; `*` stands for names that the file
/// chooses. A list's items are its own keys.
const KEYS: &[(&str, &str)] = &[
    ("version", "The version of this file; 1."),
    ("serin", "What the process itself needs; only in the file that Serin is started with."),
    (
        "serin.listen",
        "Address and port of pages and API; any other than loopback demands a token. Default 127.0.0.1:8080.",
    ),
    (
        "serin.trusted_proxies",
        "Addresses or networks of proxies before the pages: each may hold more connections than one visitor, and its X-Forwarded-For says whom wrong tokens are counted for.",
    ),
    ("serin.public_url", "The address under which people reach the pages; links in messages start with it."),
    (
        "serin.database",
        "The database: a file, relative to this one, or postgres://USER:${env:PASSWORD}@HOST:5432/DATABASE; several servers with commas between them, of which the one that takes writes is used. Default serin.db.",
    ),
    (
        "serin.token",
        "The token for the API and for signing in as owner: `${env:NAME}` or `${file:/path}`; at least 16 characters where listen is not loopback.",
    ),
    ("serin.users", "Who signs in with a name and a password."),
    (
        "serin.users.file",
        "The file that names them, relative to this file: `users: [{ name, role, password }]`, the role being read, act or owner, and the password a hash by `serin user hash`.",
    ),
    ("serin.oidc", "The provider of OpenID Connect that says who somebody is; it needs public_url."),
    ("serin.oidc.issuer", "Its address as its metadata names itself; https, or on this machine."),
    ("serin.oidc.client_id", "What it calls Serin; it sends browsers back to `<public_url>/login/oidc/callback`."),
    ("serin.oidc.client_secret", "The secret that it gave Serin: `${env:NAME}` or `${file:/path}`."),
    ("serin.oidc.scopes", "What it is asked for. Default openid, email, profile."),
    ("serin.oidc.claim", "The claim that says what somebody may do: a text, or a list of them. Default groups."),
    ("serin.oidc.roles", "The values of that claim by the role that they give; the highest that fits counts."),
    ("serin.oidc.roles.read", "Who may look at everything; \"*\" is whoever signs in."),
    ("serin.oidc.roles.act", "Who may also acknowledge, silence, accept, recheck, replay and test receivers."),
    ("serin.oidc.roles.owner", "Who may also make and end keys, and read the audit log."),
    ("serin.oidc.name_claim", "The claim that somebody acts as; one that the provider keeps unique. Default email."),
    ("serin.oidc.session", "How long a session lasts, since the provider is not asked again. Default 8h."),
    ("serin.smtp", "The mail server; needed where a receiver is told by mail."),
    ("serin.smtp.host", "Its name or address."),
    ("serin.smtp.port", "Its port. Default 587 for starttls, 465 for tls, 25 for none."),
    ("serin.smtp.tls", "How the connection is protected; none only to this machine. Default starttls."),
    ("serin.smtp.username", "The user to sign in as, together with password."),
    ("serin.smtp.password", "The password: `${env:NAME}` or `${file:/path}`."),
    ("serin.smtp.from", "The sender of all mails."),
    ("serin.smtp.ca", "A PEM file of certificates trusted for this server besides the machine's own."),
    ("serin.internal", "Receivers that hear of Serin's own trouble, without database or outbox."),
    ("serin.allow_private", "Networks in private space in which receivers may be reached, such as 10.20.0.0/16."),
    ("serin.probe_identity", "By what owners of servers know our probes: each request is signed with it."),
    ("serin.probe_identity.key", "Names the secret, so that it can be rotated."),
    ("serin.probe_identity.secret", "The shared secret: `${env:NAME}` or `${file:/path}`, at least 16 bytes."),
    (
        "serin.control",
        "One to three addresses that answer while our own network is well; they tell our outage from a server's.",
    ),
    ("serin.control.url", "The address."),
    (
        "serin.control.status",
        "The status its answer has, such as 204; another one is a gateway's, and our network counts as gone.",
    ),
    ("serin.control.contains", "A text that the body of its answer contains; without it, it is a gateway's."),
    ("serin.unrouted", "What a monitor is whose pages no route brings to anybody: warn or error. Default warn."),
    (
        "serin.common_cause",
        "Which share of ten and more monitors goes down by one cause where it does so within two minutes, on several hosts: people get one message. Default 30%.",
    ),
    ("serin.retention", "How long what is remembered is kept."),
    ("serin.retention.beats", "Every beat and every answer. Default 35d."),
    ("serin.retention.days", "Daily percentiles, uptime and what probes cost a server. Default 400d."),
    ("serin.retention.transcripts", "What was said over the wire when a probe failed. Default 30d."),
    ("serin.retention.incidents", "Incidents that ended, with all that was told of them. Default 400d."),
    ("serin.heartbeat", "A sign of life for a watcher outside, sent only while Serin is really well."),
    ("serin.heartbeat.url", "Where it is sent: `${env:NAME}` or `${file:/path}`."),
    ("serin.heartbeat.every", "How often. Default 60s."),
    ("serin.heartbeat.method", "How it is sent. Default get."),
    ("serin.log", "What is logged; SERIN_LOG and RUST_LOG win over it."),
    ("serin.log.level", "The level of all modules that have none of their own."),
    ("serin.log.format", "Lines for people, or JSON."),
    ("serin.log.modules", "Levels by module, such as `probe: debug`."),
    ("serin.log.modules.*", "The level of this module."),
    ("defaults", "What holds for every monitor that says nothing else."),
    (
        "runbooks",
        "Where a page tells a human to look, by failure reason; `{reason}`, `{monitor}` and `{incident}` are put in.",
    ),
    ("runbooks.default", "Where nothing else has one."),
    ("runbooks.layers", "For all reasons of a layer that have none of their own."),
    ("runbooks.labels", "For monitors that carry a label, whatever failed; the first named label counts."),
    ("runbooks.labels.*", "For the values of this label."),
    ("runbooks.labels.*.*", "Where the label has this value."),
    ("discover", "Monitors that nobody writes down: lists of servers that others keep."),
    (
        "discover.folder",
        "Where Serin keeps the last good list of each source, relative to this file. Default: discovered, beside the database.",
    ),
    ("discover.from", "The sources."),
    ("discover.from.id", "The source's name; ids of its monitors begin with it."),
    ("discover.from.http_sd", "An address that answers in the format of Prometheus' HTTP service discovery."),
    ("discover.from.http_sd.url", "Where it is."),
    ("discover.from.http_sd.bearer", "The token it wants: `${env:NAME}` or `${file:/path}`."),
    ("discover.from.file_sd", "Files in the format of Prometheus' file-based service discovery, by globs; JSON."),
    ("discover.from.registry", "A registry of MCP servers, by its API (`/v0.1/servers`)."),
    (
        "discover.from.registry.url",
        "Where it is, without `/v0.1/servers`, such as https://registry.modelcontextprotocol.io.",
    ),
    ("discover.from.registry.bearer", "The token it wants: `${env:NAME}` or `${file:/path}`."),
    ("discover.from.registry.search", "A part of the names of the servers that are asked for; without it all."),
    ("discover.from.every", "How often the list is read. Default 60s, of a registry 1h."),
    (
        "discover.from.hosts",
        "Hosts that a listed server may have, such as `*.example.org`; without it any. A registry and a template with credentials need it; over plain HTTP they go only to a host that is written with `http://` before it.",
    ),
    (
        "discover.from.allow_private",
        "Networks in private space in which a listed server may be, such as 10.20.0.0/16; without it none.",
    ),
    ("discover.from.relabel", "What becomes of labels, in order, as Prometheus' relabel_config says it."),
    ("discover.from.relabel.action", "What the rule does: keep, drop or replace. Default replace."),
    ("discover.from.relabel.source_labels", "The labels whose values it looks at, put together."),
    ("discover.from.relabel.separator", "What stands between them. Default `;`."),
    ("discover.from.relabel.regex", "What the whole of that has to match (crate regex). Default `(.*)`."),
    (
        "discover.from.relabel.target_label",
        "The label that `replace` sets; `__id__`, `__name__`, `__scheme__`, `__path__` and `__address__` say what is watched.",
    ),
    (
        "discover.from.relabel.replacement",
        "Its value; `$1` is the first group, and nothing takes the label away. Default `$1`.",
    ),
    (
        "discover.from.gone_after",
        "How long a server that fails stays watched after it is gone from the list. Default 24h.",
    ),
    ("discover.from.monitor", "What each of its monitors has, as under `monitors`."),
    ("discover.from.monitors", "What single ones have besides, by their ids: `- { id: prod-docs, canaries: […] }`."),
    ("receivers", "Who can be told, by name."),
    ("receivers.*", "How one receiver is reached: by webhook, by email, or in a service that the team uses already."),
    ("receivers.*.webhook", "A webhook after Standard Webhooks."),
    ("receivers.*.webhook.url", "Where it is sent."),
    ("receivers.*.webhook.secret", "The secret that signs it: `${env:NAME}` or `${file:/path}`."),
    ("receivers.*.webhook.secrets", "Several secrets during a rotation, the current one first."),
    ("receivers.*.webhook.headers", "Further headers; what is a secret by its name stands outside the file."),
    (
        "receivers.*.webhook.body",
        "JSON that is sent instead of Serin's own message: a map or a list of any shape, whose texts have places such as {summary}.",
    ),
    ("receivers.*.email", "A mail, as text and as HTML."),
    ("receivers.*.email.to", "Its recipients."),
    ("receivers.*.slack", "A channel of Slack or Mattermost, by its webhook or by a bot."),
    ("receivers.*.slack.url", "Its incoming webhook, which is a secret: `${env:NAME}` or `${file:/path}`."),
    (
        "receivers.*.slack.token",
        "A bot's token with the scope chat:write, instead of a webhook: `${env:NAME}` or `${file:/path}`.",
    ),
    ("receivers.*.slack.channel", "The channel that the bot tells, by its id."),
    ("receivers.*.pagerduty", "A service of PagerDuty, by its Events API v2."),
    ("receivers.*.pagerduty.routing_key", "The key of its integration: `${env:NAME}` or `${file:/path}`."),
    (
        "receivers.*.pagerduty.url",
        "Where events are sent, such as https://events.eu.pagerduty.com/v2/enqueue. Default https://events.pagerduty.com/v2/enqueue.",
    ),
    ("receivers.*.discord", "A channel of Discord."),
    ("receivers.*.discord.url", "Its webhook, which is a secret: `${env:NAME}` or `${file:/path}`."),
    ("receivers.*.teams", "A channel or chat of Microsoft Teams, by a workflow."),
    ("receivers.*.teams.url", "Its webhook, which is a secret: `${env:NAME}` or `${file:/path}`."),
    ("receivers.*.alertmanager", "An Alertmanager of Prometheus."),
    ("receivers.*.alertmanager.url", "The server, with the prefix of its paths where it has one."),
    ("receivers.*.ntfy", "A topic of ntfy, for phones."),
    ("receivers.*.ntfy.url", "The server and the topic, such as https://ntfy.example.org/sre-pages."),
    ("receivers.*.ntfy.token", "The access token, where the topic asks for one: `${env:NAME}` or `${file:/path}`."),
    (
        "receivers.*.at_most",
        "How many messages it wants; the rest waits, for people in one message. What wakes somebody for the first time, and every end, goes to people at once.",
    ),
    ("receivers.*.at_most.messages", "So many messages."),
    ("receivers.*.at_most.per", "In so long."),
    (
        "routes",
        "Who hears of what; the first route that fits counts. Routes of an included file come before those of the file that includes it.",
    ),
    ("routes.match", "What the route wants to hear of; every given part has to fit. Left out: everything."),
    ("routes.match.severity", "One of these severities."),
    ("routes.match.signal", "One of these signals."),
    ("routes.match.reason", "One of these failure reasons."),
    ("routes.match.labels", "All of these labels."),
    ("routes.match.labels.*", "The label's value."),
    ("routes.match.monitor", "One of these monitors, by id."),
    ("routes.to", "The receivers that are told."),
    ("routes.fallback", "Told where one of `to` cannot be reached."),
    ("routes.continue", "Whether routes behind it are asked too: true or false. Default false."),
    (
        "routes.remind",
        "After how long those of `to` are reminded of what nobody took, the first time; each gap is twice the one before, a day at most.",
    ),
    ("routes.escalate", "Who is told where nobody took it, by time."),
    ("routes.escalate.after", "Time since people were told, or since it was given back."),
    ("routes.escalate.to", "The receivers that are told then, and of all that follows."),
    ("routes.group", "What of it goes to people in one message; programs get one an incident, with `group_key`."),
    ("routes.group.by", "The labels that have to be alike. Left out: all of the route goes together."),
    ("routes.group.wait", "How long the first waits for others. Default 30s."),
    ("routes.group.interval", "How long what is no new page waits behind the last message. Default 5m."),
    ("routes.digest", "When its notices go to people, all in one message."),
    ("routes.digest.cron", "The times: minute, hour, day of the month, month, day of the week."),
    ("routes.digest.zone", "The time zone whose clock counts, such as `Europe/Berlin`. Default UTC."),
    (
        "maintenance",
        "When what is expected to fail: nobody is told of it meanwhile, and of what is still open afterwards.",
    ),
    ("maintenance.name", "What it is called."),
    ("maintenance.match", "What it keeps quiet; every given part has to fit. Left out: everything."),
    ("maintenance.match.severity", "One of these severities."),
    ("maintenance.match.signal", "One of these signals."),
    ("maintenance.match.reason", "One of these failure reasons."),
    ("maintenance.match.labels", "All of these labels."),
    ("maintenance.match.labels.*", "The label's value."),
    ("maintenance.match.monitor", "One of these monitors, by id."),
    ("maintenance.cron", "When it starts: minute, hour, day of the month, month, day of the week."),
    ("maintenance.for", "How long it lasts from each start, in elapsed time."),
    ("maintenance.zone", "The time zone whose clock counts, such as `Europe/Berlin`. Default UTC."),
    ("maintenance.from", "Where it runs once: from when, with its offset from UTC."),
    ("maintenance.to", "Until when."),
    (
        "drills",
        "When receivers are told that nothing is wrong, so that it is known that they would hear of a page; whoever does not take it is told of.",
    ),
    ("drills.cron", "When it is told: minute, hour, day of the month, month, day of the week; at most once an hour."),
    ("drills.zone", "The time zone whose clock counts, such as `Europe/Berlin`. Default UTC."),
    ("drills.to", "The receivers that are told. Default: all that routes can reach."),
    ("drills.timeout", "How long each of them may take to accept it. Default 5m."),
    (
        "status",
        "The public status page: what everybody may see at /status without signing in. Left out: nothing is public.",
    ),
    ("status.title", "The page's heading. Default Status."),
    ("status.home", "Where the heading leads, such as your own site."),
    ("status.show", "The components that everybody may see, in this order; nothing else is shown."),
    ("status.show.name", "The name that everybody reads, in place of any monitor's."),
    ("status.show.description", "What it is, in a sentence."),
    ("status.show.group", "The heading it stands under, with others that name the same."),
    (
        "status.show.match",
        "The monitors behind it: the worst of them counts. At least one part, and every given part has to fit.",
    ),
    ("status.show.match.labels", "All of these labels."),
    ("status.show.match.labels.*", "The label's value."),
    ("status.show.match.monitor", "One of these monitors, by id."),
    ("monitors", "The MCP servers under watch."),
    ("monitors.id", "Identity; history follows it. Lowercase letters, digits, `.`, `_` and `-`."),
    ("monitors.name", "The name people read. Default: the id."),
    ("monitors.url", "Where the server answers MCP."),
    ("monitors.labels", "Labels, for routes and filters."),
    ("monitors.labels.*", "The label's value."),
    ("monitors.auth", "What a probe shows to be let in: bearer, headers or oauth."),
    ("monitors.auth.bearer", "A bearer token: `${env:NAME}` or `${file:/path}`."),
    ("monitors.auth.headers", "Further headers, sent to the monitor's own origin."),
    ("monitors.auth.headers.*", "The header's value; a secret by its name stands outside the file."),
    ("monitors.auth.oauth", "A token got by OAuth 2 client credentials."),
    (
        "monitors.auth.oauth.issuer",
        "The authorization server, as its metadata names itself; the secret goes there and nowhere else.",
    ),
    ("monitors.auth.oauth.client_id", "The client's id."),
    ("monitors.auth.oauth.client_secret", "The client's secret: `${env:NAME}` or `${file:/path}`."),
    ("monitors.auth.oauth.scope", "What is asked for. Default: what the server's challenge names."),
    ("monitors.auth.expires", "When the credential ends, such as 2026-12-31; a ticket comes before that."),
    (
        "monitors.auth.refuses_strangers",
        "Whether the server has to refuse a caller without credentials; one that does not is an acl_leak.",
    ),
    ("monitors.health", "The server's own health addresses, asked in every beat."),
    ("monitors.health.url", "The address."),
    ("monitors.search", "How the search tool is called, and where its answers keep what is judged."),
    ("monitors.search.tool", "The tool's name. Default: found among the usual ones."),
    (
        "monitors.search.query",
        "Where the question goes: an argument's name, or JSON pointers such as /query_texts/0. Default query.",
    ),
    ("monitors.search.arguments", "Further arguments of each call."),
    ("monitors.search.arguments.*", "The argument's value, as JSON has it."),
    ("monitors.search.results", "JSON pointer to the list of results. Default: found by its shape."),
    ("monitors.search.fields", "Where a result keeps its parts, as JSON pointers."),
    ("monitors.search.fields.source", "Pointer to the source's name, inside one result."),
    ("monitors.search.fields.content", "Pointer to the text, inside one result."),
    ("monitors.search.fields.score", "Pointer to the score, inside one result."),
    ("monitors.search.fields.total", "Pointer to the count of all results, inside the answer."),
    (
        "monitors.search.columns",
        "Where the parts of all results stand side by side, as JSON pointers into the answer; instead of results and fields.",
    ),
    ("monitors.search.columns.source", "Pointer to the list of the sources' names."),
    ("monitors.search.columns.content", "Pointer to the list of the texts."),
    ("monitors.search.columns.score", "Pointer to the list of the scores."),
    ("monitors.search.error", "A pattern (crate regex) of answers that tell an error as text."),
    ("monitors.search.empty", "A pattern (crate regex) of answers which say that nothing was found."),
    ("monitors.search.per_beat", "Canaries asked in one beat. Default 2."),
    (
        "monitors.search.fresh",
        "Whether searches pass caches: auto (by a known argument, or a nonce where the lock has it), or off. Default auto.",
    ),
    ("monitors.search.fresh_arguments", "The arguments that keep caches out, such as { cache: bypass }."),
    ("monitors.search.fresh_arguments.*", "The argument's value, as JSON has it."),
    (
        "monitors.search.harvest",
        "Whether sentences out of answers are asked back, each once and of their own server only: true or false. Default false.",
    ),
    ("monitors.canaries", "Searches whose right answer is known: a list, or a golden set by its file."),
    (
        "monitors.canaries.file",
        "A golden set: a file of JSON lines (.jsonl), relative to this file, with one canary a line. It stands alone, or as an item of the list.",
    ),
    ("monitors.canaries.id", "Identity within the monitor; history follows it."),
    ("monitors.canaries.query", "What is asked."),
    ("monitors.canaries.expect", "Sources of which any is the right answer."),
    ("monitors.canaries.within", "The rank within which the source has to be."),
    (
        "monitors.canaries.contains",
        "What the whole text of the answer holds: words, or {pattern: …}; for tools that answer with text.",
    ),
    ("monitors.canaries.contains.pattern", "A pattern in the syntax of the Rust crate regex."),
    ("monitors.canaries.not_contains", "What it may not hold."),
    ("monitors.canaries.not_contains.pattern", "A pattern in the syntax of the Rust crate regex."),
    (
        "monitors.canaries.kind",
        "What it isolates: keyword, meaning, mixed, self (a stored text, word by word), or negative where nothing may be found.",
    ),
    ("monitors.canaries.max_score", "For a negative canary: scores up to here are no hit."),
    (
        "monitors.canaries.forbid",
        "Sources that this caller must never see, with `*`, `?` and `**`, such as tenants/b/**; one in any result is a tenant_leak.",
    ),
    (
        "monitors.canaries.also",
        "The question in other words, each with the same right answer: asked to reach the index where nothing else passes caches.",
    ),
    (
        "monitors.canaries.pair",
        "The id of another canary of this monitor that asks nearly the same and gets another answer: a cache that gives both one list is told.",
    ),
    (
        "monitors.replicas_of",
        "The id of another monitor whose server has to answer as this one does: lists of the canaries that both ask in the same words are compared.",
    ),
    (
        "monitors.depends_on",
        "What its server cannot work without: ids of monitors, and addresses that answer while they are well. While one of them is down, nobody is told of this monitor.",
    ),
    ("monitors.runbooks", "Where a page of this monitor tells a human to look, before what `runbooks` says."),
    ("monitors.runbooks.default", "Where no reason and no layer of this monitor has its own."),
    ("monitors.runbooks.layers", "For all reasons of a layer that have none of their own."),
    ("monitors.rules", "When each signal opens and closes, and how loud it is."),
    ("monitors.rules.availability", "Whether the server answers as MCP asks."),
    ("monitors.rules.availability.after", "Failed beats in a row that open it. Default 3."),
    (
        "monitors.rules.availability.m_of_n",
        "Instead of `after`: so many failed beats of so many of the latest open it, such as [3, 5].",
    ),
    ("monitors.rules.availability.recover_after", "Good beats in a row that close it. Default 2."),
    (
        "monitors.rules.availability.page_after",
        "The least time from the first failure to the page, so that a restart wakes nobody. Default 45s.",
    ),
    ("monitors.rules.availability.severity", SEVERITY),
    ("monitors.rules.access", "Whether credentials and certificates hold."),
    ("monitors.rules.access.after", "Refused beats in a row that open it. Default 3."),
    (
        "monitors.rules.access.m_of_n",
        "Instead of `after`: so many refused beats of so many of the latest open it, such as [3, 5].",
    ),
    ("monitors.rules.access.recover_after", "Good beats in a row that close it. Default 2."),
    ("monitors.rules.access.severity", SEVERITY),
    ("monitors.rules.errors", "The share of search calls that fail."),
    ("monitors.rules.errors.share", "The share that opens it, such as 5%."),
    ("monitors.rules.errors.window", "Over this time. Default 30m."),
    ("monitors.rules.errors.min_bad", "And at least so many failed calls. Default 3."),
    ("monitors.rules.errors.severity", SEVERITY),
    ("monitors.rules.latency", "How long search calls take."),
    ("monitors.rules.latency.p95", "The limit that 95 of 100 calls have to keep. Default 800ms."),
    (
        "monitors.rules.latency.window",
        "P95 is taken over this time. Default 20m, or longer where 30 samples take longer.",
    ),
    ("monitors.rules.latency.for", "It has to be above the limit for so long. Default 20m."),
    ("monitors.rules.latency.severity", SEVERITY),
    ("monitors.rules.contract", "The tools against the accepted baseline; one severity for each class of change."),
    ("monitors.rules.contract.breaking", "How loud where callers break. Default page."),
    ("monitors.rules.contract.compatible", "How loud where callers go on. Default notice."),
    ("monitors.rules.contract.wording", "How loud where only words changed, which a model reads. Default ticket."),
    ("monitors.rules.health", "What the server says of itself."),
    ("monitors.rules.health.after", "Bad answers in a row that open it. Default 3."),
    (
        "monitors.rules.health.m_of_n",
        "Instead of `after`: so many bad answers of so many of the latest open it, such as [3, 5].",
    ),
    ("monitors.rules.health.recover_after", "Good answers in a row that close it. Default 2."),
    ("monitors.rules.health.severity", SEVERITY),
    ("monitors.rules.quality", "Whether canaries find what they should."),
    ("monitors.rules.quality.within", "The rank for canaries that name none. Default 5."),
    (
        "monitors.rules.quality.after",
        "Wrong answers of a canary in a row that open it, or auto: 3 to 8, by how often this server blips. Default auto.",
    ),
    ("monitors.rules.quality.severity", SEVERITY),
    ("monitors.rules.quality.checks", "What else of answers is judged; most of it against the lock file."),
    ("monitors.rules.quality.checks.results", "Results too few, unscored or unsorted against the lock: wrong."),
    ("monitors.rules.quality.checks.results.judge", "Whether it is judged. Default true."),
    ("monitors.rules.quality.checks.results.least", "The least share of the fewest pinned results. Default 50%."),
    ("monitors.rules.quality.checks.self_reported", "Answers that say they are partial or degraded."),
    ("monitors.rules.quality.checks.self_reported.after", "Beats in a row that open it. Default 3."),
    ("monitors.rules.quality.checks.self_reported.severity", "page, ticket, notice or off. Default ticket."),
    ("monitors.rules.quality.checks.lists", "Lists of sources against those of the lock."),
    ("monitors.rules.quality.checks.lists.similar", "A list that overlaps less (RBO) has moved. Default 80%."),
    ("monitors.rules.quality.checks.lists.share", "The share of canaries that has to have moved. Default 50%."),
    ("monitors.rules.quality.checks.lists.rounds", "Rounds in a row that open it. Default 2."),
    ("monitors.rules.quality.checks.lists.severity", "page, ticket, notice or off. Default notice."),
    ("monitors.rules.quality.checks.scores", "First scores against those of the lock."),
    ("monitors.rules.quality.checks.scores.rounds", "Rounds in a row that open it. Default 2."),
    ("monitors.rules.quality.checks.scores.severity", "page, ticket, notice or off. Default notice."),
    ("monitors.rules.quality.checks.reranker", "Lists in another order and scores that moved, at once."),
    ("monitors.rules.quality.checks.reranker.severity", "page, ticket, notice or off. Default ticket."),
    ("monitors.rules.quality.checks.chunks", "Lengths of chunks against those of the lock."),
    ("monitors.rules.quality.checks.chunks.factor", "So many times as long, or as short. Default 2."),
    ("monitors.rules.quality.checks.chunks.after", "Beats in a row that open it. Default 3."),
    ("monitors.rules.quality.checks.chunks.severity", "page, ticket, notice or off. Default notice."),
    (
        "monitors.rules.quality.checks.relations",
        "One question asked again in a beat, in each way of which the lock says that it changes nothing.",
    ),
    ("monitors.rules.quality.checks.relations.after", "Beats in a row that open it. Default 3."),
    ("monitors.rules.quality.checks.relations.severity", "page, ticket, notice or off. Default ticket."),
    ("monitors.rules.quality.checks.caches", "One question asked with caches and past them: they bring one list."),
    ("monitors.rules.quality.checks.caches.after", "Beats in a row that open it. Default 3."),
    ("monitors.rules.quality.checks.caches.severity", "page, ticket, notice or off. Default notice."),
    (
        "monitors.rules.quality.checks.pairs",
        "Two canaries of which one names the other as its pair: a cache brings two lists.",
    ),
    ("monitors.rules.quality.checks.pairs.after", "Of the last five looks, how many open it. Default 3."),
    ("monitors.rules.quality.checks.pairs.severity", "page, ticket, notice or off. Default ticket."),
    ("monitors.rules.quality.checks.replicas", "Lists of sources against those of the monitor that replicas_of names."),
    ("monitors.rules.quality.checks.replicas.similar", "A list that overlaps less (RBO) is another. Default 80%."),
    ("monitors.rules.quality.checks.replicas.share", "The share of canaries that has to have another. Default 50%."),
    ("monitors.rules.quality.checks.replicas.rounds", "Rounds in a row that open it. Default 3."),
    ("monitors.rules.quality.checks.replicas.severity", "page, ticket, notice or off. Default ticket."),
    ("monitors.rules.freshness", "The age of the newest source."),
    ("monitors.rules.freshness.older_than", "The age that opens it, such as 72h."),
    ("monitors.rules.freshness.severity", SEVERITY),
    ("monitors.rules.freshness.shrinks", "Whether sources go missing from the whole list."),
    ("monitors.rules.freshness.shrinks.by", "The share of sources whose loss opens it. Default 2%."),
    ("monitors.rules.freshness.shrinks.severity", "page, ticket, notice or off. Default page."),
    ("monitors.rules.context", "What tools and answers cost a model's context."),
    ("monitors.rules.context.tools_tokens", "Tokens that the list of tools may take."),
    ("monitors.rules.context.answer_tokens", "Tokens that one answer may take."),
    ("monitors.rules.context.severity", SEVERITY),
    ("monitors.every", "Time between two beats. Default 60s."),
    ("monitors.timeout", "Limit on one call. Default 10s."),
    ("monitors.probe_budget", "Limit on a whole beat. Default: 45s, or ¾ of every where that is less."),
    ("monitors.caps", "The most that probes may cost the server on a day."),
    ("monitors.caps.requests_per_day", "Requests a day; beats are spaced to keep it."),
    ("monitors.caps.bytes_per_day", "Bytes a day in both directions, such as 500MB."),
    ("monitors.command", "A program that speaks MCP over its standard input and output, in the place of url."),
    ("monitors.args", "The program's arguments."),
    ("monitors.env", "Variables of the program's environment."),
    ("monitors.env.*", "The variable's value; a secret by its name stands outside the file."),
    ("monitors.keep", "Whether the program is kept running from beat to beat. Default false."),
    ("monitors.transport", "The transport, where it should not be found out."),
    ("monitors.era", "The era of MCP, where it should not be found out: legacy, or modern (2026-07-28)."),
    ("monitors.cross_check", "Whether both eras are asked once a day and have to give the same tools. Default false."),
    (
        "monitors.close_sessions",
        "Whether each probe closes its session. Without it: yes, but where that may bring the server down (Python SDK `mcp` up to 1.9.4).",
    ),
    ("monitors.proxy", "The proxy on the way: http, https, socks5 or socks5h."),
    ("monitors.ca", "A PEM file of certificates trusted for this server besides the machine's own."),
    ("monitors.client_certificate", "Our own certificate, for servers that ask for one."),
    ("monitors.client_certificate.certificate", "A PEM file with the chain."),
    ("monitors.client_certificate.key", "A PEM file with the private key."),
    (
        "include",
        "Files that are read too, as globs (`*`, `?`, `**`) relative to this file. They may hold monitors, receivers, routes, runbooks and includes of their own.",
    ),
];

/// What `defaults` may hold of a monitor's keys; the keys inside them are the monitor's.
const DEFAULTS: &[&str] = &[
    "every",
    "timeout",
    "probe_budget",
    "rules",
    "search",
    "caps",
    "transport",
    "era",
    "cross_check",
    "close_sessions",
    "proxy",
    "ca",
];

/// What an included file may hold.
pub(in crate::config) const INCLUDED: &[&str] = &["version", "runbooks", "receivers", "routes", "monitors", "include"];

/// Promised, and not built yet: whoever writes one is told so. `defaults` has the promises of a monitor.
const PROMISED: &[&str] = &[
    "locations",
    "monitors.maintenance",
    "monitors.headers",
    "monitors.oauth",
    "monitors.locations",
    "monitors.owner",
    "monitors.auth.basic",
];

/// Asked of every map of the file, so sorted by section once.
static SECTIONS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut sections = HashMap::from([("defaults", DEFAULTS.to_vec())]);
    for (section, key) in KEYS.iter().map(|(path, _)| split(path)) {
        sections.entry(section).or_default().push(key);
    }
    sections
});

/// The keys that a map may hold, in order. Its section is the keys that lead to it, such as `monitors.search`; empty for
/// the file itself.
pub(in crate::config) fn known(section: &str) -> &'static [&'static str] {
    SECTIONS.get(section).map(Vec::as_slice).unwrap_or_default()
}

/// Words that other programs use for what is called otherwise here.
const ELSEWHERE_CALLED: &[(&str, &str)] = &[
    ("interval", "every"),
    ("period", "every"),
    ("frequency", "every"),
    ("schedule", "every"),
    ("endpoint", "url"),
    ("address", "url"),
    ("uri", "url"),
    ("tags", "labels"),
    ("checks", "canaries"),
    ("queries", "canaries"),
    ("question", "query"),
    ("expected", "expect"),
    ("sources", "expect"),
    ("top_k", "within"),
    ("token", "bearer"),
    ("servers", "monitors"),
    ("targets", "monitors"),
    ("notify", "routes"),
    ("alerts", "routes"),
    ("contacts", "receivers"),
];

/// What a key that a map may not hold is called here, or where else it may stand: the mend, where there is one.
pub(in crate::config) fn meant(section: &str, key: &str) -> Option<String> {
    let ours = ELSEWHERE_CALLED.iter().find(|(theirs, ours)| *theirs == key && known(section).contains(ours));
    if let Some((_, ours)) = ours {
        return Some(format!("it is called '{ours}' here"));
    }
    let places: Vec<&str> = KEYS
        .iter()
        .map(|(path, _)| split(path))
        .filter(|(_, known)| *known == key)
        .map(|(section, _)| section)
        .collect();
    match places[..] {
        // What slipped to the margin was a monitor's.
        _ if section.is_empty() && places.contains(&"monitors") => {
            Some(format!("'{key}' is a key of 'monitors': is it indented as it should be?"))
        }
        [] | [_, _, _, ..] => None,
        [""] => Some(format!("'{key}' stands at the left margin")),
        _ => Some(format!("'{key}' is a key of '{}': is it indented as it should be?", places.join("' and of '"))),
    }
}

/// Whether the key is promised there and not built yet.
pub(in crate::config) fn is_promised(section: &str, key: &str) -> bool {
    let section = if section == "defaults" { "monitors" } else { section };
    PROMISED.iter().any(|path| split(path) == (section, key))
}

/// What a key is for, by the keys that lead to it. What stands in `defaults` is for what it is for in a monitor.
pub(in crate::config) fn about(path: &str) -> Option<String> {
    let runbook = path.strip_prefix("monitors.").unwrap_or(path).strip_prefix("runbooks.");
    if let Some(reason) = runbook.and_then(FailureReason::from_slug) {
        return Some(format!("Runbook where: {}", reason.facts().meaning));
    }
    let layer = runbook.and_then(|key| key.strip_prefix("layers.")).and_then(Layer::from_slug);
    if let Some(layer) = layer {
        return Some(format!("Runbook where the reason is of the layer: {}.", layer.title()));
    }
    let of = |path: &str| KEYS.iter().find(|(known, _)| *known == path).map(|(_, about)| (*about).to_owned());
    let of_monitor = path
        .strip_prefix("defaults.")
        .or_else(|| path.strip_prefix("discover.from.monitor."))
        .or_else(|| path.strip_prefix("discover.from.monitors."));
    of(path).or_else(|| of(&format!("monitors.{}", of_monitor?)))
}

fn split(path: &'static str) -> (&'static str, &'static str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_key_stands_once_and_below_its_own_section() {
        let mut seen = HashSet::from([""]);
        for path in KEYS.iter().map(|(path, _)| *path).chain(PROMISED.iter().copied()) {
            assert!(seen.contains(split(path).0), "{path}: its section stands above it");
            assert!(seen.insert(path), "{path} stands twice");
        }
        for key in DEFAULTS {
            assert!(known("monitors").contains(key), "'{key}' of defaults is a monitor's");
        }
        for key in INCLUDED {
            assert!(known("").contains(key), "'{key}' of an included file is the first one's too");
        }
    }
}
