//! Test of a run folder with a killed process: every repetition whose append returned is in the folder, the
//! lock is released, and the next process continues.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use results::{Cell, Column, Combine, Error, Header, Row, RunFolder, folder, row};

fn header() -> Header {
    let columns = vec![Column::new("time_s", "s", Combine::Mean)];
    Header::new("4f1c", 1, "0.1.0", vec![Cell::new(0, [("recovery", "reno")])], columns).unwrap()
}

fn rows(repetition: u64) -> [Row; 2] {
    ["a", "b"].map(|flow| Row::new(0, repetition, flow, [repetition as f64]))
}

/// Not a test by itself: the process that [`killed_and_continued`] starts and kills. If its working folder
/// contains `victim-wanted`, it appends to the run folder there and reports each finished repetition.
#[test]
#[ignore = "started by killed_and_continued in a folder of its own"]
fn victim() {
    if !Path::new("victim-wanted").exists() {
        return;
    }
    let mut folder = RunFolder::open("run").unwrap();
    let done = row::finished(&folder.start(&header()).unwrap()).len() as u64;
    let mut out = std::io::stderr();
    for repetition in done.. {
        folder.append(&rows(repetition)).unwrap();
        writeln!(out, "finished {repetition}").unwrap();
    }
}

#[test]
fn killed_and_continued() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("victim-wanted"), "").unwrap();
    let path = parent.path().join("run");
    drop(RunFolder::create(&path).unwrap());
    let mut least = 0;
    for round in 1..=5 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim", "--ignored", "--nocapture"])
            .current_dir(parent.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stderr.take().unwrap()).lines();
        // Lets the process finish some repetitions beyond those of the previous one.
        let mut told = 0;
        while told < least + 100 * round {
            let line = lines.next().expect("the victim ended by itself").unwrap();
            told = line.strip_prefix("finished ").map_or(told, |number| number.parse().unwrap());
        }
        assert!(matches!(RunFolder::open(&path), Err(Error::Locked { .. })));
        victim.kill().unwrap();
        victim.wait().unwrap();
        for line in lines {
            // The last line may be incomplete; each line before it names a durable repetition.
            if let Some(Ok(number)) = line.unwrap().strip_prefix("finished ").map(str::parse::<u64>) {
                told = told.max(number);
            }
        }

        let (found, kept) = folder::read(&path).unwrap();
        assert_eq!(found, header());
        let repetitions = kept.len() as u64 / 2;
        assert!(repetitions > told, "{told} was finished, {repetitions} are there");
        assert!(kept == (0..repetitions).flat_map(rows).collect::<Vec<_>>());
        least = repetitions;
    }
    let mut run = RunFolder::open(&path).unwrap();
    run.start(&header()).unwrap();
    assert_eq!(run.finish().unwrap().len() as u64, 2 * least);
}
