//! Load of a cell in addition to its mobiles: circuit-switched calls on timeslots (M/M/n loss system), and packet users
//! that share the timeslots (M/M/infinity).
//!
//! A call takes the highest free timeslot that is not reserved for packet data; without such a timeslot it is blocked.
//! Packet users spread evenly over the timeslots without a call; each sends one block in turn.

use super::Air;
use super::config::CellLoad;
use super::user::User;
use crate::crowd::Crowd;
use crate::tdma::Tick;
use base::rng::Seed;

/// State of the additional load.
pub(super) struct Load {
    calls: Crowd,
    /// By timeslot: end of the call.
    until: Vec<Tick>,
    reserved: usize,
    others: Crowd,
    /// Departure time of each packet user.
    stays: Vec<Tick>,
    /// By direction and timeslot: blocks of packet users since the last block of the cell's mobiles.
    turns: [Vec<u32>; 2],
}

impl Load {
    pub(super) fn new(config: &CellLoad, slots: usize, name: &str, seed: Seed) -> Load {
        let stream = |what: &str| seed.stream(name, what);
        let mut others = Crowd::new(config.users, config.user_stays, stream("load.users"));
        // The number of packet users starts at its mean.
        let stays = (0..config.users.round() as usize).map(|_| others.draw(others.stay)).collect();
        Load {
            calls: Crowd::new(config.calls, config.call_lasts, stream("load.calls")),
            until: vec![0; slots],
            reserved: usize::from(config.reserved).clamp(1, slots),
            others,
            stays,
            turns: [vec![0; slots], vec![0; slots]],
        }
    }

    /// Processes arrivals and departures up to tick `now`.
    pub(super) fn advance(&mut self, now: Tick) {
        while let Some((at, end)) = self.calls.arrival(now) {
            let free = self.until[self.reserved..].iter_mut().rev().find(|until| **until <= at);
            if let Some(until) = free {
                *until = end;
            }
        }
        while let Some((_, end)) = self.others.arrival(now) {
            self.stays.push(end);
        }
        self.stays.retain(|end| *end > now);
    }

    /// Number of timeslots, from the lowest, that calls cannot take.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// Whether a call occupies the timeslot.
    pub(super) fn calls_on(&self, slot: usize, now: Tick) -> bool {
        self.until[slot] > now
    }

    /// Whether the block of this tick is unavailable to the cell's mobiles: a call occupies the timeslot, or a packet user
    /// has its turn. A `control` block (report, or reserved by a poll) is available unless a call occupies the timeslot.
    pub(super) fn withholds(
        &mut self,
        air: &mut Air,
        users: &[User],
        (slot, up): (usize, bool),
        n: Tick,
        control: bool,
    ) -> bool {
        if self.calls_on(slot, n) {
            return true;
        }
        let wants = |u: &User| if up { u.up_priority(n) } else { u.down_priority(n, slot) }.is_some();
        let ring = if up { &air.up[slot].ring } else { &air.down[slot].ring };
        let wanted = !control && ring.members().any(|m| wants(&users[usize::from(m)]));
        if !control && self.takes(up, slot, n, wanted) {
            let slots = if up { &mut air.up } else { &mut air.down };
            slots[slot].used += 1;
            return true;
        }
        false
    }

    /// Whether a packet user takes the block of this tick on a timeslot without a call. If `wanted`, the cell's mobiles get
    /// a block after one block of each packet user on the timeslot.
    pub(super) fn takes(&mut self, up: bool, slot: usize, now: Tick, wanted: bool) -> bool {
        let free: Vec<usize> = (0..self.until.len()).filter(|s| self.until[*s] <= now).collect();
        let Some(place) = free.iter().position(|s| *s == slot) else { return false };
        let (n, slots) = (self.stays.len(), free.len());
        let here = (n / slots + usize::from(place < n % slots)) as u32;
        let turn = &mut self.turns[usize::from(up)][slot];
        if !wanted {
            *turn = 0;
            return here > 0;
        }
        if *turn < here {
            *turn += 1;
            return true;
        }
        *turn = 0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    fn load(calls: f64, users: f64) -> Load {
        let config = CellLoad {
            calls,
            call_lasts: Span::from_secs(90),
            reserved: 2,
            users,
            user_stays: Span::from_secs(20),
        };
        Load::new(&config, 8, "cell", Seed { seed: 4, repetition: 0 })
    }

    /// MO-11: the number of timeslots with calls follows Erlang's loss formula; reserved timeslots have no calls.
    #[test]
    fn mo_11_calls_follow_the_erlang_formula() {
        let mut load = load(3.0, 0.0);
        let (mut busy, mut reserved, ticks) = (0u64, 0u64, 20_000_000u32);
        for n in (0..ticks).step_by(50) {
            load.advance(n);
            busy += (2..8).filter(|s| load.calls_on(*s, n)).count() as u64;
            reserved += (0..2).filter(|s| load.calls_on(*s, n)).count() as u64;
        }
        // Erlang B for 3 Erlang on 6 timeslots: blocking probability 0.0522.
        let mean = busy as f64 / f64::from(ticks / 50);
        assert!((mean - 3.0 * (1.0 - 0.0522)).abs() < 0.06, "{mean}");
        assert_eq!(reserved, 0);
    }

    /// MO-11: the number of packet users varies about its mean; a mobile with k packet users on its timeslot gets
    /// one block in k + 1.
    #[test]
    fn mo_11_other_users_take_turns() {
        let mut load = load(0.0, 16.0);
        let (mut sum, mut ours, mut share) = (0u64, 0u64, 0.0);
        let ticks = 2_000_000u32;
        for n in 0..ticks {
            load.advance(n);
            sum += load.stays.len() as u64;
            let here = load.stays.len() / 8 + usize::from(!load.stays.len().is_multiple_of(8));
            share += 1.0 / (here as f64 + 1.0);
            ours += u64::from(!load.takes(false, 0, n, true));
        }
        let mean = sum as f64 / f64::from(ticks);
        assert!((mean - 16.0).abs() < 0.8, "{mean}");
        assert!((ours as f64 / share - 1.0).abs() < 0.01, "{ours} of {share}");
    }
}
