//! XDR (RFC 4506): big-endian words and padded bytes, written to the end of a buffer and read where they lie.
//!
//! Prevents: a read behind the end of a message, and a copy of what a server sent before it was checked.

/// A message that does not follow its protocol; the text says how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Garbled(pub &'static str);

/// Appends to a send buffer.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Writes at the end of `out`. It allocates only where the capacity is too small.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Writer { out }
    }

    /// One word.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.out.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Two words.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.out.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Length, bytes, padding. Panics above 4 GiB.
    pub fn opaque(&mut self, bytes: &[u8]) -> &mut Self {
        self.u32(u32::try_from(bytes.len()).expect("our own messages are far below 4 GiB"));
        self.out.extend_from_slice(bytes);
        self.out.resize(self.out.len() + padding(bytes.len()), 0);
        self
    }

    /// Length, `len` bytes that `append` puts to the end, padding. Panics if it puts another number of bytes.
    pub fn data(&mut self, len: usize, append: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.u32(u32::try_from(len).expect("our own messages are far below 4 GiB"));
        let end = self.out.len() + len;
        append(self.out);
        assert_eq!(self.out.len(), end, "as many bytes as were said");
        self.out.resize(end + padding(len), 0);
        self
    }
}

/// Reads on in a message. Each call checks that the bytes are there.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the first byte of `message`.
    pub fn new(message: &'a [u8]) -> Self {
        Reader { rest: message }
    }

    /// What was not read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(Garbled("a message ends before its last field"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// One word.
    pub fn u32(&mut self) -> Result<u32, Garbled> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Two words.
    pub fn u64(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// A word that must be 0 or 1.
    pub fn flag(&mut self) -> Result<bool, Garbled> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Garbled("a flag is neither 0 nor 1")),
        }
    }

    /// Bytes with their length in front, at most `most`.
    pub fn opaque(&mut self, most: usize) -> Result<&'a [u8], Garbled> {
        let len = self.u32()? as usize;
        if len > most {
            return Err(Garbled("a field is longer than its protocol or our call allows"));
        }
        let bytes = self.take(len)?;
        self.take(padding(len))?;
        Ok(bytes)
    }
}

fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            word in any::<u32>(),
            long in any::<u64>(),
        ) {
            let mut out = Vec::new();
            Writer::new(&mut out).u32(word).opaque(&bytes).u64(long);
            Writer::new(&mut out).data(bytes.len(), |out| out.extend_from_slice(&bytes));
            prop_assert_eq!(out.len() % 4, 0);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.u32(), Ok(word));
            prop_assert_eq!(reader.opaque(100), Ok(&bytes[..]));
            prop_assert_eq!(reader.u64(), Ok(long));
            prop_assert_eq!(reader.opaque(100), Ok(&bytes[..]));
            prop_assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn lengths_of_others_are_checked() {
        assert!(
            Reader::new(&[0xff; 8]).opaque(usize::MAX).is_err(),
            "4 GiB are not there"
        );
        assert!(
            Reader::new(&[0, 0, 0, 9, 1, 2, 3, 4]).opaque(8).is_err(),
            "longer than allowed"
        );
        assert!(Reader::new(&[0, 0, 0, 1, 7]).opaque(8).is_err(), "without its padding");
        assert!(Reader::new(&[0, 0, 0, 2]).flag().is_err());
        assert!(Reader::new(&[0, 0, 0]).u32().is_err());
    }
}
