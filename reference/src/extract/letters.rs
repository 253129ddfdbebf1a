//! Bytes and names of glyphs as letters: what pages and PDFs say that are not written in Unicode.

/// Windows-1252 from 0x80 to 0x9f; what it leaves open is a blank.
const WINDOWS: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";
/// Mac OS Roman from 0x80; the apple is a blank.
const MAC: &str = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø\
    ¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";
/// Adobe's standard encoding from 0xa0; what it leaves open is a blank. Below 0x80 it has curly quotes.
const STANDARD: &str = " ¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ\
    —                Æ ª    ŁØŒº     æ   ı  łøœß    ";

/// How a font's codes or a page's bytes are letters, where nothing says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Adobe's standard encoding.
    #[default]
    Standard,
    /// Windows-1252.
    Windows,
    /// Mac OS Roman.
    Mac,
}

impl Encoding {
    /// The letter of a byte; `None` where there is none.
    pub fn letter(self, code: u8) -> Option<char> {
        let found = match (self, code) {
            (Self::Standard, b'\'') => '’',
            (Self::Standard, b'`') => '‘',
            (_, 0x20..=0x7e) => char::from(code),
            (Self::Windows, 0xa0..) => char::from(code),
            (Self::Windows, 0x80..=0x9f) => WINDOWS.chars().nth(usize::from(code - 0x80))?,
            (Self::Mac, 0x80..) => MAC.chars().nth(usize::from(code - 0x80))?,
            (Self::Standard, 0xa0..) => STANDARD.chars().nth(usize::from(code - 0xa0))?,
            _ => return None,
        };
        (code == b' ' || found != ' ').then_some(found)
    }
}

/// The bytes of a page as letters: UTF-8, UTF-16 with its mark, or else Windows-1252, as browsers take what says nothing.
pub fn page(bytes: &[u8]) -> String {
    let pairs = |read: fn([u8; 2]) -> u16| -> String {
        let units = bytes.chunks_exact(2).skip(1).map(|pair| read([pair[0], pair[1]]));
        char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => pairs(u16::from_le_bytes),
        [0xfe, 0xff, ..] => pairs(u16::from_be_bytes),
        _ => match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if says_utf8(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(_) => bytes.iter().map(|byte| latin(*byte)).collect(),
        },
    }
}

fn latin(byte: u8) -> char {
    if byte < 0x80 { char::from(byte) } else { Encoding::Windows.letter(byte).unwrap_or(char::REPLACEMENT_CHARACTER) }
}

/// Whether a page's head says that it is UTF-8: then a wrong byte is a wrong byte.
fn says_utf8(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(bytes.get(..1_024).unwrap_or(bytes)).to_lowercase();
    head.contains("charset=utf-8") || head.contains("charset=\"utf-8") || head.contains("encoding=\"utf-8")
}

/// Names of glyphs that are no letter's own, as fonts of Latin and Greek texts have them.
const NAMES: &[(&str, &str)] = &[
    ("quotesingle", "'"),
    ("quotedbl", "\""),
    ("grave", "`"),
    ("hyphen", "-"),
    ("sfthyphen", "-"),
    ("minus", "-"),
    ("space", " "),
    ("nbspace", " "),
    ("exclam", "!"),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("period", "."),
    ("slash", "/"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ff", "ff"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("quoteleft", "‘"),
    ("quoteright", "’"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quotesinglbase", "‚"),
    ("quotedblbase", "„"),
    ("guilsinglleft", "‹"),
    ("guilsinglright", "›"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("endash", "–"),
    ("emdash", "—"),
    ("ellipsis", "…"),
    ("bullet", "•"),
    ("dagger", "†"),
    ("daggerdbl", "‡"),
    ("section", "§"),
    ("paragraph", "¶"),
    ("degree", "°"),
    ("copyright", "©"),
    ("registered", "®"),
    ("trademark", "™"),
    ("cent", "¢"),
    ("sterling", "£"),
    ("yen", "¥"),
    ("Euro", "€"),
    ("currency", "¤"),
    ("perthousand", "‰"),
    ("exclamdown", "¡"),
    ("questiondown", "¿"),
    ("ordfeminine", "ª"),
    ("ordmasculine", "º"),
    ("mu", "µ"),
    ("multiply", "×"),
    ("divide", "÷"),
    ("plusminus", "±"),
    ("onehalf", "½"),
    ("onequarter", "¼"),
    ("threequarters", "¾"),
    ("fraction", "⁄"),
    ("periodcentered", "·"),
    ("brokenbar", "¦"),
    ("logicalnot", "¬"),
    ("AE", "Æ"),
    ("ae", "æ"),
    ("OE", "Œ"),
    ("oe", "œ"),
    ("Oslash", "Ø"),
    ("oslash", "ø"),
    ("germandbls", "ß"),
    ("Lslash", "Ł"),
    ("lslash", "ł"),
    ("Eth", "Ð"),
    ("eth", "ð"),
    ("Thorn", "Þ"),
    ("thorn", "þ"),
    ("dotlessi", "ı"),
    ("Aring", "Å"),
    ("aring", "å"),
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ε"),
    ("epsilon1", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("pi", "π"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "φ"),
    ("phi1", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Xi", "Ξ"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
    ("Phi", "Φ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
    ("infinity", "∞"),
    ("summation", "∑"),
    ("integral", "∫"),
    ("radical", "√"),
    ("lessequal", "≤"),
    ("greaterequal", "≥"),
    ("notequal", "≠"),
    ("approxequal", "≈"),
    ("element", "∈"),
    ("arrowright", "→"),
    ("arrowleft", "←"),
    ("arrowdblright", "⇒"),
    ("partialdiff", "∂"),
    ("asteriskmath", "∗"),
    ("dotmath", "⋅"),
    ("visiblespace", " "),
    ("check", "✓"),
    ("checkmark", "✓"),
    ("circlecopyrt", "©"),
    ("acute", "´"),
    ("circumflex", "ˆ"),
    ("tilde", "˜"),
    ("dieresis", "¨"),
    ("cedilla", "¸"),
];

/// Marks that names such as `eacute` and `Scaron` end with, as combining characters.
const MARKS: &[(&str, char)] = &[
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("cedilla", '\u{327}'),
    ("caron", '\u{30c}'),
    ("ring", '\u{30a}'),
    ("breve", '\u{306}'),
    ("ogonek", '\u{328}'),
    ("macron", '\u{304}'),
    ("dotaccent", '\u{307}'),
    ("hungarumlaut", '\u{30b}'),
    ("commaaccent", '\u{326}'),
];

/// The letters of a glyph by its name: Adobe's list for Latin and Greek, `uni00e9`, `u1f600`; `None` for names that a font
/// made up.
pub fn named(name: &str) -> Option<String> {
    let plain = name.split('.').next().filter(|plain| !plain.is_empty())?;
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    let mut letters = plain.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => return Some(letter.to_string()),
        _ => {}
    }
    if let Some((_, text)) = NAMES.iter().find(|(known, _)| *known == plain) {
        return Some((*text).to_owned());
    }
    if let Some(digits) = plain.strip_prefix("uni").filter(|digits| digits.len() >= 4 && digits.is_ascii()) {
        return digits.as_bytes().chunks_exact(4).map(|four| str::from_utf8(four).ok().and_then(hex)).collect();
    }
    if let Some(letter) = plain.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len())).and_then(hex) {
        return Some(letter.to_string());
    }
    if plain.contains('_') {
        return plain.split('_').map(named).collect();
    }
    let marked = MARKS.iter().find_map(|(mark, sign)| Some((plain.strip_suffix(mark)?, sign)));
    let (base, sign) = marked.filter(|(base, _)| base.len() == 1)?;
    Some(composed(base.chars().next()?, *sign).map_or_else(|| format!("{base}{sign}"), String::from))
}

/// The letters of a glyph that is drawn by the file itself and named by its code, such as `a97`: TeX writes bitmaps so. Its
/// ligatures stand below the blank, in two places.
pub fn numbered(name: &str) -> Option<String> {
    const LIGATURES: [&str; 5] = ["ff", "fi", "fl", "ffi", "ffl"];
    let code: u8 = name.strip_prefix(['a', 'A'])?.parse().ok()?;
    let ligature = |first: u8| code.checked_sub(first).and_then(|at| LIGATURES.get(usize::from(at)));
    match code {
        33..=126 => Some(char::from(code).to_string()),
        _ => ligature(27).or(ligature(11)).map(|letters| (*letters).to_owned()),
    }
}

/// Letters with a mark as one letter, of Latin-1 and its neighbours.
const COMPOSED: &[(char, &str, &str)] = &[
    ('\u{301}', "AEIOUYaeiouyCcNnSsZzLlRr", "ÁÉÍÓÚÝáéíóúýĆćŃńŚśŹźĹĺŔŕ"),
    ('\u{300}', "AEIOUaeiou", "ÀÈÌÒÙàèìòù"),
    ('\u{302}', "AEIOUaeiou", "ÂÊÎÔÛâêîôû"),
    ('\u{308}', "AEIOUYaeiouy", "ÄËÏÖÜŸäëïöüÿ"),
    ('\u{303}', "ANOano", "ÃÑÕãñõ"),
    ('\u{327}', "CcSsTt", "ÇçŞşŢţ"),
    ('\u{30c}', "CcDdEeNnRrSsTtZz", "ČčĎďĚěŇňŘřŠšŤťŽž"),
    ('\u{30a}', "AaUu", "ÅåŮů"),
    ('\u{306}', "AaGg", "ĂăĞğ"),
    ('\u{328}', "AaEe", "ĄąĘę"),
    ('\u{304}', "AaEeIiOoUu", "ĀāĒēĪīŌōŪū"),
    ('\u{307}', "ZzI", "Żżİ"),
    ('\u{30b}', "OoUu", "ŐőŰű"),
];

/// A letter with a combining mark as one letter, where there is one.
pub fn composed(letter: char, mark: char) -> Option<char> {
    let (_, plain, marked) = COMPOSED.iter().find(|(known, _, _)| *known == mark)?;
    marked.chars().nth(plain.chars().position(|known| known == letter)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_letters() {
        for (encoding, code, expected) in [
            (Encoding::Windows, 0x80, Some('€')),
            (Encoding::Windows, 0x9f, Some('Ÿ')),
            (Encoding::Windows, 0x81, None),
            (Encoding::Windows, 0xe9, Some('é')),
            (Encoding::Mac, 0x8e, Some('é')),
            (Encoding::Mac, 0xff, Some('ˇ')),
            (Encoding::Standard, 0xae, Some('ﬁ')),
            (Encoding::Standard, 0xfb, Some('ß')),
            (Encoding::Standard, 0x27, Some('’')),
            (Encoding::Standard, 0x07, None),
        ] {
            assert_eq!(encoding.letter(code), expected, "{encoding:?} {code:x}");
        }
    }

    #[test]
    fn glyphs_have_letters_by_their_names() {
        for (name, expected) in [
            ("a", Some("a")),
            ("ffi", Some("ffi")),
            ("eacute", Some("é")),
            ("Scaron", Some("Š")),
            ("uni00E9", Some("é")),
            ("uni00660069", Some("fi")),
            ("u1F600", Some("😀")),
            ("f_i", Some("fi")),
            ("a.sc", Some("a")),
            ("mu", Some("µ")),
            ("g12", None),
            (".notdef", None),
            ("C0042", None),
        ] {
            assert_eq!(named(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn glyphs_of_tex_are_named_by_their_codes() {
        for (name, expected) in
            [("a97", Some("a")), ("A12", Some("fi")), ("a31", Some("ffl")), ("a7", None), ("alpha", None)]
        {
            assert_eq!(numbered(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn pages_are_read_in_the_letters_they_are_written_in() {
        assert_eq!(page("naïve".as_bytes()), "naïve");
        assert_eq!(page(b"na\xefve \x93\x94"), "naïve “”");
        assert_eq!(page(b"<meta charset=utf-8>na\xefve"), "<meta charset=utf-8>na\u{fffd}ve");
        assert_eq!(page(b"\xff\xfen\0a\0"), "na");
        assert_eq!(page(b"\xfe\xff\0n\0a"), "na");
    }
}
