//! A server that is a program of our own machine: started, spoken to line by line, stopped without an orphan.
//!
//! The command comes from the file and from nowhere else. The program leads a process group of its own, so that what
//! it started (`npx`, a shell) ends with it. It is stopped by closing its standard input, then SIGTERM, then SIGKILL;
//! where a probe is dropped, the whole group is killed at once. Its standard error is read all the time by a task that
//! ends with it, so that a talkative program never stands still, and the end of it is kept as evidence.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout, timeout_at};

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::Program;
use crate::domain::observation::Footprint;
use crate::net::files::is_out;
use crate::probe::decode::rpc::{RpcMessage, read};
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::last_words::LastWords;
use crate::probe::wire::reply::{ANSWER_BYTES_MAX, BrokenReply, ReadLimits};
use crate::untrusted_text::{Scrub, readable};

/// Our own variables that a program gets: where it finds things and how it writes, and no secret of ours.
const ENVIRONMENT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_CACHE_HOME",
];

/// How long a program may take to end once its standard input is closed, and again after SIGTERM.
const END_LIMIT: Duration = Duration::from_secs(2);

/// How long we wait for the exit code of a program that closed its output.
const CODE_LIMIT: Duration = Duration::from_millis(500);

/// Messages of one answer that are not it: notifications and progress come by the handful.
const OTHERS_MAX: usize = 1_000;

/// Calls that ran out of time and may be answered yet.
const LATE_MAX: usize = 64;

/// Requests of a server that are answered during one call; a client without capabilities gets a ping at most.
const REPLIES_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Of the process group; the child's own id.
    group: Option<Pid>,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// What came and is no whole line yet.
    pending: Vec<u8>,
    /// How far `pending` holds no line end.
    searched: usize,
    errors: Arc<Mutex<LastWords>>,
    listener: JoinHandle<()>,
    late: Vec<u64>,
    /// What it was made to bear since it was last asked for.
    pub(crate) footprint: Footprint,
}

/// What came of waiting for a line.
enum ProgramLine {
    Whole(Vec<u8>),
    TooLong,
    Ended,
    Late,
}

impl Process {
    /// Starts the program; nothing has been said yet. Off the threads of beats, which would all wait while it is read from disk.
    pub(crate) async fn start(program: &Program, scrub: &Scrub) -> Result<Self, Fault> {
        let mut command = Command::new(&program.command);
        command
            .args(program.args.iter().map(|argument| argument.expose()))
            .env_clear()
            .envs(ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .envs(program.env.iter().map(|(name, value)| (name, value.expose())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let spawned = spawn_blocking(move || command.spawn()).await;
        let mut child = spawned.unwrap_or_else(|broken| Err(broken.into())).map_err(|error| {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => "it is not found; give its whole path, or put it into PATH".to_owned(),
                std::io::ErrorKind::PermissionDenied => "it may not be executed; look at its permissions".to_owned(),
                _ => error.to_string(),
            };
            let kind = if is_out(&error) { FaultKind::OutOfFiles } else { FaultKind::ProgramNotStarted };
            scrub.fault(kind, &format!("{} cannot be started: {why}", program.command))
        })?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(scrub.fault(FaultKind::ProgramNotStarted, "its output cannot be read"));
        };
        let errors = Arc::default();
        let listener = tokio::spawn(listen(stderr, Arc::clone(&errors)));
        let footprint = Footprint { connections: 1, ..Footprint::default() };
        let (pending, late) = (Vec::new(), Vec::new());
        Ok(Self { child, group, stdin, stdout, pending, searched: 0, errors, listener, late, footprint })
    }

    /// Says one message, which must not hold a line break, and waits for the answer that `reading` tells of.
    pub(crate) async fn ask(
        &mut self,
        message: &[u8],
        reading: &ReadLimits<'_>,
        clock: &mut StepClock,
    ) -> Result<Box<RawValue>, BrokenReply> {
        self.tell(message, reading.scrub, reading.deadline).await.map_err(BrokenReply::before_http)?;
        let fault = |kind, detail: &str| Err(BrokenReply::before_http(reading.scrub.fault(kind, detail)));
        let mut odd: Option<Fault> = None;
        let mut replies = 0;
        for nth in 0..OTHERS_MAX {
            let line = match self.line(reading.deadline).await {
                ProgramLine::Whole(line) => line,
                ProgramLine::TooLong => {
                    return fault(FaultKind::TooLarge, &format!("a line is longer than {ANSWER_BYTES_MAX} bytes"));
                }
                ProgramLine::Ended => return Err(BrokenReply::before_http(self.ended(reading.scrub, clock).await)),
                ProgramLine::Late => {
                    if self.late.len() < LATE_MAX {
                        self.late.push(reading.id);
                    }
                    self.note_errors(reading.scrub, clock);
                    let detail = format!("the program took the request and did not answer in time; {nth} other lines");
                    return odd
                        .map_or_else(|| fault(FaultKind::Silent, &detail), |odd| Err(BrokenReply::before_http(odd)));
                }
            };
            if let Some(transcript) = reading.transcript {
                transcript.heard(&line);
            }
            if nth == 0 {
                clock.headers();
            }
            if line.trim_ascii().is_empty() || self.late.iter().any(|id| read(&line, *id).is_ok_and(is_answer)) {
                continue;
            }
            if read(&line, reading.id).is_ok_and(|message| !is_answer(message)) {
                if let Some(reply) = courtesy(&line).filter(|_| replies < REPLIES_MAX) {
                    replies += 1;
                    self.tell(reply.as_bytes(), reading.scrub, reading.deadline)
                        .await
                        .map_err(BrokenReply::before_http)?;
                }
                continue;
            }
            if let Some(answer) = reading.message(&line, &mut odd, clock) {
                clock.end();
                if let Some(odd) = odd {
                    clock.note(format!("its standard output holds more than messages: {}", odd.detail));
                }
                return answer;
            }
        }
        fault(FaultKind::TooLarge, &format!("{OTHERS_MAX} lines came, and no answer among them"))
    }

    /// Says one message that is not answered.
    pub(crate) async fn tell(&mut self, message: &[u8], scrub: &Scrub, deadline: Instant) -> Result<(), Fault> {
        let gone = || scrub.fault(FaultKind::ProgramEnded, "its standard input is closed");
        let stdin = self.stdin.as_mut().ok_or_else(gone)?;
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.footprint.requests += 1;
        self.footprint.bytes_out += line.len() as u64;
        let said = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        };
        match timeout_at(deadline, said).await {
            Ok(Ok(())) => Ok(()),
            // It shows as the end of its output, which brings the exit code along.
            Ok(Err(_)) => Ok(()),
            Err(_) => Err(scrub.fault(FaultKind::Silent, "the program does not read its standard input")),
        }
    }

    async fn line(&mut self, deadline: Instant) -> ProgramLine {
        loop {
            if let Some(at) = self.pending[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.pending.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                self.searched = 0;
                line.pop();
                return ProgramLine::Whole(line);
            }
            self.searched = self.pending.len();
            if self.pending.len() > ANSWER_BYTES_MAX {
                self.pending.clear();
                self.searched = 0;
                return ProgramLine::TooLong;
            }
            match timeout_at(deadline, self.stdout.read_buf(&mut self.pending)).await {
                Err(_) => return ProgramLine::Late,
                Ok(Err(_) | Ok(0)) => return ProgramLine::Ended,
                Ok(Ok(read)) => self.footprint.bytes_in += read as u64,
            }
        }
    }

    /// Whether it has ended by itself; how.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The fault of a program that closed its output: how it ended, and its last words.
    async fn ended(&mut self, scrub: &Scrub, clock: &mut StepClock) -> Fault {
        let ended = timeout(CODE_LIMIT, self.child.wait()).await;
        // What it wrote last may still be on its way to us; a grandchild may hold the pipe open.
        let _ = timeout(CODE_LIMIT, &mut self.listener).await;
        let how = match ended {
            Ok(Ok(status)) => format!("the program ended ({status})"),
            _ => "the program closed its standard output".to_owned(),
        };
        self.note_errors(scrub, clock);
        let words = self.errors.lock().quoted(scrub);
        let words = if words.is_empty() { String::new() } else { format!("; it said: {words}") };
        scrub.fault(FaultKind::ProgramEnded, &format!("{how} before it answered{words}"))
    }

    /// The most telling lines of its standard error as notes of the step.
    pub(crate) fn note_errors(&self, scrub: &Scrub, clock: &mut StepClock) {
        let noted = self.errors.lock().noted(scrub);
        for line in noted {
            clock.note(scrub.line(&format!("standard error: {line}")));
        }
    }

    /// Stops it: standard input closed, then SIGTERM, then SIGKILL. What it started ends with it.
    pub(crate) async fn stop(mut self) {
        drop(self.stdin.take());
        if !self.ends().await {
            self.signal(Signal::TERM);
            if !self.ends().await {
                self.signal(Signal::KILL);
                let _ = timeout(END_LIMIT, self.child.wait()).await;
            }
        }
        // Dropping kills what is left of its group.
    }

    /// Waits for its end while its output flows off, which it may wait for itself.
    async fn ends(&mut self) -> bool {
        let Self { child, stdout, .. } = self;
        let flows_off = async {
            let mut sink = [0; 4096];
            while stdout.read(&mut sink).await.is_ok_and(|read| read > 0) {}
            std::future::pending::<()>().await;
        };
        let ended = async {
            tokio::select! {
                ended = child.wait() => ended.is_ok(),
                () = flows_off => false,
            }
        };
        timeout(END_LIMIT, ended).await.unwrap_or(false)
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Nobody left in the group is what we wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    /// No orphan on any path. A group's id is not given away while a member lives, and where none does, the moment
    /// between its end and this line is far too short for the system to come around to it again.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.listener.abort();
    }
}

async fn listen(mut stderr: ChildStderr, errors: Arc<Mutex<LastWords>>) {
    let mut chunk = [0; 2048];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        errors.lock().hear(&chunk[..read]);
    }
}

fn is_answer(message: RpcMessage<'_>) -> bool {
    !matches!(message, RpcMessage::Other)
}

/// The reply to a request of the server: a ping is answered, anything else is not offered. None where it is no request.
fn courtesy(line: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let id = message.get("id").filter(|id| id.is_number() || id.is_string())?;
    let method = message.get("method")?.as_str()?;
    Some(match method {
        "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        _ => {
            let said = Value::from(format!("serin offers no {}", readable(method.as_bytes())));
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":{said}}}}}"#)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::courtesy;

    #[test]
    fn a_request_of_the_server_is_answered_and_nothing_else_is() {
        let check = |sentence: &str, line: &str, expected: Option<&str>| {
            assert_eq!(courtesy(line.as_bytes()).as_deref(), expected, "{sentence}");
        };
        check(
            "a ping",
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            Some(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
        );
        let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"serin offers no roots/list"}}"#;
        check("roots", r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#, Some(refused));
        check("a notification", r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, None);
        check("an answer", r#"{"jsonrpc":"2.0","id":3,"result":{"method":"ping"}}"#, None);
        check("text", "listening", None);
    }
}
