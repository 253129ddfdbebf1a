//! A fleet copied into memory of its own.
//!
//! What a large file was read with lies between what it declares, and no allocator gives back a page on which a single
//! text is still needed. A copy lies close together, each text and list as long as it is, and secrets that several
//! monitors share are there once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Auth, Likeness, Monitor, MonitorId, OAuth, Original, ProbeIdentity, Program, Reach};
use crate::domain::pinned::Pinned;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::secret::{Address, Secret};
use crate::domain::tools::Listing;

impl Fleet {
    /// The same fleet, sharing nothing with this one.
    #[must_use]
    pub fn afresh(&self) -> Self {
        let mut copy = Copying::default();
        let identity = self.monitors.iter().find_map(|monitor| monitor.identity.as_ref());
        let identity = identity.map(|identity| Arc::new(copy.identity(identity)));
        Self {
            monitors: self.monitors.iter().map(|monitor| Arc::new(copy.monitor(monitor, identity.as_ref()))).collect(),
            receivers: self.receivers.iter().map(|receiver| Arc::new(copy.receiver(receiver))).collect(),
            ..self.clone()
        }
    }
}

/// The secrets and the pinned lists of tools that were copied already.
#[derive(Default)]
struct Copying<'a> {
    secrets: HashMap<&'a str, Secret>,
    listings: HashMap<*const Listing, Arc<Listing>>,
}

impl<'a> Copying<'a> {
    fn monitor(&mut self, monitor: &'a Monitor, identity: Option<&Arc<ProbeIdentity>>) -> Monitor {
        Monitor {
            id: MonitorId::new(monitor.id.as_str()),
            url: self.address(&monitor.url),
            reach: self.reach(&monitor.reach),
            auth: self.auth(&monitor.auth),
            identity: monitor.identity.as_ref().and(identity).cloned(),
            health: monitor.health.iter().map(|address| self.address(address)).collect(),
            likeness: match &monitor.likeness {
                Likeness::ReplicaOf(original) => {
                    let id = MonitorId::new(original.id.as_str());
                    Likeness::ReplicaOf(Arc::new(Original { id, ..Original::clone(original) }))
                }
                other => other.clone(),
            },
            pinned: monitor.pinned.as_deref().map(|pinned| Arc::new(self.pinned(pinned))),
            ..monitor.clone()
        }
    }

    fn pinned(&mut self, pinned: &Pinned) -> Pinned {
        let mut listing = |listing: &Arc<Listing>| {
            let copy = self.listings.entry(Arc::as_ptr(listing));
            Arc::clone(copy.or_insert_with(|| Arc::new(Listing::clone(listing))))
        };
        Pinned { tools: pinned.tools.as_ref().map(&mut listing), ..pinned.clone() }
    }

    fn reach(&mut self, reach: &'a Reach) -> Reach {
        Reach {
            program: reach.program.as_deref().map(|program| Box::new(self.program(program))),
            proxy: reach.proxy.as_ref().map(|proxy| Box::new(self.address(proxy))),
            ..reach.clone()
        }
    }

    fn program(&mut self, program: &'a Program) -> Program {
        Program {
            args: program.args.iter().map(|value| self.secret(value)).collect(),
            env: program.env.iter().map(|(name, value)| (name.clone(), self.secret(value))).collect(),
            ..program.clone()
        }
    }

    fn auth(&mut self, auth: &'a Auth) -> Auth {
        let oauth = |copy: &mut Self, oauth: &'a OAuth| {
            let client_secret = copy.secret(&oauth.client_secret);
            Box::new(OAuth { client_secret, ..oauth.clone() })
        };
        Auth {
            bearer: auth.bearer.as_ref().map(|bearer| self.secret(bearer)),
            headers: auth.headers.iter().map(|(name, value)| (name.clone(), self.secret(value))).collect(),
            oauth: auth.oauth.as_deref().map(|declared| oauth(self, declared)),
            ..auth.clone()
        }
    }

    fn receiver(&mut self, receiver: &'a Receiver) -> Receiver {
        let channel = match &receiver.channel {
            Channel::Webhook { url, secrets, form } => Channel::Webhook {
                url: self.address(url),
                secrets: secrets.iter().map(|secret| self.secret(secret)).collect(),
                form: form.clone(),
            },
            email @ Channel::Email { .. } => email.clone(),
            Channel::Discord { url } => Channel::Discord { url: self.address(url) },
            Channel::Alertmanager { url } => Channel::Alertmanager { url: self.address(url) },
            Channel::Teams { url } => Channel::Teams { url: self.address(url) },
            Channel::Slack { url } => Channel::Slack { url: self.address(url) },
            Channel::SlackBot { api, token, channel } => {
                Channel::SlackBot { api: self.address(api), token: self.secret(token), channel: channel.clone() }
            }
            Channel::Ntfy { url, token } => {
                Channel::Ntfy { url: self.address(url), token: token.as_ref().map(|token| self.secret(token)) }
            }
            Channel::PagerDuty { url, routing_key } => {
                Channel::PagerDuty { url: self.address(url), routing_key: self.secret(routing_key) }
            }
        };
        Receiver { channel, ..receiver.clone() }
    }

    fn identity(&mut self, identity: &'a ProbeIdentity) -> ProbeIdentity {
        ProbeIdentity { key: identity.key.clone(), secret: self.secret(&identity.secret) }
    }

    fn address(&mut self, address: &'a Address) -> Address {
        Address { shown: address.shown.clone(), resolved: self.secret(&address.resolved) }
    }

    fn secret(&mut self, secret: &'a Secret) -> Secret {
        let value = secret.expose();
        self.secrets.entry(value).or_insert_with(|| Secret::new(value)).clone()
    }
}
