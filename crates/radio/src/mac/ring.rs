//! Round-robin scheduling of one timeslot among the TBFs assigned to it, by priority classes.

/// Members of a timeslot's round robin, and the last member served. At most 32 members, since a TFI has 5 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ring {
    /// Bit set of the members.
    members: u32,
    /// Last member served.
    last: u8,
}

impl Ring {
    /// Adds `member` (0 to 31).
    #[inline]
    pub fn join(&mut self, member: u8) {
        self.members |= 1 << (member & 31);
    }
    /// Removes a member.
    #[inline]
    pub fn leave(&mut self, member: u8) {
        self.members &= !(1 << (member & 31));
    }
    /// Number of members.
    #[inline]
    pub fn len(&self) -> u32 {
        self.members.count_ones()
    }
    /// Whether there are no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.members == 0
    }
    /// The members, in order of their number.
    pub fn members(&self) -> impl Iterator<Item = u8> + use<> {
        let all = self.members;
        (0..32).filter(move |m| all >> m & 1 == 1)
    }

    /// Next member in turn whose bit in `ready` is set; it becomes the last member served.
    #[inline]
    pub fn next(&mut self, ready: u32) -> Option<u8> {
        let candidates = self.members & ready;
        if candidates == 0 {
            return None;
        }
        let behind = candidates & (u32::MAX << 1 << self.last);
        let from = if behind != 0 { behind } else { candidates };
        self.last = from.trailing_zeros() as u8;
        Some(self.last)
    }

    /// Next member in turn among those of the highest priority. `priority(member)` is `None` if the member has no block
    /// to send.
    #[inline]
    pub fn next_by(&mut self, mut priority: impl FnMut(u8) -> Option<u8>) -> Option<u8> {
        let (mut best, mut ready) = (0, 0u32);
        let mut left = self.members;
        while left != 0 {
            let member = left.trailing_zeros() as u8;
            left &= left - 1;
            match priority(member) {
                Some(p) if ready == 0 || p > best => (best, ready) = (p, 1 << member),
                Some(p) if p == best => ready |= 1 << member,
                _ => {}
            }
        }
        self.next(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-03: members of a timeslot take turns.
    #[test]
    fn gp_03_members_take_turns() {
        let mut ring = Ring::default();
        [0, 3, 31].into_iter().for_each(|m| ring.join(m));
        let order: Vec<_> = (0..6).filter_map(|_| ring.next(u32::MAX)).collect();
        assert_eq!(order, [3, 31, 0, 3, 31, 0]);
        assert_eq!(ring.next(1), Some(0));
        assert_eq!(ring.next(2), None);
        ring.leave(3);
        assert_eq!((ring.next(u32::MAX), ring.len()), (Some(31), 2));
    }

    #[test]
    fn priority_goes_before_turn() {
        let mut ring = Ring::default();
        [1, 2, 5].into_iter().for_each(|m| ring.join(m));
        let mut serve = |p: [Option<u8>; 3]| {
            ring.next_by(|m| match m {
                1 => p[0],
                2 => p[1],
                _ => p[2],
            })
        };
        assert_eq!(serve([Some(1), Some(2), Some(1)]), Some(2));
        assert_eq!(serve([Some(1), Some(1), Some(1)]), Some(5));
        assert_eq!(serve([Some(1), None, None]), Some(1));
        assert_eq!(serve([None, None, None]), None);
    }
}
