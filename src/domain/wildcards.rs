//! Wildcards in names and paths: `*` for any characters of one name and `?` for one of them, `**` for any names of a path.

/// Whether a name fits. Each `*` is tried at most once from each place, so that the work is at most the product of both
/// lengths, whoever wrote them.
pub(crate) fn fits_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    fits(&pattern, &name, None, |wanted| *wanted == '*', |wanted, c| *wanted == '?' || wanted == c)
}

/// Whether a path ends in names that fit: a pattern may begin at any of its names, as if `**` stood in front.
pub(crate) fn fits_tail(pattern: &str, path: &str) -> bool {
    let (pattern, names): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    fits(&pattern, &names, Some((0, 0)), |wanted| *wanted == "**", |wanted, name| fits_name(wanted, name))
}

/// Goes back to the last star alone, from where it next tries one place further on. `star`: where the pattern goes on
/// behind a star that stands before it, and from which place.
fn fits<P, N>(
    pattern: &[P],
    whole: &[N],
    mut star: Option<(usize, usize)>,
    is_star: impl Fn(&P) -> bool,
    is_alike: impl Fn(&P, &N) -> bool,
) -> bool {
    let (mut p, mut n) = (0, 0);
    while n < whole.len() {
        match pattern.get(p) {
            Some(wanted) if is_star(wanted) => {
                p += 1;
                star = Some((p, n));
            }
            Some(wanted) if is_alike(wanted, &whole[n]) => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (p, n) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fits_from_any_of_its_names_on() {
        let rows = [
            ("a.md", "a.md", true, "the name itself"),
            ("a.md", "docs/a.md", true, "the end of a longer path"),
            ("a.md", "docs/aa.md", false, "a part of a name is another name"),
            ("b/*", "tenants/b/x.md", true, "one name"),
            ("b/*", "tenants/b/notes/x.md", false, "a star does not reach over a slash"),
            ("b/**", "tenants/b/notes/x.md", true, "any names"),
            ("b/**", "tenants/b", true, "or none"),
            ("b/**", "tenants/ab/x.md", false, "of a folder with another name"),
            ("b/**/x.md", "b/x.md", true, "none in the middle"),
            ("b/**/x.md", "b/1/b/2/x.md", true, "or several"),
            ("b/**/x.md", "b/1/y.md", false, "and the rest fits too"),
            ("b/.*", "b/.hidden.md", true, "a dot is a character"),
            ("b/**", "b/.hidden.md", true, "for wildcards as well"),
            ("/b/x.md", "file:///b/x.md", true, "a path from its root"),
            ("/b/x.md", "a/b/x.md", false, "is no end of another"),
            ("*/?.md", "b/x.md", true, "one character"),
        ];
        for (pattern, path, expected, sentence) in rows {
            assert_eq!(fits_tail(pattern, path), expected, "{pattern} and {path}: {sentence}");
        }
    }

    #[test]
    fn the_work_has_an_end_whatever_is_written() {
        let hostile = "a/".repeat(200);
        assert!(!fits_tail(&"**/*a*/".repeat(60), &format!("{hostile}b")));
        assert!(!fits_name(&"*a".repeat(60), &format!("{}b", "a".repeat(200))));
    }
}
