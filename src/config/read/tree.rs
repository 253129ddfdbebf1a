//! YAML as a tree that keeps its places: the parser's events put together, with nothing interpreted yet.
//!
//! Duplicate keys, tags, lost aliases and nesting past reason are faults here; merge keys are
//! resolved here. An alias shares its node, so that a bomb of aliases costs nothing; what is
//! counted is the work of merging and the depth of nesting. What no alias can reach stands in its
//! parent, without an allocation of its own: a fleet has a million of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use serde_yaml::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, options};

use crate::config::read::diagnostic::{Collector, Diagnostic, Text, TextSpan, is_secret_key, lines, quoted};
use crate::config::read::map_keys::{MapKeys, is_plain};
use crate::config::read::node::{Child, MapEntry, Node, NodeValue, Tree};
use crate::config::read::redaction::{secret_parts, secret_stretch};
use crate::config::read::syntax;

/// Nodes of all files: 50,000 monitors of sixty nodes each, and as much again.
const NODES_MAX: usize = 6_000_000;
/// Keys taken over by `<<` in all files; `<<` of a large map in many places is quadratic work.
const MERGED_KEYS_MAX: usize = 2_000_000;
/// Nesting, aliases followed; a fleet needs seven levels.
const DEPTH_MAX: u16 = 64;

/// Reads a text; none where its structure cannot be read at all, which the collector then says.
///
/// `budget` is one for all files of a fleet.
pub(in crate::config) fn parse<'a>(
    file: Text<'a>,
    budget: &mut Budget,
    diagnostics: &mut Collector,
) -> Option<Tree<'a>> {
    let settings = options! { emit_unresolved_aliases: true, emit_comments: false };
    let mut builder = Builder {
        file,
        text: file.text,
        diagnostics,
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        budget,
        referred: Vec::new(),
        documents: 0,
    };
    for next in Parser::new_from_str_with_options(file.text, settings) {
        match next {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => {
                builder.syntax(&error);
                return None;
            }
        }
    }
    let Builder { root, referred, diagnostics, .. } = builder;
    if root.is_none() {
        diagnostics.add(
            Diagnostic::new(file.top(), "the file declares nothing")
                .help("start with `version: 1` and a list of `monitors`"),
        );
    }
    Some(Tree { root: root?, referred })
}

/// What reading has cost so far, over all files.
#[derive(Debug, Default)]
pub(in crate::config) struct Budget {
    nodes: usize,
    merged: usize,
}

struct Builder<'a, 'c> {
    budget: &'c mut Budget,
    file: Text<'a>,
    text: &'a str,
    diagnostics: &'c mut Collector,
    open: Vec<OpenNode<'a>>,
    root: Option<Child<'a>>,
    anchors: HashMap<usize, Rc<Node<'a>>>,
    referred: Vec<TextSpan>,
    documents: usize,
}

/// A list or map whose end has not come yet.
struct OpenNode<'a> {
    place: TextSpan,
    anchor: usize,
    held: OpenValue<'a>,
}

enum OpenValue<'a> {
    List(Vec<Child<'a>>),
    Map { entries: Vec<MapEntry<'a>>, key: Option<PendingKey<'a>> },
}

/// A key whose value has not come yet; none for one that was refused, so that its value is skipped.
type PendingKey<'a> = Option<(Cow<'a, str>, bool, TextSpan)>;

impl<'a> Builder<'a, '_> {
    fn event(&mut self, event: Event<'a>, span: Span) -> Option<()> {
        let place = self.place(span);
        if let Some(tag) = event.tag() {
            let message = format!("a tag ({}) means nothing here", quoted(&tag.original()));
            let at = span.tag_span().map_or(place, |tag| self.place(tag));
            self.diagnostics.add(Diagnostic::new(at, message).help("leave the tag out"));
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.diagnostics.add(
                        Diagnostic::new(place, "a second document starts here").help("keep one document in a file"),
                    );
                    return None;
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                self.redact_address(&text, place);
                let value = NodeValue::Scalar { text, plain: style == ScalarStyle::Plain };
                return self.take(Node { value, place, depth: 0 }, anchor);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open.push(OpenNode { place, anchor, held: OpenValue::List(Vec::new()) })
            }
            Event::MappingStart(_, anchor, _) => {
                self.open.push(OpenNode { place, anchor, held: OpenValue::Map { entries: Vec::new(), key: None } });
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(place.end),
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(&id).cloned() else {
                    self.diagnostics.add(
                        Diagnostic::new(place, "an alias stands inside its own anchor").help("write the value out"),
                    );
                    return self.take(nothing(place), 0);
                };
                self.referred.push(node.place);
                return self.put(Child::Shared(node), place);
            }
            Event::UnresolvedAlias(name) => {
                if !is_anchor_name(&name) {
                    // The text is not repeated: it may be a password.
                    let message = "without quotes this is an alias, and no anchor above it has that name";
                    let help = "a text that begins with `*` needs quotes: `\"*…\"`";
                    self.diagnostics.add(Diagnostic::new(place, message).help(help));
                    let value = NodeValue::Scalar { text: Cow::Owned(format!("*{name}")), plain: true };
                    return self.take(Node { value, place, depth: 0 }, 0);
                }
                let message = format!("alias {} has no anchor above it", quoted(&name));
                self.diagnostics.add(
                    Diagnostic::new(place, message).help(format!("write `&{name}` before the value it stands for")),
                );
                return self.take(nothing(place), 0);
            }
            _ => {}
        }
        Some(())
    }

    fn close(&mut self, end: u32) -> Option<()> {
        let Some(OpenNode { mut place, anchor, held }) = self.open.pop() else { return Some(()) };
        place.end = end.max(place.start);
        let (value, below) = match held {
            OpenValue::List(items) => {
                let below = items.iter().map(|item| item.depth).max().unwrap_or(0);
                (NodeValue::List(items), below)
            }
            OpenValue::Map { entries, .. } => {
                let entries = self.merge(entries)?;
                let below = entries.iter().map(|entry| entry.value.depth).max().unwrap_or(0);
                (NodeValue::Map(entries), below)
            }
        };
        let depth = below.saturating_add(1);
        if depth > DEPTH_MAX {
            let diagnostic = Diagnostic::new(place, format!("more than {DEPTH_MAX} levels, one inside the other"));
            self.diagnostics.add(diagnostic.help("a fleet needs seven"));
            return None;
        }
        self.take(Node { value, place, depth }, anchor)
    }

    /// Takes a node that has come to its end.
    fn take(&mut self, node: Node<'a>, anchor: usize) -> Option<()> {
        self.budget.nodes += 1;
        if self.budget.nodes > NODES_MAX {
            self.diagnostics.add(
                Diagnostic::new(node.place, format!("the file holds more than {NODES_MAX} values"))
                    .help("split the fleet"),
            );
            return None;
        }
        let place = node.place;
        if anchor == 0 {
            return self.put(Child::Own(node), place);
        }
        let node = Rc::new(shared(node));
        self.anchors.insert(anchor, Rc::clone(&node));
        self.put(Child::Shared(node), place)
    }

    /// Puts a node where it belongs: a list's item, a map's key or value, or the document itself.
    fn put(&mut self, node: Child<'a>, place: TextSpan) -> Option<()> {
        match self.open.last_mut().map(|open| &mut open.held) {
            None => {
                self.root = Some(node);
            }
            Some(OpenValue::List(items)) => items.push(node),
            Some(OpenValue::Map { entries, key }) => match key.take() {
                None => {
                    *key = Some(match &node.value {
                        NodeValue::Scalar { text, plain } => Some((text.clone(), *plain, place)),
                        _ => {
                            self.diagnostics
                                .add(Diagnostic::new(place, "a key has to be plain text").help("write `key: value`"));
                            None
                        }
                    });
                }
                Some(None) => {}
                Some(Some((text, plain, place))) => {
                    redact_secrets(&text, &node, self.diagnostics);
                    let text = if plain || text != "<<" { text } else { Cow::Borrowed("'<<'") };
                    entries.push(MapEntry { key: text, place, value: node });
                }
            },
        }
        Some(())
    }

    /// Finds duplicate keys and resolves `<<`: the map's own keys win, then the earlier of merged maps.
    fn merge(&mut self, written: Vec<MapEntry<'a>>) -> Option<Vec<MapEntry<'a>>> {
        if is_plain(written.iter().map(|entry| &*entry.key)) {
            return Some(written);
        }
        let mut keys = MapKeys::default();
        let mut entries: Vec<MapEntry<'a>> = Vec::with_capacity(written.len());
        let mut source: Option<MapEntry<'a>> = None;
        for entry in written {
            let is_merge = entry.key == "<<";
            let first = if is_merge { source.as_ref().map(|first| first.place) } else { keys.find(&entry.key) };
            if let Some(first) = first {
                let message = format!("key {} is written twice", quoted(&entry.key));
                let mend = if is_merge { "merge a list: `<<: [*a, *b]`" } else { "keep one of the two" };
                self.diagnostics
                    .add(Diagnostic::new(entry.place, message).note(first, "first written here").help(mend));
            } else if is_merge {
                source = Some(entry);
            } else {
                keys.insert(entry.key.clone(), entry.place);
                entries.push(entry);
            }
        }
        if let Some(source) = source {
            self.merge_from(&source, &mut keys, &mut entries)?;
        }
        Some(entries)
    }

    /// Takes over what `<<` names, as far as it is not there yet.
    fn merge_from(
        &mut self,
        source: &MapEntry<'a>,
        keys: &mut MapKeys<'a>,
        entries: &mut Vec<MapEntry<'a>>,
    ) -> Option<()> {
        let maps: Vec<&Child<'a>> = match &source.value.value {
            NodeValue::Map(_) => vec![&source.value],
            NodeValue::List(items) => items.iter().collect(),
            NodeValue::Scalar { .. } => Vec::new(),
        };
        if maps.is_empty() || maps.iter().any(|map| !matches!(map.value, NodeValue::Map(_))) {
            let diagnostic = Diagnostic::new(source.place, "`<<` takes a map, or a list of maps");
            self.diagnostics.add(diagnostic.help("write `<<: *anchor`"));
        }
        for map in maps {
            let NodeValue::Map(merged) = &map.value else { continue };
            self.budget.merged += merged.len();
            if self.budget.merged > MERGED_KEYS_MAX {
                let message = format!("`<<` brings in more than {MERGED_KEYS_MAX} keys over the whole file");
                self.diagnostics
                    .add(Diagnostic::new(source.place, message).help("use `defaults`, or merge smaller maps"));
                return None;
            }
            for entry in merged {
                if keys.find(&entry.key).is_none() {
                    keys.insert(entry.key.clone(), entry.place);
                    entries.push(entry.clone());
                }
            }
        }
        Some(())
    }

    fn syntax(&mut self, error: &ScanError) {
        let seen = self.offset(error.marker()) as usize;
        let at = syntax::place(self.text, seen);
        let below = lines(self.text.get(seen..at).unwrap_or_default()) - 1;
        let start = self.file.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        let line = self.line(error.marker()).saturating_add(below);
        let place = TextSpan { start, end: start.saturating_add(1), line };
        let mend = syntax::mend(self.text, at);
        self.diagnostics.add(Diagnostic::new(place, format!("this is not YAML: {}", error.info())).help(mend));
    }

    /// Userinfo and query of anything that looks like a URL may hold a secret.
    fn redact_address(&mut self, text: &str, place: TextSpan) {
        if secret_parts(text).is_empty() {
            return;
        }
        let (first, start) = (self.file.start as usize, place.start as usize);
        let end = (place.end as usize).min(first + self.text.len());
        let raw = &self.text[start - first..end - first];
        if raw.contains('\\') {
            // Written with escapes, its parts stand elsewhere than in the text that came of it.
            self.diagnostics.redactions.push(start..end);
        } else {
            self.diagnostics
                .redactions
                .extend(secret_parts(raw).into_iter().map(|part| start + part.start..start + part.end));
        }
    }

    fn place(&self, span: Span) -> TextSpan {
        let (start, end) = (self.offset(&span.start), self.offset(&span.end));
        let first = self.file.start;
        TextSpan {
            start: first.saturating_add(start),
            end: first.saturating_add(end.max(start)),
            line: self.line(&span.start),
        }
    }

    fn line(&self, marker: &Marker) -> u32 {
        let line = u32::try_from(marker.line()).unwrap_or(u32::MAX);
        self.file.line.saturating_add(line.saturating_sub(1))
    }

    /// A byte offset that is inside the text and between two characters.
    fn offset(&self, marker: &Marker) -> u32 {
        let mut at = marker.byte_offset().unwrap_or(0).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

/// Hides what a key such as `password` holds, or each item of its list; lists in lists are no secrets.
fn redact_secrets(key: &str, value: &Node<'_>, diagnostics: &mut Collector) {
    if !is_secret_key(key) {
        return;
    }
    let mut redact = |node: &Node<'_>| {
        if let NodeValue::Scalar { text, .. } = &node.value {
            diagnostics.redactions.extend(secret_stretch(text, node.place));
        }
    };
    match &value.value {
        NodeValue::List(items) => items.iter().for_each(|item| redact(item)),
        _ => redact(value),
    }
}

/// A map whose values cost nothing to merge into others.
fn shared<'a>(mut node: Node<'a>) -> Node<'a> {
    if let NodeValue::Map(entries) = node.value {
        let share = |entry: MapEntry<'a>| match entry.value {
            Child::Own(value) => MapEntry { value: Child::Shared(Rc::new(value)), ..entry },
            Child::Shared(_) => entry,
        };
        node.value = NodeValue::Map(entries.into_iter().map(share).collect());
    }
    node
}

/// Whether people name anchors so; YAML lets `*` begin the name of almost any alias, and what they meant is a pattern.
fn is_anchor_name(name: &str) -> bool {
    name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
}

fn nothing<'a>(place: TextSpan) -> Node<'a> {
    Node { value: NodeValue::Scalar { text: Cow::Borrowed(""), plain: true }, place, depth: 0 }
}
