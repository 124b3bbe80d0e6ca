//! Builder of deadline-aware routers: policy of a link, with the remaining hops of every flow.

use crate::model::{Delay, Model};
use base::Span;
use path::deadline::{Margin, Policy, RemainingPath};
use path::qdisc::deadline::{Margin as Needs, Options};

/// Deadline policy of link `index`; `ledgers` is the number of flow directions.
pub(super) fn policy(model: &Model, index: usize, deadline: &Options, ledgers: usize) -> Policy {
    let margin = match deadline.margin {
        Needs::Fixed(span) => Margin::Fixed(span),
        Needs::Path => {
            let mut rests = vec![RemainingPath::default(); ledgers];
            for (i, flow) in model.flows.iter().enumerate() {
                for (ledger, way) in [(2 * i, &flow.route), (2 * i + 1, &flow.way_back)] {
                    if let Some(at) = way.iter().position(|link| *link == index) {
                        rests[ledger] = way[at..]
                            .iter()
                            .fold(RemainingPath::default(), |rest, link| ahead(model, rest, *link));
                    }
                }
            }
            Margin::Path(rests)
        }
    };
    Policy {
        check: deadline.check,
        margin,
        expired: deadline.expired,
        header: deadline.header,
        order: deadline.order,
        units: deadline.units,
        overflow: deadline.overflow,
        skew: deadline.skew_ns,
        signals: deadline.signals,
        hold_below_bps: deadline.hold_below.map_or(0, |rate| rate.bps()),
    }
}

/// Adds a link to the remaining path: propagation delay, and transmission at its mean rate.
fn ahead(model: &Model, rest: RemainingPath, link: usize) -> RemainingPath {
    let link = &model.links[link];
    let delay = match &link.delay {
        Delay::Constant(span) => *span,
        varying => Span::from_secs_f64(varying.mean_s()),
    };
    let per_byte_ns = link.rate.mean_bps().filter(|bps| *bps > 0.0).map_or(0.0, |bps| 8e9 / bps);
    RemainingPath { delay: rest.delay + delay, per_byte_ns: rest.per_byte_ns + per_byte_ns }
}
