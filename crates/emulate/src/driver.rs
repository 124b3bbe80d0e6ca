//! Who owns the clock when time is real? One thread that reads, models and writes. It stamps what it reads,
//! lets the network run up to the present, writes what has become due, and sleeps until the next thing is.
//!
//! Nothing leaves early: a packet is written only when the present is past its due time. Nothing drifts: due
//! times are made of arrival stamps and of the model, never of the moment at which the driver got round to it.

use crate::capture::Capture;
use crate::clock::Clock;
use crate::lateness::Timing;
use crate::sys::{self, Waiting};
use base::{Span, Time};
use host::Door;
use path::{ElementId, Network};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// A door and the device behind it.
#[derive(Debug)]
pub struct Gateway {
    /// The element.
    pub door: ElementId,
    /// Its device, non-blocking.
    pub device: File,
}

/// A network and its clock.
pub struct Driver {
    /// The network, started.
    pub network: Network,
    /// How exact it was so far.
    pub timing: Timing,
    /// Where packets are kept, if they are; its doors in the order of the gateways.
    pub capture: Option<Capture>,
    clock: Clock,
    gateways: Vec<Gateway>,
    timer: OwnedFd,
    waiting: Waiting,
    /// The last look at each device.
    looked: Vec<Time>,
    buffer: Vec<u8>,
    spin: Span,
    /// Spun in the present second, and which second that is.
    spun: (u64, Span),
    /// Until when it spins, if it does.
    spinning: Time,
    /// Packets that had left the network when the doors were last emptied.
    absorbed: u64,
}

/// Packets read from one device before the others have their turn.
const DRAIN: usize = 32;
/// Larger than any IP packet.
const BUFFER: usize = 1 << 17;
/// The longest sleep: somebody may want the driver to stop.
const NAP: Span = Span::from_millis(20);
/// Of each second at most so much is spun. Above 95 % the kernel stops a real-time thread for the rest of
/// the second; well below, others still run.
const SPIN_BUDGET: Span = Span::from_millis(500);

impl Driver {
    /// A driver at the origin of `clock`; `spin` as in [`crate::Options`].
    ///
    /// # Errors
    /// The kernel gives no timer.
    pub fn new(network: Network, gateways: Vec<Gateway>, clock: Clock, spin: Span) -> io::Result<Driver> {
        let timer = sys::timer()?;
        let fds = gateways.iter().map(|g| g.device.as_raw_fd()).chain([timer.as_raw_fd()]);
        Ok(Driver {
            waiting: Waiting::new(fds),
            network,
            timing: Timing::default(),
            capture: None,
            clock,
            looked: vec![Time::ZERO; gateways.len()],
            gateways,
            timer,
            buffer: vec![0; BUFFER],
            spin,
            spun: (0, Span::ZERO),
            spinning: Time::NEVER,
            absorbed: 0,
        })
    }

    /// Makes the calling thread fit for this: real-time priority if `wanted` and allowed, no timer slack; then
    /// it gives up what rights it has.
    pub fn settle_in(&mut self, wanted: bool) {
        sys::punctual();
        self.timing.realtime = wanted && sys::real_time().is_ok();
        if !self.timing.realtime {
            // Under fair scheduling whoever spins is preempted just when it matters.
            self.spin = Span::ZERO;
        }
        // A process without rights has none to give up.
        let _ = sys::drop_rights();
    }

    /// Runs until `done`, asked now and then with the present, says so.
    ///
    /// # Errors
    /// The kernel's, of a device that is gone.
    pub fn run(&mut self, mut done: impl FnMut(&mut Network, Time) -> bool) -> io::Result<()> {
        loop {
            let busy = self.read_all()?;
            self.write_due();
            if done(&mut self.network, self.clock.now()) {
                return Ok(());
            }
            if !busy {
                self.sleep()?;
            }
        }
    }

    /// Reads what has come; true if there may be more.
    fn read_all(&mut self) -> io::Result<bool> {
        let mut more = false;
        for i in 0..self.gateways.len() {
            let mut n = 0;
            while n < DRAIN {
                let gateway = &mut self.gateways[i];
                let length = match gateway.device.read(&mut self.buffer) {
                    Ok(length) => length,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                n += 1;
                let stamp = self.clock.now();
                self.timing.ingress.add(stamp.since(self.looked[i]));
                let (door, bytes) = (gateway.door, self.buffer.get(..length).unwrap_or_default());
                let taken = self.network.enter(stamp, door, |door: &mut Door, cx| door.take_in(cx, bytes));
                if !matches!(taken, Some(Ok(()))) {
                    self.timing.strange += 1;
                } else if let Some(capture) = &mut self.capture {
                    capture.add(i, stamp, bytes);
                }
                // What became due meanwhile does not wait for the rest.
                self.write_out();
            }
            more |= n == DRAIN;
            self.looked[i] = self.clock.now();
        }
        Ok(more)
    }

    /// Lets the network run up to the present, one instant after the other, and writes what becomes due.
    fn write_due(&mut self) {
        loop {
            let now = self.clock.now();
            match self.network.next_wake() {
                Some(due) if due <= now => {
                    self.network.run_until(due);
                    self.write_out();
                }
                _ => {
                    self.network.run_until(now);
                    return;
                }
            }
        }
    }

    /// Writes what the network has brought to its doors.
    fn write_out(&mut self) {
        let absorbed = self.network.counters().absorbed;
        if std::mem::replace(&mut self.absorbed, absorbed) == absorbed {
            return;
        }
        for (i, gateway) in self.gateways.iter_mut().enumerate() {
            loop {
                let now = self.network.now();
                let next = self.network.enter(now, gateway.door, |door: &mut Door, _| door.next_out());
                let Some(Some(leaving)) = next else { break };
                if gateway.device.write(&leaving.bytes).is_err() {
                    self.timing.refused += 1;
                }
                let written = self.clock.now();
                self.timing.egress.add(written.since(leaving.due));
                if let Some(capture) = &mut self.capture {
                    capture.add(i, written, &leaving.bytes);
                }
                self.network.enter(now, gateway.door, |door: &mut Door, _| door.give_back(leaving.bytes));
            }
        }
    }

    /// Sleeps until something comes or is due. The timer is absolute: however long it took to come here, it
    /// goes off when the next thing is due.
    fn sleep(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let due = self.network.next_wake().unwrap_or(Time::NEVER);
        let early = due - self.spin;
        if due <= now || (early <= now && self.may_spin(now, due)) {
            return Ok(()); // the next turn comes round at once, and reads what has come meanwhile
        }
        let until = if early > now { early } else { due };
        sys::set_timer(&self.timer, self.clock.raw(until.min(now + NAP)))?;
        self.waiting.wait()?;
        let woken = self.clock.now();
        self.looked.fill(woken);
        Ok(())
    }

    /// Whether the budget of the present second allows to spin until `due`. What is allowed is charged once.
    fn may_spin(&mut self, now: Time, due: Time) -> bool {
        if self.spin.is_zero() {
            return false;
        }
        if self.spinning == due {
            return true;
        }
        let second = now.as_nanos() / 1_000_000_000;
        if self.spun.0 != second {
            self.spun = (second, Span::ZERO);
        }
        self.spun = (second, self.spun.1 + due.since(now));
        let may = self.spun.1 <= SPIN_BUDGET;
        if may {
            self.spinning = due;
        }
        may
    }
}
