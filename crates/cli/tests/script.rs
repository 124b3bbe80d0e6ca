//! Output of `williwaw script`.

mod common;

use common::Desk;
use serde_json::Value;

const GOOD: &str = "format = 1\nid = \"good\"\n[options]\nmss = 1000\ninitial_cwnd_mss = 2\n\
                    [[event]]\nt = 0\nkind = \"app_write\"\nbytes = 5000\n\
                    [[event]]\nt = 0\nkind = \"expect\"\nsend = [[0, 2000]]\n";

#[test]
fn a_failed_dialogue_is_told_with_its_picture() {
    let desk = Desk::new();
    desk.write("good.toml", GOOD);
    desk.write("bad.toml", &GOOD.replace("\"good\"", "\"bad\"").replace("2000", "3000"));
    desk.write(
        "odd.toml",
        &GOOD.replace("\"good\"", "\"odd\"").replace("mss = 1000", "mss = 1000\nwarp = 9"),
    );
    let ended = desk.run(&["script", "good.toml", "odd.toml", "bad.toml"]);
    assert_eq!((ended.code, ended.err.as_str()), (1, ""));
    insta::assert_snapshot!("script", ended.out);
    assert!(!ended.out.contains('\x1b'));
    let painted = desk.run(&["--color", "always", "script", "bad.toml"]);
    assert!(painted.out.contains("\x1b[1;31m"), "{}", painted.out);
    let mut forced = desk.command(&["script", "bad.toml"]);
    let plain = forced.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(!String::from_utf8(plain.stdout).unwrap().contains('\x1b'), "NO_COLOR");
    assert_eq!(desk.run(&["script", "good.toml", "odd.toml"]).code, 0);
}

#[test]
fn json_has_a_case_a_script() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("d")).unwrap();
    desk.write("d/bad.toml", &GOOD.replace("2000", "3000"));
    desk.write("d/good.toml", GOOD);
    desk.write("d/timer.pkt", "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 poll([], 1, 0) = 0\n");
    let ended = desk.run(&["script", "d", "--json"]);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &json["schema"]), (1, &"williwaw-script/1".into()));
    let verdicts: Vec<&str> =
        json["cases"].as_array().unwrap().iter().map(|c| c["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["fail", "pass", "unsupported"]);
    assert_eq!(json["summary"], serde_json::json!({ "pass": 1, "fail": 1, "unsupported": 1 }));
    let bad = &json["cases"][0];
    assert_eq!(
        (bad["id"].as_str(), bad["t"].as_f64(), bad["line"].as_u64()),
        (Some("good"), Some(0.01), Some(10))
    );
    assert!(bad["why"].as_str().unwrap().contains("expected 0..3000"), "{bad}");
    assert!(bad["ladder"].as_array().unwrap().len() > 2);
    assert_eq!(json["cases"][2]["id"], "timer");
    assert_eq!(json["cases"][2]["why"], "line 2: poll()");
}

/// All unreadable scripts are reported with their place; the other scripts are still played.
#[test]
fn what_cannot_be_read_is_said_with_line_and_column() {
    let desk = Desk::new();
    desk.write("a.toml", "format = 1\nid = \n");
    desk.write("b.pkt", "+0 < S 0:0(0) win 1\n+0 > . 1:1001(999) ack 1\n");
    desk.write("good.toml", GOOD);
    let ended = desk.run(&["script", "good.toml", "a.toml", "b.pkt"]);
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (2, "pass        good\n1 passed, 0 failed, 0 unsupported, 2 unreadable\n")
    );
    assert!(ended.err.contains("a.toml:2:6: "), "{}", ended.err);
    assert!(ended.err.contains("b.pkt:2:8: from 1 to 1001 are not 999 bytes"), "{}", ended.err);
    let ended = desk.run(&["script", "--json", "good.toml", "a.toml"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(ended.code, 2);
    assert_eq!(json["summary"], serde_json::json!({ "pass": 1, "fail": 0, "unsupported": 1 }));
    assert!(json["cases"][1]["why"].as_str().unwrap().starts_with("cannot be read: 2:6: "));
}

/// An unknown TCP option value is skipped and reported, because it may be a typing error.
#[test]
fn a_value_that_is_none_is_said() {
    let desk = Desk::new();
    desk.write("slip.toml", &format!("{GOOD}\n[[event]]\nt = 0.0\nkind = \"state\"\ncwnd_ms = 3\n"));
    let ended = desk.run(&["script", "slip.toml"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("no such value, not looked at: `cwnd_ms` (line "), "{}", ended.out);
}

/// A misspelt word is an error with the word that was meant; a dialogue with it never passes as unsupported.
#[test]
fn a_misspelt_word_is_an_error() {
    let desk = Desk::new();
    desk.write("kind.toml", &GOOD.replace("\"expect\"", "\"expcet\""));
    desk.write("key.toml", &GOOD.replace("send =", "sned ="));
    desk.write("call.pkt", "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listne(3, 1) = 0\n");
    for (file, meant) in [
        ("kind.toml", "no kind `expcet`; did you mean `expect`?"),
        ("key.toml", "`sned` is no key of expect; did you mean `send`?"),
        ("call.pkt", "no call `listne`; did you mean `listen`?"),
    ] {
        let ended = desk.run(&["script", file]);
        assert_eq!(ended.code, 2, "{}", ended.out);
        assert!(ended.err.contains(meant), "{}", ended.err);
    }
}
