//! Shards of a sweep: the merged table has the bytes of the unsharded run, and unrelated shards are rejected.

mod common;

use common::Desk;

/// Runs the shards of `small.toml` into `s1`, `s2`...
fn shards(desk: &Desk, of: u32) {
    for number in 1..=of {
        let (shard, out) = (format!("{number}/{of}"), format!("s{number}"));
        let ended = desk.run(&["run", "small.toml", "--shard", &shard, "--out", &out, "--jobs", "1"]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains(&format!("shard {shard}")), "{}", ended.err);
    }
}

fn table(desk: &Desk, folder: &str) -> Vec<u8> {
    std::fs::read(desk.path(&format!("{folder}/flows.parquet"))).unwrap()
}

#[test]
fn merged_shards_equal_the_whole_run_to_the_byte() {
    let desk = Desk::new();
    shards(&desk, 3);
    let whole = desk.run(&["run", "small.toml", "--out", "whole", "--json"]);
    let merged = desk.run(&["merge", "s3", "s1", "s2", "--out", "merged", "--json"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(table(&desk, "whole"), table(&desk, "merged"));
    assert_eq!(whole.out.replace("\"whole\"", "\"merged\""), merged.out);
    // The merged folder is a run like any other: it takes more repetitions.
    assert_eq!(desk.run(&["run", "--resume", "merged", "--reps", "7"]).code, 0);
    assert_eq!(desk.run(&["run", "--resume", "whole", "--reps", "7"]).code, 0);
    assert_eq!(table(&desk, "whole"), table(&desk, "merged"));
}

/// A network of cells with a grid of two loads.
const NETWORK: &str = r#"williwaw = 1
[[system]]
name = "net"
egprs = { cells = 27, bcch-reuse = "3/9" }
[[system.users]]
name = "ftp"
count = 6
start = "uniform(0 s, 3 s)"
app = { request-reply = { request = "250 B", reply = "20 kB", think = "3 s", keep = "object" } }
[run]
limit = "20 s"
repetitions = 3
[grid]
"system.net.users.ftp.count" = [6, 12]
"#;

/// EG-25: merged shards have the five tables of a cell network complete, and the distributions of `--json` too.
#[test]
fn eg_25_tables_of_networks_are_merged_to_the_byte() {
    let desk = Desk::new();
    desk.write("network.toml", NETWORK);
    let whole = desk.run(&["run", "network.toml", "--out", "whole", "--json"]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    for number in 1..=3 {
        let (shard, out) = (format!("{number}/3"), format!("s{number}"));
        let ended = desk.run(&["run", "network.toml", "--shard", &shard, "--out", &out]);
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    let merged = desk.run(&["merge", "s2", "s3", "s1", "--out", "merged", "--json"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    for table in ["flows", "users", "cells", "slots", "system", "radio"] {
        let bytes = |folder: &str| {
            std::fs::read(desk.path(&format!("{folder}/{table}.parquet")))
                .unwrap_or_else(|e| panic!("{table}: {e}"))
        };
        assert_eq!(bytes("whole"), bytes("merged"), "{table}");
    }
    assert!(whole.out.contains("\"ci_db_radio_blocks\""));
    assert_eq!(whole.out.replace("\"whole\"", "\"merged\""), merged.out);
    // Neither the number of threads changes a byte.
    for jobs in ["1", "3"] {
        let ended = desk.run(&["run", "network.toml", "--out", jobs, "--jobs", jobs]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        for table in ["flows", "users", "cells", "slots", "system", "radio"] {
            let bytes =
                |folder: &str| std::fs::read(desk.path(&format!("{folder}/{table}.parquet"))).unwrap();
            assert_eq!(bytes("whole"), bytes(jobs), "{table} with {jobs} threads");
        }
    }
    // A shard without one of them is refused, and nothing is written.
    std::fs::remove_file(desk.path("s2/cells.parquet")).unwrap();
    let ended = desk.run(&["merge", "s1", "s2", "s3", "--out", "short"]);
    assert!(ended.code == 2 && ended.err.contains("`s2` has no table `cells.parquet`"), "{}", ended.err);
    assert!(!desk.path("short").exists());
}

#[test]
fn a_shard_continues_as_that_shard() {
    let desk = Desk::new();
    for number in ["1/2", "2/2"] {
        assert_eq!(desk.run(&["run", "small.toml", "--shard", number, "--reps", "3"]).code, 0);
    }
    let more = desk.run(&["run", "small.toml", "--resume", "--shard", "1/2", "--reps", "6"]);
    assert_eq!(more.code, 0, "{}", more.err);
    assert_eq!(desk.run(&["run", "--resume", "runs/small.2-of-2", "--reps", "6"]).code, 0);
    let other = desk.run(&["run", "--resume", "runs/small.1-of-2", "--shard", "2/2"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("has shard 1/2, and the command requests shard 2/2"), "{}", other.err);
    assert_eq!(desk.run(&["run", "small.toml", "--reps", "6", "--out", "whole"]).code, 0);
    let merged = desk.run(&["merge", "runs/small.1-of-2", "runs/small.2-of-2", "--out", "merged"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(table(&desk, "whole"), table(&desk, "merged"));
}

#[test]
fn what_does_not_belong_together_is_refused_with_its_reason() {
    let desk = Desk::new();
    shards(&desk, 3);
    desk.run(&["run", "small.toml", "--out", "whole"]);
    for (out, more) in
        [("seed", ["--seed", "2"]), ("reps", ["--reps", "6"]), ("set", ["--set", "run.limit=2 h"])]
    {
        let args = ["run", "small.toml", "--shard", "3/3", "--out", out];
        assert_eq!(desk.run(&[&args[..], &more].concat()).code, 0);
    }
    assert_eq!(desk.run(&["run", "small.toml", "--shard", "2/4", "--out", "quarter"]).code, 0);
    let wrong = [
        (&["s1", "s3"][..], "shard 2 of 3 is missing"),
        (&["s3"], "shards 1, 2 of 3 are missing"),
        (&["s1", "s2", "s3", "s2"], "`s2` and `s2` both hold shard 2/3"),
        (&["s1", "s2", "whole"], "`whole` holds a whole run, not a shard"),
        (&["s1", "s2", "seed"], "the seed is 1 and 2"),
        (&["s1", "s2", "reps"], "the number of repetitions is 5 and 6"),
        (&["s1", "s2", "set"], "the hash of the scenario is"),
        (&["s1", "s3", "quarter"], "the number of shards is 3 and 4"),
        (&["s1", "nowhere"], "there is no such folder"),
    ];
    for (folders, why) in wrong {
        let ended = desk.run(&[&["merge"][..], folders, &["--out", "merged"]].concat());
        assert_eq!(ended.code, 2, "{folders:?}");
        assert!(ended.err.contains(why), "{folders:?}: {}", ended.err);
        assert!(!desk.path("merged").exists(), "{folders:?} wrote something");
    }
    let nonsense = desk.run(&["run", "small.toml", "--shard", "4/3", "--no-out"]);
    assert_eq!(nonsense.code, 2);
    assert!(nonsense.err.contains("there is no shard 4 of 3"), "{}", nonsense.err);
}

#[test]
fn an_unfinished_shard_is_continued_before_it_is_merged() {
    let desk = Desk::new();
    shards(&desk, 2);
    let path = desk.path("s2/run.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"complete\": true", "\"complete\": false");
    std::fs::write(&path, text).unwrap();
    let ended = desk.run(&["merge", "s1", "s2", "--out", "merged"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("holds shard 2/2, which is not finished"), "{}", ended.err);
    assert!(ended.err.contains("williwaw run --resume s2"), "{}", ended.err);
    assert_eq!(desk.run(&["run", "--resume", "s2"]).code, 0);
    assert_eq!(desk.run(&["merge", "s1", "s2", "--out", "merged"]).code, 0);
}

#[test]
fn tables_are_written_for_papers() {
    let desk = Desk::new();
    let markdown = desk.run(&["run", "small.toml", "--no-out", "--table", "markdown"]);
    assert_eq!(markdown.code, 0, "{}", markdown.err);
    assert_eq!(markdown.out.lines().filter(|line| line.starts_with("| ")).count(), 5, "{}", markdown.out);
    let latex = desk.run(&["run", "small.toml", "--no-out", "--table", "latex"]);
    assert!(latex.out.starts_with("\\begin{tabular}{ll"), "{}", latex.out);
    assert_eq!(latex.out.matches("\\pm").count(), markdown.out.matches('±').count(), "{}", latex.out);
}
