//! Import of access logs of web proxies and servers: request and reply sizes in classes of equal frequency,
//! as a scenario (catalogue WL-06).
//!
//! Source: Korhonen et al., "Measured Performance of GSM HSCSD and GPRS", section III.C. Formats: Squid's
//! native format, the Common Log Format, and columns named `request_bytes` and `reply_bytes`. Cache hits and
//! huge downloads are left out, as in the study. The remaining exchanges are sorted by reply size and cut
//! into classes of equal frequency. The class means are the sizes of requests and replies.

use super::words::shown;
use super::{ImportError, Imported, words_of_comment};
use crate::Style;
use base::units::Limit;
use std::fmt::Write;

/// Parameters of the classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Number of classes of equal frequency; 3 in the study.
    pub number: usize,
    /// Largest reply, bytes; larger replies count as huge downloads and are left out.
    pub largest: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Classes { number: 3, largest: 1_000_000 }
    }
}

/// Header bytes of a request, if the log has only its first line. The study's small request has 280 B, with a
/// first line of about 40 B.
const HEADERS: u64 = 240;
const HELP: &str = "give a log of Squid, one in the Common Log Format, or columns request_bytes,reply_bytes";

/// A request with its reply.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    request: u64,
    reply: u64,
}

/// Content of a log line.
enum Line {
    Exchange(Exchange),
    /// Reply from a cache.
    Hit,
    /// An error, a tunnel, or no reply.
    NoReply,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `TIME ELAPSED HOST RESULT/STATUS BYTES METHOD URL ...`
    Squid,
    /// `HOST IDENT USER [DATE] "METHOD URL VERSION" STATUS BYTES ...`
    Common,
    /// Columns: indexes of request size, reply size and, optionally, cache result.
    Columns(usize, usize, Option<usize>),
}

impl Form {
    fn of(line: &str) -> Option<Form> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let titles: Vec<String> = line.split(',').map(|title| title.trim().to_ascii_lowercase()).collect();
        let column = |name: &str| titles.iter().position(|title| title == name);
        if let (Some(request), Some(reply)) = (column("request_bytes"), column("reply_bytes")) {
            return Some(Form::Columns(request, reply, column("result")));
        }
        let time = words.first().is_some_and(|word| word.contains('.') && word.parse::<f64>().is_ok());
        if time && words.get(3).is_some_and(|word| word.contains('/')) {
            return Some(Form::Squid);
        }
        (line.contains(" [") && line.matches('"').count() >= 2).then_some(Form::Common)
    }

    fn line(self, line: &str) -> Option<Line> {
        match self {
            Form::Squid => {
                let words: Vec<&str> = line.split_whitespace().collect();
                let (result, status) = words.get(3)?.split_once('/')?;
                let asked = format!("{} {}", words.get(5)?, words.get(6)?);
                Some(exchange(result, status, words.get(4)?.parse().ok()?, &asked))
            }
            Form::Common => {
                let (_, rest) = line.split_once('"')?;
                let (asked, rest) = rest.split_once('"')?;
                let mut words = rest.split_whitespace();
                let (status, bytes) = (words.next()?, words.next()?);
                let bytes = if bytes == "-" { 0 } else { bytes.parse().ok()? };
                Some(exchange("", status, bytes, asked))
            }
            Form::Columns(request, reply, result) => {
                let cells: Vec<&str> = line.split(',').map(str::trim).collect();
                let number = |at: usize| cells.get(at)?.parse::<u64>().ok();
                let exchange = Exchange { request: number(request)?, reply: number(reply)? };
                let hit = result.and_then(|at| cells.get(at)).is_some_and(|cell| is_hit(cell));
                Some(match (hit, exchange.reply) {
                    (true, _) => Line::Hit,
                    (false, 0) => Line::NoReply,
                    (false, _) => Line::Exchange(exchange),
                })
            }
        }
    }
}

fn is_hit(result: &str) -> bool {
    result.to_ascii_uppercase().contains("HIT")
}

fn exchange(result: &str, status: &str, reply: u64, asked: &str) -> Line {
    // Status 304: the browser's own copy was valid.
    if is_hit(result) || status == "304" {
        return Line::Hit;
    }
    let good = status.len() == 3 && status.starts_with('2');
    if !good || reply == 0 || asked.starts_with("CONNECT") {
        return Line::NoReply;
    }
    Line::Exchange(Exchange { request: asked.len() as u64 + HEADERS, reply })
}

/// Whether a text begins like an access log.
pub(super) fn is_log(line: &str) -> bool {
    Form::of(line).is_some()
}

/// Classes of a log as a scenario.
///
/// # Errors
/// The first line that does not fit the format, or fewer requests than classes.
pub fn access_log(text: &str, classes: Classes) -> Result<Imported, ImportError> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let form = lines.clone().next().and_then(|(_, line)| Form::of(line));
    let form = form.ok_or_else(|| ImportError::new("this is no log of requests", HELP))?;
    if matches!(form, Form::Columns(..)) {
        lines.next();
    }
    let (mut all, mut hits, mut none, mut huge) = (Vec::new(), 0u64, 0u64, 0u64);
    for (number, line) in lines {
        match form.line(line) {
            Some(Line::Exchange(one)) if one.reply > classes.largest => huge += 1,
            Some(Line::Exchange(one)) => all.push(one),
            Some(Line::Hit) => hits += 1,
            Some(Line::NoReply) => none += 1,
            None => {
                let message = format!("line {}: `{}` is no request", number + 1, shown(line));
                return Err(ImportError::new(message, HELP));
            }
        }
    }
    let number = classes.number.max(1);
    if all.len() < number {
        let message = format!("{} requests are too few for {number} classes", all.len());
        return Err(ImportError::new(message, "give a longer log, or fewer classes"));
    }
    all.sort_by_key(|one| (one.reply, one.request));
    let mut exactly = Vec::new();
    let mut flows = String::new();
    for class in 0..number {
        let part = &all[class * all.len() / number..(class + 1) * all.len() / number];
        let mean = |of: fn(&Exchange) -> u64| {
            (part.iter().map(of).sum::<u64>() as f64 / part.len() as f64).round() as u64
        };
        let (request, reply) = (mean(|one| one.request), mean(|one| one.reply));
        let range = (part.first().map_or(0, |one| one.reply), part.last().map_or(0, |one| one.reply));
        let name = name(class, number);
        exactly.push(format!(
            "{name}: {} of {} requests, replies of {} to {} B, means {request} and {reply} B",
            part.len(),
            all.len(),
            range.0,
            range.1
        ));
        let _ = write!(
            flows,
            "\n[[flow]]\nname = \"{name}\"\nfrom = \"phone\"\nto = \"server\"\n\
             app = {{ request-reply = {{ count = 120, request = \"{request} B\", reply = \"{reply} B\" }} }}\n"
        );
    }
    let roughly = match form {
        Form::Columns(..) => Vec::new(),
        _ => vec![format!(
            "requests are their first line and {HEADERS} B of headers, which the log does not hold"
        )],
    };
    let largest = Limit::Bytes(classes.largest);
    let left_out = [
        (hits, "answered by a cache".to_owned()),
        (huge, format!("huge downloads, of more than {largest}")),
        (none, "without a good reply, or tunnels".to_owned()),
    ];
    let left_out: Vec<String> = left_out
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} requests {what}"))
        .collect();
    let mut scenario = String::from("williwaw = 1\ntitle = \"Requests and replies by class of a log\"\n\n");
    for (what, notes) in [("exactly", &exactly), ("roughly", &roughly), ("left out", &left_out)] {
        for note in notes {
            let _ = writeln!(scenario, "# {what}: {}", words_of_comment(note));
        }
    }
    scenario.push_str(
        "\n# Choose the path.\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\n\
         rate = \"40 kbit/s\"\ndelay = \"300 ms\"\n",
    );
    scenario.push_str(&flows);
    match crate::read("imported.toml", scenario.as_bytes(), &crate::NoFiles) {
        Ok(_) => Ok(Imported { scenario, exactly, roughly, left_out }),
        Err(diagnostics) => {
            let message = diagnostics.render(Style::default());
            Err(ImportError::new(message.lines().next().unwrap_or_default(), "change that value"))
        }
    }
}

fn name(class: usize, number: usize) -> String {
    match (number, class) {
        (3, 0) => "small".into(),
        (3, 1) => "medium".into(),
        (3, 2) => "large".into(),
        _ => format!("class{}", class + 1),
    }
}
