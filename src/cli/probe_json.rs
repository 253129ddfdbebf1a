//! What a single probe saw as one JSON document, for machines.

use serde_json::{Value, json};

use crate::domain::answer::Answer;
use crate::domain::fault::{Fault, FaultKind};
use crate::domain::observation::{HealthSeen, ToolsSeen};
use crate::domain::observation::{Observation, Step};
use crate::domain::outcome::Outcome;
use crate::probe::wire::head::{kind_word, millis};
use crate::probe::wire::transcript_lines::phases;

/// The same as one JSON document, for machines.
pub(crate) fn as_value(seen: &Observation, outcome: Option<&Outcome>) -> Value {
    json!({
        "monitor": seen.monitor.as_str(),
        "kind": seen.kind.slug(),
        "started_at": seen.started_at.to_rfc3339(),
        "elapsed_ms": millis(seen.elapsed),
        "era": seen.era.map(|era| era.slug()),
        "transport": seen.transport.map(|transport| transport.slug()),
        "server": seen.server.as_ref().map(|server| json!({
            "name": server.name, "version": server.version, "protocol": server.protocol,
        })),
        "steps": seen.steps.iter().map(step_value).collect::<Vec<_>>(),
        "tools": seen.tools.as_ref().map(tools_value),
        "asks": seen.asks.iter().enumerate().map(|(nth, ask)| json!({
            "canary": ask.canary,
            "variant": ask.variant.slug(),
            "turn": ask.turn.slug(),
            "elapsed_ms": millis(ask.elapsed),
            "verdict": outcome.and_then(|outcome| outcome.asks.get(nth)).map(|verdict| verdict.slug()),
            "fault": ask.result.as_ref().and_then(|result| result.as_ref().err()).map(fault_value),
            "answer": ask.result.as_ref().and_then(|result| result.as_ref().ok()).map(answer_value),
        })).collect::<Vec<_>>(),
        "sources": seen.sources.as_ref().map(|sources| json!({
            "count": sources.known(), "read": sources.count, "read_whole": sources.left.is_none(),
            "last_indexed_at": sources.last_indexed_at.map(|at| at.to_rfc3339()),
            "newest_known": sources.knows_newest(),
        })),
        "health": seen.health.iter().map(health_value).collect::<Vec<_>>(),
        "footprint": {
            "requests": seen.footprint.requests, "connections": seen.footprint.connections,
            "bytes_out": seen.footprint.bytes_out, "bytes_in": seen.footprint.bytes_in,
            "sessions_opened": seen.footprint.sessions_opened, "sessions_closed": seen.footprint.sessions_closed,
        },
        "transcript": seen.transcript.as_deref(),
        "outcome": outcome.map(outcome_value),
    })
}

fn step_value(step: &Step) -> Value {
    json!({
        "stage": step.stage.slug(),
        "label": step.label,
        "elapsed_ms": millis(step.elapsed),
        "phases_ms": phases(&step.phases).iter().map(|(name, time)| ((*name).to_owned(), json!(millis(*time))))
            .collect::<serde_json::Map<_, _>>(),
        "fresh_connection": step.fresh_connection,
        "fault": step.fault.as_ref().map(fault_value),
        "notes": step.notes,
    })
}

fn tools_value(tools: &ToolsSeen) -> Value {
    json!({
        "hash": tools.hash,
        "search_tool": tools.search_tool,
        "invalid_call": tools.invalid_call,
        "tokens": tools.tokens,
        "known_calls": tools.calls.known,
        "broken_calls": tools.calls.broken,
        "instructions": tools.instructions.iter().map(|one| json!({
            "tool": one.tool, "place": one.place, "sign": one.sign, "excerpt": one.excerpt,
        })).collect::<Vec<_>>(),
        "names": tools.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
    })
}

fn health_value(health: &HealthSeen) -> Value {
    json!({
        "address": health.address, "status": health.status, "ok": health.ok, "reason": health.reason,
        "cache_warm": health.cache_warm, "instance": health.instance, "version": health.version,
        "process_started_at": health.process_started_at.map(|at| at.to_rfc3339()),
        "fault": health.fault.as_ref().map(fault_value),
    })
}

fn outcome_value(outcome: &Outcome) -> Value {
    json!({
        "verdict": outcome.verdict.slug(),
        "findings": outcome.findings.iter().map(|finding| json!({
            "signal": finding.signal.slug(), "reason": finding.reason.slug(), "stage": finding.stage.slug(),
            "summary": finding.summary,
            "evidence": finding.evidence.iter().map(|piece| (piece.key.clone(), json!(piece.value)))
                .collect::<serde_json::Map<_, _>>(),
        })).collect::<Vec<_>>(),
    })
}

fn fault_value(fault: &Fault) -> Value {
    let figure = match fault.kind {
        FaultKind::HttpStatus(status) | FaultKind::Redirected(status) => json!({"status": status}),
        FaultKind::RpcError(code) => json!({"code": code}),
        FaultKind::RateLimited { retry_after_seconds } => json!({"retry_after_seconds": retry_after_seconds}),
        _ => json!({}),
    };
    let mut value = json!({"kind": kind_word(fault.kind), "detail": fault.detail});
    if let (Some(value), Value::Object(figure)) = (value.as_object_mut(), figure) {
        value.extend(figure);
    }
    value
}

fn answer_value(answer: &Answer) -> Value {
    json!({
        "total": answer.total,
        "cache": answer.cache.slug(),
        "self_reported": answer.self_reported,
        "bytes": answer.bytes,
        "tokens": answer.tokens,
        "hits": answer.hits.iter().map(|hit| json!({
            "source": hit.source, "score": hit.score, "chars": hit.chars, "excerpt": hit.excerpt,
        })).collect::<Vec<_>>(),
    })
}
