//! Grammar of kernels at flow ends and nodes (`linux`): version, sockets, IP, MTU, congestion control,
//! sysctls, commands.
//!
//! Congestion control, MTU and sysctls have their kernel names and apply to the namespaces of the flow only.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::grammar::tree::{Tree, Value};
use crate::model::{Ip, Linux, Protocol};
use base::Span;
use base::wire::deadline::{self, Encoding};

/// `transport = { linux = { ... } }`.
pub(crate) static LINUX: TableShape = table(
    "linux",
    "TCP or UDP of the Linux kernel. `run` plays it in virtual time with a kernel built for that; `emulate` in real \
     time with the kernel of the machine it runs on.",
    &[
        CC,
        field(
            "ccid",
            Shape::One(ValueKind::Count(2, 3)),
            Need::Optional,
            "Congestion control of DCCP: 2 TCP-like (RFC 4341), 3 TFRC (RFC 4342). Without it, 3.",
        ),
        field(
            "ip",
            Shape::One(ValueKind::Count(4, 6)),
            Need::Default("4"),
            "IP version of its packets, 4 or 6. Packets of version 6 are larger by 20 B of header, and `mtu` is at \
             least 1280 B.",
        ),
        KERNEL,
        field(
            "lifetime",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Lifetime of its packets in the network: the packet port writes their deadline into an IP timestamp \
             option of 8 B, for which the device's MTU leaves room. Without it, only deadlines that programs write \
             apply.",
        ),
        field(
            "deadline-encoding",
            Shape::One(ValueKind::Word(Encoding::NAMES)),
            Need::Default("\"expiration\""),
            "How deadlines are written: the time of day of expiry with the high bit set, or the time of sending and the lifetime in the TTL (100 ms to 25.5 s).",
        ),
        MODEM,
        MTU,
        field(
            "payload",
            Shape::One(ValueKind::Bytes),
            Need::Optional,
            "Maximum message bytes in one datagram, where `protocol` is udp or dccp. Larger messages take several \
             datagrams of at least 4 B. Without it, the payload of a packet; for dccp at most 1000 B.",
        ),
        field(
            "program",
            Shape::One(ValueKind::Text),
            Need::Optional,
            "In real time, a shell command that is this end, opposite a model: it runs in the end's network namespace with sockets of its own, of this host's kernel or of a stack in user space. WILLIWAW_HERE, WILLIWAW_PEER, WILLIWAW_PORT and WILLIWAW_BYTES are in its environment.",
        ),
        field(
            "protocol",
            Shape::One(ValueKind::Word(&["tcp", "udp", "mptcp", "sctp", "dccp"])),
            Need::Default("\"tcp\""),
            "Protocol of its sockets: tcp carries everything; udp, messages at their own pace; mptcp (RFC 8684) and \
             sctp (RFC 9260), in virtual time, bulk data; dccp (RFC 4340), in virtual time, both. In real time, a \
             `program` provides sctp.",
        ),
        SYSCTL,
    ],
);

/// Table `linux` of a node.
pub(crate) static MACHINE: TableShape = table(
    "machine",
    "The kernel at a node where commands run.",
    &[
        CC,
        KERNEL,
        MODEM,
        MTU,
        field(
            "root",
            Shape::One(ValueKind::Text),
            Need::Default("\"/\""),
            "In virtual time, the folder of this machine that programs see as `/`; they can change nothing in it. In real time it is `/`.",
        ),
        SYSCTL,
    ],
);

const CC: Field = field(
    "cc",
    Shape::One(ValueKind::Name),
    Need::Optional,
    "Its congestion control: \"cubic\", \"reno\", \"bbr\". Without it, the kernel's default.",
);
const KERNEL: Field = field(
    "kernel",
    Shape::One(ValueKind::Text),
    Need::Optional,
    "In virtual time, the kernel: a name given to `williwaw linux build`, or the path of a binary. Without it, the one given to `run`. In real time it is the machine's.",
);
const MODEM: Field = field(
    "modem",
    Shape::One(ValueKind::Rate),
    Need::Optional,
    "Rate of the network card in virtual time. The card holds packets until they are sent, so that the kernel's own queues fill. Without it, the card sends at once.",
);
const MTU: Field =
    field("mtu", Shape::One(ValueKind::Bytes), Need::Default("\"1500 B\""), "Largest IP packet.");
const SYSCTL: Field = field(
    "sysctl",
    Shape::Settings,
    Need::Optional,
    "Settings of the network stack, at both ends if it is a flow's, such as { tcp_frto = 0 }. A name without a dot is under `net.ipv4`.",
);

/// MTUs that the kernel accepts for IPv4 and a TUN device, bytes.
const MTUS: std::ops::RangeInclusive<u64> = 68..=65_535;
const LEAST_MTU: u32 = 68;

/// Reads the table, if `transport` is `linux`.
pub(crate) fn read(transport: &Tree, cx: &Cx<'_>) -> Option<Linux> {
    let tree = match &transport.value {
        Value::Text(word) if word == "linux" => transport,
        Value::Table(table) => &table.get("linux")?.tree,
        _ => return None,
    };
    let reader = Reader::new(tree, &LINUX);
    let settings = settings(Reader::new(tree, &LINUX), cx);
    let settings = Linux { ip: ip(reader, settings.mtu, cx), ..settings };
    let stamp = stamp(reader, settings.ip, cx);
    // The deadline option must fit into the path's MTU.
    let room = if stamp.is_some() { deadline::OPTION as u32 } else { 0 };
    let settings = Linux { stamp, mtu: settings.mtu.saturating_sub(room).max(LEAST_MTU), ..settings };
    let protocol = protocol(reader, &settings, cx);
    Some(Linux { protocol, program: program(reader, cx), ..settings })
}

/// Command of an end.
fn program(reader: Reader<'_>, cx: &Cx<'_>) -> Option<String> {
    let program = leaf::text(reader.get("program")?).ok()?;
    if program.trim().is_empty() {
        let place = reader.place("program");
        let diagnostic = Diagnostic::error("bad-value", place, "the command is empty");
        cx.push(diagnostic.help("write program = \"COMMAND\", or leave it out"));
    }
    Some(program)
}

/// Deadline added to the packets, if any.
fn stamp(reader: Reader<'_>, ip: Ip, cx: &Cx<'_>) -> Option<(Encoding, Span)> {
    let tree = reader.get("lifetime")?;
    let (lifetime, encoding) =
        (reader.span("lifetime")?, Encoding::from_name(reader.word("deadline-encoding")?)?);
    let wrong = if ip == Ip::V6 {
        Some((
            "IPv6 has no timestamp option that could carry a deadline",
            "write ip = 4, or leave `lifetime` out",
        ))
    } else if !encoding.holds(lifetime) {
        Some((
            "this encoding does not hold the lifetime",
            "timestamp-and-ttl holds 100 ms to 25.5 s, expiration up to 12 h",
        ))
    } else {
        None
    };
    if let Some((message, help)) = wrong {
        cx.push(Diagnostic::error("impossible", tree.place, message).help(help));
        return None;
    }
    Some((encoding, lifetime))
}

/// Payload of a datagram, bytes: at least its 4-byte number.
const PAYLOADS: std::ops::RangeInclusive<u64> = 4..=65_507;
/// UDP header, bytes.
const UDP_HEADER: u32 = 8;
/// DCCP generic header with extended sequence numbers and acknowledgement (RFC 4340 section 5.1), and the
/// kernel's allowance for options, bytes.
const DCCP_HEADER: u32 = 24 + 16;
/// Default payload of DCCP packets, equal to the model's, bytes.
const DCCP_PAYLOAD: u32 = 1000;
/// Least MTU of IPv6 links (RFC 8200 section 5), bytes.
const LEAST_OF_VERSION_6: u32 = 1280;

/// Reads the IP version and checks the MTU against it.
fn ip(reader: Reader<'_>, mtu: u32, cx: &Cx<'_>) -> Ip {
    match reader.count("ip") {
        Some(6) if mtu < LEAST_OF_VERSION_6 => {
            let message =
                format!("IPv6 has no links of less than {LEAST_OF_VERSION_6} B, and `mtu` is {mtu} B");
            let diagnostic = Diagnostic::error("impossible", reader.place("mtu"), message);
            cx.push(
                diagnostic.also(reader.place("ip"), "chosen here").help("write ip = 4, or a larger `mtu`"),
            );
            Ip::V6
        }
        Some(6) => Ip::V6,
        Some(5) => {
            let diagnostic = Diagnostic::error("bad-value", reader.place("ip"), "5 is no version of IP");
            cx.push(diagnostic.help("write ip = 4 or ip = 6"));
            Ip::V4
        }
        _ => Ip::V4,
    }
}

/// Reads the socket type, and the payload of its datagrams if it has any.
fn protocol(reader: Reader<'_>, linux: &Linux, cx: &Cx<'_>) -> Protocol {
    let payload = reader.get("payload").is_some().then(|| reader.bytes("payload"));
    let word = reader.word("protocol");
    if word != Some("dccp") && reader.get("ccid").is_some() {
        let message = "only DCCP has a `ccid`";
        let diagnostic = Diagnostic::error("impossible", reader.place("ccid"), message);
        cx.push(diagnostic.help("add protocol = \"dccp\", or `cc` for TCP"));
    }
    if !matches!(word, Some("udp" | "dccp")) && payload.is_some() {
        let message = "only datagrams have a `payload`";
        cx.push(
            Diagnostic::error("impossible", reader.place("payload"), message)
                .help("add protocol = \"udp\", or set the size of TCP packets with `mtu`"),
        );
    }
    let no_choice = |message: &str| {
        if linux.cc.is_some() {
            cx.push(
                Diagnostic::error("impossible", reader.place("cc"), message)
                    .also(reader.place("protocol"), "chosen here")
                    .help("leave `cc` out"),
            );
        }
    };
    match word {
        Some("mptcp") => Protocol::Mptcp,
        Some("sctp") => {
            no_choice("SCTP has no choice of congestion controls");
            Protocol::Sctp
        }
        Some("udp") => {
            no_choice("UDP has no congestion control");
            let fits = linux.mtu.saturating_sub(linux.ip.header() + UDP_HEADER);
            Protocol::Udp { payload: datagram(reader, payload.flatten(), fits, u32::MAX, cx) }
        }
        Some("dccp") => {
            no_choice("DCCP has `ccid` in place of `cc`");
            let fits = linux.mtu.saturating_sub(linux.ip.header() + DCCP_HEADER);
            // The kernel does not fragment DCCP packets.
            let payload = datagram(reader, payload.flatten(), fits.min(DCCP_PAYLOAD), fits, cx);
            let ccid = if reader.count("ccid") == Some(2) { 2 } else { 3 };
            Protocol::Dccp { ccid, payload }
        }
        _ => Protocol::Tcp,
    }
}

/// Payload of a datagram: as written, at most `most`, by default `usual`.
fn datagram(reader: Reader<'_>, asked: Option<u64>, usual: u32, most: u32, cx: &Cx<'_>) -> u32 {
    let Some(payload) = asked else { return usual };
    let wrong = if !PAYLOADS.contains(&payload) {
        Some(format!("`payload` of a datagram is from {} B to {} B", PAYLOADS.start(), PAYLOADS.end()))
    } else if payload > u64::from(most) {
        Some(format!("a packet of DCCP holds at most {most} B here, and `payload` is {payload} B"))
    } else {
        None
    };
    if let Some(message) = wrong {
        cx.push(Diagnostic::error("bad-value", reader.place("payload"), message));
    }
    payload as u32
}

/// Reads the kernel settings of a node.
pub(crate) fn node_kernel(tree: &Tree, cx: &Cx<'_>) -> Linux {
    let reader = Reader::new(tree, &MACHINE);
    let root = reader.get("root").and_then(|tree| leaf::text(tree).ok());
    Linux { root, ..settings(reader, cx) }
}

/// Reads the settings of the table.
fn settings(reader: Reader<'_>, cx: &Cx<'_>) -> Linux {
    let cc = reader.get("cc").and_then(|tree| leaf::name(tree).ok());
    let kernel = reader.get("kernel").and_then(|tree| leaf::text(tree).ok());
    let modem = reader.get("modem").and_then(|tree| leaf::rate(tree).ok());
    if modem.is_some_and(|rate| rate.bps() == 0) {
        cx.push(
            Diagnostic::error("bad-value", reader.place("modem"), "a network card cannot have rate 0")
                .help("give it a rate, such as \"64 kbit/s\"; a gate on the link holds packets for a while"),
        );
    }
    let mtu = reader.bytes("mtu").unwrap_or(1500);
    if !MTUS.contains(&mtu) {
        cx.push(
            Diagnostic::error("bad-value", reader.place("mtu"), format!("an MTU of {mtu} B is out of range"))
                .help(format!("an mtu is between {} B and {} B", MTUS.start(), MTUS.end())),
        );
    }
    let written = reader.get("sysctl").and_then(Tree::table);
    let sysctl = written
        .iter()
        .flat_map(|table| &table.entries)
        .filter_map(|entry| Some((full_name(&entry.key)?, value(&entry.tree)?)))
        .collect();
    Linux { kernel, cc, mtu: mtu as u32, sysctl, modem, ..Linux::default() }
}

/// Checks a table of sysctls.
pub(crate) fn check(tree: &Tree, key: &str, cx: &Cx<'_>) {
    let Some(table) = tree.table() else {
        return crate::grammar::validate::wrong_type(tree, key, "a table", "write { tcp_frto = 0 }", cx);
    };
    for entry in table.entries.iter().take_while(|_| !cx.full()) {
        if full_name(&entry.key).is_none() {
            let shown: String = entry.key.chars().take(60).collect();
            cx.push(
                Diagnostic::error("bad-value", entry.key_place, format!("`{shown}` is no setting of a network"))
                    .help("write \"net.ipv4.tcp_frto\", or tcp_frto alone; only names under `net.` belong to a namespace"),
            );
        }
        if value(&entry.tree).is_none() {
            let what = "a number, true or false, or a text";
            let help = if entry.tree.table().is_some() { "a name with dots needs quotes" } else { "" };
            crate::grammar::validate::wrong_type(&entry.tree, &entry.key, what, help, cx);
        }
    }
}

/// Full name of a sysctl; `None` if it cannot belong to a network namespace.
pub(crate) fn full_name(key: &str) -> Option<String> {
    let good = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let full = if key.contains('.') { key.to_owned() } else { format!("net.ipv4.{key}") };
    (full.starts_with("net.") && full.split('.').all(good) && full.len() <= 100).then_some(full)
}

fn value(tree: &Tree) -> Option<String> {
    match &tree.value {
        Value::Text(text) if !text.trim().is_empty() && !text.contains(['\n', '\0']) && text.len() <= 200 => {
            Some(text.clone())
        }
        Value::Integer(n) => Some(n.to_string()),
        Value::Flag(on) => Some(u8::from(*on).to_string()),
        _ => None,
    }
}
