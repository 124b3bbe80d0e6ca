//! Claims: grammar and evaluation of inequalities between measured quantities, tested on repetitions with
//! equal weather on both sides.
//!
//! `D(s,100,f,on) < D(s,100,f,off)` with `for = { s = [..], f = [..] }` makes one comparison per combination.
//! A name before parentheses is a quantity: a metric or an alias of one. Its arguments are the labels of a
//! cell, in the order of the experiment's axes. `min`, `max` and `abs` take expressions. `least`, `greatest`,
//! `median`, `deviation` (standard deviation of the sample) and percentiles (`p05`, `p90`) take one
//! expression and apply to its repetitions.
//!
//! `<` and `>` are paired one-sided t-tests at 5 % where a side has repetitions. `<=` and `>=` compare means;
//! their significance is reported.

use results::stats::{Summary, paired_one_sided};
use std::collections::BTreeMap;
use std::fmt;

/// Reason why the expression of a published value or a claim cannot be evaluated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExpressionError(pub(super) String);

/// Source of the quantities in a claim's expressions.
pub trait Cells {
    /// Values of a quantity by repetition in the cell with these labels. The error is a message for the reader.
    fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String>;
}

/// Value of an expression: its mean, and its values by repetition if it has any.
#[derive(Clone, Debug)]
struct Value {
    mean: f64,
    each: Option<Vec<Option<f64>>>,
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Mean of the repetitions, or the only value.
    pub mean: f64,
    /// Standard deviation, and number of the repetitions.
    pub spread: Option<(f64, u64)>,
}

/// A comparison and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Values of the claim's variables, joined by slashes; empty without variables.
    pub labels: String,
    /// Number of the comparison within the test, from 1.
    pub number: usize,
    /// Left side.
    pub left: Side,
    /// `<`, `<=`, `>`, `>=` or `==`.
    pub sign: &'static str,
    /// Right side.
    pub right: Side,
    /// True if the inequality holds.
    pub holds: bool,
    /// P-value: probability of such a difference if the larger side were not larger.
    pub p: Option<f64>,
}

impl Comparison {
    /// Result by the rule before ADR 0036, in which `<=` and `>=` held unless the opposite was significant.
    pub fn former(&self) -> bool {
        let weak = matches!(self.sign, "<=" | ">=");
        self.holds || (weak && self.p.is_some_and(|p| p >= LEVEL))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.labels.is_empty() {
            write!(f, "{}: ", self.labels)?;
        }
        write!(f, "{} {} {}", show(self.left.mean), self.sign, show(self.right.mean))?;
        self.p.map_or(Ok(()), |p| write!(f, ", p = {p:.2e}"))
    }
}

/// Token of an expression or comparison.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Word(String),
    Sign(&'static str),
}

/// All signs; a longer sign is before its prefix.
const SIGNS: &[&str] = &["<=", ">=", "==", "<", ">", "+", "-", "*", "/", "(", ")", ","];

/// Splits a text into tokens. The error is a message for the reader.
fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut rest = text.trim_start();
    let mut out = Vec::new();
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            out.push(Token::Sign(sign));
            rest = rest[sign.len()..].trim_start();
            continue;
        }
        // A hyphen between letters is a part of the word.
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

/// Recursive-descent parser that evaluates an expression while it parses.
struct Parser<'a> {
    tokens: &'a [Token],
    /// Index of the next token.
    at: usize,
    cells: &'a dyn Cells,
    /// Label of each variable.
    bound: &'a BTreeMap<&'a str, &'a str>,
    /// Repetition to evaluate; `None` for all.
    only: Option<usize>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    /// Consumes the next token if it is this sign.
    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }
    fn need(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(format!("`{sign}` expected")) }
    }

    /// Sum of products.
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

    /// Product of atoms.
    fn product(&mut self) -> Result<Value, String> {
        let mut left = self.atom()?;
        loop {
            if self.eat("*") {
                let right = self.atom()?;
                left = combine(left, right, |a, b| a * b);
            } else if self.eat("/") {
                // The ratio of the means, not the mean of the ratios.
                let right = self.atom()?;
                left = Value { mean: left.mean / right.mean, each: None };
            } else {
                return Ok(left);
            }
        }
    }

    /// Number, variable, quantity, function or expression in parentheses.
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
                    // A label that is a number is a constant.
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
                    _ if Statistic::named(&word).is_some() => self.statistic(&word),
                    _ => self.quantity(&word),
                }
            }
            _ => Err("a number or a quantity expected".to_owned()),
        }
    }

    /// Argument of `min` or `max` whose mean is the least or the greatest.
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

    /// Statistic over the repetitions of an expression.
    fn statistic(&mut self, name: &str) -> Result<Value, String> {
        let value = self.sum()?;
        self.need(")")?;
        let each = value.each.ok_or(format!("`{name}` of one number"))?;
        let statistic = Statistic::named(name).ok_or(format!("`{name}` is no statistic"))?;
        let mean = statistic.of(&each).ok_or(format!("`{name}` of too few repetitions"))?;
        Ok(Value { mean, each: None })
    }

    /// Values of a quantity in the cell that its labels select.
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

/// A statistic over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    /// Quantile from 0 (minimum) to 1 (maximum), interpolated linearly.
    Percentile(f64),
    /// Standard deviation of the sample, divisor n - 1.
    Deviation,
}

impl Statistic {
    fn named(name: &str) -> Option<Self> {
        let percent = || name.strip_prefix('p').filter(|digits| digits.len() == 2)?.parse::<u8>().ok();
        match name {
            "least" => Some(Statistic::Percentile(0.0)),
            "greatest" => Some(Statistic::Percentile(1.0)),
            "median" => Some(Statistic::Percentile(0.5)),
            "deviation" => Some(Statistic::Deviation),
            _ => percent().map(|p| Statistic::Percentile(f64::from(p) / 100.0)),
        }
    }

    fn of(self, each: &[Option<f64>]) -> Option<f64> {
        match self {
            Statistic::Percentile(p) => super::value::percentile(each, p),
            Statistic::Deviation => Summary::of(each)?.stddev,
        }
    }
}

fn number(n: f64) -> Value {
    Value { mean: n, each: None }
}

/// Applies `f` to the means, and repetition by repetition.
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

/// Significance level of the tests.
const LEVEL: f64 = 0.05;

/// P-value: probability of the measured difference if the larger side were not larger. `None` without
/// repetitions.
fn significance(left: &Value, right: &Value) -> Option<f64> {
    let n = left.each.as_ref().or(right.each.as_ref()).map_or(0, Vec::len);
    if n < 2 {
        return None;
    }
    let each = |value: &Value| value.each.clone().unwrap_or_else(|| vec![Some(value.mean); n]);
    let (larger, smaller) = if left.mean > right.mean { (left, right) } else { (right, left) };
    paired_one_sided(&each(larger), &each(smaller)).ok().flatten()
}

/// Compares two values; `<` and `>` need significance at [`LEVEL`] where a side has repetitions.
fn compare(left: &Value, sign: &'static str, right: &Value) -> Comparison {
    let (a, b) = (left.mean, right.mean);
    let p = if sign == "==" { None } else { significance(left, right) };
    let holds = match sign {
        "<" => a < b && p.is_none_or(|p| p < LEVEL),
        "<=" => a <= b,
        ">" => a > b && p.is_none_or(|p| p < LEVEL),
        ">=" => a >= b,
        _ => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
    };
    let side = |value: &Value| Side {
        mean: value.mean,
        spread: value
            .each
            .as_ref()
            .and_then(|each| Summary::of(each))
            .and_then(|summary| Some((summary.stddev?, summary.n))),
    };
    Comparison { labels: String::new(), number: 0, left: side(left), sign, right: side(right), holds, p }
}

fn show(x: f64) -> String {
    if x.abs() >= 100.0 || x == x.round() { format!("{x:.1}") } else { format!("{x:.3}") }
}

/// Evaluates an expression: by repetition where its quantities have repetitions, otherwise once.
pub fn value(
    expression: &str,
    bound: &BTreeMap<&str, &str>,
    cells: &dyn Cells,
) -> Result<Vec<Option<f64>>, String> {
    let tokens = tokens(expression)?;
    let mut parser = Parser { tokens: &tokens, at: 0, cells, bound, only: None };
    let value = parser.sum()?;
    if parser.at < tokens.len() {
        return Err(format!("`{expression}` continues where it should end"));
    }
    Ok(value.each.unwrap_or_else(|| vec![Some(value.mean)]))
}

/// Makes the comparisons of one test with one binding of its labels, over all repetitions or in a single one.
fn evaluate(
    test: &str,
    bound: &BTreeMap<&str, &str>,
    cells: &dyn Cells,
    only: Option<usize>,
) -> Result<Vec<Comparison>, String> {
    let tokens = tokens(test)?;
    let mut parser = Parser { tokens: &tokens, at: 0, cells, bound, only };
    let mut left = parser.sum()?;
    let mut made = Vec::new();
    while let Some(Token::Sign(sign @ ("<" | "<=" | ">" | ">=" | "=="))) = parser.peek().cloned() {
        parser.at += 1;
        let right = parser.sum()?;
        made.push(compare(&left, sign, &right));
        left = right;
    }
    if parser.at < tokens.len() || made.is_empty() {
        return Err(format!("`{test}` is not a comparison"));
    }
    Ok(made)
}

fn parts(test: &str) -> impl Iterator<Item = &str> {
    test.split(';').map(str::trim).filter(|part| !part.is_empty())
}

/// Makes all comparisons of semicolon-separated tests, for every combination of labels.
pub fn judge(
    test: &str,
    over: &[(String, Vec<String>)],
    cells: &dyn Cells,
) -> Result<Vec<Comparison>, String> {
    let mut all = Vec::new();
    for bound in combinations(over) {
        let labels = bound.values().copied().collect::<Vec<&str>>().join("/");
        let mut number = 0;
        for part in parts(test) {
            for comparison in evaluate(part, &bound, cells, None)? {
                number += 1;
                all.push(Comparison { labels: labels.clone(), number, ..comparison });
            }
        }
    }
    Ok(all)
}

/// Repetitions in which all semicolon-separated tests hold.
pub fn witnesses(test: &str, repetitions: usize, cells: &dyn Cells) -> Result<Vec<usize>, ExpressionError> {
    let none = BTreeMap::new();
    let mut found = Vec::new();
    for i in 0..repetitions {
        let mut all = true;
        for part in parts(test) {
            let comparisons = evaluate(part, &none, cells, Some(i)).map_err(ExpressionError)?;
            all &= comparisons.iter().all(|comparison| comparison.holds);
        }
        if all {
            found.push(i);
        }
    }
    Ok(found)
}

/// All combinations of labels, one for each variable.
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

    #[test]
    fn statistics_look_at_the_repetitions() {
        let of = |expression: &str| value(expression, &BTreeMap::new(), &Table).unwrap()[0].unwrap();
        assert_eq!((of("least(D(a,on))"), of("greatest(D(a,on))"), of("median(D(a,on))")), (1.0, 4.1, 2.5));
        assert!((of("p50(D(a,on))") - 2.5).abs() < 1e-12 && (of("p10(D(a,on))") - 1.3).abs() < 1e-12);
        // Squared deviations of 1, 2, 3, 4.1 from 2.525: 2.3256, 0.2756, 0.2256, 2.4806.
        assert!((of("deviation(D(a,on))") - (5.3075f64 / 3.0).sqrt()).abs() < 1e-9);
        assert!(value("least(3)", &BTreeMap::new(), &Table).is_err());
    }

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
        judge(test, &[], &Table).unwrap().iter().all(|comparison| comparison.holds)
    }

    #[test]
    fn strict_signs_need_a_significant_difference() {
        assert!(holds("D(a,on) < D(a,off)"));
        assert!(!holds("D(a,off) < D(a,on)"));
        assert!(!holds("D(b,on) < D(b,off)"), "means 5 and 5.025 are not apart");
    }

    #[test]
    fn weak_signs_compare_the_means() {
        assert!(holds("D(b,on) <= D(b,off)"));
        assert!(!holds("D(b,off) <= D(b,on)"), "5.025 is more than 5, significant or not");
        let made = judge("D(b,off) <= D(b,on)", &[], &Table).unwrap();
        assert!(made[0].former() && made[0].p.unwrap() > 0.4, "{made:?}");
        assert!(!judge("D(a,off) <= D(a,on)", &[], &Table).unwrap()[0].former());
    }

    #[test]
    fn comparisons_are_numbered_and_say_their_labels() {
        let over = [("x".to_owned(), vec!["a".to_owned(), "b".to_owned()])];
        let made = judge("0 < D(x,on) < D(x,off); D(x,on) >= 0", &over, &Table).unwrap();
        let named: Vec<(&str, usize)> = made.iter().map(|c| (c.labels.as_str(), c.number)).collect();
        assert_eq!(named, [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]);
        assert!(made[1].to_string().starts_with("a: 2.525 < 3.500, p = "), "{}", made[1]);
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
    fn labels_are_bound_and_mistakes_are_errors() {
        let over = [("x".to_owned(), vec!["a".to_owned(), "b".to_owned()])];
        assert!(judge("D(x,on) < D(x,off)", &over, &Table).unwrap().iter().any(|c| !c.holds));
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
        assert_eq!(witnesses("D(b,on) > 5; D(a,on) > 0", 4, &Table), Ok(vec![0, 2]));
        assert_eq!(witnesses("D(b,on) > 50", 4, &Table), Ok(vec![]));
    }
}
