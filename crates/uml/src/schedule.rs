//! Schedule of one kernel in shared memory: its clock, the time up to which it may advance, and its next wake-up.
//!
//! Layout and rules are those of `struct um_timetravel_schedshm`, version 2, in `include/uapi/linux/um_timetravel.h`.
//! Each kernel has a memory of its own with two clients: the calendar and the kernel. A kernel that can use it says so
//! in its entry before its first message after START; from then on it reads and writes times there.
//!
//! The kernel may write any word at any time, so words are atomic and every value is checked by its reader.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length, words of 8 bytes: a header page and a page of clients.
pub const WORDS: usize = 1024;
/// Version of the layout.
const VERSION: u32 = 2;
/// Client index of the calendar.
const CALENDAR: u16 = 0;
/// Client index of the kernel.
pub const KERNEL: u16 = 1;
/// Number of clients.
const CLIENTS: u16 = 2;
/// Capability of a client: it reads and writes times here, and RUN and WAIT have no acknowledgement.
const TIME_SHARE: u32 = 1;
/// Flag of a client: it has a request to run.
const REQUEST: u32 = 1;

// Offsets, words.
const SIZES: usize = 0;
const FREE_UNTIL: usize = 1;
const NOW: usize = 2;
const RUNNING: usize = 3;
const HEADER: usize = 512;
const ENTRY: usize = 16;

/// Memory shared with a kernel: [`WORDS`] words.
pub type SharedWords = Arc<dyn AsRef<[AtomicU64]> + Send + Sync>;

/// Calendar's side of a schedule in shared memory.
#[derive(Clone)]
pub struct Schedule(SharedWords);

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule(now {}, free until {})", self.load(NOW), self.load(FREE_UNTIL))
    }
}

fn pair(low: u32, high: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (low.to_ne_bytes(), high.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

/// Offset of a client's entry: capabilities and flags, then its request, ns.
const fn entry(client: u16) -> usize {
    HEADER + client as usize * ENTRY
}

impl Schedule {
    /// Schedule in zeroed memory, at time 0, with the calendar running.
    pub fn new(words: SharedWords) -> Schedule {
        let schedule = Schedule(words);
        let bytes = 8 * entry(CLIENTS) as u32;
        schedule.store(SIZES, pair(VERSION, bytes));
        schedule.store(entry(CALENDAR), pair(TIME_SHARE, 0));
        schedule.hand(CALENDAR);
        schedule
    }

    fn load(&self, at: usize) -> u64 {
        (*self.0).as_ref().get(at).map_or(0, |word| word.load(Ordering::Acquire))
    }
    fn store(&self, at: usize, value: u64) {
        if let Some(word) = (*self.0).as_ref().get(at) {
            word.store(value, Ordering::Release);
        }
    }
    /// Names the client that runs.
    fn hand(&self, client: u16) {
        let ([a, b], [c, d]) = (client.to_ne_bytes(), CLIENTS.to_ne_bytes());
        self.store(RUNNING, u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]));
    }

    /// Whether the kernel uses this memory.
    pub fn is_used(&self) -> bool {
        halves(self.load(entry(KERNEL))).0 & TIME_SHARE != 0
    }
    /// Current time, ns.
    pub fn now(&self) -> u64 {
        self.load(NOW)
    }
    /// Sets the current time, ns, while the kernel waits.
    pub fn set_now(&self, t: u64) {
        self.store(NOW, t);
    }
    /// Sets the time before which the kernel may advance, ns.
    pub fn set_free_until(&self, t: u64) {
        self.store(FREE_UNTIL, t);
    }
    /// Next wake-up that the kernel requested, ns, if any. The kernel withdraws it when it runs.
    pub fn request(&self) -> Option<u64> {
        let (_, flags) = halves(self.load(entry(KERNEL)));
        (flags & REQUEST != 0).then(|| self.load(entry(KERNEL) + 1))
    }
    /// The kernel runs from now on.
    pub fn hand_to_kernel(&self) {
        self.hand(KERNEL);
    }
    /// The kernel waits.
    pub fn take_back(&self) {
        self.hand(CALENDAR);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Memory of a schedule, and the kernel's side of it.
    pub(crate) struct KernelSide(pub(crate) Arc<Vec<AtomicU64>>);

    impl KernelSide {
        pub(crate) fn new() -> KernelSide {
            KernelSide(Arc::new((0..WORDS).map(|_| AtomicU64::new(0)).collect()))
        }
        pub(crate) fn schedule(&self) -> Schedule {
            Schedule::new(self.0.clone())
        }
        pub(crate) fn set(&self, at: usize, value: u64) {
            self.0[at].store(value, Ordering::Release);
        }
        pub(crate) fn get(&self, at: usize) -> u64 {
            self.0[at].load(Ordering::Acquire)
        }
        /// Declares that the kernel uses the memory.
        pub(crate) fn join(&self) {
            self.set(entry(KERNEL), pair(TIME_SHARE, 0));
        }
        pub(crate) fn update(&self, t: u64) {
            self.set(NOW, t);
        }
        pub(crate) fn ask(&self, t: u64) {
            self.set(entry(KERNEL), pair(TIME_SHARE, REQUEST));
            self.set(entry(KERNEL) + 1, t);
        }
        pub(crate) fn free_until(&self) -> u64 {
            self.get(FREE_UNTIL)
        }
        pub(crate) fn now(&self) -> u64 {
            self.get(NOW)
        }
        pub(crate) fn runs(&self) -> bool {
            self.get(RUNNING) & 0xffff == u64::from(KERNEL)
        }
    }

    /// Offsets as a program in C gives them for the header of Linux 6.12, bytes.
    #[cfg(target_endian = "little")]
    #[test]
    fn the_layout_is_that_of_the_header() {
        let side = KernelSide::new();
        let schedule = side.schedule();
        let byte = |at: usize| side.get(at / 8).to_ne_bytes()[at % 8];
        assert_eq!([byte(0), byte(1), byte(2), byte(3)], [2, 0, 0, 0]);
        assert_eq!([byte(4), byte(5), byte(6), byte(7)], (4096u32 + 2 * 128).to_le_bytes());
        schedule.set_free_until(0x0807);
        schedule.set_now(0x0403);
        schedule.hand_to_kernel();
        assert_eq!([byte(8), byte(9), byte(16), byte(17)], [7, 8, 3, 4]);
        assert_eq!([byte(24), byte(25), byte(26), byte(27)], [1, 0, 2, 0]);
        assert_eq!((byte(4096), schedule.is_used()), (1, false));
        side.set((4096 + 128) / 8, u64::from(1u32) | 1 << 32);
        side.set((4096 + 128 + 8) / 8, 77);
        assert_eq!((schedule.is_used(), schedule.request()), (true, Some(77)));
        schedule.take_back();
        assert_eq!(byte(24), 0);
    }
}
