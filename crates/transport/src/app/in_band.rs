//! In-band encoding of request parameters between separate hosts.
//!
//! The first bytes of a request carry up to three numbers: request size in bytes, reply size in bytes, and
//! processing time in nanoseconds. Numbers that both ends know from the plan are omitted. The encoding is
//! LEB128: groups of seven bits, lowest first, with the upper bit set where another follows. All other bytes
//! are zeros as usual, so sizes and times are unchanged. Only a request shorter than its numbers grows to
//! their length.

use super::connections::MessageMark;
use super::request::RequestPlan;
use base::dist::Dist;
use base::{Span, Time};

/// Maximum encoded length of the numbers, bytes.
pub const MOST: usize = 3 * GROUPS;
/// Groups of seven bits in 64.
const GROUPS: usize = 10;

/// Error: the bytes are not an encoded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEncoding;

/// Numbers that are constant in a plan and therefore omitted.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct FixedParameters {
    /// Size of a request, bytes.
    pub request: Option<u64>,
    /// Size of the reply, bytes.
    pub reply: Option<u64>,
    /// Processing time of the reply, nanoseconds.
    pub wait_ns: Option<u64>,
}

impl FixedParameters {
    /// Constants of this plan. The request size counts only if it leaves room for the other numbers.
    pub fn of(plan: &RequestPlan) -> FixedParameters {
        let constant = |dist: &Dist| if let Dist::Constant(c) = dist { Some(c.max(0.0)) } else { None };
        let bytes = |c: f64| (c.round() as u64).clamp(1, plan.largest.max(1));
        let reply = match (constant(&plan.reply), constant(&plan.objects), constant(&plan.object)) {
            (Some(main), Some(0.0), _) => Some(bytes(main)),
            (Some(main), _, Some(object)) if bytes(main) == bytes(object) => Some(bytes(main)),
            _ => None,
        };
        let wait_ns = constant(&plan.serve).map(|ns| ns as u64);
        let most = GROUPS * [reply, wait_ns].iter().filter(|known| known.is_none()).count();
        let request = constant(&plan.request).map(bytes).filter(|request| *request >= most as u64);
        FixedParameters { request, reply, wait_ns }
    }

    fn all(&self) -> [Option<u64>; 3] {
        [self.request, self.reply, self.wait_ns]
    }

    /// Encodes the numbers of a request; empty if all are known. Sizes are in bytes.
    pub fn write(&self, request: u64, reply: u64, wait: Span) -> Vec<u8> {
        let mut out = Vec::with_capacity(MOST);
        for (mut number, known) in [request, reply, wait.as_nanos()].into_iter().zip(self.all()) {
            if known.is_some() {
                continue;
            }
            while number > 0x7f {
                out.push(number as u8 | 0x80);
                number >>= 7;
            }
            out.push(number as u8);
        }
        out
    }

    /// Size of a request with room for its numbers: `request`, or the encoded length if that is longer.
    pub fn length(&self, request: u64, reply: u64, wait: Span) -> u64 {
        // Growing the request does not change the encoded length: its size then fits into one byte.
        request.max(self.write(request, reply, wait).len() as u64)
    }

    /// Decodes the three numbers, if all are complete.
    fn read(&self, head: &[u8]) -> Result<Option<[u64; 3]>, BadEncoding> {
        let (mut all, mut rest) = ([0u64; 3], head);
        for (number, known) in all.iter_mut().zip(self.all()) {
            if let Some(known) = known {
                *number = known;
                continue;
            }
            let Some(length) = rest.iter().position(|byte| byte & 0x80 == 0) else {
                return if rest.len() < GROUPS { Ok(None) } else { Err(BadEncoding) };
            };
            let (groups, after) = rest.split_at(length + 1);
            for group in groups.iter().rev() {
                let higher = number.checked_mul(0x80).ok_or(BadEncoding)?;
                *number = higher | u64::from(group & 0x7f);
            }
            rest = after;
        }
        Ok(Some(all))
    }
}

/// Decoder state of one connection.
#[derive(Clone, Default, Debug)]
pub struct Reader {
    known: FixedParameters,
    /// Bytes of the next request's numbers.
    head: Vec<u8>,
    /// Remaining bytes of the present request.
    left: u64,
    /// End of the last decoded request, stream offset.
    end: u64,
}

impl Reader {
    /// Decoder at the start of a stream.
    pub fn new(known: FixedParameters) -> Reader {
        Reader { known, ..Reader::default() }
    }

    /// Decodes further bytes. `found` is called for each request once its numbers are complete, possibly
    /// before its end. Their `made` time is not set.
    ///
    /// # Errors
    /// The bytes are no requests; the rest of the stream cannot be decoded either.
    pub fn read(&mut self, bytes: &[u8], mut found: impl FnMut(MessageMark)) -> Result<(), BadEncoding> {
        let mut rest = bytes;
        loop {
            let skipped = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
            self.left -= skipped as u64;
            rest = rest.get(skipped..).unwrap_or_default();
            let Some((next, after)) = rest.split_first() else { return Ok(()) };
            // If all numbers are known, a request starts without encoded bytes.
            if !self.begin(&mut found)? {
                self.head.push(*next);
                rest = after;
                self.begin(&mut found)?;
            }
        }
    }

    /// Whether the numbers of the next request are complete; if so, calls `found`.
    fn begin(&mut self, found: &mut impl FnMut(MessageMark)) -> Result<bool, BadEncoding> {
        let Some([request, reply, wait]) = self.known.read(&self.head)? else { return Ok(false) };
        self.left = request.max(1).checked_sub(self.head.len() as u64).ok_or(BadEncoding)?;
        self.end = self.end.checked_add(request.max(1)).ok_or(BadEncoding)?;
        self.head.clear();
        found(MessageMark {
            end: self.end,
            created: Time::ZERO,
            reply,
            service_time: Span::from_nanos(wait),
        });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks(known: FixedParameters, pieces: &[&[u8]]) -> Result<Vec<(u64, u64, u64)>, BadEncoding> {
        let (mut reader, mut all) = (Reader::new(known), Vec::new());
        for piece in pieces {
            reader.read(piece, |mark| all.push((mark.end, mark.reply, mark.service_time.as_nanos())))?;
        }
        Ok(all)
    }

    #[test]
    fn a_request_that_is_too_short_grows_to_its_numbers() {
        let nothing = FixedParameters::default();
        assert_eq!(nothing.length(200, 3000, Span::ZERO), 200);
        assert_eq!(nothing.length(1, 1, Span::ZERO), 3);
        assert_eq!(nothing.length(5, 100_000, Span::from_millis(5)), 8);
        assert_eq!(nothing.length(0, u64::MAX, Span::from_nanos(u64::MAX)), 21);
        let reply = FixedParameters { reply: Some(100_000), ..nothing };
        assert_eq!(reply.length(1, 100_000, Span::ZERO), 2);
        let all = FixedParameters { request: Some(1), reply: Some(9), wait_ns: Some(0) };
        assert_eq!(all.length(1, 9, Span::ZERO), 1);
        assert_eq!(marks(all, &[&[0, 0], &[], &[0]]), Ok(vec![(1, 9, 0), (2, 9, 0), (3, 9, 0)]));
        // A second number that is longer than a number may be, or more; a request that ends inside its numbers.
        let long = [100, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(marks(nothing, &[&long]), Err(BadEncoding));
        let more = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 0, 0];
        assert_eq!(marks(nothing, &[&more]), Err(BadEncoding));
        assert_eq!(marks(nothing, &[&[2, 0, 0]]), Err(BadEncoding));
    }

    /// Only numbers that are not constant in the plan are encoded.
    #[test]
    fn a_plan_tells_what_is_known() {
        let plan = |request: Dist, reply: Dist, objects: f64, serve: Dist| RequestPlan {
            pages: None,
            lasts: None,
            request,
            reply,
            objects: Dist::Constant(objects),
            object: Dist::Constant(50.0),
            largest: 1000,
            think: Dist::Constant(0.0),
            paced: false,
            serve,
            patience: None,
            connections: 1,
            keep: super::super::request::ConnectionLifetime::Session,
            pipelining: false,
        };
        let (some, chance) = (Dist::Constant, || Dist::Uniform(1.0, 2.0));
        let of = |plan: RequestPlan| {
            let FixedParameters { request, reply, wait_ns } = FixedParameters::of(&plan);
            (request, reply, wait_ns)
        };
        assert_eq!(of(plan(some(1.4), some(1e9), 0.0, some(0.0))), (Some(1), Some(1000), Some(0)));
        assert_eq!(of(plan(some(1.0), chance(), 0.0, some(0.0))), (None, None, Some(0)));
        assert_eq!(of(plan(some(20.0), chance(), 0.0, chance())), (Some(20), None, None));
        assert_eq!(of(plan(chance(), some(60.0), 2.0, some(7.0))), (None, None, Some(7)));
        assert_eq!(of(plan(chance(), some(50.0), 2.0, some(7.0))), (None, Some(50), Some(7)));
    }

    proptest! {
        /// For any division of the bytes, the other end decodes the requests and their ends.
        #[test]
        fn what_was_asked_is_read(
            asked in proptest::collection::vec((1u64..2000, any::<u64>(), any::<u64>()), 0..20),
            same in (any::<bool>(), any::<bool>(), any::<bool>()),
            cuts in proptest::collection::vec(1usize..700, 1..40),
        ) {
            let known = FixedParameters {
                request: same.0.then_some(77),
                reply: same.1.then_some(5),
                wait_ns: same.2.then_some(u64::MAX),
            };
            let (mut bytes, mut expected, mut end) = (Vec::new(), Vec::new(), 0);
            for (request, reply, wait) in asked {
                let [request, reply, wait] = [
                    known.request.unwrap_or(request),
                    known.reply.unwrap_or(reply),
                    known.wait_ns.unwrap_or(wait),
                ];
                let request = known.length(request, reply, Span::from_nanos(wait));
                let head = known.write(request, reply, Span::from_nanos(wait));
                prop_assert!(head.len() <= MOST && head.len() as u64 <= request);
                bytes.extend(&head);
                bytes.resize(bytes.len() + request as usize - head.len(), 0);
                end += request;
                expected.push((end, reply, wait));
            }
            let (mut rest, mut pieces) = (&bytes[..], Vec::new());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(marks(known, &pieces), Ok(expected));
        }
    }
}
