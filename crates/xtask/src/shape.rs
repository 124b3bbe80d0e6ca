//! Source metrics: longest functions and files, largest structs, dependencies and cycles between crates and
//! modules.
//!
//! `cargo run -p xtask -- house` prints them beside the figures of commit e5b28cb.

use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Figures of commit e5b28cb, by the same rules of counting.
const BEFORE: [(&str, usize); 3] = [("longest function", 221), ("longest file", 601), ("largest struct", 73)];
/// Number of rows of each table.
const ROWS: usize = 8;

/// Cycles between modules that are one subject: crate, a module of the cycle, reason. Other cycles have no
/// reason yet.
const REASONS: [(&str, &str, &str); 15] = [
    ("atp", "packet", "a packet writes itself by the codec, and the codec reads packets"),
    ("dccp", "packet", "a packet writes itself by the codec, and the codec reads packets"),
    ("rtp", "packet", "a packet writes itself by the codec, and the codec reads packets"),
    (
        "base",
        "packet",
        "a head names its body's place, the pool stores bodies, a body stores itself in the pool",
    ),
    ("capture", "link", "frames nest: a link layer holds packets, a tunnel in a packet holds a link layer"),
    ("capture", "reader", "the reader chooses a format, and the formats give what it returns"),
    (
        "cells",
        "config",
        "each part declares its options, the configuration sums them, and parts read each other's",
    ),
    ("cells", "system", "the tick is the second half of `impl Cells`, in a file of its own"),
    ("host", "host", "the host holds the dispatch of its flow, which counts in the host's counters"),
    ("lab", "measure", "one row of measures is filled by flow, by workload and by bearer"),
    ("measure", "client", "the client opens the line with its own settings"),
    (
        "path",
        "element",
        "an element's context sends through wires to the outbox; all name elements by number",
    ),
    (
        "path",
        "qdisc",
        "a plain link has RED built in; options of the deadline-aware link stand among the disciplines",
    ),
    (
        "scenario",
        "build",
        "a protocol, a workload or a bearer is grammar, model and construction in one file (ADR 0044, 0091)",
    ),
    ("serve", "sets", "a set is exported as the page that lists its parts"),
];

/// A measured item: size, name, file.
type Measured = (usize, String, String);

/// Metrics of one source file without its tests.
#[derive(Default)]
struct File {
    functions: Vec<(usize, String)>,
    structs: Vec<(usize, String)>,
    /// Paths from the crate's root that the file names.
    uses: BTreeSet<Vec<String>>,
    /// Module path of the file, or of the inline module being read.
    module: Vec<String>,
}

impl File {
    fn read(text: &str, module: Vec<String>) -> Result<File, syn::Error> {
        let mut file = File { module, ..File::default() };
        file.visit_file(&syn::parse_file(text)?);
        Ok(file)
    }

    fn function(&mut self, sig: &syn::Signature, whole: proc_macro2::Span) {
        let lines = whole.end().line - sig.span().start().line + 1;
        self.functions.push((lines, sig.ident.to_string()));
    }

    /// Adds a path that begins at the crate's root or with `super`.
    fn path(&mut self, segments: &[String]) {
        let mut at = match segments.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super" | "self") => self.module.clone(),
            _ => return,
        };
        for segment in segments {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    at.pop();
                }
                name => at.push(name.to_owned()),
            }
        }
        self.uses.insert(at);
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.leaf(before, name.ident.to_string()),
            syn::UseTree::Rename(name) => self.leaf(before, name.ident.to_string()),
            syn::UseTree::Glob(_) => self.path(&before.clone()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }

    fn leaf(&mut self, before: &[String], name: String) {
        let mut all = before.to_vec();
        all.push(name);
        self.path(&all);
    }
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("test")
            || a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

impl<'a> Visit<'a> for File {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if is_test(&item.attrs) || item.content.is_none() {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, item.span());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.function(&item.sig, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.function(&item.sig, item.span());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.structs.push((item.fields.len(), item.ident.to_string()));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.tree(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.path(&names);
        visit::visit_path(self, path);
    }
}

/// Prints the metrics of all crates.
pub(crate) fn print(tree: &Tree, say: &mut impl FnMut(&str)) -> Result<(), String> {
    let (mut functions, mut structs, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut rooms: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (path, text) in tree.all().filter(|(path, _)| path.ends_with(".rs")) {
        let Some((krate, within)) = path.strip_prefix("crates/").and_then(|p| p.split_once("/src/")) else {
            continue;
        };
        let module = module_of(within);
        let file = File::read(text, module.clone()).map_err(|e| format!("{path}: {e}"))?;
        files.push((text.lines().count(), String::new(), path.to_owned()));
        let named = |(size, name): (usize, String)| (size, name, path.to_owned());
        functions.extend(file.functions.into_iter().map(named));
        structs.extend(file.structs.into_iter().map(named));
        // Unit tests in a file of their own are left out, like those at the end of a file.
        if within.ends_with("/tests.rs") {
            continue;
        }
        let room = module.first().cloned().unwrap_or_default();
        let used = file.uses.iter().filter_map(|p| p.first()).cloned();
        rooms.entry(krate.to_owned()).or_default().entry(room).or_default().extend(used);
    }
    for ((what, before), all) in BEFORE.into_iter().zip([functions, files, structs]) {
        table(what, before, all, say);
    }
    crates(tree, say)?;
    say("\ncircles between the modules at a crate's root:");
    let mut unexplained = 0;
    for (krate, edges) in rooms {
        for circle in circles(&edges) {
            let reason = reason(&krate, &circle);
            unexplained += usize::from(reason.is_none());
            say(&format!("  {krate}: {}; {}", circle.join(" "), reason.unwrap_or("no reason")));
        }
    }
    say(&format!("circles without a reason: {unexplained}"));
    Ok(())
}

/// Reason why the modules of a cycle are one subject.
fn reason(krate: &str, circle: &[String]) -> Option<&'static str> {
    let known = |(of, module, _): &&(&str, &str, &str)| *of == krate && circle.iter().any(|m| m == module);
    REASONS.iter().find(known).map(|(.., reason)| *reason)
}

/// Module path of a file in a crate's `src`.
fn module_of(within: &str) -> Vec<String> {
    let path = within.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(path, "lib" | "main") {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}

fn table(what: &str, before: usize, mut all: Vec<Measured>, say: &mut impl FnMut(&str)) {
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (&a.2, &a.1).cmp(&(&b.2, &b.1))));
    let now = all.first().map_or(0, |most| most.0);
    say(&format!("\n{what}: {now} (e5b28cb: {before})"));
    for (size, name, file) in all.into_iter().take(ROWS) {
        say(&format!("  {size:4}  {}{file}", if name.is_empty() { name } else { name + "  " }));
    }
}

/// Prints the direct dependencies between the crates of the workspace, without transitive ones.
fn crates(tree: &Tree, say: &mut impl FnMut(&str)) -> Result<(), String> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in tree.all().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let Some(name) = path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let table: toml::Table = text.parse().map_err(|e| format!("{path}: {e}"))?;
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut add = |table: &toml::Table| {
            if let Some(deps) = table.get("dependencies").and_then(toml::Value::as_table) {
                used.extend(deps.keys().cloned());
            }
        };
        add(&table);
        if let Some(targets) = table.get("target").and_then(toml::Value::as_table) {
            targets.values().filter_map(toml::Value::as_table).for_each(&mut add);
        }
        arrows.insert(name.to_owned(), used);
    }
    let own: BTreeSet<String> = arrows.keys().cloned().collect();
    arrows.values_mut().for_each(|used| used.retain(|name| own.contains(name)));
    say("\ncrates, each with those that it uses directly and through no other:");
    for (name, used) in &arrows {
        let beyond: BTreeSet<String> =
            used.iter().flat_map(|via| reached(&arrows, via).into_iter().filter(move |n| n != via)).collect();
        let direct: Vec<&str> = used.iter().filter(|n| !beyond.contains(*n)).map(String::as_str).collect();
        say(&format!("  {name} -> {}", direct.join(" ")));
    }
    let circles = circles(&arrows);
    say(&format!("circles between crates: {}", circles.len()));
    Ok(())
}

/// All names that can be reached from one name, including itself.
fn reached(arrows: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = open.pop() {
        if seen.insert(name.clone()) {
            open.extend(arrows.get(&name).into_iter().flatten().cloned());
        }
    }
    seen
}

/// Strongly connected groups of two or more names.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<String>> =
        arrows.keys().filter(|n| !n.is_empty()).map(|n| (n.as_str(), reached(arrows, n))).collect();
    let mutual = |a: &str, b: &str| reach[a].contains(b) && reach[b].contains(a);
    let (mut done, mut all) = (BTreeSet::new(), Vec::new());
    for &name in reach.keys() {
        let group: Vec<String> = reach.keys().filter(|n| mutual(name, n)).map(|n| (*n).to_owned()).collect();
        if group.len() > 1 && done.insert(group[0].clone()) {
            all.push(group);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_functions_and_structs_outside_tests() {
        let text = "struct A { x: u8, y: u8 }\nimpl A {\n    fn long(&self) {\n        self;\n    }\n}\n#[cfg(test)]\nmod tests {\n    fn no() {}\n}\n";
        let file = File::read(text, Vec::new()).unwrap();
        assert_eq!(file.functions, [(3, "long".to_owned())]);
        assert_eq!(file.structs, [(2, "A".to_owned())]);
    }

    #[test]
    fn paths_count_from_the_root_of_the_crate() {
        let text = "use super::{b::C, d};\nfn f() { crate::e::g(); }";
        let file = File::read(text, vec!["a".into(), "x".into()]).unwrap();
        let has =
            |path: &[&str]| file.uses.contains(&path.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert!(has(&["a", "b", "C"]) && has(&["a", "d"]) && has(&["e", "g"]), "{:?}", file.uses);
    }

    #[test]
    fn a_reason_belongs_to_one_crate() {
        let circle = ["link", "packet"].map(str::to_owned);
        assert!(reason("capture", &circle).is_some_and(|why| why.contains("nest")));
        assert_eq!(reason("scenario", &circle), None);
    }

    #[test]
    fn a_circle_is_found_once() {
        let edge = |a: &str, to: &[&str]| (a.to_owned(), to.iter().map(|s| (*s).to_owned()).collect());
        let arrows =
            BTreeMap::from([edge("a", &["b"]), edge("b", &["c"]), edge("c", &["a"]), edge("d", &["a"])]);
        assert_eq!(circles(&arrows), [["a", "b", "c"].map(str::to_owned).to_vec()]);
    }
}
