//! Event logs of emulations as layers under a picture.

/// WL-14, GP-01: the restart of an element with both ends, and what a firewall refused.
#[test]
fn wl_14_gp_01_restarts_and_refusals_are_rows() {
    let text = r#"{"t":1,"at":"radio","event":"radio:mobility","user":0,"step":"pcu-restart"}
{"t":1,"at":"radio","event":"radio:mobility","user":3,"step":"pcu-restart"}
{"t":2,"at":"radio.firewall","event":"path:firewall","flow":0,"connection":7,"step":"opened"}
{"t":3,"at":"radio.firewall","event":"path:firewall","flow":0,"connection":7,"step":"refused"}
{"t":4,"at":"radio","event":"radio:mobility","user":0,"step":"restarted"}
{"t":5,"at":"radio","event":"radio:mobility","user":0,"step":"unheard-of"}
"#;
    let layers = view::events::read(text, 10.0).unwrap();
    let told: Vec<(&str, f64, Option<f64>, &str)> = layers
        .iter()
        .flat_map(|l| l.events.iter().map(|e| (l.name.as_str(), e.t, e.until, e.event.as_str())))
        .collect();
    let expected = [
        ("radio.firewall", 13.0, None, "refused by the firewall"),
        ("radio network", 11.0, Some(14.0), "PCU restart"),
        ("radio mobile 3 network", 11.0, Some(15.0), "PCU restart"),
    ];
    assert_eq!(told, expected);
}
