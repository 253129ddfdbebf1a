//! Kinds of secrets, each with the names people give it and how its values are drawn.

use crate::text::secrets::draw::Draw;

/// A kind of secret.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Names it goes by in settings.
    pub(crate) names: &'static [&'static str],
    /// Whether a person types it; else programs send it.
    pub(crate) is_password: bool,
    /// Draws a value.
    pub(crate) value: fn(&mut Draw) -> String,
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL_SAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CRYPT: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
const DIGITS: &str = "0123456789";
const SIGNS: &str = "!@#$%^&*-_=+?";
const WILD: &str = "!@#$%^&*-_=+?()[]{};:,.~/";
const WORDS: &[&str] = &[
    "summer",
    "winter",
    "dragon",
    "monkey",
    "orchid",
    "velvet",
    "canyon",
    "guitar",
    "pepper",
    "hammer",
    "silver",
    "falcon",
    "button",
    "cookie",
    "marble",
    "harbor",
    "maria",
    "thomas",
    "charlie",
    "rocket",
    "thunder",
    "jasmine",
    "liverpool",
    "coffee",
    "banana",
    "shadow",
    "tiger",
    "yellow",
    "copper",
    "lantern",
    "meadow",
    "pirate",
];

/// Base64 of bytes, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let alphabet: Vec<char> = BASE64.chars().collect();
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let held = three.iter().fold(0_usize, |held, byte| held << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        out.extend((0..=three.len()).map(|place| alphabet[held >> (18 - 6 * place) & 63]));
        out.push_str(&"="[..1].repeat(3 - three.len()));
    }
    out
}

fn base64_url(text: &str) -> String {
    base64(text.as_bytes()).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn bytes(draw: &mut Draw, count: usize) -> Vec<u8> {
    (0..count).map(|_| u8::try_from(draw.number(256)).expect("a byte")).collect()
}

fn uuid(draw: &mut Draw) -> String {
    [8, 4, 4, 4, 12].map(|count| draw.signs(count, HEX)).join("-")
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// What people choose: a word with a year and a sign, digits for letters, words in a row, now and then a bare word.
pub(crate) fn human(draw: &mut Draw) -> String {
    let (one, two) = (draw.one(WORDS), draw.one(WORDS));
    let sign = draw.one(&["", "", "!", "!", "#", "$", "?", "@"]);
    match draw.number(12) {
        0..=2 => format!("{}{}{sign}", capital(one), 1960 + draw.number(66)),
        3 => format!("{one}{}{sign}", draw.signs(2, DIGITS)),
        4 => format!("{one}{}", draw.signs(4, DIGITS)),
        5 | 6 => {
            let leet = format!("{}{two}", capital(one)).replace('a', "@").replace('o', "0").replace('e', "3");
            format!("{leet}{}", draw.number(100))
        }
        7 => format!("{}{}{}{sign}", capital(one), capital(two), draw.signs(2, DIGITS)),
        8 | 9 => format!(
            "{one}{}{two}{}{}",
            draw.one(&["-", "_", ".", "+"]),
            draw.one(&["-", "_", "."]),
            draw.signs(2, DIGITS)
        ),
        10 => format!("{sign}{}{}{}", draw.signs(2, DIGITS), capital(one), draw.signs(1, SIGNS)),
        _ => format!("{one}{two}"),
    }
}

/// What a password manager draws: each class of signs is there.
pub(crate) fn random(draw: &mut Draw) -> String {
    let count = 10 + draw.number(15);
    let signs = if draw.number(4) == 0 { WILD } else { SIGNS };
    let ends =
        [draw.signs(1, ALNUM), draw.signs(1, DIGITS), draw.signs(1, LOWER), draw.signs(1, signs), draw.signs(1, ALNUM)];
    let middle = draw.signs(count - 5, &[ALNUM, ALNUM, signs].concat());
    [ends[0].as_str(), &ends[1], &middle, &ends[2], &ends[3], &ends[4]].concat()
}

fn key(draw: &mut Draw) -> String {
    match draw.number(5) {
        0 => draw.signs(32, HEX),
        1 => draw.signs(64, HEX),
        2 => draw.signs(40, ALNUM),
        3 => uuid(draw),
        _ => {
            let count = 24 + draw.number(20);
            draw.signs(count, URL_SAFE)
        }
    }
}

const fn token(name: &'static str, names: &'static [&'static str], value: fn(&mut Draw) -> String) -> Kind {
    Kind { name, names, is_password: false, value }
}

const fn password(name: &'static str, names: &'static [&'static str], value: fn(&mut Draw) -> String) -> Kind {
    Kind { name, names, is_password: true, value }
}

/// Every kind that stands in carriers; those with a form of their own are blocks.
pub(crate) const KINDS: &[Kind] = &[
    token("aws access key id", &["AWS_ACCESS_KEY_ID", "S3_KEY_ID"], |d| {
        [d.one(&["AKIA", "ASIA"]), &d.signs(16, CAPITALS)].concat()
    }),
    token("aws secret key", &["AWS_SECRET_ACCESS_KEY", "S3_SECRET_ACCESS_KEY", "SECRET_ACCESS_KEY"], |d| {
        d.signs(40, BASE64)
    }),
    token("github token", &["GITHUB_TOKEN", "GH_PAT", "CI_LOGIN"], |d| match d.number(3) {
        0 => format!("github_{}_{}_{}", "pat", d.signs(22, ALNUM), d.signs(59, ALNUM)),
        _ => ["gh", d.one(&["p", "o", "u", "s"]), "_", &d.signs(36, ALNUM)].concat(),
    }),
    token("gitlab token", &["GITLAB_TOKEN", "CI_PAT"], |d| ["gl", "pat-", &d.signs(20, URL_SAFE)].concat()),
    token("slack token", &["SLACK_BOT_TOKEN", "SLACK"], |d| {
        ["xo", d.one(&["xb", "xp"]), "-", &d.signs(12, DIGITS), "-", &d.signs(13, DIGITS), "-", &d.signs(24, ALNUM)]
            .concat()
    }),
    token("slack webhook", &["SLACK_WEBHOOK_URL", "ALERTS"], |d| {
        [
            "https://hooks",
            ".slack.com/services/T",
            &d.signs(10, CAPITALS),
            "/B",
            &d.signs(10, CAPITALS),
            "/",
            &d.signs(24, ALNUM),
        ]
        .concat()
    }),
    token("discord token", &["DISCORD_TOKEN", "BOT_TOKEN"], |d| {
        let number = [d.one(&["1", "8", "4", "9"]), &d.signs(17, DIGITS)].concat();
        [base64_url(&number), [d.one(&["G", "X", "Y"]), &d.signs(5, URL_SAFE)].concat(), d.signs(38, URL_SAFE)]
            .join(".")
    }),
    token("discord webhook", &["DISCORD_WEBHOOK"], |d| {
        ["https://discord", ".com/api/webhooks/", &d.signs(18, "123456789"), "/", &d.signs(68, URL_SAFE)].concat()
    }),
    token("telegram token", &["TELEGRAM_BOT_TOKEN", "TG"], |d| {
        let digits = 8 + d.number(3);
        [&d.signs(digits, "123456789"), ":A", "A", &d.signs(33, URL_SAFE)].concat()
    }),
    token("stripe key", &["STRIPE_SECRET_KEY", "STRIPE"], |d| {
        let count = d.one(&[24, 99]);
        [d.one(&["sk", "rk"]), "_live_", &d.signs(count, ALNUM)].concat()
    }),
    token("google api key", &["GOOGLE_API_KEY", "MAPS"], |d| ["AI", "za", &d.signs(35, URL_SAFE)].concat()),
    token("azure storage key", &["AZURE_STORAGE_KEY", "STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCOUNT_KEY"], |d| {
        base64(&bytes(d, 64))
    }),
    token("openai key", &["OPENAI_API_KEY", "LLM"], |d| match d.number(2) {
        0 => ["sk", "-", &d.signs(20, ALNUM), "T3BlbkFJ", &d.signs(20, ALNUM)].concat(),
        _ => ["sk", "-proj-", &d.signs(74, URL_SAFE), "T3BlbkFJ", &d.signs(74, URL_SAFE)].concat(),
    }),
    token("anthropic key", &["ANTHROPIC_API_KEY", "MODEL"], |d| {
        ["sk", "-ant-api03-", &d.signs(93, URL_SAFE), "AA"].concat()
    }),
    token("npm token", &["NPM_TOKEN", "NODE_AUTH_TOKEN"], |d| ["np", "m_", &d.signs(36, ALNUM)].concat()),
    token("pypi token", &["PYPI_TOKEN", "TWINE_PASSWORD"], |d| {
        ["py", "pi-AgEIcHlwaS5vcmc", &d.signs(150, URL_SAFE)].concat()
    }),
    token("json web token", &["ACCESS_TOKEN", "SUPABASE_ANON"], |d| {
        let body = format!("{{\"sub\":\"{}\",\"iat\":17{}}}", d.signs(8, DIGITS), d.signs(8, DIGITS));
        [base64_url("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"), base64_url(&body), d.signs(43, URL_SAFE)].join(".")
    }),
    token("twilio key", &["TWILIO_API_KEY", "TWILIO"], |d| ["S", "K", &d.signs(32, HEX)].concat()),
    token("twilio auth token", &["TWILIO_AUTH_TOKEN"], |d| d.signs(32, HEX)),
    token("sendgrid key", &["SENDGRID_API_KEY", "MAIL"], |d| {
        ["S", "G.", &d.signs(22, URL_SAFE), ".", &d.signs(43, URL_SAFE)].concat()
    }),
    token("heroku key", &["HEROKU_API_KEY", "HEROKU_TOKEN"], uuid),
    token("vault token", &["VAULT_TOKEN", "VAULT"], |d| {
        let count = d.one(&[24, 90]);
        ["hv", "s.", &d.signs(count, ALNUM)].concat()
    }),
    token("terraform token", &["TFE_TOKEN", "TF_CLOUD"], |d| {
        [&d.signs(14, ALNUM), ".atlas", "v1.", &d.signs(67, ALNUM)].concat()
    }),
    token("digitalocean token", &["DIGITALOCEAN_TOKEN", "DO_PAT"], |d| ["do", "p_v1_", &d.signs(64, HEX)].concat()),
    token("hugging face token", &["HF_TOKEN", "HUB"], |d| ["h", "f_", &d.signs(34, ALNUM)].concat()),
    token("cloudflare token", &["CLOUDFLARE_API_TOKEN", "CF_API_KEY"], |d| match d.number(2) {
        0 => d.signs(37, HEX),
        _ => d.signs(40, URL_SAFE),
    }),
    token("mailgun key", &["MAILGUN_API_KEY", "MAILGUN"], |d| ["ke", "y-", &d.signs(32, HEX)].concat()),
    token("square token", &["SQUARE_ACCESS_TOKEN", "SQUARE"], |d| match d.number(2) {
        0 => ["sq0", "atp-", &d.signs(22, URL_SAFE)].concat(),
        _ => ["EA", "AA", &d.signs(60, URL_SAFE)].concat(),
    }),
    token("shopify token", &["SHOPIFY_ACCESS_TOKEN", "SHOP"], |d| ["sh", "pat_", &d.signs(32, HEX)].concat()),
    token("docker token", &["DOCKER_TOKEN", "REGISTRY"], |d| ["dckr", "_pat_", &d.signs(27, URL_SAFE)].concat()),
    token("age key", &["AGE_SECRET_KEY", "SOPS_AGE"], |d| {
        ["AGE-SECRET", "-KEY-1", &d.signs(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")].concat()
    }),
    token("password hash", &["ADMIN_PASSWORD_HASH", "HTPASSWD", "ROOT_PW"], |d| match d.number(3) {
        0 => ["$2", d.one(&["b", "y"]), "$1", &d.signs(1, "02"), "$", &d.signs(53, CRYPT)].concat(),
        1 => ["$", "6$", &d.signs(16, CRYPT), "$", &d.signs(86, CRYPT)].concat(),
        _ => ["$ap", "r1$", &d.signs(8, CRYPT), "$", &d.signs(22, CRYPT)].concat(),
    }),
    token("generic api key", &["API_KEY", "SERVICE_API_KEY", "X_API_KEY", "APP_API_KEY"], key),
    token("generic token", &["API_TOKEN", "AUTH_TOKEN", "REFRESH_TOKEN", "DEPLOY_TOKEN"], key),
    password("generic secret", &["CLIENT_SECRET", "JWT_SECRET", "SESSION_SECRET", "SECRET_KEY"], key),
    password(
        "random password",
        &["DB_PASSWORD", "SMTP_PASSWORD", "ADMIN_PASSWORD", "REDIS_PASS", "PASSWORD", "ROOT_PWD"],
        random,
    ),
    password(
        "human password",
        &["DB_PASSWORD", "MYSQL_ROOT_PASSWORD", "ADMIN_PASSWORD", "SMTP_PASS", "PASSWORD", "USER_PWD"],
        human,
    ),
];

/// A private key in PEM: its label and lines of base64.
pub(crate) fn pem(draw: &mut Draw) -> (&'static str, Vec<String>) {
    let label =
        draw.one(&["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]);
    let lines = 4 + draw.number(20);
    (label, (0..lines).map(|_| draw.signs(64, BASE64)).collect())
}
