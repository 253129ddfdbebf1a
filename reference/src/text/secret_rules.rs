//! What secrets look like: one row a format, each with where its vendor says so.
//!
//! The facts are the vendors', the expressions ours. A token's expression begins at its keyword, so it
//! is tried nowhere else, and repeats are bounded: a rejected match has cost little, an accepted one
//! is followed to its end. Read and dated by hand: a new format is a new row and a new date.

/// When the rows were last compared with the vendors' pages.
pub const RULES_DATED: &str = "2026-11-21";

/// A format with a mark of its own.
#[derive(Debug)]
pub struct TokenRule {
    /// What a finding is called.
    pub name: &'static str,
    /// What every match begins with, in any case; the expression decides about the case.
    pub keywords: &'static [&'static str],
    /// The token from its keyword on.
    pub pattern: &'static str,
    /// Whether it has just this length: what goes on after it is something else.
    pub exact: bool,
    /// Where the format is described.
    pub source: &'static str,
}

/// Tokens that can be told by themselves, the more special first.
pub const TOKENS: &[TokenRule] = &[
    TokenRule {
        name: "aws-access-key-id",
        keywords: &["AKIA", "ASIA"],
        pattern: "(?:AKIA|ASIA)[A-Z0-9]{16}",
        exact: true,
        source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    },
    TokenRule {
        name: "github-token",
        keywords: &["ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"],
        pattern: "(?:gh[posur]_[A-Za-z0-9]{36,200}|github_pat_[A-Za-z0-9_]{22,200})",
        exact: false,
        source: "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    },
    TokenRule {
        name: "gitlab-token",
        keywords: &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glagent-"],
        pattern: r"gl(?:pat|dt|rt|ptt|cbt|soat|agent)-[A-Za-z0-9_-]{20,200}(?:\.[A-Za-z0-9]{2,200}){0,2}",
        exact: false,
        source: "https://docs.gitlab.com/security/tokens/",
    },
    TokenRule {
        name: "slack-token",
        keywords: &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        pattern: r"(?:xox[abeprs][-.](?:xox[bp]-)?|xapp-)[A-Za-z0-9-]{10,200}",
        exact: false,
        source: "https://docs.slack.dev/authentication/tokens",
    },
    TokenRule {
        name: "slack-webhook",
        keywords: &["hooks.slack.com/services/"],
        pattern: r"(?i:hooks\.slack\.com)/services/T[A-Z0-9]{6,200}/B[A-Z0-9]{6,200}/[A-Za-z0-9]{20,200}",
        exact: false,
        source: "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    },
    TokenRule {
        name: "stripe-key",
        keywords: &["sk_live_", "rk_live_"],
        pattern: "[sr]k_live_[A-Za-z0-9]{16,200}",
        exact: false,
        source: "https://docs.stripe.com/keys",
    },
    TokenRule {
        name: "webhook-secret",
        keywords: &["whsec_"],
        pattern: "whsec_[A-Za-z0-9+/]{24,200}={0,2}",
        exact: false,
        source: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    },
    TokenRule {
        name: "google-api-key",
        keywords: &["AIza"],
        pattern: "AIza[A-Za-z0-9_-]{35}",
        exact: true,
        source: "https://cloud.google.com/docs/authentication/api-keys",
    },
    TokenRule {
        name: "google-client-secret",
        keywords: &["GOCSPX-"],
        pattern: "GOCSPX-[A-Za-z0-9_-]{28}",
        exact: true,
        source: "https://developers.google.com/identity/protocols/oauth2/web-server",
    },
    TokenRule {
        name: "anthropic-key",
        keywords: &["sk-ant-"],
        pattern: "sk-ant-[A-Za-z0-9_-]{20,200}",
        exact: false,
        source: "https://docs.anthropic.com/en/api/overview",
    },
    TokenRule {
        name: "openai-key",
        keywords: &["sk-"],
        pattern: "sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,200}|[A-Za-z0-9]{32,200})",
        exact: false,
        source: "https://platform.openai.com/docs/api-reference/authentication",
    },
    TokenRule {
        name: "huggingface-token",
        keywords: &["hf_"],
        pattern: "hf_[A-Za-z0-9]{30,200}",
        exact: false,
        source: "https://huggingface.co/docs/hub/security-tokens",
    },
    TokenRule {
        name: "npm-token",
        keywords: &["npm_"],
        pattern: "npm_[A-Za-z0-9]{36}",
        exact: true,
        source: "https://github.blog/2021-09-23-announcing-npms-new-access-token-format/",
    },
    TokenRule {
        name: "pypi-token",
        keywords: &["pypi-AgE"],
        pattern: "pypi-AgE[A-Za-z0-9_-]{50,200}",
        exact: false,
        source: "https://pypi.org/help/#apitoken",
    },
    TokenRule {
        name: "sendgrid-key",
        keywords: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        exact: true,
        source: "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
    },
    TokenRule {
        name: "twilio-key",
        keywords: &["SK"],
        pattern: "SK[0-9a-f]{32}",
        exact: true,
        source: "https://www.twilio.com/docs/iam/api-keys",
    },
    TokenRule {
        name: "json-web-token",
        keywords: &["eyJ"],
        pattern: r"eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
        exact: false,
        source: "https://www.rfc-editor.org/rfc/rfc7519 (an object in base64url begins so)",
    },
];

/// A secret that is told by what stands before it; the expression ends where the value begins.
#[derive(Debug)]
pub struct ValueRule {
    /// What a finding is called.
    pub name: &'static str,
    /// What the expression begins with, in any case.
    pub keywords: &'static [&'static str],
    /// From the keyword to the value.
    pub head: &'static str,
    /// What its value is like.
    pub value: Value,
    /// Where the format is described.
    pub source: &'static str,
}

/// What a value has to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A key in base64 of so many characters at least.
    Base64(usize),
    /// What a person chose, eight characters or more.
    Chosen,
    /// What a machine drew, sixteen characters or more.
    Drawn,
}

/// Between a name and its value: `=`, `:`, `:=`, `=>`, quotes around the name, a tag's end.
const ASSIGNED: &str = r#"(?:\\?["']\]?)?[ \t]{0,8}(?:=>|:=|==|=|:|>)[ \t]{0,8}"#;
/// Further words of the name.
const NAME_GOES_ON: &str = "(?:[_-][A-Za-z0-9_-]{1,40}|(?i:key|value|base))?";

impl ValueRule {
    /// The whole expression.
    pub fn pattern(&self) -> String {
        self.head.replace("{more}", NAME_GOES_ON).replace("{assigned}", ASSIGNED)
    }
}

/// Secrets that are told by their names, the more special first.
pub const VALUES: &[ValueRule] = &[
    ValueRule {
        name: "aws-secret-key",
        keywords: &["secret_access_key", "secretaccesskey", "secret-access-key"],
        head: "(?i:secret[_-]?access[_-]?key){assigned}",
        value: Value::Base64(40),
        source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
    },
    ValueRule {
        name: "azure-key",
        keywords: &["AccountKey=", "SharedAccessKey="],
        head: "(?i:AccountKey|SharedAccessKey)=",
        value: Value::Base64(40),
        source: "https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string",
    },
    ValueRule {
        name: "authorization-header",
        keywords: &["authorization"],
        head: r"(?i:authorization{assigned}['\x22]?(?:bearer|basic|token)) {1,4}",
        value: Value::Drawn,
        source: "https://www.rfc-editor.org/rfc/rfc9110#name-authorization",
    },
    ValueRule {
        name: "assigned-password",
        keywords: &["password", "passwd", "passphrase", "pwd", "secret"],
        head: "(?i:password|passwd|passphrase|pwd|secret){more}{assigned}",
        value: Value::Chosen,
        source: "https://12factor.net/config (names of environment variables and settings)",
    },
    ValueRule {
        name: "assigned-token",
        keywords: &[
            "token",
            "api_key",
            "apikey",
            "api-key",
            "access_key",
            "accesskey",
            "access-key",
            "private_key",
            "privatekey",
            "credential",
            "auth_key",
        ],
        head: "(?i:token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth_key){more}{assigned}",
        value: Value::Drawn,
        source: "https://12factor.net/config (names of environment variables and settings)",
    },
];
