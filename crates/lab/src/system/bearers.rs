//! Rows of GPRS bearers in the result tables of users, cells and timeslots, from the counters of each mobile.
//!
//! Columns without a meaning for a bearer stay empty: position, serving cell, C/I, round trip, voice, admission.

use super::tables::Rows;
use ::radio::cell::Cell;
use ::radio::cell::counts::{DirectionCounts, UserCounts};
use ::radio::tdma::BLOCKS_PER_SECOND;
use scenario::build::World;
use scenario::model::Model;
use scenario::model::radio::BearerKind;

fn some(x: u64) -> Option<f64> {
    Some(x as f64)
}

/// Block error rate: share of blocks with data or control that could not be decoded.
fn errors(c: &DirectionCounts) -> Option<f64> {
    let blocks = c.new + c.missing + c.idle;
    (blocks > 0).then(|| c.errors as f64 / blocks as f64)
}

/// Rows of users, cells and timeslots after a run of `seconds`.
pub(super) fn rows(model: &Model, world: &World, seconds: f64) -> [Rows; 3] {
    let mut all: [Rows; 3] = Default::default();
    let mut cells: Vec<(&str, usize)> = Vec::new();
    for (i, bearer) in model.bearers.iter().enumerate() {
        let BearerKind::Gprs(of) = &bearer.kind else { continue };
        let Some(counts) = crate::radio::counts(world, i) else { continue };
        all[0].push((bearer.name.clone(), user(&counts)));
        if !cells.iter().any(|(name, _)| *name == of.cell) {
            cells.push((&of.cell, i));
        }
    }
    for (name, bearer) in cells {
        let of_cell = |b: &usize| matches!(&model.bearers[*b].kind, BearerKind::Gprs(g) if g.cell == name);
        let mates: Vec<UserCounts> =
            (0..model.bearers.len()).filter(of_cell).filter_map(|b| crate::radio::counts(world, b)).collect();
        let Some(element) = world.network.element::<Cell>(world.bearers[bearer].0) else { continue };
        let slots = element.slots();
        let erlang = |blocks: u64| Some(blocks as f64 / (BLOCKS_PER_SECOND as f64 * seconds));
        let rate = |octets: u64| Some(8.0 * octets as f64 / seconds);
        let sum = |of: &dyn Fn(&UserCounts) -> u64| mates.iter().map(of).sum::<u64>();
        let octets = [sum(&|c| c.down.octets), sum(&|c| c.up.octets)];
        let lost = |of: &dyn Fn(&UserCounts) -> DirectionCounts| {
            let blocks = sum(&|c| of(c).new + of(c).missing + of(c).idle);
            (blocks > 0).then(|| sum(&|c| of(c).errors) as f64 / blocks as f64)
        };
        let mut values = vec![
            None,
            None,
            erlang(slots.down.iter().sum()),
            erlang(slots.up.iter().sum()),
            some(octets[0]),
            some(octets[1]),
            rate(octets[0]),
            rate(octets[1]),
            lost(&|c| c.down),
            lost(&|c| c.up),
            some(sum(&|c| c.changes)),
        ];
        values.resize(super::tables::cell_columns(), None);
        all[1].push((name.to_owned(), values));
        for (at, (down, up)) in slots.down.iter().zip(&slots.up).enumerate() {
            all[2].push((
                format!("{name}-slot-{at}"),
                vec![erlang(*down), erlang(*up), None, None, None, None],
            ));
        }
    }
    all
}

fn user(c: &UserCounts) -> Vec<Option<f64>> {
    vec![
        None,
        None,
        None,
        None,
        None,
        None,
        some(c.down.octets),
        some(c.up.octets),
        some(c.down.blocks()),
        some(c.up.blocks()),
        errors(&c.down),
        errors(&c.up),
        None,
        None,
        some(c.down.tbfs),
        some(c.up.tbfs),
        some(c.changes),
        some(c.down.full + c.down.expired),
        some(c.down.flushed),
    ]
}
