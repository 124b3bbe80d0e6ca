//! Radio metrics of a flow: the counters of the mobiles on whose bearers it runs.

use crate::measure::FlowMeasures;
use ::radio::cell::Cell;
use ::radio::cell::counts::UserCounts;
use ::radio::framed::element::Framed;
use ::radio::tdma;
use scenario::build::World;
use scenario::metric::Metric;
use scenario::model::Model;

/// Adds the radio metrics of each flow that runs over bearers. Counters are the mobile's: flows that share one show
/// the same numbers.
pub(crate) fn add(model: &Model, world: &World, all: &mut [FlowMeasures]) {
    if model.bearers.is_empty() {
        return;
    }
    for (flow, measures) in model.flows.iter().zip(all) {
        let of =
            |i: usize| flow.route.iter().chain(&flow.way_back).any(|l| model.links[*l].bearer == Some(i));
        let counts: Vec<UserCounts> =
            (0..model.bearers.len()).filter(|i| of(*i)).filter_map(|i| counts(world, i)).collect();
        if counts.is_empty() {
            continue;
        }
        for (metric, value) in Metric::ALL.iter().zip(&mut measures.values) {
            if let Some(number) = number(*metric, &counts) {
                *value = Some(number);
            }
        }
    }
}

/// The counters of a bearer's mobile.
fn counts(world: &World, bearer: usize) -> Option<UserCounts> {
    let (id, user) = *world.bearers.get(bearer)?;
    match world.network.element::<Cell>(id) {
        Some(cell) => cell.counts(user),
        None => world.network.element::<Framed>(id).map(Framed::counts),
    }
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
        Metric::LlcGap => longest(&|c| c.down.gap.max(c.up.gap)) / 1e9,
        _ => return None,
    })
}
