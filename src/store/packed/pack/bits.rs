//! Numbers in as few bits as they are likely: Elias gamma codes for single ones, Rice codes for columns.
//!
//! Sources: P. Elias, "Universal codeword sets and representations of the integers" (1975); R. F. Rice,
//! "Some practical universal noiseless coding techniques" (1979). A Rice code of parameter k writes the low k
//! bits as they are and what is above in unary, which is within a few hundredths of a bit of the best for
//! differences whose frequency halves with each further 2^k.

use std::io;

use bitter::{BigEndianReader, BigEndianWriter, BitReader as _, BitWriter as _, MAX_READ_BITS};

/// Ones in a row that say "this one is written as a gamma code": an outlier costs some 40 bits, not thousands.
const ESCAPE: u32 = 20;
/// The parameter that says: all of the column are zero, and nothing follows.
const ALL_ZERO: u32 = 31;
/// The greatest parameter of a column.
const PARAMETER_MAX: u32 = 30;
const PARAMETER_BITS: u32 = 5;

pub(in crate::store) struct BitWriter(BigEndianWriter<Vec<u8>>);

impl BitWriter {
    pub(in crate::store) fn new() -> Self {
        Self(BigEndianWriter::new(Vec::with_capacity(512)))
    }

    /// The bytes, the last one filled up with zeros.
    pub(in crate::store) fn bytes(self) -> io::Result<Vec<u8>> {
        self.0.into_inner().map_err(io::Error::other)
    }

    pub(in crate::store) fn bit(&mut self, bit: bool) -> io::Result<()> {
        self.0.write_bit(bit)
    }

    /// The low `bits` of a number.
    pub(in crate::store) fn low(&mut self, bits: u32, value: u64) -> io::Result<()> {
        if bits == 0 { Ok(()) } else { self.0.write_bits(bits, value & (u64::MAX >> (64 - bits))) }
    }

    /// A number that is likely small: 0 takes one bit, 1 three, 1,000 nineteen. [`u64::MAX`] is written as one less.
    pub(in crate::store) fn gamma(&mut self, value: u64) -> io::Result<()> {
        let value = value.saturating_add(1);
        let bits = value.ilog2();
        self.low(bits, 0)?;
        self.bit(true)?;
        self.low(bits, value)
    }

    /// A number of either sign that is likely near zero.
    pub(in crate::store) fn signed(&mut self, value: i64) -> io::Result<()> {
        self.gamma(zigzag(value))
    }

    /// Numbers that lie around zero; their count is the reader's to know.
    pub(in crate::store) fn column(&mut self, values: &[i64]) -> io::Result<()> {
        if values.iter().all(|value| *value == 0) {
            return self.low(PARAMETER_BITS, u64::from(ALL_ZERO));
        }
        let parameter = best_parameter(values);
        self.low(PARAMETER_BITS, u64::from(parameter))?;
        for value in values {
            let value = zigzag(*value);
            match u32::try_from(value >> parameter) {
                Ok(above) if above < ESCAPE => {
                    self.low(above, u64::MAX)?;
                    self.bit(false)?;
                    self.low(parameter, value)?;
                }
                _ => {
                    self.low(ESCAPE, u64::MAX)?;
                    self.gamma(value)?;
                }
            }
        }
        Ok(())
    }

    /// A column, with the middle of its values taken off first.
    pub(in crate::store) fn around_median(&mut self, values: &[i64]) -> io::Result<()> {
        let median = median(values);
        self.signed(median)?;
        let rest: Vec<i64> = values.iter().map(|value| value.wrapping_sub(median)).collect();
        self.column(&rest)
    }
}

/// Bits being read. Everything fails at the end of the bytes, so damaged ones end in an error.
#[derive(Debug)]
pub(in crate::store) struct BitReader<'a>(BigEndianReader<'a>);

impl<'a> BitReader<'a> {
    /// From the first bit.
    pub(in crate::store) fn new(bytes: &'a [u8]) -> Self {
        Self(BigEndianReader::new(bytes))
    }

    pub(in crate::store) fn bit(&mut self) -> io::Result<bool> {
        self.0.read_bit().ok_or_else(end)
    }

    /// A number of so many bits.
    pub(in crate::store) fn low(&mut self, bits: u32) -> io::Result<u64> {
        if bits == 0 { Ok(0) } else { self.0.read_bits(bits).ok_or_else(end) }
    }

    /// See [`BitWriter::gamma`].
    pub(in crate::store) fn gamma(&mut self) -> io::Result<u64> {
        let bits = self.run(false)?;
        self.gamma_of(bits)
    }

    /// How many bits alike come before the first other one, which is read as well.
    fn run(&mut self, of: bool) -> io::Result<u32> {
        let mut run = 0;
        loop {
            self.0.refill_lookahead();
            let ahead = self.0.lookahead_bits().min(MAX_READ_BITS);
            if ahead == 0 {
                return Err(end());
            }
            let bits = self.0.peek(ahead) << (u64::BITS - ahead);
            let alike = if of { bits.leading_ones() } else { bits.leading_zeros() }.min(ahead);
            if alike < ahead {
                self.0.consume(alike + 1);
                return Ok(run + alike);
            }
            self.0.consume(ahead);
            run += ahead;
        }
    }

    /// The number that has so many bits beside its first.
    fn gamma_of(&mut self, bits: u32) -> io::Result<u64> {
        if bits > 63 {
            return Err(damaged("a number of more than 64 bits"));
        }
        let low = self.low(bits)?;
        Ok(((1 << bits) | low) - 1)
    }

    /// A count of at most `most`.
    pub(in crate::store) fn count(&mut self, most: usize) -> io::Result<usize> {
        let count = self.gamma()?;
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or_else(|| damaged("a count beyond its limit"))
    }

    /// See [`BitWriter::signed`].
    pub(in crate::store) fn signed(&mut self) -> io::Result<i64> {
        self.gamma().map(unzigzag)
    }

    /// See [`BitWriter::column`].
    pub(in crate::store) fn column(&mut self, count: usize) -> io::Result<Vec<i64>> {
        let parameter = u32::try_from(self.low(PARAMETER_BITS)?).unwrap_or(ALL_ZERO);
        if parameter == ALL_ZERO {
            return Ok(vec![0; count]);
        }
        (0..count).map(|_| self.rice(parameter).map(unzigzag)).collect()
    }

    /// See [`BitWriter::around_median`].
    pub(in crate::store) fn around_median(&mut self, count: usize) -> io::Result<Vec<i64>> {
        let median = self.signed()?;
        let mut values = self.column(count)?;
        values.iter_mut().for_each(|value| *value = value.wrapping_add(median));
        Ok(values)
    }

    fn rice(&mut self, parameter: u32) -> io::Result<u64> {
        match self.run(true)? {
            above if above < ESCAPE => Ok((u64::from(above) << parameter) | self.low(parameter)?),
            // What is escaped is never small, so its gamma code begins with a nought; it ended the ones and is read.
            ESCAPE => {
                let bits = self.run(false)?;
                self.gamma_of(bits.saturating_add(1))
            }
            _ => Err(damaged("a number above its column")),
        }
    }
}

fn end() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// Reads one of a list of values by its number.
pub(in crate::store) fn read_number<T: Copy>(read: &mut BitReader<'_>, bits: u32, all: &[T]) -> io::Result<T> {
    let number = usize::try_from(read.low(bits)?).unwrap_or(usize::MAX);
    all.get(number).copied().ok_or_else(|| damaged("a value of a newer Serin"))
}

/// What is wrong with bytes that no writer of ours made.
pub(in crate::store) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The parameter that makes a column shortest.
fn best_parameter(values: &[i64]) -> u32 {
    let bits = |parameter: u32| -> u64 {
        values
            .iter()
            .map(|value| (zigzag(*value) >> parameter).min(u64::from(ESCAPE) + 40) + 1 + u64::from(parameter))
            .sum()
    };
    (0..=PARAMETER_MAX).min_by_key(|parameter| bits(*parameter)).unwrap_or_default()
}

/// The middle value, the lower one of two; nought of none.
pub(in crate::store::packed::pack) fn median(values: &[i64]) -> i64 {
    let mut values = values.to_vec();
    let Some(middle) = values.len().checked_sub(1).map(|last| last / 2) else { return 0 };
    *values.select_nth_unstable(middle).1
}

/// Numbers of both signs in the order 0, −1, 1, −2, 2, …
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_column_comes_back(values in proptest::collection::vec(prop_oneof![-3..4_i64, -3000..3000_i64, -i64::MAX / 2..i64::MAX / 2], 0..80)) {
            let mut written = BitWriter::new();
            written.column(&values).unwrap();
            written.around_median(&values).unwrap();
            written.signed(-7).unwrap();
            let bytes = written.bytes().unwrap();
            let mut read = BitReader::new(&bytes);
            prop_assert_eq!(read.column(values.len()).unwrap(), values.clone());
            prop_assert_eq!(read.around_median(values.len()).unwrap(), values);
            prop_assert_eq!(read.signed().unwrap(), -7);
        }

        #[test]
        fn damaged_bytes_end_in_an_error_or_in_numbers(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut read = BitReader::new(&bytes);
            while read.gamma().is_ok() && read.column(3).is_ok() {}
        }
    }

    #[test]
    fn what_is_likely_is_short() {
        let rows: [(Vec<i64>, usize, &str); 3] = [
            (vec![0; 60], 1, "sixty zeros are five bits"),
            ((0..60).map(|place| place % 5 - 2).collect(), 23, "sixty small differences take some three bits each"),
            (
                (0..60).map(|place| if place == 30 { 900 } else { place % 5 - 2 }).collect(),
                28,
                "an outlier does not stretch the others",
            ),
        ];
        for (values, most, sentence) in rows {
            let mut written = BitWriter::new();
            written.column(&values).unwrap();
            let bytes = written.bytes().unwrap().len();
            assert!(bytes <= most, "{sentence}: {bytes} bytes");
        }
    }
}
