//! Claims as data: inequalities between measured quantities, judged on paired weather.
//!
//! Claims are data: an inequality between measured quantities, over some labels, judged on the same weather for both
//! sides.
//!
//! `D(s,100,f,on) < D(s,100,f,off)` with `for = { s = [..], f = [..] }` must hold for every
//! combination. A name before parentheses is a quantity (an alias of a metric, or a metric); its
//! arguments are the labels of a cell, in the order of the experiment's axes. `min`, `max` and `abs`
//! take expressions, `p10`, `median` and `p90` one whose repetitions they look at. `<` and `>` ask for a paired one-sided t-test at 5 %; `<=` and `>=` hold unless
//! the opposite is significant. Where a side is not a difference of quantities, means are compared.

use results::stats::{Summary, paired_one_sided};
use std::collections::BTreeMap;

/// What a claim's expressions can ask for.
pub trait Cells {
    /// The values of a quantity by repetition in the cell with these labels; the error is a sentence.
    fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String>;
}

/// An expression's value: its mean, and its values by repetition where they mean something.
#[derive(Clone, Debug)]
struct Value {
    mean: f64,
    each: Option<Vec<Option<f64>>>,
}

/// One comparison that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// It holds.
    pub holds: bool,
    /// What was compared, in words and numbers.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Word(String),
    Sign(&'static str),
}

const SIGNS: &[&str] = &["<=", ">=", "==", "<", ">", "+", "-", "*", "/", "(", ")", ","];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text.trim_start();
    let mut out = Vec::new();
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            out.push(Token::Sign(sign));
            rest = rest[sign.len()..].trim_start();
            continue;
        }
        // A hyphen between letters belongs to the word.
        let bytes = rest.as_bytes();
        let end = (0..bytes.len())
            .find(|&i| {
                let c = bytes[i];
                let inner = c == b'-' && i > 0 && bytes.get(i + 1).is_some_and(u8::is_ascii_alphabetic);
                !(c.is_ascii_alphanumeric() || c == b'_' || c == b'.' || c == b'%' || inner)
            })
            .unwrap_or(bytes.len());
        if end == 0 {
            return Err(format!("cannot read `{rest}`"));
        }
        let word = &rest[..end];
        out.push(match word.parse::<f64>() {
            Ok(n) => Token::Number(n),
            Err(_) => Token::Word(word.to_owned()),
        });
        rest = rest[end..].trim_start();
    }
    Ok(out)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    cells: &'a dyn Cells,
    bound: &'a BTreeMap<&'a str, &'a str>,
    /// One repetition only.
    only: Option<usize>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }
    fn need(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(format!("`{sign}` expected")) }
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut left = self.product()?;
        loop {
            if self.eat("+") {
                left = combine(left, self.product()?, |a, b| a + b);
            } else if self.eat("-") {
                left = combine(left, self.product()?, |a, b| a - b);
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut left = self.atom()?;
        loop {
            if self.eat("*") {
                let right = self.atom()?;
                left = combine(left, right, |a, b| a * b);
            } else if self.eat("/") {
                // A ratio of means, not a mean of ratios.
                let right = self.atom()?;
                left = Value { mean: left.mean / right.mean, each: None };
            } else {
                return Ok(left);
            }
        }
    }

    fn atom(&mut self) -> Result<Value, String> {
        if self.eat("-") {
            let value = self.atom()?;
            return Ok(combine(number(0.0), value, |a, b| a - b));
        }
        if self.eat("(") {
            let value = self.sum()?;
            self.need(")")?;
            return Ok(value);
        }
        match self.peek().cloned() {
            Some(Token::Number(n)) => {
                self.at += 1;
                Ok(number(n))
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                if !self.eat("(") {
                    // A label that is a number.
                    if let Some(n) = self.bound.get(word.as_str()).and_then(|label| label.parse().ok()) {
                        return Ok(number(n));
                    }
                    return Err(format!("`{word}` needs its labels in parentheses"));
                }
                match word.as_str() {
                    "min" | "max" => self.extreme(&word),
                    "abs" => {
                        let value = self.sum()?;
                        self.need(")")?;
                        Ok(Value { mean: value.mean.abs(), each: None })
                    }
                    "p10" | "median" | "p90" => {
                        let value = self.sum()?;
                        self.need(")")?;
                        let each = value.each.ok_or(format!("`{word}` of one number"))?;
                        let all = Summary::of(&each).ok_or(format!("`{word}` of nothing"))?;
                        let mean = match word.as_str() {
                            "p10" => all.p10,
                            "p90" => all.p90,
                            _ => all.median,
                        };
                        Ok(Value { mean, each: None })
                    }
                    _ => self.quantity(&word),
                }
            }
            _ => Err("a number or a quantity expected".to_owned()),
        }
    }

    fn extreme(&mut self, which: &str) -> Result<Value, String> {
        let mut best = self.sum()?;
        while self.eat(",") {
            let next = self.sum()?;
            if (next.mean > best.mean) == (which == "max") {
                best = next;
            }
        }
        self.need(")")?;
        Ok(best)
    }

    fn quantity(&mut self, name: &str) -> Result<Value, String> {
        let mut labels: Vec<String> = Vec::new();
        while !self.eat(")") {
            if !labels.is_empty() {
                self.need(",")?;
            }
            let label = match self.peek() {
                Some(Token::Word(w)) => {
                    self.bound.get(w.as_str()).map_or_else(|| w.clone(), |v| (*v).to_owned())
                }
                Some(Token::Number(n)) => n.to_string(),
                _ => return Err(format!("a label of {name} expected")),
            };
            self.at += 1;
            labels.push(label);
        }
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let mut each = self.cells.values(name, &labels)?;
        if let Some(i) = self.only {
            each = vec![each.get(i).copied().flatten()];
        }
        let known: Vec<f64> = each.iter().flatten().copied().collect();
        if known.is_empty() && self.only.is_none() {
            return Err(format!("{name}({}) has no value in any repetition", labels.join(",")));
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        Ok(Value { mean, each: Some(each) })
    }
}

fn number(n: f64) -> Value {
    Value { mean: n, each: None }
}

fn combine(a: Value, b: Value, f: impl Fn(f64, f64) -> f64) -> Value {
    let mean = f(a.mean, b.mean);
    let each = match (&a.each, &b.each) {
        (Some(x), Some(y)) => Some(x.iter().zip(y).map(|(x, y)| x.zip(*y).map(|(x, y)| f(x, y))).collect()),
        (Some(x), None) => Some(x.iter().map(|x| x.map(|x| f(x, b.mean))).collect()),
        (None, Some(y)) => Some(y.iter().map(|y| y.map(|y| f(a.mean, y))).collect()),
        (None, None) => None,
    };
    Value { mean, each }
}

/// The level of the tests.
const LEVEL: f64 = 0.05;

fn compare(left: &Value, sign: &str, right: &Value) -> (bool, String) {
    let (a, b) = (left.mean, right.mean);
    let each = |value: &Value, n: usize| value.each.clone().unwrap_or_else(|| vec![Some(value.mean); n]);
    let n = left.each.as_ref().or(right.each.as_ref()).map_or(0, Vec::len);
    // The probability of such a difference if the larger side were not larger.
    let p = |larger: &Value, smaller: &Value| match (&larger.each, &smaller.each) {
        (None, None) => None,
        _ if n < 2 => None,
        _ => paired_one_sided(&each(larger, n), &each(smaller, n)).ok().flatten(),
    };
    let plain = match sign {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        _ => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
    };
    match sign {
        "<" | ">" => {
            let tested = if sign == "<" { p(right, left) } else { p(left, right) };
            match tested {
                Some(p) => (plain && p < LEVEL, format!("{} {sign} {}, p = {p:.2e}", show(a), show(b))),
                None => (plain, format!("{} {sign} {}", show(a), show(b))),
            }
        }
        "<=" | ">=" if !plain => {
            let against = if sign == "<=" { p(left, right) } else { p(right, left) };
            let holds = against.is_some_and(|p| p >= LEVEL);
            let p = against.map(|p| format!(", p of the opposite = {p:.2e}")).unwrap_or_default();
            (holds, format!("{} {sign} {}{p}", show(a), show(b)))
        }
        _ => (plain, format!("{} {sign} {}", show(a), show(b))),
    }
}

fn show(x: f64) -> String {
    if x.abs() >= 100.0 || x == x.round() { format!("{x:.1}") } else { format!("{x:.3}") }
}

/// What an expression gives: by repetition where that means something, otherwise once.
pub fn value(
    expression: &str,
    bound: &BTreeMap<&str, &str>,
    cells: &dyn Cells,
) -> Result<Vec<Option<f64>>, String> {
    let tokens = tokens(expression)?;
    let mut parser = Parser { tokens: &tokens, at: 0, cells, bound, only: None };
    let value = parser.sum()?;
    if parser.at < tokens.len() {
        return Err(format!("`{expression}` goes on where it should end"));
    }
    Ok(value.each.unwrap_or_else(|| vec![Some(value.mean)]))
}

/// Evaluates one test for one binding of its labels, over all repetitions or in one of them.
fn evaluate(
    test: &str,
    bound: &BTreeMap<&str, &str>,
    cells: &dyn Cells,
    only: Option<usize>,
) -> Result<Outcome, String> {
    let tokens = tokens(test)?;
    let mut parser = Parser { tokens: &tokens, at: 0, cells, bound, only };
    let mut left = parser.sum()?;
    let mut outcome = Outcome { holds: true, detail: String::new() };
    let mut compared = false;
    while let Some(Token::Sign(sign @ ("<" | "<=" | ">" | ">=" | "=="))) = parser.peek().cloned() {
        parser.at += 1;
        compared = true;
        let right = parser.sum()?;
        let (holds, detail) = compare(&left, sign, &right);
        outcome.holds &= holds;
        if !outcome.detail.is_empty() {
            outcome.detail.push_str("; ");
        }
        outcome.detail.push_str(&detail);
        left = right;
    }
    if parser.at < tokens.len() || !compared {
        return Err(format!("`{test}` is not a comparison"));
    }
    Ok(outcome)
}

/// Evaluates `;`-separated tests for every combination of labels. The detail is that of the first
/// combination that fails, or the closest of those that hold.
pub fn judge(test: &str, over: &[(String, Vec<String>)], cells: &dyn Cells) -> Result<Outcome, String> {
    let mut details = Vec::new();
    for bound in combinations(over) {
        for part in test.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            let outcome = evaluate(part, &bound, cells, None)?;
            let labels: Vec<&str> = bound.values().copied().collect();
            let detail = if labels.is_empty() {
                outcome.detail.clone()
            } else {
                format!("{}: {}", labels.join("/"), outcome.detail)
            };
            if !outcome.holds {
                return Ok(Outcome { holds: false, detail });
            }
            details.push(detail);
        }
    }
    let shown = if details.len() > 3 {
        format!("{} comparisons, such as {}", details.len(), details[0])
    } else {
        details.join("; ")
    };
    Ok(Outcome { holds: true, detail: shown })
}

/// The first repetition in which all `;`-separated tests hold at once.
pub fn witness(test: &str, repetitions: usize, cells: &dyn Cells) -> Result<Option<usize>, String> {
    let none = BTreeMap::new();
    for i in 0..repetitions {
        let mut all = true;
        for part in test.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            all &= evaluate(part, &none, cells, Some(i))?.holds;
        }
        if all {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn combinations(over: &[(String, Vec<String>)]) -> Vec<BTreeMap<&str, &str>> {
    let mut all = vec![BTreeMap::new()];
    for (name, values) in over {
        all = all
            .into_iter()
            .flat_map(|bound: BTreeMap<&str, &str>| {
                values.iter().map(move |value| {
                    let mut next = bound.clone();
                    next.insert(name.as_str(), value.as_str());
                    next
                })
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table;
    impl Cells for Table {
        fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
            match (quantity, labels) {
                ("D", ["a", "on"]) => Ok(vec![Some(1.0), Some(2.0), Some(3.0), Some(4.1)]),
                ("D", ["a", "off"]) => Ok(vec![Some(2.0), Some(3.1), Some(3.9), Some(5.0)]),
                ("D", ["b", "on"]) => Ok(vec![Some(9.0), Some(1.0), Some(9.0), Some(1.0)]),
                ("D", ["b", "off"]) => Ok(vec![Some(5.0), Some(5.0), Some(5.0), Some(5.1)]),
                _ => Err(format!("no cell {quantity} {labels:?}")),
            }
        }
    }

    fn holds(test: &str) -> bool {
        judge(test, &[], &Table).unwrap().holds
    }

    #[test]
    fn strict_signs_need_a_significant_difference() {
        assert!(holds("D(a,on) < D(a,off)"));
        assert!(!holds("D(a,off) < D(a,on)"));
        assert!(!holds("D(b,on) < D(b,off)"), "means 5 and 5.025 are not apart");
        assert!(holds("D(b,off) <= D(b,on)"), "the opposite is not significant");
        assert!(!holds("D(a,off) <= D(a,on)"));
    }

    #[test]
    fn arithmetic_is_that_of_means() {
        assert!(holds("0.2 <= 1 - D(a,on) / D(a,off) <= 0.3"));
        assert!(holds("max(D(a,on), D(b,on)) - min(D(a,on), D(b,on)) <= 3"));
        assert!(holds("D(a,on) + 0.5 < D(a,off)"));
        assert!(!holds("D(a,on) + 2 < D(a,off)"));
        assert!(holds("abs(D(a,on) - D(a,off)) == 0.975"));
    }

    #[test]
    fn an_expression_has_a_value_by_repetition_or_once() {
        let bound = BTreeMap::from([("x", "a")]);
        let each = value("D(x,off) - D(x,on)", &bound, &Table).unwrap();
        assert_eq!(each.len(), 4);
        assert!((each[1].unwrap() - 1.1).abs() < 1e-9);
        let ratio = value("100 * D(x,on) / D(x,off)", &bound, &Table).unwrap();
        assert_eq!(ratio.len(), 1, "a ratio of means has no repetitions");
        assert!(value("D(x,on) < 3", &bound, &Table).is_err());
    }

    #[test]
    fn labels_are_bound_and_mistakes_are_told() {
        let over = [("x".to_owned(), vec!["a".to_owned(), "b".to_owned()])];
        assert!(!judge("D(x,on) < D(x,off)", &over, &Table).unwrap().holds);
        assert!(judge("D(c,on) < 1", &[], &Table).is_err());
        assert!(judge("D(a,on)", &[], &Table).is_err());
        assert!(judge("D(a,on) < ", &[], &Table).is_err());
    }

    #[test]
    fn a_label_that_is_a_number_stands_for_it() {
        let bound = BTreeMap::from([("a", "59.2"), ("b", "3"), ("c", "x")]);
        let product = value("a * b * 0.5 / 8", &bound, &Table).unwrap();
        assert!((product[0].unwrap() - 11.1).abs() < 1e-9, "{product:?}");
        assert!(value("c * 2", &bound, &Table).unwrap_err().contains("labels in parentheses"));
    }

    #[test]
    fn percentiles_look_at_repetitions() {
        assert!(holds("median(D(a,on)) == 2.5"));
        assert!(holds("p10(D(a,on)) == 1.3; p90(D(a,on)) < 4"));
        assert!(judge("median(3) < 4", &[], &Table).is_err());
    }

    #[test]
    fn a_witness_satisfies_everything_at_once() {
        assert_eq!(witness("D(b,on) > 5; D(a,on) > 2", 4, &Table), Ok(Some(2)));
        assert_eq!(witness("D(b,on) > 50", 4, &Table), Ok(None));
    }
}
