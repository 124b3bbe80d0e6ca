//! Watch of the egress to the server (`EgressWatch`): history of interface, source address and carrier during a measurement, and
//! the cause of a disconnection that a change beside it shows.
//!
//! A notification of the kernel starts a new lookup of the route; lost notifications cost the short states only. A change
//! counts if it lies within [`NEAR`] of the last byte: later ones follow the silence and did not cause it.

use crate::cause::Cause;
use crate::clock::Clock;
use crate::egress::Egress;
#[cfg(target_os = "linux")]
use crate::{companion, rtnetlink};
use base::{Span, Time};
use std::collections::VecDeque;
use std::net::IpAddr;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest distance between the last byte and a change that counts. The kernel takes bytes for some time after the change, and
/// a slow path may have been silent for some seconds before it.
const NEAR: Span = Span::from_secs(5);
/// Largest number of states kept.
const MOST: usize = 4096;

/// History of the egress to one server.
#[derive(Debug)]
pub(crate) struct EgressWatch {
    clock: Clock,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux is queried"))]
    server: IpAddr,
    /// Each state with its start; `None`: no route.
    history: Mutex<VecDeque<(Time, Option<Egress>)>>,
}

impl EgressWatch {
    /// Watch without history.
    pub(crate) fn new(server: IpAddr, clock: Clock) -> EgressWatch {
        EgressWatch { clock, server, history: Mutex::default() }
    }

    fn history(&self) -> MutexGuard<'_, VecDeque<(Time, Option<Egress>)>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches while `act` runs.
    #[cfg(target_os = "linux")]
    pub(crate) fn beside<R>(&self, act: impl FnOnce() -> R) -> R {
        companion::beside(|over| self.run(over), act).0
    }

    /// Other systems are not watched.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn beside<R>(&self, act: impl FnOnce() -> R) -> R {
        act()
    }

    /// Follows the notifications until `over`. A system that answers no lookup leaves the history empty.
    #[cfg(target_os = "linux")]
    fn run(&self, over: &AtomicBool) {
        use std::os::fd::AsRawFd as _;
        let Ok(mut socket) = rtnetlink::notifications() else { return };
        let mut buffer = vec![0; 1 << 16];
        self.look();
        while !over.load(Ordering::Relaxed) {
            if !crate::sys::wait_for(socket.as_raw_fd(), false, std::time::Duration::from_millis(100)) {
                continue;
            }
            let notices = rtnetlink::notices(&mut socket, &mut buffer).unwrap_or_default();
            let now = self.history().back().and_then(|(_, egress)| egress.clone());
            // The carrier may be back when the lookup is made.
            if let Some(egress) = now
                && notices.iter().any(|notice| notice.index == egress.index && !notice.carrier)
            {
                self.note(Some(Egress { carrier: false, ..egress }));
            }
            self.look();
        }
    }

    /// Adds the current state, if a lookup gives one.
    #[cfg(target_os = "linux")]
    fn look(&self) {
        use std::io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable};
        match rtnetlink::egress(self.server) {
            Ok(egress) => self.note(Some(egress)),
            Err(error) if matches!(error.kind(), HostUnreachable | NetworkDown | NetworkUnreachable) => {
                self.note(None);
            }
            Err(_) => {}
        }
    }

    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux is queried"))]
    fn note(&self, egress: Option<Egress>) {
        let t = self.clock.now();
        let mut history = self.history();
        if history.back().is_some_and(|(_, before)| *before == egress) {
            return;
        }
        if history.len() >= MOST {
            history.pop_front();
        }
        history.push_back((t, egress));
    }

    /// Cause and evidence that the changes around `last`, the time of the last byte, show.
    pub(crate) fn around(&self, last: Time) -> Option<(Cause, String)> {
        let history = self.history();
        let from = Time::from_nanos(last.as_nanos().saturating_sub(NEAR.as_nanos()));
        let first = history.iter().rposition(|(t, _)| *t <= from).unwrap_or(0);
        let (_, before) = history.get(first)?;
        let after: Vec<_> = history.iter().skip(first + 1).filter(|(t, _)| *t <= last + NEAR).collect();
        shown(before.as_ref()?, &after)
    }
}

/// Cause that a sequence of states behind `before` shows: another interface, else a link that was down, else another address.
fn shown(before: &Egress, after: &[&(Time, Option<Egress>)]) -> Option<(Cause, String)> {
    let address = |egress: &Egress| egress.source.map_or("no address".to_owned(), |a| a.to_string());
    let at = |t: Time| format!("at {:.1} s", t.as_secs_f64());
    let routed = || after.iter().filter_map(|(t, egress)| Some((*t, egress.as_ref()?)));
    if let Some((t, other)) = routed().find(|(_, egress)| egress.name != before.name) {
        let (from, to) = (address(before), address(other));
        let evidence = format!("from {} ({from}) to {} ({to}) {}", before.name, other.name, at(t));
        return Some((Cause::InterfaceChange, evidence));
    }
    if let Some((t, _)) = routed().find(|(_, egress)| !egress.carrier || egress.index != before.index) {
        return Some((Cause::LocalLink, format!("{} was down {}", before.name, at(t))));
    }
    if let Some((t, other)) = routed().find(|(_, egress)| egress.source != before.source) {
        let evidence = format!("{}: {} became {} {}", before.name, address(before), address(other), at(t));
        return Some((Cause::AddressChange, evidence));
    }
    let (t, _) = after.iter().find(|(_, egress)| egress.is_none())?;
    Some((Cause::LocalLink, format!("no route over {} {}", before.name, at(*t))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn over(name: &str, index: u32, last: u8, carrier: bool) -> Option<Egress> {
        let source = Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        Some(Egress { index, name: name.into(), source, carrier })
    }

    fn watch(states: &[(f64, Option<Egress>)]) -> EgressWatch {
        let watch = EgressWatch::new(Ipv4Addr::LOCALHOST.into(), Clock::start());
        let states = states.iter().map(|(t, state)| (Time::from_secs_f64(*t), state.clone()));
        watch.history().extend(states);
        watch
    }

    /// WL-14: what is near the last byte shows a cause, in this order: interface, link, address, route. The rest shows none.
    #[test]
    fn wl_14_changes_near_the_last_byte_show_a_cause() {
        let wlan = || over("wlan0", 3, 2, true);
        let causes = |states: &[(f64, Option<Egress>)]| {
            let states = [&[(0.0, wlan())], states].concat();
            let last = Time::from_secs_f64(100.0);
            watch(&states).around(last).map(|(cause, _)| cause)
        };
        let other = || over("wwan0", 4, 9, true);
        assert_eq!(causes(&[(101.0, other())]), Some(Cause::InterfaceChange));
        assert_eq!(
            causes(&[(99.0, over("wlan0", 3, 2, false)), (101.0, other())]),
            Some(Cause::InterfaceChange)
        );
        assert_eq!(causes(&[(100.5, over("wlan0", 3, 2, false)), (101.0, wlan())]), Some(Cause::LocalLink));
        // A dial-up interface that is made anew with another address was down.
        assert_eq!(causes(&[(101.0, None), (102.0, over("wlan0", 5, 7, true))]), Some(Cause::LocalLink));
        assert_eq!(causes(&[(101.0, None), (102.0, over("wlan0", 3, 7, true))]), Some(Cause::AddressChange));
        assert_eq!(causes(&[(101.0, None), (104.0, wlan())]), Some(Cause::LocalLink));
        // Changes long before the last byte, or long after it.
        assert_eq!(causes(&[(94.0, other())]), None);
        assert_eq!(causes(&[(106.0, other())]), None);
        assert_eq!(causes(&[]), None);
        assert_eq!(watch(&[]).around(Time::ZERO), None);
        assert_eq!(watch(&[(0.0, None), (1.0, other())]).around(Time::ZERO), None);
    }

    #[test]
    fn the_evidence_names_interfaces_addresses_and_times() {
        let states = [(0.0, over("wlan0", 3, 2, true)), (2.5, over("wwan0", 4, 9, true))];
        let (_, evidence) = watch(&states).around(Time::from_secs_f64(2.0)).unwrap();
        assert_eq!(evidence, "from wlan0 (10.0.0.2) to wwan0 (10.0.0.9) at 2.5 s");
    }
}
