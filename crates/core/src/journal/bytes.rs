//! Numbers in blocks of the call journal and of the statistics of methods: seven bits per byte, the
//! lowest bits first.

use super::BlockError;

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Puts a text after its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Small negative numbers stay small: 0, -1, 1, -2, … become 0, 1, 2, 3, …
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Reads a block from the start. Every read is checked, because the bytes may be damaged.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the version of a block, which is its first byte.
    pub(crate) fn open(block: &'a [u8], version: u8) -> Result<Self, BlockError> {
        let mut reader = Self(block);
        match reader.byte()? {
            found if found == version => Ok(reader),
            other => Err(BlockError::Version(other)),
        }
    }

    /// After the last entry, no bytes may follow.
    pub(crate) fn end(&self) -> Result<(), BlockError> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(BlockError::TooLong),
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, BlockError> {
        let bytes = self.count(1)?;
        std::str::from_utf8(self.take(bytes)?).map_err(|_| BlockError::Text)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, BlockError> {
        let (first, rest) = self.0.split_first().ok_or(BlockError::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], BlockError> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(BlockError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], BlockError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| BlockError::Truncated)
    }

    pub(crate) fn number(&mut self) -> Result<u64, BlockError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(BlockError::Number)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, BlockError> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Reads the count of the entries that follow. An entry has at least `bytes` bytes. If the rest
    /// of the block is too short for the count, this is an error, so damaged bytes never cause a
    /// large allocation.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<usize, BlockError> {
        let count = usize::try_from(self.number()?).map_err(|_| BlockError::Number)?;
        match count <= self.0.len() / bytes {
            true => Ok(count),
            false => Err(BlockError::Truncated),
        }
    }

    /// An index into a list of `len` entries.
    pub(crate) fn index(&mut self, len: usize) -> Result<usize, BlockError> {
        let index = usize::try_from(self.number()?).map_err(|_| BlockError::Number)?;
        match index < len {
            true => Ok(index),
            false => Err(BlockError::Index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_seven_bits_per_byte() {
        for (number, bytes) in [
            (0, &[0][..]),
            (1, &[1]),
            (0x7f, &[0x7f]),
            (0x80, &[0x80, 0x01]),
            (300, &[0xac, 0x02]),
            (0x3fff, &[0xff, 0x7f]),
            (0x4000, &[0x80, 0x80, 0x01]),
            (
                u64::MAX,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
        ] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out, bytes, "{number}");
            let mut reader = Reader(bytes);
            assert_eq!(reader.number(), Ok(number));
            assert!(reader.0.is_empty(), "{number}");
            assert_eq!(
                Reader(&bytes[..bytes.len() - 1]).number(),
                Err(BlockError::Truncated)
            );
        }
        assert_eq!(Reader(&[0xff; 11]).number(), Err(BlockError::Number));
    }

    #[test]
    fn signed_numbers_near_zero_are_short() {
        for (number, bytes) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (-2, &[3]),
            (63, &[0x7e]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
            (
                i64::MAX,
                &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
            (
                i64::MIN,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
        ] {
            let mut out = Vec::new();
            put_signed(&mut out, number);
            assert_eq!(out, bytes, "{number}");
            assert_eq!(Reader(bytes).signed(), Ok(number));
        }
    }

    #[test]
    fn bytes_are_read_in_their_order() {
        let mut reader = Reader(b"abcdef");
        assert_eq!(reader.byte(), Ok(b'a'));
        assert_eq!(reader.take(2), Ok(&b"bc"[..]));
        assert_eq!(reader.array(), Ok(*b"de"));
        assert_eq!(reader.take(2), Err(BlockError::Truncated));
        assert_eq!(reader.array::<2>(), Err(BlockError::Truncated));
        assert_eq!(reader.byte(), Ok(b'f'));
        assert_eq!(reader.byte(), Err(BlockError::Truncated));
    }

    #[test]
    fn a_count_is_limited_by_the_remaining_bytes() {
        let count = |block: &[u8]| Reader(block).count(2);
        assert_eq!(count(&[0]), Ok(0));
        assert_eq!(count(&[2, 0, 0, 0, 0]), Ok(2));
        assert_eq!(count(&[2, 0, 0, 0, 0, 0]), Ok(2));
        assert_eq!(count(&[3, 0, 0, 0, 0, 0]), Err(BlockError::Truncated));
    }

    #[test]
    fn an_index_is_less_than_the_length_of_the_list() {
        assert_eq!(Reader(&[0]).index(3), Ok(0));
        assert_eq!(Reader(&[2]).index(3), Ok(2));
        assert_eq!(Reader(&[3]).index(3), Err(BlockError::Index));
        assert_eq!(Reader(&[4]).index(3), Err(BlockError::Index));
        assert_eq!(Reader(&[0]).index(0), Err(BlockError::Index));
    }
}
