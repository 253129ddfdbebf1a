//! The article of a web page: headings, paragraphs, lists, code and tables; not what stands around it.
//!
//! The page is read as tokens and never as a tree, so no depth of it costs more than its length. What a page calls
//! `main` is its article; a page without one is read whole but for navigation and the like.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::extract::budget::Budget;
use crate::extract::letters;
use crate::extract::refusal::Refusal;
use crate::extract::written::Written;

/// Letters that a part must have to be the article; shorter ones are a teaser.
const ARTICLE_CHARS_MIN: usize = 140;

/// Links of a list that is nothing but links, and leads elsewhere.
const MENU_LINKS_MIN: usize = 8;

/// What of a page is read, the first that has enough; all of it where nothing stands but around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Main,
    Article,
    Body,
    All,
}

/// The article.
///
/// # Errors
/// `NoText`, or the limit that it is over.
pub fn text(bytes: &[u8], budget: &mut Budget) -> Result<String, Refusal> {
    let page = letters::page(bytes);
    for part in [Part::Main, Part::Article, Part::Body, Part::All] {
        let found = read(&page, part, budget)?;
        let is_enough = matches!(part, Part::Body | Part::All) || found.chars().nth(ARTICLE_CHARS_MIN).is_some();
        if is_enough && !found.is_empty() {
            return Ok(found);
        }
    }
    Err(Refusal::NoText("HTML"))
}

fn read(page: &str, part: Part, budget: &mut Budget) -> Result<String, Refusal> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader { part, ..Reader::default() };
    for token in Tokenizer::new_with_emitter(page, emitter) {
        budget.step()?;
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.starts(&tag)?,
            Token::EndTag(tag) => reader.ends(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.says(&String::from_utf8_lossy(&text))?,
            _ => {}
        }
    }
    reader.done()
}

/// Where the reader is in a page.
#[derive(Debug)]
struct Reader {
    part: Part,
    written: Written,
    title: String,
    in_title: bool,
    /// The element whose inside is left out, and how many of its name are open.
    skipped: Option<(String, usize)>,
    /// The element that is the article, and how many of its name are open.
    within: Option<(String, usize)>,
    lists: usize,
    preformatted: bool,
    cells: usize,
    has_heading: bool,
    in_heading: bool,
    in_link: bool,
    /// The list that is open, the outermost.
    list: List,
}

/// A list, and how much of it is links.
#[derive(Debug, Default)]
struct List {
    starts_at: usize,
    links: usize,
    link_bytes: usize,
    bytes: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            part: Part::All,
            written: Written::default(),
            title: String::new(),
            in_title: false,
            skipped: None,
            within: None,
            lists: 0,
            preformatted: false,
            cells: 0,
            has_heading: false,
            in_heading: false,
            in_link: false,
            list: List::default(),
        }
    }
}

impl Reader {
    fn starts(&mut self, tag: &StartTag<()>) -> Result<(), Refusal> {
        let name = String::from_utf8_lossy(&tag.name);
        for open in [&mut self.skipped, &mut self.within].into_iter().flatten() {
            open.1 += usize::from(open.0 == name);
        }
        if self.skipped.is_some() || is_void(&name) && !matches!(&*name, "br" | "hr") {
            return Ok(());
        }
        let says =
            |key: &[u8]| tag.attributes.get(key).map(|value| String::from_utf8_lossy(&value.value).to_lowercase());
        if self.within.is_none() && self.begins(&name, says(b"role").as_deref()) {
            self.within = Some((name.clone().into_owned(), 1));
        } else if is_left_out(&name, self.part, self.within.is_some(), says) {
            self.skipped = Some((name.into_owned(), 1));
            return Ok(());
        }
        self.in_title = name == "title" && self.title.is_empty();
        if !self.is_read() {
            return Ok(());
        }
        match &*name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                (self.has_heading, self.in_heading) = (true, true);
                self.written.heading(usize::from(name.as_bytes()[1] - b'0'));
            }
            "li" => self.written.item(self.lists.max(1)),
            "ul" | "ol" | "menu" => {
                if self.lists == 0 {
                    self.list = List { starts_at: self.written.bytes(), ..List::default() };
                }
                self.lists += 1;
                self.written.line();
            }
            "a" => {
                self.in_link = true;
                self.list.links += 1;
            }
            "pre" => {
                self.written.paragraph();
                self.written.raw("```\n")?;
                self.preformatted = true;
            }
            "br" | "dt" | "dd" | "summary" => self.written.line(),
            "tr" => {
                self.written.line();
                self.cells = 0;
            }
            "td" | "th" => {
                if self.cells > 0 && self.written.in_line() {
                    self.written.words(" | ")?;
                }
                self.cells += 1;
            }
            _ if is_block(&name) && self.cells == 0 => self.written.paragraph(),
            _ if is_block(&name) => self.written.words(" ")?,
            _ => {}
        }
        Ok(())
    }

    fn ends(&mut self, name: &str) {
        self.in_title &= name != "title";
        let was_read = self.is_read();
        for open in [&mut self.skipped, &mut self.within] {
            if let Some((of, depth)) = open.as_mut().filter(|(of, _)| of == name) {
                *depth -= 1;
                if *depth == 0 && !of.is_empty() {
                    *open = None;
                }
            }
        }
        if !was_read {
            return;
        }
        match name {
            "pre" if self.preformatted => {
                self.preformatted = false;
                // Within the limit, or what follows says that it is not.
                let _over = self.written.raw_end("```");
                self.written.paragraph();
            }
            "li" => {
                self.written.plain();
                self.written.line();
            }
            "ul" | "ol" | "menu" => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists > 0 {
                    self.written.line();
                } else if self.part == Part::Body && self.list.is_menu() {
                    self.written.back_to(self.list.starts_at);
                } else {
                    self.written.paragraph();
                }
            }
            "a" => self.in_link = false,
            "table" => {
                self.cells = 0;
                self.written.paragraph();
            }
            "tr" => self.written.line(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.in_heading = false;
                self.written.plain();
                self.written.paragraph();
            }
            _ if is_block(name) && self.cells == 0 => self.written.paragraph(),
            _ => {}
        }
    }

    fn says(&mut self, text: &str) -> Result<(), Refusal> {
        if self.in_title {
            self.title.push_str(text);
        } else if self.is_read() && self.preformatted {
            self.written.raw(text)?;
        } else if self.is_read() && !(self.in_heading && self.in_link && matches!(text.trim(), "#" | "¶" | "§")) {
            self.list.bytes += text.trim().len();
            self.list.link_bytes += if self.in_link { text.trim().len() } else { 0 };
            self.written.words(text)?;
        }
        Ok(())
    }

    fn done(self) -> Result<String, Refusal> {
        let body = self.written.done();
        let mut title = Written::default();
        title.heading(1);
        title.words(&self.title)?;
        if self.has_heading || body.is_empty() || title.is_empty() {
            return Ok(body);
        }
        title.paragraph();
        title.raw(&body)?;
        Ok(title.done())
    }

    fn begins(&self, name: &str, role: Option<&str>) -> bool {
        match self.part {
            Part::Main => name == "main" || role == Some("main"),
            Part::Article => name == "article" || role == Some("article"),
            Part::Body | Part::All => false,
        }
    }

    fn is_read(&self) -> bool {
        self.skipped.is_none()
            && !self.in_title
            && (self.within.is_some() || matches!(self.part, Part::Body | Part::All))
    }
}

impl List {
    /// Whether it leads elsewhere and says nothing itself.
    fn is_menu(&self) -> bool {
        self.links >= MENU_LINKS_MIN && self.link_bytes * 10 >= self.bytes * 9
    }
}

/// What is no text for anybody.
fn is_code(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "iframe"
            | "object"
            | "canvas"
            | "select"
            | "textarea"
            | "audio"
            | "video"
            | "map"
            | "datalist"
            | "button"
    )
}

/// What stands around an article, or is not shown.
fn is_left_out(name: &str, part: Part, within: bool, says: impl Fn(&[u8]) -> Option<String>) -> bool {
    if is_code(name) {
        return true;
    }
    if part == Part::All || matches!(name, "html" | "body" | "main" | "head" | "title") {
        return false;
    }
    let styled = says(b"style").unwrap_or_default().replace(' ', "");
    let is_hidden = says(b"hidden").is_some()
        || says(b"aria-hidden").as_deref() == Some("true")
        || styled.contains("display:none")
        || styled.contains("visibility:hidden");
    // A heading stands in the `header` of an article; that of a page is its banner.
    let is_around = matches!(name, "nav" | "aside" | "footer" | "dialog") || name == "header" && !within;
    let role = says(b"role").unwrap_or_default();
    let is_role = matches!(
        &*role,
        "navigation" | "banner" | "contentinfo" | "search" | "complementary" | "menu" | "menubar" | "dialog"
    );
    let names = [says(b"class"), says(b"id")];
    let mut names = names.iter().flatten().flat_map(|names| names.split_whitespace());
    is_hidden || is_around || is_role || name != "article" && names.any(is_around_by_name)
}

/// Names that pages give to what stands around an article.
fn is_around_by_name(name: &str) -> bool {
    const PARTS: &[&str] = &["sidebar", "breadcrumb", "navbar", "cookie", "skip-link", "skiplink", "headerlink"];
    const WHOLE: &[&str] = &[
        "nav",
        "navigation",
        "related",
        "menu",
        "footer",
        "toc",
        "table-of-contents",
        "advert",
        "ads",
        "share",
        "social",
        "noprint",
        "visually-hidden",
        "sr-only",
        "anchorjs-link",
        "site-header",
        "page-header-nav",
        "searchbox",
    ];
    WHOLE.contains(&name) || PARTS.iter().any(|part| name.contains(part))
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "main"
            | "blockquote"
            | "figure"
            | "figcaption"
            | "address"
            | "hr"
            | "dl"
            | "table"
            | "header"
            | "footer"
            | "fieldset"
            | "details"
            | "form"
            | "caption"
            | "body"
            | "center"
    )
}

/// Elements that have no end.
fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}
