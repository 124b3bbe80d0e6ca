//! The claim: without a kernel the error explains how to get one; with a kernel its counters appear beside the
//! measures. Tests that run a kernel report that they are skipped where none was built (`williwaw linux build`, or
//! WILLIWAW_LINUX).
#![cfg(target_os = "linux")]

use assert_cmd::cargo::cargo_bin;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn williwaw(cache: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin("williwaw"));
    command.args(args).env("XDG_CACHE_HOME", cache).env_remove("WILLIWAW_LINUX").env("COLUMNS", "200");
    command.output().unwrap()
}

fn refused(output: &Output, code: i32, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(what), "{said}");
}

#[test]
fn who_has_no_kernel_is_told_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path();
    let list = williwaw(cache, &["linux", "list"]);
    refused(&list, 0, "no kernel was built yet: williwaw linux build");
    assert!(list.stdout.is_empty());
    let nowhere = cache.join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    let build = williwaw(cache, &["linux", "build", "--source", nowhere]);
    // Missing compilers are reported first.
    assert_eq!(build.status.code(), Some(2), "{}", String::from_utf8_lossy(&build.stderr));
    let tree = cache.to_str().unwrap();
    assert_eq!(williwaw(cache, &["linux", "build", "--source", tree]).status.code(), Some(2));
    refused(&williwaw(cache, &["linux", "build", "--name", "../there"]), 2, "a name consists of letters");
    let doctor = williwaw(cache, &["linux", "doctor"]);
    assert_eq!(doctor.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("kernel          none yet"));
}

#[test]
fn what_is_no_kernel_for_virtual_time_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let file = file.to_str().unwrap();
    let other = cargo_bin("williwaw");
    let run = |kernel: &str| williwaw(folder.path(), &["run", file, "--no-out", "--linux", kernel]);
    refused(&run("nosuch"), 3, "there is no kernel `nosuch`");
    if Command::new("cc").arg("--version").output().is_err() {
        return eprintln!("skipped: no C compiler for the program of a guest");
    }
    std::fs::write(folder.path().join("text"), "no program").unwrap();
    refused(&run(folder.path().join("text").to_str().unwrap()), 2, "is no kernel for User-Mode Linux");
    // This program has both marks in it, as words of its own.
    let own = run(other.to_str().unwrap());
    assert_ne!(own.status.code(), Some(0), "{}", String::from_utf8_lossy(&own.stderr));
}

const SCENARIO: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "100 kbit/s"
    delay = "100 ms"
    [[hop.gate]]
    name = "spike"
    start = "3 s"
    lasts = "5 s"
    [[flow]]
    name = "download"
    from = "server"
    to = "phone"
    transport = "linux"
    app = { bulk = { bytes = "100 kB" } }
    [run]
    repetitions = 3
    [grid]
    "flow.download.transport.linux.cc" = ["cubic", "reno"]
"#;

#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's cache and its kernel; `None` with a printed note without a kernel.
fn kernel() -> Option<(PathBuf, String)> {
    let Some(cache) = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache"))) else {
        eprintln!("skipped: no cache");
        return None;
    };
    let kernel = variable("WILLIWAW_LINUX").unwrap_or_else(|| cache.join("williwaw/kernels/default/linux"));
    if !kernel.is_file() {
        eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
        return None;
    }
    Some((cache, kernel.to_str().unwrap().to_owned()))
}

/// A grid with kernels gives a table, a document with their counters, and captures (SW-56).
#[test]
fn a_grid_of_kernels_is_a_grid() {
    let Some((cache, kernel)) = kernel() else { return };
    let kernel = kernel.as_str();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let out = folder.path().join("out");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let run =
        williwaw(&cache, &["run", file, "--linux", kernel, "--out", out, "--pcap", "--xplot", "--json"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(document["kernels"]["repetitions"].as_array().map(Vec::len), Some(6));
    let flow = &document["kernels"]["repetitions"][0]["flows"]["download"];
    assert!(flow["from"]["TCPOrigDataSent"].as_u64().is_some_and(|n| n >= 70));
    assert_eq!(flow["tcp_info"]["snd_mss"], 1448);
    // Without random processes on the path and in congestion control, all repetitions are equal.
    assert_eq!(document["cells"][0]["metrics"]["download_time_s"]["stddev"], 0.0);
    for name in ["cell0.rep0.pcapng", "cell1.rep0.pcapng", "cell1.rep0.download.xplot"] {
        assert!(std::fs::metadata(folder.path().join("out").join(name)).unwrap().len() > 1000, "{name}");
    }
    let table = williwaw(&cache, &["run", file, "--linux", kernel, "--no-out", "--reps", "1"]);
    assert!(String::from_utf8_lossy(&table.stderr).contains("cc = reno, download: TcpRetransSegs"));
}

/// EG-16: three Linux kernels among 500 mobiles of a network of cells: equal to the byte in two runs, a row and tables.
#[test]
fn eg_16_kernels_at_mobiles_of_a_network_of_cells() {
    let Some((cache, kernel)) = kernel() else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/egprs/kernels.toml");
    let args = ["run", file.to_str().unwrap(), "--linux", &kernel, "--no-out", "--reps", "1", "--json"];
    let [first, second] = [(); 2].map(|()| williwaw(&cache, &args));
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(first.stdout == second.stdout, "two runs differ");
    let document: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!(document["complete"], true);
    let flows = &document["cells"][0]["flows"];
    let mut names: Vec<&String> = flows.as_object().map(|flows| flows.keys().collect()).unwrap_or_default();
    names.sort();
    assert_eq!(names, ["others", "phones"]);
    let rate = |flow: &str, metric: &str| flows[flow][metric]["mean"].as_f64().unwrap_or(0.0);
    assert!(rate("others", "transfer_rate_bps") > 10e3 && rate("others", "erlang") > 0.5, "{flows:#}");
    let phones = &document["kernels"]["repetitions"][0]["flows"];
    for phone in ["phones-0", "phones-1", "phones-2"] {
        assert!(phones[phone]["tcp_info"]["bytes_acked"].as_u64().is_some_and(|n| n >= 60_000), "{phone}");
        assert!(phones[phone]["tcp_info"]["min_rtt"].as_u64().is_some_and(|us| us > 600_000), "core and air");
    }
    let system = &document["systems"][0][0];
    assert!(system["down"]["schemes"]["mcs-9"]["rlc_blocks"].as_f64().is_some_and(|n| n > 0.0));
}

/// GP-22: acknowledged LLC through a real PCU, with a mobile that leaves the cell: tshark reads SABM, UA, I and S frames in both
/// directions of Gb, one of them a SACK. None is malformed or lacks an element. Two captures are equal to the byte.
#[test]
fn gp_22_tshark_reads_acknowledged_llc_of_a_real_pcu() {
    let Some((cache, kernel)) = kernel() else { return };
    if !Path::new("/usr/bin/osmo-pcu").is_file() {
        return eprintln!("skipped: osmo-pcu is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "cell"
        between = ["server", "phone"]
        [hop.radio.gprs]
        pcu = "osmo"
        timeslots = 1
        scheme = "cs-2"
        llc = { mode = "acknowledged", window = 4 }
        errors = { constant = { rate = 0.05, control = 0.01 } }
        reselection = { at = ["5 s"], synchronise = "2 s", system-information = "2 s" }
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        start = "2 s"
        app = { bulk = { bytes = "15 kB" } }
        [run]
        limit = "5 min"
    "#;
    std::fs::write(path("s.toml"), text).unwrap();
    let captures = ["one", "two"].map(|out| {
        let (file, out) = (path("s.toml"), path(out));
        let run =
            williwaw(&cache, &["run", &file, "--linux", &kernel, "--out", &out, "--pcap", "--reps", "1"]);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        format!("{out}/rep0.pcapng")
    });
    let [one, two] = captures.each_ref().map(|file| std::fs::read(file).unwrap());
    assert!(one == two, "two captures differ");
    let fields = ["_ws.malformed", "_ws.expert.message", "bssgp.pdu_type", "llcgprs.ucom", "llcgprs.s1s2"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", &captures[0], "-T", "fields", "-E", "separator=;", "-Y", "bssgp || gsmtap"]);
    fields.iter().for_each(|field| _ = tshark.args(["-e", field]));
    let Ok(output) = tshark.output() else { return eprintln!("skipped: tshark is not installed") };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    for row in &rows {
        // The octets of packets are made of their numbers: tshark finds no IP in SNDCP.
        let wrong = ["FCS", "Missing", "Extraneous"].iter().any(|word| row[1].contains(word));
        assert!(row[0].is_empty() && !wrong, "{row:?}");
    }
    let has = |wanted: [(usize, &str); 2]| rows.iter().any(|row| wanted.iter().all(|(i, of)| row[*i] == *of));
    // DL-UNITDATA (0) with SABM, UL-UNITDATA (1) with UA; RR in both, and a SACK.
    let (down, up) = ((2, "0x00"), (2, "0x01"));
    let ends = [[down, (3, "0x07")], [up, (3, "0x06")], [down, (4, "0x0000")], [up, (4, "0x0000")]];
    ends.into_iter().for_each(|wanted| assert!(has(wanted), "{wanted:?} among {rows:?}"));
    assert!(has([up, (4, "0x0003")]), "no SACK among {rows:?}");
    let of_llc = rows.iter().filter(|row| [down.1, up.1].contains(&row[2])).count();
    eprintln!("tshark reads {} blocks and PDUs, {of_llc} with LLC frames", rows.len());
}

/// NS-07: a kernel downloads over a GPRS bearer in virtual time: equal to the byte in two runs, at the rate of three timeslots.
#[test]
fn ns_07_a_kernel_over_a_gprs_bearer() {
    let Some((cache, kernel)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        preset = "gprs-rlc"
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { linux = {} }
        app = { bulk = { bytes = "50 kB" } }
        [run]
        limit = "300 s"
    "#;
    std::fs::write(&file, text).unwrap();
    let args = ["run", file.to_str().unwrap(), "--linux", &kernel, "--no-out", "--reps", "1", "--json"];
    let [first, second] = [(); 2].map(|()| williwaw(&cache, &args));
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(first.stdout == second.stdout, "two runs differ");
    let document: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    let metrics = &document["cells"][0]["metrics"];
    let of = |name: &str| metrics[name]["mean"].as_f64().unwrap_or(0.0);
    // Three timeslots of CS-2 carry 36 kbit/s of RLC data.
    assert!((20e3..36e3).contains(&of("throughput_bps")), "{metrics:#}");
    assert!(of("radio_blocks") > 1667.0 && of("rlc_reports") > 50.0, "{metrics:#}");
    let flow = &document["kernels"]["repetitions"][0]["flows"]["download"];
    assert_eq!(flow["tcp_info"]["bytes_acked"], 50_002);
}

/// Two kernels, or one with two settings, are compared like any two sides, with their counters; so is a kernel with a
/// model.
#[test]
fn kernels_are_compared_under_the_same_weather() {
    let Some((cache, kernel)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    let (whole, _) = SCENARIO.split_once("[grid]").unwrap();
    // Ten seconds, and no loss: the behaviour of the kernel without F-RTO and timestamps is known from native runs
    // (docs/linux.md).
    let whole = whole.replace("lasts = \"5 s\"", "lasts = \"10 s\"");
    std::fs::write(&file, whole).unwrap();
    let file = file.to_str().unwrap();
    let sysctl = |side: &str, frto: u8| {
        let path = "flow.download.transport.linux.sysctl";
        [side.to_owned(), format!("{path}.tcp_frto={frto}")]
    };
    let (a, b) = (sysctl("--set-a", 0), sysctl("--set-b", 2));
    let mut words = vec!["compare", file, "--linux", &kernel, "--json"];
    words.extend(["--set", "flow.download.transport.linux.sysctl.tcp_timestamps=0"]);
    words.extend(a.iter().chain(&b).map(String::as_str));
    let ran = williwaw(&cache, &words);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let counters = &document["cells"][0]["counters"];
    assert_eq!(counters["TCPSpuriousRTOs"]["told"], "more", "{counters}");
    assert_eq!(
        (&counters["TCPSpuriousRTOs"]["a"]["mean"], &counters["TCPSpuriousRTOs"]["b"]["mean"]),
        (&0.0.into(), &1.0.into())
    );
    assert_eq!(counters["TcpRetransSegs"]["told"], "less", "{counters}");
    assert!(ran.stdout == williwaw(&cache, &words).stdout, "the same seed gives other kernels");
    let model = ["compare", file, "--linux", &kernel, "--json", "--set-b", "flow.download.transport=tcp"];
    let ran = williwaw(&cache, &model);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["cells"][0]["metrics"]["download_time_s"]["difference"]["n"], 3);
}

/// A kernel has `TCP_INFO` of connections in which it sends. Opposite a sending model it has none: the value is null
/// and not a row of zeros.
#[test]
fn of_a_model_that_sends_no_kernel_tells() {
    let Some((cache, kernel)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    let ends = "{ from = { tcp = { profile = \"linux-6.x\" } }, to = { linux = {} } }";
    let (whole, _) = SCENARIO.split_once("[grid]").unwrap();
    std::fs::write(&file, whole.replace("\"linux\"", ends)).unwrap();
    let words = ["run", file.to_str().unwrap(), "--linux", &kernel, "--no-out", "--json", "--reps", "1"];
    let run = williwaw(&cache, &words);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let flow = &document["kernels"]["repetitions"][0]["flows"]["download"];
    assert!(flow["to"]["TcpInSegs"].as_u64() >= Some(70), "{flow}");
    assert!(flow["tcp_info"].is_null(), "{flow}");
}

/// Published values beside current kernels: in table, JSON document and page, equal in every run.
#[test]
fn a_study_is_set_beside_linux_of_today() {
    let Some((cache, kernel)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let args = ["reproduce", "delays/fig1", "delays/newreno-penalty", "responding/detectors"];
    let with = |more: &[&str]| {
        let all: Vec<&str> = args.into_iter().chain(more.iter().copied()).collect();
        let ran = williwaw(&cache, &all);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        ran.stdout
    };
    let json = with(&["--linux", &kernel, "--json"]);
    assert!(json == with(&["--linux", &kernel, "--json"]), "the same seed gives other kernels");
    let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let [fig1, penalty, detectors] = document["experiments"].as_array().unwrap().as_slice() else { panic!() };
    // Nothing was lost and the kernel knows it: no copy was unneeded. The study's sender sent ten.
    assert_eq!(fig1["values"][0]["linux"]["mean"], 0.0);
    assert_eq!(fig1["values"][0]["measured"], 10.0);
    let rows = |e: &serde_json::Value| e["linux_today"]["rows"].as_array().unwrap().clone();
    let linux = |row: &serde_json::Value, metric: &str| row["linux"][metric]["mean"].as_f64().unwrap();
    // Cells that differ in the study's senders alone are one path; experiments share it too.
    let time: Vec<f64> =
        [fig1, penalty].iter().flat_map(|e| rows(e)).map(|row| linux(&row, "completion_time_s")).collect();
    assert_eq!(time.len(), 6);
    assert!(time.iter().all(|t| *t == time[0] && *t > 80.0), "{time:?}");
    // 150 segments of the study's size, of which one case loses two.
    let lossy = rows(detectors).into_iter().find(|row| row["cell"] == "frto-duplicate").unwrap();
    assert_eq!(linux(&lossy, "segments_sent"), 152.0);
    assert_eq!(linux(&lossy, "segments_retransmitted"), 2.0);
    let text = with(&["--linux", &kernel, "--html", page.to_str().unwrap()]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("today") && text.contains("TCPSpuriousRTOs"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Linux today") && page.contains("Linux of today on the same path"));
    // Without the option, the output is unchanged.
    let plain: serde_json::Value = serde_json::from_slice(&with(&["--json"])).unwrap();
    assert!(plain["experiments"][0]["linux_today"].is_null());
    assert!(plain["experiments"][0]["values"][0]["linux"].is_null());
    assert_eq!(plain["experiments"][0]["values"][0]["measured"], 10.0);
}

#[test]
fn without_a_kernel_a_study_stands_alone_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["reproduce", "delays/fig1", "--json"];
    let ran = williwaw(folder.path(), &[&args[..], &["--today"]].concat());
    refused(
        &ran,
        0,
        "no column for Linux today: there is no kernel for virtual time; `williwaw linux build` makes one",
    );
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(document["experiments"][0]["linux_today"].is_null());
    refused(&williwaw(folder.path(), &[&args[..], &["--linux", "nosuch"]].concat()), 3, "no kernel `nosuch`");
}

/// Picture of a repetition with kernels: data, ACKs, the pause, and the kernel's state.
#[test]
fn a_kernel_is_drawn() {
    let Some((cache, kernel)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let [file, svg, xplot] = [file, folder.path().join("p.svg"), folder.path().join("p.xplot")]
        .map(|path| path.to_str().unwrap().to_owned());
    let plot = |more: &[&str]| {
        let all: Vec<&str> = ["plot", &file, "--linux", &kernel, "--cell", "1"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        williwaw(&cache, &all)
    };
    let drawn = plot(&["--json", "--svg", &svg, "-o", &xplot]);
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
    let document: serde_json::Value = serde_json::from_slice(&drawn.stdout).unwrap();
    let picture = &document["picture"];
    let len = |name: &str| picture[name].as_array().map_or(0, Vec::len);
    // 70 segments of 1448 B, each sent once; a spike; samples of window and timer.
    assert!(len("sent") == 70 && len("acks") > 30, "{} sent, {} acknowledgements", len("sent"), len("acks"));
    assert_eq!(len("spikes"), 1);
    assert!(len("window") > 10 && len("timer") > 3, "{} {}", len("window"), len("timer"));
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    assert!(std::fs::metadata(&xplot).unwrap().len() > 1000);
    // It is the repetition that `run` plays.
    let again = plot(&["--json"]);
    let same: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(same["picture"]["sent"], picture["sent"]);
    refused(&plot(&["--kind", "rtt"]), 2, "run --pcap");
}

/// The shipped page fetched by curl, played by the other clock: the same table, the same files, the same verdict.
#[test]
fn a_file_with_commands_is_played_by_run_too() {
    let Some(cache) = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache"))) else {
        return eprintln!("skipped: no cache");
    };
    let kernel = variable("WILLIWAW_LINUX").unwrap_or_else(|| cache.join("williwaw/kernels/default/linux"));
    let programs = ["/usr/bin/curl", "/usr/bin/python3"].map(Path::new);
    if !kernel.is_file() || !programs.iter().all(|program| program.is_file()) {
        return eprintln!(
            "skipped: it needs a kernel for virtual time (williwaw linux build), curl and python3"
        );
    }
    let kernel = kernel.to_str().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/real/fetch.toml");
    let file = file.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = williwaw(&cache, &["run", file, "--linux", kernel, "--out", out.to_str().unwrap(), "--json"]);
    let said = String::from_utf8_lossy(&run.stderr);
    if said.contains("has no overlay file system") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!(run.status.code(), Some(0), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let commands = &document["kernels"]["repetitions"][1]["commands"];
    assert_eq!((&commands["curl"]["status"], &commands["web"]["serves"]), (&0.into(), &true.into()));
    let wrote = std::fs::read_to_string(out.join("commands/0-1/curl.stdout")).unwrap();
    let seconds: f64 = wrote.trim().parse().unwrap();
    let took = document["cells"][0]["flows"]["curl"]["completion_time_s"]["mean"].as_f64();
    let took = took.or(document["cells"][0]["metrics"]["completion_time_s"]["mean"].as_f64()).unwrap();
    assert!((took - seconds).abs() < 0.01, "{took} s, curl says {seconds} s");
    let failing = williwaw(
        &cache,
        &["run", file, "--linux", kernel, "--no-out", "--reps", "1", "--set", "command.curl.run=exit 3"],
    );
    refused(&failing, 1, "repetition 0 of cell 0, curl: ended with status 3");
}

/// SW-43: commands call names of the file by either clock: at machines of real time, and in kernels of virtual time, where a tool of
/// that name stands for williwaw; williwaw itself will do as well.
#[test]
fn commands_call_names_by_either_clock() {
    let Some((cache, kernel)) = kernel() else { return };
    let me = cargo_bin("williwaw");
    let place = me.parent().unwrap().to_str().unwrap();
    let run = format!(
        "sleep 1; williwaw trigger cell.far && sleep 1 && {place}/williwaw trigger cell.near && williwaw trigger && \
         {place}/williwaw trigger && ! williwaw trigger cell.none"
    );
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n\
         [[state-machine]]\nname = \"cell\"\n[[state-machine.state]]\nname = \"near\"\n\
         [[state-machine.state]]\nname = \"far\"\n[[state-machine.state.on]]\nname = \"radio\"\ndelay = \"150 ms\"\n\
         [[command]]\nname = \"calls\"\nat = \"phone\"\nrun = '''{run}'''\n[run]\nlimit = \"1 min\"\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, text).unwrap();
    let path = format!("{place}:{}", variable("PATH").unwrap().display());
    let play = |verb: &str, more: &[&str]| {
        let out = folder.path().join(verb);
        let mut command = Command::new(&me);
        command.args([verb, file.to_str().unwrap(), "--json", "--out", out.to_str().unwrap()]).args(more);
        let output = command.env("XDG_CACHE_HOME", &cache).env("PATH", &path).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = |end: &str| std::fs::read_to_string(out.join("commands/0-0").join(format!("calls.{end}")));
        (output, errors, said("stdout").unwrap_or_default(), said("stderr").unwrap_or_default())
    };
    let judge = |(output, errors, said, complaints): (Output, String, String, String), repetition: &str| {
        assert!(output.status.success(), "{errors}{said}{complaints}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let triggers = document.pointer(repetition).and_then(|r| r["triggers"].as_array()).expect("triggers");
        let names: Vec<_> = triggers.iter().map(|call| call["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["cell.far", "cell.near"]);
        let times: Vec<f64> = triggers.iter().map(|call| call["t"].as_f64().unwrap()).collect();
        assert!(times[0] > 1.0 && times[1] - times[0] > 1.0, "{times:?}");
        assert_eq!(said.lines().count(), 2, "{said}");
        assert!(said.lines().all(|line| line.ends_with("): cell.near, cell.far")), "{said}");
        assert!(
            complaints.contains("cell.far at ") && complaints.contains("has no trigger `cell.none`"),
            "{complaints}"
        );
        times
    };
    let times = judge(play("run", &["--linux", &kernel]), "/kernels/repetitions/0");
    assert!(times[0] < 1.001 && times[1] < 2.002, "in virtual time programs start at once: {times:?}");
    // The tool prints the text of `williwaw trigger`.
    let real = play("emulate", &[]);
    if real.0.status.code() == Some(3) {
        return eprintln!("skipped in real time: {}", real.1);
    }
    judge(real, "/repetitions/0");
}

/// A link of netem inside kernels in virtual time: `tc`, a web server and curl, the same download twice.
#[test]
fn netem_by_hand_is_played_in_virtual_time() {
    let Some((cache, kernel)) = kernel() else { return };
    let needed = ["/usr/sbin/tc", "/usr/bin/curl", "/usr/bin/python3"];
    if !needed.iter().all(|program| Path::new(program).is_file()) {
        return eprintln!("skipped: it needs {}", needed.join(", "));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/linux/netem.toml");
    let play = || {
        let args = ["run", file.to_str().unwrap(), "--linux", &kernel, "--reps", "1", "--no-out", "--json"];
        williwaw(&cache, &args)
    };
    let run = play();
    let said = String::from_utf8_lossy(&run.stderr);
    if ["has no overlay file system", "Unknown qdisc", "not supported"].iter().any(|why| said.contains(why)) {
        return eprintln!("skipped: {said}");
    }
    assert_eq!(run.status.code(), Some(0), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    // 300 kB at 30 kbit/s take 80 s, and each pause at least 3 s and a timeout.
    for cell in document["cells"].as_array().unwrap() {
        let took = cell["metrics"]["completion_time_s"]["mean"].as_f64().unwrap();
        assert!((85.0..400.0).contains(&took), "{took} s");
    }
    let again: serde_json::Value = serde_json::from_slice(&play().stdout).unwrap();
    assert_eq!(document["cells"], again["cells"]);
}
