//! What goes to people in one message while programs get one an incident: a declared group, also over a death of Serin, and
//! what many have in common that nobody declared.

use serin::cli::demo::inbox::{Item, Mail};
use serin::deliver::message::Message;

use crate::stage::{Process, Stage, hook, mail, read};

/// Mails with such a subject, in the order in which they came, once there is one.
async fn mails(stage: &Stage, what: &str, subject: &str) -> Vec<Mail> {
    let found = |items: &[Item]| {
        let mails = items.iter().filter_map(mail);
        let fit: Vec<Mail> = mails.filter(|mail| mail.subject.contains(subject)).cloned().collect();
        (!fit.is_empty()).then_some(fit)
    };
    stage.soon(what, stage.inbox.wait_for(found)).await
}

/// Waits until so many webhooks of an event came.
async fn hooks(stage: &Stage, event: &str, count: usize) -> Vec<Message> {
    let found = |items: &[Item]| {
        let messages: Vec<Message> =
            items.iter().filter_map(hook).map(read).filter(|message| message.event == event).collect();
        (messages.len() >= count).then_some(messages)
    };
    stage.soon(&format!("{count} {event}"), stage.inbox.wait_for(found)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dead_store_under_several_monitors_is_one_message_to_people() {
    let mut store = Process::start().await;
    let ids = ["docs", "faq", "wiki"];
    let monitor = |id: &&str| format!("  - {{ id: {id}, url: \"{}\", labels: {{ store: one }} }}\n", store.url);
    let monitors: String = ids.iter().map(monitor).collect();
    let routes = "  - { to: [inbox], continue: true }\n  - { match: { severity: page }, to: [mail], group: { by: [store], wait: 15s, interval: 15s } }\n";
    let mut stage = Stage::with("", routes, &monitors).await;
    for id in ids {
        stage.until("it is well", id, |body| body["state"] == "up").await;
    }
    store.crash().await;
    let opened = hooks(&stage, "incident.opened", 3).await;
    for message in &opened {
        let incident = message.incident.as_ref().unwrap();
        assert_eq!(incident.group_key.as_deref(), Some("store=one"), "a program is told what belongs together");
    }
    assert!(stage.inbox.mails().is_empty(), "people are told in a moment, of all");
    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    let told = mails(&stage, "people are told once", "store=one").await;
    assert_eq!(told[0].subject, "[page] store=one: 3 opened, on 3 monitors: docs, faq, wiki");
    for id in ids {
        assert!(told[0].text.contains(&format!("{id}: page, opened: ")), "{}", told[0].text);
    }
    store.come_back().await;
    hooks(&stage, "incident.resolved", 3).await;
    let over = mails(&stage, "people are told of the end", "[resolved] store=one").await;
    assert_eq!(over[0].subject, "[resolved] store=one: 3 over, on 3 monitors: docs, faq, wiki");
    assert_eq!(stage.inbox.mails().len(), 2, "and that is all: {:#?}", stage.inbox.mails());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_on_several_hosts_that_go_down_together_are_one_message_though_nobody_declared_it() {
    let mut gone = [Process::start().await, Process::start().await];
    let well = Process::start().await;
    let on = |id: usize| match id {
        0..=1 => &gone[0].url,
        2..=3 => &gone[1].url,
        _ => &well.url,
    };
    let monitors: String = (0..10).map(|id| format!("  - {{ id: m{id}, url: \"{}\" }}\n", on(id))).collect();
    let routes = "  - { to: [inbox], continue: true }\n  - { match: { severity: page }, to: [mail] }\n";
    let stage = Stage::with("", routes, &monitors).await;
    for id in 0..10 {
        stage.until("it is well", &format!("m{id}"), |body| body["state"] == "up").await;
    }
    for process in &mut gone {
        process.crash().await;
    }
    hooks(&stage, "incident.opened", 4).await;
    let told = mails(&stage, "people are told of all four", "went down together").await;
    assert_eq!(told[0].subject, "[page] 4 monitors went down together: m0, m1, m2, m3");
    assert_eq!(stage.inbox.mails().len(), 1, "{:#?}", stage.inbox.mails());
}
