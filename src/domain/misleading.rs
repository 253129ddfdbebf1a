//! Characters by which a stranger's text reads otherwise than it is written.

/// Control characters, and those that are not seen or turn the direction in which what follows is read.
pub(crate) fn misleading(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
        )
}
