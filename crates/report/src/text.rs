//! Text of pictures and pages: escaping for HTML, SVG and scripts, number formats, approximate text width.

use std::fmt::Write as _;

/// Text for an element or a quoted attribute of HTML or SVG.
///
/// Characters that XML 1.0 forbids become U+FFFD, so that a drawing is well-formed for any name.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if (c as u32) < 0x20 || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A sentence for a page; text in backticks is shown as user input.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<String> = escape(text).split('`').map(str::to_owned).collect();
    if parts.len().is_multiple_of(2) {
        return parts.join("`"); // The last backtick has no partner.
    }
    let typed = |(i, part): (usize, &String)| match i % 2 {
        1 => format!("<code>{part}</code>"),
        _ => part.clone(),
    };
    parts.iter().enumerate().map(typed).collect()
}

/// JSON for a script element, without `<`, `>` or `&`.
pub(crate) fn json_for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// A time in seconds, with decimals for a time axis of `span` seconds.
pub(crate) fn seconds(t: f64, span: f64) -> String {
    let decimals = if span >= 10.0 {
        1
    } else if span >= 1.0 {
        2
    } else {
        3
    };
    format!("{t:.decimals$} s")
}

/// A number with its noun: `1 segment`, `12 segments`, `no segments`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        n => format!("{} {noun}s", grouped(n as u64)),
    }
}

/// Digits in groups of three, separated by a thin no-break space.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// The text with its first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// Approximate width of `text` in a sans-serif font of `size` pixels, to keep labels apart.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')'
            | '1' => 0.36,
            'm' | 'w' | 'M' | 'W' => 0.86,
            c if c.is_uppercase() => 0.68,
            c if c as u32 > 0x2e80 => 1.0,
            _ => 0.56,
        })
        .sum();
    units * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_harmless() {
        assert_eq!(prose("`a <b>` draws"), "<code>a &lt;b&gt;</code> draws");
        assert_eq!(prose("a ` alone"), "a ` alone");
        assert_eq!(escape("<b a=\"1\" c='2'>&\0"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
        let json = json_for_script(r#"{"title":"</script><!--"}"#);
        assert!(!json.contains('<') && !json.contains('>'));
        let back: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["title"], "</script><!--");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(seconds(6.04, 20.0), "6.0 s");
        assert_eq!(seconds(0.2134, 0.9), "0.213 s");
        assert_eq!(count(1, "segment"), "1 segment");
        assert_eq!(count(0, "segment"), "no segments");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(1234), "1234");
    }
}
