//! Conformance of a connection with RFC 3481 (TCP over 2.5G and 3G links): a result and advice for each recommendation.

use super::flow::{FlowDirection, Options};

base::named! {
    /// Recommendation of RFC 3481.
    pub enum Point {
        /// Section 4.1: window of at least the bandwidth-delay product.
        Window = "window",
        /// Section 4.2: increased initial window.
        InitialWindow = "initial-window",
        /// Section 4.3: limited transmit (RFC 3042).
        LimitedTransmit = "limited-transmit",
        /// Section 4.4: MTU larger than the default.
        Mtu = "mtu",
        /// Section 4.6: SACK.
        Sack = "sack",
        /// Section 4.7: ECN.
        Ecn = "ecn",
        /// Section 4.8: timestamps.
        Timestamps = "timestamps",
        /// Section 5: retransmission timer.
        Timer = "timer",
    }
}

/// Most bytes of TCP options in a segment (RFC 9293 section 3.1).
const MOST_OPTIONS: u32 = 40;
/// MSS of the default MTU of 576 bytes (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

impl Point {
    /// Section of RFC 3481.
    pub const fn section(self) -> &'static str {
        match self {
            Point::Window => "4.1",
            Point::InitialWindow => "4.2",
            Point::LimitedTransmit => "4.3",
            Point::Mtu => "4.4",
            Point::Sack => "4.6",
            Point::Ecn => "4.7",
            Point::Timestamps => "4.8",
            Point::Timer => "5",
        }
    }
}

/// Result for one recommendation.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Recommendation.
    pub point: Point,
    /// Conformant or not; `None`: the capture does not show it.
    pub followed: Option<bool>,
    /// Observation, and the change needed if it does not conform.
    pub text: String,
}

/// Facts about a direction that only the conformance check uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProfileFacts {
    /// Bytes of the first flight, if the SYN was captured.
    pub(crate) first_flight: Option<u64>,
    /// Limited transmits (RFC 3042): new segments sent on the first two duplicate ACKs, and number of opportunities.
    pub(crate) limited: (u64, u64),
    /// Shortest running time of an expired timer, s.
    pub(crate) shortest_timer_s: Option<f64>,
}

/// Results of all recommendations for one direction.
pub(crate) fn check(direction: &FlowDirection, seen: ProfileFacts) -> Vec<Advice> {
    let Options { mss, longest, sack, timestamps, ecn, window, window_known, .. } = direction.options;
    let mut out = Vec::new();
    let mut say = |point, followed, text: String| out.push(Advice { point, followed, text });
    let product = bandwidth_delay(direction);
    let offered =
        if window_known { format!("{window} bytes offered at most") } else { "no scale seen".into() };
    match product {
        Some(p) if window_known && window < p => say(
            Point::Window,
            Some(false),
            format!("{offered}, the path takes {p}: raise the receive buffer to at least that"),
        ),
        Some(p) if window_known => say(Point::Window, Some(true), format!("{offered}, the path takes {p}")),
        _ => say(Point::Window, None, offered),
    }
    // The application sent segments of the negotiated size, so that windows and not its data set their size. Options
    // in each segment take up to 40 bytes of it.
    let full = mss.map_or(longest >= DEFAULT_MSS, |mss| longest + MOST_OPTIONS >= u32::from(mss));
    let segment = if full { u64::from(longest.max(1)) } else { mss.map_or(u64::MAX / 20, u64::from) };
    match seen.first_flight {
        // Less than two segments show the window only if full-sized data waited behind exactly one.
        Some(flight)
            if flight < 2 * segment && !(full && flight == segment && direction.delivered_bytes > flight) =>
        {
            say(
                Point::InitialWindow,
                None,
                format!("{flight} bytes in the first flight, limited by the application"),
            );
        }
        Some(flight) => {
            let most = (4 * segment).min((2 * segment).max(4380));
            let text = format!("{flight} bytes in the first flight, {most} allowed there");
            // RFC 6928 allows ten segments; it is newer than RFC 3481.
            let more =
                if flight > most && flight <= 10 * segment { " (RFC 6928 allows it today)" } else { "" };
            say(Point::InitialWindow, Some(flight >= 2 * segment && flight <= 10 * segment), text + more);
        }
        None => say(Point::InitialWindow, None, "the beginning was not seen".into()),
    }
    match seen.limited {
        (_, 0) => say(Point::LimitedTransmit, None, "no occasion was seen".into()),
        (used, of) => say(
            Point::LimitedTransmit,
            Some(2 * used >= of),
            if 2 * used >= of {
                format!("new segments on {used} of {of} first duplicates")
            } else {
                format!(
                    "new segments on {used} of {of} first duplicates: switch on limited transmit (RFC 3042)"
                )
            },
        ),
    }
    let (followed, text) = mtu(mss, longest);
    say(Point::Mtu, followed, text);
    let switched = |on: Option<bool>, name: &str| match on {
        Some(true) => (Some(true), format!("{name} in use")),
        Some(false) => (Some(false), format!("no {name}: switch it on at both ends")),
        None => (None, "the beginning was not seen".into()),
    };
    for (point, on, name) in [
        (Point::Sack, sack, "SACK"),
        (Point::Ecn, ecn, "ECN"),
        (Point::Timestamps, Some(timestamps), "timestamps"),
    ] {
        let (followed, text) = switched(on, name);
        say(point, followed, text);
    }
    match seen.shortest_timer_s {
        Some(s) if s < 0.95 => say(
            Point::Timer,
            Some(false),
            format!(
                "a timer of {s:.3} s: its least value should be 1 s on such links (RFC 6298 section 2.4)"
            ),
        ),
        Some(s) => say(Point::Timer, Some(true), format!("no timer below {s:.3} s")),
        None => say(Point::Timer, None, "no timer expired".into()),
    }
    out
}

/// Advice on the MTU, from the MSS of the handshake and the longest segment, bytes. Short segments alone show what the
/// application sends; the MSS shows the MTU.
fn mtu(mss: Option<u16>, longest: u32) -> (Option<bool>, String) {
    match (longest, mss) {
        (_, Some(mss)) if u32::from(mss) < DEFAULT_MSS => {
            (Some(false), format!("an MSS of {mss} bytes: raise the MTU to 576 to 1500 bytes"))
        }
        (DEFAULT_MSS.., _) => (Some(true), format!("segments of up to {longest} bytes")),
        (_, Some(mss)) => {
            (None, format!("an MSS of {mss} bytes, and the application sent at most {longest} in a segment"))
        }
        (0, None) => (None, "no segment was seen".into()),
        (_, None) => (None, format!("at most {longest} bytes in a segment, and no MSS was seen")),
    }
}

/// Bandwidth-delay product, bytes: bottleneck rate times minimum RTT.
pub(crate) fn bandwidth_delay(direction: &FlowDirection) -> Option<u64> {
    let rate = direction.bottleneck_bps?;
    direction.rtt.map(|r| (rate * r.min_s / 8.0) as u64)
}
