//! The text of a DOCX: paragraphs, headings by their styles, lists, tables, notes; not what is deleted or hidden.
//!
//! A DOCX is a ZIP of XML. What a part says of its size is not believed: bytes are counted as they are inflated. The XML
//! is read as it comes, so no depth of it costs more than its length, and entities of its own mean nothing.

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::extract::budget::Budget;
use crate::extract::refusal::Refusal;
use crate::extract::written::Written;

const DAMAGED: Refusal = Refusal::Damaged("DOCX");
/// How documents begin that are encrypted, or of Word before 2007.
const OLE: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0];
/// Styles made from styles made from styles.
const STYLES_DEPTH_MAX: usize = 16;
/// Elements whose inside says nothing: what was deleted or moved away, what fields compute, and for older programs again
/// what stands there already.
const LEFT_OUT: &[&str] = &["del", "moveFrom", "instrText", "delText", "Fallback"];

type Archive<'b> = ZipArchive<Cursor<&'b [u8]>>;

/// The text.
///
/// # Errors
/// `Encrypted`, `Damaged`, `NoText`, or the limit that it is over.
pub fn text(bytes: &[u8], budget: &mut Budget) -> Result<String, Refusal> {
    if bytes.starts_with(OLE) {
        return Err(Refusal::Encrypted);
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_broken| DAMAGED)?;
    let headings = match part(&mut archive, "word/styles.xml", budget)? {
        Some(styles) => headings(&styles, budget)?,
        None => HashMap::new(),
    };
    let mut written = Written::default();
    let document = part(&mut archive, "word/document.xml", budget)?.ok_or(DAMAGED)?;
    read(&document, &headings, &mut written, budget)?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(notes) = part(&mut archive, notes, budget)? {
            written.paragraph();
            read(&notes, &headings, &mut written, budget)?;
        }
    }
    if written.is_empty() { Err(Refusal::NoText("DOCX")) } else { Ok(written.done()) }
}

/// A part of the archive, inflated; `None` where it has none of this name.
fn part(archive: &mut Archive<'_>, name: &str, budget: &mut Budget) -> Result<Option<Vec<u8>>, Refusal> {
    let file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(Refusal::Encrypted),
        Err(_) => return Err(DAMAGED),
    };
    let bytes_max = budget.may_inflate();
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|_broken| DAMAGED)?;
    if bytes.len() > bytes_max {
        return Err(Refusal::Inflates);
    }
    budget.inflated(bytes.len())?;
    Ok(Some(bytes))
}

/// What a reader does with each piece of a part.
trait Piece {
    fn starts(&mut self, name: &str, element: &BytesStart<'_>);
    fn ends(&mut self, name: &str);
    fn says(&mut self, text: &str) -> Result<(), Refusal>;
}

/// Goes through a part, piece by piece.
fn walk(xml: &[u8], piece: &mut impl Piece, budget: &mut Budget) -> Result<(), Refusal> {
    let mut reader = Reader::from_reader(BufReader::new(xml));
    let mut buffer = Vec::new();
    loop {
        budget.step()?;
        match reader.read_event_into(&mut buffer).map_err(|_broken| DAMAGED)? {
            Event::Eof => return Ok(()),
            Event::Start(element) => piece.starts(element.local_name().as_ref(), &element),
            Event::Empty(element) => {
                piece.starts(element.local_name().as_ref(), &element);
                piece.ends(element.local_name().as_ref());
            }
            Event::End(element) => piece.ends(element.local_name().as_ref()),
            Event::Text(text) => piece.says(text.as_ref())?,
            Event::CData(text) => piece.says(text.as_ref())?,
            Event::GeneralRef(of) => {
                let letter = of.resolve_char_ref().ok().flatten().map(String::from);
                let known = letter.or_else(|| quick_xml::escape::resolve_predefined_entity(&of).map(str::to_owned));
                piece.says(&known.unwrap_or_default())?;
            }
            _ => {}
        }
        buffer.clear();
    }
}

fn value(element: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = element.attributes();
    let found = attributes.with_checks(false).flatten().find(|found| found.key.local_name().as_ref() == wanted)?;
    Some(found.value.into_owned())
}

/// A property that is there is on, unless it says that it is not.
fn is_on(element: &BytesStart<'_>) -> bool {
    !matches!(value(element, "val").as_deref(), Some("0" | "false" | "off" | "none"))
}

/// Levels of outlines are counted from 0; 9 is none.
fn level(element: &BytesStart<'_>) -> Option<usize> {
    value(element, "val")?.parse().ok().filter(|level| *level < 9).map(|level: usize| level + 1)
}

/// Styles, and which of them are headings.
#[derive(Debug, Default)]
struct Styles {
    id: String,
    levels: HashMap<String, usize>,
    based_on: HashMap<String, String>,
}

impl Piece for Styles {
    fn starts(&mut self, name: &str, element: &BytesStart<'_>) {
        match name {
            "style" => self.id = value(element, "styleId").unwrap_or_default(),
            "name" => {
                // Names are English whatever the program speaks; ids are not.
                let name = value(element, "val").unwrap_or_default().to_lowercase();
                let number = name.strip_prefix("heading ").and_then(|number| number.parse().ok());
                if let Some(level) = number.or((name == "title").then_some(1)) {
                    self.levels.insert(self.id.clone(), level);
                }
            }
            "basedOn" => {
                self.based_on.insert(self.id.clone(), value(element, "val").unwrap_or_default());
            }
            "outlineLvl" => {
                if let Some(level) = level(element) {
                    self.levels.insert(self.id.clone(), level);
                }
            }
            _ => {}
        }
    }

    fn ends(&mut self, _name: &str) {}

    fn says(&mut self, _text: &str) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Levels of styles that are headings, by the styles' ids.
fn headings(xml: &[u8], budget: &mut Budget) -> Result<HashMap<String, usize>, Refusal> {
    let mut styles = Styles::default();
    walk(xml, &mut styles, budget)?;
    let mut all = styles.levels.clone();
    for id in styles.based_on.keys() {
        let mut ancestor = id;
        for _ in 0..STYLES_DEPTH_MAX {
            if let Some(level) = styles.levels.get(ancestor) {
                all.insert(id.clone(), *level);
                break;
            }
            let Some(next) = styles.based_on.get(ancestor) else { break };
            ancestor = next;
        }
    }
    Ok(all)
}

fn read(
    xml: &[u8],
    headings: &HashMap<String, usize>,
    written: &mut Written,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    let mut text = Text { headings, written, line: Line::default(), left_out: 0, in_text: false, tables: 0, cells: 0 };
    walk(xml, &mut text, budget)?;
    text.flush()?;
    // Ends of paragraphs cannot say that there was no more room.
    text.written.words("")
}

/// A paragraph under way.
#[derive(Debug, Default)]
struct Line {
    words: String,
    level: Option<usize>,
    is_item: bool,
    is_hidden: bool,
}

/// Where the reader is in the text.
#[derive(Debug)]
struct Text<'w> {
    headings: &'w HashMap<String, usize>,
    written: &'w mut Written,
    line: Line,
    left_out: usize,
    in_text: bool,
    tables: usize,
    cells: usize,
}

impl Text<'_> {
    fn flush(&mut self) -> Result<(), Refusal> {
        let Line { words, level, is_item, .. } = std::mem::take(&mut self.line);
        if words.trim().is_empty() {
            return Ok(());
        }
        match level {
            _ if self.tables > 0 => {
                let is_next = self.cells > 1 && self.written.in_line();
                self.written.words(if is_next { " | " } else { " " })?;
            }
            Some(level) => self.written.heading(level),
            None if is_item => self.written.item(1),
            None => self.written.paragraph(),
        }
        for (number, line) in words.lines().enumerate() {
            if number > 0 && level.is_none() && self.tables == 0 {
                self.written.line();
            }
            self.written.words(line)?;
            self.written.words(" ")?;
        }
        if self.tables == 0 && !is_item {
            self.written.paragraph();
        }
        Ok(())
    }
}

impl Piece for Text<'_> {
    fn starts(&mut self, name: &str, element: &BytesStart<'_>) {
        self.left_out += usize::from(LEFT_OUT.contains(&name));
        match name {
            "p" => {
                // A text box stands within a paragraph: what was before it is one, too.
                let _over = self.flush();
            }
            "pStyle" => {
                let style = value(element, "val").unwrap_or_default();
                self.line.level = self.headings.get(&style).copied();
                self.line.is_item |= style.starts_with("List");
            }
            "outlineLvl" => self.line.level = level(element),
            "numPr" => self.line.is_item = true,
            "r" => self.line.is_hidden = false,
            "vanish" => self.line.is_hidden = is_on(element),
            "t" => self.in_text = true,
            "tab" | "noBreakHyphen" if self.left_out == 0 => {
                self.line.words.push_str(if name == "tab" { " " } else { "-" });
            }
            "br" | "cr" if self.left_out == 0 => self.line.words.push('\n'),
            "tbl" => {
                self.tables += 1;
                self.written.paragraph();
            }
            "tr" => {
                self.cells = 0;
                self.written.line();
            }
            "tc" => self.cells += 1,
            _ => {}
        }
    }

    fn ends(&mut self, name: &str) {
        self.left_out = self.left_out.saturating_sub(usize::from(LEFT_OUT.contains(&name)));
        match name {
            "t" => self.in_text = false,
            "p" => {
                let _over = self.flush();
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.written.paragraph();
            }
            _ => {}
        }
    }

    fn says(&mut self, text: &str) -> Result<(), Refusal> {
        if self.in_text && self.left_out == 0 && !self.line.is_hidden {
            self.line.words.push_str(text);
        }
        self.written.words("")
    }
}
