//! Pre-shared token that authenticates controller and agent (`Token`): parser, random generation, file.
//!
//! A token is 32 random bytes, stored as 64 hexadecimal digits in a file at both ends. It also keys the encryption, so
//! it must be random: an eavesdropper could guess a password.

use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// Shared secret of controller and agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Token(pub(crate) [u8; 32]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Hexadecimal digits of a token.
const DIGITS: usize = 64;

/// Invalid token; the error does not contain the digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token has {DIGITS} hexadecimal digits, and this has {characters} characters")]
pub struct TokenError {
    /// Number of characters in the first line.
    characters: usize,
}

impl Token {
    /// Parses the first line of a token file.
    ///
    /// # Errors
    /// The length or a digit is invalid.
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let line = text.lines().next().unwrap_or_default().trim();
        let digits: Option<Vec<u8>> =
            line.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
        let Some(digits) = digits.filter(|digits| digits.len() == DIGITS) else {
            return Err(TokenError { characters: line.chars().count() });
        };
        let mut bytes = [0; DIGITS / 2];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Ok(Token(bytes))
    }

    /// Writes a random token to a new file that only its owner can read.
    ///
    /// # Errors
    /// An error of the file, or of the system's random source.
    pub fn make(path: &Path) -> io::Result<()> {
        let mut bytes = [0; DIGITS / 2];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)?.write_all(format!("{}\n", String::from(Token(bytes))).as_bytes())
    }
}

/// Hexadecimal form: in the token file, and in the message that gives a path host the tokens of worker hosts.
impl From<Token> for String {
    fn from(Token(bytes): Token) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for Token {
    type Error = TokenError;
    fn try_from(digits: String) -> Result<Token, TokenError> {
        Token::parse(&digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_read_and_is_not_made_twice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        Token::make(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_ne!(Token::parse(&text).unwrap().0, [0; 32]);
        assert_eq!(Token::make(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let digits = "00ff".repeat(16);
        assert_eq!(Token::parse(&digits).unwrap().0[..4], [0, 255, 0, 255]);
        for wrong in ["", "secret", &digits[1..], &digits.replace('f', "g")] {
            let characters = wrong.len();
            assert_eq!(
                Token::parse(wrong).unwrap_err().to_string(),
                format!("a token has 64 hexadecimal digits, and this has {characters} characters")
            );
        }
    }
}
