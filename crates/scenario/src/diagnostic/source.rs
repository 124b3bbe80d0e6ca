//! Source texts of a scenario, and source spans of its values (byte ranges), with line and column.
//!
//! Every value keeps its [`SourceSpan`], so that later checks can underline the user's text in a scenario, a
//! grid line, a `--set` argument or a data file.

/// Byte range in one of the texts of [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SourceSpan {
    /// Index of the text in [`Sources`].
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte; equal to `start` for a missing item.
    pub end: u32,
}

impl SourceSpan {
    /// Sub-range `range` (relative to the start of this place); the whole place if `range` does not fit.
    #[must_use]
    pub fn part(self, range: std::ops::Range<usize>) -> SourceSpan {
        let start = self.start.saturating_add(u32::try_from(range.start).unwrap_or(u32::MAX));
        let end = self.start.saturating_add(u32::try_from(range.end).unwrap_or(u32::MAX));
        if start <= end && end <= self.end { SourceSpan { start, end, ..self } } else { self }
    }
}

/// Last character boundary in `text` at or before byte `at`.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A text and its name in messages.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    /// Byte offset of each line start.
    lines: Vec<u32>,
}

/// All texts of one scenario: the file first, then overrides and data files.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    all: Vec<Source>,
}

/// Position for users: line and column count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Sources {
    /// Adds a text and returns its number. Texts are cut at 4 GiB, the range of a [`SourceSpan`].
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        let reach = u32::MAX as usize;
        let text = if text.len() <= reach { text } else { &text[..boundary(text, reach)] };
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        self.all.push(Source { name: name.to_owned(), text: text.to_owned(), lines });
        (self.all.len() - 1) as u32
    }

    /// Renames the first `count` texts called `from` that begin with `prefix` to `to`, without the prefix; returns
    /// their numbers.
    pub(crate) fn rename(&mut self, from: &str, count: usize, prefix: &str, to: &str) -> Vec<u32> {
        let named: Vec<usize> =
            (0..self.all.len()).filter(|&i| self.all[i].name == from).take(count).collect();
        let mut renamed = Vec::new();
        for i in named {
            let Some(rest) = self.all[i].text.strip_prefix(prefix).map(str::to_owned) else { continue };
            // These texts are arguments of one line.
            self.all[i] = Source { name: to.to_owned(), text: rest, lines: vec![0] };
            renamed.push(i as u32);
        }
        renamed
    }

    /// Name of the text of `place`.
    pub fn name(&self, place: SourceSpan) -> &str {
        self.all.get(place.source as usize).map_or("", |s| &s.name)
    }

    /// Text of `place`.
    pub fn text(&self, place: SourceSpan) -> &str {
        self.all.get(place.source as usize).map_or("", |s| &s.text)
    }

    /// Bytes of `place`.
    pub fn slice(&self, place: SourceSpan) -> &str {
        self.text(place).get(place.start as usize..place.end as usize).unwrap_or("")
    }

    /// Line and column of the start of `place`.
    pub fn position(&self, place: SourceSpan) -> Position {
        let (line, start) = self.line_start(place);
        let before = self.text(place).get(start..place.start as usize).unwrap_or("");
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// Whole first line of `place` without line ending, and the offset of its first byte.
    pub fn line(&self, place: SourceSpan) -> (&str, usize) {
        let (_, start) = self.line_start(place);
        let rest = self.text(place).get(start..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("");
        (line.strip_suffix('\r').unwrap_or(line), start)
    }

    fn line_start(&self, place: SourceSpan) -> (usize, usize) {
        let Some(source) = self.all.get(place.source as usize) else { return (0, 0) };
        let index = source.lines.partition_point(|&start| start <= place.start).saturating_sub(1);
        (index, source.lines.get(index).copied().unwrap_or(0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut sources = Sources::default();
        let source = sources.add("a.toml", "µ = 1\nb = 2\r\n");
        let at = |start, end| SourceSpan { source, start, end };
        assert_eq!(sources.position(at(3, 4)), Position { line: 1, column: 3 });
        assert_eq!(sources.position(at(7, 8)), Position { line: 2, column: 1 });
        assert_eq!(sources.line(at(11, 12)), ("b = 2", 7));
        assert_eq!(sources.slice(at(11, 12)), "2");
        // A place beyond the end, or in no text, does not panic.
        assert_eq!(sources.position(at(99, 99)).line, 3);
        assert_eq!(sources.line(SourceSpan { source: 7, start: 3, end: 4 }), ("", 0));
    }
}
