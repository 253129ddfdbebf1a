//! Who can be told, and how each one is reached.

use std::time::Duration;

use crate::domain::body_template::BodyTemplate;
use crate::domain::secret::{Address, Secret};

/// One entry of `receivers:`: whom routes name.
#[derive(Debug, Clone, PartialEq)]
pub struct Receiver {
    /// Unique in the file; routes, fallbacks and the ledger use it.
    pub name: String,
    /// Webhook, mail or a service of others, with what each needs.
    pub channel: Channel,
    /// How many messages it wants at most; none: whatever comes.
    pub at_most: Option<AtMost>,
    /// The line of the file on which it stands.
    pub line: u32,
    /// Changes exactly when something about this receiver changes; lowercase hex.
    pub definition_hash: String,
}

/// So many messages in such a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtMost {
    /// At least one.
    pub messages: u32,
    /// In any stretch of this length.
    pub per: Duration,
}

/// Webhook, mail or a service of others, with what each needs to be sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Channel {
    /// An HTTP POST after Standard Webhooks.
    Webhook {
        /// The URL that each message is posted to.
        url: Address,
        /// Signing secrets, the first one current; each as written (`whsec_…` or plain text). May be empty: unsigned.
        secrets: Vec<Secret>,
        /// What the file says of the request itself.
        form: Box<WebhookForm>,
    },
    /// A mail, as text and as HTML.
    Email {
        /// Recipients, at least one.
        to: Vec<String>,
    },
    /// An incoming webhook of Slack, or of Mattermost.
    Slack {
        /// The webhook; whoever knows its path may post.
        url: Address,
    },
    /// A channel of Slack, by a bot of the team's own.
    SlackBot {
        /// Where Slack's methods are.
        api: Address,
        /// The bot's token.
        token: Secret,
        /// The channel, by its id.
        channel: String,
    },
    /// A service of PagerDuty, by its Events API v2.
    PagerDuty {
        /// Where events are sent.
        url: Address,
        /// The key of the service's integration.
        routing_key: Secret,
    },
    /// A webhook of a Discord channel.
    Discord {
        /// The webhook; whoever knows its path may post.
        url: Address,
    },
    /// A workflow of Microsoft Teams.
    Teams {
        /// The webhook; whoever knows its path may post.
        url: Address,
    },
    /// An Alertmanager of Prometheus.
    Alertmanager {
        /// The server, with the prefix of its paths where it has one.
        url: Address,
    },
    /// A topic of ntfy.
    Ntfy {
        /// The server, and the topic as the one part of its path.
        url: Address,
        /// What lets us publish, where the topic is not open.
        token: Option<Secret>,
    },
}

/// What a webhook's request is made of beside what Standard Webhooks says; by default nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebhookForm {
    /// Further headers, in lower case; their values may be secrets.
    pub headers: Vec<(String, Secret)>,
    /// Its body; none: the message of the contract.
    pub body: Option<BodyTemplate>,
}

impl WebhookForm {
    /// What no record may show.
    pub fn secrets(&self) -> Vec<&Secret> {
        let headers = self.headers.iter().map(|(_, value)| value);
        headers.chain(self.body.iter().flat_map(BodyTemplate::secrets)).collect()
    }
}

impl Channel {
    /// Whether people read what it brings, so that several incidents may be one message. Programs keep each by its id.
    pub const fn is_for_people(&self) -> bool {
        match self {
            Self::Webhook { .. } | Self::PagerDuty { .. } | Self::Alertmanager { .. } => false,
            Self::Email { .. }
            | Self::Slack { .. }
            | Self::SlackBot { .. }
            | Self::Discord { .. }
            | Self::Teams { .. }
            | Self::Ntfy { .. } => true,
        }
    }

    /// The key under which it is declared.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Webhook { .. } => "webhook",
            Self::Email { .. } => "email",
            Self::Slack { .. } | Self::SlackBot { .. } => "slack",
            Self::Discord { .. } => "discord",
            Self::Teams { .. } => "teams",
            Self::PagerDuty { .. } => "pagerduty",
            Self::Ntfy { .. } => "ntfy",
            Self::Alertmanager { .. } => "alertmanager",
        }
    }
}

/// `smtp:` of the file: the one server all mails go through.
#[derive(Debug, Clone, PartialEq)]
pub struct Smtp {
    /// Host name or address.
    pub host: String,
    /// 25, 465 or 587 as a rule; any is taken.
    pub port: u16,
    /// How the connection is protected.
    pub tls: SmtpTls,
    /// User and password, where the server asks for them.
    pub login: Option<(String, Secret)>,
    /// Address in `From`, and of the envelope.
    pub from: String,
    /// A file of PEM certificates trusted besides the machine's own.
    pub ca: Option<String>,
}

/// How a connection to the mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpTls {
    /// STARTTLS, required.
    StartTls,
    /// TLS from the first byte.
    Tls,
    /// None; loopback only, which `config` holds.
    None,
}
