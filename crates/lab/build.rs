//! Build script: table of published experiments. Each folder of `experiments/` with a `claims.toml` is a
//! group, and each `.toml` file in it is compiled into the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut out = String::from("/// Every group, by name.\npub const GROUPS: &[Group] = &[\n");
    for folder in sorted(&root, |path| path.join("claims.toml").is_file())? {
        let name = file_name(&folder);
        let _ = writeln!(out, "    Group {{ name: {name:?}, files: &[");
        for file in sorted(&folder, |path| path.extension().is_some_and(|e| e == "toml"))? {
            let file = file_name(&file);
            let _ = writeln!(
                out,
                "        ({file:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \
                 \"/../../experiments/{name}/{file}\"))),"
            );
        }
        out.push_str("    ] },\n");
    }
    out.push_str("];\n");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("groups.rs");
    fs::write(target, out)
}

/// The entries of a folder that are wanted, in the order of the published numbering: tables, figures, the rest.
fn sorted(folder: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("cargo::rerun-if-changed={}", path.display());
        if wanted(&path) {
            all.push(path);
        }
    }
    all.sort_by_key(|path| order(path));
    Ok(all)
}

/// Rank, first number in the name, name.
fn order(path: &Path) -> (u8, u32, String) {
    let name = file_name(path);
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let rank = match name.as_str() {
        name if name.starts_with("table") => 0,
        name if name.starts_with("fig") => 1,
        _ => 2,
    };
    let digits: String =
        name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let number = if rank < 2 { digits.parse().unwrap_or(0) } else { 0 };
    (rank, number, stem)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}
