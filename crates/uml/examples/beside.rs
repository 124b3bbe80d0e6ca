//! Comparison of the TCP model of Linux with a real kernel, in virtual time, segment by segment.
//!
//!     cargo run -p williwaw-uml --example beside -- table [CASE...]         the table of docs/linux.md
//!     cargo run -p williwaw-uml --example beside -- diff CASE [LEFT RIGHT]  both, segment by segment
//!
//! `LEFT` and `RIGHT` give the sender and the receiver: `kk` (kernel and kernel, the default of the left side), `mm`
//! (model and model), `km` and `mk`. Needs a kernel (`williwaw linux build`).
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(target_os = "linux")]
#[path = "../tests/common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
fn main() -> Result<(), String> {
    use common::beside::{self, Who};
    let words: Vec<String> = std::env::args().skip(1).collect();
    let kernels = common::kernels().ok_or("there is no kernel")?;
    let cases = beside::cases();
    match words.first().map(String::as_str) {
        Some("table") => {
            let only = &words[1..];
            println!("{}", beside::HEAD);
            for case in cases.case.iter().filter(|c| only.is_empty() || only.contains(&c.name)) {
                println!("{}", cases.row(&kernels, case));
            }
            Ok(())
        }
        Some("diff") => {
            let name = words.get(1).ok_or("diff CASE")?;
            let case = cases.case.iter().find(|c| c.name == *name).ok_or(format!("no case `{name}`"))?;
            let ends = |i: usize, usual: &str| {
                let word = words.get(i).map_or(usual, String::as_str);
                let who = |c: Option<char>| match c {
                    Some('k') => Ok(Who::Kernel),
                    Some('m') => Ok(Who::Model),
                    _ => Err(format!("`{word}`: say kk, km, mk or mm")),
                };
                let mut letters = word.chars();
                Ok::<_, String>([who(letters.next())?, who(letters.next())?])
            };
            let left = cases.play(&kernels, case, ends(2, "kk")?, None);
            let right = cases.play(&kernels, case, ends(3, "mm")?, None);
            println!("{}", emulate::agreement::side_by_side(&left.lines, &right.lines));
            Ok(())
        }
        _ => Err("say table or diff".into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
