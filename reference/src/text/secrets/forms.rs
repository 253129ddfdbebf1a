//! What drawn values, words, names and placeholders look like, each judged by its signs alone.

/// Whether a value is a row of one sign, or says that it was taken out or has to be filled in.
pub(crate) fn is_blank(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    ["redacted", "xxxx", "****", "...", "…", "your-", "your_", "placeholder"].iter().any(|mark| low.contains(mark))
        || (value.len() < DRAWN_LEAST && value.contains(".."))
}

/// Whether a value stands for one that is to be filled in, or was taken out.
pub(crate) fn is_placeholder(value: &str) -> bool {
    // Quotes that end a shell's string around a variable: `"'$PASSWORD'"`.
    let value = value.trim_matches(['\'', '"']);
    let low = value.to_lowercase();
    let marks = [
        "example",
        "changeme",
        "change-me",
        "change_me",
        "dummy",
        "${",
        "{{",
        "$(",
        "<your",
        "your",
        "1234567890abcdef",
        "insert",
        "replace",
        "goes-here",
        "goes_here",
        "_here",
        "-here",
        "todo",
        "#{",
        "<%",
    ];
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let within = |open: char, close: char| value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    is_blank(value)
        || within('<', '>').is_some()
        || within('{', '}').is_some()
        || within('[', ']').is_some()
        || within('%', '%').is_some_and(is_name)
        || within('_', '_').is_some()
        || value.strip_prefix('$').is_some_and(is_name)
        || low == "%s"
        || (low.starts_with("%(") && low.ends_with(")s"))
        || value.ends_with("()")
        || value.starts_with("**")
        || value.starts_with("${")
        || marks.iter().any(|mark| low.contains(mark))
}

/// Whether a password is the word for one.
pub(crate) fn is_label(value: &str) -> bool {
    let low = value.to_lowercase();
    ["password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "port"].contains(&low.as_str())
        || low.chars().all(|c| c == '*' || c == 'x' || c == '.')
}

/// Whether a value has the form of something that is public: a checksum, a date, a version, a file, an address.
pub(crate) fn is_known(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    let bytes = low.as_bytes();
    let is_date = bytes.len() >= 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && [0, 1, 2, 3, 5, 6, 8, 9].iter().all(|at| bytes[*at].is_ascii_digit());
    let names = [
        "sha1-", "sha256-", "sha384-", "sha512-", "sha1:", "sha256:", "sha512:", "md5:", "arn:", "urn:", "refs/", "0x0",
    ];
    let is_number = bytes.iter().all(|byte| byte.is_ascii_digit() || b".,:-_+%".contains(byte));
    let is_path = value.starts_with("~/")
        || (value.starts_with(['/', '.']) && run(value) > WORDY_RUN_MIN && !is_scattered(value));
    is_date || is_number || is_path || names.iter().any(|name| low.starts_with(name))
}

/// Whether a value is itself a name for a secret: `password2`, `s3-secret-access-key`, `DB_PASSWORD_1`.
pub(crate) fn is_named_so(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    let names = ["password", "passwd", "passphrase", "secret", "token", "credential", "key"];
    let is_name = low.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
    let words = low.trim_end_matches(|c: char| c.is_ascii_digit());
    // Not `monkey`.
    let is_numbered =
        low.len() - words.len() < DIGITS_MIN && names[..names.len() - 1].iter().any(|name| words.ends_with(name));
    let mut parts = low.split(['_', '-', '.', ':']).map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
    let is_row = low.contains(['_', '-']) && run(value) > WORDY_RUN_MIN && parts.any(|part| names.contains(&part));
    is_name && (is_row || is_numbered)
}

/// Whether a value mixes kinds of signs as drawn ones do.
pub(crate) fn is_varied(value: &str, least: usize, entropy_min: f64) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let length = value.chars().count();
    if length < least || entropy(value) < entropy_min || value.contains(char::is_whitespace) || value.contains("://") {
        return false;
    }
    let kinds = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        has(|byte| byte.is_ascii_punctuation() && !b"-_./\\,:;".contains(byte)) || !value.is_ascii(),
    ];
    let is_letters = !kinds[2] && !kinds[3];
    if is_letters {
        let changes =
            value.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        return length >= LETTERS_LEAST && changes.count() >= CASE_CHANGES_MIN && run(value) <= DRAWN_RUN_MAX;
    }
    kinds.iter().filter(|is_there| **is_there).count() >= 2
}

/// Whether letters and digits mix as in drawn values.
pub(crate) fn is_mixed(value: &str) -> bool {
    let is_hex = value.len() >= HEX_LEAST && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex || run(value) <= DRAWN_RUN_MAX || is_scattered(value)
}

/// Whether capitals, small letters and digits change places too often for words.
pub(crate) fn is_scattered(value: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_lowercase(), byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let changes = value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    value.len() >= DRAWN_LEAST && value.len() as f64 <= MIXED_RUN_MAX * (changes + 1) as f64
}

/// Whether a value is words with signs of code between them, such as `my-app-v2`, `admin:pass`, `a_secret!`.
pub(crate) fn is_of_words(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_kebab =
        value.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_./:".contains(&byte));
    is_kebab && digits < 2 && value.contains(['-', '_', '.', '/', ':']) && run(value) > DRAWN_RUN_MAX
}

/// The mean length of runs of letters (a capital goes with the small ones behind it) and of digits.
pub(crate) fn run(value: &str) -> f64 {
    let (mut runs, mut signs, mut last) = (0_u32, 0_u32, b'-');
    for byte in value.bytes() {
        let goes_on = match byte {
            b'0'..=b'9' => last.is_ascii_digit(),
            b'a'..=b'z' => last.is_ascii_alphabetic(),
            b'A'..=b'Z' => last.is_ascii_uppercase(),
            b'-' | b'_' | b'.' | b'/' | b':' => {
                last = byte;
                continue;
            }
            _ => false,
        };
        runs += u32::from(!goes_on);
        signs += 1;
        last = byte;
    }
    f64::from(signs) / f64::from(runs.max(1))
}

/// Shannon's entropy of the bytes, in bits a byte.
pub(crate) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether base64 holds `user:password`, as RFC 7617 writes it.
pub(crate) fn is_pair(value: &str) -> bool {
    let mut bytes = Vec::with_capacity(value.len());
    let (mut bits, mut held) = (0_u32, 0_u32);
    for sign in value.trim_end_matches('=').bytes() {
        let six = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(six)) & 0xFFFF;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xFF) as u8);
        }
    }
    let text = String::from_utf8(bytes).unwrap_or_default();
    let pair = text.split_once(':').filter(|(_, password)| password.len() >= PAIR_PASSWORD_LEAST);
    pair.is_some() && text.chars().all(|c| !c.is_control())
}

/// Signs of a drawn token at least.
pub(crate) const DRAWN_LEAST: usize = 16;
/// Digits that an unquoted value in spaced code needs, since names have few.
pub(crate) const DIGITS_MIN: usize = 3;
/// A value made of letters alone is a secret from here on, if its case changes often enough.
const LETTERS_LEAST: usize = 20;
/// Changes from a small letter to a capital in such a value.
const CASE_CHANGES_MIN: usize = 4;
/// The longest mean run of letters or digits in a drawn token: words are longer, drawn digits and letters mix.
pub(crate) const DRAWN_RUN_MAX: f64 = 3.4;
/// The mean run of letters or digits from which on a value may be names of code.
pub(crate) const WORDY_RUN_MIN: f64 = 2.5;
/// The longest mean run of signs of one kind in a drawn token, capitals and small letters told apart; that of names
/// such as `tokenFromHeader` is 3.
const MIXED_RUN_MAX: f64 = 2.4;
/// Hexadecimal digits that are drawn whatever their runs.
const HEX_LEAST: usize = 32;
/// Signs of the password in such a pair at least.
const PAIR_PASSWORD_LEAST: usize = 4;
