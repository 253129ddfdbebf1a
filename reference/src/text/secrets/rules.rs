//! What secrets look like: one row a format, each with where its vendor says so.
//!
//! The facts are the vendors', the expressions ours. A token's expression begins at its keyword, so it
//! is tried nowhere else, and repeats are bounded: a rejected match has cost little, an accepted one
//! is followed to its end. Read and dated by hand: a new format is a new row and a new date.

use std::sync::LazyLock;

use regex::Regex;

/// When the rows were last compared with the vendors' pages.
pub const RULES_DATED: &str = "2026-11-23";

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
        keywords: &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        pattern: "(?:xox[abcdeprs][-.](?:xox[bp]-)?|xapp-)[A-Za-z0-9%-]{10,200}",
        exact: false,
        source: "https://docs.slack.dev/authentication/tokens",
    },
    TokenRule {
        name: "slack-webhook",
        keywords: &["hooks.slack.com"],
        pattern: r"(?i:hooks\.slack\.com)(?:/|%2[Ff])services(?:/|%2[Ff])T[A-Z0-9]{6,200}(?:/|%2[Ff])B[A-Z0-9]{6,200}(?:/|%2[Ff])[A-Za-z0-9]{20,200}",
        exact: false,
        source: "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    },
    TokenRule {
        name: "discord-webhook",
        keywords: &["discord.com", "discordapp.com"],
        pattern: r"(?i:discord(?:app)?\.com)(?:/|%2[Ff])api(?:/|%2[Ff])webhooks(?:/|%2[Ff])[0-9]{15,20}(?:/|%2[Ff])[A-Za-z0-9_-]{40,100}",
        exact: false,
        source: "https://docs.discord.com/developers/resources/webhook",
    },
    TokenRule {
        name: "stripe-key",
        keywords: &["sk_live_", "rk_live_", "sk_test_", "rk_test_"],
        pattern: "[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}",
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
        name: "mailgun-key",
        keywords: &["key-"],
        pattern: "key-[0-9a-f]{32}",
        exact: true,
        source: "https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt/rbac-mgmt",
    },
    TokenRule {
        name: "digitalocean-token",
        keywords: &["dop_v1_", "doo_v1_", "dor_v1_"],
        pattern: "do[opr]_v1_[0-9a-f]{64}",
        exact: true,
        source: "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
    },
    TokenRule {
        name: "shopify-token",
        keywords: &["shpat_", "shpca_", "shppa_", "shpss_"],
        pattern: "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        exact: true,
        source: "https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens",
    },
    TokenRule {
        name: "square-token",
        keywords: &["sq0atp-", "sq0csp-", "EAAA"],
        pattern: "(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60})",
        exact: true,
        source: "https://developer.squareup.com/docs/build-basics/access-tokens",
    },
    TokenRule {
        name: "heroku-token",
        keywords: &["HRKU-"],
        pattern: "HRKU-[A-Za-z0-9_-]{36,80}",
        exact: false,
        source: "https://devcenter.heroku.com/articles/authentication",
    },
    TokenRule {
        name: "vault-token",
        keywords: &["hvs.", "hvb.", "hvr."],
        pattern: r"hv[sbr]\.[A-Za-z0-9_-]{24,300}",
        exact: false,
        source: "https://developer.hashicorp.com/vault/docs/concepts/tokens",
    },
    TokenRule {
        name: "cloudflare-key",
        keywords: &["v1.0-"],
        pattern: r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
        exact: true,
        source: "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/",
    },
    TokenRule {
        name: "docker-token",
        keywords: &["dckr_pat_"],
        pattern: "dckr_pat_[A-Za-z0-9_-]{20,200}",
        exact: false,
        source: "https://docs.docker.com/security/access-tokens/",
    },
    TokenRule {
        name: "rubygems-key",
        keywords: &["rubygems_"],
        pattern: "rubygems_[0-9a-f]{48}",
        exact: true,
        source: "https://guides.rubygems.org/api-key-scopes/",
    },
    TokenRule {
        name: "age-key",
        keywords: &["AGE-SECRET-KEY-1"],
        pattern: "(?i:AGE-SECRET-KEY-1)[0-9A-Za-z]{58}",
        exact: true,
        source: "https://age-encryption.org/v1 (an identity)",
    },
    TokenRule {
        name: "private-key",
        keywords: &["LS0tLS1CRUdJTi"],
        pattern: "LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFWS|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEU|BFTkNSWVBURUQgUFJJVkFUR|BQR1AgUFJJVkFUR)[A-Za-z0-9+/]{20,}={0,2}",
        exact: false,
        source: "https://www.rfc-editor.org/rfc/rfc7468 (its head in base64)",
    },
    TokenRule {
        name: "json-web-token",
        keywords: &["eyJ"],
        pattern: r"eyJ[A-Za-z0-9_-]+\.(?:eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*|[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)",
        exact: false,
        source: "https://www.rfc-editor.org/rfc/rfc7519 and 7516 (an object in base64url begins so)",
    },
    TokenRule {
        name: "password-hash",
        keywords: &["$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$y$", "$apr1$", "$argon2"],
        pattern: r"\$(?:2[aby]\${1,2}[0-9]{2}\${1,2}[./A-Za-z0-9]{53}|(?:1|apr1)\${1,2}[./A-Za-z0-9]{1,8}\${1,2}[./A-Za-z0-9]{22}|[56]\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}|y\$[./A-Za-z0-9]{1,10}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}|argon2(?:id|i|d)\$v=[0-9]{1,3}\$m=[0-9]{1,9},t=[0-9]{1,5},p=[0-9]{1,3}\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,200})",
        exact: false,
        source: "https://manpages.debian.org/crypt.5",
    },
    TokenRule {
        name: "password-hash",
        keywords: &["{SSHA", "{SHA}", "pbkdf2_sha", "pbkdf2:sha", "scrypt:"],
        pattern: r"(?:\{(?:SSHA(?:256|384|512)?|SHA)\}[A-Za-z0-9+/]{27,200}={0,2}|pbkdf2_sha(?:1|256|512)\$[0-9]{3,9}\$[A-Za-z0-9]{1,64}\$[A-Za-z0-9+/]{20,100}={0,2}|(?:pbkdf2:sha(?:1|256|512)(?::[0-9]{1,9})?|scrypt(?::[0-9]{1,9}){3})\$[A-Za-z0-9]{8,32}\$[0-9a-f]{64,128})",
        exact: false,
        source: "https://www.rfc-editor.org/rfc/rfc2307 and https://docs.djangoproject.com/en/stable/topics/auth/passwords/",
    },
];

/// An expression that is compiled when it is first needed; most texts need few.
pub(crate) type Expression = LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>;

/// An expression that matches from where it is asked, and nowhere behind.
#[expect(clippy::expect_used, reason = "the expressions are constants, and a test compiles each")]
pub(crate) fn from_here(pattern: String) -> Expression {
    LazyLock::new(Box::new(move || Regex::new(&format!(r"\A(?:{pattern})")).expect("the expression is right")))
}
