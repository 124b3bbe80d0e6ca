//! Tests of packetdrill scripts: the project's examples pass, and fail after a change of a number.

use script::packetdrill::{Script, play};
use script::{DialogueVerdict, LadderOptions, ladder};
use std::path::Path;

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packetdrill");
    std::fs::read_to_string(folder.join(format!("{name}.pkt"))).unwrap()
}

fn judge(text: &str) -> DialogueVerdict {
    play(&Script::read(text).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn our_examples_pass() {
    for name in [
        "fast-retransmit",
        "timer",
        "connect-read-close",
        "timestamps",
        "ecn",
        "lost-syn",
        "spurious-syn-timeout",
    ] {
        match judge(&text(name)) {
            DialogueVerdict::Pass { .. } => {}
            DialogueVerdict::Fail(f) => {
                let picture = ladder(&f, LadderOptions { width: 80, lines: 30, colour: false });
                panic!("{name}:{}: {}: expected {}, saw {}\n{picture}", f.line, f.why, f.expected, f.seen)
            }
            DialogueVerdict::Unsupported(word) => panic!("{name}: {word}"),
        }
    }
}

/// Each change fails at the line that detects it.
#[test]
fn a_changed_number_is_noticed() {
    let changes = [
        ("fast-retransmit", "sack 1001:4001", "sack 1001:2001", 22),
        ("fast-retransmit", "tcpi_snd_ssthresh == 5", "tcpi_snd_ssthresh == 6", 23),
        ("fast-retransmit", "1:10001(10000) ack 1", "1:11001(11000) ack 1", 15),
        ("fast-retransmit", "ack 10001 win 257", "ack 10001 win 3", 28),
        ("timer", "+2    >", "+1.9    >", 14),
        ("timer", "+2    >", "+2.1    >", 14),
        ("timer", "+1    > P. 1:1001(1000) ack 1", "+1    > F. 1:1001(1000) ack 1", 13),
        ("connect-read-close", "= 2000", "= 2001", 12),
        ("connect-read-close", "<sack 3001:4001,nop,nop>", "", 15),
        ("connect-read-close", "> F. 1:1(0) ack 4002", "> . 1:1(0) ack 4002", 20),
        ("connect-read-close", "ack 4001\n", "ack 3001\n", 17),
        ("timestamps", "TS val 700 ecr 200>\n+0    > P", "TS val 750 ecr 200>\n+0    > P", 11),
        (
            "timestamps",
            "1001:2001(1000) ack 1 <nop,nop,TS val 700 ecr 200",
            "1001:2001(1000) ack 1 <nop,nop,TS val 700 ecr 100",
            12,
        ),
        ("ecn", "> [ect0] P. 1:10001", "> [noecn] P. 1:10001", 11),
        ("ecn", "PW. 10001", "P. 10001", 17),
        ("ecn", "< SEW", "< S", 7),
        // For Linux, a retransmitted SYN without an echo is no loss; an echo of the second SYN excludes the
        // first.
        ("lost-syn", "+2    > S 0:0(0) <mss 1460,nop,nop,sackOK>\n", "", 15),
        ("spurious-syn-timeout", "TS val 300 ecr 1000", "TS val 300 ecr 2000", 13),
        ("timestamps", "tcpi_rtt > 90000", "tcpi_rtt > 105000", 14),
    ];
    for (name, from, to, line) in changes {
        let original = text(name);
        assert!(original.contains(from), "{name}: {from}");
        match judge(&original.replacen(from, to, 1)) {
            DialogueVerdict::Fail(f) => {
                assert_eq!(f.line, line, "{name}: {to}: {} {} {}", f.why, f.expected, f.seen)
            }
            other => panic!("{name}: {to}: {other:?}"),
        }
    }
}

#[test]
fn what_is_beyond_the_subset_is_unsupported_with_its_line() {
    let words = |text: &str| match judge(text) {
        DialogueVerdict::Unsupported(word) => word,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(
        words("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 poll([{fd=3}], 1, 0) = 0"),
        "line 2: poll()"
    );
    assert_eq!(
        words("0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1], 4) = 0"),
        "line 1: setsockopt() of TCP_FASTOPEN"
    );
    assert_eq!(words("+0 < icmp unreachable frag_needed mtu 1400"), "line 1: icmp");
    assert_eq!(words("+0 %{ assert tcpi_options == 7 }%"), "line 1: `assert tcpi_options == 7`");
    assert_eq!(words("+0 %{ import os }%"), "line 1: `import os`");
    assert_eq!(words("`tc qdisc add dev tun0 root fq`"), "line 1: the command `tc`");
    assert_eq!(words("--send_omit_free\n"), "line 1: option --send_omit_free");
    assert_eq!(words("// williwaw: recovery = prayer\n+0 close(3) = 0").split(':').next(), Some("line 1"));
    assert_eq!(words("+0 < [ect1] . 1:1(0) ack 1 win 257").split(':').next(), Some("line 1"));
}

/// A comment with an option selects the TCP under test.
#[test]
fn a_choice_in_a_comment_is_obeyed() {
    let with = |limited: &str| {
        let text = text("fast-retransmit").replace(
            "// williwaw: initial-window = 10 segments",
            &format!("// williwaw: initial-window = 10 segments\n// williwaw: limited-transmit = {limited}"),
        );
        judge(&text.replace("write(4, ..., 10000) = 10000", "write(4, ..., 12000) = 12000"))
    };
    assert!(matches!(with("false"), DialogueVerdict::Fail(f) if f.line == 27));
    assert!(matches!(with("true"), DialogueVerdict::Fail(f) if f.line == 23));
}
