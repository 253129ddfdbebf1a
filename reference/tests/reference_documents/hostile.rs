//! Files made to hurt: deep, large when unpacked, in circles, cut short.

use std::io::Write as _;

use serin_reference::extract::budget::Budget;
use serin_reference::extract::kind::Kind;
use serin_reference::extract::limits::TEXT_BYTES_MAX;
use serin_reference::extract::refusal::Refusal;
use serin_reference::extract::thread;
use zip::write::SimpleFileOptions;

use crate::{file, text};

/// Deeper than any stack that is gone down a level at a time.
const DEEP: usize = 100_000;

pub(crate) fn docx(xml: &str) -> Vec<u8> {
    archive(&[("word/document.xml", xml.as_bytes())])
}

fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(bytes).unwrap();
    deflate.finish().unwrap()
}

/// A PDF of these objects, the first its catalog; it has no table of them, and readers look for them.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    for (number, object) in objects.iter().enumerate() {
        bytes.extend_from_slice(format!("{} 0 obj\n", number + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    bytes.extend_from_slice(b"trailer << /Root 1 0 R >>\n");
    bytes
}

/// Objects of a page with this content, and what its stream's dictionary says.
fn page(content: &[u8], says: &str) -> Vec<Vec<u8>> {
    let mut stream = format!("<< /Length {} {says} >>\nstream\n", content.len()).into_bytes();
    stream.extend_from_slice(content);
    stream.extend_from_slice(b"\nendstream");
    let page = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>";
    vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page.into(),
        stream,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ]
}

const SHOWS: &[u8] = b"BT /F1 12 Tf 72 700 Td (fired) Tj ET";

#[test]
fn what_these_tests_build_is_read_where_nothing_is_wrong_with_it() {
    assert_eq!(text("a.pdf", &pdf(&page(SHOWS, ""))).unwrap(), "fired\n");
    assert_eq!(text("a.pdf", &pdf(&page(&deflated(SHOWS), "/Filter /FlateDecode"))).unwrap(), "fired\n");
    let hex: String = SHOWS.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text("a.pdf", &pdf(&page(hex.as_bytes(), "/Filter /ASCIIHexDecode"))).unwrap(), "fired\n");
    assert_eq!(
        text("a.docx", &docx("<w:document><w:p><w:r><w:t>fired</w:t></w:r></w:p></w:document>")).unwrap(),
        "fired\n"
    );
}

/// In a thread such as any program has: what needs a large stack to live does not live.
async fn apart(name: &str, bytes: Vec<u8>) -> Result<String, Refusal> {
    thread::text(Kind::of(name, None, &bytes), bytes).await
}

#[tokio::test]
async fn depth_costs_no_more_than_length() {
    let divs = format!("{}fired{}", "<div>".repeat(DEEP), "</div>".repeat(DEEP));
    assert_eq!(apart("a.html", divs.into_bytes()).await.unwrap(), "fired\n");
    let lists = format!("{}fired", "<ul><li><b>".repeat(DEEP));
    assert!(apart("a.html", lists.into_bytes()).await.unwrap().ends_with("- fired\n"));
    let tables = format!("{}fired", "<table><tr><td>".repeat(DEEP));
    assert_eq!(apart("a.html", tables.into_bytes()).await.unwrap(), "fired\n");
    for (open, close) in [("<w:p>", "</w:p>"), ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"), ("<a>", "</a>")] {
        let xml = format!("<w:d>{}<w:t>fired</w:t>{}</w:d>", open.repeat(DEEP), close.repeat(DEEP));
        assert_eq!(apart("a.docx", docx(&xml)).await.unwrap(), "fired\n", "{open}");
    }
    let based: String =
        (0..DEEP).map(|n| format!("<w:style w:styleId='{n}'><w:basedOn w:val='{}'/></w:style>", n + 1)).collect();
    let styles = format!("<w:styles>{based}<w:style w:styleId='a'><w:basedOn w:val='a'/></w:style></w:styles>");
    let deep = [("word/styles.xml", styles.as_bytes()), ("word/document.xml", b"<w:p><w:t>fired</w:t></w:p>")];
    assert_eq!(apart("a.docx", archive(&deep)).await.unwrap(), "fired\n");
}

#[tokio::test]
async fn a_pdf_goes_in_no_circles_and_to_no_depth() {
    // The parser begins anew at each bracket that it gives up, so it is not as deep here.
    let arrays = format!("{}{}", "[".repeat(DEEP / 10), "]".repeat(DEEP / 10));
    let dicts = format!("{}{}", "<< /A ".repeat(DEEP / 10), ">>".repeat(DEEP / 10));
    for deep in [&arrays, &dicts] {
        let content = [deep.as_bytes(), b" TJ ", SHOWS].concat();
        let _read_or_refused = apart("a.pdf", pdf(&page(&content, ""))).await;
        let mut objects = page(SHOWS, "");
        objects[2] = format!("<< /Type /Page /Contents 4 0 R /Resources {deep} >>").into_bytes();
        let _read_or_refused = apart("a.pdf", pdf(&objects)).await;
    }
    let mut circle = page(SHOWS, "");
    circle[1] = b"<< /Type /Pages /Kids [2 0 R 2 0 R 3 0 R] /Count 3 /Parent 2 0 R >>".to_vec();
    assert_eq!(apart("a.pdf", pdf(&circle)).await.unwrap(), "fired\n");
    let mut itself = page(SHOWS, "");
    itself[4] = b"5 0 R".to_vec();
    itself[1] = b"2 0 R".to_vec();
    let _read_or_refused = apart("a.pdf", pdf(&itself)).await;
    // Each form shows itself twice: two to the depth, were there no limit to it.
    let form =
        b"<< /Subtype /Form /Length 11 /Resources << /XObject << /X 6 0 R >> >> >>\nstream\n/X Do /X Do\nendstream";
    let forms = [page(&[SHOWS, b" /X Do"].concat(), ""), vec![form.to_vec()]].concat();
    assert_eq!(apart("a.pdf", pdf(&forms)).await.unwrap(), "fired\n");
}

/// What these may inflate, which takes no time to go through.
const MAY_INFLATE: usize = 1 << 20;

fn inflating(name: &str, bytes: &[u8]) -> Result<String, Refusal> {
    let budget = &mut Budget::new().inflating(MAY_INFLATE);
    Kind::of(name, None, bytes).text(bytes, budget).map(std::borrow::Cow::into_owned)
}

#[test]
fn what_a_file_inflates_to_is_counted() {
    let bomb = deflated(&vec![b' '; MAY_INFLATE + 1]);
    let of = |says: &str, content: &[u8]| inflating("a.pdf", &pdf(&page(content, says)));
    assert_eq!(of("/Filter /FlateDecode", &bomb), Err(Refusal::Inflates), "in a stream");
    assert_eq!(of("/Filter [/FlateDecode /FlateDecode]", &deflated(&bomb)), Err(Refusal::Filters), "upon another");
    assert_eq!(of("/Filter [/Fl#61teDecode /#46l]", &deflated(&bomb)), Err(Refusal::Filters), "in another spelling");
    let mut roundabout = page(&deflated(&bomb), "/Filter [6 0 R 6 0 R]");
    roundabout.push(b"/FlateDecode".to_vec());
    assert_eq!(inflating("a.pdf", &pdf(&roundabout)), Err(Refusal::Filters), "by names that stand elsewhere");
    let mut inside = page(&deflated(&bomb), "/Filter [7 0 R 7 0 R]");
    let objects = deflated(b"7 0 /FlateDecode");
    let stream = format!("<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length {} >>\nstream\n", objects.len());
    let stream = [stream.as_bytes(), &objects, b"\nendstream"].concat();
    inside.push(stream);
    assert_eq!(inflating("a.pdf", &pdf(&inside)), Err(Refusal::Filters), "and are packed themselves");
    let large = vec![b'a'; 200_000];
    assert_eq!(of("/Filter /LZWDecode", &large), Err(Refusal::Filters), "packed by what nobody counts");
    let xml = [b"<w:p><w:t>".as_slice(), &vec![b'a'; MAY_INFLATE]].concat();
    assert_eq!(inflating("a.docx", &archive(&[("word/document.xml", &xml)])), Err(Refusal::Inflates), "a DOCX");
    let repeated = "4 0 R ".repeat(40);
    let mut again = page(&deflated(&vec![b' '; MAY_INFLATE / 32]), "/Filter /FlateDecode");
    again[2] = format!("<< /Type /Page /Parent 2 0 R /Contents [{repeated}] >>").into_bytes();
    assert_eq!(inflating("a.pdf", &pdf(&again)), Err(Refusal::Inflates), "the same stream again and again");
}

#[test]
fn entities_mean_nothing_and_texts_have_an_end() {
    let xml = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
        <w:p><w:t>x&b;&f;&amp;&#65;</w:t></w:p>";
    assert_eq!(text("a.docx", &docx(xml)).unwrap(), "x&A\n");
    let long = "word ".repeat(TEXT_BYTES_MAX / 5 + 2);
    assert_eq!(text("a.html", long.as_bytes()), Err(Refusal::Text));
    assert_eq!(text("a.docx", &docx(&format!("<w:p><w:t>{long}</w:t></w:p>"))), Err(Refusal::Text));
}

#[test]
fn a_file_that_is_cut_or_changed_anywhere_is_read_or_refused_but_breaks_nothing() {
    for name in ["manual.pdf", "wheel.docx"] {
        let whole = file(name);
        for at in (0..whole.len()).step_by(7) {
            let _read_or_refused = text(name, &whole[..at]);
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            let _read_or_refused = text(name, &changed);
        }
    }
}
