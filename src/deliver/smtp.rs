//! One conversation with a mail server: connect, protect, sign in, hand over, part.
//!
//! Each recipient is asked for singly. One that is refused does not keep the mail from the others,
//! and those who took it are remembered, so that a later attempt asks only for the rest. After a
//! crash somebody may get a mail twice, with the same Message-ID; nobody gets none.

use std::collections::VecDeque;
use std::error::Error as StdError;

use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;

use crate::deliver::plain;
use crate::deliver::write_permit::WritePermit;
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::receiver::{Smtp, SmtpTls};

/// Recipients that are remembered to have taken a mail; far more than are under way at any time.
const TAKEN_MAX: usize = 4096;
/// Bytes of a file of private authorities: a whole system store is smaller.
const CA_BYTES_MAX: u64 = 1 << 20;

/// A mail, ready to be handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MailMessage {
    /// Names the delivery, so that recipients who took it are not asked for again.
    pub key: String,
    pub from: Address,
    pub to: Vec<Address>,
    /// Headers and body, the same at every attempt.
    pub bytes: Vec<u8>,
}

/// Hands mails to mail servers.
#[derive(Debug)]
pub(crate) struct SmtpClient {
    roots: Vec<CertificateDer<'static>>,
    taken: Mutex<VecDeque<(String, Address)>>,
}

impl SmtpClient {
    /// TLS trusts these authorities, Mozilla's where there are none, and the file's own.
    pub(crate) fn new(roots: Vec<CertificateDer<'static>>) -> Self {
        Self { roots, taken: Mutex::default() }
    }

    /// One attempt; the caller bounds its time.
    pub(crate) async fn send(&self, smtp: &Smtp, letter: &MailMessage, permit: &WritePermit) -> AttemptEnd {
        match self.converse(smtp, letter, permit).await {
            Ok(()) => AttemptEnd::Accepted,
            Err(trouble) => trouble.into_end(),
        }
    }

    async fn converse(&self, smtp: &Smtp, letter: &MailMessage, permit: &WritePermit) -> Result<(), SmtpFailure> {
        let open: Vec<&Address> = letter.to.iter().filter(|to| !self.has_taken(&letter.key, to)).collect();
        if !open.is_empty() {
            let mut connection = self.connect(smtp).await?;
            let handed = hand_over(&mut connection, letter, &open, permit).await;
            // Remembered before the parting: whatever happens there, the mail is settled.
            let trouble = match handed {
                Ok(handed) => {
                    handed.taken.into_iter().for_each(|to| self.remember(&letter.key, to));
                    handed.trouble
                }
                Err(trouble) => Some(trouble),
            };
            let _parted = tokio::time::timeout(PARTING_MAX, connection.abort()).await;
            trouble.map_or(Ok(()), Err)?;
        }
        // Once everybody has it, a replay asked for by a person sends it again.
        self.forget(&letter.key);
        Ok(())
    }

    async fn connect(&self, smtp: &Smtp) -> Result<AsyncSmtpConnection, SmtpFailure> {
        let hello = ClientId::default();
        let tls = match smtp.tls {
            SmtpTls::None => None,
            SmtpTls::StartTls | SmtpTls::Tls => Some(self.tls(smtp).await?),
        };
        let (wrapper, upgrade) = match smtp.tls {
            SmtpTls::Tls => (tls, None),
            _ => (None, tls),
        };
        let server = (smtp.host.as_str(), smtp.port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, Some(ATTEMPT_MAX), &hello, wrapper, None).await?;
        if let Some(tls) = upgrade {
            connection.starttls(tls, &hello).await?;
        }
        if let Some((user, password)) = &smtp.login {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            connection.auth(DEFAULT_MECHANISMS, &credentials).await.map_err(SmtpFailure::login)?;
        }
        Ok(connection)
    }

    async fn tls(&self, smtp: &Smtp) -> Result<TlsParameters, SmtpFailure> {
        let store = if self.roots.is_empty() { CertificateStore::WebpkiRoots } else { CertificateStore::None };
        let mut builder = TlsParameters::builder(smtp.host.clone()).certificate_store(store);
        for root in &self.roots {
            builder = builder.add_root_certificate(Certificate::from_der(root.to_vec())?);
        }
        if let Some(path) = &smtp.ca {
            builder = builder.add_root_certificate(Certificate::from_pem(&private_authorities(path).await?)?);
        }
        Ok(builder.build_rustls()?)
    }

    fn has_taken(&self, key: &str, to: &Address) -> bool {
        let taken = self.taken.lock();
        taken.iter().any(|(known, address)| known == key && address == to)
    }

    fn forget(&self, key: &str) {
        self.taken.lock().retain(|(known, _)| known != key);
    }

    fn remember(&self, key: &str, to: Address) {
        let mut taken = self.taken.lock();
        if taken.len() >= TAKEN_MAX {
            taken.pop_front();
        }
        taken.push_back((key.to_owned(), to));
    }
}

/// Limit on parting from a server; one that does not answer keeps nobody waiting.
const PARTING_MAX: std::time::Duration = std::time::Duration::from_secs(1);

/// Who took the mail, and the worst that was said of the others.
struct Handed {
    taken: Vec<Address>,
    trouble: Option<SmtpFailure>,
}

async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    letter: &MailMessage,
    open: &[&Address],
    permit: &WritePermit,
) -> Result<Handed, SmtpFailure> {
    connection.command(Mail::new(Some(letter.from.clone()), Vec::new())).await?;
    let mut handed = Handed { taken: Vec::new(), trouble: None };
    for to in open {
        match connection.command(Rcpt::new((*to).clone(), Vec::new())).await {
            Ok(_) => handed.taken.push((*to).clone()),
            // A yes or no from the server is about this recipient; anything else is about the connection.
            Err(error) if error.status().is_some() => handed.worsen(error.into()),
            Err(error) => return Err(error.into()),
        }
    }
    if handed.taken.is_empty() {
        return Ok(handed);
    }
    permit.ask().map_err(|late| SmtpFailure { permanent: false, why: late.to_string() })?;
    connection.command(Data).await?;
    connection.message(&letter.bytes).await?;
    Ok(handed)
}

impl Handed {
    /// A refusal weighs more than a failure, because it wakes the fallback at once.
    fn worsen(&mut self, trouble: SmtpFailure) {
        if self.trouble.as_ref().is_none_or(|known| trouble.permanent && !known.permanent) {
            self.trouble = Some(trouble);
        }
    }
}

async fn private_authorities(path: &str) -> Result<Vec<u8>, SmtpFailure> {
    let told = |what: &str| SmtpFailure { permanent: true, why: format!("smtp.ca {path}: {what}") };
    let size = tokio::fs::metadata(path).await.map_err(|error| told(&error.kind().to_string()))?.len();
    if size > CA_BYTES_MAX {
        return Err(told("larger than 1 MiB"));
    }
    tokio::fs::read(path).await.map_err(|error| told(&error.kind().to_string()))
}

/// Why a mail did not go: one plain line, and whether the server means it for good.
#[derive(Debug)]
struct SmtpFailure {
    permanent: bool,
    why: String,
}

impl SmtpFailure {
    /// An error while signing in; the server's text may repeat what was sent, so only its code is kept.
    fn login(error: SmtpError) -> Self {
        match error.status() {
            Some(code) => Self { permanent: error.is_permanent(), why: format!("{code} while signing in") },
            None => error.into(),
        }
    }

    fn into_end(self) -> AttemptEnd {
        match self.permanent {
            true => AttemptEnd::Refused { why: self.why },
            false => AttemptEnd::Failed { why: self.why, retry_after: None },
        }
    }
}

impl From<SmtpError> for SmtpFailure {
    fn from(error: SmtpError) -> Self {
        let mut causes = vec![plain::line(&error.to_string(), 500)];
        let mut source = error.source();
        while let Some(cause) = source {
            let text = plain::line(&cause.to_string(), 200);
            if !causes.iter().any(|known| known.contains(&text)) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { permanent: error.is_permanent(), why: causes.join(": ") }
    }
}
