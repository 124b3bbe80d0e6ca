//! Lexer of packetdrill scripts: a cursor over the text with line and column; words, numbers, times and
//! comments.

use crate::dialogue::Unreadable;

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Line, from 1.
    pub(super) line: usize,
    /// Column, from 1, in characters.
    pub(super) column: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0, line: 1, column: 1 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Unreadable {
        Unreadable { line: self.line, column: self.column, message: message.into() }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        Some(c)
    }

    /// Advances by this number of bytes, up to a character boundary.
    fn skip(&mut self, bytes: usize) {
        let end = self.at + bytes;
        while self.at < end {
            self.next();
        }
    }

    /// Consumes this text if it comes next; returns whether it did.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let here = self.rest().starts_with(word);
        if here {
            self.skip(word.len());
        }
        here
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Unreadable> {
        if self.eat(word) {
            return Ok(());
        }
        let found: String = self.rest().chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let found = if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
        Err(self.error(format!("`{word}` should stand here, not {found}")))
    }

    /// Consumes characters while `like` accepts them.
    pub(super) fn take_while(&mut self, like: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !like(c)).unwrap_or(rest.len());
        self.skip(len);
        &rest[..len]
    }

    /// Consumes the text up to and including `end`; returns the part before `end`.
    pub(super) fn take_until(&mut self, end: &str) -> Result<&'a str, Unreadable> {
        let rest = self.rest();
        let Some(len) = rest.find(end) else { return Err(self.error(format!("`{end}` never comes"))) };
        self.skip(len + end.len());
        Ok(&rest[..len])
    }

    /// Skips blanks on this line.
    pub(super) fn blanks(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t' || c == '\r');
    }

    /// Skips blanks, line ends and comments; passes comments addressed to williwaw to `comment` with their line.
    pub(super) fn space(&mut self, mut comment: impl FnMut(&'a str, usize)) -> Result<(), Unreadable> {
        loop {
            self.take_while(char::is_whitespace);
            let line = self.line;
            if self.eat("//") {
                comment(self.take_while(|c| c != '\n'), line);
            } else if self.eat("/*") {
                self.take_until("*/")?;
            } else if self.column == 1 && self.peek() == Some('#') {
                self.take_while(|c| c != '\n');
            } else {
                return Ok(());
            }
        }
    }

    /// A whole number.
    pub(super) fn number(&mut self, what: &str) -> Result<u64, Unreadable> {
        let at = *self;
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse::<u64>() {
            Ok(n) if n <= 1 << 40 => Ok(n),
            Ok(_) => Err(at.error(format!("{what} is too large a number"))),
            Err(_) => Err(at.error(format!("{what} should be a whole number"))),
        }
    }

    /// Seconds, with or without a fraction.
    pub(super) fn seconds(&mut self) -> Result<f64, Unreadable> {
        let at = *self;
        let mut text = self.take_while(|c| c.is_ascii_digit()).to_owned();
        // Three dots are another token.
        if self.peek() == Some('.') && !self.rest().starts_with("...") {
            self.next();
            text.push('.');
            text += self.take_while(|c| c.is_ascii_digit());
        }
        // `.1` and `1.` are numbers in packetdrill.
        let padded = if text.contains('.') { format!("0{text}0") } else { text.clone() };
        match padded.parse::<f64>() {
            Ok(s) if s <= 1e6 && text.contains(|c: char| c.is_ascii_digit()) => Ok(s),
            _ => Err(at.error("a time should stand here: `+0.1`, `0.1`, `*`")),
        }
    }

    /// A name.
    pub(super) fn word(&mut self) -> &'a str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }
}
