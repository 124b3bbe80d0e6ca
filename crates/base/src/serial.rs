//! Serialisation of times, durations and distributions for work sent to remote workers.
//!
//! A distribution that the scenario reader rejects is rejected here too.

use crate::Span;
use crate::dist::Dist;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// Serialised as whole nanoseconds.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.as_nanos())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Span::from_nanos)
    }
}

impl Serialize for Dist {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Calls the inherent function that serde derives.
        Dist::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Dist {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let dist = Dist::deserialize(from)?;
        if is_sound(&dist) { Ok(dist) } else { Err(D::Error::custom("parameters that no distribution has")) }
    }
}

/// Whether the parameters are within the ranges of [`Dist::parse`].
fn is_sound(dist: &Dist) -> bool {
    match dist {
        Dist::Constant(_) | Dist::Normal(..) | Dist::Cauchy(..) => true,
        Dist::Uniform(a, b) => a <= b,
        Dist::Exponential(mean) | Dist::Lognormal(mean, _) => *mean > 0.0,
        Dist::Pareto(min, shape, max) => *min > 0.0 && *shape > 0.0 && max.is_none_or(|max| max > *min),
        Dist::Weibull(a, b) | Dist::Gamma(a, b) => *a > 0.0 && *b > 0.0,
        Dist::TwoState { leave_first, leave_second, .. } => {
            [leave_first, leave_second].iter().all(|p| (0.0..=1.0).contains(*p))
        }
        Dist::Empirical(values) => !values.is_empty(),
    }
}

/// Serialisation of shared values as a plain list.
pub(crate) mod shared {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};
    use std::sync::Arc;

    pub(crate) fn serialize<S: Serializer>(values: &Arc<[f64]>, to: S) -> Result<S::Ok, S::Error> {
        values[..].serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[f64]>, D::Error> {
        Vec::deserialize(from).map(Into::into)
    }
}
