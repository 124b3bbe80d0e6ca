//! Tests of the report on a failed dialogue: expected and actual segment, and ladder diagram.

use script::{Dialogue, DialogueVerdict, Failure, LadderOptions, Reading, ladder, play};

const SENDER: &str = r#"
format = 1
id = "picture"
[options]
mss = 1000
initial_cwnd_mss = 4
recovery = "newreno"
handshake_rtt = 0.1
[[event]]
t = 0.0
kind = "app_write"
bytes = 20000
[[event]]
t = 0.0
kind = "expect"
send = [[0, 4000]]
[[event]]
t = 1.0
kind = "expect"
send = [[0, 1000]]
rtx = true
tol = 0.02
[[event]]
t = 1.1
kind = "ack"
ack = 1000
[[event]]
t = 1.1
kind = "expect"
send = [[1000, 2000]]
rtx = true
"#;

const RECEIVER: &str = r#"
format = 1
id = "picture"
[options]
mss = 500
recovery = "rfc6675"
sack = true
role = "receiver"
[[event]]
t = 0.1
kind = "receive"
seq = 5000
end = 5500
[[event]]
t = 0.1
kind = "expect_ack"
ack = 5500
[[event]]
t = 0.11
kind = "receive"
seq = 6000
end = 6500
[[event]]
t = 0.11
kind = "expect_ack"
ack = 5500
sack = [[6000, 7000]]
"#;

fn failure(text: &str) -> Failure {
    match play(&Dialogue::read(text).unwrap(), Reading::AsWritten) {
        DialogueVerdict::Fail(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

fn told(text: &str, look: LadderOptions) -> String {
    let f = failure(text);
    let picture = ladder(&f, look);
    format!("{:.4} s, line {}: {}\nexpected {}\nseen {}\n{picture}", f.t, f.line, f.why, f.expected, f.seen)
}

const NARROW: LadderOptions = LadderOptions { width: 60, lines: 40, colour: false };

#[test]
fn a_sender_that_sends_too_much() {
    insta::assert_snapshot!("sender", told(SENDER, NARROW));
}

#[test]
fn a_receiver_that_reports_something_else() {
    insta::assert_snapshot!("receiver", told(RECEIVER, LadderOptions { width: 72, ..NARROW }));
}

/// The diagram stays within its maximum width, whatever the numbers; the last lines are shown.
#[test]
fn the_picture_is_as_narrow_and_as_short_as_asked() {
    for width in [40, 48, 60, 80, 100] {
        let picture = ladder(&failure(SENDER), LadderOptions { width, ..NARROW });
        let widest = picture.lines().map(|l| l.chars().count()).max();
        assert!(widest.is_some_and(|w| w <= width), "{width}:\n{picture}");
    }
    let short = ladder(&failure(SENDER), LadderOptions { lines: 2, ..NARROW });
    assert_eq!(short.lines().count(), 4, "{short}");
    assert!(short.contains("... 5 lines before"), "{short}");
    assert!(short.trim_end().ends_with('|'), "{short}");
}

#[test]
fn only_what_is_wrong_is_painted() {
    let plain = ladder(&failure(SENDER), NARROW);
    let painted = ladder(&failure(SENDER), LadderOptions { colour: true, ..NARROW });
    assert!(!plain.contains('\x1b'));
    let lines: Vec<&str> = painted.lines().filter(|l| l.contains('\x1b')).collect();
    assert_eq!(lines.len(), 1, "{painted}");
    assert!(lines[0].contains("2000..3000 again") && lines[0].contains('!'), "{}", lines[0]);
}

/// A wrong word in an otherwise correct dialogue makes it fail.
#[test]
fn a_right_dialogue_with_one_wrong_word_fails() {
    let right = SENDER.replace("send = [[1000, 2000]]\nrtx", "send = [[1000, 3000]]\nrtx");
    let verdict = |text: &str| play(&Dialogue::read(text).unwrap(), Reading::Strict);
    assert_eq!(verdict(&right), DialogueVerdict::Pass { unasked: 0 });
    let changes = [
        ("send = [[0, 4000]]", "send = [[0, 3000]]"),
        ("send = [[0, 4000]]", "send = [[0, 5000]]"),
        ("send = [[0, 4000]]", "send = [[0, 4000]]\nrtx = true"),
        ("send = [[0, 1000]]\nrtx = true", "send = [[0, 1000]]\nno_rtx = true"),
        ("t = 1.0\n", "t = 1.05\n"),
        ("t = 1.0\n", "t = 0.9\n"),
        ("rtx = true\ntol = 0.02", "prefix_ok = true\nextra_mss = 1\nno_rtx = true\ntol = 0.02"),
        ("send = [[1000, 3000]]", "send = [[2000, 3000], [1000, 2000]]"),
        ("send = [[1000, 3000]]", "send = [[1000, 2000]]\nextra_mss = 0"),
        ("send = [[1000, 3000]]", "send = [[1000, 2000]]\nany_new_ok = true"),
        ("send = [[1000, 3000]]", "send = [[1000, 2000]]\nmay_send = [[3000, 9000]]"),
        ("send = [[1000, 3000]]", "send = [[5000, 6000]]\nany_send_ok = true"),
        ("send = [[1000, 3000]]", "send = [[1000, 2000]]\nprobe = true"),
        ("send = [[1000, 3000]]", "send = [[1000, 3000]]\nfirst_new_has_cwr = true"),
        ("kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02", "kind = \"silence\"\nuntil = 1.05"),
        ("kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02", "kind = \"state\"\ncwnd_mss = 5"),
        ("kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02", "kind = \"state\"\nrto_min = 4"),
        (
            "kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02",
            "kind = \"state\"\nssthresh_mss_max = 0.5",
        ),
        (
            "kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02",
            "kind = \"state\"\nin_recovery = true",
        ),
        (
            "kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02",
            "kind = \"state\"\nspurious_detected = true",
        ),
        (
            "kind = \"expect\"\nsend = [[0, 1000]]\nrtx = true\ntol = 0.02",
            "kind = \"state\"\nsrtt = \"short\"",
        ),
    ];
    for (from, to) in changes {
        assert!(right.contains(from), "{from}");
        let changed = right.replacen(from, to, 1);
        assert!(matches!(verdict(&changed), DialogueVerdict::Fail(_)), "{to}");
    }
    let unknown = right.replace("rtx = true", "rtx = true\nwith_style = true");
    assert!(matches!(verdict(&unknown), DialogueVerdict::Unsupported(_)));
}

/// A segment without an expectation fails only under `strict`.
#[test]
fn a_strict_reader_objects_to_what_was_not_expected() {
    let silent =
        SENDER.replace("kind = \"expect\"\nsend = [[0, 4000]]", "kind = \"state\"\nin_recovery = false");
    let silent = silent.split("[[event]]\nt = 1.0").next().unwrap();
    let dialogue = Dialogue::read(silent).unwrap();
    assert_eq!(play(&dialogue, Reading::AsWritten), DialogueVerdict::Pass { unasked: 4 });
    assert!(matches!(play(&dialogue, Reading::Strict), DialogueVerdict::Fail(_)));
}

/// Without `tsecr` the peer echoes the timestamp of the last copy of the expected segment; with it, that of
/// the nearest send time.
#[test]
fn a_peer_echoes_what_came_to_it() {
    let text = |echo: &str| {
        SENDER
            .replace(
                "recovery = \"newreno\"",
                "recovery = \"newreno\"\ntimestamps = true\nspurious = \"eifel\"",
            )
            .replace("ack = 1000", &format!("ack = 1000\n{echo}"))
            .replace("send = [[1000, 2000]]\nrtx = true", "send = [[1000, 3000]]\nrtx = true")
    };
    let verdict = |echo: &str| play(&Dialogue::read(&text(echo)).unwrap(), Reading::Strict);
    assert_eq!(verdict(""), DialogueVerdict::Pass { unasked: 0 });
    assert_eq!(verdict("tsecr = 1.0"), DialogueVerdict::Pass { unasked: 0 });
    assert_eq!(
        verdict("tsecr = 0.995"),
        DialogueVerdict::Pass { unasked: 0 },
        "the nearest is the retransmission's"
    );
    assert!(matches!(verdict("tsecr = 0.0"), DialogueVerdict::Fail(_)), "the original's: nothing is resent");
}

/// A silence may extend over segments from the peer, which do not count as late.
#[test]
fn a_silence_may_span_what_comes_in() {
    let with = |until: f64| {
        let text = format!(
            "format = 1\nid = \"q\"\n[options]\nmss = 1000\ninitial_cwnd_mss = 4\nhandshake_rtt = 0.1\n\
             [[event]]\nt = 0\nkind = \"app_write\"\nbytes = 4000\n\
             [[event]]\nt = 0\nkind = \"expect\"\nsend = [[0, 4000]]\n\
             [[event]]\nt = 0\nkind = \"silence\"\nuntil = {until}\n\
             [[event]]\nt = 0.5\nkind = \"ack\"\nack = 1000\n\
             [[event]]\nt = 0.5\nkind = \"expect\"\nsend = []\n\
             [[event]]\nt = 1.5\nkind = \"expect\"\nsend = [[1000, 2000]]\nrtx = true\ntol = 0.02\n"
        );
        play(&Dialogue::read(&text).unwrap(), Reading::Strict)
    };
    assert_eq!(with(1.4), DialogueVerdict::Pass { unasked: 0 });
    assert!(matches!(with(1.6), DialogueVerdict::Fail(f) if f.why.contains("silence")));
}
