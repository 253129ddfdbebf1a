//! What secrets stand in: settings, code, commands, logs, tables, prose; and blocks that are a form of their own.

use crate::text::secrets::draw::{Draw, Sample};
use crate::text::secrets::kinds::{base64, human, pem, random};

/// Which kinds stand in a carrier.
pub(crate) enum Fits {
    Any,
    Password,
    Token,
}

/// How a value is written there.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    /// Quoted where a shell would split or read it.
    Shell,
    /// Quoted where YAML would.
    Yaml,
    Xml,
    Url,
}

/// A text with a place for a name and its value.
pub(crate) struct Carrier {
    pub(crate) name: &'static str,
    pub(crate) fits: Fits,
    form: Form,
    /// `{NAME}`, `{name}`, `{kebab}`, `{camel}`, `{Pascal}`, `{words}` and `{v}`.
    text: &'static str,
}

const fn any(name: &'static str, form: Form, text: &'static str) -> Carrier {
    Carrier { name, fits: Fits::Any, form, text }
}

const fn token(name: &'static str, form: Form, text: &'static str) -> Carrier {
    Carrier { name, fits: Fits::Token, form, text }
}

const fn password(name: &'static str, form: Form, text: &'static str) -> Carrier {
    Carrier { name, fits: Fits::Password, form, text }
}

/// Every carrier; what stands beside the secret has to stay.
pub(crate) const CARRIERS: &[Carrier] = &[
    any(".env", Form::Shell, "PORT=8080\n{NAME}={v}\nREGION=eu-west-1\n"),
    any(".env in quotes", Form::Plain, "PORT=8080\n{NAME}=\"{v}\"\nREGION=eu-west-1\n"),
    any("shell export", Form::Shell, "#!/bin/sh\nexport {NAME}={v}\nexec server --port 8080\n"),
    any("PowerShell", Form::Plain, "$env:{NAME} = \"{v}\"\n./server --port 8080\n"),
    any("YAML", Form::Yaml, "server:\n  port: 8080\n  {name}: {v}\n  region: eu-west-1\n"),
    any("YAML in quotes", Form::Plain, "server:\n  {camel}: \"{v}\"\n  region: eu-west-1\n"),
    any("compose", Form::Plain, "    environment:\n      - {NAME}={v}\n      - REGION=eu-west-1\n"),
    any(
        "pod's environment",
        Form::Yaml,
        "        env:\n        - name: {NAME}\n          value: {v}\n        - name: REGION\n          value: eu-west-1\n",
    ),
    any("JSON", Form::Plain, "{\n  \"port\": 8080,\n  \"{camel}\": \"{v}\",\n  \"region\": \"eu-west-1\"\n}\n"),
    any("JSON on a line", Form::Plain, "{\"region\":\"eu-west-1\",\"{name}\":\"{v}\",\"port\":8080}"),
    any("JSON in a string", Form::Plain, "body = \"{\\\"{name}\\\": \\\"{v}\\\", \\\"port\\\": 8080}\""),
    any("TOML", Form::Plain, "[server]\nport = 8080\n{name} = \"{v}\"\nregion = \"eu-west-1\"\n"),
    any("INI", Form::Plain, "[server]\nport = 8080\n{name} = {v}\nregion = eu-west-1\n"),
    any("properties", Form::Plain, "server.port=8080\nspring.{kebab}={v}\nserver.region=eu-west-1\n"),
    any(
        "XML element",
        Form::Xml,
        "<server>\n  <port>8080</port>\n  <{camel}>{v}</{camel}>\n  <region>eu-west-1</region>\n</server>\n",
    ),
    any("XML attribute", Form::Xml, "<connector port=\"8080\" {camel}=\"{v}\" region=\"eu-west-1\"/>"),
    any("XML setting", Form::Xml, "<add key=\"Region\" value=\"eu-west-1\"/>\n<add key=\"{Pascal}\" value=\"{v}\"/>\n"),
    any("Terraform", Form::Plain, "provider \"cloud\" {\n  region = \"eu-west-1\"\n  {name}  = \"{v}\"\n}\n"),
    any("Dockerfile", Form::Shell, "FROM debian\nENV {NAME}={v}\nEXPOSE 8080\n"),
    any("Dockerfile, older", Form::Plain, "FROM debian\nENV {NAME} {v}\nEXPOSE 8080\n"),
    any("docker run", Form::Shell, "docker run -p 8080:80 -e {NAME}={v} registry/app\n"),
    any("systemd", Form::Plain, "[Service]\nEnvironment=\"{NAME}={v}\"\nEnvironment=REGION=eu-west-1\n"),
    any("Python", Form::Plain, "import os\n{name} = \"{v}\"\nregion = \"eu-west-1\"\n"),
    any("Python argument", Form::Plain, "client = Client(region='eu-west-1', {name}='{v}', port=8080)\n"),
    any("Python dictionary", Form::Plain, "settings = {'{name}': '{v}', 'port': 8080}\n"),
    any("Python default", Form::Plain, "{name} = os.environ.get(\"{NAME}\", \"{v}\")\nport = 8080\n"),
    any("Python, many lines", Form::Plain, "{NAME} = \"\"\"\n{v}\n\"\"\"\nPORT = 8080\n"),
    any("JavaScript", Form::Plain, "const {camel} = '{v}';\nconst region = 'eu-west-1';\n"),
    any("JavaScript object", Form::Plain, "const client = new Client({ region: 'eu-west-1', {camel}: '{v}' });\n"),
    any("JavaScript fallback", Form::Plain, "const {camel} = process.env.{NAME} || '{v}';\nlisten(8080);\n"),
    any("TypeScript", Form::Plain, "export const {camel}: string = '{v}';\nexport const port = 8080;\n"),
    any("Java", Form::Plain, "private static final String {NAME} = \"{v}\";\nstatic final int PORT = 8080;\n"),
    any("Java call", Form::Plain, "config.set{Pascal}(\"{v}\");\nconfig.setPort(8080);\n"),
    any("Go", Form::Plain, "\t{camel} := \"{v}\"\n\tport := 8080\n"),
    any("Go field", Form::Plain, "\tcfg := Config{Region: \"eu-west-1\", {Pascal}: \"{v}\"}\n"),
    any("Rust", Form::Plain, "const {NAME}: &str = \"{v}\";\nconst PORT: u16 = 8080;\n"),
    any("Rust call", Form::Plain, "let client = Client::builder().{name}(\"{v}\").region(\"eu-west-1\").build();\n"),
    any("PHP", Form::Plain, "define('{NAME}', '{v}');\ndefine('PORT', 8080);\n"),
    any("PHP array", Form::Plain, "    '{name}' => '{v}',\n    'region' => 'eu-west-1',\n"),
    any("Ruby", Form::Plain, "config.{name} = '{v}'\nconfig.region = 'eu-west-1'\n"),
    any("C#", Form::Plain, "var options = new Options { {Pascal} = \"{v}\", Port = 8080 };\n"),
    any("C", Form::Plain, "#define {NAME} \"{v}\"\n#define PORT 8080\n"),
    any("prose", Form::Plain, "The server is in eu-west-1. The {words} is {v}.\nAsk Kim for the rest."),
    any(
        "prose with code",
        Form::Plain,
        "Connect to eu-west-1; the {words} for the staging account is `{v}`, as before.",
    ),
    any("prose after a colon", Form::Plain, "Region: eu-west-1\n{Words}: {v}\nWrite it down.\n"),
    any("prose of a change", Form::Plain, "On Monday I set the {words} to {v} in eu-west-1."),
    any("prose the other way", Form::Plain, "In eu-west-1 use `{v}` as the {words}."),
    any("Markdown list", Form::Plain, "- **Region**: eu-west-1\n- **{Words}**: `{v}`\n"),
    any(
        "Markdown table",
        Form::Plain,
        "| setting | value |\n| --- | --- |\n| {NAME} | {v} |\n| REGION | eu-west-1 |\n",
    ),
    any(
        "Markdown table with code",
        Form::Plain,
        "| setting | value |\n|---|---|\n| `{name}` | `{v}` |\n| `region` | `eu-west-1` |\n",
    ),
    any("Markdown code", Form::Plain, "Set `{NAME}={v}` before you start it on port 8080.\n"),
    any("Markdown fence", Form::Shell, "Run:\n\n```sh\n{NAME}={v} ./server --port 8080\n```\n"),
    any("flag", Form::Shell, "server --port 8080 --{kebab} {v} --region eu-west-1\n"),
    any("flag with a sign", Form::Shell, "server --port 8080 --{kebab}={v} --region eu-west-1\n"),
    any("log line", Form::Plain, "2025-03-01T10:00:00Z INFO connect region=eu-west-1 {name}={v} port=8080\n"),
    any("log of JSON", Form::Plain, "ERROR {\"region\":\"eu-west-1\",\"{camel}\":\"{v}\"} refused\n"),
    any("query", Form::Url, "GET https://api.acme.io/v1/items?region=eu-west-1&{name}={v}&page=2 200\n"),
    any("login of a URL", Form::Url, "git clone https://deploy:{v}@git.acme.io/app.git -b eu-west-1\n"),
    any("comment", Form::Plain, "# {NAME}={v}\n# REGION=eu-west-1\n"),
    any("diff", Form::Plain, "-port = 8080\n+{name} = \"{v}\"\n region = \"eu-west-1\"\n"),
    any("curl -u", Form::Plain, "curl -u 'deploy:{v}' https://api.acme.io/eu-west-1\n"),
    any("YAML below", Form::Plain, "server:\n  port: 8080\n  {name}: >-\n    {v}\n  region: eu-west-1\n"),
    any("workflow", Form::Yaml, "    env:\n      {NAME}: {v}\n      REGION: eu-west-1\n"),
    token("header", Form::Plain, "GET /eu-west-1 HTTP/1.1\nAuthorization: Bearer {v}\nHost: api.acme.io\n"),
    token("curl -H", Form::Plain, "curl -H \"Authorization: Bearer {v}\" https://api.acme.io/eu-west-1\n"),
    token("header by name", Form::Plain, "curl -H 'X-{kebab}: {v}' https://api.acme.io:8080/\n"),
    token(
        "headers in code",
        Form::Plain,
        "fetch(url, { headers: { 'Authorization': `Bearer {v}`, 'Region': 'eu-west-1' } })\n",
    ),
    token("set header", Form::Plain, "request.setHeader(\"Authorization\", \"Bearer {v}\");\nrequest.port(8080);\n"),
    token("log of a header", Form::Plain, "DEBUG > authorization: Bearer {v}\nDEBUG > region: eu-west-1\n"),
    password("mysql -p", Form::Shell, "mysql -h db.acme.io -u root -p{v} shop\n"),
    password("sshpass", Form::Shell, "sshpass -p {v} ssh deploy@10.0.0.5 -p 8080\n"),
    password("docker login", Form::Shell, "docker login -u deploy -p {v} registry.acme.io:8080\n"),
    password("redis-cli", Form::Shell, "redis-cli -h cache.acme.io -p 8080 -a {v} ping\n"),
    password("SQL", Form::Plain, "CREATE USER shop IDENTIFIED BY '{v}';\nGRANT ALL ON shop.* TO shop;\n"),
    password("PostgreSQL", Form::Plain, "ALTER ROLE shop WITH PASSWORD '{v}';\n"),
    password("database URL", Form::Url, "DATABASE_URL=postgres://shop:{v}@db.acme.io:5432/shop?region=eu-west-1\n"),
    password("JDBC", Form::Url, "jdbc:mysql://db.acme.io:8080/shop?user=shop&password={v}&useSSL=true\n"),
    password(
        "connection string",
        Form::Plain,
        "Server=db.acme.io,8080;Database=shop;User Id=sa;Password='{v}';Encrypt=true\n",
    ),
    password(".netrc", Form::Plain, "machine api.acme.io login deploy password {v}\nmachine eu-west-1\n"),
    password(
        ".netrc, many lines",
        Form::Plain,
        "machine api.acme.io\n  login deploy\n  password {v}\n\nmachine eu-west-1\n",
    ),
    password("login in prose", Form::Plain, "Sign in as admin with password {v} and choose eu-west-1.\n"),
];

impl Carrier {
    /// The text with a name (in capitals) and a value, and the value as it stands there.
    pub(crate) fn fill(&self, name: &str, value: &str) -> (String, String) {
        let value = self.form.write(value);
        let low = name.to_lowercase();
        let pascal: String = low.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let words = low.replace('_', " ");
        let text = self.text.replace("{NAME}", name).replace("{name}", &low).replace("{kebab}", &low.replace('_', "-"));
        let text = text.replace("{camel}", &(low[..1].to_owned() + &pascal[1..])).replace("{Pascal}", &pascal);
        let text = text.replace("{words}", &words).replace("{Words}", &(words[..1].to_uppercase() + &words[1..]));
        (text.replace("{v}", &value), value.trim_matches('\'').to_owned())
    }
}

impl Form {
    fn write(self, value: &str) -> String {
        let is_plain = |also: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c));
        match self {
            Self::Shell if !is_plain("-_=+.,:/@%^") => format!("'{value}'"),
            Self::Yaml if !is_plain("-_=+./$^?") || !value.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                format!("'{value}'")
            }
            Self::Plain | Self::Shell | Self::Yaml => value.to_owned(),
            Self::Xml => value.replace('&', "&amp;").replace('<', "&lt;"),
            Self::Url => value.chars().fold(String::new(), |out, c| match c {
                _ if c.is_ascii_alphanumeric() || "-_.~".contains(c) => out + &c.to_string(),
                _ => out + &format!("%{:02X}", u32::from(c)),
            }),
        }
    }
}

fn block(kind: &'static str, carrier: &'static str, text: String, pieces: Vec<String>) -> Sample {
    Sample { kind, carrier, text, pieces }
}

/// Secrets whose form is their carrier.
pub(crate) fn blocks(draw: &mut Draw) -> Vec<Sample> {
    let mut all = Vec::new();
    for _ in 0..4 {
        all.extend(keys(draw));
        all.extend(manifests(draw));
        all.extend(logins(draw));
    }
    all
}

fn keys(draw: &mut Draw) -> Vec<Sample> {
    let mut framed = |newline: &str| {
        let (label, lines) = pem(draw);
        (format!("-----{} {label}-----{newline}{}{newline}-----END {label}-----", "BEGIN", lines.join(newline)), lines)
    };
    let mut all = Vec::new();
    let rows: [(&str, &str, &str, &str); 8] = [
        ("a file", "", "\n", "\n"),
        ("a here-document", "cat > key.pem <<EOF\n", "\n", "\nEOF\nport=8080\n"),
        ("YAML", "tls:\n  key: |\n    ", "\n    ", "\n  port: 8080\n"),
        ("JSON", "{\"port\": 8080, \"key\": \"", "\\n", "\\n\"}\n"),
        ("Python", "KEY = \"\"\"", "\n", "\"\"\"\nPORT = 8080\n"),
        (".env", "PORT=8080\nKEY=\"", "\\n", "\"\n"),
        ("Markdown", "The key:\n\n```\n", "\n", "\n```\n\nIt listens on 8080.\n"),
        ("Java", "String key = \"", "\\n\" +\n    \"", "\";\nint port = 8080;\n"),
    ];
    for (carrier, before, newline, after) in rows {
        let (text, lines) = framed(newline);
        all.push(block("private key", carrier, format!("{before}{text}{after}"), lines));
    }
    let (text, lines) = framed("\\n");
    let account = format!(
        "{{\n  \"type\": \"service_account\",\n  \"project_id\": \"eu-west-1\",\n  \"private_key\": \"{text}\\n\",\n  \"client_id\": \"8080\"\n}}\n"
    );
    all.push(block("google service account", "JSON", account, lines));
    let encoded = base64(framed("\n").0.as_bytes());
    all.push(block(
        "private key",
        "kubeconfig",
        format!("    client-key-data: {encoded}\n    port: 8080\n"),
        vec![encoded],
    ));
    let lines: Vec<String> = (0..6).map(|_| draw.signs(64, "ABCDEFghijklMNOPqrst0123456789+/")).collect();
    let putty = format!(
        "PuTTY-User-Key-File-3: ssh-ed25519\nComment: eu-west-1\n{}: 6\n{}\nPrivate-MAC: 8080\n",
        concat!("Private", "-Lines"),
        lines.join("\n")
    );
    all.push(block("private key", "PuTTY", putty, lines));
    all
}

fn manifests(draw: &mut Draw) -> Vec<Sample> {
    let mut all = Vec::new();
    let (one, two) = (random(draw), human(draw));
    let (one_encoded, two_encoded) = (base64(one.as_bytes()), base64(two.as_bytes()));
    let both = vec![one_encoded.clone(), two_encoded.clone()];
    all.push(block("kubernetes secret", "data", format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: eu-west-1\ntype: Opaque\ndata:\n  login: {one_encoded}\n  {}.conf: {two_encoded}\n---\nkind: ConfigMap\ndata:\n  port: \"8080\"\n", "db"), both.clone()));
    all.push(block("kubernetes secret", "data before kind", format!("apiVersion: v1\ndata:\n  a: {one_encoded}\n  b: \"{two_encoded}\"\nkind: Secret\nmetadata:\n  name: eu-west-1\n"), both.clone()));
    all.push(block("kubernetes secret", "strings", format!("```yaml\nkind: Secret\nmetadata:\n  name: eu-west-1\nstringData:\n  admin: '{one}'\n  config.yaml: |\n    user: shop\n    login: '{one}'\n```\n"), vec![one.clone()]));
    all.push(block("kubernetes secret", "JSON", format!("{{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {{\"name\": \"eu-west-1\"}}, \"data\": {{\"a\": \"{one_encoded}\", \"b\": \"{two_encoded}\"}}}}"), both));
    let login = base64(format!("deploy:{one}").as_bytes());
    all.push(block(
        "docker login",
        "config.json",
        format!(
            "{{\n\t\"auths\": {{\n\t\t\"registry.acme.io:8080\": {{\n\t\t\t\"auth\": \"{login}\"\n\t\t}}\n\t}}\n}}\n"
        ),
        vec![login.clone()],
    ));
    all.push(block(
        "docker login",
        "on a line",
        format!("{{\"auths\":{{\"https://index.docker.io/v1/\":{{\"auth\":\"{login}\"}}}}}}"),
        vec![login.clone()],
    ));
    all.push(block("docker login", ".npmrc", format!("//registry.acme.io:8080/:_auth={login}\n"), vec![login.clone()]));
    all.push(block(
        "basic header",
        "header",
        format!("Authorization: Basic {login}\nHost: eu-west-1.acme.io\n"),
        vec![login.clone()],
    ));
    all.push(block(
        "basic header",
        "curl -H",
        format!("curl -H 'Authorization: Basic {login}' https://api.acme.io:8080\n"),
        vec![login.clone()],
    ));
    all.push(block(
        "basic header",
        "code",
        format!("headers = {{\"authorization\": \"Basic {login}\", \"region\": \"eu-west-1\"}}\n"),
        vec![login],
    ));
    all
}

fn logins(draw: &mut Draw) -> Vec<Sample> {
    let mut all = Vec::new();
    let account = base64(draw.signs(64, "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ").as_bytes());
    all.push(block("azure connection string", "settings", format!("AZURE_STORAGE_CONNECTION_STRING=\"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={account};EndpointSuffix=core.windows.net\"\nREGION=eu-west-1\n"), vec![account.clone()]));
    all.push(block("azure connection string", "JSON", format!("{{\"bus\": \"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}\", \"port\": 8080}}", &account[..44]), vec![account[..44].to_owned()]));
    let identifier = ["AK", "IA", &draw.signs(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")].concat();
    let secret = draw.signs(40, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    for (carrier, text) in [
        ("by turns", format!("Access key: {identifier}\nSecret: {secret}\nRegion: eu-west-1\n")),
        ("CSV", format!("User name,Access key ID,Secret access key\nshop,{identifier},{secret}\n")),
        ("one behind the other", format!("keys for eu-west-1: {identifier} / {secret}\n")),
        ("rclone", format!("[s3]\naccess_key_id = {identifier}\nsecret_access_key = {secret}\nregion = eu-west-1\n")),
    ] {
        all.push(block("aws pair", carrier, text, vec![identifier.clone(), secret.clone()]));
    }
    let crypt = draw.signs(53, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./");
    let long = draw.signs(86, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./");
    for (carrier, text, piece) in [
        ("htpasswd", format!("deploy:$2y$10${crypt}\n"), crypt.clone()),
        ("htpasswd, apr1", format!("deploy:$apr1$k3l4m5n6${}\n", &crypt[..22]), crypt[..22].to_owned()),
        (
            "htpasswd, SHA",
            format!("deploy:{{SHA}}{}=\n", &crypt[..27].replace('.', "a")),
            crypt[..27].replace('.', "a"),
        ),
        ("shadow", format!("root:$6$aB3dE5fG7hJ9kL1m${long}:19000:0:99999:7:::\n"), long.clone()),
        (
            "shadow, yescrypt",
            format!("root:$y$j9T$aB3dE5fG7hJ9kL1m${}:19000:0:99999:7:::\n", &long[..43]),
            long[..43].to_owned(),
        ),
        ("compose", format!("      - traefik.auth.users=deploy:$$2y$$10$${crypt}\n"), crypt.clone()),
        (
            "Django",
            format!(
                "INSERT INTO auth_user VALUES (1, 'pbkdf2_sha256$600000$aB3dE5fG7hJ9${}=');",
                &crypt[..43].replace('.', "a")
            ),
            crypt[..43].replace('.', "a"),
        ),
        (
            "argon2",
            format!("hash = \"$argon2id$v=19$m=65536,t=3,p=4$aB3dE5fG7hJ9kL1m${}\"", &crypt[..43].replace('.', "a")),
            crypt[..43].replace('.', "a"),
        ),
    ] {
        all.push(block("password file", carrier, text, vec![piece]));
    }
    all
}
