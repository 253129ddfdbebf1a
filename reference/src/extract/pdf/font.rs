//! What a font's codes say: letters, and how far each goes.

use std::collections::HashMap;

use hayro_cmap::{BfString, CMap};
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream};

use crate::extract::budget::Budget;
use crate::extract::letters::{self, Encoding};
use crate::extract::pdf::stream::decoded;
use crate::extract::refusal::Refusal;

/// Widths that a font gives one by one: all characters of the largest.
const WIDTHS_MAX: usize = 70_000;
/// Widths of fonts that every reader knows, roughly, in thousandths of their size.
const WIDTH_USUAL: f64 = 500.0;

/// A font.
#[derive(Debug)]
pub(super) struct Font {
    to_unicode: Option<CMap>,
    /// Letters of one-byte codes; `None` for fonts of two bytes.
    simple: Option<Vec<Option<String>>>,
    /// Its two-byte codes are UTF-16.
    is_unicode: bool,
    widths: HashMap<u32, f64>,
    width_usual: f64,
    /// Whether all its letters are as wide: what it shows is code.
    pub(super) is_mono: bool,
}

impl Font {
    /// Reads a font.
    ///
    /// # Errors
    /// `Inflates`, `Entities` or `Slow`.
    pub(super) fn read(dict: &Dict<'_>, budget: &mut Budget) -> Result<Self, Refusal> {
        let to_unicode = match dict.get::<Stream<'_>>("ToUnicode") {
            Some(stream) => decoded(&stream, budget)?.and_then(|data| CMap::parse(&data, |_| None)),
            None => None,
        };
        let base = dict.get::<Name<'_>>("BaseFont").map(|name| name.as_str().to_lowercase()).unwrap_or_default();
        let is_mono =
            ["mono", "courier", "consol", "typewriter", "cmtt", "menlo", "sftt"].iter().any(|part| base.contains(part));
        let is_composite = dict.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_str() == "Type0");
        if is_composite {
            let cmap = dict.get::<Name<'_>>("Encoding").map(|name| name.as_str().to_owned()).unwrap_or_default();
            let below = dict.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
            let usual =
                below.as_ref().and_then(|font| font.get::<Number>("DW")).map_or(1_000.0, |width| width.as_f64());
            let widths = match below.and_then(|font| font.get::<Array<'_>>("W")) {
                Some(widths) => composite_widths(&widths, budget)?,
                None => HashMap::new(),
            };
            let is_unicode = cmap.contains("UCS2") || cmap.contains("UTF16");
            return Ok(Self { to_unicode, simple: None, is_unicode, widths, width_usual: usual, is_mono });
        }
        let (widths, width_usual) = simple_widths(dict);
        let simple = Some(simple_letters(dict));
        Ok(Self { to_unicode, simple, is_unicode: false, widths, width_usual, is_mono })
    }

    /// The codes of a string, each with its length in bytes.
    pub(super) fn codes<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = (u32, usize)> + 'b {
        let length = if self.simple.is_some() { 1 } else { 2 };
        bytes.chunks(length).map(|code| (code.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)), code.len()))
    }

    /// The letters of a code; `None` where nothing says them.
    pub(super) fn letters(&self, code: u32) -> Option<String> {
        let told = self.to_unicode.as_ref().and_then(|cmap| cmap.lookup_bf_string(code)).map(|told| match told {
            BfString::Char(letter) => letter.to_string(),
            BfString::String(letters) => letters,
        });
        if let Some(told) = told.filter(|told| !told.is_empty() && told.chars().all(is_said)) {
            return Some(told);
        }
        match &self.simple {
            Some(letters) => letters.get(usize::try_from(code).ok()?)?.clone(),
            None if self.is_unicode => char::from_u32(code).map(String::from),
            None => None,
        }
    }

    /// How far a code goes, in parts of the font's size.
    pub(super) fn width(&self, code: u32) -> f64 {
        self.widths.get(&code).copied().unwrap_or(self.width_usual) / 1_000.0
    }
}

/// A letter that means something to everybody: no control character, and none that a font made up.
fn is_said(letter: char) -> bool {
    !matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{fffd}' | '\0'..='\u{8}' | '\u{e}'..='\u{1f}')
}

fn simple_letters(dict: &Dict<'_>) -> Vec<Option<String>> {
    let encoding = dict.get::<Object<'_>>("Encoding");
    let told = match &encoding {
        Some(Object::Name(name)) => named(name.as_str()),
        Some(Object::Dict(dict)) => dict.get::<Name<'_>>("BaseEncoding").and_then(|name| named(name.as_str())),
        _ => None,
    };
    let kind = dict.get::<Name<'_>>("Subtype");
    let is_of = |wanted: &str| kind.as_ref().is_some_and(|kind| kind.as_str() == wanted);
    let is_drawn = is_of("Type3");
    let base = told.unwrap_or(if is_of("TrueType") { Encoding::Windows } else { Encoding::Standard });
    let mut table: Vec<Option<String>> = (0..=255).map(|code| base.letter(code).map(String::from)).collect();
    if let Some(Object::Dict(dict)) = encoding
        && let Some(differences) = dict.get::<Array<'_>>("Differences")
    {
        let mut code = 0;
        for item in differences.iter::<Object<'_>>() {
            match item {
                Object::Number(number) => code = usize::try_from(number.as_i64()).unwrap_or(usize::MAX),
                Object::Name(name) => {
                    if let Some(place) = table.get_mut(code) {
                        let own = letters::numbered(name.as_str()).filter(|_| is_drawn);
                        *place = own.or_else(|| letters::named(name.as_str()));
                    }
                    code = code.saturating_add(1);
                }
                _ => {}
            }
        }
    }
    table
}

fn named(name: &str) -> Option<Encoding> {
    match name {
        "WinAnsiEncoding" => Some(Encoding::Windows),
        "MacRomanEncoding" => Some(Encoding::Mac),
        "StandardEncoding" => Some(Encoding::Standard),
        _ => None,
    }
}

fn simple_widths(dict: &Dict<'_>) -> (HashMap<u32, f64>, f64) {
    let descriptor = dict.get::<Dict<'_>>("FontDescriptor");
    let missing = descriptor.and_then(|told| told.get::<Number>("MissingWidth")).map(|width| width.as_f64());
    let Some(told) = dict.get::<Array<'_>>("Widths") else { return (HashMap::new(), WIDTH_USUAL) };
    let first = dict.get::<Number>("FirstChar").map_or(0, |code| u32::try_from(code.as_i64()).unwrap_or(0));
    // Fonts that are drawn by the file itself say their widths in a measure of their own.
    let matrix = dict.get::<Array<'_>>("FontMatrix").and_then(|matrix| matrix.iter::<Number>().next());
    let scale = matrix.map_or(1.0, |scale| scale.as_f64() * 1_000.0);
    let widths = told.iter::<Number>().take(256).enumerate();
    let widths = widths.map(|(at, width)| (first.saturating_add(at as u32), width.as_f64() * scale)).collect();
    (widths, missing.unwrap_or(0.0))
}

/// Widths as `[1 [500 600] 7 9 400]`: of 1 and 2, and of 7 to 9.
fn composite_widths(told: &Array<'_>, budget: &mut Budget) -> Result<HashMap<u32, f64>, Refusal> {
    let mut widths = HashMap::new();
    let mut numbers: Vec<f64> = Vec::new();
    for item in told.iter::<Object<'_>>() {
        budget.step()?;
        match item {
            Object::Number(number) => numbers.push(number.as_f64()),
            Object::Array(each) => {
                let first = numbers.pop().unwrap_or(0.0) as u32;
                let each = each.iter::<Number>().take(WIDTHS_MAX).enumerate();
                widths.extend(each.map(|(at, width)| (first.saturating_add(at as u32), width.as_f64())));
                numbers.clear();
            }
            _ => {}
        }
        if let [first, last, width] = numbers[..] {
            let (first, last) = (first as u32, last as u32);
            widths.extend((first..=last.min(first.saturating_add(0xffff))).map(|code| (code, width)));
            numbers.clear();
        }
        if widths.len() > WIDTHS_MAX {
            break;
        }
    }
    Ok(widths)
}
