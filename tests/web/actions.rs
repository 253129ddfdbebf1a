//! What people do from a page.

use chrono::{TimeDelta, Utc};
use reqwest::{Method, StatusCode, header};
use serin::domain::action::{Action, Asked, WAITING_MAX};
use serin::domain::monitor::MonitorId;
use serin::domain::observation::BeatKind;

use crate::fixture::Running;
use crate::{ask, fixture, form, get, set_cookie};

#[tokio::test]
async fn what_people_ask_for_is_written_down_before_they_are_answered() {
    let running = fixture::varied().await;
    let open = fixture::incident_id(0);
    let take = |running: &Running, id: &str, actor: &str| {
        form(ask(running, Method::POST, &format!("/incidents/{id}/acknowledge")), &[("actor", actor)])
    };
    let answer = take(&running, &open, " Ada\u{7} Lovelace ").send().await.unwrap();
    assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), format!("/incidents/{open}?said=taken"));
    assert_eq!(set_cookie(&answer), "serin_actor=Ada+Lovelace", "the name is offered again next time");
    let claims = |waiting: Vec<Action>| -> Vec<(Asked, String)> {
        waiting.into_iter().map(|action| (action.asked, action.actor)).collect()
    };
    let claimed = |is_taken| Asked::Claimed { incident: open.clone(), is_taken };
    assert_eq!(claims(running.asked_for().await), [(claimed(true), "Ada Lovelace".to_owned())]);
    let rows = [
        (fixture::incident_id(31), "Ada", "over", "one that ended is not taken"),
        (fixture::incident_id(4), "Ada", "over", "nor one that somebody has"),
        (open.clone(), " \u{7} ", "who", "nor by nobody"),
    ];
    for (id, actor, said, sentence) in rows {
        let answer = take(&running, &id, actor).send().await.unwrap();
        assert_eq!(
            answer.headers()[header::LOCATION].to_str().unwrap(),
            format!("/incidents/{id}?said={said}"),
            "{sentence}"
        );
    }
    assert_eq!(running.asked_for().await, [], "nothing came of that");
    for (said, asked) in [("given", vec![(claimed(false), "Ada".to_owned())]), ("not_yours", vec![])] {
        let giving = ask(&running, Method::POST, &format!("/incidents/{open}/give-back"));
        let answer = form(giving, &[("actor", "Ada")]).send().await.unwrap();
        assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), format!("/incidents/{open}?said={said}"));
        assert_eq!(claims(running.asked_for().await), asked);
    }
    let answer = form(ask(&running, Method::POST, "/monitors/docs/recheck"), &[("incident", "")]).send().await.unwrap();
    let back = answer.headers()[header::LOCATION].to_str().unwrap();
    assert!(back.starts_with("/monitors/docs?said=recheck&at=1"), "{back}");
    let wanted = running.asked_for().await;
    assert_eq!((&wanted[0].monitor, &wanted[0].asked), (&MonitorId::new("docs"), &Asked::Recheck));
    assert_eq!(wanted.len(), 1);
    let nobody = ask(&running, Method::POST, "/api/v1/monitors/nobody/recheck").send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
    for _ in 0..WAITING_MAX {
        let answer = ask(&running, Method::POST, "/api/v1/monitors/docs/recheck").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    let full = ask(&running, Method::POST, "/api/v1/monitors/docs/recheck").send().await.unwrap();
    assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE, "not more than can be done");
}

#[tokio::test]
async fn a_look_that_was_asked_for_is_over_though_the_schedule_has_looked_since() {
    let running = fixture::varied().await;
    let recheck = ask(&running, Method::POST, "/api/v1/monitors/docs/recheck?wait=60");
    let answer = tokio::spawn(recheck.send());
    let asked = async {
        while running.store.waiting_actions().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    asked.await;
    let now = Utc::now();
    let mut view = fixture::view(1, now);
    let look = view.look.as_mut().unwrap();
    (look.kind, look.started_at) = (BeatKind::Scheduled, now + TimeDelta::seconds(1));
    look.rechecked_at = Some(now - TimeDelta::minutes(1));
    running.live.put(view.clone());
    view.look.as_mut().unwrap().rechecked_at = Some(now);
    running.live.put(view);
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "it does not wait for another one");
}

#[tokio::test]
async fn tools_are_accepted_by_whom_and_as_seen() {
    let running = fixture::varied().await;
    let [id, same, unseen] = [1, 0, 8].map(|n| fixture::monitor(n).id.clone());
    let page = get(&running, &format!("/monitors/{id}")).await.1;
    let shown = [
        "argument `lang` is now required",
        "2 of 9 known calls break",
        "Texts that read like instructions",
        "and do not tell the user",
        "Accept these tools",
        "tokens</b> of a model",
        "answers counted since Serin started",
    ];
    for part in shown {
        assert!(page.contains(part), "the page lacks {part}");
    }
    let tools = get(&running, &format!("/api/v1/monitors/{id}/tools")).await.1;
    let tools: serde_json::Value = serde_json::from_str(&tools).unwrap();
    assert_eq!((&tools["differs"], &tools["changes"][0]["class"]), (&true.into(), &"instruction".into()), "{tools:#}");
    let hash = tools["seen"]["hash"].as_str().unwrap().to_owned();
    let accept = |id: &str, actor: &str, hash: &str| {
        let body = serde_json::json!({"actor": actor, "hash": hash});
        ask(&running, Method::POST, &format!("/api/v1/monitors/{id}/accept")).json(&body)
    };
    let rows = [
        (id.as_str(), "Ada", "another", 409, "the tools have changed since you looked"),
        (id.as_str(), " \u{7} ", &hash, 422, "say who accepts"),
        ("nobody", "Ada", &hash, 404, "no monitor with this id"),
        (same.as_str(), "Ada", &"5e1b0c77aa42".repeat(5), 409, "nothing differs"),
        (unseen.as_str(), "Ada", &hash, 409, "no tools were seen"),
    ];
    for (id, actor, hash, status, why) in rows {
        let answer = accept(id, actor, hash).send().await.unwrap();
        let seen = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(seen.0 == status && seen.1.contains(why), "{why}: {seen:?}");
    }
    assert_eq!(accept(id.as_str(), "Ada", &hash).send().await.unwrap().status(), StatusCode::ACCEPTED);
    let is_wanted = |waiting: Vec<Action>| {
        let [Action { monitor, actor, asked, .. }] = &waiting[..] else { panic!("{waiting:?}") };
        assert_eq!((monitor, actor.as_str(), asked), (&id, "Ada", &Asked::Accept { hash: hash.clone() }));
    };
    is_wanted(running.asked_for().await);
    let button =
        form(ask(&running, Method::POST, &format!("/monitors/{id}/accept")), &[("actor", "Ada"), ("hash", &hash)]);
    let answer = button.send().await.unwrap();
    assert_eq!(answer.headers()[header::LOCATION].to_str().unwrap(), format!("/monitors/{id}?said=accepted"));
    is_wanted(running.asked_for().await);
    let strange =
        ask(&running, Method::POST, &format!("/monitors/{id}/accept")).header("origin", "https://evil.example.net");
    assert_eq!(strange.send().await.unwrap().status(), StatusCode::FORBIDDEN, "another site's form");
    let metrics = get(&running, "/metrics").await.1;
    for line in [
        format!("serin_tools_tokens{{monitor=\"{id}\"}} 2140"),
        format!("serin_answer_tokens_bucket{{le=\"1000.0\",monitor=\"{id}\"}} 222"),
        "serin_fleet_tools_tokens_count ".to_owned(),
    ] {
        assert!(metrics.contains(&line), "metrics lack {line}");
    }
}
