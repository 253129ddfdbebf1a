//! `WWW-Authenticate`, as far as a probe needs it: the parameters of a Bearer challenge (RFC 9110 §11, RFC 6750 §3).

/// A parameter of the Bearer challenge of a header; names in any case, quotes and escapes taken off.
pub(crate) fn parameter(header: &str, name: &str) -> Option<String> {
    let at = header.to_ascii_lowercase().find("bearer")?;
    let mut rest = header.get(at + "bearer".len()..)?;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (key, after) = rest.split_once('=')?;
        let (value, after) = value_of(after)?;
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
}

fn value_of(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, &quoted[at + 1..])),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn parameters_are_found_in_any_writing() {
        let rows = [
            (r#"Bearer resource_metadata="https://a/x", scope="r w""#, Some("r w"), "the usual form"),
            (r#"Bearer realm="a, b=c" , SCOPE = read"#, Some("read"), "a token, another case, commas in quotes"),
            (r#"Basic realm="x", Bearer scope="s\"q""#, Some("s\"q"), "a second challenge, an escape"),
            ("Bearer", None, "nothing said"),
            (r#"Bearer realm="x"#, None, "a quote that does not end"),
            ("Basic scope=x", None, "another scheme"),
            ("", None, "no header"),
        ];
        for (header, expected, sentence) in rows {
            assert_eq!(parameter(header, "scope").as_deref(), expected, "{sentence}");
        }
    }
}
