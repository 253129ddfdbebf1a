//! Secrets that are told by what stands before them: one row a family of names.
//!
//! A row's expression begins at its keyword and ends with the name; what ties the value to the name is the
//! same for all, and stands in `links`.

/// A secret that is told by its name.
#[derive(Debug)]
pub struct ValueRule {
    /// What a finding is called.
    pub name: &'static str,
    /// What the expression begins with, in any case.
    pub keywords: &'static [&'static str],
    /// The name from its keyword on; `{more}` stands for further words of it, `{assigned}` for a sign.
    pub head: &'static str,
    /// Whether the value follows at once. Elsewhere a sign, a call or a few words stand between.
    pub at_once: bool,
    /// Whether the keyword begins a word: `pass` is no part of `compass`.
    pub is_word: bool,
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
    /// `user:password` in base64.
    Pair,
    /// What a person chose, six characters or more.
    Chosen,
    /// What a machine drew, sixteen characters or more.
    Drawn,
}

/// Between a name and its value in a header: quotes around the name, a sign.
const ASSIGNED: &str = r#"(?:\\?["']\]?)?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}\\?"#;
/// Further words of the name.
const NAME_GOES_ON: &str = "(?:[_-][A-Za-z0-9_-]{1,40}|[_ -]?(?i:key|value|base|token)|[0-9]{1,2})?";

impl ValueRule {
    /// The whole expression.
    pub fn pattern(&self) -> String {
        self.head.replace("{more}", NAME_GOES_ON).replace("{assigned}", ASSIGNED)
    }
}

const TWELVE_FACTORS: &str = "https://12factor.net/config (names of environment variables and settings)";
const HEADER: &str = "https://www.rfc-editor.org/rfc/rfc9110#name-authorization";

/// Secrets that are told by their names, the more special first.
pub const VALUES: &[ValueRule] = &[
    ValueRule {
        name: "aws-secret-key",
        keywords: &["secret_access_key", "secretaccesskey", "secret-access-key", "secret access key"],
        head: "(?i:secret[_ -]?access[_ -]?key)",
        at_once: false,
        is_word: false,
        value: Value::Base64(40),
        source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
    },
    ValueRule {
        name: "azure-key",
        keywords: &[
            "accountkey",
            "account_key",
            "account-key",
            "account key",
            "sharedaccesskey",
            "storage_key",
            "storage-key",
            "storage key",
            "storagekey",
        ],
        head: "(?i:account[_ -]?key|sharedaccesskey|storage[_ -]?key)",
        at_once: false,
        is_word: false,
        value: Value::Base64(40),
        source: "https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string",
    },
    ValueRule {
        name: "authorization-header",
        keywords: &["authorization"],
        head: r"(?i:authorization{assigned}['\x22`]?(?:bearer|basic|token|bot|apikey|key)) {1,4}",
        at_once: true,
        is_word: false,
        value: Value::Drawn,
        source: HEADER,
    },
    ValueRule {
        name: "authorization-header",
        keywords: &["bearer "],
        head: r"(?i:bearer) {1,4}",
        at_once: true,
        is_word: true,
        value: Value::Drawn,
        source: HEADER,
    },
    ValueRule {
        name: "authorization-header",
        keywords: &["basic "],
        head: r"(?i:basic) {1,4}",
        at_once: true,
        is_word: true,
        value: Value::Pair,
        source: "https://www.rfc-editor.org/rfc/rfc7617",
    },
    ValueRule {
        name: "registry-login",
        keywords: &["auth\"", "auth'", "auth\\\"", "auth:", "auth=", "auth =", "auth\":"],
        head: "(?i:auth)",
        at_once: false,
        is_word: true,
        value: Value::Pair,
        source: "https://docs.docker.com/reference/cli/docker/login/ (the file config.json)",
    },
    ValueRule {
        name: "assigned-password",
        keywords: &["password", "passwd", "passphrase", "pwd", "secret", "passwort", "passcode"],
        head: "(?i:password|passwd|passphrase|pwd|secret|passwort|passcode){more}",
        at_once: false,
        is_word: false,
        value: Value::Chosen,
        source: TWELVE_FACTORS,
    },
    ValueRule {
        name: "assigned-password",
        keywords: &["pass", "pw"],
        head: "(?i:pass|pw)(?:_[A-Z0-9_]{1,40}|[0-9]{1,2})?",
        at_once: false,
        is_word: true,
        value: Value::Chosen,
        source: TWELVE_FACTORS,
    },
    ValueRule {
        name: "assigned-password",
        keywords: &["identified by "],
        head: "(?i:identified by) {1,4}",
        at_once: true,
        is_word: true,
        value: Value::Chosen,
        source: "https://dev.mysql.com/doc/refman/8.4/en/create-user.html",
    },
    ValueRule {
        name: "assigned-token",
        keywords: &[
            "token",
            "api_key",
            "apikey",
            "api-key",
            "api key",
            "access_key",
            "accesskey",
            "access-key",
            "access key",
            "private_key",
            "privatekey",
            "private key",
            "credential",
            "auth_key",
            "authkey",
            "auth-key",
            "authorization",
            "signing_key",
            "signingkey",
            "encryption_key",
            "encryptionkey",
            "master_key",
            "masterkey",
            "_key",
        ],
        head: "(?:(?i:token|api[_ -]?key|access[_ -]?key|private[_ -]?key|credentials?|auth[_-]?key|authorization|(?:signing|encryption|master)_?key){more}|_KEY)",
        at_once: false,
        is_word: false,
        value: Value::Drawn,
        source: TWELVE_FACTORS,
    },
];
