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

/// Small negative numbers stay small: 0, -1, 1, -2, … become 0, 1, 2, 3, …
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Reads a block from the start. Every read is checked, because the bytes may be damaged.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
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
