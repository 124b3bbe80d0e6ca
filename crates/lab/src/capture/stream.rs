//! Packet capture written to disk while the repetition runs, so that memory holds packets in flight only; in two
//! passes where the run for the results cannot write it ([`super::one_pass`]).
//!
//! The first pass collects facts about the future that packet comments and headers need: the ledgers' verdicts, and the
//! largest window of each end, which fixes its window scale. The run for the results can be that pass ([`Foresight`]).
//! The second pass writes each packet once its end is known
//! ([decision 0058](../../../docs/adr/0058-captures-streamed.md)).

use super::collector::Collector;
use super::foresight::{self, Foresight, Verdicts};
use super::{EPOCH_S, Format, snapped};
use crate::once::{Running, run_in_parts};
use ::capture::segment::End;
use ::capture::{PcapngWriter, Prepared, Tap};
use base::Time;
use base::event::{Category, Record};
use base::trace::{Sighting, Tracer};
use base::truth::Ledger;
use path::Network;
use scenario::Model;
use scenario::build::World;
use std::io::{self, Write};

/// Number of records and sightings per batch.
const PART: usize = 1 << 14;

/// Event categories that files need: from transport events a capture needs only data transmissions, which category
/// `Packets` contains.
pub(super) const RECORDED: [Category; 2] = [Category::Path, Category::Packets];

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
    let mut second = Running::new(model, repetition, Tracer::of(&RECORDED), None);
    let verdicts = Verdicts::Known(known.verdicts);
    let mut files = Files::open(model, second.world(), ends, verdicts, snap, application, open)?;
    run_in_parts(&mut second, &mut is_part, &mut |world| {
        files.take(world);
        files.write(Some(world.network.now()), world.network.ledgers())
    })?;
    files.write(None, second.world().network.ledgers())?;
    let (count, whole) = (files.writers.len(), files.whole);
    files.writers.into_iter().try_for_each(|writer| writer.finish().map(drop))?;
    Ok(if whole { Streamed::Whole(count) } else { Streamed::AtEnd })
}

/// Whether a network has recorded a batch.
pub(super) fn is_part(network: &Network) -> bool {
    network.records().len() + network.sightings().len() >= PART
}

/// Files of a capture while its repetition runs: one for each host tap, then one of all taps.
pub(super) struct Files<'m, W: Write> {
    pub(super) collector: Collector<'m, 'static>,
    pub(super) writers: Vec<PcapngWriter<W>>,
    /// Number of host taps.
    hosts: usize,
    /// Snap length, bytes; 0 keeps whole packets.
    snap: u32,
    /// Addresses, ports and options of both ends of each flow.
    pub(super) ends: Vec<[End; 2]>,
    /// Names of the elements.
    names: Vec<String>,
    pub(super) verdicts: Verdicts,
    /// Whether no event named a packet that was already written.
    pub(super) whole: bool,
    records: Vec<Record>,
    sightings: Vec<Sighting>,
}

impl<'m, W: Write> Files<'m, W> {
    /// Files without packets, which `open` creates.
    pub(super) fn open(
        model: &'m Model,
        world: &World,
        ends: Vec<[End; 2]>,
        verdicts: Verdicts,
        snap: u32,
        application: &str,
        open: &mut dyn FnMut(Option<&Tap>) -> io::Result<W>,
    ) -> io::Result<Self> {
        let collector = Collector::new(model, world, None);
        let (taps, hosts) = collector.taps();
        let mut writers = Vec::new();
        for only in (0..hosts).map(Some).chain([None]) {
            let out = open(only.and_then(|at| taps.get(at)))?;
            writers.push(PcapngWriter::new(out, snapped(&taps, only, snap), application)?);
        }
        let names = world.names.clone();
        let (records, sightings) = (Vec::new(), Vec::new());
        Ok(Files { collector, writers, hosts, snap, ends, names, verdicts, whole: true, records, sightings })
    }

    /// Takes the records of a batch.
    pub(super) fn take(&mut self, world: &mut World) {
        let place = world.network.tracer().drain(&mut self.records, &mut self.sightings);
        self.collector.part(place, &self.records, &self.sightings);
    }

    /// Writes the packets before `now` (or all) whose end is known.
    pub(super) fn write(&mut self, now: Option<Time>, ledgers: &[Ledger]) -> io::Result<()> {
        let (writers, verdicts, hosts, snap) = (&mut self.writers, &mut self.verdicts, self.hosts, self.snap);
        let mut format = Format::new(&self.ends, &self.names, None, snap);
        let mut judge = |ledger, number| verdicts.give(ledgers, ledger, number);
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
        self.whole &= self.collector.give_out(now, &mut judge, &mut give)?;
        Ok(())
    }
}
