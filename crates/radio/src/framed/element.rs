//! Network element of a framed bearer (HSCSD, W-CDMA, cdma2000): periods, channel states, disconnections. Port 0 is the
//! downlink, port 1 the uplink.

use super::circuit::{self, Circuit};
use super::config::{Cause, ChannelState, FramedConfig};
use super::lane::Lane;
use crate::cell::counts::UserCounts;
use base::dist::Sampler;
use base::packet::Packet;
use base::rng::{Seed, Stream};
use base::{Rate, Span, Time};
use path::{Cx, Element, Port};

/// Network element of a framed bearer.
pub struct Framed {
    period: Span,
    cap: Option<Rate>,
    limits: Vec<(Time, [Rate; 2])>,
    circuit: Option<Circuit>,
    keep: bool,
    lanes: [Lane; 2],
    states: Vec<ChannelState>,
    lengths: Vec<Option<Sampler>>,
    choice: Stream,
    state: usize,
    leaves: Time,
    drops: Option<(Sampler, Sampler, Stream, [f64; 3])>,
    next_drop: Time,
    down_until: Time,
    lost: [u64; 3],
    changes: u64,
    /// Next period to be executed; `None` without activity.
    next: Option<u64>,
    done: u64,
}

/// Delay of a period's execution after its start, so that packets that arrive at the start take part in the period.
const AFTER: Span = Span::from_nanos(1);

impl Framed {
    /// A bearer in its initial state.
    pub fn new(config: &FramedConfig, seed: Seed) -> Self {
        let stream = |what: &str| seed.stream(&config.name, what);
        let lengths: Vec<Option<Sampler>> = config
            .states
            .iter()
            .map(|s| s.lasts.clone().map(|d| Sampler::new(d, stream(&format!("{}.lasts", s.name)))))
            .collect();
        let drops = config.disconnections.as_ref().map(|d| {
            let every = Sampler::new(d.every.clone(), stream("disconnection.every"));
            (
                every,
                Sampler::new(d.lasts.clone(), stream("disconnection.lasts")),
                stream("disconnection.cause"),
                d.causes,
            )
        });
        let mut framed = Framed {
            period: config.period,
            cap: config.cap,
            limits: config.limits.clone(),
            circuit: Circuit::new(
                config.timeslots.0,
                (config.timeslots.1, config.states[0].error),
                config.adaptation.as_ref(),
                config.contention.as_ref(),
                circuit::calls(&config.name, seed),
            ),
            keep: config.keep,
            lanes: [
                Lane::new(config, config.buffer[0], stream("down")),
                Lane::new(config, config.buffer[1], stream("up")),
            ],
            states: config.states.clone(),
            lengths,
            choice: stream("state"),
            state: 0,
            leaves: Time::NEVER,
            drops,
            next_drop: Time::NEVER,
            down_until: Time::ZERO,
            lost: [0; 3],
            changes: 0,
            next: None,
            done: 0,
        };
        framed.leaves = framed.length(Time::ZERO);
        if let Some((every, ..)) = &mut framed.drops {
            framed.next_drop = Time::ZERO + Span::from_nanos(every.draw_stationary() as u64);
        }
        framed
    }

    fn length(&mut self, from: Time) -> Time {
        let lasts = self.lengths.get_mut(self.state).and_then(Option::as_mut);
        lasts.map_or(Time::NEVER, |s| from + Span::from_nanos((s.draw() as u64).max(1_000_000)))
    }

    /// Advances channel states and circuit losses to `now`.
    fn weather(&mut self, now: Time) {
        while self.leaves <= now {
            if self.keep && self.lanes.iter().any(Lane::has_data) && self.state == 0 {
                self.leaves = now + self.period;
                return;
            }
            let at = self.leaves;
            let total: f64 = self.others().map(|(_, s)| s.weight).sum();
            let mut left = self.choice.uniform() * total;
            let mut chosen = self.state;
            for (i, s) in self.others() {
                chosen = i;
                if left < s.weight {
                    break;
                }
                left -= s.weight;
            }
            self.state = chosen;
            self.changes += 1;
            self.leaves = self.length(at);
        }
        while self.next_drop <= now {
            let Some((every, lasts, cause, weights)) = &mut self.drops else { return };
            let total: f64 = weights.iter().sum();
            let mut left = cause.uniform() * total;
            let which = weights.iter().position(|w| {
                left -= w;
                left < 0.0
            });
            self.lost[which.unwrap_or(0)] += 1;
            self.down_until = self.next_drop + Span::from_nanos(lasts.draw() as u64);
            self.next_drop = self.down_until + Span::from_nanos(every.draw() as u64);
            self.lanes.iter_mut().for_each(Lane::reset);
        }
    }

    fn others(&self) -> impl Iterator<Item = (usize, &ChannelState)> {
        let now = self.state;
        self.states.iter().enumerate().filter(move |(i, _)| *i != now)
    }

    fn start_of(&self, tick: u64) -> Time {
        Time::ZERO + self.period.times(tick)
    }

    /// Executes the periods that began before `now`.
    fn catch_up(&mut self, now: Time) {
        while let Some(n) = self.next.filter(|n| self.start_of(*n) < now) {
            let t = self.start_of(n);
            self.weather(t);
            self.done = n + 1;
            if t >= self.down_until {
                let state = &self.states[self.state];
                let limit = self.limits.partition_point(|(from, _)| *from <= t).checked_sub(1);
                let limit = limit.map(|i| self.limits[i].1);
                let present = self.circuit.as_mut().map(|c| c.at(n as u32));
                for (i, lane) in self.lanes.iter_mut().enumerate() {
                    let (mut rate, mut error) = (state.rate[i], state.error[i]);
                    if let Some(present) = present {
                        (rate, error) = (present[i].rate, present[i].error);
                        lane.code(present[i].coding);
                    }
                    let rate = self.cap.map_or(rate, |cap| cap.min(rate));
                    let rate = limit.map_or(rate, |limit| limit[i].min(rate));
                    lane.step(n as u32, t, self.period, rate, error);
                }
            }
            self.next = self.lanes.iter().any(Lane::is_busy).then_some(n + 1);
        }
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            for (packet, reason) in lane.drops.drain(..) {
                cx.drop(packet, reason);
            }
            while lane.out.front().is_some_and(|(t, _)| *t <= now) {
                let Some((_, packet)) = lane.out.pop_front() else { break };
                cx.count_hop();
                cx.forward(Port(i as u16), packet);
            }
        }
    }

    /// Counters in the format of a cell's mobile; `changes` is the number of circuit losses.
    pub fn counts(&self) -> UserCounts {
        let changes = self.lost.iter().sum();
        UserCounts { down: self.lanes[0].counts, up: self.lanes[1].counts, changes, ..UserCounts::default() }
    }
    /// Number of circuit losses by [`Cause`].
    pub fn disconnections(&self) -> [(Cause, u64); 3] {
        [(Cause::Handover, self.lost[0]), (Cause::AirInterface, self.lost[1]), (Cause::Remote, self.lost[2])]
    }
    /// Number of changes of the channel state.
    pub fn changes(&self) -> u64 {
        self.changes
    }
    /// HSCSD: number of changes of coding, and of changes of the timeslots.
    pub fn regradings(&self) -> [u64; 2] {
        self.circuit.as_ref().map_or([0; 2], |c| c.changes)
    }
}

impl Element for Framed {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        let now = cx.now();
        self.catch_up(now);
        self.weather(now);
        if let Some(lane) = self.lanes.get_mut(usize::from(port.0)) {
            lane.take(packet);
        }
        let tick = now.as_nanos().div_ceil(self.period.as_nanos().max(1)).max(self.done);
        self.next = Some(self.next.map_or(tick, |n| n.min(tick)));
        self.settle(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx.now());
        self.settle(cx);
    }

    fn next_wake(&self) -> Time {
        let tick = self.next.map_or(Time::NEVER, |n| self.start_of(n) + AFTER);
        let out = self.lanes.iter().filter_map(|l| l.out.front()).map(|(t, _)| *t).min();
        tick.min(out.unwrap_or(Time::NEVER))
    }

    fn holds(&self) -> usize {
        self.lanes.iter().map(Lane::holds).sum()
    }
}
