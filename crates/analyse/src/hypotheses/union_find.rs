//! Union-find over positions of a list (`Skip`): next position that is not decided yet, for ACKs and SACK blocks that
//! cover packets.

/// Next open position at or after each position; one past the last as the end.
#[derive(Debug, Default)]
pub(crate) struct Skip(Vec<u32>);

impl Skip {
    /// List of `len` open positions.
    pub(crate) fn new(len: usize) -> Skip {
        Skip((0..=len as u32).collect())
    }

    /// First open position at or after `at`; `len` if there is none.
    pub(crate) fn next(&mut self, mut at: usize) -> usize {
        while self.0[at] as usize != at {
            // Path halving keeps paths short.
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at
    }

    /// Marks a position as decided.
    pub(crate) fn done(&mut self, at: usize) {
        self.0[at] = at as u32 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_plain_list_finds(done in proptest::collection::vec(0usize..50, 0..80)) {
            let (mut skip, mut plain) = (Skip::new(50), [false; 51]);
            for at in done {
                if !plain[at] {
                    skip.done(at);
                    plain[at] = true;
                }
                for from in 0..=50 {
                    prop_assert_eq!(skip.next(from), (from..=50).find(|k| !plain[*k]).unwrap());
                }
            }
        }
    }
}
