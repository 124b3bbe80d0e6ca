//! Cost forecast of a scenario in the server: processor time of pilot runs; resident memory is not measured.

use base::Span;
use lab::forecast::{Forecast, Meters};
use rustix::time::{ClockId, clock_gettime};
use scenario::{Cost, Scenario};

/// Processor time of the calling thread.
fn processor() -> Span {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Span::from_nanos(t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs())
}

/// Forecast in virtual time. Memory is not measured, since the server does not show it.
pub(crate) fn forecast(scenario: &Scenario, cost: &Cost) -> Forecast {
    lab::forecast::measured(scenario, cost, Meters { processor: &processor, resident: &|| 0.0 })
}
