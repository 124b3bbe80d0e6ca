//! Countdown value (CV) of uplink RLC data blocks (3GPP TS 44.060 section 9.3.1, annex F).

/// Countdown value of a block followed by more than BS_CV_MAX block periods of data.
pub const MANY: u32 = 15;

/// Countdown value of a block with `left` blocks after it, on `slots` timeslots: remaining block periods, or 15 if
/// they exceed `bs_cv_max`.
pub fn value(left: u32, slots: u32, bs_cv_max: u32) -> u32 {
    let periods = left.div_ceil(slots.max(1));
    if periods <= bs_cv_max.min(MANY) { periods } else { MANY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Annex F: 155 blocks on 3 timeslots, BS_CV_MAX 6.
    #[test]
    fn the_example_of_annex_f() {
        let cv = |number: u32| value(154 - number, 3, 6);
        assert_eq!((cv(0), cv(135)), (15, 15));
        assert_eq!([136, 137, 138].map(cv), [6, 6, 6]);
        assert_eq!([139, 150, 151, 153, 154].map(cv), [5, 2, 1, 1, 0]);
    }
}
