//! Radio metrics of a flow over GPRS, circuit, WCDMA and cdma2000 bearers: block and retransmission counters,
//! octets on the air, charges, circuit losses.

use crate::measure::FlowMeasures;
use ::radio::cell::Cell;
use ::radio::cell::counts::{DirectionCounts, UserCounts};
use ::radio::coding::Scheme;
use ::radio::framed::config::Cause;
use ::radio::framed::element::Framed;
use ::radio::llc::LlcMode;
use ::radio::pcu::Station;
use ::radio::tdma;
use scenario::build::World;
use scenario::metric::Metric;
use scenario::model::Model;
use scenario::model::radio::BearerKind;

/// Adds the radio metrics of each flow that runs over bearers. Counters belong to the mobile: flows that
/// share a mobile show equal numbers.
pub(crate) fn add(model: &Model, world: &World, all: &mut [FlowMeasures]) {
    if model.bearers.is_empty() {
        return;
    }
    for (flow, measures) in model.flows.iter().zip(all) {
        let of =
            |i: usize| flow.route.iter().chain(&flow.way_back).any(|l| model.links[*l].bearer == Some(i));
        let bearers: Vec<usize> = (0..model.bearers.len()).filter(|i| of(*i)).collect();
        let counts: Vec<UserCounts> = bearers.iter().filter_map(|i| counts(world, *i)).collect();
        if counts.is_empty() {
            continue;
        }
        // Bearers do not count how long packets wait in the SGSN, in RLC and in the terminal: a sum over the other
        // links would pass for the whole.
        measures.set(Metric::QueueDelay, None);
        let paid: Vec<(&BearerKind, &UserCounts)> =
            bearers.iter().map(|i| &model.bearers[*i].kind).zip(&counts).collect();
        let lost: Vec<[(Cause, u64); 3]> = bearers
            .iter()
            .filter_map(|i| world.network.element::<Framed>(world.bearers.get(*i)?.0))
            .map(Framed::disconnections)
            .collect();
        let real = |i: &usize| matches!(&model.bearers[*i].kind, BearerKind::Gprs(of) if of.pcu.is_some());
        let unknown = bearers.iter().any(real);
        let acknowledged = |i: &usize| matches!(&model.bearers[*i].kind, BearerKind::Gprs(of) if of.user.llc.mode == LlcMode::Acknowledged);
        let repeats = bearers.iter().any(acknowledged);
        for (metric, value) in Metric::ALL.iter().zip(&mut measures.values) {
            if unknown && is_inside_the_pcu(*metric, repeats) {
                continue;
            }
            let number = number(*metric, &counts)
                .or_else(|| bill(*metric, &paid))
                .or_else(|| disconnections(*metric, &lost));
            if number.is_some() {
                *value = number;
            }
        }
    }
}

/// Metrics that a real PCU does not report, or that its bearer does not have: its send window, the time to
/// repair a block, the coding scheme of each block, gaps of LLC, deletion at changes of cell; repeats of LLC if it is
/// not `acknowledged`.
fn is_inside_the_pcu(metric: Metric, acknowledged: bool) -> bool {
    use Metric::*;
    if matches!(metric, LlcDuplicates | LlcRepeated | LlcRepeatedOctets) {
        return !acknowledged;
    }
    matches!(
        metric,
        RlcStalls
            | RlcStalled
            | RlcRepair
            | RadioOctets
            | RadioOctetsUnbilled
            | BillGateway
            | BillRadio
            | BillSurcharges
            | LlcGap
            | PacketsFlushed
    )
}

/// Counters of the mobile of a bearer.
pub(crate) fn counts(world: &World, bearer: usize) -> Option<UserCounts> {
    let (id, user) = *world.bearers.get(bearer)?;
    match world.network.element::<Cell>(id) {
        Some(cell) => cell.counts(user),
        None if world.network.element::<Station>(id).is_some() => {
            world.network.element::<Station>(id)?.user_counts(user)
        }
        None => world.network.element::<Framed>(id).map(Framed::counts),
    }
}

/// Octets in radio blocks of a direction: new data, retransmitted data, and all other blocks, which are CS-1.
fn octets(scheme: Scheme, up: bool, counts: &DirectionCounts) -> [u64; 3] {
    let block = u64::from(scheme.properties().octets[usize::from(up)]);
    let control = u64::from(Scheme::Cs1.properties().octets[usize::from(up)]);
    [counts.new * block, (counts.missing + counts.idle) * block, (counts.dummy + counts.control) * control]
}

/// Octets on the air of a bearer, in the order of [`octets`]. Link adaptation is off, so that all blocks have
/// one coding scheme.
fn on_air(kind: &BearerKind, counts: &UserCounts) -> [u64; 3] {
    let (down, up) = match kind {
        BearerKind::Gprs(of) => {
            (octets(of.user.down.scheme, false, &counts.down), octets(of.user.up.scheme, true, &counts.up))
        }
        BearerKind::Framed(of) => {
            let frames =
                |c: &DirectionCounts| [c.new, c.missing + c.idle, 0].map(|n| n * u64::from(of.octets));
            (frames(&counts.down), frames(&counts.up))
        }
    };
    [0, 1, 2].map(|i: usize| down[i] + up[i])
}

/// Cost metrics of bearers: total cost, and the part that volume charging omits.
fn bill(metric: Metric, all: &[(&BearerKind, &UserCounts)]) -> Option<f64> {
    let air = |from: usize| -> f64 {
        let of =
            |(kind, counts): &(&BearerKind, &UserCounts)| on_air(kind, counts)[from..].iter().sum::<u64>();
        all.iter().map(of).sum::<u64>() as f64
    };
    let at = match metric {
        Metric::RadioOctets => return Some(air(0)),
        Metric::RadioOctetsUnbilled => return Some(air(1)),
        Metric::BillGateway => 0,
        Metric::BillRadio => 1,
        Metric::BillSurcharges => 2,
        _ => return None,
    };
    let priced = all.iter().filter_map(|(kind, counts)| match kind {
        BearerKind::Gprs(of) => of.tariff.map(|tariff| (tariff, *kind, *counts)),
        BearerKind::Framed(_) => None,
    });
    let bills: Vec<[f64; 3]> = priced
        .map(|(tariff, kind, c)| {
            // The gateway counts downlink octets before the SGSN, and uplink octets that have arrived.
            let gateway = c.down.offered + c.up.octets;
            let delivered = c.down.octets + c.up.octets;
            let repeated = on_air(kind, c)[1];
            let surcharges = tariff.repeated_kilobyte * repeated as f64 / 1000.0
                + tariff.reselection * c.changes as f64
                + tariff.allocation * (c.down.tbfs + c.up.tbfs) as f64;
            let by = |octets: u64| tariff.kilobyte * octets as f64 / 1000.0;
            [by(gateway), by(delivered) + surcharges, surcharges]
        })
        .collect();
    (!bills.is_empty()).then(|| bills.iter().map(|b| b[at]).sum())
}

/// Circuit disconnections by cause.
fn disconnections(metric: Metric, all: &[[(Cause, u64); 3]]) -> Option<f64> {
    let cause = match metric {
        Metric::DisconnectionsHandover => Cause::Handover,
        Metric::DisconnectionsAir => Cause::AirInterface,
        Metric::DisconnectionsRemote => Cause::Remote,
        _ => return None,
    };
    let of = |lost: &[(Cause, u64); 3]| lost.iter().filter(|(c, _)| *c == cause).map(|(_, n)| n).sum::<u64>();
    (!all.is_empty()).then(|| all.iter().map(of).sum::<u64>() as f64)
}

fn number(metric: Metric, all: &[UserCounts]) -> Option<f64> {
    let sum = |of: &dyn Fn(&UserCounts) -> u64| all.iter().map(of).sum::<u64>() as f64;
    let period = tdma::BLOCK.as_secs_f64();
    let longest = |of: &dyn Fn(&UserCounts) -> u64| all.iter().map(of).max().unwrap_or(0) as f64;
    Some(match metric {
        Metric::RadioBlocks => sum(&|c| c.down.blocks() + c.up.blocks()),
        Metric::RadioBlocksRepeated => sum(&|c| c.down.missing + c.down.idle + c.up.missing + c.up.idle),
        Metric::RadioBlocksIdle => sum(&|c| c.down.idle + c.up.idle),
        Metric::RadioBlocksDuplicate => sum(&|c| c.down.duplicates + c.up.duplicates),
        Metric::RadioBlocksDummy => sum(&|c| c.down.dummy + c.up.dummy),
        Metric::RadioDecodedForNothing => sum(&|c| c.decoded_for_nothing),
        Metric::RadioSignalling => sum(&|c| c.signalling()),
        Metric::TbfSetups => sum(&|c| c.down.tbfs + c.up.tbfs),
        Metric::TbfsLost => sum(&|c| c.down.lost_tbfs + c.up.lost_tbfs),
        Metric::RlcReports => sum(&|c| c.down.reports + c.up.reports),
        Metric::RlcStalls => sum(&|c| c.down.stalls + c.up.stalls),
        Metric::RlcStalled => sum(&|c| c.down.stalled_ticks + c.up.stalled_ticks) * period,
        Metric::RlcRepair => {
            let repaired = sum(&|c| c.down.repaired + c.up.repaired);
            return (repaired > 0.0).then(|| sum(&|c| c.down.repair + c.up.repair) * period / repaired);
        }
        Metric::RadioSlotTime => sum(&|c| c.down.assigned + c.up.assigned) * period,
        Metric::RadioBlocksPerKilobyte => {
            let octets = sum(&|c| c.down.octets + c.up.octets);
            return (octets > 0.0).then(|| 1000.0 * sum(&|c| c.down.blocks() + c.up.blocks()) / octets);
        }
        Metric::LlcDuplicates => sum(&|c| c.down.twice + c.up.twice),
        Metric::LlcRepeated => sum(&|c| c.down.repeated + c.up.repeated),
        Metric::LlcRepeatedOctets => sum(&|c| c.down.repeated_octets + c.up.repeated_octets),
        Metric::PacketsFlushed => sum(&|c| c.down.flushed + c.up.flushed),
        Metric::CellChanges => sum(&|c| c.changes),
        Metric::VoiceCalls => sum(&|c| c.calls),
        Metric::RestartsPcu => sum(&|c| c.restarts[0]),
        Metric::RestartsBsc => sum(&|c| c.restarts[1]),
        Metric::RestartsSgsn => sum(&|c| c.restarts[2]),
        Metric::RestartTime => sum(&|c| c.restart_time) / 1e9,
        Metric::PacketsLostInRestarts => sum(&|c| c.down.restarted + c.up.restarted),
        Metric::LlcGap => longest(&|c| c.down.gap.max(c.up.gap)) / 1e9,
        _ => return None,
    })
}
