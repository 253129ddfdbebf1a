//! What a PDF inflates to, counted before its parser inflates anything.
//!
//! The parser unpacks streams whole, however large. So every stream of the file is inflated here first, piece by piece,
//! into nothing but a count. That says all as long as each stream is packed once: what is packed by filters upon filters,
//! or names its filters in some roundabout way, is refused, and what is packed by filters that are not counted here has
//! to be small.

use flate2::{Decompress, FlushDecompress, Status};

use crate::extract::budget::Budget;
use crate::extract::refusal::Refusal;

/// Bytes of a file that uses filters whose output is not counted: LZW makes at most 2,560 bytes of one.
const UNCOUNTED_BYTES_MAX: usize = 128 << 10;
/// What deflate makes of a byte at most. A stream may break off as zlib sees it and go on as a lenient reader does.
const DEFLATE_RATIO_MAX: usize = 1_032;
/// Streams of a file; a page has a few.
const STREAMS_MAX: usize = 200_000;
/// Bytes before a stream in which its dictionary stands.
const DICTIONARY_BYTES: usize = 4_096;
/// Bytes inflated at once.
const PIECE: usize = 64 << 10;
/// Letters of the longest name that is looked for, each written as `#xx`.
const NAME_BYTES: usize = 64;

/// What a name has to do with packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It says that filters follow.
    Key,
    /// Bytes as letters; makes nothing larger.
    Coding,
    /// Deflate, which is counted.
    Flate,
    /// Packs, and is not counted.
    Uncounted,
    Encrypt,
    None,
}

/// Looks a file over.
///
/// # Errors
/// `Encrypted`, `Filters`, `Inflates`, or `Slow`.
pub(super) fn check(file: &[u8], budget: &mut Budget) -> Result<(), Refusal> {
    filters(file, file.len())?;
    // What is inflated here is not kept: the reader counts its own.
    let (mut left, mut output) = (budget.may_inflate(), Vec::with_capacity(PIECE));
    for (number, (at, data)) in streams(file).enumerate() {
        budget.in_time()?;
        if number >= STREAMS_MAX {
            return Err(Refusal::Entities);
        }
        let Some(data) = data else { continue };
        let ended = inflate(data, &mut left, &mut output)?;
        let dictionary = &file[at.saturating_sub(DICTIONARY_BYTES)..at];
        // A picture of its own format says at once that it is no deflate, to everybody.
        let is_picture = data.starts_with(&[0xff, 0xd8]);
        if !ended && !is_picture && names(dictionary).any(|(_, role)| role == Role::Flate) {
            let whole = find(data, b"endstream").unwrap_or(data.len());
            if whole > budget.may_inflate() / DEFLATE_RATIO_MAX {
                return Err(Refusal::Inflates);
            }
        }
        // Objects within a stream begin with their numbers.
        if output.trim_ascii_start().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'%') {
            filters(&output, file.len())?;
        }
    }
    Ok(())
}

/// Where `stream` stands, and what follows its line.
fn streams(file: &[u8]) -> impl Iterator<Item = (usize, Option<&[u8]>)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + find(file.get(from..)?, b"stream")?;
        from = at + b"stream".len();
        let rest = &file[from..];
        let data = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).or(rest.strip_prefix(b"\r"));
        Some((at, data.filter(|_| !file[..at].ends_with(b"end"))))
    })
}

/// Inflates a stream, leaving its first bytes in `output`; whether it ended as it should.
fn inflate(data: &[u8], left: &mut usize, output: &mut Vec<u8>) -> Result<bool, Refusal> {
    // As the parser tells whether there is zlib's head before the deflate.
    let has_head = matches!(data, [first, second, ..] if first & 0x0f == 8
        && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31) && second & 0x20 == 0);
    let mut rest = if has_head { &data[2..] } else { data };
    let mut deflate = Decompress::new(false);
    let mut piece = vec![0; PIECE];
    output.clear();
    loop {
        let (read, made) = (deflate.total_in(), deflate.total_out());
        let status = deflate.decompress(rest, &mut piece, FlushDecompress::None);
        let step = |after: u64, before: u64| usize::try_from(after - before).unwrap_or(usize::MAX);
        let (read, made) = (step(deflate.total_in(), read), step(deflate.total_out(), made));
        *left = left.checked_sub(made).ok_or(Refusal::Inflates)?;
        output.extend_from_slice(&piece[..made]);
        rest = &rest[read..];
        match status {
            Ok(Status::StreamEnd) => return Ok(true),
            Ok(_) if read > 0 || made > 0 => {}
            _ => return Ok(false),
        }
    }
}

/// Looks at the names in a piece of a PDF, and at what stands before each of them.
fn filters(bytes: &[u8], file_bytes: usize) -> Result<(), Refusal> {
    let is_small = file_bytes <= UNCOUNTED_BYTES_MAX;
    let mut before: (usize, Role) = (0, Role::None);
    for (place, role) in names(bytes) {
        let between = bytes.get(before.0..place.start).unwrap_or_default();
        let is_next = between.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b'[');
        let behind = if is_next { before.1 } else { Role::None };
        match (role, behind) {
            (Role::Encrypt, _) => return Err(Refusal::Encrypted),
            (Role::Flate, Role::Key) => {}
            (Role::Uncounted, Role::Key) | (Role::Flate | Role::Uncounted, Role::Coding) if is_small => {}
            (Role::Flate | Role::Uncounted, _) => return Err(Refusal::Filters),
            _ => {}
        }
        // A coding that does not stand where filters do makes nothing after it one.
        let is_coding_of_none = role == Role::Coding && !matches!(behind, Role::Key | Role::Coding);
        before = (place.end, if is_coding_of_none { Role::None } else { role });
    }
    Ok(())
}

/// Names, where they stand, and what they have to do with packing.
fn names(bytes: &[u8]) -> impl Iterator<Item = (std::ops::Range<usize>, Role)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + bytes.get(from..)?.iter().position(|byte| *byte == b'/')?;
        let rest = &bytes[start + 1..];
        let is_of_name = |byte: &&u8| !b"\0\t\n\x0c\r ()<>[]{}/%".contains(byte);
        let length = rest.iter().take(NAME_BYTES).take_while(is_of_name).count();
        from = start + 1 + length;
        Some((start..from, role(&rest[..length])))
    })
}

fn role(name: &[u8]) -> Role {
    let plain: Vec<u8>;
    let name = if name.contains(&b'#') {
        plain = unescaped(name);
        &plain
    } else {
        name
    };
    match name {
        b"Filter" | b"F" => Role::Key,
        b"ASCIIHexDecode" | b"AHx" | b"ASCII85Decode" | b"A85" => Role::Coding,
        b"FlateDecode" | b"Fl" => Role::Flate,
        b"LZWDecode" | b"LZW" | b"RunLengthDecode" | b"RL" => Role::Uncounted,
        b"Encrypt" => Role::Encrypt,
        _ => Role::None,
    }
}

fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| str::from_utf8(two).ok());
        let byte = digits.filter(|_| *first == b'#').and_then(|two| u8::from_str_radix(two, 16).ok());
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    plain
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}
