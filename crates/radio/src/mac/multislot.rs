//! Multislot classes of mobiles and the allocation of consecutive timeslots (3GPP TS 45.002 annex B).

/// Maximum numbers of timeslots of a multislot class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// Number of the class.
    pub number: u8,
    /// Maximum downlink timeslots.
    pub down: u8,
    /// Maximum uplink timeslots.
    pub up: u8,
    /// Maximum timeslots of both directions together.
    pub sum: u8,
}

const fn class(number: u8, down: u8, up: u8, sum: u8) -> Class {
    Class { number, down, up, sum }
}

/// Classes of mobiles that switch between reception and transmission within a TDMA frame (half duplex), by number.
pub const CLASSES: [Class; 17] = [
    class(1, 1, 1, 2),
    class(2, 2, 1, 3),
    class(3, 2, 2, 3),
    class(4, 3, 1, 4),
    class(5, 2, 2, 4),
    class(6, 3, 2, 4),
    class(7, 3, 3, 4),
    class(8, 4, 1, 5),
    class(9, 3, 2, 5),
    class(10, 4, 2, 5),
    class(11, 4, 3, 5),
    class(12, 4, 4, 5),
    class(30, 5, 1, 6),
    class(31, 5, 2, 6),
    class(32, 5, 3, 6),
    class(33, 5, 4, 6),
    class(34, 5, 5, 6),
];

/// Class by number.
pub fn of(number: u8) -> Option<Class> {
    CLASSES.iter().copied().find(|c| c.number == number)
}

impl Class {
    /// Number of timeslots granted of `wanted` ones, if the opposite direction has `other` timeslots.
    pub fn grant(self, downlink: bool, wanted: u8, other: u8) -> u8 {
        let most = if downlink { self.down } else { self.up };
        wanted.min(most).min(self.sum.saturating_sub(other)).max(1)
    }
}

/// First timeslot of the `width` consecutive ones with the smallest sum of `load`; `tie` picks among equal sums.
pub fn position(load: &[u32], width: usize, mut tie: impl FnMut(usize) -> usize) -> usize {
    let sums: Vec<u32> = load.windows(width.clamp(1, load.len().max(1))).map(|w| w.iter().sum()).collect();
    let Some(least) = sums.iter().min() else { return 0 };
    let best: Vec<usize> = (0..sums.len()).filter(|i| sums[*i] == *least).collect();
    best.get(tie(best.len())).or(best.first()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-04: class 4 is 1+3, class 6 is 2+3 or 2+2, class 8 is 1+4.
    #[test]
    fn gp_04_classes_of_the_terminals() {
        let four = of(4).unwrap();
        assert_eq!((four.grant(true, 8, 1), four.grant(false, 8, 3)), (3, 1));
        let six = of(6).unwrap();
        assert_eq!((six.grant(true, 8, 1), six.grant(true, 8, 2), six.grant(false, 8, 2)), (3, 2, 2));
        let eight = of(8).unwrap();
        assert_eq!((eight.grant(true, 8, 1), eight.grant(false, 8, 4)), (4, 1));
        assert_eq!(of(13), None);
    }

    #[test]
    fn the_least_loaded_position_is_taken() {
        assert_eq!(position(&[3, 1, 1, 0, 2, 2, 2], 3, |_| 0), 1);
        assert_eq!(position(&[0, 0, 0, 0], 2, |n| n - 1), 2);
        assert_eq!(position(&[5], 3, |_| 0), 0);
    }
}
