//! The claim: keys of a real kernel are read completely, can be changed by their path, and are rejected where no
//! kernel supports them.

use scenario::model::{Ip, Linux, Model, Protocol};
use scenario::{NoFiles, Style, read_with};
use transport::tcp::Role;

fn read(transport: &str, set: &[&str]) -> Result<Model, String> {
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\ndelay = \"10 ms\"\nqueue = \"unlimited\"\nrate = \"1 Mbit/s\"\n\
         [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {transport}\napp = \"bulk\"\n"
    );
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    match read_with("test.toml", text.as_bytes(), &NoFiles, &set) {
        Ok(scenario) => Ok(scenario.first().clone()),
        Err(diagnostics) => Err(diagnostics.render(Style::default())),
    }
}

fn linux(transport: &str, set: &[&str]) -> Linux {
    let model = read(transport, set).unwrap_or_else(|e| panic!("{e}"));
    model.flows[0].transport.linux().cloned().unwrap_or_else(|| panic!("a model"))
}

#[test]
fn a_kernel_is_asked_for_by_one_word_or_with_settings() {
    assert_eq!(linux("\"linux\"", &[]), Linux::default());
    let told = linux(
        "{ linux = { cc = \"cubic\", mtu = \"576 B\", sysctl = { tcp_frto = 0, \"net.ipv4.tcp_sack\" = true, tcp_rmem = \"4096 1 1\" } } }",
        &[],
    );
    let sysctl = [("net.ipv4.tcp_frto", "0"), ("net.ipv4.tcp_sack", "1"), ("net.ipv4.tcp_rmem", "4096 1 1")];
    let sysctl = sysctl.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    assert_eq!(told, Linux { cc: Some("cubic".into()), mtu: 576, sysctl, ..Linux::default() });
    for (word, protocol) in [("tcp", Protocol::Tcp), ("mptcp", Protocol::Mptcp), ("sctp", Protocol::Sctp)] {
        assert_eq!(linux(&format!("{{ linux = {{ protocol = \"{word}\" }} }}"), &[]).protocol, protocol);
    }
    for (version, ip) in [(4, Ip::V4), (6, Ip::V6)] {
        assert_eq!(linux(&format!("{{ linux = {{ ip = {version} }} }}"), &[]).ip, ip);
    }
}

#[test]
fn paths_lead_to_it_and_away() {
    let path = "flow.download.transport";
    let told = linux(
        "\"tcp\"",
        &[&format!("{path}.linux.sysctl.tcp_frto=2"), &format!("{path}.linux.sysctl.net.ipv4.tcp_sack=0")],
    );
    assert_eq!(
        told.sysctl,
        [("net.ipv4.tcp_frto".into(), "2".into()), ("net.ipv4.tcp_sack".into(), "0".into())]
    );
    let model = read("{ linux = { cc = \"reno\" } }", &[&format!("{path}=tcp")]).unwrap();
    assert!(model.flows[0].transport.tcp().is_some());
}

/// Different ends: a kernel and a model, or two kernels; an override path may name an end, and without one it applies to ends
/// with the variant in the path.
#[test]
fn each_end_may_have_its_own() {
    let path = "flow.download.transport";
    let kernels = |transport: &str, set: &[&str]| {
        let model = read(transport, set).unwrap_or_else(|e| panic!("{e}"));
        let ccs = model.flows[0].transport.kernels().map(|end| end.map(|linux| linux.cc.clone()));
        (
            ccs,
            model.flows[0].transport.at(Role::Active).tcp().is_some(),
            model.flows[0].transport.tcp().is_some(),
        )
    };
    let bbr = || Some(Some("bbr".to_owned()));
    let mixed =
        "{ from = { tcp = { profile = \"rfc\", mss = \"536 B\" } }, to = { linux = { cc = \"bbr\" } } }";
    assert_eq!(kernels(mixed, &[]), ([None, bbr()], true, false));
    assert_eq!(kernels("{ from = \"linux\", to = \"tcp\" }", &[]), ([Some(None), None], false, false));
    assert_eq!(kernels("\"tcp\"", &[&format!("{path}.to.linux.cc=bbr")]), ([None, bbr()], true, false));
    assert_eq!(
        kernels("\"linux\"", &[&format!("{path}.to.linux.cc=bbr")]),
        ([Some(None), bbr()], false, false)
    );
    let both = "{ from = \"linux\", to = \"tcp\" }";
    assert_eq!(kernels(both, &[&format!("{path}.linux.cc=bbr")]), ([bbr(), None], false, false));
    assert_eq!(kernels(both, &[&format!("{path}=tcp")]), ([None, None], true, true));
    let model = read(both, &[&format!("{path}.tcp.mss=512 B")]).unwrap();
    assert_eq!(model.flows[0].transport.at(Role::Passive).tcp().map(|config| config.mss), Some(512));
}

#[test]
fn what_no_kernel_takes_is_refused() {
    for (transport, said) in [
        ("{ from = \"linux\" }", "`transport` is given for `from` but not for `to`"),
        ("{ from = \"linux\", to = \"tcp\", via = \"tcp\" }", "there is no end `via`"),
        ("{ from = \"tcp\", to = \"sctp\" }", "only a model of TCP or SCTP, opposite a kernel"),
        (
            "{ from = \"tcp\", to = { tcp = { profile = \"ns2-2001\" } } }",
            "open connections in different ways",
        ),
        (
            "{ from = \"tcp\", to = { tcp = { wire.header = \"60 B\" } } }",
            "count different bytes on the wire",
        ),
        ("{ from = \"linux\", to = \"udp\" }", "datagrams of the model have one configuration for both ends"),
        (
            "{ from = \"tcp\", to = { linux = { protocol = \"sctp\" } } }",
            "the model at the other end uses TCP",
        ),
        ("{ from = { linux = { protocol = \"mptcp\" } }, to = \"linux\" }", "use different protocols"),
        ("{ from = { linux = { ip = 6 } }, to = \"linux\" }", "use different versions of IP"),
        (
            "{ from = { tcp = { profile = \"ns2-2001\" } }, to = \"linux\" }",
            "opens connections in one direction",
        ),
        (
            "{ from = \"linux\", to = { tcp = { spurious = \"retransmit-flag\" } } }",
            "without a place in the header",
        ),
        ("{ from = \"linux\", to = { tcp = { mss = \"1 B\" } } }", "must be from 64 to 65000 bytes"),
        ("{ linux = { mtu = \"10 B\" } }", "an MTU of 10 B is out of range"),
        ("{ linux = { modem = \"0 bit/s\" } }", "a network card cannot have rate 0"),
        ("{ linux = { protocol = \"dccp\", cc = \"bbr\" } }", "DCCP has `ccid` in place of `cc`"),
        ("{ linux = { protocol = \"dccp\", ccid = 4 } }", "4 is too large"),
        ("{ linux = { protocol = \"dccp\", payload = \"1450 B\" } }", "holds at most 1440 B"),
        ("{ linux = { ccid = 3 } }", "only DCCP has a `ccid`"),
        ("{ linux = { ip = 6, lifetime = \"1 s\" } }", "IPv6 has no timestamp option"),
        (
            "{ linux = { lifetime = \"30 s\", deadline-encoding = \"timestamp-and-ttl\" } }",
            "does not hold the lifetime",
        ),
        ("{ linux = { protocol = \"ddcp\" } }", "`ddcp` is not one of `tcp`"),
        ("{ linux = { protocol = \"sctp\", cc = \"bbr\" } }", "SCTP has no choice of congestion controls"),
        ("{ linux = { root = \"/\" } }", "there is no key `root` in a linux"),
        ("{ linux = { payload = \"100 B\" } }", "only datagrams have a `payload`"),
        ("{ linux = { protocol = \"udp\", payload = \"3 B\" } }", "from 4 B to 65507 B"),
        ("{ linux = { protocol = \"udp\", cc = \"reno\" } }", "UDP has no congestion control"),
        ("{ linux = { protocol = \"udp\" } }", "this workload needs a connection"),
        ("{ linux = { ip = 5 } }", "5 is no version of IP"),
        ("{ linux = { ip = 7 } }", "7 is too large"),
        ("{ linux = { ip = 6, mtu = \"576 B\" } }", "IPv6 has no links of less than 1280 B"),
        ("{ linux = { cc = 1 } }", "`cc` must be a name"),
        ("{ linux = { colour = 1 } }", "there is no key `colour` in a linux"),
        ("{ linux = { sysctl = { \"kernel.panic\" = 1 } } }", "`kernel.panic` is no setting of a network"),
        ("{ linux = { sysctl = { \"../x\" = 1 } } }", "is no setting of a network"),
        ("{ linux = { sysctl = { \"net.ipv4/../../kernel/panic\" = 1 } } }", "is no setting of a network"),
        ("{ linux = { sysctl = { net.ipv4.tcp_frto = 1 } } }", "a name with dots needs quotes"),
        ("{ linux = { sysctl = { tcp_frto = 1.5 } } }", "`tcp_frto` must be a number"),
        ("{ linux = { sysctl = 1 } }", "`sysctl` must be a table"),
    ] {
        match read(transport, &[]) {
            Ok(_) => panic!("{transport} was taken"),
            Err(text) => assert!(text.contains(said), "{transport}:\n{text}"),
        }
    }
}

/// Every workload is carried by a kernel's sockets; datagrams are as large as packets may be, unless the file sets less.
#[test]
fn every_workload_has_a_socket() {
    let read = |transport: &str, app: &str| {
        let set = [format!("flow.download.transport={transport}"), format!("flow.download.app={app}")];
        let model = read("\"tcp\"", &[&set[0], &set[1]]).unwrap_or_else(|e| panic!("{e}"));
        model.flows[0].transport.linux().and_then(|linux| linux.protocol.payload())
    };
    for app in [
        "{ request-reply = { request = \"300 B\", reply = \"2 kB\" } }",
        "{ web = { pages = 2 } }",
        "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\" } }",
        "{ on-off = { rate = \"64 kbit/s\", packet = \"160 B\", on = \"1 s\", off = \"1 s\" } }",
        "{ ticker = { every = \"1 s\", size = \"200 B\" } }",
    ] {
        assert_eq!(read("linux", app), None);
    }
    let cbr = "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\" } }";
    assert_eq!(read("{ linux = { protocol = \"udp\", mtu = \"576 B\" } }", cbr), Some(548));
    assert_eq!(read("{ linux = { protocol = \"udp\", ip = 6 } }", cbr), Some(1452));
    assert_eq!(read("{ linux = { protocol = \"udp\", payload = \"100 B\" } }", cbr), Some(100));
    assert_eq!(read("{ linux = { protocol = \"dccp\" } }", cbr), Some(1000));
    assert_eq!(read("{ linux = { protocol = \"dccp\", mtu = \"576 B\" } }", cbr), Some(516));
}
