//! Receivers and routes, what the process itself needs, and secrets that stand where they should not.

use serin::config::check::checker::Unset;
use serin::config::load;

use crate::{check, faults, lines, secrets, source, with_monitor, with_sections};

#[test]
fn receivers_and_routes() {
    const MAIL: &str =
        "serin: { smtp: { host: h, from: a@b.example } }\nreceivers: { mail: { email: { to: [a@b.example] } } }\n";
    let rows: [(&str, String, &[&str]); 22] = [
        (
            "a group whose first waits longer than its next",
            format!("{MAIL}routes: [{{ to: [mail], group: {{ wait: 2m, interval: 1m }} }}]\n"),
            &["5:24 'group' of route 1 waits longer for the first than for the next => let `interval` be at least `wait`"],
        ),
        (
            "a group that waits longer than a page may",
            format!("{MAIL}routes: [{{ to: [mail], group: {{ by: [a, a], wait: 11m }} }}]\n"),
            &[
                "5:41 label 'a' is named twice => keep one of the two",
                "5:51 'wait' is out of its range: '11m' => between 1s and 10m",
            ],
        ),
        (
            "a digest of no time",
            format!("{MAIL}routes: [{{ to: [mail], digest: {{ zone: Europe/Berlin }} }}]\n"),
            &["5:24 'digest' of route 1 has no 'cron' => when it is told, such as `cron: \"0 9 * * mon-fri\"`"],
        ),
        (
            "a digest that never comes",
            format!("{MAIL}routes: [{{ to: [mail], digest: {{ cron: 0 9 31 2 * }} }}]\n"),
            &["5:40 '0 9 31 2 *' never comes => no month has such a day; the third field is the day of the month"],
        ),
        (
            "a receiver that wants nothing",
            MAIL.replace("] } } }", "] }, at_most: { messages: 0 } } }") + "routes: [{ to: [mail] }]\n",
            &[
                "4:52 'at_most' of receiver 'mail' has no 'per' => such as `per: 10m`",
                "4:73 'messages' is out of its range: '0' => between 1 and 10000",
            ],
        ),
        (
            "a share that is always exceeded",
            format!("{MAIL}routes: [{{ to: [mail] }}]\n").replace("serin: {", "serin: { common_cause: 0%,"),
            &["3:24 'common_cause' can never be exceeded, or always is: '0%' => above 0% and below 100%"],
        ),
        (
            "two fallbacks for one receiver",
            format!(
                "{MAIL}  a: {{ email: {{ to: [a@b.example] }} }}\n  b: {{ email: {{ to: [a@b.example] }} }}\nroutes:\n  - {{ match: {{ severity: page }}, to: [mail], fallback: a, continue: true }}\n  - {{ to: [mail], fallback: b }}\n"
            )
            .replace("receivers: { mail: { email: { to: [a@b.example] } } }", "receivers:\n  mail: { email: { to: [a@b.example] } }"),
            &["10:5 'mail' falls back to 'b' here, and to 'a' above => name one fallback for it, or leave `continue` out"],
        ),
        (
            "going on or not",
            format!("{MAIL}routes: [{{ to: [mail], continue: always }}]\n"),
            &["5:34 'continue' cannot be 'always' => one of: true, false"],
        ),
        (
            "pages that reach nobody, where that is no small matter",
            format!("{MAIL}routes: [{{ match: {{ severity: [ticket, notice] }}, to: [mail] }}]\n")
                .replace("serin: {", "serin: { unrouted: error,"),
            &["2:18 pages of 'docs' reach nobody: no route hears dns_failure (availability), nor others of its reasons => `serin route test --monitor docs` shows who hears what"],
        ),
        (
            "an unknown receiver, and the similar one",
            format!("{MAIL}routes: [{{ to: [mial] }}]\n"),
            &["5:17 route 1 notifies unknown receiver 'mial' => did you mean 'mail'?"],
        ),
        (
            "an unknown fallback",
            format!("{MAIL}routes: [{{ to: [mail], fallback: pager }}]\n"),
            &["5:34 route 1 falls back to unknown receiver 'pager' => declare it under `receivers`"],
        ),
        (
            "a fallback to itself",
            format!("{MAIL}routes: [{{ to: [mail], fallback: mail }}]\n"),
            &["5:34 route 1 falls back to a receiver that it tells anyway => name another receiver"],
        ),
        (
            "an unknown receiver of our own trouble",
            "serin: { internal: [mail] }\n".to_owned(),
            &["3:21 'internal' notifies unknown receiver 'mail' => declare it under `receivers`"],
        ),
        (
            "a route that never matches",
            format!("{MAIL}routes:\n  - {{ to: [mail] }}\n  - {{ match: {{ severity: page }}, to: [mail] }}\n"),
            &["7:5 route 2 can never match: an earlier one catches all of it => put the narrower route first"],
        ),
        (
            "a route to nobody",
            format!("{MAIL}routes: [{{ to: [] }}]\n"),
            &["5:10 route 1 has no 'to' => name at least one receiver, such as `to: [oncall]`"],
        ),
        (
            "an unknown monitor in a route",
            format!("{MAIL}routes: [{{ match: {{ monitor: doc }}, to: [mail] }}]\n"),
            &["5:30 route 1 matches unknown monitor 'doc' => did you mean 'docs'?"],
        ),
        (
            "an unknown reason in a route",
            format!("{MAIL}routes: [{{ match: {{ reason: [empty_result] }}, to: [mail] }}]\n"),
            &["5:30 a failure reason cannot be 'empty_result' => did you mean 'empty_results'?"],
        ),
        (
            "two ways at once",
            "serin: { smtp: { host: h, from: a@b.example } }\nreceivers: { x: { webhook: { url: \"http://h/\" }, email: { to: [a@b.example] } } }\n".to_owned(),
            &["4:50 receiver 'x' is reached in two ways => make two receivers of it, and name both in a route's `to`"],
        ),
        (
            "no way at all",
            "receivers: { x: {} }\n".to_owned(),
            &["3:14 receiver 'x' is reached in no way => give it `webhook: { url: … }`, `email: { to: [ … ] }` or a service such as `slack: { url: … }`"],
        ),
        (
            "mail without a mail server",
            "receivers: { mail: { email: { to: [a@b.example] } } }\n".to_owned(),
            &["3:14 receiver 'mail' is told by mail, and no mail server is named => add `smtp: { host: …, from: … }` under `serin`"],
        ),
        (
            "no mail address",
            "serin: { smtp: { host: h, from: nobody } }\n".to_owned(),
            &["3:33 the sender is no mail address => such as `sre@example.org`"],
        ),
        (
            "one receiver twice",
            "receivers:\n  x: { webhook: { url: \"http://h/\" } }\n  x: { webhook: { url: \"http://i/\" } }\n".to_owned(),
            &["5:3 key 'x' is written twice => keep one of the two"],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(&more), expected);
    }
}

#[test]
fn bodies_of_webhooks() {
    let rows: [(&str, &str, &[&str]); 5] = [
        (
            "places that no message fills",
            "{ a: [\"{sumary}\"], b: \"{monitor.labls.team}\", c: \"{x y}\" }",
            &[
                "3:60 'body' of receiver 'x' has a place for 'sumary', of which no message tells => did you mean '{summary}'?",
                "3:76 'body' of receiver 'x' has a place for 'monitor.labls.team', of which no message tells => known: id, event, sequence, at, dedup_key, severity, action, status, title, tag, summary, details, facts, evidence, failure_reason, failed_stage, resolves_when, reproduce, runbook_url, acknowledge_url, monitor.id, monitor.name, monitor.url, incident.id, incident.signal, incident.subject, incident.severity, incident.opened_at, incident.resolved_at, incident.resolve_cause, incident.acknowledged_by, incident.url, monitor.labels.NAME; a brace itself is written twice",
                "3:103 'body' of receiver 'x' has a place for 'x y', of which no message tells => known: id, event, sequence, at, dedup_key, severity, action, status, title, tag, summary, details, facts, evidence, failure_reason, failed_stage, resolves_when, reproduce, runbook_url, acknowledge_url, monitor.id, monitor.name, monitor.url, incident.id, incident.signal, incident.subject, incident.severity, incident.opened_at, incident.resolved_at, incident.resolve_cause, incident.acknowledged_by, incident.url, monitor.labels.NAME; a brace itself is written twice",
            ],
        ),
        (
            "a brace that is none",
            "{ a: \"{summary\" }",
            &[
                "3:59 'body' of receiver 'x' has a brace that begins or ends no place => write `{summary}`, or the brace twice where it stands for itself",
            ],
        ),
        (
            "a limit that is none",
            "{ a: \"{summary:0}\" }",
            &[
                "3:59 'body' of receiver 'x' cuts a place to '0', which is no number of characters => such as `{summary:130}`, at most 4000",
            ],
        ),
        (
            "a single value",
            "plain",
            &[
                "3:54 'body' of receiver 'x' takes a map or a list, and this is a single value => give it a map or a list",
            ],
        ),
        (
            "a secret with words beside it",
            "{ a: \"key ${env:K}\" }",
            &[
                "3:59 a text of 'body' of receiver 'x' stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
    ];
    for (sentence, body, expected) in rows {
        let file = format!("receivers: {{ x: {{ webhook: {{ url: \"http://h/\", body: {body} }} }} }}\n");
        check(sentence, &with_sections(&file), expected);
    }
}

#[test]
fn services_of_others() {
    const SECRET: &str = "is a secret, and stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}` and nothing else, and have the service give a new one";
    let slack = format!("3:33 the address of the Slack webhook of receiver 'x' {SECRET}");
    let rows: [(&str, &str, &[&str]); 10] = [
        (
            "an address that is a secret and stands in the file",
            "receivers: { x: { slack: { url: https://hooks.example.org/services/T0/B0/geheim } } }\n",
            &[&slack],
        ),
        (
            "or in the default of a reference",
            "receivers: { x: { slack: { url: \"${env:U:-https://h/geheim}\" } } }\n",
            &[&slack],
        ),
        ("or in a part", "receivers: { x: { slack: { url: \"https://${env:U}/geheim\" } } }\n", &[&slack]),
        (
            "no address",
            "receivers: { x: { slack: {} } }\n",
            &["3:19 the Slack webhook of receiver 'x' has no 'url' => such as `url: ${env:CHAT_URL}`"],
        ),
        (
            "a bot without its channel",
            "receivers: { x: { slack: { token: \"${env:ONCALL_SECRET}\" } } }\n",
            &["3:19 the Slack bot of receiver 'x' has no 'channel' => its id, such as `channel: C0123456789`"],
        ),
        (
            "a bot and a webhook",
            "receivers: { x: { slack: { url: \"${env:ONCALL_URL}\", token: \"${env:ONCALL_SECRET}\", channel: C1 } } }\n",
            &["3:28 receiver 'x' has both a webhook and a bot of Slack's => keep `url`, or `token` and `channel`"],
        ),
        (
            "an address without a topic",
            "receivers: { x: { ntfy: { url: https://ntfy.example.org/a/b } } }\n",
            &[
                "3:32 the ntfy address of receiver 'x' names no topic => the server, and one topic of letters, digits, `-` and `_` behind it",
            ],
        ),
        (
            "a pager without a key",
            "receivers: { x: { pagerduty: {} } }\n",
            &[
                "3:19 the PagerDuty service of receiver 'x' has no 'routing_key' => such as `routing_key: ${env:PAGERDUTY_KEY}`",
            ],
        ),
        (
            "a key that stands in the file",
            "receivers: { x: { pagerduty: { routing_key: geheim } } }\n",
            &[
                "3:45 the routing key of receiver 'x' stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
        (
            "a chat and a mail",
            "serin: { smtp: { host: h, from: a@b.example } }\nreceivers: { x: { slack: { url: \"${env:ONCALL_URL}\" }, email: { to: [a@b.example] } } }\n",
            &["4:19 receiver 'x' is reached in two ways => make two receivers of it, and name both in a route's `to`"],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(more), expected);
    }
}

#[test]
fn what_the_process_needs() {
    let rows: [(&str, &str, &[&str]); 14] = [
        (
            "open to the network without a token",
            "serin: { listen: \"0.0.0.0:80\", public_url: \"http://h\" }\n",
            &[
                "3:18 pages and API would be open to the network, since nobody has to sign in => add `token: ${env:SERIN_TOKEN}`, `users` or `oidc` beside it, or listen on 127.0.0.1",
            ],
        ),
        (
            "a name to listen on",
            "serin: { listen: \"localhost:80\" }\n",
            &[
                "3:18 'listen' takes an address and a port => such as `127.0.0.1:8080`, or `\"[::1]:8080\"`; names are not looked up",
            ],
        ),
        (
            "links with a query",
            "serin: { public_url: \"https://h/?a\" }\n",
            &[
                "3:22 'public_url' is what links start with, and this has a user, `?` or `#` => such as `https://serin.example.org`",
            ],
        ),
        (
            "mail in the clear over the network",
            "serin: { smtp: { host: mail.example.org, tls: none, from: a@b.example } }\n",
            &[
                "3:47 mail without TLS may only go to this machine => use `starttls` or `tls`, or a host such as 127.0.0.1",
            ],
        ),
        (
            "a user without a password",
            "serin: { smtp: { host: h, username: u, from: a@b.example } }\n",
            &["3:27 'username' of smtp stands without 'password' => add 'password', or leave both out"],
        ),
        (
            "a heartbeat that leads nowhere, and one nobody can hear",
            "serin: { heartbeat: { evry: 60s, every: 1ms, method: put } }\n",
            &[
                "3:10 'heartbeat' has no 'url' => such as `url: \"${env:HEARTBEAT_URL}\"`",
                "3:23 'heartbeat' has no key 'evry' => did you mean 'every'?",
                "3:41 'every' of heartbeat is out of its range: '1ms' => between 1s and 1d",
                "3:54 'method' cannot be 'put' => one of: get, post",
            ],
        ),
        (
            "logs of nothing, in no shape",
            "serin: { log: { level: loud, format: xml, modules: { prob: debug, hyper: trace, store: all } } }\n",
            &[
                "3:24 'level' cannot be 'loud' => one of: off, error, warn, info, debug, trace",
                "3:38 'format' cannot be 'xml' => one of: text, json",
                "3:54 'modules' of log knows no 'prob' => there is no module 'prob'; did you mean 'probe'?",
                "3:67 'modules' of log knows no 'hyper' => there is no module 'hyper': app, cli, config, daemon, deliver, domain, net, probe, rag, store, web",
                "3:88 the level of 'store' cannot be 'all' => one of: off, error, warn, info, debug, trace",
            ],
        ),
        (
            "an address that is no network",
            "serin: { allow_private: [10.20.0.7, 10.20.0.1/16, ten] }\n",
            &[
                "3:26 '10.20.0.7' is no network => for one address write `10.20.0.7/32`",
                "3:37 '10.20.0.1/16' is no network => the network is `10.20.0.0/16`",
                "3:51 'ten' is no network => such as `10.20.0.0/16`",
            ],
        ),
        (
            "a proxy that is no address, and one that is everybody",
            "serin: { trusted_proxies: [10.20.0.7, 10.20.0.1/16, proxy.example.org, 0.0.0.0/0] }\n",
            &[
                "3:39 '10.20.0.1/16' is no address or network of proxies => the network is `10.20.0.0/16`",
                "3:53 'proxy.example.org' is no address or network of proxies => such as `127.0.0.1` or `10.20.0.0/24`; names are not looked up",
                "3:72 '0.0.0.0/0' is no address or network of proxies => the proxies' own addresses: this is everybody's",
            ],
        ),
        (
            "a runbook for a reason that is none",
            "runbooks: { pool_satuarted: \"https://h/\" }\n",
            &["3:13 runbooks know no failure reason 'pool_satuarted' => did you mean 'pool_saturated'?"],
        ),
        (
            "a placeholder that nobody fills",
            "runbooks: { default: \"https://h/{server}\" }\n",
            &[
                "3:22 a runbook's address has a placeholder that nobody fills => `{reason}`, `{monitor}` and `{incident}` are put in",
            ],
        ),
        (
            "a runbook on a host that hangs on what failed",
            "runbooks: { layers: { access: \"https://{reason}.h/\" } }\n",
            &[
                "3:31 a runbook's address has a placeholder in its host => put it into the path, the query or behind `#`",
            ],
        ),
        (
            "a layer beside the reasons, and one that is none",
            "runbooks: { retrieval: \"https://h/\", layers: { acess: \"https://h/\" } }\n",
            &[
                "3:13 runbooks know no failure reason 'retrieval' => a layer stands below `layers`: `layers: { retrieval: … }`",
                "3:48 'layers' of runbooks has no key 'acess' => did you mean 'access'?",
            ],
        ),
        (
            "a secret in the file",
            "serin: { token: hunter2 }\n",
            &[
                "3:17 the token stands in the file, where everybody with the repository reads it => write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret",
            ],
        ),
    ];
    for (sentence, more, expected) in rows {
        check(sentence, &with_sections(more), expected);
    }
}

#[test]
fn a_short_token_where_others_can_reach_the_pages() {
    let load_with = |listen: &str, token: &str| {
        let text = with_sections(&format!(
            "serin: {{ token: \"${{env:T}}\", public_url: \"http://h\", listen: \"{listen}\" }}\n"
        ));
        let env = |name: &str| (name == "T").then(|| token.to_owned());
        load(&source(text), &env, Unset::Refuse).map(drop).map_err(|faults| lines(&faults))
    };
    let refused = || {
        Err(vec![
            "3:17 the token is shorter than 16 characters, and others than this machine may try to guess it => make one with `openssl rand -base64 32`, or listen on 127.0.0.1".to_owned(),
        ])
    };
    let rows = [
        ("0.0.0.0:80", "fifteen-chars-x", refused(), "everybody may guess"),
        ("[2001:db8::1]:80", "fünfzehn-zeiche", refused(), "characters count, and not bytes"),
        ("0.0.0.0:80", "sixteen-chars-xy", Ok(()), "long enough"),
        ("127.0.0.1:80", "short", Ok(()), "only this machine"),
        ("[::1]:80", "short", Ok(()), "in its other family"),
    ];
    for (listen, token, expected, sentence) in rows {
        assert_eq!(load_with(listen, token), expected, "{sentence}");
    }
}

#[test]
fn a_password_that_stands_in_a_url() {
    let mend = "put it outside the file, such as `https://${env:USER}:${env:PASSWORD}@…`, and change it";
    let url = |url: &str| format!("version: 1\nmonitors: [{{ id: docs, url: \"{url}\" }}]\n");
    let fault = |at: &str, what: &str| {
        format!("{at} {what} holds a password, which everybody with the repository reads => {mend}")
    };
    let here = fault("2:29", "the address of monitor 'docs'");
    let program = |more: &str| with_monitor(more).replace("url: https://docs.example.org/mcp", "command: server");
    let rows = [
        (url("https://u:hunter2@h.example.org/mcp"), here.clone(), "a monitor's address"),
        (url("https://${env:DOCS_TOKEN}:hunter2@h.example.org/mcp"), here.clone(), "behind a user from outside"),
        (url("https://u:a${env:DOCS_TOKEN}@h.example.org/mcp"), here.clone(), "also a part of one"),
        (url("${env:NOT_SET:-https://u:hunter2@h.example.org/mcp}"), here, "also in a default"),
        (
            with_monitor("proxy: \"http://u:hunter2@proxy.example.org:3128\""),
            fault("5:12", "the proxy of monitor 'docs'"),
            "a proxy",
        ),
        (
            with_sections(
                "receivers: { a: { webhook: { url: \"https://u:hunter2@h.example.org/\", secret: \"${env:ONCALL_SECRET}\" } } }\nroutes: [{ to: [a] }]\n",
            ),
            fault("3:35", "the webhook's address of receiver 'a'"),
            "a receiver",
        ),
        (
            program("args: [\"postgres://u:hunter2@h/notes\"]"),
            fault("5:12", "an argument of monitor 'docs'"),
            "a program's argument",
        ),
        (
            program("args: [\"--dsn=from mysql://u:hunter2@h/notes\"]"),
            fault("5:12", "an argument of monitor 'docs'"),
            "among other words",
        ),
        (
            program("env: { DB: \"postgres://u:hunter2@h/notes\" }"),
            fault("5:16", "the variable DB of monitor 'docs'"),
            "a program's variable",
        ),
    ];
    for (text, expected, sentence) in rows {
        check(sentence, &text, &[&expected]);
    }
    for fine in [
        "https://u:${env:DOCS_TOKEN}@h.example.org/",
        "https://${env:DOCS_TOKEN}@h.example.org/",
        "https://h.example.org/a:b@c",
    ] {
        load(&source(url(fine)), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{fine}: {faults}"));
    }
    let fine =
        "args: [\"postgres://u:${env:DOCS_TOKEN}@h/notes\", \"git@h:x.git\"]\nenv: { DB: \"postgres://u@h/a:b@c\" }";
    load(&source(program(fine)), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"));
}

#[test]
fn a_secret_out_of_something_that_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).expect("a link");
    // Nobody writes into the pipe: whoever opens it as a file waits for ever.
    let rows = [
        (pipe.as_path(), "a pipe"),
        (&link, "a link to one"),
        (std::path::Path::new("/dev/zero"), "a device"),
        (folder.path(), "a folder"),
    ];
    for (path, sentence) in rows {
        let text = with_monitor(&format!("auth: {{ bearer: \"${{file:{}}}\" }}", path.display()));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(lines(&faults(&text))));
        let said = told
            .recv_timeout(std::time::Duration::from_secs(30))
            .unwrap_or_else(|_| panic!("{sentence} is waited for"));
        let expected = format!("the file '{}' cannot be read: it is no regular file", path.display());
        assert!(said.len() == 1 && said[0].contains(&expected), "{sentence}: {said:?}");
    }
}
