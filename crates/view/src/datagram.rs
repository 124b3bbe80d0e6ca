//! Picture of a UDP flow of a capture: rate of both directions; of QUIC with a spin bit its round trips.

use crate::frame::Frame;
use analyse::datagram::{DatagramDirection, DatagramFlow, Quic, SpinBit};
use base::Time;
use report::{Chart, Ink, Interval, Panel, Series, Style};

/// Bins of a picture.
const BINS: usize = 120;
/// Less is no bin, seconds.
const LEAST_BIN: f64 = 0.01;

fn seconds(start: Time, t: Time) -> f64 {
    t.as_secs_f64() - start.as_secs_f64()
}

fn window(flow: &DatagramFlow, start: Time, frame: &Frame) -> (f64, f64) {
    let from = frame.from.unwrap_or(seconds(start, flow.first));
    let until = frame.until.unwrap_or(seconds(start, flow.last));
    (from, if until > from { until } else { from + 0.1 })
}

/// Bits a second in bins of equal width.
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

/// The rate of both directions, silences shaded. Datagrams have to be kept by the analyser.
pub fn rates(flow: &DatagramFlow, start: Time, frame: Frame) -> Chart {
    let (from, until) = window(flow, start, &frame);
    let directions = [0, 1].map(|i: usize| Series {
        // Short: a legend has room for two names.
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

/// Round trips by the spin bit; none where it does not spin.
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
        "{} round trips of the ends: {:.0} ms at least, {:.0} ms in the median, {:.0} ms at most. They include what the ends wait for something to send.",
        spin.samples.len(),
        spin.min_s * 1e3,
        spin.median_s * 1e3,
        spin.max_s * 1e3
    );
    Some(chart(frame, (from, until), "round trips", "s", vec![series], Vec::new(), said))
}

/// Protocol, packets and bytes of both directions.
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
