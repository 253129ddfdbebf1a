//! A body put together from its pieces; one that comes in one, as nearly all do, is not copied.

use bytes::Bytes;

#[derive(Debug, Default)]
pub(super) struct Pieces {
    first: Bytes,
    /// All of them, once there are more.
    all: Vec<u8>,
}

impl Pieces {
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    /// Adds a piece; `announced` bytes are to come in all, where that is known.
    pub(super) fn push(&mut self, piece: Bytes, announced: Option<usize>) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.reserve(announced.unwrap_or_default());
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    pub(super) fn whole(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_whole_however_it_was_cut() {
        let rows: [(&[&'static str], &str); 5] = [
            (&[], ""),
            (&["one"], "one"),
            (&["o", "ne"], "one"),
            (&["", "o", "", "n", "e"], "one"),
            (&["one", ""], "one"),
        ];
        for (cut, whole) in rows {
            let mut pieces = Pieces::default();
            cut.iter().for_each(|piece| pieces.push(Bytes::from_static(piece.as_bytes()), Some(3)));
            assert_eq!((pieces.len(), pieces.whole()), (whole.len(), Bytes::from_static(whole.as_bytes())), "{cut:?}");
        }
        let one = Bytes::from_static(b"one");
        let mut pieces = Pieces::default();
        pieces.push(one.clone(), None);
        assert_eq!(pieces.whole().as_ptr(), one.as_ptr(), "one piece is the body itself");
    }
}
