//! RED and Adaptive RED: AQM that drops or marks arriving packets by the average queue length.
//!
//! The probability grows with the average (Floyd and Jacobson, "Random Early Detection Gateways", 1993; catalogue
//! QM-03). Adaptive RED derives the parameters from the link's rate, and adapts the probability so that the average
//! stays half-way between the thresholds (Floyd, Gummadi, Shenker, "Adaptive RED", 2001; QM-04).
//!
//! The queue length is the number of waiting packets, without the packet in service. The average is updated at
//! arrivals; it decays over the idle time of the link as if packets of a typical size had passed. Differences from the
//! 1993 text: `gentle` is the default (the probability rises to 1 between the upper threshold and twice that, as in
//! the 2001 text). At probability 1 packets are dropped, not marked.

use super::{Aqm, Discipline, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, room};
use base::rng::Stream;
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Span, Time};

static TABLE: TableShape = table(
    "red",
    "Random early detection (Floyd and Jacobson 1993). Thresholds and weight that are not given follow from the \
     link's rate: 5 ms of it but at least 5 packets, three times that, a time constant of 1 s.",
    &[
        field(
            "limit",
            Shape::One(ValueKind::Limits),
            Need::Required("\"75 packets\""),
            "Queue limit: packets, data, or both with a comma.",
        ),
        field(
            "min",
            Shape::One(ValueKind::Number(0.0, 1e9)),
            Need::Optional,
            "Average queue from which on packets are dropped, packets.",
        ),
        field(
            "max",
            Shape::One(ValueKind::Number(0.0, 1e9)),
            Need::Optional,
            "Average queue at which `probability` is reached, packets. Without it, three times `min`.",
        ),
        field(
            "weight",
            Shape::One(ValueKind::Number(0.0, 1.0)),
            Need::Optional,
            "Weight of the present queue in the average.",
        ),
        field(
            "probability",
            Shape::One(ValueKind::Number(0.0, 1.0)),
            Need::Default("0.1"),
            "Probability of a drop at `max`.",
        ),
        field(
            "gentle",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Beyond `max` the probability rises to 1 at twice that; otherwise at once.",
        ),
        field(
            "adaptive",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "The probability adapts so that the average stays in the middle (Adaptive RED).",
        ),
        field(
            "ecn",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Packets of connections with ECN are marked in place of dropped (RFC 3168).",
        ),
        field(
            "packet",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1000 B\""),
            "A typical packet: the clock of the average while the link is idle.",
        ),
    ],
);

/// Parameters of RED from a scenario. Those not set are derived from the link's rate (Floyd, Gummadi and Shenker
/// 2001, section 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Queue limit.
    pub limit: Room,
    /// Lower threshold of the average queue, packets.
    pub min: Option<f64>,
    /// Upper threshold of the average queue, packets.
    pub max: Option<f64>,
    /// Weight of the present queue length in the average.
    pub weight: Option<f64>,
    /// Drop probability at `max`.
    pub probability: f64,
    /// Whether the probability rises linearly to 1 at twice `max`; otherwise it is 1 from `max` on.
    pub gentle: bool,
    /// Whether the probability adapts (Adaptive RED).
    pub adaptive: bool,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Typical packet size, bytes.
    pub packet: u64,
}

impl Options {
    /// All parameters for a link with this mean rate, bit/s; none: unlimited rate.
    pub fn decided(&self, rate_bps: Option<f64>) -> RedConfig {
        let packets_per_second = rate_bps.map_or(1e9, |bps| bps / (8.0 * self.packet as f64));
        let (min, max, weight) = RedConfig::automatic(packets_per_second);
        let min = self.min.unwrap_or(min);
        let max = self.max.unwrap_or(if self.min.is_some() { 3.0 * min } else { max });
        RedConfig {
            min,
            max: max.max(min + 1e-9),
            weight: self.weight.unwrap_or(weight),
            probability: self.probability,
            gentle: self.gentle,
            adaptive: self.adaptive,
            ecn: self.ecn,
            typical: Span::from_secs_f64(1.0 / packets_per_second.max(1e-3)),
        }
    }

    /// RED for one queue.
    pub fn manager(&self, site: &QueueSite<'_>) -> Red {
        Red::new(self.decided(site.rate_bps), site.stream("red"))
    }
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "red",
        doc: "Random early detection: drops or marks before it is full.",
        shape: Shape::Table(&TABLE),
        bare: false,
    };
    const PLAIN: bool = true;

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        Some(QueueSpec::Red(Options {
            limit: room(values, "limit")?,
            min: values.number("min"),
            max: values.number("max"),
            weight: values.number("weight"),
            probability: values.number("probability")?,
            gentle: values.flag("gentle")?,
            adaptive: values.flag("adaptive")?,
            ecn: values.flag("ecn")?,
            packet: values.bytes("packet")?.max(1),
        }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        let kind = if self.adaptive { "adaptive RED" } else { "RED" };
        format!("{kind} queue of {}", self.limit)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.managed(self.limit, self.manager(site))
    }
}

/// All parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Lower threshold of the average, packets: no drops below it.
    pub min: f64,
    /// Upper threshold of the average, packets: `probability` is reached here.
    pub max: f64,
    /// Weight of the present queue length in the average.
    pub weight: f64,
    /// Drop probability at the upper threshold.
    pub probability: f64,
    /// Whether the probability rises linearly to 1 at twice the upper threshold; otherwise it is 1 from the upper
    /// threshold on.
    pub gentle: bool,
    /// Whether `probability` adapts (Adaptive RED).
    pub adaptive: bool,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Transmission time of a typical packet, for the decay of the average over idle time.
    pub typical: Span,
}

impl RedConfig {
    /// Lower threshold, upper threshold and weight that Adaptive RED derives from the link's rate in packets per
    /// second. The lower threshold is half a target delay of 5 ms, at least 5 packets; the upper one is three times
    /// as large. The weight has a time constant of one second.
    pub fn automatic(packets_per_second: f64) -> (f64, f64, f64) {
        let min = (0.005 * packets_per_second / 2.0).max(5.0);
        let weight = 1.0 - libm::exp(-1.0 / packets_per_second.max(1e-3));
        (min, 3.0 * min, weight)
    }
}

/// Interval at which Adaptive RED adapts the probability.
const INTERVAL: Span = Span::from_millis(500);
/// Not-ECT codepoint (RFC 3168 section 5).
const NOT_ECT: u8 = 0;

/// Number of factors kept.
const DECAYS: usize = 32;

/// RED state of one queue.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    stream: Stream,
    average: f64,
    probability: f64,
    /// Packets since the last drop or mark; none below the lower threshold.
    since: Option<u32>,
    adapts_at: Time,
    /// Factors on the average after idle times: the last ones, by their lowest bits.
    decays: [(Span, f64); DECAYS],
}

impl Red {
    /// RED that draws from `stream`.
    pub fn new(config: RedConfig, stream: Stream) -> Self {
        let adapts_at = Time::ZERO + INTERVAL;
        let decays = [(Span::ZERO, 1.0); DECAYS];
        Red { config, stream, average: 0.0, probability: config.probability, since: None, adapts_at, decays }
    }

    /// Factor on the average after an idle time.
    #[inline]
    fn decay(&mut self, idle: Span) -> f64 {
        let i = idle.as_nanos() as usize % DECAYS;
        if self.decays[i].0 != idle {
            let missed = idle.as_secs_f64() / self.config.typical.as_secs_f64();
            self.decays[i] = (idle, libm::pow(1.0 - self.config.weight, missed));
        }
        self.decays[i].1
    }

    /// Average queue length, packets.
    pub fn average(&self) -> f64 {
        self.average
    }
    /// Present probability at the upper threshold.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Decision on a packet that arrives at a backlog of `waiting` packets; `idle`: time for which the link was idle.
    pub fn arrival(&mut self, now: Time, waiting: usize, idle: Span, ecn: u8) -> AqmVerdict {
        if !idle.is_zero() && !self.config.typical.is_zero() {
            self.average *= self.decay(idle);
        }
        let c = &self.config;
        self.average += c.weight * (waiting as f64 - self.average);
        let ecn = c.ecn && ecn != NOT_ECT;
        if c.adaptive && now >= self.adapts_at {
            self.adapt();
            self.adapts_at = now + INTERVAL;
        }
        let p = self.pressure();
        if p <= 0.0 {
            self.since = None;
            return AqmVerdict::Pass;
        }
        if p >= 1.0 {
            self.since = Some(0);
            return AqmVerdict::Drop;
        }
        // Drops are spaced evenly: their probability grows with the number of packets since the last drop.
        let since = self.since.map_or(0, |n| n + 1);
        self.since = Some(since);
        let spread = f64::from(since) * p;
        let chance = if spread < 1.0 { p / (1.0 - spread) } else { 1.0 };
        if self.stream.uniform() >= chance {
            return AqmVerdict::Pass;
        }
        self.since = Some(0);
        if ecn { AqmVerdict::Mark } else { AqmVerdict::Drop }
    }

    /// Drop probability at the present average, before drops are spaced evenly.
    fn pressure(&self) -> f64 {
        let (c, avg) = (&self.config, self.average);
        if avg < c.min {
            0.0
        } else if avg < c.max {
            self.probability * (avg - c.min) / (c.max - c.min)
        } else if c.gentle && avg < 2.0 * c.max {
            self.probability + (1.0 - self.probability) * (avg - c.max) / c.max
        } else {
            1.0
        }
    }

    /// Adapts the probability to keep the average at 40 to 60 % of the range between the thresholds. It rises by at
    /// most 0.01 while not above 0.5, and falls by a tenth while not below 0.01 (Adaptive RED, figure 1).
    fn adapt(&mut self) {
        let way = self.config.max - self.config.min;
        let (low, high) = (self.config.min + 0.4 * way, self.config.min + 0.6 * way);
        if self.average > high && self.probability <= 0.5 {
            self.probability += (self.probability / 4.0).min(0.01);
        } else if self.average < low && self.probability >= 0.01 {
            self.probability *= 0.9;
        }
    }
}

impl Aqm for Red {
    fn acts_at_departure(&self) -> bool {
        false
    }
    fn comes(&mut self, view: QueueView) -> AqmVerdict {
        self.arrival(view.now, view.packets, view.span, view.ecn)
    }

    /// A drop at a full queue counts as a drop of RED.
    fn overflowed(&mut self) {
        self.since = Some(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Seed;

    fn config() -> RedConfig {
        RedConfig {
            min: 5.0,
            max: 15.0,
            weight: 0.002,
            probability: 0.1,
            gentle: true,
            adaptive: false,
            ecn: false,
            typical: Span::from_millis(4),
        }
    }
    fn red(config: RedConfig) -> Red {
        Red::new(config, Seed { seed: 1, repetition: 0 }.stream("radio.down", "red"))
    }
    /// Fraction dropped of `n` packets that all arrive at a backlog of `waiting` packets.
    fn dropped(red: &mut Red, waiting: usize, n: u32) -> f64 {
        let now = Time::from_secs_f64(1.0);
        let drops = (0..n).filter(|_| red.arrival(now, waiting, Span::ZERO, 0) == AqmVerdict::Drop).count();
        drops as f64 / f64::from(n)
    }

    /// QM-03.
    #[test]
    fn qm_03_nothing_is_dropped_below_the_lower_threshold_and_everything_beyond_twice_the_upper() {
        assert_eq!(dropped(&mut red(config()), 4, 20_000), 0.0);
        let mut long = red(config());
        dropped(&mut long, 40, 20_000);
        assert_eq!(dropped(&mut long, 40, 100), 1.0);
    }

    /// QM-03.
    #[test]
    fn qm_03_a_constant_queue_is_dropped_at_twice_the_probability_it_stands_for() {
        // Half-way between the thresholds p = 0.05. With even spacing the distances of drops are uniform over 1..=19,
        // ten on average, half as long as with independent drops (Floyd and Jacobson, section 8).
        let mut r = red(config());
        dropped(&mut r, 10, 20_000); // until the average has come
        let share = dropped(&mut r, 10, 200_000);
        assert!((share - 0.1).abs() < 0.002, "{share}");
    }

    /// QM-03.
    #[test]
    fn qm_03_an_idle_link_forgets() {
        let mut r = red(config());
        dropped(&mut r, 10, 20_000);
        let before = r.average();
        r.arrival(Time::from_secs_f64(9.0), 0, Span::from_secs(4), 0);
        // 4 s are 1000 packets of 4 ms: (1 - 0.002)^1000 = 0.135.
        assert!((r.average() / before - 0.135).abs() < 0.003, "{}", r.average());
    }

    /// QM-03.
    #[test]
    fn qm_03_marks_what_understands_it() {
        let mut r = red(RedConfig { ecn: true, weight: 1.0, ..config() });
        let now = Time::from_secs_f64(1.0);
        let all: Vec<AqmVerdict> = (0..200).map(|_| r.arrival(now, 12, Span::ZERO, 2)).collect();
        assert!(all.contains(&AqmVerdict::Mark) && !all.contains(&AqmVerdict::Drop));
        assert_eq!(r.arrival(now, 40, Span::ZERO, 2), AqmVerdict::Drop, "nothing is marked at probability 1");
    }

    /// QM-04.
    #[test]
    fn qm_04_the_probability_follows_the_average() {
        let adaptive = RedConfig { adaptive: true, weight: 1.0, ..config() };
        let mut r = red(adaptive);
        for i in 1..100 {
            r.arrival(Time::from_secs_f64(f64::from(i)), 14, Span::ZERO, 0);
        }
        assert!(r.probability() > 0.45, "{}", r.probability());
        for i in 100..200 {
            r.arrival(Time::from_secs_f64(f64::from(i)), 1, Span::ZERO, 0);
        }
        assert!(r.probability() < 0.011, "{}", r.probability());
    }

    /// QM-04.
    #[test]
    fn qm_04_automatic_parameters_follow_the_link() {
        // 250 packets per second: the minimum of the lower threshold, a time constant of one second.
        let (min, max, weight) = RedConfig::automatic(250.0);
        assert_eq!((min, max), (5.0, 15.0));
        assert!((weight - 1.0 / 250.0).abs() < 1e-4);
        assert_eq!(RedConfig::automatic(10_000.0).0, 25.0);
    }
}
