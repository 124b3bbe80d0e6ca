//! Charts of a captured UDP flow: rate of both directions with silences, and RTT by the spin bit of QUIC.

use crate::frame::Frame;
use analyse::datagram::{DatagramDirection, DatagramFlow, Quic, SpinBit};
use base::Time;
use report::{Chart, Ink, Interval, Panel, Series, Style};

/// Number of bins of a rate chart.
const BINS: usize = 120;
/// Least width of a bin, s.
const LEAST_BIN: f64 = 0.01;

fn seconds(start: Time, t: Time) -> f64 {
    t.as_secs_f64() - start.as_secs_f64()
}

fn window(flow: &DatagramFlow, start: Time, frame: &Frame) -> (f64, f64) {
    let from = frame.from.unwrap_or(seconds(start, flow.first));
    let until = frame.until.unwrap_or(seconds(start, flow.last));
    (from, if until > from { until } else { from + 0.1 })
}

/// Rate in bins of equal width, bit/s.
fn rate(direction: &DatagramDirection, start: Time, (from, until): (f64, f64)) -> Vec<[f64; 2]> {
    let width = ((until - from) / BINS as f64).max(LEAST_BIN);
    let bins = ((until - from) / width).ceil().max(1.0) as usize;
    let mut sums = vec![0.0; bins.min(BINS + 1)];
    for (t, bytes) in &direction.points {
        let place = (seconds(start, *t) - from) / width;
        if place >= 0.0 && (place as usize) < sums.len() {
            sums[place as usize] += f64::from(*bytes) * 8.0;
        }
    }
    let mut points: Vec<[f64; 2]> =
        sums.iter().enumerate().map(|(i, bits)| [from + i as f64 * width, bits / width]).collect();
    points.push([until, 0.0]);
    points
}

/// Rate of both directions with silences as intervals. Requires that the analyser stored the datagrams.
pub fn rates(flow: &DatagramFlow, start: Time, frame: Frame) -> Chart {
    let (from, until) = window(flow, start, &frame);
    let directions = [0, 1].map(|i: usize| Series {
        // The legend has space for two short names.
        name: format!("to {}", flow.ends[1 - i]),
        ink: if i == flow.main() { Ink::Main } else { Ink::Other },
        style: Style::Stairs,
        points: rate(&flow.directions[i], start, (from, until)),
    });
    let silences = flow.silences.iter().map(|gap| {
        let from = seconds(start, gap.from);
        Interval { from, until: from + gap.lasts.as_secs_f64(), name: "silence".to_owned() }
    });
    chart(frame, (from, until), "rate", "bit/s", directions.into(), silences.collect(), subtitle(flow))
}

/// RTT samples by the spin bit; None if the spin bit is not in use.
pub fn round_trips(flow: &DatagramFlow, start: Time, frame: Frame) -> Option<Chart> {
    let Some(Quic { spin: SpinBit::Spins(spin), .. }) = &flow.quic else { return None };
    let (from, until) = window(flow, start, &frame);
    let points = spin.samples.iter().map(|(t, rtt)| [seconds(start, *t), *rtt]);
    let series = Series {
        name: "round trips by the spin bit".to_owned(),
        ink: Ink::Main,
        style: Style::Dots,
        points: points.filter(|p| p[0] >= from && p[0] <= until).collect(),
    };
    let said = format!(
        "{} round trips between the ends: minimum {:.0} ms, median {:.0} ms, maximum {:.0} ms. They include the time \
         in which an end waits for data to send.",
        spin.samples.len(),
        spin.min_s * 1e3,
        spin.median_s * 1e3,
        spin.max_s * 1e3
    );
    Some(chart(frame, (from, until), "round trips", "s", vec![series], Vec::new(), said))
}

/// Protocol, datagrams and bytes of both directions, for the caption.
fn subtitle(flow: &DatagramFlow) -> String {
    let protocol = if flow.quic.is_some() { "QUIC" } else { "UDP" };
    let [a, b] = &flow.directions;
    format!("{protocol}, {} datagrams of {} bytes, {} of {} back", a.packets, a.bytes, b.packets, b.bytes)
}

fn chart(
    frame: Frame,
    (from, until): (f64, f64),
    what: &str,
    unit: &str,
    series: Vec<Series>,
    spikes: Vec<Interval>,
    caption: String,
) -> Chart {
    Chart {
        title: if frame.title.is_empty() {
            crate::lines::heading(what)
        } else {
            format!("{}: {what}", frame.title)
        },
        subtitle: String::new(),
        caption,
        panel: Panel { unit: unit.to_owned(), series },
        spikes: spikes.into_iter().filter(|e| e.until >= from && e.from <= until).collect(),
        timeouts: Vec::new(),
        layers: frame.layers,
        from,
        until,
    }
}
