//! Documents of other programs: what comes out of them, what is refused and why, and every way in.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod hostile;
mod ways;

use serin_reference::extract::budget::Budget;
use serin_reference::extract::kind::Kind;
use serin_reference::extract::refusal::Refusal;

/// A file made by another program: reportlab made the PDFs, python-docx the DOCX.
fn file(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference_documents/files").join(name);
    std::fs::read(path).unwrap()
}

fn text(name: &str, bytes: &[u8]) -> Result<String, Refusal> {
    Kind::of(name, None, bytes).text(bytes, &mut Budget::new()).map(std::borrow::Cow::into_owned)
}

fn html(says: &str, page: &str, expected: &str) {
    assert_eq!(text("a.html", page.as_bytes()).unwrap(), expected, "{says}");
}

#[test]
fn a_pdf_is_read_with_its_headings_and_without_what_stands_around_its_pages() {
    let expected = "# The kiln\n\nThe kiln is fired at dawn by whoever has the key; its door stays shut until the cone has \
        bent.\n\n## Cooling\n\nIt cools for two days.\n\n## Glazes\n\nA cobalt glaze runs at 1260 degrees.\n\n## \
        Repairs\n\nWrite to kiln@example.org, password: tr0ub4dor&Zebra9\n";
    assert_eq!(text("manual.pdf", &file("manual.pdf")).unwrap(), expected);
}

#[test]
fn a_docx_is_read_with_its_headings_lists_and_tables_and_without_what_is_hidden() {
    let expected = "# The wheel\n\nThe wheel turns to the left, and the clay is centred with wet hands.\n\n# Speed\n\n- \
        Slow at the rim.\n- Fast in the middle.\n\nclay | speed\nporcelain | 120\n";
    assert_eq!(text("wheel.docx", &file("wheel.docx")).unwrap(), expected);
}

#[test]
fn of_a_page_the_article_is_read() {
    let around = "<nav><a href=/>Home</a></nav><script>let a = '<p>';</script><style>p {}</style>";
    html("what stands around it is left out", &format!("{around}<h1>A</h1><p>b<footer>c</footer>"), "# A\n\nb\n");
    html("a page without heading has its title", "<title>T &amp; U</title><p>a<p>b", "# T & U\n\na\n\nb\n");
    html("what is hidden is", "<p hidden>a</p><p style='display: none'>b</p><div aria-hidden=true>c</div><p>d", "d\n");
    html("by the names that pages give", "<div class='sphinxsidebar x'>a <div>b</div> c</div><p>d", "d\n");
    html("lists", "<ul><li>a<ul><li>b</ul><li>c</ul>d", "- a\n  - b\n- c\n\nd\n");
    html("code is as it is", "<pre>a\n  <b>b</b></pre>c", "```\na\n  b\n```\n\nc\n");
    html("tables", "<table><tr><th>a<th>b<tr><td><p>c</p><td>d</table>", "a | b\nc | d\n");
    html("headings of all levels", "<h2>a <code>b</code></h2><h6>c</h6>d", "## a b\n\n###### c\n\nd\n");
    html("an empty heading heads nothing", "<h2></h2><p>a", "a\n");
    html("nothing but navigation is better than nothing", "<nav>a</nav>", "a\n");
    html("code that ends its last line", "<pre>a\n</pre>", "```\na\n```\n");
    html("signs that lead to a heading itself", "<h2>a<a href=#a>#</a></h2>b", "## a\n\nb\n");
    let menu = format!("<p>a<ul>{}</ul><p>d", "<li><a href=/>b</a>".repeat(8));
    html("a list of nothing but links leads elsewhere", &menu, "a\n\nd\n");
    let few = format!("<p>a<ul>{}</ul>", "<li><a href=/>b</a> c c c".repeat(8));
    assert!(text("a.html", few.as_bytes()).unwrap().contains("- b c c c\n- b"), "one that says something does not");
    let long = "word ".repeat(40);
    let page = format!("<body><p>before<main><h1>A</h1><p>{long}</main><p>after");
    assert_eq!(text("a.html", page.as_bytes()).unwrap(), format!("# A\n\n{}\n", long.trim()), "what it calls main");
    assert_eq!(text("a.html", b"<p>na\xefve \x93a\x94").unwrap(), "naïve “a”\n", "in letters of old pages");
}

#[test]
fn what_has_no_text_is_refused_with_the_mend() {
    for (name, bytes, refusal, mend) in [
        ("scan.pdf", file("scan.pdf"), Refusal::NoTextLayer, "OCR"),
        ("locked.pdf", file("locked.pdf"), Refusal::Encrypted, "without a password"),
        ("empty.pdf", Vec::new(), Refusal::Damaged("PDF"), "save it anew"),
        ("cut.pdf", file("manual.pdf")[..900].to_vec(), Refusal::Damaged("PDF"), "save it anew"),
        ("text.pdf", b"I am a text".to_vec(), Refusal::Damaged("PDF"), "save it anew"),
        ("empty.docx", hostile::docx("<w:document/>"), Refusal::NoText("DOCX"), "send what it says"),
        ("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), Refusal::Encrypted, "without a password"),
        ("cut.docx", file("wheel.docx")[..900].to_vec(), Refusal::Damaged("DOCX"), "save it anew"),
        ("empty.html", b"<script>render()</script>".to_vec(), Refusal::NoText("HTML"), "send what it says"),
    ] {
        let told = text(name, &bytes).unwrap_err();
        assert_eq!(told, refusal, "{name}");
        assert!(told.to_string().contains(mend), "{name}: {told}");
    }
}
