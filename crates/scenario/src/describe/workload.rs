//! Description of a workload in one line of text: bulk data, requests, messages, streams.

use crate::model::{App, MessagePlan, RequestPlan, UsefulLife};
use base::dist::Dist;
use base::units::Limit;
use base::{Rate, Span};
use std::fmt::Write;
use transport::app::media::Streaming;

/// Workload in one line; `time` formats a distribution of times.
pub fn of(app: &App, time: &dyn Fn(&Dist) -> String) -> String {
    match app {
        App::Bulk { bytes, lasts } => {
            let mut what = bytes.map_or("unlimited data".to_owned(), |n| Limit::Bytes(n).to_string());
            add_span(&mut what, *lasts);
            what
        }
        App::Requests(plan) => asking(plan, time),
        App::Messages(plan) => telling(plan, time),
    }
}

fn add_span(what: &mut String, lasts: Option<Span>) {
    if let Some(span) = lasts {
        let _ = write!(what, " for {span}");
    }
}

fn times(count: Option<u64>, one: &str, many: &str) -> String {
    match count {
        None => format!("{many} without limit"),
        Some(1) => format!("1 {one}"),
        Some(n) => format!("{n} {many}"),
    }
}

/// Bytes or counts, as a constant or a mean.
fn amount(dist: &Dist) -> String {
    match dist {
        Dist::Constant(x) => format!("{x}"),
        other => format!("{} on average", (other.mean() * 10.0).round() / 10.0),
    }
}

fn asking(plan: &RequestPlan, time: &dyn Fn(&Dist) -> String) -> String {
    let single = plan.objects == Dist::Constant(0.0);
    let mut what =
        if single { times(plan.pages, "request", "requests") } else { times(plan.pages, "page", "pages") };
    add_span(&mut what, plan.lasts);
    let _ = write!(what, ": {} B requested with {} B", amount(&plan.reply), amount(&plan.request));
    if !single {
        let _ = write!(what, ", {} objects of {} B", amount(&plan.objects), amount(&plan.object));
    }
    if plan.think != Dist::Constant(0.0) {
        let _ = write!(what, ", {} between", time(&plan.think));
    }
    if plan.serve != Dist::Constant(0.0) {
        let _ = write!(what, ", {} of server time", time(&plan.serve));
    }
    if let Some(patience) = &plan.patience {
        let _ = write!(what, ", aborted after {}", time(patience));
    }
    let many = if plan.connections == 1 { "connection" } else { "connections" };
    let _ = write!(what, "; {} {many} at a time, each for one {}", plan.connections, plan.keep);
    if plan.pipelining {
        what.push_str(", pipelined");
    }
    what
}

fn streaming(plan: &Streaming) -> String {
    let rates = plan.rates.iter().map(|bps| Rate::from_bps(*bps).to_string()).collect::<Vec<_>>().join(", ");
    let mut what = format!(
        "{} of media at {rates} in frames of {}, a buffer of {} to {}",
        plan.frame.times(plan.frames),
        plan.frame,
        plan.buffer,
        plan.holds
    );
    for jump in &plan.jumps {
        let _ = write!(what, ", at {} to {}", jump.at, jump.to);
    }
    what
}

fn telling(plan: &MessagePlan, time: &dyn Fn(&Dist) -> String) -> String {
    if let Some(stream) = &plan.stream {
        return streaming(stream);
    }
    let mut what = times(plan.count, "message", "messages");
    add_span(&mut what, plan.lasts);
    let _ = write!(what, ": {} B every {}", amount(&plan.size), time(&plan.every));
    if let Some((on, off)) = &plan.bursts {
        let _ = write!(what, " in bursts of {}, {} apart", time(on), time(off));
    }
    match plan.useful {
        UsefulLife::Always => {}
        UsefulLife::UntilNext => what.push_str(", valid until the next one"),
        UsefulLife::For(span) => {
            let _ = write!(what, ", valid for {span}");
        }
    }
    what
}
