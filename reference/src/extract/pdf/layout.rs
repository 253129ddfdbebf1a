//! Runs of letters as lines, and lines as Markdown: words apart, paragraphs whole, large letters as headings.

use std::collections::HashMap;

use crate::extract::pdf::page::Run;
use crate::extract::refusal::Refusal;
use crate::extract::written::Written;

/// A gap that parts words, in parts of the letters' size.
const WORD_GAP: f64 = 0.18;
/// How far apart baselines of one line are, in parts of the size: superscripts are still of it.
const LINE_GAP: f64 = 0.5;
/// How far lines of one paragraph are apart at most, in parts of the size.
const PARAGRAPH_GAP: f64 = 1.7;
/// How far before the margin a paragraph's last line ends, in parts of the size.
const SHORT_BY: f64 = 4.0;
/// How much larger than most a heading's letters are.
const HEADING_RATIO: f64 = 1.15;
/// Letters of a heading.
const HEADING_CHARS_MAX: usize = 160;
/// Sizes of headings that are told apart.
const LEVELS_MAX: usize = 4;
/// What items of lists begin with.
const BULLETS: &[char] = &['•', '◦', '▪', '●', '‣', '■'];
/// What parts a word at the end of a line.
const HYPHENS: [char; 3] = ['-', '\u{ad}', '‐'];
/// Dots in a row that lead somewhere; fewer are an ellipsis.
const LEADERS_MIN: usize = 5;
/// Pages that a line at the edge has to be on to be a running title.
const RUNNING_MIN: usize = 3;

/// A line of a page.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    text: String,
    start: f64,
    end: f64,
    across: f64,
    size: f64,
    is_mono: bool,
}

/// The text of pages.
///
/// # Errors
/// `Text`.
pub(super) fn text(pages: &[Vec<Run>]) -> Result<String, Refusal> {
    let mut pages: Vec<Vec<Line>> = pages.iter().map(|runs| lines(runs)).collect();
    drop_running(&mut pages);
    let (usual, headings) = sizes(&pages);
    let mut written = Written::default();
    let mut before: Option<&Line> = None;
    let mut is_hyphened = false;
    for (page, lines) in pages.iter().enumerate() {
        let right = lines.iter().map(|line| line.end).fold(0.0, f64::max);
        for (number, line) in lines.iter().enumerate() {
            let is_first = page > 0 && number == 0;
            let level = level(line, usual, &headings);
            let is_item = line.text.starts_with(BULLETS);
            let joins = before.is_some_and(|before| joins(before, line, is_first, right)) && !is_item;
            let words = line.text.trim_start_matches(BULLETS).trim();
            match level {
                Some(level) if !joins => written.heading(level),
                _ if is_item => written.item(1),
                _ if !joins => written.paragraph(),
                _ if line.is_mono => written.line(),
                _ if is_hyphened => {}
                _ => written.words(" ")?,
            }
            is_hyphened = words.ends_with(HYPHENS) && next_is_small(lines, number);
            let kept = if is_hyphened { words.trim_end_matches(HYPHENS) } else { words };
            written.words(kept)?;
            before = Some(line);
        }
    }
    Ok(written.done())
}

fn next_is_small(lines: &[Line], number: usize) -> bool {
    lines.get(number + 1).is_some_and(|next| next.text.starts_with(char::is_lowercase))
}

/// Whether a line goes on with what the one before it said.
fn joins(before: &Line, line: &Line, is_first: bool, right: f64) -> bool {
    let down = before.across - line.across;
    let size = before.size.max(line.size);
    let is_alike = (before.size - line.size).abs() < 0.1 * size && before.is_mono == line.is_mono;
    // On the next page, or in the next column, a sentence goes on where it was not ended.
    if is_first || down < 0.0 {
        return is_alike && !before.text.ends_with(['.', ':', '!', '?']) && line.text.starts_with(char::is_lowercase);
    }
    // A sentence that ends well before the margin ends its paragraph, too; of code each line is one.
    let is_ended = before.text.ends_with(['.', ':', '!', '?']) && before.end < right - SHORT_BY * size;
    is_alike && down < PARAGRAPH_GAP * size && (line.is_mono || !is_ended)
}

fn level(line: &Line, usual: f64, headings: &[f64]) -> Option<usize> {
    let is_heading = line.size > usual * HEADING_RATIO && line.text.chars().any(char::is_alphabetic);
    if !is_heading || line.text.chars().count() > HEADING_CHARS_MAX {
        return None;
    }
    let larger = headings.iter().take_while(|size| **size > rounded(line.size)).count();
    Some((larger + 1).min(LEVELS_MAX))
}

/// Runs as lines, in the order in which they were drawn.
fn lines(runs: &[Run]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for run in runs {
        let size = run.size.max(1.0);
        if let Some(line) = lines.last_mut() {
            let gap = run.along.0 - line.end;
            let is_on = (run.across - line.across).abs() < LINE_GAP * line.size.max(size);
            if is_on && gap > -LINE_GAP * size {
                let is_apart = gap > WORD_GAP * size.min(line.size) && !line.text.ends_with(' ');
                if is_apart && !run.text.starts_with(' ') {
                    line.text.push(' ');
                }
                line.text.push_str(&run.text);
                line.end = run.along.1;
                line.is_mono &= run.is_mono || run.text.trim().is_empty();
                if size > line.size {
                    (line.size, line.across) = (size, run.across);
                }
                continue;
            }
        }
        let (start, end) = run.along;
        let line = Line { text: run.text.clone(), start, end, across: run.across, size, is_mono: run.is_mono };
        lines.push(line);
    }
    lines.retain(|line| !line.text.trim().is_empty());
    lines.iter_mut().for_each(|line| line.text = without_leaders(line.text.trim()));
    lines
}

/// A line without the dots that lead from a heading to the number of its page.
fn without_leaders(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if matches!(first, '.' | ':' | '·') {
            let (run, after) = rest.split_at(rest.len() - rest.trim_start_matches([first, ' ']).len());
            kept.push_str(if run.matches(first).count() >= LEADERS_MIN { " " } else { run });
            rest = after;
        } else {
            kept.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    kept
}

/// Takes out what stands at the top or foot of many pages, numbers aside, and numbers of pages.
fn drop_running(pages: &mut [Vec<Line>]) {
    let key = |line: &Line| -> String {
        line.text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).filter(|c| !c.is_whitespace()).collect()
    };
    let mut seen: HashMap<String, usize> = HashMap::new();
    for page in pages.iter() {
        for at in edges(page) {
            *seen.entry(key(&page[at])).or_default() += 1;
        }
    }
    for page in pages.iter_mut() {
        let mut gone: Vec<usize> = edges(page)
            .into_iter()
            .filter(|at| {
                let key = key(&page[*at]);
                let is_number = key.chars().all(|c| matches!(c, '#' | '-' | '–'));
                is_number || seen.get(&key).is_some_and(|pages| *pages >= RUNNING_MIN)
            })
            .collect();
        gone.sort_unstable_by(|left, right| right.cmp(left));
        gone.into_iter().for_each(|at| drop(page.remove(at)));
    }
}

/// The highest and the lowest line of a page.
fn edges(page: &[Line]) -> Vec<usize> {
    let by_height = |left: &&(usize, &Line), right: &&(usize, &Line)| left.1.across.total_cmp(&right.1.across);
    let lines: Vec<(usize, &Line)> = page.iter().enumerate().collect();
    let (top, foot) = (lines.iter().max_by(by_height), lines.iter().min_by(by_height));
    let mut edges: Vec<usize> = [top, foot].into_iter().flatten().map(|(at, _)| *at).collect();
    edges.dedup();
    edges
}

/// The size of most letters, and sizes of headings, the largest first.
fn sizes(pages: &[Vec<Line>]) -> (f64, Vec<f64>) {
    let mut letters: HashMap<u64, usize> = HashMap::new();
    for line in pages.iter().flatten() {
        *letters.entry(rounded(line.size).to_bits()).or_default() += line.text.len();
    }
    let usual = letters.iter().max_by_key(|(_, count)| **count).map_or(0.0, |(size, _)| f64::from_bits(*size));
    let mut headings: Vec<f64> = letters.keys().map(|size| f64::from_bits(*size)).collect();
    headings.retain(|size| *size > usual * HEADING_RATIO);
    headings.sort_by(|left, right| right.total_cmp(left));
    (usual, headings)
}

fn rounded(size: f64) -> f64 {
    (size * 2.0).round() / 2.0
}
