//! Packet capture written to disk while the repetition runs, in two passes, so that memory holds packets in
//! flight only.
//!
//! The repetition runs twice. The first pass collects facts about the future that packet comments and headers
//! need: the ledgers' verdicts, and the largest window of each end, which fixes its window scale. The run for the
//! results can be that pass ([`Foresight`]). The second pass writes each packet once its end is known, so that memory
//! holds packets in flight only ([decision 0058](../../../docs/adr/0058-captures-streamed.md)).

use super::collector::Collector;
use super::foresight::{self, Foresight};
use super::{EPOCH_S, Format, snapped};
use crate::once::{Running, run_in_parts};
use ::capture::{PcapngWriter, Prepared, Tap};
use base::event::Category;
use base::trace::Tracer;
use path::Network;
use scenario::Model;
use std::io::{self, Write};

/// Number of records and sightings per batch.
const PART: usize = 1 << 14;

/// Result of [`stream`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streamed {
    /// Number of complete files.
    Whole(usize),
    /// No file is valid: the network kept a copy of a packet after its end, or a GPRS cell has radio taps,
    /// which are joined with packets at the end. [`super::capture`] keeps all packets until the end.
    AtEnd,
}

/// Runs a repetition and writes its captures: one for each host tap, then one of all taps. `open` creates the
/// file of a host, or of all taps. `snap` is the snap length in bytes; 0 keeps whole packets. `known` is the foresight
/// of the same repetition, which saves the first pass.
///
/// # Errors
/// Errors of `open` and of the files.
pub fn stream<W: Write>(
    model: &Model,
    repetition: u64,
    snap: u32,
    application: &str,
    known: Option<Foresight>,
    open: &mut dyn FnMut(Option<&Tap>) -> io::Result<W>,
) -> io::Result<Streamed> {
    if !foresight::streams(model) {
        return Ok(Streamed::AtEnd);
    }
    let known = match known {
        Some(known) => known,
        None => {
            let mut first = Running::new(model, repetition, Tracer::of_windows(), None);
            run_in_parts::<io::Error>(&mut first, &mut |_| false, &mut |_| Ok(()))?;
            Foresight::of(first.world())
        }
    };
    let ends = known.windows.ends(model);
    // From transport events a capture needs only data transmissions, which category `Packets` contains.
    let categories = [Category::Path, Category::Packets];
    let mut second = Running::new(model, repetition, Tracer::of(&categories), None);
    let mut collector = Collector::new(model, second.world(), None, known.verdicts);
    let names = second.world().names.clone();
    let (taps, hosts) = collector.taps();
    let taps = &taps;
    let mut writers = Vec::new();
    for only in (0..hosts).map(Some).chain([None]) {
        let out = open(only.and_then(|at| taps.get(at)))?;
        writers.push(PcapngWriter::new(out, snapped(taps, only, snap), application)?);
    }
    let mut format = Format::new(&ends, &names, None, snap);
    let mut give = |glimpse: &super::Glimpse<'_>,
                    sent: &mut super::Sent<'_>,
                    spare: &mut Vec<Prepared>|
     -> io::Result<()> {
        let block = format.block(glimpse, sent, snap, spare);
        let time_ns = EPOCH_S * 1_000_000_000 + glimpse.t.as_nanos();
        if (glimpse.tap as usize) < hosts {
            writers[glimpse.tap as usize].write_prepared(time_ns, 0, block)?;
        }
        writers[hosts].write_prepared(time_ns, glimpse.tap, block)
    };
    let mut full = |network: &Network| network.records().len() + network.sightings().len() >= PART;
    let (mut records, mut sightings) = (Vec::new(), Vec::new());
    let mut whole = true;
    run_in_parts(&mut second, &mut full, &mut |world| {
        let place = world.network.tracer().drain(&mut records, &mut sightings);
        collector.part(place, &records, &sightings);
        whole &= collector.give_out(Some(world.network.now()), &mut give)?;
        Ok::<(), io::Error>(())
    })?;
    whole &= collector.give_out(None, &mut give)?;
    let files = writers.len();
    writers.into_iter().try_for_each(|writer| writer.finish().map(drop))?;
    Ok(if whole { Streamed::Whole(files) } else { Streamed::AtEnd })
}
