//! Random values for the leaves of the scenario schema: quantities with units, distributions, words,
//! references by name.
//!
//! Magnitudes are log-uniform, so that extreme values are as likely as ordinary ones; upper bounds keep one
//! repetition below some million events.

use crate::files::NAMES;
use base::rng::Stream;
use serde_json::{Value, json};

/// Random stream of all choices for one scenario.
pub(crate) struct Draw(pub(crate) Stream);

impl Draw {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.0.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.0.uniform() < p
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Log-uniform between two positive bounds.
    pub(crate) fn scale(&mut self, least: f64, most: f64) -> f64 {
        least * libm_pow(most / least, self.0.uniform())
    }

    /// A log-uniform number with two or three significant digits.
    fn digits(&mut self, least: f64, most: f64) -> String {
        let x = self.scale(least, most);
        let digits = if x >= 100.0 { 0 } else { 3 };
        format!("{x:.digits$}")
    }

    pub(crate) fn span(&mut self) -> String {
        if self.chance(0.03) {
            return "0 s".to_owned();
        }
        format!("{} ms", self.digits(0.5, 20_000.0))
    }

    pub(crate) fn rate(&mut self) -> String {
        format!("{} kbit/s", self.digits(4.0, 20_000.0))
    }

    pub(crate) fn bytes(&mut self) -> String {
        format!("{:.0} B", self.scale(1.0, 300_000.0))
    }

    fn limits(&mut self) -> String {
        match self.below(5) {
            0 => self.bytes(),
            1 => format!("{:.0} packets, {}", self.scale(1.0, 300.0), self.bytes()),
            2 => "unlimited".to_owned(),
            _ => format!("{:.0} packets", self.scale(1.0, 300.0)),
        }
    }

    /// A distribution; `one` draws a value with its unit.
    fn dist(&mut self, one: &mut dyn FnMut(&mut Draw) -> String) -> String {
        let shape = format!("{:.2}", self.scale(0.4, 6.0));
        let (a, b) = (one(self), one(self));
        match self.below(14) {
            0 => format!("exponential({a})"),
            1 => format!("uniform({a}, {b})"),
            2 => format!("normal({a}, {b})"),
            3 => format!("lognormal({a}, {b})"),
            4 => format!("cauchy({a}, {b})"),
            5 => format!("pareto({a}, {shape})"),
            6 => format!("pareto({a}, {shape}, {b})"),
            7 => format!("weibull({a}, {shape})"),
            8 => format!("gamma({shape}, {a})"),
            9 => format!("two-state({a}, {b}, 0.1, 0.5)"),
            10 => "empirical(values.txt)".to_owned(),
            _ => a,
        }
    }

    fn number(&mut self) -> String {
        format!("{:.2}", self.scale(0.5, 20.0))
    }

    /// A value of a leaf schema; `None` for a leaf without a rule.
    pub(crate) fn leaf(&mut self, schema: &Value, key: &str, names: &Names) -> Option<Value> {
        if let Some(words) = schema["enum"].as_array() {
            return self.pick(words).cloned();
        }
        match schema["type"].as_str() {
            Some("boolean") => return Some(json!(self.chance(0.5))),
            Some("integer") => {
                let least = schema["minimum"].as_i64().unwrap_or(0);
                let most = schema["maximum"].as_i64().unwrap_or(i64::MAX).min(least.saturating_add(1000));
                let above = self.scale(1.0, (most - least + 1) as f64) as i64 - 1;
                return Some(json!((least + above).clamp(least, most)));
            }
            Some("number") => {
                let least = schema["minimum"].as_f64().unwrap_or(0.0);
                let most = schema["maximum"].as_f64().unwrap_or(100.0).min(100.0);
                let x = if self.chance(0.5) {
                    least + (most - least) * self.0.uniform()
                } else {
                    self.scale(least.max(1e-6), most.max(1e-5))
                };
                return Some(json!((x * 1e6).round() / 1e6));
            }
            _ => {}
        }
        let examples = schema["examples"].as_array().map(Vec::as_slice).unwrap_or_default();
        let random = examples.iter().any(|e| e == "exponential(mean)");
        let text = match examples.first().and_then(Value::as_str) {
            Some("5 s") if random => self.dist(&mut Draw::span),
            Some("500 B") if random => self.dist(&mut Draw::bytes),
            Some("5") if random => self.dist(&mut Draw::number),
            Some("300 ms") => self.span(),
            Some("30 kbit/s") => self.rate(),
            Some("100 kB" | "1460 B") => self.bytes(),
            Some("10 packets") => self.limits(),
            Some("20 segments") => match self.below(3) {
                0 => "unlimited".to_owned(),
                1 => self.bytes(),
                _ => format!("{:.0} segments", self.scale(1.0, 200.0)),
            },
            Some(_) => return None,
            None if schema["pattern"].as_str().is_some_and(|p| p.contains("[0-9]+(")) => {
                let from = self.scale(1.0, 60.0) as u32;
                if self.chance(0.5) { from.to_string() } else { format!("{from}-{}", from + 4) }
            }
            None => return self.reference(key, names),
        };
        Some(json!(text))
    }

    /// A text without examples: a name of this scenario, a file, or a first event time.
    fn reference(&mut self, key: &str, names: &Names) -> Option<Value> {
        let text = match key {
            "from" | "to" | "at" => self.pick(&names.nodes)?.clone(),
            "until" | "route" | "way-back" | "link" | "hop" | "links" | "hops" => {
                self.pick(&names.links)?.clone()
            }
            "flows" => self.pick(&names.flows)?.clone(),
            "state" if self.chance(0.5) => self.pick(&names.states)?.clone(),
            "state" | "next" => self.pick(&names.states)?.split('.').next_back()?.to_owned(),
            "trace" | "file" => (*self.pick(NAMES)?).to_owned(),
            "title" => "a random scenario".to_owned(),
            "first" if self.chance(0.3) => "stationary".to_owned(),
            "first" if self.chance(0.5) => self.pick(&names.states)?.split('.').next_back()?.to_owned(),
            "first" => self.span(),
            "name" => return None,
            // Other keys with free text get texts that the reader may accept.
            _ => match self.below(5) {
                0 => self.pick(&names.links)?.clone(),
                1 => self.pick(&names.states)?.clone(),
                2 => self.span(),
                3 => self.pick(&names.flows)?.clone(),
                _ => self.rate(),
            },
        };
        Some(json!(text))
    }
}

/// Names that a scenario declares, for references.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<String>,
    pub(crate) flows: Vec<String>,
    /// `MACHINE.STATE`.
    pub(crate) states: Vec<String>,
}

impl Names {
    pub(crate) fn of(document: &Value) -> Names {
        let named = |value: &Value, key: &str| -> Vec<String> {
            let tables = value[key].as_array().into_iter().flatten();
            tables.filter_map(|t| t["name"].as_str().map(str::to_owned)).collect()
        };
        let mut names = Names {
            nodes: named(document, "node"),
            links: named(document, "link"),
            flows: named(document, "flow"),
            states: Vec::new(),
        };
        names.links.extend(named(document, "hop"));
        for hop in document["hop"].as_array().into_iter().flatten() {
            let ends = hop["between"].as_array().into_iter().flatten();
            names.nodes.extend(ends.filter_map(|n| n.as_str().map(str::to_owned)));
        }
        names.nodes.sort();
        names.nodes.dedup();
        for machine in document["state-machine"].as_array().into_iter().flatten() {
            let Some(name) = machine["name"].as_str() else { continue };
            names.states.extend(named(machine, "state").iter().map(|state| format!("{name}.{state}")));
        }
        names
    }
}

/// `base` to the power `x`, with equal results on all platforms.
fn libm_pow(base: f64, x: f64) -> f64 {
    // exp2(x * log2(base)) by repeated squaring of the fraction: 40 bits of x are enough here.
    let (mut result, mut root, mut rest) = (1.0, base, x);
    for _ in 0..40 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            result *= root;
            rest -= 1.0;
        }
    }
    result
}
