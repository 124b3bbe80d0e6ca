//! Radio bearers in paths of overrides and in the description of a scenario.

use scenario::NoFiles;

#[test]
fn a_path_without_its_outer_key_is_completed() {
    let text = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nradio = { gprs = {} }\n\
                [[flow]]\nname = \"d\"\nfrom = \"server\"\nto = \"phone\"\napp = { bulk = {} }\n";
    let with = |set: &str| {
        let set = [set.to_owned()];
        scenario::read_with("test.toml", text.as_bytes(), &NoFiles, &set).map(|s| s.describe())
    };
    let told = with("hop.radio.gprs.scheme=cs-4").expect_err("no such path").to_string();
    assert!(told.contains("did you mean `hop.radio.radio.gprs.scheme`?"), "{told}");
    let described = with("hop.radio.radio.gprs.scheme=cs-4").expect("a path");
    assert!(described.contains("cs-4 down"), "{described}");
    let bare = with("hop.radio.radio.hscsd.coding=9.6").expect_err("a number").to_string();
    assert!(bare.contains("write it in quotes: \"9.6\""), "{bare}");
    assert!(with("hop.radio.radio.hscsd.coding=\"9.6\"").is_ok());
}

#[test]
fn a_bearer_is_described_with_its_delays_buffers_and_errors() {
    let text = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n\
                [hop.radio.gprs]\nsgsn = { buffer = \"50 kB\" }\nrlc-buffer = \"6 kB\"\ndelays = { core = \"40 ms\" }\n\
                errors = { constant = { rate = 0.02 } }\n\
                [[flow]]\nname = \"d\"\nfrom = \"server\"\nto = \"phone\"\napp = { bulk = {} }\n";
    let described = scenario::read("test.toml", text.as_bytes(), &NoFiles).expect("a scenario").describe();
    for words in [
        "server to phone, over a radio bearer",
        "delays: core 40 ms",
        "buffers: SGSN 50000 B, RLC 6000 B, terminal unlimited",
        "block errors: 2 %",
    ] {
        assert!(described.contains(words), "{words}: {described}");
    }
    assert!(!described.contains("any rate"), "{described}");
}
