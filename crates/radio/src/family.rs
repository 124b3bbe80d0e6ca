//! EGPRS families: coding schemes for the retransmission of an RLC block, and resegmentation (3GPP TS 44.060
//! section 8.1.1, tables 8.1.1.1 and 8.1.1.2).
//!
//! BSN and content of a block never change. Without resegmentation the block is retransmitted with a scheme of equal
//! payload, so that incremental redundancy can combine it with earlier receptions. With resegmentation a large
//! block may be divided into two halves of the family's basic unit. GPRS retransmits with the original scheme
//! only.

use crate::coding::Scheme;

/// Scheme of equal payload with a single RLC block: MCS-5 for MCS-7, MCS-6 for MCS-8 (with padding) and MCS-9.
pub fn single(scheme: Scheme) -> Scheme {
    match scheme {
        Scheme::Mcs7 => Scheme::Mcs5,
        Scheme::Mcs8 | Scheme::Mcs9 => Scheme::Mcs6,
        other => other,
    }
}

/// Scheme that carries half of a block: MCS-3 for MCS-6, 8 and 9, MCS-2 for MCS-5 and 7, MCS-1 for MCS-4.
pub fn half(scheme: Scheme) -> Option<Scheme> {
    match scheme {
        Scheme::Mcs4 => Some(Scheme::Mcs1),
        Scheme::Mcs5 | Scheme::Mcs7 => Some(Scheme::Mcs2),
        Scheme::Mcs6 | Scheme::Mcs8 | Scheme::Mcs9 => Some(Scheme::Mcs3),
        _ => None,
    }
}

/// Retransmission of a block: scheme, and whether the block is sent in two halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResendScheme {
    /// Coding scheme of the retransmission.
    pub scheme: Scheme,
    /// Resegmentation: each transmission carries one half of the block.
    pub split: bool,
}

/// Retransmission of a block first sent with `first`; `wanted` is the present scheme, `resegment` permits halves.
pub fn again(first: Scheme, wanted: Scheme, resegment: bool) -> ResendScheme {
    let whole = |scheme| ResendScheme { scheme, split: false };
    if !first.is_egprs() {
        return whole(first);
    }
    let halves = half(first).filter(|small| resegment && wanted < lowest_whole(first) && *small < first);
    if let Some(scheme) = halves {
        return ResendScheme { scheme, split: true };
    }
    whole(match first {
        Scheme::Mcs9 | Scheme::Mcs6 => {
            if wanted >= Scheme::Mcs9 {
                Scheme::Mcs9
            } else {
                Scheme::Mcs6
            }
        }
        Scheme::Mcs8 => {
            if wanted >= Scheme::Mcs8 {
                Scheme::Mcs8
            } else {
                Scheme::Mcs6
            }
        }
        Scheme::Mcs7 | Scheme::Mcs5 => {
            if wanted >= Scheme::Mcs7 {
                Scheme::Mcs7
            } else {
                Scheme::Mcs5
            }
        }
        other => other,
    })
}

/// Most robust scheme that carries a block of `first` as a whole.
fn lowest_whole(first: Scheme) -> Scheme {
    single(first)
}

/// Whether a block first sent with `first` can share a radio block of `scheme`: its payload equals the scheme's. A
/// block of MCS-9 can be paired with a block of MCS-6, not of MCS-8.
pub fn pairs(scheme: Scheme, first: Scheme) -> bool {
    scheme.is_dual() && scheme.payload() == first.payload()
}

/// Whether a receiver can combine two transmissions of a block: both carry the same coded payload.
pub fn combines(a: ResendScheme, b: ResendScheme) -> bool {
    a.split == b.split && (a.scheme == b.scheme || a.scheme.payload() == b.scheme.payload())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scheme::*;

    /// EG-10: the table of retransmissions, row by row.
    #[test]
    fn eg_10_schemes_of_retransmissions() {
        let rows: [(Scheme, &[Scheme], Option<Scheme>); 9] = [
            (Mcs9, &[Mcs9, Mcs6], Some(Mcs3)),
            (Mcs8, &[Mcs8, Mcs6], Some(Mcs3)),
            (Mcs7, &[Mcs7, Mcs5], Some(Mcs2)),
            (Mcs6, &[Mcs6, Mcs9], Some(Mcs3)),
            (Mcs5, &[Mcs5, Mcs7], Some(Mcs2)),
            (Mcs4, &[Mcs4], Some(Mcs1)),
            (Mcs3, &[Mcs3], None),
            (Mcs2, &[Mcs2], None),
            (Mcs1, &[Mcs1], None),
        ];
        for (first, whole, split) in rows {
            for &wanted in Scheme::EGPRS {
                let plain = again(first, wanted, false);
                assert!(!plain.split && whole.contains(&plain.scheme), "{first} at {wanted}: {plain:?}");
                let cut = again(first, wanted, true);
                match (cut.split, split) {
                    (true, Some(half)) => assert_eq!(cut.scheme, half),
                    (true, None) => panic!("{first} has no halves"),
                    (false, _) => assert!(whole.contains(&cut.scheme)),
                }
            }
            let lowest = again(first, Mcs1, true);
            assert_eq!(lowest.split, split.is_some(), "{first} at MCS-1");
        }
    }

    #[test]
    fn gprs_repeats_with_the_original_scheme() {
        assert_eq!(again(Cs4, Cs1, true), ResendScheme { scheme: Cs4, split: false });
    }

    #[test]
    fn only_equal_payloads_share_a_radio_block() {
        assert!(pairs(Mcs9, Mcs6) && pairs(Mcs9, Mcs9) && pairs(Mcs7, Mcs5) && pairs(Mcs8, Mcs8));
        assert!(!pairs(Mcs9, Mcs8) && !pairs(Mcs9, Mcs5) && !pairs(Mcs6, Mcs6));
    }
}
