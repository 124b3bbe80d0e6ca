//! Accuracy of an emulated delay: two namespaces, a link between them, and the probe `owd` (peers'
//! `emulation/probes/owd.c`) at both ends, which takes the kernel's receive stamp:
//!
//!     cargo run --release -p williwaw-emulate --example delay -- OWD PPS COUNT SIZE [DELAY_MS] [SPIN_US] [fair] [plain]
//!
//! `fair` does without real-time priority, `plain` without segmentation offload. `OWD blast SECONDS SIZE` in place of the numbers measures capacity.
#![allow(clippy::print_stdout, reason = "it is a program")]
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "Linux only"))]

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use base::rng::Seed;
    use base::trace::Tracer;
    use base::{Span, Time};
    use emulate::driver::{Driver, Gateway, PortOwner};
    use netns::clock::Clock;
    use netns::namespace::Namespace;
    use std::net::Ipv4Addr;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, or: &str| words.get(i).cloned().unwrap_or(or.into());
    let (owd, pps, count, size) = (word(0, "owd"), word(1, "1000"), word(2, "5000"), word(3, "72"));
    let delay: u64 = word(4, "50").parse()?;
    let spin: u64 = word(5, "0").parse()?;
    let realtime = !words.iter().any(|w| w == "fair");
    let offload = !words.iter().any(|w| w == "plain");
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"a\", \"b\"]\nrate = \"100 Gbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"unlimited\"\n\
         [[flow]]\nname = \"probe\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"linux\"\napp = \"bulk\"\n"
    );
    let scenario = scenario::read("delay.toml", text.as_bytes(), &scenario::NoFiles)
        .map_err(|d| d.render(scenario::Style::default()))?;
    let world = scenario::build::build(scenario.first(), Seed { seed: 1, repetition: 0 }, Tracer::off());
    let mut network = world.network;
    network.start(None);
    let (from, to) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2));
    let spaces = [Namespace::new()?, Namespace::new()?];
    let ends = world.flows[0];
    let gateways = vec![
        Gateway {
            packet_port: ends.from,
            device: spaces[0].device(from, 1500, offload)?,
            kind: PortOwner::Flow,
        },
        Gateway { packet_port: ends.to, device: spaces[1].device(to, 1500, offload)?, kind: PortOwner::Flow },
    ];
    let clock = Clock::starting_in(Span::ZERO);
    let mut driver = Driver::new(network, gateways, clock, Span::from_nanos(spin * 1000));
    let over = AtomicBool::new(false);
    let nominal = (delay * 1000).to_string();
    let blast = pps == "blast";
    let used = std::thread::scope(|scope| -> Result<Span, Box<dyn std::error::Error>> {
        let driving = scope.spawn(|| {
            driver.settle_in(realtime);
            driver.run(|_, now: Time| over.load(Ordering::Relaxed) || now > Time::from_secs_f64(120.0))?;
            Ok::<_, std::io::Error>(netns::sys::thread_time())
        });
        let mut receiver = Command::new(&owd);
        if blast {
            receiver.args(["sink", "7000", "2"]);
        } else {
            receiver.args(["recv", "7000", &nominal, "2"]);
        }
        spaces[1].bind(&mut receiver);
        let mut receiver = receiver.spawn()?;
        #[allow(clippy::disallowed_methods, reason = "the receiver needs a moment to open its ear")]
        std::thread::sleep(std::time::Duration::from_millis(300));
        let mut sender = Command::new(&owd);
        if blast {
            sender.args(["blast", &to.to_string(), "7000", &count, &size]);
        } else {
            sender.args(["send", &to.to_string(), "7000", &pps, &count, &size]);
        }
        spaces[0].bind(&mut sender);
        sender.status()?;
        receiver.wait()?;
        over.store(true, Ordering::Relaxed);
        Ok(driving.join().map_err(|_| "the driver panicked")??)
    })?;
    let t = &driver.timing;
    let us = |span: Span| span.as_secs_f64() * 1e6;
    println!(
        "driver: {} packets, {:.0} ns of its thread each, late p50 {:.1} p90 {:.1} p99 {:.1} p99.9 {:.1} max {:.1} us; ingress bound p50 {:.1} p99 {:.1} us; refused {}, overrun {}, strange {}, real-time {}",
        t.egress.count(),
        used.as_secs_f64() * 1e9 / t.egress.count() as f64,
        us(t.egress.quantile(0.5)),
        us(t.egress.quantile(0.9)),
        us(t.egress.quantile(0.99)),
        us(t.egress.quantile(0.999)),
        us(t.egress.max()),
        us(t.ingress.quantile(0.5)),
        us(t.ingress.quantile(0.99)),
        t.refused,
        spaces[0].overrun()? + spaces[1].overrun()?,
        t.strange,
        t.realtime
    );
    Ok(())
}
