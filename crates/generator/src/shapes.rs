//! Thirteen families of scenarios of growing size, for measuring how the cost of a run grows
//! (`benches/growth.sh`).

use scenario::{Diagnostics, Scenario};

/// Name of each family, and what its size `n` counts.
pub const SHAPES: [(&str, &str); 13] = [
    ("bulk", "segments of one transfer"),
    ("frames", "frames of a link with ARQ whose acknowledgements overtake each other"),
    ("reordering", "segments on a link that reorders them"),
    ("receive-buffer", "packets behind a long delay and a bounded receive buffer"),
    ("overload", "packets of background load into an unlimited queue"),
    ("flows", "flows that share a bottleneck, times 50"),
    ("requests", "requests and replies"),
    ("gates", "interruptions of a link"),
    ("cells", "cells of a grid"),
    ("messages", "messages with a deadline in queues by class"),
    ("fragments", "fragments of ADUs that ATP sends without a window"),
    ("carried", "fragments of ADUs that DCCP carries"),
    ("lifetimes", "datagrams of DCCP with a lifetime that wait for the congestion window"),
];

/// The scenario of this family and size; `None` for an unknown name.
pub fn shape(name: &str, n: u64) -> Option<Result<Scenario, Diagnostics>> {
    let hop = |more: &str| format!("[[hop]]\nname = \"h\"\nbetween = [\"s\", \"r\"]\n{more}\n");
    let fast = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"";
    let flow = |name: &str, app: &str| {
        format!("[[flow]]\nname = \"{name}\"\nfrom = \"s\"\nto = \"r\"\napp = {{ {app} }}\n")
    };
    let bulk = |segments: u64| format!("bulk = {{ bytes = \"{} B\" }}", segments * 1460);
    let queue = "queue = { drop-tail = { limit = \"50 packets\" } }";
    let seconds = |x: f64| format!("[run]\nlimit = \"{x} s\"\n");
    let body = match name {
        "bulk" => hop(fast) + &flow("f", &bulk(n)),
        "frames" => {
            hop(
                "rate = \"100 Mbit/s\"\ndelay = \"1 ms\"\norder = \"free\"\nframing = { payload = \"15 B\" }\n\
                 arq = { feedback = \"uniform(0 s, 5 s)\" }\n[[hop.error]]\nname = \"e\"\nprobability = 0.01",
            ) + &flow("f", &bulk(n.div_ceil(100)))
        }
        "reordering" => {
            hop("rate = \"10 Mbit/s\"\ndelay = { random = \"uniform(10 ms, 3 s)\", reorder = true }")
                + &flow("f", &format!("cbr = {{ rate = \"9 Mbit/s\", packet = \"1000 B\", count = {n} }}"))
                    .replace("app =", "transport = \"udp\"\napp =")
        }
        "receive-buffer" => {
            hop(
                "rate = \"100 Mbit/s\"\ndelay = \"10 s\"\nreceive-buffer = \"50 packets\"\n[[hop.error]]\nname = \"e\"\n\
                 probability = 0.01\nmode = \"delay\"\ndelay = \"5 ms\"",
            ) + &flow("f", &format!("cbr = {{ rate = \"90 Mbit/s\", packet = \"1000 B\", count = {n} }}"))
                .replace("app =", "transport = \"udp\"\napp =")
        }
        "overload" => {
            hop(
                "rate = \"8 kbit/s\"\ndelay = \"1 ms\"\n[[hop.background]]\nname = \"b\"\ndirections = \"down\"\nrate = \"8 Mbit/s\"",
            ) + &flow("f", "bulk = { bytes = \"100 MB\" }")
                + &seconds(n as f64 / 1000.0)
        }
        "flows" => {
            let flows = (0..n.div_ceil(50)).map(|i| flow(&format!("f{i}"), &bulk(50)));
            hop(fast) + &flows.collect::<String>()
        }
        "requests" => {
            hop(fast)
                + &flow(
                    "f",
                    &format!("request-reply = {{ request = \"300 B\", reply = \"1000 B\", count = {n} }}"),
                )
        }
        "gates" => {
            hop(&format!("{fast}\n[[hop.gate]]\nname = \"g\"\nevery = \"20 ms\"\nlasts = \"1 ms\""))
                + &flow("f", "bulk = {}")
                + &seconds(n as f64 / 50.0)
        }
        "cells" => {
            let seeds: Vec<String> = (0..n).map(|i| format!("\"{} ms\"", 1 + i)).collect();
            hop("rate = \"10 Mbit/s\"\ndelay = \"1 ms\"")
                + &flow("f", &bulk(5))
                + &format!("[grid]\n\"flow.f.start\" = [{}]\n", seeds.join(", "))
        }
        "messages" => {
            hop(
                "rate = \"1 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { drop-late = { limit = \"500 packets\" } }\n\
                 [[hop.class]]\nname = \"small\"\nat-most = \"100 B\"\npriority = 0",
            ) + &flow("f", &format!("cbr = {{ rate = \"1.2 Mbit/s\", packet = \"1000 B\", count = {n} }}"))
                .replace("app =", "transport = \"udp\"\napp =")
        }
        "fragments" | "carried" => {
            let (atp, queue) = match name {
                "fragments" => ("control = \"none\"", ""),
                _ => ("carrier = \"dccp\"", queue),
            };
            hop(&format!("{fast}\n{queue}"))
                + &flow("f", &format!("bulk = {{ bytes = \"{} B\" }}", n * 11)).replace(
                    "app =",
                    &format!(
                        "transport = {{ atp = {{ {atp}, payload = \"11 B\", buffer = \"8 kB\" }} }}\napp ="
                    ),
                )
        }
        "lifetimes" => hop(&format!("rate = \"1 Mbit/s\"\ndelay = \"50 ms\"\n{queue}"))
            + &flow("f", &format!("cbr = {{ rate = \"100 Mbit/s\", packet = \"100 B\", count = {n} }}"))
                .replace(
                    "app =",
                    "transport = { dccp = { ccid = 2, lifetime = \"1000 s\", payload = \"100 B\" } }\napp =",
                ),
        _ => return None,
    };
    let text = format!("williwaw = 1\n{body}");
    Some(scenario::read(name, text.as_bytes(), &scenario::NoFiles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_grows_with_its_size() {
        for (name, _) in SHAPES {
            let events = |n| {
                let scenario = shape(name, n).unwrap().unwrap_or_else(|d| panic!("{name}: {d}"));
                crate::check::run(&scenario).unwrap().events as f64
            };
            let ratio = events(3200) / events(1600);
            assert!((1.3..2.6).contains(&ratio), "{name}: {ratio}");
        }
        assert!(shape("nothing", 1).is_none());
    }
}
