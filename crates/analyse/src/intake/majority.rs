//! Majority vote in constant memory (Boyer and Moore), for delays and numbers of duplicate frames: candidate for the
//! most frequent value, its lead over the others, number of votes.

/// Votes for values of `T`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Majority<T> {
    /// The most frequent value, if one value has more than half of the votes.
    pub(super) value: T,
    /// Votes for `value` less votes against it.
    pub(super) lead: u32,
    /// Number of votes.
    pub(super) votes: u32,
}

impl<T: Copy> Majority<T> {
    /// Counts a vote; `equal` compares it with the candidate.
    pub(super) fn vote(&mut self, value: T, equal: impl Fn(T, T) -> bool) {
        self.votes += 1;
        match self.lead {
            0 => (self.value, self.lead) = (value, 1),
            _ if equal(value, self.value) => self.lead += 1,
            _ => self.lead -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Majority;

    #[test]
    fn a_value_with_more_than_half_of_the_votes_wins() {
        let mut majority = Majority::default();
        for value in [3, 1, 3, 2, 3, 3, 1, 3] {
            majority.vote(value, |a, b| a == b);
        }
        assert_eq!((majority.value, majority.votes), (3, 8));
        assert!(majority.lead >= 2, "5 of 8 votes lead by at least 2: {majority:?}");
    }
}
