//! Secrets here are put together from pieces, so that no scanner takes our repository for a leak.

use proptest::prelude::*;

use crate::index::documentation::SOURCES;
use crate::text::secrets::middles::MIDDLES;
use crate::text::secrets::names::VALUES;
use crate::text::secrets::redact::{Redacted, redact};
use crate::text::secrets::rules::TOKENS;

const SIGNS_36: &str = concat!("a8F3kQ9zL2mN", "7pR4sT6vW1xY", "5bC0dE8gH3jK");
const BASE64_40: &str = concat!("wJa1rXUtnFEMI/K7", "MDENG+bPxRfiCYzQ", "Lk3Yd9Ta");

fn check(says: &str, text: &str, expected: &str, rules: &[&str]) {
    let Redacted { text: clean, found } = redact(text);
    assert_eq!(clean, expected, "{says}");
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), rules, "{says}");
    for finding in &found {
        assert!(finding.char_start < finding.char_end && finding.char_end <= text.chars().count(), "{says}");
    }
    assert_eq!(redact(&clean).text, clean, "{says}: twice changes nothing");
}

/// A token of each rule.
fn tokens() -> Vec<(&'static str, String)> {
    let hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    let long = format!("{SIGNS_36}{SIGNS_36}");
    vec![
        ("aws-access-key-id", ["AKIA", "J7Q2ZP5KXW3MTR6N"].concat()),
        ("aws-access-key-id", ["ASIA", "J7Q2ZP5KXW3MTR6N"].concat()),
        ("github-token", ["ghp", "_", SIGNS_36].concat()),
        ("github-token", ["gho", "_", SIGNS_36].concat()),
        ("github-token", ["ghs", "_", SIGNS_36].concat()),
        ("github-token", ["ghu", "_", SIGNS_36].concat()),
        ("github-token", ["ghr", "_", SIGNS_36].concat()),
        ("github-token", ["github", "_pat_", &SIGNS_36[..22], "_", &long[..59]].concat()),
        ("gitlab-token", ["glpat", "-", &SIGNS_36[..20]].concat()),
        ("slack-token", ["xoxb", "-123456789012-", &SIGNS_36[..24]].concat()),
        ("slack-token", ["xapp", "-1-A0B1C2D3E4-", &SIGNS_36[..24]].concat()),
        ("slack-webhook", ["hooks.slack", ".com/services/T0A1B2C3D/B4E5F6G7H/", &SIGNS_36[..24]].concat()),
        ("stripe-key", ["sk", "_live_", &SIGNS_36[..24]].concat()),
        ("stripe-key", ["rk", "_live_", &SIGNS_36[..24]].concat()),
        ("discord-webhook", ["discord", ".com/api/webhooks/123456789012345678/", &long[..68]].concat()),
        ("webhook-secret", ["whsec", "_", &SIGNS_36[..32]].concat()),
        ("google-api-key", ["AI", "za", &SIGNS_36[..35]].concat()),
        ("google-client-secret", ["GOC", "SPX-", &SIGNS_36[..28]].concat()),
        ("anthropic-key", ["sk", "-ant-api03-", &long[..60]].concat()),
        ("openai-key", ["sk", "-proj-", &long[..60]].concat()),
        ("openai-key", ["sk", "-", &long[..48]].concat()),
        ("huggingface-token", ["hf", "_", &SIGNS_36[..34]].concat()),
        ("npm-token", ["npm", "_", SIGNS_36].concat()),
        ("pypi-token", ["pypi", "-AgEIcHlwaS5vcmc", &long[..60]].concat()),
        ("sendgrid-key", ["SG", ".", &SIGNS_36[..22], ".", &long[..43]].concat()),
        ("twilio-key", ["SK", hex].concat()),
        ("mailgun-key", ["key", "-", hex].concat()),
        ("digitalocean-token", ["dop", "_v1_", hex, hex].concat()),
        ("shopify-token", ["shpat", "_", hex].concat()),
        ("square-token", ["sq0", "atp-", &SIGNS_36[..22]].concat()),
        ("square-token", ["EA", "AA", &long[..60]].concat()),
        ("heroku-token", ["HRKU", "-AA", &long[..58]].concat()),
        ("vault-token", ["hv", "s.", &SIGNS_36[..24]].concat()),
        ("cloudflare-key", ["v1.", "0-", &hex[..24], "-", &hex.repeat(5)[..146]].concat()),
        ("docker-token", ["dckr", "_pat_", &SIGNS_36[..27]].concat()),
        ("rubygems-key", ["ruby", "gems_", &hex.repeat(2)[..48]].concat()),
        ("age-key", ["AGE-SECRET", "-KEY-1", &long.to_uppercase()[..58]].concat()),
        ("private-key", ["LS0tLS1CRUdJTi", "BQUklWQVRFIEtFWS", &long].concat()),
        ("password-hash", ["$2y$", "10$", &long[..53]].concat()),
        ("password-hash", ["$6$", "saltsalt$", &long, &long[..14]].concat()),
        ("password-hash", ["{SS", "HA}", &long[..40]].concat()),
        ("discord-token", ["MTIzNDU2Nzg5MDEyMzQ1Njc4", ".Gabc12.", &long[..38]].concat()),
        ("terraform-token", [&SIGNS_36[..14], ".atlas", "v1.", &long[..67]].concat()),
        ("telegram-token", ["123456789", ":AA", &SIGNS_36[..33]].concat()),
        ("json-web-token", ["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0In0", ".", SIGNS_36].concat()),
    ]
}

#[test]
fn tokens_with_a_mark_go_wherever_they_stand() {
    let rows = tokens();
    for (rule, secret) in &rows {
        let mark = format!("[REDACTED:{rule}]");
        for (says, before, after) in [
            ("alone", "", ""),
            ("in prose", "Use é ", ", then wait."),
            ("in quotes", "x(\"", "\")"),
            ("behind an escaped line", "a\\n", "\\n"),
            ("in a query", "?a%3D", "&b=1"),
            ("assigned", "TOKEN=", "\n"),
            ("in JSON", "{\"token\": \"", "\"}"),
        ] {
            let text = format!("{before}{secret}{after}");
            // What goes on behind an escaped letter is a number of its own.
            if MIDDLES.iter().any(|middle| middle.name == *rule)
                && ["in a query", "behind an escaped line"].contains(&says)
            {
                continue;
            }
            check(&format!("{rule} {says}"), &text, &format!("{before}{mark}{after}"), &[rule]);
        }
    }
    let named: std::collections::BTreeSet<&str> = rows.iter().map(|(rule, _)| *rule).collect();
    let all = TOKENS.iter().map(|rule| (rule.name, rule.source));
    let all: Vec<(&str, &str)> = all.chain(MIDDLES.iter().map(|rule| (rule.name, rule.source))).collect();
    assert!(all.iter().all(|(name, _)| named.contains(name)), "every rule has a row");
    assert!(all.iter().all(|(_, source)| source.starts_with("https://")), "and says where it is from");
}

#[test]
fn values_go_where_their_names_say_so() {
    let drawn = &SIGNS_36[..24];
    let is = |says: &str, before: &str, secret: &str, after: &str, rule: &str| {
        check(says, &format!("{before}{secret}{after}"), &format!("{before}[REDACTED:{rule}]{after}"), &[rule]);
    };
    is("an AWS secret in a profile", "aws_secret_access_key = ", BASE64_40, "\nregion = x", "aws-secret-key");
    is("and in an answer", "{\"SecretAccessKey\": \"", BASE64_40, "\"}", "aws-secret-key");
    let azure = format!("{BASE64_40}{BASE64_40}AbCd1/==");
    is("a connection string", "AccountName=a;AccountKey=", &azure, ";EndpointSuffix=b", "azure-key");
    is("and alone on its line", "a\nAccountKey=", &azure, ";EndpointSuffix=b", "azure-key");
    is("a value far longer than what is judged", "A_SECRET=", &SIGNS_36.repeat(40), "\nB=1", "assigned-password");
    is("and so in quotes", "a_secret: '", &SIGNS_36.repeat(40), "'", "assigned-password");
    is("a header", "curl -H 'Authorization: Bearer ", drawn, "' http://a", "authorization-header");
    is("a line of .env", "DB_SECRET=", concat!("p&9)x", "{Q2z;w"), "\nA=1", "assigned-password");
    is("an exported one", "a\nexport API_TOKEN=", drawn, "", "assigned-token");
    is("YAML", "db:\n  password: ", concat!("Tr0ub4", "dor&3"), "\n", "assigned-password");
    is("JSON", "{\"api_key\": \"", drawn, "\", \"a\": 1}", "assigned-token");
    is("JSON within a string", "\"{\\\"apiKey\\\": \\\"", drawn, "\\\"}\"", "assigned-token");
    is("TOML", "client_secret = \"", concat!("hunt", "er2!"), "\"", "assigned-password");
    is("code", "let password = '", concat!("s3cr3t", "Pa55"), "';", "assigned-password");
    is("an array of PHP", "$a['password'] = '", concat!("s3cr3t", "Pa55"), "';", "assigned-password");
    is("an element", "<password>", concat!("s3cr3t", "Pa55"), "</password>", "assigned-password");
    is("a query", "GET /?token=", drawn, "&a=1 now", "assigned-token");
    is("a camel's name", "secretKey: \"", drawn, "\"", "assigned-password");
    is("a URL", "postgres://me:", concat!("hunt", "er2@b"), "@db:5432/x?y=a@b", "url-password");
    let block =
        ["-----BEGIN RSA PRIVATE", " KEY-----\nMIIE", SIGNS_36, "\n", SIGNS_36, "\n-----END RSA PRIVATE", " KEY-----"]
            .concat();
    is("a key's whole block", "a\n", &block, "\nb", "private-key");
    let escaped = block.replace('\n', "\\n");
    is("and on one line of JSON", "{\"k\": \"", &escaped, "\"}", "private-key");
    let open = ["-----BEGIN PRIVATE", " KEY-----\nMIIE", SIGNS_36].concat();
    is("and without an end", "", &open, "", "private-key");
    assert!(VALUES.iter().all(|rule| rule.source.starts_with("https://")), "every rule says where it is from");
}

#[test]
fn what_is_no_secret_stays() {
    let is = |says: &str, text: &str| check(says, text, text, &[]);
    let sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    is("nothing", "");
    is("a number of an operation", "operation 123e4567-e89b-42d3-a456-426614174000 failed");
    is("a file's hash in prose", &format!("The file has the SHA-256 {sha}, as listed."));
    is("a hash behind a name of its own", &format!("sha256: {sha}"));
    is("a word of prose", "token: optional");
    is("a description", "\"token\": \"The token that the caller was given, 32 signs.\"");
    is("a type", "password: Option<SecretString>, token: string");
    is("a count", "token_count: 1234567890123456, tokens_max = 200, TOKEN_LIMIT=abc123def456ghi789");
    is("a name about a secret", "password_file: /run/secrets/db_password1\nsecret_name=prod-db-2024-eu1");
    is("a placeholder in angles", "API_KEY=<your-token>\ntoken: <YOUR_TOKEN_1234567890>");
    is("a placeholder to fill in", "token: your-api-token-here-1234\npassword: changeme123!");
    is("a variable", "TOKEN=${TOKEN}\npassword: $DB_PASSWORD1\nsecret: {{ vault.secret1 }}\nTOKEN=%TOKEN_9%");
    is("a row of x", "token: xxxxxxxxxxxxxxxxxxxx");
    is("a marked row of x", &["ghp", "_", &"x".repeat(36)].concat());
    is("a call", "let token = read_token_v2(config);\npassword = os.environ['DB_PASSWORD1']");
    is("a path of names", "token: self.config.auth2.token_v1, secret = settings.API_SECRET_V2");
    is("a vocabulary", "token: o200k_base");
    is("a URL without a password", "http://me@host:8080/a:b@c and https://host:443/x");
    is("a URL with the word for one", "postgres://user:password@host/db redis://:${PASS}@h");
    is("a public key", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----");
    is("half a web token", ["ey", "JhbGciOiJIUzI1NiJ9 is a header"].concat().as_str());
    is("words that begin like tokens", "task-oriented sk-learn hf_hub npm_config_registry asking SKU xoxo-");
    is("a mark within a word", &["my", "ghp", "_", SIGNS_36].concat());
    for (source, text) in SOURCES {
        is(source, text);
    }
}

#[test]
fn vendors_examples_go_like_any_other() {
    let is = |says: &str, before: &str, secret: &str, after: &str, rule: &str| {
        check(says, &format!("{before}{secret}{after}"), &format!("{before}[REDACTED:{rule}]{after}"), &[rule]);
    };
    let identifier = concat!("AKIA", "IOSFODNN7", "EXAMPLE");
    is("an identifier of AWS", "Use ", identifier, " in a test.", "aws-access-key-id");
    let secret = concat!("wJalrXUtnFEMI", "/K7MDENG/", "bPxRfiCYEXAMPLEKEY");
    is("and its secret", "aws_secret_access_key = ", secret, "\n", "aws-secret-key");
    let pair = format!("{identifier},{secret}\n");
    let rules = ["aws-access-key-id", "aws-secret-key"];
    check("both without a name", &pair, "[REDACTED:aws-access-key-id],[REDACTED:aws-secret-key]\n", &rules);
    let basic = concat!("QWxhZGRpbjpv", "cGVuIHNlc2FtZQ==");
    is("a header of RFC 7617", "Authorization: Basic ", basic, "\n", "authorization-header");
}

/// Shapes that stood in packages' documentation, or in the issue that asked for this table.
const SHAPES: &[(&str, &str)] = &[
    ("a type", "password: string\ntoken: Option<String>\nsecret: Vec<u8>\nfn login(password: &str, token: String)"),
    ("a signature", "def login(username, password):\n    User.objects.create(username=username, password=password)"),
    ("a signature with a default", "function connect(token = undefined, secret = null, password = '') {}"),
    ("a placeholder in angles", "password: <your password>\n--token <TOKEN_1234567890abc>\nPASSWORD=<password>"),
    (
        "a variable of a shell",
        "TOKEN=${X}\nexport PASSWORD=$DB_PASSWORD1\ncurl -u user:$TOKEN http://a\nA_SECRET=$(pass show a1)",
    ),
    ("a variable within a shell's quotes", "-d '{\"password\": \"'$NEW_PASS'\"}'"),
    (
        "a variable of a template",
        "password: {{ x }}\nsecret: {{ .Values.secret1 }}\ntoken: ${{ secrets.TOKEN_1 }}\na_token: #{token1}",
    ),
    ("an empty value", "password=\nPASSWORD=\"\"\ntoken: ''\nsecret:\n\n<password></password>"),
    ("a call", "password = getpass()\ntoken = getpass.getpass('Token 1: ')\nsecret=read_secret2(path)"),
    (
        "a call that goes on",
        "token = OAuth2Token.find(\n    name='a')\npassword = serializers.CharField(\n    max_length=100)",
    ),
    (
        "the environment",
        "password: process.env.X2,\ntoken = os.environ[\"API_TOKEN_1\"]\nconst secret = env::var(\"SECRET_1\")?;",
    ),
    ("a constructor", "secret: Secret::new(...)\npassword: SecretString::from(value1)\nvar p = new Password();"),
    ("signs for what was typed", "Password: ********\ntoken: xxxxxxxx-xxxx-xxxx\nsecret: ...\ntoken_secret: 'o67..X'"),
    ("prose", "password: The password of the user\nThe token is base64url-encoded. The password is required."),
    (
        "prose of forms",
        "The password is hashed with PBKDF2-HMAC-SHA256; the token is a UUID, the secret is 32-byte random.",
    ),
    ("a verb", ":param kwargs: Extra arguments to pass to `!connect1()`. Pass a1b2c3 as the name."),
    ("a regular expression", "password: /^(?=.*[A-Z])(?=.*[0-9]).{8,}$/\ntoken = re.compile(r'[A-Za-z0-9]{20,40}')"),
    ("a commit", "commit 7be9e80f3c4d2a1b5e6f708192a3b4c5d6e7f809\nref: 7be9e80f3c4d2a1b5e6f708192a3b4c5d6e7f809"),
    (
        "a UUID that nothing names",
        "id: 123e4567-e89b-42d3-a456-426614174000\n/users/123e4567-e89b-42d3-a456-426614174000",
    ),
    (
        "a row of names",
        "'fields': ('email', 'password1', 'password2')\nplugins: `mysql_native_password`, `sha256_password`",
    ),
    ("an argument of its own name", "f(client_secret=client_secret, password=self.password1, token=args.token_2)"),
    (
        "a name for the value",
        "s3_secret_access_key = 's3-secret-access-key'\nmysql://glance:GLANCE_DBPASS@controller/glance",
    ),
    ("an encoding behind a secret", "Buffer.from(secret, 'base64')\ncrypto.createHmac('sha256', secret)"),
    (
        "the end of a lookup",
        "User.objects.filter(password__startswith='bcrypt$$').exclude(password__startswith='sha1$$')",
    ),
    ("a file of passwords", "the password comes from `PGPASSWORD` or `~/.pgpass`\npassword-file: /run/secrets/db1"),
    (
        "a URL of a manual",
        "https://user:pass@sub.example.com:8080/p https://abc:xyz@example.com http://a:b@c postgres://me:me@h",
    ),
    (
        "a key whose body is dots",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\nb'-----BEGIN RSA PRIVATE KEY-----'",
    ),
    ("a key cut short", "privateKey: \"-----BEGIN PRIVATE KEY-----\\nMIIEog...\""),
    ("a setting about passwords", "set password_encryption = 'scram-sha-256'\nsan_password:**,max_time:60"),
    ("a cross-reference", "- password: :py:class:`keystoneauth1.identity.v2.Password`"),
    ("a prompt", "Enter password:\n    Out[2]: 'sha1:67c9e60bb8b6'"),
    ("a placeholder at a line's end", "san_password=<password>\n   api_count=<count2>\n"),
    ("a list of methods", "methods=['v3password', 'v3totp']"),
    ("a place in a list", "next_page_token: \"CAUQAA1b2c3d4e5f6g7\"\nnextToken=AbCd1234EfGh5678IjKl"),
    (
        "a map beside a secret",
        "kind: ConfigMap\ndata:\n  level: info1234\n---\nkind: SecretStore\ndata:\n  level: info1234",
    ),
    ("a manifest's own fields", "kind: Secret\nmetadata:\n  name: db-login-1\ntype: Opaque\ndata:\n  user: <base64>\n"),
    ("an option of another command", "docker run -u 1000:1000 -p 8080:80 app\nmkdir -p a1/b2C3/d4\nps -a x1y2z3w4"),
];

#[test]
fn shapes_of_documentation_stay() {
    let is = |says: &str, text: &str| check(says, text, text, &[]);
    let sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let base64 = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
    for (says, text) in SHAPES {
        is(says, text);
    }
    is("a sum of a file", &format!("{sha}  a.tar.gz\nsha256: {sha}\npassword_sha256={sha}"));
    is("a lock file", &format!("\"integrity\": \"sha512-{base64}\"\ntoken: sha512-{base64}"));
    is("a package's sum", &format!("checksum = \"{sha}\"\nsecret_digest: sha256:{sha}"));
}

#[test]
fn hostile_texts_are_read_once() {
    for piece in [
        "eyJ",
        "sk-",
        "token=",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "password:\"",
        ":AA",
        "ghp_",
        "xoxb-",
        "eyJa.",
        "\u{0}é",
        "AccountKey=a",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        let clean = redact(&text).text.into_owned();
        assert_eq!(redact(&clean).text, clean, "{piece}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        concat!("gh", "p_").to_owned(),
        SIGNS_36.to_owned(),
        "AKIA".to_owned(),
        "J7Q2ZP5KXW3MTR6N".to_owned(),
        "sk-".to_owned(),
        "ant-".to_owned(),
        "password".to_owned(),
        "_token".to_owned(),
        "=".to_owned(),
        ": ".to_owned(),
        "\"".to_owned(),
        "'".to_owned(),
        "\n".to_owned(),
        " ".to_owned(),
        "://".to_owned(),
        "user:".to_owned(),
        "@".to_owned(),
        "eyJ".to_owned(),
        ".".to_owned(),
        "-".to_owned(),
        "_".to_owned(),
        "-----BEGIN PRIVATE KEY-----".to_owned(),
        "-----END PRIVATE KEY-----".to_owned(),
        "]".to_owned(),
        "[REDACTED:github-token]".to_owned(),
        "Authorization: Bearer ".to_owned(),
        "123456789:AA".to_owned(),
        "&".to_owned(),
        ";".to_owned(),
        ",".to_owned(),
        ">".to_owned(),
        "</".to_owned(),
        "\\".to_owned(),
        "é🙂".to_owned(),
        "secret_access_key=".to_owned(),
        BASE64_40.to_owned(),
        "AccountKey=".to_owned(),
    ]);
    prop::collection::vec(prop_oneof![6 => known, 1 => ".{0,12}"], 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn twice_changes_nothing(text in pieces()) {
        let once = redact(&text);
        let letters: Vec<char> = text.chars().collect();
        let mut rebuilt = String::new();
        let mut at = 0;
        for finding in &once.found {
            rebuilt.extend(&letters[at..finding.char_start]);
            rebuilt.push_str(&format!("[REDACTED:{}]", finding.rule));
            at = finding.char_end;
        }
        rebuilt.extend(&letters[at..]);
        prop_assert_eq!(&rebuilt, &once.text, "offsets are those of the original");
        let again = redact(&once.text);
        prop_assert_eq!(&again.text, &once.text);
    }
}
