//! Terminal layout of a result table: one table, intervals on a second line, several tables, or one block per
//! row; wrapping of text. Nothing is cut off.

use super::table::TextTable;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

/// Table as text of at most `width` columns, unless single words are longer; `None`: unlimited.
pub(crate) fn text(board: &TextTable, width: Option<usize>, colour: bool) -> String {
    let limit = width.unwrap_or(usize::MAX);
    let fits = |text: &String| text.lines().all(|line| columns(line) <= limit);
    let plain = table(board, colour, false);
    let mut out = if fits(&plain) {
        plain
    } else {
        let narrow = table(board, colour, true);
        let several = || below_each_other(board, colour, &fits).unwrap_or_else(|| one_by_one(board, colour));
        if fits(&narrow) { narrow } else { several() }
    };
    for note in &board.notes {
        for line in wrap(note, limit) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Width of a line in columns, without escape sequences.
fn columns(line: &str) -> usize {
    let mut n = 0;
    let mut escape = false;
    for c in line.chars() {
        match c {
            '\x1b' => escape = true,
            c if escape => escape = !c.is_ascii_alphabetic(),
            _ => n += 1,
        }
    }
    n
}

fn table(board: &TextTable, colour: bool, narrow: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let content = |text: &str| if narrow { text.replacen(" ± ", "\n±", 1) } else { text.to_owned() };
    let rows: Vec<Vec<String>> =
        board.rows.iter().map(|row| row.iter().map(|cell| content(cell)).collect()).collect();
    let heads: Vec<Cell> = board
        .heads
        .iter()
        .enumerate()
        .map(|(i, head)| {
            let widest = rows.iter().filter_map(|row| row.get(i)).flat_map(|cell| cell.lines());
            let room = widest.map(columns).max().unwrap_or(0);
            // No line break before "%".
            let head = head.replace(" %", "\u{a0}%");
            let cell = Cell::new(wrap(&head, room.max(longest(&head))).join("\n").replace('\u{a0}', " "));
            let side = if i < board.labels { CellAlignment::Left } else { CellAlignment::Right };
            cell.add_attribute(Attribute::Bold).set_alignment(side)
        })
        .collect();
    table.set_header(heads);
    table.add_rows(rows);
    for i in 0..board.heads.len() {
        if let Some(column) = table.column_mut(i) {
            let left = i < board.labels;
            column.set_padding((if i == 0 { 0 } else { 2 }, 0));
            column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
        }
    }
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Several tables below each other, each with as many columns as fit; `None` if not even one column fits.
fn below_each_other(board: &TextTable, colour: bool, fits: &dyn Fn(&String) -> bool) -> Option<String> {
    let mut out = String::new();
    let mut from = board.labels;
    while from < board.heads.len() {
        let part = |to| table(&board.part(from, to), colour, true);
        let last = (from + 1..=board.heads.len()).rev().map(|to| (to, part(to))).find(|(_, text)| fits(text));
        let (to, text) = last?;
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
        from = to;
    }
    Some(out)
}

/// One block of lines per row.
fn one_by_one(board: &TextTable, colour: bool) -> String {
    let heads = &board.heads[board.labels..];
    let widest = heads.iter().map(|head| columns(head)).max().unwrap_or(0);
    let mut out = String::new();
    for row in &board.rows {
        let (labels, values) = row.split_at(board.labels.min(row.len()));
        for (head, label) in board.heads.iter().zip(labels) {
            let text = if board.labels == 1 && head == "metric" {
                label.clone()
            } else {
                format!("{head} = {label}")
            };
            let text = if colour { format!("\x1b[1m{text}\x1b[0m") } else { text };
            out.push_str(&text);
            out.push('\n');
        }
        for (head, value) in heads.iter().zip(values) {
            out.push_str(&format!("  {head}{} {value}\n", " ".repeat(widest - columns(head))));
        }
    }
    out
}

fn longest(text: &str) -> usize {
    text.split(' ').map(columns).max().unwrap_or(0)
}

/// Text with long lines wrapped; a continuation is indented to the second column of its line, if any.
pub(crate) fn folded(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for line in text.lines() {
        let margin = line.len() - line.trim_start().len();
        let second = line[margin..].find("  ").map(|at| {
            let gap = margin + at;
            gap + line[gap..].len() - line[gap..].trim_start().len()
        });
        let (head, hang) = match second.filter(|at| 2 * at < width) {
            Some(at) => (at, columns(&line[..at])),
            None => (margin, margin + 2),
        };
        let rest = wrap(&glued(&line[head..]), width.saturating_sub(hang).max(20));
        out.push_str(&line[..head]);
        out.push_str(&rest.join(&format!("\n{}", " ".repeat(hang))).replace('\u{a0}', " "));
        out.push('\n');
    }
    out
}

/// Text with non-breaking spaces inside numbers such as "62 000".
fn glued(text: &str) -> String {
    let digit = |word: Option<char>| word.is_some_and(|c| c.is_ascii_digit());
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        if !out.is_empty() {
            out.push(if digit(out.chars().last()) && digit(word.chars().next()) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// Wraps a text at spaces; a word longer than `width` stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
