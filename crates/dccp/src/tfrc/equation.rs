//! The TCP throughput equation of TFRC (RFC 5348 section 3.1) and its inverse.

/// Retransmission timeout of the modelled TCP in round trips (RFC 5348 section 3.1: t_RTO = 4 R).
pub const RTO_IN_RTT: f64 = 4.0;
/// Steps of the bisection: halves the interval below the spacing of `f64`.
const STEPS: u32 = 100;

/// Round trips per segment, `f(p)` in `X = s / (R f(p))`, at loss event rate `p` and a timeout of `rto` round trips.
fn rounds(p: f64, rto: f64) -> f64 {
    //= RFC 5348 section 3.1: X_Bps = s / (R*sqrt(2*b*p/3) + (t_RTO * (3*sqrt(3*b*p/8)*p*(1+32*p^2))))
    let root = libm::sqrt(2.0 * p / 3.0);
    let timeouts = rto * (3.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p));
    root + timeouts
}

/// Allowed rate, bytes per second, for segments of `size` bytes, a round trip of `rtt` seconds and a loss event
/// rate `p` above 0.
pub fn throughput(size: f64, rtt: f64, p: f64) -> f64 {
    throughput_with(size, rtt, RTO_IN_RTT, p)
}

/// Throughput for a retransmission timeout of `rto` round trips.
pub fn throughput_with(size: f64, rtt: f64, rto: f64, p: f64) -> f64 {
    size / (rtt * rounds(p.clamp(f64::MIN_POSITIVE, 1.0), rto))
}

/// The loss event rate at which the equation allows `rate` bytes per second; 1 if `rate` is at or below the rate allowed at 1.
pub fn loss_rate(size: f64, rtt: f64, rate: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if rate <= throughput(size, rtt, high) {
        return high;
    }
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if throughput(size, rtt, middle) > rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
