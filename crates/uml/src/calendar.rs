//! Time-travel protocol of User-Mode Linux: message format, and the calendar that grants time to one kernel.
//!
//! With `time-travel=ext`, a User-Mode Linux kernel does not advance its clock. It requests the time from a
//! calendar, requests its next wake-up, and waits. This module is the calendar's side of the protocol for one
//! kernel (`include/uapi/linux/um_timetravel.h`), without I/O.
//!
//! A kernel that can use a [`Schedule`] in shared memory (Linux 6.11 and later) sends START, WAIT and the request of
//! the time of day only. It reads and writes all other times in that memory; they are read here while it waits for an
//! answer or for its turn, so the course of events is that of the messages.

use crate::schedule::{KERNEL, Schedule};
use std::fmt;

/// Message size, bytes.
pub const SIZE: usize = 16;
/// Time of a wake-up that never comes: the largest signed number.
pub const NEVER: u64 = i64::MAX as u64;

/// Operation of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// Acknowledgement, with the sequence number of the request.
    Ack = 0,
    /// The kernel has started.
    Start = 1,
    /// The kernel requests a wake-up at this time; the latest request counts.
    Request = 2,
    /// The kernel waits until it may run.
    Wait = 3,
    /// The kernel requests the time.
    Get = 4,
    /// The kernel has advanced to this time.
    Update = 5,
    /// The kernel may run; the current time.
    Run = 6,
    /// The kernel may advance up to this time without asking.
    FreeUntil = 7,
    /// The kernel requests the time of day at the calendar's origin.
    GetTimeOfDay = 8,
    /// Message to all participants.
    Broadcast = 9,
}

impl Op {
    fn of(number: u32) -> Option<Op> {
        use Op::*;
        [Ack, Start, Request, Wait, Get, Update, Run, FreeUntil, GetTimeOfDay, Broadcast]
            .into_iter()
            .find(|op| *op as u32 == number)
    }
}

/// A message in either direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of its [`Op`].
    pub op: u32,
    /// Sequence number, of the message itself or of the acknowledged one.
    pub seq: u32,
    /// Calendar time, ns.
    pub time: u64,
}

impl Message {
    /// Parses a message.
    pub fn read(bytes: [u8; SIZE]) -> Message {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        Message {
            op: u32::from_ne_bytes([a, b, c, d]),
            seq: u32::from_ne_bytes([e, f, g, h]),
            time: u64::from_ne_bytes(time),
        }
    }
    /// Serialises the message in native byte order: both ends are on this machine.
    pub fn bytes(self) -> [u8; SIZE] {
        let mut out = [0; SIZE];
        out[..4].copy_from_slice(&self.op.to_ne_bytes());
        out[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        out[8..].copy_from_slice(&self.time.to_ne_bytes());
        out
    }
}

/// Protocol violation of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalendarFault {
    /// Unknown operation.
    Unknown(u32),
    /// Operation not allowed for a kernel, or not in this state.
    Misplaced(Op),
    /// Acknowledgement without a request.
    Unasked(u32),
    /// Time went backwards: from, to.
    Back(u64, u64),
    /// Time ran past the limit: to, limit.
    Past(u64, u64),
}

impl fmt::Display for CalendarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CalendarFault::Unknown(op) => write!(f, "message {op} of the calendar does not exist"),
            CalendarFault::Misplaced(op) => write!(f, "message {op:?} of the calendar arrived out of turn"),
            CalendarFault::Unasked(seq) => {
                write!(f, "it answers message {seq} of the calendar, which was not sent")
            }
            CalendarFault::Back(from, to) => write!(f, "its time went back from {from} ns to {to} ns"),
            CalendarFault::Past(to, limit) => {
                write!(f, "it ran on to {to} ns, beyond the {limit} ns it was allowed")
            }
        }
    }
}

/// State of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Not started.
    Silent,
    /// Running.
    Running,
    /// Waiting until the calendar lets it run.
    Waiting,
}

/// Calendar of one kernel.
#[derive(Clone, Debug)]
pub struct Calendar {
    phase: Phase,
    /// Current time of the kernel, ns, as far as it is known.
    now: u64,
    /// Time up to which the kernel may advance without a request, ns; it may already have done so.
    limit: u64,
    /// Next wake-up that the kernel requested, ns.
    request: u64,
    /// Last sequence number sent.
    seq: u32,
    /// Sequence numbers of unacknowledged messages, oldest first: at most a FREE_UNTIL and a RUN.
    open: Vec<u32>,
    /// Time of day at time 0, ns since 1970.
    epoch: u64,
    /// Schedule in shared memory, if the kernel is offered one.
    schedule: Option<Schedule>,
    /// Whether the kernel uses the schedule; known from its first message after START.
    shares: Option<bool>,
}

impl Calendar {
    /// Calendar of a kernel that starts at time 0, at `epoch` nanoseconds after 1970.
    pub fn new(epoch: u64) -> Calendar {
        Calendar {
            phase: Phase::Silent,
            now: 0,
            limit: 0,
            request: NEVER,
            seq: 0,
            open: Vec::new(),
            epoch,
            schedule: None,
            shares: None,
        }
    }

    /// The calendar, with a schedule in shared memory to be offered with the answer to START.
    pub fn with_schedule(self, schedule: Schedule) -> Calendar {
        Calendar { schedule: Some(schedule), ..self }
    }

    /// Whether the kernel uses the schedule in shared memory.
    pub fn shares(&self) -> bool {
        self.shares == Some(true)
    }

    /// Schedule that the kernel uses.
    fn shared(&self) -> Option<&Schedule> {
        self.schedule.as_ref().filter(|_| self.shares())
    }

    /// Reads the times that the kernel has written into shared memory, while it waits for an answer or for its turn.
    ///
    /// # Errors
    /// Time went backwards or past the limit.
    pub fn sync(&mut self) -> Result<(), CalendarFault> {
        let Some(schedule) = self.shared() else { return Ok(()) };
        let (now, request) = (schedule.now(), schedule.request());
        self.move_to(now)?;
        self.request = request.unwrap_or(NEVER).min(NEVER);
        Ok(())
    }

    fn move_to(&mut self, t: u64) -> Result<(), CalendarFault> {
        if t < self.now {
            return Err(CalendarFault::Back(self.now, t));
        }
        if t > self.limit {
            return Err(CalendarFault::Past(t, self.limit));
        }
        self.now = t;
        Ok(())
    }

    /// Current time of the kernel, ns, as far as it is known.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// Time to which the kernel may have advanced, ns.
    pub fn reach(&self) -> u64 {
        self.limit
    }
    /// Next wake-up that the kernel requested, ns.
    pub fn request(&self) -> u64 {
        self.request
    }
    /// Whether the kernel waits and all messages are acknowledged.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Waiting && self.open.is_empty()
    }
    /// Whether all messages are acknowledged.
    pub fn settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Advances a waiting kernel to `t`, before an external event is delivered to it.
    pub fn advance(&mut self, t: u64) {
        self.now = self.now.max(t);
        self.limit = self.limit.max(self.now);
        if let Some(schedule) = self.shared() {
            schedule.set_now(self.now);
        }
    }

    /// Lets the kernel run at `t`, and up to just before `free` without asking, if that is later. Returns the
    /// messages to send, in order.
    pub fn run(&mut self, t: u64, free: u64) -> Vec<Message> {
        self.phase = Phase::Running;
        self.advance(t);
        self.request = NEVER;
        if let Some(schedule) = self.shared() {
            schedule.set_free_until(free.max(self.now));
            schedule.hand_to_kernel();
            self.limit = self.limit.max(free);
            self.seq = next(self.seq);
            // It is not acknowledged.
            return vec![Message { op: Op::Run as u32, seq: self.seq, time: self.now }];
        }
        let mut out = Vec::with_capacity(2);
        if free > self.now {
            out.extend(self.free_until(free));
        }
        out.push(self.send(Op::Run, self.now));
        out
    }

    /// Whether a running kernel may advance beyond `t`.
    pub fn shortens(&self, t: u64) -> bool {
        t < self.limit
    }

    /// Sets the time up to which a running kernel may advance without asking. Returns the message to send, if the
    /// kernel does not read it from shared memory.
    pub fn free_until(&mut self, t: u64) -> Option<Message> {
        self.limit = t.max(self.now);
        match self.shared() {
            Some(schedule) => {
                schedule.set_free_until(self.limit);
                None
            }
            None => Some(self.send(Op::FreeUntil, self.limit)),
        }
    }

    fn send(&mut self, op: Op, time: u64) -> Message {
        self.seq = next(self.seq);
        self.open.push(self.seq);
        Message { op: op as u32, seq: self.seq, time }
    }

    /// Processes a message of the kernel; returns the acknowledgement to send, `None` if the message is one itself or
    /// is not acknowledged.
    ///
    /// # Errors
    /// The message is not valid in this state.
    pub fn receive(&mut self, message: Message) -> Result<Option<Message>, CalendarFault> {
        let op = Op::of(message.op).ok_or(CalendarFault::Unknown(message.op))?;
        if (self.phase == Phase::Silent) != (op == Op::Start) {
            return Err(CalendarFault::Misplaced(op));
        }
        if op != Op::Start && self.shares.is_none() {
            self.shares = Some(self.schedule.as_ref().is_some_and(Schedule::is_used));
        }
        self.sync()?;
        let mut time = 0;
        match op {
            Op::Ack => {
                let at = self.open.iter().position(|seq| *seq == message.seq);
                self.open.remove(at.ok_or(CalendarFault::Unasked(message.seq))?);
                return Ok(None);
            }
            Op::Start => {
                self.phase = Phase::Running;
                if self.schedule.is_some() {
                    time = u64::from(KERNEL);
                }
            }
            // These times are in shared memory.
            Op::Request | Op::Get | Op::Update if self.shares() => return Err(CalendarFault::Misplaced(op)),
            Op::Request => self.request = message.time.min(NEVER),
            Op::Wait if self.phase == Phase::Running => {
                self.phase = Phase::Waiting;
                if let Some(schedule) = self.shared() {
                    schedule.take_back();
                    return Ok(None);
                }
            }
            Op::Get => time = self.now,
            Op::Update => self.move_to(message.time)?,
            Op::GetTimeOfDay => time = self.epoch,
            Op::Broadcast => {}
            Op::Wait | Op::Run | Op::FreeUntil => return Err(CalendarFault::Misplaced(op)),
        }
        Ok(Some(Message { op: Op::Ack as u32, seq: message.seq, time }))
    }
}

/// Sequence number after `seq`. Kernels count theirs up from 1; the calendar sets the highest bit.
fn next(seq: u32) -> u32 {
    seq.wrapping_add(1) | 0x8000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::tests::KernelSide;
    use proptest::prelude::*;

    fn say(op: Op, seq: u32, time: u64) -> Message {
        Message { op: op as u32, seq, time }
    }

    #[test]
    fn a_kernel_boots_asks_and_runs() {
        let mut c = Calendar::new(77);
        let ack = |seq, time| Ok(Some(say(Op::Ack, seq, time)));
        assert_eq!(c.receive(say(Op::Start, 1, 5)), ack(1, 0));
        assert_eq!(c.receive(say(Op::GetTimeOfDay, 2, 0)), ack(2, 77));
        assert_eq!(c.receive(say(Op::Request, 3, 400)), ack(3, 0));
        assert_eq!(c.receive(say(Op::Request, 4, 300)), ack(4, 0));
        assert!(!c.waits());
        assert_eq!(c.receive(say(Op::Wait, 5, 0)), ack(5, 0));
        assert!(c.waits());
        assert_eq!(c.request(), 300);
        let sent = c.run(300, 350);
        assert_eq!(
            sent.iter().map(|m| (m.op, m.time)).collect::<Vec<_>>(),
            [(Op::FreeUntil as u32, 350), (Op::Run as u32, 300)]
        );
        assert_eq!(c.receive(say(Op::Ack, sent[0].seq, 0)), Ok(None));
        assert_eq!(c.receive(say(Op::Ack, sent[1].seq, 0)), Ok(None));
        assert_eq!(c.receive(say(Op::Get, 6, 0)), ack(6, 300));
        assert_eq!(c.receive(say(Op::Update, 7, 340)), ack(7, 0));
        assert_eq!(c.now(), 340);
    }

    #[test]
    fn what_no_kernel_may_say_is_a_fault() {
        let mut c = Calendar::new(0);
        assert_eq!(c.receive(say(Op::Wait, 1, 0)), Err(CalendarFault::Misplaced(Op::Wait)));
        c.receive(say(Op::Start, 1, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Start, 2, 0)), Err(CalendarFault::Misplaced(Op::Start)));
        assert_eq!(c.receive(say(Op::Run, 2, 0)), Err(CalendarFault::Misplaced(Op::Run)));
        assert_eq!(c.receive(say(Op::Ack, 2, 0)), Err(CalendarFault::Unasked(2)));
        assert_eq!(c.receive(say(Op::Update, 2, 1)), Err(CalendarFault::Past(1, 0)));
        c.receive(say(Op::Wait, 3, 0)).unwrap();
        assert_eq!(c.receive(say(Op::Wait, 4, 0)), Err(CalendarFault::Misplaced(Op::Wait)));
        c.run(50, 0);
        assert_eq!(c.receive(say(Op::Update, 5, 49)), Err(CalendarFault::Back(50, 49)));
        assert_eq!(c.receive(Message { op: 99, seq: 0, time: 0 }), Err(CalendarFault::Unknown(99)));
    }

    /// Calendar of a kernel that uses a schedule in shared memory and waits at time 0 for 300.
    fn shared() -> (Calendar, KernelSide) {
        let side = KernelSide::new();
        let mut c = Calendar::new(77).with_schedule(side.schedule());
        assert_eq!(c.receive(say(Op::Start, 1, 5)), Ok(Some(say(Op::Ack, 1, u64::from(KERNEL)))));
        side.join();
        assert_eq!(c.receive(say(Op::GetTimeOfDay, 2, 0)), Ok(Some(say(Op::Ack, 2, 77))));
        side.ask(300);
        assert_eq!(c.receive(say(Op::Wait, 3, 0)), Ok(None));
        assert!(c.waits() && !side.runs());
        (c, side)
    }

    #[test]
    fn a_kernel_with_shared_memory_sends_waits_only() {
        let (mut c, side) = shared();
        assert_eq!(c.request(), 300);
        // An interrupt at 200: the kernel reads the time and requests to run now.
        c.advance(200);
        assert_eq!(side.now(), 200);
        side.ask(200);
        c.sync().unwrap();
        assert_eq!(c.request(), 200);
        let sent = c.run(200, 350);
        assert_eq!(sent.iter().map(|m| (m.op, m.time)).collect::<Vec<_>>(), [(Op::Run as u32, 200)]);
        assert_eq!((side.free_until(), side.runs(), c.reach()), (350, true, 350));
        // A packet at 340 which nothing may overtake.
        side.join();
        side.update(340);
        c.sync().unwrap();
        assert_eq!((c.now(), c.request(), c.free_until(340)), (340, NEVER, None));
        assert_eq!(side.free_until(), 340);
        side.ask(400);
        assert_eq!(c.receive(say(Op::Wait, 4, 0)), Ok(None));
        assert_eq!((c.request(), c.now(), c.waits()), (400, 340, true));
        // It may not run ahead at all.
        c.run(400, 390);
        assert_eq!(side.free_until(), 400);
    }

    #[test]
    fn a_kernel_without_shared_memory_sends_all_its_times() {
        let side = KernelSide::new();
        let mut c = Calendar::new(77).with_schedule(side.schedule());
        c.receive(say(Op::Start, 1, 5)).unwrap();
        assert_eq!(c.receive(say(Op::Request, 2, 300)), Ok(Some(say(Op::Ack, 2, 0))));
        // Too late to say otherwise.
        side.join();
        assert_eq!(c.receive(say(Op::Wait, 3, 0)), Ok(Some(say(Op::Ack, 3, 0))));
        assert_eq!((c.request(), c.run(300, 350).len()), (300, 2));
    }

    #[test]
    fn no_word_in_shared_memory_moves_time_where_it_may_not() {
        let (mut c, side) = shared();
        assert_eq!(c.receive(say(Op::Request, 4, 5)), Err(CalendarFault::Misplaced(Op::Request)));
        c.run(300, 350);
        side.update(351);
        assert_eq!(c.receive(say(Op::Wait, 5, 0)), Err(CalendarFault::Past(351, 350)));
        side.update(299);
        assert_eq!(c.sync(), Err(CalendarFault::Back(300, 299)));
        side.update(350);
        side.ask(u64::MAX);
        assert_eq!((c.sync(), c.request()), (Ok(()), NEVER));
    }

    proptest! {
        #[test]
        fn bytes_are_read_as_they_were_written(op in any::<u32>(), seq in any::<u32>(), time in any::<u64>()) {
            let m = Message { op, seq, time };
            prop_assert_eq!(Message::read(m.bytes()), m);
        }

        /// For any messages of a kernel, time never goes backwards or past the limit.
        #[test]
        fn no_dialogue_moves_time_where_it_may_not(
            said in proptest::collection::vec((0u32..11, 0u32..6, 0u64..200, any::<bool>()), 0..60)
        ) {
            let mut c = Calendar::new(0);
            for (op, seq, time, ours) in said {
                let before = c.now();
                if ours && c.waits() {
                    let at = c.request().clamp(before, before + 50);
                    for m in c.run(at, at + 20) {
                        c.receive(say(Op::Ack, m.seq, 0)).unwrap();
                    }
                } else {
                    let limit = c.limit;
                    let _ = c.receive(Message { op, seq, time });
                    prop_assert!(c.now() <= limit);
                }
                prop_assert!(c.now() >= before);
            }
        }
    }
}
