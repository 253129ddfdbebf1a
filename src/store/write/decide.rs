//! What a turn decided: signal states, incidents, their timelines, the messages about them, baselines and marks.
//!
//! These rows are rare beside beats, so each has a statement of its own.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::paging::hold::TellingHold;
use crate::domain::signal::{HeldBy, Micros, Phase};
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::change_set::{
    ChangeSet, DETECTOR_VERSION, LOCAL, MarksRow, SignalRow, TimelineRow, ToolsRow,
};
use crate::store::values::column::{evidence_text, micros};
use crate::store::values::incident_memory;
use crate::store::write::actions;
use crate::store::write::enqueue;
use crate::store::write::listing::blob;

/// Writes the decisions of many records, in their order.
pub(in crate::store) async fn decide(connection: &mut Connection, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
    for (row, handed_over) in latest_states(records) {
        signal(connection, row, handed_over).await?;
    }
    for record in records {
        // Endings first: a record may end one incident and open the next on the same key.
        let (ended, open): (Vec<_>, Vec<_>) =
            record.incidents.iter().partition(|incident| incident.resolved_at.is_some());
        for row in ended.into_iter().chain(open) {
            incident(connection, row, record.handed_over).await?;
        }
        for (id, taken_at) in &record.lapsed {
            lapse(connection, id, Some(*taken_at)).await?;
        }
        for row in &record.holds {
            hold(connection, row).await?;
        }
        for row in &record.timeline {
            timeline(connection, row).await?;
        }
        for outgoing in &record.outbox {
            enqueue::promise(connection, outgoing).await?;
        }
        if let Some(row) = &record.tools
            && !(record.handed_over && has_newer_tools(connection, row).await?)
        {
            tools(connection, row).await?;
        }
        if let Some((action, at)) = &record.applied {
            actions::applied(connection, action, *at).await?;
        }
        if let Some(row) = &record.marks {
            marks(connection, row).await?;
        }
    }
    Ok(())
}

/// The last state of every signal among records that may hold several, and whether its monitor was handed over.
fn latest_states<'a>(records: &[&'a ChangeSet]) -> impl Iterator<Item = (&'a SignalRow, bool)> {
    let rows = records.iter().flat_map(|record| record.signals.iter().map(|row| (row, record.handed_over)));
    let latest: HashMap<_, _> =
        rows.map(|(row, handed_over)| ((&row.monitor, row.signal, &row.subject), (row, handed_over))).collect();
    latest.into_values()
}

/// Writes a state; of a monitor that was handed over where it is newer than what is there.
async fn signal(connection: &mut Connection, row: &SignalRow, handed_over: bool) -> Result<(), sqlx::Error> {
    let state = &row.state;
    let nothing_to_remember = state.phase == Phase::Quiet
        && state.streak == 0
        && state.covered == Micros::ZERO
        && state.held_by.is_none()
        && row.detector.is_none();
    if nothing_to_remember {
        let forget = query(
            "DELETE FROM signal_state WHERE monitor = $1 AND location = $2 AND signal = $3 AND subject = $4 \
             AND ($5 = 0 OR since < $6)",
        );
        forget
            .bind(row.monitor.as_str())
            .bind(LOCAL)
            .bind(row.signal.slug())
            .bind(&row.subject)
            .bind(handed_over)
            .bind(state.since.timestamp_micros())
            .execute(connection)
            .await?;
        return Ok(());
    }
    query(
        "INSERT INTO signal_state \
         (monitor, location, signal, subject, phase, since, streak, covered, held_by, rule_hash, detector_version, \
          detector) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (monitor, location, signal, subject) DO UPDATE SET phase = excluded.phase, \
         since = excluded.since, streak = excluded.streak, covered = excluded.covered, held_by = excluded.held_by, \
         rule_hash = excluded.rule_hash, detector_version = excluded.detector_version, detector = excluded.detector \
         WHERE $13 = 0 OR signal_state.since < excluded.since",
    )
    .bind(row.monitor.as_str())
    .bind(LOCAL)
    .bind(row.signal.slug())
    .bind(&row.subject)
    .bind(state.phase.slug())
    .bind(state.since.timestamp_micros())
    .bind(state.streak)
    .bind(micros(state.covered.length()))
    .bind(state.held_by.map(HeldBy::slug))
    .bind(&row.rule_hash)
    .bind(DETECTOR_VERSION)
    .bind(&row.detector)
    .bind(handed_over)
    .execute(connection)
    .await?;
    Ok(())
}

/// Saves an incident whole. Who has it is left as it is: that is written before anybody is answered, and a turn may not have
/// heard of it yet. Of a monitor that was handed over the new machine's word counts, but for an end that it found.
async fn incident(connection: &mut Connection, row: &Incident, handed_over: bool) -> Result<(), sqlx::Error> {
    let into = match &row.resolve_cause {
        Some(ResolveCause::Absorbed { into }) => Some(into.as_str()),
        _ => None,
    };
    let (by, at) = row.acknowledged.as_ref().map(|(by, at)| (by.as_str(), at.timestamp_micros())).unzip();
    query(
        "INSERT INTO incidents (id, monitor, signal, subject, severity, reason, stage, summary, evidence, rule_file, \
         rule_line, rule_commit, opened_at, resolved_at, resolve_cause, absorbed_into, acknowledged_by, \
         acknowledged_at, sequence, course) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
         ON CONFLICT (id) DO UPDATE SET severity = excluded.severity, reason = excluded.reason, \
         stage = excluded.stage, summary = excluded.summary, evidence = excluded.evidence, \
         rule_file = excluded.rule_file, rule_line = excluded.rule_line, rule_commit = excluded.rule_commit, \
         resolved_at = excluded.resolved_at, resolve_cause = excluded.resolve_cause, \
         absorbed_into = excluded.absorbed_into, course = excluded.course, \
         sequence = CASE WHEN incidents.sequence > excluded.sequence THEN incidents.sequence ELSE excluded.sequence END \
         WHERE $21 = 0 OR incidents.resolved_at IS NULL AND excluded.resolved_at IS NOT NULL",
    )
    .bind(&row.id)
    .bind(row.monitor.as_str())
    .bind(row.signal.slug())
    .bind(&row.subject)
    .bind(row.severity.slug())
    .bind(row.reason.slug())
    .bind(&row.stage)
    .bind(&row.summary)
    .bind(evidence_text(&row.evidence))
    .bind(&row.rule.file)
    .bind(row.rule.line)
    .bind(&row.rule.commit)
    .bind(row.opened_at.timestamp_micros())
    .bind(row.resolved_at.map(|at| at.timestamp_micros()))
    .bind(row.resolve_cause.as_ref().map(ResolveCause::slug))
    .bind(into)
    .bind(by)
    .bind(at)
    .bind(row.sequence)
    .bind(incident_memory::written(&row.course))
    .bind(handed_over)
    .execute(&mut *connection)
    .await?;
    match row.resolved_at {
        Some(at) => let_go(connection, &row.id, at.timestamp_micros()).await,
        None => Ok(()),
    }
}

/// Nobody has an open incident any more; false where nobody had, or it is over. `taken_at`: only where it was taken then,
/// and by nobody since.
pub(in crate::store) async fn lapse(
    connection: &mut Connection,
    incident: &str,
    taken_at: Option<DateTime<Utc>>,
) -> Result<bool, sqlx::Error> {
    let given = query(
        "UPDATE incidents SET acknowledged_by = NULL, acknowledged_at = NULL \
         WHERE id = $1 AND resolved_at IS NULL AND acknowledged_at IS NOT NULL AND acknowledged_at = COALESCE($2, acknowledged_at)",
    )
    .bind(incident)
    .bind(taken_at.map(|at| at.timestamp_micros()))
    .execute(connection)
    .await?;
    Ok(given > 0)
}

/// Writes a hold, or its end.
async fn hold(connection: &mut Connection, row: &TellingHold) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO holds (incident, kind, by, since, until, ended_at) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (incident, kind, by, since) DO UPDATE SET until = excluded.until, ended_at = excluded.ended_at",
    )
    .bind(&row.incident)
    .bind(row.kind.slug())
    .bind(&row.by)
    .bind(row.since.timestamp_micros())
    .bind(row.until.map(|at| at.timestamp_micros()))
    .bind(row.ended_at.map(|at| at.timestamp_micros()))
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends whatever holds an incident that is over, and the silences that last no longer than it.
async fn let_go(connection: &mut Connection, incident: &str, ended_at: i64) -> Result<(), sqlx::Error> {
    for statement in [
        "UPDATE holds SET ended_at = $2 WHERE incident = $1 AND ended_at IS NULL",
        "UPDATE silences SET ended_at = $2, ended_by = 'serin' WHERE until_incident = $1 AND ended_at IS NULL",
    ] {
        query(statement).bind(incident).bind(ended_at).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Adds a line to an incident's timeline.
pub(in crate::store) async fn timeline(connection: &mut Connection, row: &TimelineRow) -> Result<(), sqlx::Error> {
    query("INSERT INTO incident_events (incident, at, kind, actor, text) VALUES ($1, $2, $3, $4, $5)")
        .bind(&row.incident)
        .bind(row.at.timestamp_micros())
        .bind(&row.kind)
        .bind(&row.actor)
        .bind(&row.text)
        .execute(connection)
        .await?;
    Ok(())
}

/// Whether a list of tools was accepted since.
async fn has_newer_tools(connection: &mut Connection, row: &ToolsRow) -> Result<bool, sqlx::Error> {
    let newer = query("SELECT COUNT(*) FROM monitor_tools WHERE monitor = $1 AND from_at > $2");
    let newer = newer.bind(row.monitor.as_str()).bind(row.from.timestamp_micros()).fetch_one(connection).await?;
    Ok(newer.try_get::<i64>(0)? > 0)
}

/// Keeps the snapshot once, ends the monitor's previous baseline and begins the new one.
async fn tools(connection: &mut Connection, row: &ToolsRow) -> Result<(), sqlx::Error> {
    let from = row.from.timestamp_micros();
    blob(connection, &row.tools, row.from).await?;
    query("UPDATE monitor_tools SET to_at = $2 WHERE monitor = $1 AND to_at IS NULL AND from_at <> $2")
        .bind(row.monitor.as_str())
        .bind(from)
        .execute(&mut *connection)
        .await?;
    query(
        "INSERT INTO monitor_tools (monitor, from_at, era, hash, accepted_by, search_tool, invalid_call) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (monitor, from_at) DO UPDATE SET era = excluded.era, hash = excluded.hash, \
         accepted_by = excluded.accepted_by, search_tool = excluded.search_tool, invalid_call = excluded.invalid_call",
    )
    .bind(row.monitor.as_str())
    .bind(from)
    .bind(row.era.map_or("", |era| era.slug()))
    .bind(&row.tools.hash)
    .bind(&row.accepted_by)
    .bind(&row.tools.search_tool)
    .bind(&row.tools.invalid_call)
    .execute(connection)
    .await?;
    Ok(())
}

async fn marks(connection: &mut Connection, row: &MarksRow) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO marks (monitor, instance, version, process_started_at, restarted_at) \
         VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (monitor) DO UPDATE SET instance = excluded.instance, version = excluded.version, \
         process_started_at = excluded.process_started_at, restarted_at = excluded.restarted_at",
    )
    .bind(&row.monitor)
    .bind(&row.instance)
    .bind(&row.version)
    .bind(row.process_started_at.map(|at| at.timestamp_micros()))
    .bind(row.restarted_at.map(|at| at.timestamp_micros()))
    .execute(connection)
    .await?;
    Ok(())
}
