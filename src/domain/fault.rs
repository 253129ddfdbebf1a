//! What broke, as the wire showed it: no judgement.

/// What broke, as the wire showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What broke, as a closed list.
    pub kind: FaultKind,
    /// One bounded line of evidence, free of control characters and secrets.
    pub detail: String,
}

/// Everything a probe tells apart (MCP.md, "Faults the prober must tell apart").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Our own way to the server is blocked: the declared proxy, or a certificate file of ours.
    WayBlocked,
    /// We had no file left to reach the server with.
    OutOfFiles,
    /// We stood still while the server was probed: nobody saw what it did meanwhile.
    StoodStill,
    /// The host name has no address.
    NameNotResolved,
    /// TCP was refused: nothing listens on that port.
    Refused,
    /// TCP was not answered in time.
    ConnectTimeout,
    /// The peer reset the connection (RST) after it stood.
    Reset,
    /// No route to the host or network.
    Unreachable,
    /// The address was learnt from the wire and is a private one, which nobody follows there.
    Guarded,
    /// The certificate's chain is not trusted.
    TlsUntrusted,
    /// The certificate is for another name.
    TlsWrongName,
    /// The certificate has expired or is not valid yet.
    TlsExpired,
    /// TLS did not come about: stalled, not TLS at all, no common version.
    TlsFailed,
    /// Accepted, then nothing until the timeout.
    Silent,
    /// The head of the answer began, and did not end in time.
    SlowHead,
    /// The answer is not HTTP.
    NotHttp,
    /// The peer closed the connection before the head of an answer.
    ClosedEarly,
    /// The body ended before its announced length.
    BodyTruncated,
    /// The answer came too slowly to end in time.
    SlowBody,
    /// More bytes, pages or events than a probe reads.
    TooLarge,
    /// 401 with or without a challenge: credentials are asked for and none were sent.
    AuthRequired,
    /// 401 or 403 although credentials were sent.
    AuthRejected,
    /// Whoever issues our token could not be reached, or failed: neither the server's doing nor a refusal.
    IssuerFailed,
    /// 429; seconds of Retry-After where given.
    RateLimited {
        /// What the server asked to wait.
        retry_after_seconds: Option<u32>,
    },
    /// Another status that is no success.
    HttpStatus(u16),
    /// A redirect that a probe does not follow.
    Redirected(u16),
    /// HTTP 200 with HTML, such as a login page or a proxy's own.
    Html,
    /// 200 with another content type, or none.
    WrongContentType,
    /// 200 or 202 without a body.
    EmptyBody,
    /// The body is in a `content-encoding` that was not asked for, or not in the one it names.
    BadCoding,
    /// The body is not JSON.
    NotJson,
    /// JSON, but no JSON-RPC message.
    NotJsonRpc,
    /// The answer carries another request's id.
    WrongId,
    /// The answer has neither result nor error, or a result that lacks what its era demands.
    BadResult,
    /// A version that was not asked for or does not exist.
    WrongVersion,
    /// An error in the protocol's own words, by its JSON-RPC code.
    RpcError(i64),
    /// The tool answered `isError: true`.
    ToolError,
    /// The stream stayed open to the last and never brought the answer.
    StreamWithoutAnswer,
    /// The server ended the stream, as HTTP ends a body, before the answer.
    StreamEnded,
    /// The stream holds something that is no event.
    StreamGarbage,
    /// The server no longer knows our session.
    SessionLost,
    /// tools/list came back to a cursor it had given before.
    CursorLoop,
    /// The search tool is not in tools/list.
    ToolAbsent,
    /// A declared call does not fit the tool's schema.
    ArgumentsInvalid,
    /// The tool's answer has no list of results where one was looked for.
    AnswerUnreadable,
    /// An HTTP+SSE server names an endpoint of another origin, which is never followed.
    ForeignEndpoint,
    /// The program that is the server cannot be started.
    ProgramNotStarted,
    /// The program that is the server ended before it answered.
    ProgramEnded,
}

impl FaultKind {
    /// Whether it looks the same where we were silent for too long ourselves: a limit passed, or somebody gave up waiting for us.
    pub const fn may_be_our_silence(self) -> bool {
        matches!(
            self,
            Self::NameNotResolved
                | Self::ConnectTimeout
                | Self::Reset
                | Self::TlsFailed
                | Self::Silent
                | Self::SlowHead
                | Self::ClosedEarly
                | Self::BodyTruncated
                | Self::SlowBody
                | Self::StreamWithoutAnswer
                | Self::StreamEnded
                | Self::SessionLost
                | Self::IssuerFailed
        )
    }
}
