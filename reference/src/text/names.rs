//! What names a chunk, beside its text: the keyword retriever counts a word that stands here double.

/// Names of one chunk that are taken apart.
const SYMBOLS_MAX: usize = 40;

/// The headings of a chunk, the words of its file's name and folder, and the parts of names as `getAll` in it, which is
/// found by *get all* too. What is written with other signs the stores take apart themselves.
pub fn of(source: &str, section: &str, content: &str) -> String {
    let mut names = section.to_owned();
    for part in path(source).chain(symbols(section)).chain(symbols(content)) {
        names.push(' ');
        names.push_str(&part);
    }
    names
}

/// The words of a file's name without its ending, and of the folder it lies in.
fn path(source: &str) -> impl Iterator<Item = String> {
    let mut parts = source.rsplit(['/', '\\']);
    let name = parts.next().unwrap_or_default();
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let words = |part: &str| part.split(|c: char| !c.is_alphanumeric()).map(apart).collect::<Vec<_>>().join(" ");
    [parts.next().map(words), Some(words(name))].into_iter().flatten().filter(|words| !words.trim().is_empty())
}

/// Names with a hump, in their parts, each once.
fn symbols(text: &str) -> impl Iterator<Item = String> {
    let mut known: Vec<&str> = Vec::new();
    for name in text.split(|c: char| !c.is_alphanumeric()) {
        if known.len() < SYMBOLS_MAX && has_hump(name) && !known.contains(&name) {
            known.push(name);
        }
    }
    known.into_iter().map(apart)
}

fn has_hump(name: &str) -> bool {
    let mut before = ' ';
    name.chars().any(|c| std::mem::replace(&mut before, c).is_lowercase() && c.is_uppercase())
}

/// A name in its parts: `parseHTMLPage` is *parse HTML Page*.
fn apart(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut parts = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        let follows_small = at > 0 && letters[at - 1].is_lowercase();
        let begins_word =
            at > 0 && letters[at - 1].is_uppercase() && letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        if letter.is_uppercase() && (follows_small || begins_word) {
            parts.push(' ');
        }
        parts.push(*letter);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, source: &str, section: &str, content: &str, expected: &str) {
        assert_eq!(of(source, section, content), expected, "{says}");
    }

    #[test]
    fn a_chunk_has_names() {
        check("headings first", "a.md", "Pool > Size", "It is four.", "Pool > Size a");
        check("its file and folder", "docs/guide/connection-pool.md", "", "", " guide connection pool");
        check("a name in one", "x.ts", "", "call getAll, then getAll or parseHTMLPage", " x get All parse HTML Page");
        check("a file's too", "src/HashMap.java", "", "", " src Hash Map");
        check("a sentence has none", "x.md", "Title", "IBM and NASA sent Apollo.", "Title x");
    }
}
