//! RLC/MAC blocks of a GSMTAP capture as lower-layer events: TBFs, runs of repeated blocks, pauses, reports,
//! assignments.
//!
//! Only the radio interface is known: a block whose number is not ahead of earlier numbers of its TBF is a
//! retransmission. A TBF is identified by direction and TFI (3GPP TS 44.060); it ends after [`OVER`] without a block.

use ::radio::rlc::Numbering;
use ::radio::wire::assignment::{self, Addressee, Assignment};
use ::radio::wire::block;
pub use ::radio::wire::gsmtap::PORT;
use ::radio::wire::gsmtap::{self, Payload};
use ::radio::wire::message::{self, AckNack, Message};
use report::{Layer, LayerEvent};
use std::collections::BTreeMap;

/// Time without blocks after which a TBF counts as released, s: T3192 is at most 1.5 s.
const OVER: f64 = 1.5;
/// Least gap between data blocks that is drawn as a pause, s: a report with its repetitions takes less.
const PAUSE: f64 = 0.5;
/// Largest gap between repeated blocks of one run, s.
const RUN: f64 = 0.2;
/// Upper limit of drawn blocks.
const MOST: usize = 100_000;

/// Open TBF.
struct Tbf {
    from: f64,
    last: f64,
    blocks: u32,
    repeats: u32,
    slots: u8,
    /// One past the highest block sequence number so far, unwrapped.
    next: u32,
    space: u32,
}

/// Run of repeated blocks.
#[derive(Clone, Copy)]
struct Run {
    from: f64,
    last: f64,
    blocks: u32,
}

/// TBFs, runs and events of one direction.
#[derive(Default)]
struct LayerDirection {
    tbfs: BTreeMap<u8, Tbf>,
    run: Option<Run>,
    /// Time of the last data block.
    data: Option<f64>,
    events: Vec<LayerEvent>,
    blocks: Vec<LayerEvent>,
}

/// Collector of the blocks of a capture.
#[derive(Default)]
pub struct Blocks {
    directions: [LayerDirection; 2],
    control: Vec<LayerEvent>,
    seen: u64,
}

const WAYS: [&str; 2] = ["down", "up"];

fn event(t: f64, name: &str, detail: String) -> LayerEvent {
    LayerEvent { t, event: name.to_owned(), detail, ..LayerEvent::default() }
}

impl Tbf {
    /// Unwrapped block sequence number, and whether the block is repeated.
    fn place(&mut self, wire: u32) -> (u32, bool) {
        let ahead = wire.wrapping_sub(self.next) & (self.space - 1);
        if ahead < self.space / 2 {
            let number = self.next + ahead;
            self.next = number + 1;
            return (number, false);
        }
        (self.next.saturating_sub(self.space - ahead), true)
    }
}

impl LayerDirection {
    fn data(&mut self, t: f64, tfi: u8, slot: u8, numbers: &[u32], space: u32) {
        if let Some(before) = self.data.replace(t).filter(|before| t - before >= PAUSE) {
            let pause = event(before, "no data block", format!("{:.2} s", t - before));
            self.events.push(LayerEvent { until: Some(t), ..pause });
        }
        if self.tbfs.get(&tfi).is_some_and(|tbf| t - tbf.last > OVER || tbf.space != space) {
            self.end(tfi);
        }
        let tbf = self.tbfs.entry(tfi).or_insert(Tbf {
            from: t,
            last: t,
            blocks: 0,
            repeats: 0,
            slots: 0,
            next: 0,
            space,
        });
        tbf.last = t;
        tbf.slots |= 1 << (slot & 7);
        for wire in numbers {
            let (number, again) = tbf.place(*wire);
            tbf.blocks += 1;
            tbf.repeats += u32::from(again);
            if again {
                self.run = Some(match self.run.filter(|run| t - run.last <= RUN) {
                    Some(run) => Run { last: t, blocks: run.blocks + 1, ..run },
                    None => {
                        close(self.run.take(), &mut self.events);
                        Run { from: t, last: t, blocks: 1 }
                    }
                });
            }
            if self.blocks.len() < MOST {
                let name = if again { "repeat" } else { "block" };
                let drawn = event(t, name, format!("TFI {tfi}, timeslot {slot}"));
                self.blocks.push(LayerEvent { number: Some(f64::from(number)), ..drawn });
            }
        }
    }

    fn end(&mut self, tfi: u8) {
        let Some(tbf) = self.tbfs.remove(&tfi) else { return };
        let slots: Vec<String> =
            (0..8).filter(|s| tbf.slots >> s & 1 == 1).map(|s: u8| s.to_string()).collect();
        let detail = format!(
            "TFI {tfi}, timeslots {}: {} blocks, {} of them retransmissions",
            slots.join(" "),
            tbf.blocks,
            tbf.repeats
        );
        self.events.push(LayerEvent { until: Some(tbf.last), ..event(tbf.from, "TBF", detail) });
    }

    fn finish(&mut self) {
        let all: Vec<u8> = self.tbfs.keys().copied().collect();
        all.into_iter().for_each(|tfi| self.end(tfi));
        close(self.run.take(), &mut self.events);
        self.events.sort_by(|a, b| a.t.total_cmp(&b.t));
    }
}

/// Ends a run of repeated blocks: adds its event.
fn close(run: Option<Run>, events: &mut Vec<LayerEvent>) {
    if let Some(run) = run {
        let repeats = event(run.from, "repeats", format!("{} blocks", run.blocks));
        events.push(LayerEvent { until: Some(run.last), ..repeats });
    }
}

impl Blocks {
    /// Processes a GSMTAP datagram captured at `t` (s). Contents other than RLC/MAC blocks are ignored.
    pub fn take(&mut self, t: f64, datagram: &[u8]) {
        let Some((Payload::Block { up, slot, .. }, octets)) = gsmtap::read(datagram) else { return };
        let direction = &mut self.directions[usize::from(up)];
        if let Some(read) = block::read_gprs(up, octets) {
            self.seen += 1;
            let space = Numbering::GPRS.space;
            direction.data(t, read.header.tfi, slot, &[read.bsn], space);
            if read.header.stalled {
                direction.events.push(event(t, "window stalled", format!("TFI {}", read.header.tfi)));
            }
        } else if octets.len() == message::OCTETS && octets.first().is_some_and(|o| o >> 6 != 0) {
            self.seen += 1;
            self.message(t, up, octets);
        } else if let Some((header, units)) = block::read_egprs(up, octets) {
            self.seen += 1;
            let numbers: Vec<u32> = units.iter().map(|u| u.bsn).collect();
            direction.data(t, header.tfi, slot, &numbers, Numbering::egprs(64).space);
        }
    }

    fn message(&mut self, t: f64, up: bool, octets: &[u8]) {
        let report = |ack: &AckNack| {
            let missing = ack.received.count_zeros();
            let text = format!("TFI {}: {missing} blocks missing before {}", ack.tfi, ack.ssn);
            (missing > 0).then(|| event(t, "report of missing blocks", text))
        };
        if up {
            if let Some(Message::DownlinkAck(ack, wants)) = message::read_up(octets) {
                self.control.extend(report(&ack));
                if let Some(octets) = wants {
                    let text = format!("{octets} octets, in the report of TFI {}", ack.tfi);
                    self.control.push(event(t, "uplink requested", text));
                }
            }
            return;
        }
        if let Some((_, _, Message::UplinkAck(ack, ..))) = message::read_down(octets) {
            self.control.extend(report(&ack));
            return;
        }
        let to = |to: Addressee| match to {
            Addressee::Uplink(tfi) => format!("uplink TFI {tfi}"),
            Addressee::Downlink(tfi) => format!("downlink TFI {tfi}"),
            Addressee::Tlli(tlli) => format!("TLLI {tlli:08x}"),
        };
        match assignment::read_packet(octets) {
            Some(Assignment::Downlink { to: whose, .. }) => {
                self.control.push(event(t, "downlink assigned", format!("to {}", to(whose))));
            }
            Some(Assignment::Uplink { to: whose, .. }) => {
                self.control.push(event(t, "uplink assigned", format!("to {}", to(whose))));
            }
            _ => {}
        }
    }

    /// Number of RLC/MAC blocks read.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Tracks of events: one for each direction, one for control messages. `drawn`: also tracks with each data block
    /// and its number.
    pub fn layers(mut self, drawn: bool) -> Vec<Layer> {
        let mut all = Vec::new();
        for (direction, name) in self.directions.iter_mut().zip(WAYS) {
            direction.finish();
            all.push(Layer { name: format!("RLC {name}"), events: std::mem::take(&mut direction.events) });
            if drawn {
                let events = std::mem::take(&mut direction.blocks);
                all.push(Layer { name: format!("RLC blocks {name}"), events });
            }
        }
        all.push(Layer { name: "RLC/MAC control".to_owned(), events: self.control });
        all.retain(|layer| !layer.events.is_empty());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::radio::coding::Scheme;
    use ::radio::rlc::receive::BlockPart;
    use ::radio::wire::block::{Header, Piece, Unit};
    use proptest::prelude::*;

    fn data(up: bool, tfi: u8, bsn: u32) -> Vec<u8> {
        let octets = [7; 20];
        let unit = Unit {
            bsn: bsn % 128,
            part: BlockPart::Whole,
            first_scheme: Scheme::Cs1,
            attempt: 0,
            flag: false,
            tlli: None,
            zero: false,
            pieces: &[Piece { octets: &octets, ends: false }],
        };
        let header = if up { Header::up(tfi, 15) } else { Header::down(tfi) };
        let octets = block::gprs(Scheme::Cs1, &header, &unit);
        gsmtap::wrap(Payload::Block { up, slot: 7, frame: 0, control: false }, &octets)
    }

    /// TA-06: blocks make TBFs, repeats and pauses, each with its time, and are drawn with their numbers.
    #[test]
    fn ta_06_blocks_of_a_capture_are_events() {
        let mut blocks = Blocks::default();
        let mut t = 0.0;
        for bsn in (0..200).chain([150, 160]).chain(200..210) {
            blocks.take(t, &data(false, 3, bsn));
            t += 0.02;
        }
        let ack = AckNack { tfi: 3, last: false, ssn: 5, received: !0b100 };
        let report = message::downlink_ack(&ack, Some(80));
        blocks.take(t, &gsmtap::wrap(Payload::Block { up: true, slot: 7, frame: 0, control: true }, &report));
        blocks.take(t + 4.0, &data(false, 3, 0));
        assert_eq!(blocks.seen(), 214);
        let layers = blocks.layers(true);
        let told: Vec<(&str, &str, String)> = layers
            .iter()
            .filter(|l| !l.name.contains("blocks"))
            .flat_map(|l| l.events.iter().map(|e| (l.name.as_str(), e.event.as_str(), e.detail.clone())))
            .collect();
        let expected = [
            ("RLC down", "TBF", "TFI 3, timeslots 7: 212 blocks, 2 of them retransmissions"),
            ("RLC down", "repeats", "2 blocks"),
            ("RLC down", "no data block", "4.02 s"),
            ("RLC down", "TBF", "TFI 3, timeslots 7: 1 blocks, 0 of them retransmissions"),
            ("RLC/MAC control", "report of missing blocks", "TFI 3: 1 blocks missing before 5"),
            ("RLC/MAC control", "uplink requested", "80 octets, in the report of TFI 3"),
        ];
        assert_eq!(told, expected.map(|(layer, name, detail)| (layer, name, detail.to_owned())));
        let drawn = layers.iter().find(|l| l.name == "RLC blocks down").expect("blocks are drawn");
        assert_eq!(drawn.events[200].number, Some(150.0));
        assert_eq!(drawn.events[211].number, Some(209.0));
    }

    proptest! {
        #[test]
        fn any_datagrams_are_taken(all in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..80), any::<bool>(), any::<bool>()), 0..40)
        ) {
            let mut blocks = Blocks::default();
            for (i, (octets, up, whole)) in all.into_iter().enumerate() {
                let payload = Payload::Block { up, slot: 0, frame: 0, control: false };
                let datagram = if whole { gsmtap::wrap(payload, &octets) } else { octets };
                blocks.take(i as f64, &datagram);
            }
            let _ = blocks.layers(true);
        }
    }
}
