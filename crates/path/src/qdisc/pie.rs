//! PIE AQM (RFC 8033): drop probability controlled by queueing delay.
//!
//! At a fixed interval, by default 15 ms, the drop probability is updated from the deviation of the queueing delay
//! from a target, and from the growth of the delay.

use super::{Aqm, Discipline, ECN, LIMIT, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, room};
use base::rng::Stream;
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Span, Time};

static TABLE: TableShape = table(
    "pie",
    "PIE (RFC 8033): drops arriving packets with a probability computed from the queueing delay and its growth.",
    &[
        field("target", Shape::One(ValueKind::Span), Need::Default("\"15 ms\""), "Target sojourn time."),
        field(
            "update",
            Shape::One(ValueKind::Span),
            Need::Default("\"15 ms\""),
            "Update interval of the probability.",
        ),
        field(
            "burst",
            Shape::One(ValueKind::Span),
            Need::Default("\"150 ms\""),
            "Burst allowance: nothing is dropped for this time.",
        ),
        ECN,
        LIMIT,
    ],
);

/// Parameters of PIE and the limit of its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Parameters of the controller.
    pub controller: PieConfig,
    /// Queue limit.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "pie",
        doc: "A controller moves the probability of a drop.",
        shape: Shape::Table(&TABLE),
        bare: true,
    };

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        let controller = PieConfig {
            target: values.span("target")?,
            update: values.span("update")?.max(Span::from_millis(1)),
            burst: values.span("burst")?,
            ecn: values.flag("ecn")?,
        };
        Some(QueueSpec::Pie(Options { controller, limit: room(values, "limit")? }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("PIE queue of {}, {}", self.limit, self.controller.target)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.managed(self.limit, Pie::new(self.controller, site.stream("pie")))
    }
}

/// Parameters of the controller; defaults as in RFC 8033.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Target queueing delay.
    pub target: Span,
    /// Update interval of the probability.
    pub update: Span,
    /// Burst allowance: time without drops at the start of congestion.
    pub burst: Span,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is below 10 %.
    pub ecn: bool,
}

/// Weight of the delay's deviation from the target, 1/s (RFC 8033 section 4.2).
const ALPHA: f64 = 0.125;
/// Weight of the delay's growth, 1/s (RFC 8033 section 4.2).
const BETA: f64 = 1.25;
/// Maximum number of updates performed after idle time; the probability has decayed by then.
const MOST_UPDATES: u32 = 4096;
/// Largest backlog, bytes, that causes no drops: two full-sized packets (RFC 8033 section 4.1).
const TWO_PACKETS: u64 = 2 * 1500;

/// PIE controller.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    stream: Stream,
    probability: f64,
    /// Sojourn time of the last departed packet, seconds; 0 if it left the queue empty.
    wait: f64,
    /// `wait` at the last update.
    wait_before: f64,
    /// Remaining burst allowance.
    burst_left: Span,
    /// Time of the next update.
    next: Time,
}

impl Pie {
    /// A controller that draws from `stream`.
    pub fn new(config: PieConfig, stream: Stream) -> Self {
        let next = Time::ZERO + config.update;
        let burst_left = config.burst;
        Pie { config, stream, probability: 0.0, wait: 0.0, wait_before: 0.0, burst_left, next }
    }

    /// Drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    fn enqueue(&mut self, view: QueueView) -> AqmVerdict {
        if view.packets == 0 {
            self.wait = 0.0;
        }
        self.catch_up(view.now);
        //= RFC 8033 section 4.1: no drops during a burst, nor with a short queue
        let short = self.wait_before < self.config.target.as_secs_f64() / 2.0 && self.probability < 0.2;
        if !self.burst_left.is_zero() || short || view.bytes <= TWO_PACKETS {
            return AqmVerdict::Pass;
        }
        if self.stream.uniform() >= self.probability {
            return AqmVerdict::Pass;
        }
        //= RFC 8033 section 5.1: ECN-capable packets are marked below a probability of 10 %
        if self.config.ecn && view.ecn != 0 && self.probability < 0.1 { AqmVerdict::Mark } else { AqmVerdict::Drop }
    }

    /// Performs the updates due by `now`.
    fn catch_up(&mut self, now: Time) {
        let mut left = MOST_UPDATES;
        while self.next <= now {
            left -= 1;
            if left == 0 {
                self.next = now + self.config.update;
                return;
            }
            self.update();
            self.next += self.config.update;
        }
    }

    /// Update of the probability (RFC 8033 section 4.2) and of the burst allowance (section 4.4).
    fn update(&mut self) {
        let target = self.config.target.as_secs_f64();
        let mut step = ALPHA * (self.wait - target) + BETA * (self.wait - self.wait_before);
        let scale = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        if let Some((_, by)) = scale.iter().find(|(below, _)| self.probability < *below) {
            step /= by;
        }
        if self.probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.probability += step;
        if self.wait == 0.0 && self.wait_before == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let calm = |wait: f64| wait < target / 2.0;
        if !self.burst_left.is_zero() {
            let left = self.burst_left.as_nanos().saturating_sub(self.config.update.as_nanos());
            self.burst_left = Span::from_nanos(left);
        }
        if self.probability == 0.0 && calm(self.wait) && calm(self.wait_before) {
            self.burst_left = self.config.burst;
        }
        self.wait_before = self.wait;
    }
}

impl Aqm for Pie {
    fn comes(&mut self, view: QueueView) -> AqmVerdict {
        self.enqueue(view)
    }

    fn leaves(&mut self, view: QueueView) -> AqmVerdict {
        self.catch_up(view.now);
        self.wait = if view.packets == 0 { 0.0 } else { view.span.as_secs_f64() };
        AqmVerdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Seed;

    fn config() -> PieConfig {
        let ms = Span::from_millis;
        PieConfig { target: ms(15), update: ms(15), burst: ms(150), ecn: true }
    }

    /// Decisions on one packet per ms, from time `from` to `until`, with a constant queueing delay of `wait_ms`.
    fn fed(pie: &mut Pie, from: u64, until: u64, wait_ms: u64, ecn: u8) -> Vec<AqmVerdict> {
        (from..until)
            .map(|t| {
                let now = Time::ZERO + Span::from_millis(t);
                let view = QueueView {
                    now,
                    packets: 20,
                    bytes: 30_000,
                    ecn,
                    span: Span::from_millis(wait_ms),
                    ..QueueView::default()
                };
                pie.leaves(view);
                pie.comes(view)
            })
            .collect()
    }

    /// A burst passes; the drop probability rises with a standing queue and falls with a short one.
    #[test]
    fn pie_follows_the_wait() {
        let mut pie = Pie::new(config(), Seed { seed: 1, repetition: 0 }.stream("radio.down", "pie"));
        assert!(fed(&mut pie, 0, 140, 100, 0).iter().all(|v| *v == AqmVerdict::Pass), "a burst");
        fed(&mut pie, 140, 20_000, 100, 0);
        let high = pie.probability();
        assert!(high > 0.5, "{high}");
        fed(&mut pie, 20_000, 200_000, 1, 0);
        assert!(pie.probability() < 0.01, "{}", pie.probability());
    }

    #[test]
    fn pie_marks_what_can_be_marked_while_the_probability_is_small() {
        let mut pie = Pie::new(config(), Seed { seed: 1, repetition: 0 }.stream("radio.down", "pie"));
        let mut t = 0;
        while pie.probability() < 0.05 {
            fed(&mut pie, t, t + 15, 40, 2);
            t += 15;
        }
        let seen = fed(&mut pie, t, t + 100, 40, 2);
        assert!(pie.probability() < 0.1, "{}", pie.probability());
        assert!(seen.contains(&AqmVerdict::Mark) && !seen.contains(&AqmVerdict::Drop));
    }
}
