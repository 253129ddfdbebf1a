//! A badge as a picture: a label and a value side by side, as wide as its text.

use askama::Template;

use crate::web::public::words::PublicState;

/// Characters of a label that are shown; a longer one ends in an ellipsis.
const LABEL_CHARS_MAX: usize = 40;
/// Room on each side of a text, in tenths of a pixel.
const PADDING: u32 = 60;
/// Advance widths of Verdana for the characters from space to `~`, in 2048ths of an em: what browsers that have it draw,
/// and a little more than others do. The picture fixes the length of its text, so a font of another width is squeezed.
const ADVANCES: [u16; 95] = [
    720, 806, 940, 1676, 1302, 2204, 1488, 550, 930, 930, 1302, 1676, 745, 930, 745, 930, 1302, 1302, 1302, 1302, 1302,
    1302, 1302, 1302, 1302, 1302, 930, 930, 1676, 1676, 1676, 1117, 2048, 1400, 1404, 1430, 1578, 1295, 1177, 1588,
    1539, 862, 931, 1419, 1140, 1726, 1532, 1612, 1235, 1612, 1424, 1400, 1262, 1499, 1400, 2025, 1403, 1260, 1403,
    930, 930, 930, 1676, 1302, 1302, 1230, 1276, 1067, 1276, 1220, 720, 1276, 1296, 562, 705, 1212, 562, 1992, 1296,
    1243, 1276, 1276, 874, 1067, 807, 1296, 1212, 1676, 1212, 1212, 1076, 1300, 930, 1300, 1676,
];
/// What a character beyond these takes: no letter of an alphabet is wider, and an ideograph is an em.
const ADVANCE_OTHER: u16 = 2048;
/// The text's size in tenths of a pixel.
const SIZE: u32 = 110;

#[derive(Debug, Template)]
#[template(path = "public/badge.svg", escape = "html")]
struct Badge<'a> {
    label: &'a str,
    value: &'a str,
    /// Fill behind the value; white on each of them has a contrast of at least 4.5.
    fill: &'static str,
    /// In pixels.
    width: u32,
    label_width: u32,
    value_width: u32,
    /// Middles and lengths of both texts, in tenths of a pixel.
    label_middle: u32,
    value_middle: u32,
    label_length: u32,
    value_length: u32,
}

/// The picture.
pub(crate) fn svg(label: &str, value: &str, state: PublicState) -> String {
    let label = shortened(label);
    let (label_length, value_length) = (length(&label), length(value));
    let (label_width, value_width) = (whole(label_length + 2 * PADDING), whole(value_length + 2 * PADDING));
    let badge = Badge {
        label: &label,
        value,
        fill: fill(state),
        width: label_width + value_width,
        label_width,
        value_width,
        label_middle: label_width * 5,
        value_middle: label_width * 10 + value_width * 5,
        label_length,
        value_length,
    };
    badge.render().unwrap_or_default()
}

const fn fill(state: PublicState) -> &'static str {
    match state {
        PublicState::Works => "#1a7f37",
        PublicState::Maintenance => "#0a5cb8",
        PublicState::Unknown => "#5b6570",
        PublicState::Slow => "#8a5a00",
        PublicState::Wrong => "#9a3412",
        PublicState::Failing => "#a63a00",
        PublicState::Down => "#b3171d",
    }
}

fn shortened(text: &str) -> String {
    if text.chars().nth(LABEL_CHARS_MAX).is_none() {
        return text.to_owned();
    }
    text.chars().take(LABEL_CHARS_MAX - 1).chain(['…']).collect()
}

/// How long a text is, in tenths of a pixel.
fn length(text: &str) -> u32 {
    let advance = |letter: char| {
        let place = (letter as usize).checked_sub(' ' as usize);
        u32::from(place.and_then(|place| ADVANCES.get(place)).copied().unwrap_or(ADVANCE_OTHER))
    };
    (text.chars().map(advance).sum::<u32>() * SIZE).div_ceil(2048)
}

const fn whole(tenths: u32) -> u32 {
    tenths.div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_wide_as_its_text_and_says_it_to_everybody() {
        let drawn = svg("search", "up 99.98 %", PublicState::Works);
        assert!(drawn.contains(r#"aria-label="search: up 99.98 %""#), "{drawn}");
        assert!(length("wide") > length("thin") && length("") == 0);
        assert_eq!(length("search"), 363, "Verdana at 11 px takes 36.3 px for it");
    }

    #[test]
    fn whatever_a_name_holds_it_stays_text() {
        let drawn = svg("</text><script>alert(1)</script>&\"'", "down", PublicState::Down);
        assert!(!drawn.contains("<script") && drawn.matches("<text").count() == 2, "{drawn}");
        let long = svg(&"x".repeat(200), "down", PublicState::Down);
        assert!(long.contains('…') && long.len() < 2_000, "{long}");
    }
}
