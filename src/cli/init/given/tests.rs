use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: InitArgs,
}

#[test]
fn a_program_is_written_without_its_secrets() {
    let rows: [(&[&str], &[&str], &str); 8] = [
        (&["--top", "5", "/notes"], &["--top", "5", "/notes"], "nothing secret"),
        (&["--api-key", "s3cret"], &["--api-key", "${env:X_API_KEY}"], "what a flag takes"),
        (&["--accessToken=s3cret"], &["--accessToken=${env:X_ACCESSTOKEN}"], "behind a sign"),
        (&["-e", "API_KEY=s3cret"], &["-e", "API_KEY=${env:X_API_KEY}"], "a variable handed on"),
        (
            &["--header", "Authorization: Bearer s3cret"],
            &["--header", "Authorization: ${env:X_AUTHORIZATION}"],
            "a header",
        ),
        (&["postgres://me:s3cret@db/notes"], &["${env:X_URL}"], "an address"),
        (
            &["--a=postgres://me:s3cret@db/a", "libsql://x?authToken=s3cret", "http://h/?token=s3cret"],
            &["--a=${env:X_A}", "${env:X_URL}", "${env:X_URL_2}"],
            "several",
        ),
        (&["--password", "--verbose", "${HOME}"], &["--password", "--verbose", "$${HOME}"], "a flag that takes none"),
    ];
    for (args, expected, sentence) in rows {
        let line = ["init", "--", "server"].iter().chain(args);
        let given = InitInput::read(&Line::parse_from(line).args).unwrap();
        let written = given.written("x");
        assert_eq!(written.program[1..], *expected, "{sentence}");
        assert!(!given.monitor().url.shown.contains("s3cret"), "{sentence}");
        let back = written.program[1..].iter().map(|arg| {
            let with = |arg: String, (name, value): &(String, String)| arg.replace(&format!("${{env:{name}}}"), value);
            written.known.iter().fold(arg.clone(), with).replace("$${", "${")
        });
        assert!(back.eq(args.iter().map(|arg| (*arg).to_owned())), "{sentence}");
    }
}

#[test]
fn a_variable_is_written_without_its_secret() {
    let rows = [
        ("LANG=C", "C"),
        ("PWD=/srv", "/srv"),
        ("A_TOKEN=s3cret", "${env:A_TOKEN}"),
        ("DB_PASS=s3cret", "${env:DB_PASS}"),
        ("DB=mysql://me:s3cret@db/x", "${env:DB}"),
        ("ODBC=Server=db;Pwd=s3cret", "${env:ODBC}"),
    ];
    for (given, expected) in rows {
        let args = Line::parse_from(["init", "--env", given, "--", "s"]).args;
        assert_eq!(InitInput::read(&args).unwrap().written("x").env[0].1, expected, "{given}");
    }
}

#[test]
fn an_address_is_written_without_its_secret_and_the_secret_is_known() {
    let rows = [
        ("https://h.example.org/mcp", "https://h.example.org/mcp", None),
        ("https://h.example.org/s/9f8a0123456789abcdef/mcp", "${env:X_URL}", Some("9f8a0123456789abcdef")),
        ("https://ghp_0123456789abcdef@h.example.org/mcp", "${env:X_URL}", Some("ghp_0123456789abcdef")),
        ("https://anna@h.example.org/mcp", "${env:X_URL}", None),
        ("https://h.example.org/mcp?key=verysecret", "${env:X_URL}", Some("verysecret")),
    ];
    for (url, expected, secret) in rows {
        let given = InitInput::read(&Line::parse_from(["init", url]).args).unwrap();
        let written = given.written("x");
        assert_eq!(written.url, expected, "{url}");
        let is_hidden = |secret: &str| written.betrays(secret) && !given.monitor().url.shown.contains(secret);
        assert!(secret.is_none_or(is_hidden), "{url}");
    }
}

#[test]
fn an_argument_of_a_search_may_be_no_secret() {
    let given = |text: &str| arguments(&[text.to_owned()]).map_err(|why| why.to_string());
    assert!(given("api_key=s3cret").is_err_and(|why| why.contains("'api_key'") && why.contains("--bearer-env")));
    assert_eq!(given("max_tokens=5").unwrap()["max_tokens"], "5");
}
