//! What a page shows, in the order in which it is drawn.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::page::{Page, Resources};

use crate::extract::budget::Budget;
use crate::extract::pdf::font::Font;
use crate::extract::pdf::stream::decoded;
use crate::extract::refusal::Refusal;

/// Forms within forms; deeper ones are a circle.
const FORMS_DEPTH_MAX: usize = 12;
/// States saved within states, and marks within marks.
const SAVED_MAX: usize = 256;

/// Letters that were drawn in one go.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) text: String,
    /// Where it begins and ends along its line, and where the line is across, up being more; in points.
    pub(super) along: (f64, f64),
    pub(super) across: f64,
    /// How large its letters are, in points.
    pub(super) size: f64,
    pub(super) is_mono: bool,
}

/// Fonts of a document, by the object they stand in and their name there.
pub(super) type Fonts = HashMap<(Option<ObjectIdentifier>, Vec<u8>), Rc<Font>>;

/// What pages show, and what of it nothing says the letters of.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) runs: Vec<Run>,
    pub(super) letters: usize,
    pub(super) unknown: usize,
}

/// Reads a page.
///
/// # Errors
/// The limit that it is over.
pub(super) fn read(page: &Page<'_>, fonts: &mut Fonts, shown: &mut Shown, budget: &mut Budget) -> Result<(), Refusal> {
    let mut content = Vec::new();
    let streams: Vec<Stream<'_>> = match page.raw().get::<Object<'_>>("Contents") {
        Some(Object::Stream(stream)) => vec![stream],
        Some(Object::Array(parts)) => parts.iter::<Stream<'_>>().collect(),
        _ => Vec::new(),
    };
    for stream in streams {
        budget.step()?;
        if let Some(part) = decoded(&stream, budget)? {
            content.extend_from_slice(&part);
            content.push(b'\n');
        }
    }
    let mut reader = Reader { fonts, shown, budget, state: State::default(), saved: Vec::new(), marks: Vec::new() };
    reader.content(&content, page.resources(), 0)
}

/// A transformation, as PDF writes it.
type Matrix = [f64; 6];
const STRAIGHT: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn after(first: &Matrix, then: &Matrix) -> Matrix {
    let [a, b, c, d, e, f] = *first;
    let [g, h, i, j, k, l] = *then;
    [a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l]
}

#[derive(Debug, Clone)]
struct State {
    all: Matrix,
    text: Matrix,
    line: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    leading: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            all: STRAIGHT,
            text: STRAIGHT,
            line: STRAIGHT,
            font: None,
            size: 0.0,
            leading: 0.0,
            letter_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
        }
    }
}

struct Reader<'r> {
    fonts: &'r mut Fonts,
    shown: &'r mut Shown,
    budget: &'r mut Budget,
    state: State,
    saved: Vec<State>,
    /// Marked stretches that are open, and whether each is what stands around the text, such as a page number.
    marks: Vec<bool>,
}

impl Reader<'_> {
    fn content(&mut self, content: &[u8], resources: &Resources<'_>, depth: usize) -> Result<(), Refusal> {
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.budget.step()?;
            match operator {
                Op::SaveState(_) if self.saved.len() < SAVED_MAX => self.saved.push(self.state.clone()),
                Op::RestoreState(_) => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
                Op::Transform(by) => {
                    let by = [by.0, by.1, by.2, by.3, by.4, by.5].map(|number| number.as_f64());
                    self.state.all = after(&by, &self.state.all);
                }
                Op::XObject(name) if depth < FORMS_DEPTH_MAX => self.form(name.0, resources, depth)?,
                Op::BeginMarkedContent(mark) => self.marked(mark.0),
                Op::BeginMarkedContentWithProperties(mark) => self.marked(mark.0),
                Op::EndMarkedContent(_) => {
                    self.marks.pop();
                }
                Op::TextFont(font) => {
                    self.state.font = self.font(font.0, resources)?;
                    self.state.size = font.1.as_f64();
                }
                other => self.text(&other),
            }
        }
        Ok(())
    }

    /// What moves and shows text.
    fn text(&mut self, operator: &Op<'_, '_>) {
        let state = &mut self.state;
        match operator {
            Op::BeginText(_) => (state.text, state.line) = (STRAIGHT, STRAIGHT),
            Op::CharacterSpacing(space) => state.letter_space = space.0.as_f64(),
            Op::WordSpacing(space) => state.word_space = space.0.as_f64(),
            Op::HorizontalScaling(stretch) => state.stretch = stretch.0.as_f64() / 100.0,
            Op::TextLeading(leading) => state.leading = leading.0.as_f64(),
            Op::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineAndSetLeading(by) => {
                state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Op::SetTextMatrix(to) => {
                state.line = [to.0, to.1, to.2, to.3, to.4, to.5].map(|number| number.as_f64());
                state.text = state.line;
            }
            Op::ShowText(text) => self.show(text.0),
            Op::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text.0);
            }
            Op::ShowTextWithParameters(text) => {
                (state.word_space, state.letter_space) = (text.0.as_f64(), text.1.as_f64());
                self.next_line(0.0, -self.state.leading);
                self.show(text.2);
            }
            Op::ShowTexts(texts) => {
                for item in texts.0.iter::<Object<'_>>() {
                    match item {
                        Object::String(text) => self.show(&text),
                        Object::Number(back) => {
                            let state = &mut self.state;
                            let by = -back.as_f64() / 1_000.0 * state.size * state.stretch;
                            state.text = after(&[1.0, 0.0, 0.0, 1.0, by, 0.0], &state.text);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.state.line = after(&[1.0, 0.0, 0.0, 1.0, x, y], &self.state.line);
        self.state.text = self.state.line;
    }

    fn show(&mut self, bytes: &[u8]) {
        let state = &mut self.state;
        let Some(font) = state.font.clone() else { return };
        let is_around = self.marks.contains(&true);
        let begins = after(&state.text, &state.all);
        let mut text = String::new();
        for (code, length) in font.codes(bytes) {
            let letters = font.letters(code);
            self.shown.letters += 1;
            self.shown.unknown += usize::from(letters.is_none());
            text.push_str(&letters.unwrap_or_default());
            let space = if length == 1 && code == 32 { state.word_space } else { 0.0 };
            let by = (font.width(code) * state.size + state.letter_space + space) * state.stretch;
            state.text = after(&[1.0, 0.0, 0.0, 1.0, by, 0.0], &state.text);
        }
        let ends = after(&state.text, &state.all);
        let [a, b, c, d, ..] = begins;
        let direction = a.hypot(b);
        if is_around || text.is_empty() || !(direction > 0.0 && ends.iter().chain(&begins).all(|part| part.is_finite()))
        {
            return;
        }
        let (cosine, sine) = (a / direction, b / direction);
        let along = |[_, _, _, _, x, y]: Matrix| x * cosine + y * sine;
        let [.., x, y] = begins;
        self.shown.runs.push(Run {
            text,
            along: (along(begins), along(ends)),
            across: y * cosine - x * sine,
            size: (state.size * c.hypot(d)).abs(),
            is_mono: font.is_mono,
        });
    }

    fn marked(&mut self, name: &Name<'_>) {
        if self.marks.len() < SAVED_MAX {
            self.marks.push(name.as_str() == "Artifact");
        }
    }

    fn font(&mut self, name: &Name<'_>, resources: &Resources<'_>) -> Result<Option<Rc<Font>>, Refusal> {
        let Some(dict) = resources.get_font(name) else { return Ok(None) };
        let key = (dict.obj_id(), name.as_ref().to_vec());
        if let Some(known) = self.fonts.get(&key) {
            return Ok(Some(Rc::clone(known)));
        }
        let font = Rc::new(Font::read(&dict, self.budget)?);
        self.fonts.insert(key, Rc::clone(&font));
        Ok(Some(font))
    }

    fn form(&mut self, name: &Name<'_>, resources: &Resources<'_>, depth: usize) -> Result<(), Refusal> {
        let Some(form) = resources.x_objects.get::<Stream<'_>>(name.as_ref()) else { return Ok(()) };
        if form.dict().get::<Name<'_>>("Subtype").is_none_or(|kind| kind.as_str() != "Form") {
            return Ok(());
        }
        let Some(content) = decoded(&form, self.budget)? else { return Ok(()) };
        let own = form.dict().get::<Dict<'_>>("Resources").map(Resources::new);
        let before = self.state.clone();
        let matrix =
            form.dict().get::<Array<'_>>("Matrix").map(|matrix| matrix.iter::<Object<'_>>().collect::<Vec<_>>());
        let numbers = matrix.iter().flatten().filter_map(|part| Some(part.clone().into_number()?.as_f64()));
        if let Ok(by) = <Matrix>::try_from(numbers.collect::<Vec<f64>>()) {
            self.state.all = after(&by, &self.state.all);
        }
        let saved = std::mem::take(&mut self.saved);
        let read = self.content(&content, own.as_ref().unwrap_or(resources), depth + 1);
        (self.state, self.saved) = (before, saved);
        read
    }
}
