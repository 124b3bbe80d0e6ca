//! Receiver congestion manager with real stacks, as far as a program on Linux can be one: windows of two connections
//! are clamped (TCP_WINDOW_CLAMP) in the ratio of their priorities, and together slightly above the capacity of the
//! link (CM-01, CM-02, CM-09).
//!
//! The program clamps again at each read: a kernel sets the clamp by its buffer when the buffer grows, and when packets of
//! another size arrive (`tcp_measure_rcv_mss` of Linux 6.12). The senders are Reno: HyStart of CUBIC leaves slow start before
//! these windows are used. In namespaces and real time, and with kernels in virtual time. Where the process may not make namespaces, or there is no
//! python3 or no kernel, the test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::Desk;
use serde_json::Value;

/// Rate of the link, bit/s, and its capacity in a round trip of 100 ms, bytes.
const RATE: f64 = 800e3;
const PRODUCT: f64 = RATE / 8.0 * 0.1;

/// Data of both connections come at 800 kbit/s; each packet of 1500 B bears 1448 B.
const SCENARIO: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = { down = "800 kbit/s", up = "800 kbit/s" }
    delay = "50 ms"
    queue = { drop-tail = { limit = "400 packets" } }
    [[command]]
    name = "source"
    at = "server"
    serves = true
    run = """python3 -c '
import json, socket, struct, threading, time
looks = {}
def feed(c, port):
    begin = time.monotonic()
    try:
        while True:
            c.sendall(bytes(5000))
            if time.monotonic() > begin + 4:
                info = c.getsockopt(socket.IPPROTO_TCP, 11, 232)
                looks.setdefault(port, []).append([struct.unpack_from("I", info, at)[0] for at in (68, 228)])
    except OSError:
        c.close()
def tell(s):
    c = s.accept()[0]
    half = {port: sorted(all)[len(all) // 2] for port, all in looks.items()}
    c.sendall(json.dumps(half).encode())
    c.close()
threading.Thread(target=tell, args=(socket.create_server(("", 8001)),), daemon=True).start()
s = socket.create_server(("", 8000), backlog=4)
while True:
    c, (_, port) = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, 25, 10000)
    c.setsockopt(socket.IPPROTO_TCP, 13, b"reno")
    threading.Thread(target=feed, args=(c, port), daemon=True).start()
'"""
    [[command]]
    name = "reader"
    at = "phone"
    start = "500 ms"
    metrics = "json"
    run = """python3 -c '
import json, socket, threading, time
def load(name, clamp):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * clamp)
    c.setsockopt(socket.IPPROTO_TCP, 10, clamp)
    c.connect(("server", 8000))
    ports[str(c.getsockname()[1])] = name
    begin, got = time.monotonic(), 0
    while time.monotonic() < begin + 16:
        n = len(c.recv(65536))
        if n == 0:
            raise SystemExit(1)
        c.setsockopt(socket.IPPROTO_TCP, 10, clamp)
        if time.monotonic() > begin + 4:
            got += n
    found[name + "_bps"] = got * 8 / 12
    c.close()
found, ports = {}, {}
all = [threading.Thread(target=load, args=of) for of in (("high", CLAMP0), ("low", CLAMP1))]
for one in all:
    one.start()
for one in all:
    one.join()
told = b""
c = socket.create_connection(("server", 8001))
while True:
    part = c.recv(4096)
    if not part:
        break
    told += part
for port, (rtt, window) in json.loads(told).items():
    found[ports[port] + "_rtt_s"] = rtt / 1e6
    found[ports[port] + "_window"] = window
print(json.dumps(found))
'"""
    [run]
    limit = "30 s"
"#;

/// Results of the reader, with windows of this size in bytes; `None` if this kind of time is not available.
fn play(desk: &Desk, clock: &[&str], clamps: [u32; 2]) -> Option<[f64; 6]> {
    let file = format!("{}.toml", clamps[0]);
    let text = SCENARIO.replace("CLAMP0", &clamps[0].to_string()).replace("CLAMP1", &clamps[1].to_string());
    desk.write(&file, &text);
    let ended = desk.run(&[clock, &[&file, "--json"]].concat());
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
        return None;
    }
    if clock[0] == "emulate" && ended.code == 4 {
        eprintln!("skipped: this machine is too busy for a path in real time: {}", ended.err);
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    let names = ["high_bps", "low_bps", "high_window", "low_window", "high_rtt_s", "low_rtt_s"];
    Some(names.map(|name| find(&told, name).unwrap_or_else(|| panic!("no {name} in {}", ended.out))))
}

/// Mean of a metric, found at any depth of a JSON document.
fn find(value: &Value, name: &str) -> Option<f64> {
    match value {
        Value::Object(fields) => (fields.get(name))
            .and_then(|metric| metric.as_f64().or_else(|| metric.get("mean")?.as_f64()))
            .or_else(|| fields.values().find_map(|inner| find(inner, name))),
        Value::Array(items) => items.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

fn judge(clock: &[&str]) {
    let python = std::process::Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no python3 here");
        return;
    }
    let desk = Desk::new();
    for clamps in [[40_000, 20_000], [24_000, 12_000]] {
        let Some([high, low, wide, narrow, rtt, _]) = play(&desk, clock, clamps) else { return };
        // Queue = sum of the windows less the product of rate and delay: what both windows hold, headers counted, is sent once
        // in a round trip.
        let sum = (wide + narrow) * 1500.0 / 1448.0;
        let (expected, queue) = (sum * 8.0 / RATE, rtt * RATE / 8.0 - PRODUCT);
        eprintln!(
            "{}, {clamps:?}: windows {wide} and {narrow} B; {high:.0} and {low:.0} bit/s, ratio {:.2}; round trip {rtt:.3} s of \
             {expected:.3}, queue {queue:.0} B of {:.0}",
            clock[0],
            high / low,
            sum - PRODUCT
        );
        // A kernel advertises the clamped window in whole segments.
        for (window, clamp) in [(wide, clamps[0]), (narrow, clamps[1])] {
            let clamp = f64::from(clamp);
            assert!(window <= clamp && window > clamp - 1.5 * 1448.0, "{window} {clamp}");
        }
        // Data arrive once in a round trip, in bursts of a window: 12 s are 20 round trips, so a burst is 5 % of a rate.
        assert!((1.8..2.2).contains(&(high / low)), "{high} {low}");
        assert!((0.95..1.01).contains(&((high + low) / (RATE * 1448.0 / 1500.0))), "{high} {low}");
        assert!((0.9..1.1).contains(&(rtt / expected)), "{rtt} {expected}");
    }
}

#[test]
fn clamped_windows_share_the_link_in_real_time() {
    judge(&["emulate", "--lateness", "20 ms"]);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
fn clamped_windows_share_the_link_in_virtual_time() {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let kernel = home.join(".cache/williwaw/kernels/default/linux");
    if !kernel.is_file() {
        return eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
    }
    judge(&["run", "--linux", &kernel.to_string_lossy()]);
}
