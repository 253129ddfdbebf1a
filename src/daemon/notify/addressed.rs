//! Whom a notification goes to: who its routes name, who was told before, and with what it waits for people.

use std::cell::OnceCell;

use crate::daemon::notify::Notifier;
use crate::deliver::message;
use crate::domain::incident::Incident;
use crate::domain::paging::gathering::Wanted;
use crate::domain::paging::notification::{Event, Notification};
use crate::domain::reason::Severity;
use crate::domain::route::{Hearer, Subject, fitting, hearers};
use crate::domain::signal::Signal;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::values::change_set::{Addressee, Outgoing};

impl Notifier<'_> {
    pub(super) fn outgoing(self, mut notification: Notification, to: Vec<Addressee>) -> Outgoing {
        let subject = Subject::of(self.monitor, notification.severity, notification.incident.as_ref());
        let grouping = fitting(&self.fleet.routes, subject).find_map(|route| Some((route.group.as_ref()?, &route.to)));
        notification.group_key = grouping.map(|(grouping, to)| grouping.key(&self.monitor.labels, to));
        let opens = |signal| notification.incident.as_ref().is_some_and(|incident| incident.signal == signal);
        // Who hears of it late, such as by an escalation, hears of all that are still down in one message too.
        let is_news = !matches!(notification.event, Event::IncidentResolved | Event::IncidentAcknowledged);
        // Asked once, however many hear of it.
        let common = OnceCell::new();
        let find_common = || {
            let Some(share) = self.fleet.common_cause else { return false };
            is_news
                && opens(Signal::Availability)
                && self.live.is_common(&self.monitor.id, share, self.fleet.monitors.len(), self.now)
        };
        let is_common = || *common.get_or_init(find_common);
        let is_first = notification.incident.is_none() || notification.event == Event::IncidentOpened;
        let gathered = |mut to: Addressee| {
            let told_in = to.gathering.take();
            if self.fleet.receiver(&to.receiver).is_some_and(|receiver| receiver.channel.is_for_people()) {
                let told_in = told_in.as_ref().map(|gathering| gathering.key.as_str());
                let wanted = Wanted { routes: &self.fleet.routes, subject, told_in, is_first };
                to.gathering = wanted.gathering(&to.receiver, is_common, self.now);
            }
            to
        };
        let to = to.into_iter().map(gathered).collect();
        Outgoing { payload: message::freeze(&notification), notification, to }
    }

    pub(super) fn routed(self, severity: Severity, incident: Option<&Incident>) -> Vec<Addressee> {
        let subject = Subject::of(self.monitor, severity, incident);
        let addressee = |one: Hearer<'_>| self.addressee(one.receiver, one.fallback);
        hearers(&self.fleet.routes, subject).into_iter().map(addressee).collect()
    }

    pub(super) fn addressee(self, receiver: &str, fallback: Option<&str>) -> Addressee {
        let declared = self.fleet.receiver(receiver);
        Addressee {
            receiver: receiver.to_owned(),
            receiver_hash: declared.map_or_else(String::new, |found| found.definition_hash.clone()),
            fallback: fallback.map(str::to_owned),
            gathering: None,
        }
    }

    /// Whoever was told, and whom its route names now.
    pub(super) async fn concerned(self, store: &Store, incident: &Incident) -> Result<Vec<Addressee>, StoreError> {
        let mut to = store.told(&incident.id).await?;
        for addressee in self.routed(incident.severity, Some(incident)) {
            if !to.iter().any(|told| told.receiver == addressee.receiver) {
                to.push(addressee);
            }
        }
        Ok(to)
    }
}
