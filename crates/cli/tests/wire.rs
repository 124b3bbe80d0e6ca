//! The claim: two interfaces of a host are one wire with a link in it (catalogue SW-01, SW-14). The host and the two
//! ends are network namespaces made here, with pairs of Ethernet devices between them, with a kernel's default
//! offloads: checksums left to the card, segments of 64 kB.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod wired;

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use wired::Wire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_williwaw");
const PATIENCE: Duration = Duration::from_secs(30);

/// Holder of a network namespace (and the first one also a user namespace) until it is dropped.
struct Host(Child);

impl Host {
    fn hold(mut command: Command) -> Option<Host> {
        let held =
            command.args(["sh", "-c", "echo up; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = Host(held.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(host.0.stdout.as_mut()?).read_line(&mut line).ok()?;
        (line == "up\n").then_some(host)
    }

    /// A command at this host.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.0.id().to_string();
        command.args(["--user", "--preserve-credentials", "--net", "--target", &target, "--", program]);
        command
    }

    fn output(&self, words: &str) -> Output {
        let mut words = words.split(' ');
        self.command(words.next().unwrap()).args(words).output().unwrap()
    }

    fn says(&self, words: &str) -> String {
        String::from_utf8_lossy(&self.output(words).stdout).into_owned()
    }

    fn does(&self, words: &str) -> bool {
        self.output(words).status.success()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host with two interfaces, and a device behind each.
struct Bench {
    host: Host,
    phone: Host,
    server: Host,
}

impl Bench {
    /// The hosts; `None` with a printed reason if namespaces cannot be made.
    fn new() -> Option<Bench> {
        if Command::new("python3").arg("--version").output().is_err() {
            eprintln!("skipped: there is no python3 here");
            return None;
        }
        let bench = Bench::built();
        if bench.is_none() {
            eprintln!(
                "skipped: no user namespaces, or no `ip`, with which to make a host with two interfaces"
            );
        }
        bench
    }

    fn built() -> Option<Bench> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--net"]);
        let host = Host::hold(unshare)?;
        let more = || {
            let mut command = host.command("unshare");
            command.arg("--net");
            Host::hold(command)
        };
        let (phone, server) = (more()?, more()?);
        for (i, (name, other)) in [("eth1", &phone), ("eth2", &server)].into_iter().enumerate() {
            let n = i + 1;
            let made = format!("ip link add {name} type veth peer name lan netns {}", other.0.id());
            let all = [
                (&host, made),
                (&host, format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1")),
                (&host, format!("ip link set {name} up")),
                (other, format!("ip address add 10.9.0.{n}/24 dev lan")),
                (other, format!("ip address add fd09::{n}/64 dev lan nodad")),
                (other, "ip link set lan up".into()),
                (other, "ip link set lo up".into()),
            ];
            if !all.iter().all(|(host, words)| host.does(words)) {
                return None;
            }
        }
        Some(Bench { host, phone, server })
    }

    fn wire(&self, args: &[&str]) -> Wire {
        let mut command = self.host.command(PROGRAM);
        command.args(["wire", "eth1", "eth2"]).args(args);
        let wire = Wire::open(command);
        assert_eq!(wire.ends, ["eth1", "eth2"]);
        wire
    }
}

/// Echoes of ICMP, for there may be no `ping`: the round trips in milliseconds.
const PING: &str = "import socket,struct,sys,time
to,count=sys.argv[1],int(sys.argv[2]); six=':' in to
def total(b):
    s=sum(struct.unpack('!%dH'%(len(b)//2),b))
    while s>65535: s=(s&65535)+(s>>16)
    return 65535-s
family,protocol=(socket.AF_INET6,58) if six else (socket.AF_INET,1)
s=socket.socket(family,socket.SOCK_RAW,protocol); s.settimeout(1.5)
for n in range(count):
    m=struct.pack('!BBHHH',128 if six else 8,0,0,7,n)+bytes(48)
    if not six: m=m[:2]+struct.pack('!H',total(m))+m[4:]
    t=time.monotonic(); s.sendto(m,(to,0))
    try:
        while True:
            b=s.recv(999); b=b if six else b[20:]
            if b[0]==(129 if six else 0) and b[4:8]==struct.pack('!HH',7,n): break
        print((time.monotonic()-t)*1e3,flush=True)
    except TimeoutError: pass
    time.sleep(0.1)";

/// Round-trip times of this number of echoes, milliseconds; only of answered ones.
fn ping(host: &Host, to: &str, count: usize) -> Vec<f64> {
    let done = host.command("python3").args(["-c", PING, to, &count.to_string()]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).lines().map(|line| line.parse().unwrap()).collect()
}

/// Bytes of one direction at an end, from the JSON document.
fn count(told: &Value, end: usize, what: &str) -> u64 {
    told["ends"][end][what].as_u64().unwrap()
}

/// SW-14: both versions of IP take the link's delay in either direction, and finding neighbours takes none; of losses of all
/// packets only they are left.
#[test]
fn delay_and_loss_are_those_of_the_link() {
    let Some(bench) = Bench::new() else { return };
    let wire = bench.wire(&["--link", "delay=40 ms"]);
    for to in ["10.9.0.2", "fd09::2"] {
        let times = ping(&bench.phone, to, 5);
        assert_eq!(times.len(), 5, "{to}");
        assert!(times.iter().all(|ms| *ms >= 80.0), "{to}: never early: {times:?}");
        assert!(times.iter().any(|ms| *ms < 120.0), "{to}: {times:?}");
        // The first would take 160 ms at least if its neighbour were found over the link.
        assert!(times[0] < 160.0, "{to}: {times:?}");
    }
    let told = wire.close();
    assert!(count(&told, 0, "frames_in") >= 10 && told["dropped"] == 0, "{told}");
    assert!(count(&told, 0, "beside") > 0, "{told}");
    for (host, other) in [(&bench.phone, "10.9.0.2"), (&bench.server, "10.9.0.1")] {
        assert!(host.does(&format!("ip neigh flush {other}")));
    }
    let wire = bench.wire(&["--link", "delay=5 ms, loss=100 %"]);
    assert!(ping(&bench.phone, "10.9.0.2", 3).is_empty());
    let known = bench.phone.says("ip neigh show 10.9.0.2");
    let address = bench.server.says("ip -json link show lan");
    let address: Value = serde_json::from_str(&address).unwrap();
    let address = address[0]["address"].as_str().unwrap();
    assert!(known.contains(address), "ARP passes: {known}");
    let told = wire.close();
    assert!(told["dropped"].as_u64() >= Some(3), "{told}");
}

const SERVE: &str = "import socket,hashlib,sys
s=socket.create_server(('10.9.0.2',5000)); print('up',flush=True)
c,_=s.accept(); h=hashlib.sha256(); n=0
while True:
    d=c.recv(65536)
    if not d: break
    h.update(d); n+=len(d)
c.sendall(h.hexdigest().encode()); c.close(); print(n)";
const SEND: &str = "import socket,hashlib,time,random
d=random.Random(1).randbytes(1500000)
t=time.time(); c=socket.create_connection(('10.9.0.2',5000),10)
c.sendall(d); c.shutdown(socket.SHUT_WR)
got=b''
while True:
    p=c.recv(100)
    if not p: break
    got+=p
print(time.time()-t, got.decode()==hashlib.sha256(d).hexdigest())";

/// SW-01: two kernels communicate by TCP through it, with their devices' offloads: the emulator does the card's work.
/// The rate and the losses are the link's, and packets on it are no larger than the devices allow.
#[test]
fn kernels_speak_tcp_through_it() {
    let Some(bench) = Bench::new() else { return };
    for (link, least) in [
        ("rate=8 Mbit/s, delay=10 ms, queue=60 packets", 1.5),
        ("rate=100 Mbit/s, delay=2 ms, queue=200 packets, loss=1 %", 0.1),
    ] {
        let wire = bench.wire(&["--link", link]);
        let mut served = bench.server.command("python3");
        let mut served = served.args(["-c", SERVE]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(served.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let since = Instant::now();
        let sent = bench.phone.command("python3").args(["-c", SEND]).output().unwrap();
        let took = since.elapsed();
        served.wait().unwrap();
        let text = String::from_utf8_lossy(&sent.stdout).into_owned();
        let told = wire.close();
        assert!(text.trim().ends_with("True"), "{text} {}", String::from_utf8_lossy(&sent.stderr));
        let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
        assert!(seconds >= least && took < PATIENCE, "{seconds} s over {link}");
        let (frames, bytes) = (count(&told, 0, "frames_in"), count(&told, 0, "bytes_in"));
        assert!(bytes >= 1_500_000 && bytes <= frames * 1500, "large ones are cut: {told}");
        assert_eq!((count(&told, 0, "uncut"), &told["timing"]["refused"]), (0, &0.into()), "{told}");
        if link.contains("loss") {
            assert!(told["dropped"].as_u64() > Some(0), "{told}");
        }
    }
}

/// Captures at both ends and at both sides of each link are Ethernet, and are read as such.
#[test]
fn captures_have_the_frames_of_both_ends() {
    let Some(bench) = Bench::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wire.pcapng");
    let wire = bench.wire(&["--link", "delay=10 ms", "--pcap", file.to_str().unwrap()]);
    assert_eq!(ping(&bench.phone, "10.9.0.2", 3).len(), 3);
    wire.close();
    let mut reader = capture::Reader::open(std::fs::File::open(&file).unwrap()).unwrap();
    let mut seen = [0usize; 6];
    let mut order = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        assert_eq!(base::wire::frame::Framing::Ethernet.packet(frame.bytes), Some(14));
        // Kernels send IPv6 packets of their own.
        seen[frame.interface as usize] += usize::from(frame.bytes[12..14] == [8, 0]);
        order.push(frame.time_ns);
    }
    assert_eq!(
        seen,
        [6, 6, 3, 3, 3, 3],
        "three requests and three replies at either end, three of one kind in a link"
    );
    assert!(order.is_sorted());
}

/// After a kill nothing remains: no interface is promiscuous, and the host's configuration is unchanged.
#[test]
fn killed_it_leaves_nothing() {
    let Some(bench) = Bench::new() else { return };
    let looks = || {
        ["ip address", "ip route show table all", "ip rule", "ip -6 route show table all", "tc qdisc show"]
            .map(|words| bench.host.says(words))
    };
    let promiscuous = || bench.host.says("ip -d link show eth1").contains("promiscuity 1 ");
    let before = looks();
    assert!(!promiscuous());
    for signal in ["KILL", "TERM", "HUP"] {
        let mut wire = bench.wire(&["--link", "delay=5 ms"]);
        assert_eq!(ping(&bench.phone, "10.9.0.2", 1).len(), 1);
        assert!(promiscuous(), "{}", bench.host.says("ip -d link show eth1"));
        let strip = |looks: [String; 5]| looks.map(|text| text.replace("PROMISC,", ""));
        assert_eq!(strip(looks()), strip(before.clone()), "addresses, routes, rules, queues");
        wire.signal(signal);
        wire.process.wait().unwrap();
        let since = Instant::now();
        while promiscuous() {
            assert!(since.elapsed() < PATIENCE, "still promiscuous");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(looks(), before);
        assert!(ping(&bench.phone, "10.9.0.2", 1).is_empty(), "and nothing passes");
    }
}

/// Invalid ends of a wire are refused with a remedy.
#[test]
fn unfit_ends_are_refused() {
    let Some(bench) = Bench::new() else { return };
    let refused = |ends: &[&str], words: &str| {
        let output = bench.host.command(PROGRAM).arg("wire").args(ends).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(if ends[0] == ends[1] { 2 } else { 3 }), "{said}");
        assert!(said.contains(words) && said.contains("help:"), "{words}: {said}");
    };
    refused(&["eth1", "eth7"], "no interface `eth7`");
    refused(&["eth1", "eth1"], "same");
    // Missing rights are reported with the remedy: in a user namespace of its own a process has no rights over this
    // network.
    let output =
        bench.host.command("unshare").args(["--user", PROGRAM, "wire", "eth1", "eth2"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("needs rights") && said.contains("as root"), "{said}");
    refused(&["eth1", "lo"], "does not carry Ethernet");
    assert!(bench.host.does("ip link set eth2 mtu 1400"));
    refused(&["eth1", "eth2"], "ip link set eth2 mtu 1500");
    assert!(bench.host.does("ip link set eth2 mtu 1500"));
    if bench.host.does("ip link add bridge0 type bridge") {
        assert!(
            bench.host.does("ip link set eth1 master bridge0")
                && bench.host.does("ip link set eth2 master bridge0")
        );
        refused(&["eth1", "eth2"], "one bridge");
        assert!(bench.host.does("ip link delete bridge0"));
    }
    assert!(bench.host.does("ip link set eth2 down"));
    refused(&["eth1", "eth2"], "is down");
}
