//! The secret part of the page's address.
//!
//! Drawn by the kernel, 128 bits, written in hexadecimal. Prevents: an address that can be guessed, alone or digit by
//! digit by the time of the answer.

use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq;

/// Bytes of randomness.
const BYTES: usize = 16;

/// The token. It has no `Debug`, so that no message prints it by accident.
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn draw() -> std::io::Result<Token> {
        let mut random = [0u8; BYTES];
        let mut filled = 0;
        while filled < BYTES {
            filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
        }
        Ok(Token::of(random))
    }

    /// The token of these bytes.
    pub fn of(bytes: [u8; BYTES]) -> Token {
        Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// As it is written in the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the token; the time does not depend on where they differ.
    pub(crate) fn is(&self, said: &str) -> bool {
        self.0.as_bytes().ct_eq(said.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert_eq!(one.as_str().len(), 2 * BYTES);
        assert!(one.as_str() != other.as_str() && one.is(one.as_str()) && !one.is(other.as_str()));
        assert!(!one.is("") && !one.is(&one.as_str()[1..]));
    }
}
