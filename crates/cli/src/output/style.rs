//! Result table as terminal text, Markdown or LaTeX.
//!
//! LaTeX uses the rules of the booktabs package; numbers are set in mathematics mode.

use super::table::{self, TextTable};
use super::terminal;
use crate::console::streams::Console;
use clap::ValueEnum;

/// Output format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// For a terminal
    Text,
    /// A Markdown table
    Markdown,
    /// A LaTeX tabular with booktabs rules
    Latex,
}

impl Style {
    /// The table in this style.
    pub(crate) fn text(self, board: &TextTable, console: &Console) -> String {
        match self {
            Style::Text => terminal::text(board, console.width, console.colour),
            Style::Markdown => markdown(board),
            Style::Latex => latex(board),
        }
    }
}

fn markdown(board: &TextTable) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(&board.heads);
    out.push('|');
    for i in 0..board.heads.len() {
        out.push_str(if i < board.labels { "---|" } else { "---:|" });
    }
    out.push('\n');
    board.rows.iter().for_each(|row| out.push_str(&line(row)));
    for note in &board.notes {
        out.push_str(&format!("\n{note}\n"));
    }
    out
}

fn latex(board: &TextTable) -> String {
    let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
    let sides = |i| if i < board.labels { 'l' } else { 'r' };
    let columns: String = (0..board.heads.len()).map(sides).collect();
    let mut out = format!("\\begin{{tabular}}{{{columns}}}\n    \\toprule\n");
    out.push_str(&line(board.heads.iter().map(|head| escaped(head)).collect()));
    out.push_str("    \\midrule\n");
    for row in &board.rows {
        let cell = |(i, cell): (usize, &String)| if i < board.labels { escaped(cell) } else { number(cell) };
        out.push_str(&line(row.iter().enumerate().map(cell).collect()));
    }
    out.push_str("    \\bottomrule\n\\end{tabular}\n");
    for note in &board.notes {
        out.push_str(&format!("% {note}\n"));
    }
    out
}

/// Number for LaTeX: `142.3 ± 5.1 (97)` becomes `$142.3 \pm 5.1$ (97)`.
fn number(cell: &str) -> String {
    let (value, count) = match cell.split_once(" (") {
        Some((value, count)) => (value, format!(" ({count}")),
        None => (cell, String::new()),
    };
    if !value.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return if cell == table::nothing() { "--".to_owned() } else { escaped(cell) };
    }
    format!("${}${count}", value.replace('±', "\\pm"))
}

/// Text with the characters that TeX reads as commands escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '±' => out.push_str("$\\pm$"),
            '–' => out.push_str("--"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> TextTable {
        TextTable {
            heads: ["rate", "download time [s]"].map(str::to_owned).to_vec(),
            labels: 1,
            rows: vec![
                vec!["50 % of a_b|c".to_owned(), "142.3 ± 5.1 (97)".to_owned()],
                vec!["2".to_owned(), table::nothing()],
            ],
            notes: vec!["(n): few".to_owned()],
        }
    }

    #[test]
    fn markdown_escapes_bars() {
        let text = markdown(&board());
        let expected = "| rate | download time [s] |\n|---|---:|\n| 50 % of a_b\\|c | 142.3 ± 5.1 (97) |\n| 2 | – |\n\n(n): few\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn latex_sets_numbers_as_mathematics() {
        let text = latex(&board());
        assert!(text.contains("50 \\% of a\\_b|c & $142.3 \\pm 5.1$ (97) \\\\\n"), "{text}");
        assert!(text.contains("2 & -- \\\\\n") && text.contains("\\begin{tabular}{lr}"), "{text}");
    }
}
