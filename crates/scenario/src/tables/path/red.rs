//! RED parameters and their defaults (Floyd, Gummadi and Shenker 2001, section 4).
//!
//! Thresholds, a weight and a probability; without them they follow from the link's rate as in Adaptive RED (Floyd,
//! Gummadi and Shenker 2001, section 4).

use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Kind, Need, Shape, TableShape, field, table};
use crate::model::{Capacity, LinkRate, Red};
use base::Span;
use path::red::RedConfig;

/// `queue.red`.
pub(crate) static RED: TableShape = table(
    "red",
    "Random early detection (Floyd and Jacobson 1993). Thresholds and weight that are not given follow from the \
     link's rate: 5 ms of it but at least 5 packets, three times that, a time constant of 1 s.",
    &[
        field(
            "limit",
            Shape::One(Kind::Limits),
            Need::Required("\"75 packets\""),
            "What may wait at most: packets, data, or both with a comma.",
        ),
        field(
            "min",
            Shape::One(Kind::Number(0.0, 1e9)),
            Need::Optional,
            "Average queue from which on packets are dropped, packets.",
        ),
        field(
            "max",
            Shape::One(Kind::Number(0.0, 1e9)),
            Need::Optional,
            "Average queue at which `probability` is reached, packets. Without it, three times `min`.",
        ),
        field(
            "weight",
            Shape::One(Kind::Number(0.0, 1.0)),
            Need::Optional,
            "Weight of the present queue in the average.",
        ),
        field(
            "probability",
            Shape::One(Kind::Number(0.0, 1.0)),
            Need::Default("0.1"),
            "Probability of a drop at `max`.",
        ),
        field(
            "gentle",
            Shape::One(Kind::Flag),
            Need::Default("true"),
            "Beyond `max` the probability rises to 1 at twice that; otherwise at once.",
        ),
        field(
            "adaptive",
            Shape::One(Kind::Flag),
            Need::Default("false"),
            "The probability adapts so that the average stays in the middle (Adaptive RED).",
        ),
        field(
            "ecn",
            Shape::One(Kind::Flag),
            Need::Default("false"),
            "Packets of connections with ECN are marked in place of dropped (RFC 3168).",
        ),
        field(
            "packet",
            Shape::One(Kind::Bytes),
            Need::Default("\"1000 B\""),
            "A typical packet: the clock of the average while the link is idle.",
        ),
    ],
);

/// Reads the parameters.
pub(crate) fn read(reader: Reader<'_>) -> Option<Red> {
    let (packets, bytes) = leaf::limits(reader.get("limit")?).ok()?;
    let number = |key: &str| reader.get(key).and(reader.number(key));
    Some(Red {
        limit: Capacity { packets, bytes },
        min: number("min"),
        max: number("max"),
        weight: number("weight"),
        probability: reader.number("probability")?,
        gentle: reader.flag("gentle")?,
        adaptive: reader.flag("adaptive")?,
        ecn: reader.flag("ecn")?,
        packet: reader.bytes("packet")?.max(1),
    })
}

impl Red {
    /// With everything that follows from a link's rate.
    pub fn decided(&self, rate: &LinkRate) -> RedConfig {
        let packets_per_second = rate.mean_bps().map_or(1e9, |bps| bps / (8.0 * self.packet as f64));
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
}
