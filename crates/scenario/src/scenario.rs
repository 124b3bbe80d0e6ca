//! Scenario reader: parses the text, applies overrides, reports all mistakes at once, and builds one
//! [`Model`] per cell of the grid.

use crate::diagnostic::source::{SourceSpan, Sources};
use crate::diagnostic::{Collector, Diagnostic, Diagnostics, Severity};
use crate::grammar::cx::{Cx, Files, Library, NoFiles};
use crate::grammar::overrides::{self, Override};
use crate::grammar::reader::Reader;
use crate::grammar::tree::{self, Tree, Value};
use crate::grammar::validate;
use crate::model::{Direction, Model};
use crate::tables::flow::{self, command};
use crate::tables::path::{credit, link, machine, wire};
use crate::tables::run::grid::{self, Axis};
use crate::tables::run::{self, ROOT};
use crate::tables::run::{expect, trigger};
use crate::tables::system;
use crate::{preset, topology};

/// Largest grid whose cells are all checked on reading. In larger grids every value is checked with the first
/// values of the other axes; an impossible combination is reported when its cell is built. For files above 10
/// kB the bound is 20 MB divided by the size of the file.
pub const CHECKED_CELLS: u64 = 2000;

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    text: String,
    title: String,
    /// Value tree with the first cell's values and all `--set` overrides.
    tree: Tree,
    axes: Vec<Axis>,
    overrides: Vec<(String, String)>,
    sources: Sources,
    library: Library,
    first: Model,
    warnings: Diagnostics,
}

/// One combination of the grid's values.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Number of the cell, from 0; the last axis varies fastest.
    pub index: u64,
    /// Path and value of each axis, in the order of the file.
    pub params: Vec<(String, serde_json::Value)>,
    /// Model to run.
    pub model: Model,
}

/// Reads a scenario. `name` is its name in messages; `files` loads the files that it names.
pub fn read(name: &str, text: &[u8], files: &dyn Files) -> Result<Scenario, Diagnostics> {
    read_with(name, text, files, &[])
}

/// Reads a scenario and applies `KEY=VALUE` overrides, as `--set` passes them. An override of a grid path
/// fixes that path.
pub fn read_with(
    name: &str,
    text: &[u8],
    files: &dyn Files,
    overrides: &[String],
) -> Result<Scenario, Diagnostics> {
    let cx = Cx::new(files);
    let scenario = read_in(name, text, overrides, &cx);
    let mut diagnostics = cx.collector.borrow_mut().take(&cx.sources.borrow());
    let varied = |s: &Scenario, what: &str| s.axes.iter().any(|axis| axis.key.contains(what));
    if scenario.as_ref().is_some_and(|s| varied(s, ".transport.") || varied(s, ".error.")) {
        // A grid over transports or errors may vary an option that has no effect in some cells.
        diagnostics.list.retain(|d| d.code != "no-effect");
    }
    match scenario {
        Some(scenario) if !diagnostics.has_errors() => Ok(Scenario { warnings: diagnostics, ..scenario }),
        _ => Err(diagnostics),
    }
}

/// Mobile and fixed end of a file's path, even if the rest of the file is incomplete. They are the node at
/// which downlinks end, and the node at which they begin. `None` without both.
pub fn ends(name: &str, text: &[u8], files: &dyn Files) -> Option<[String; 2]> {
    let cx = Cx::new(files);
    let source = tree::decode(name, text, &mut cx.sources.borrow_mut(), &mut cx.collector.borrow_mut())?;
    let text = cx.sources.borrow().text(SourceSpan { source, start: 0, end: 0 }).to_owned();
    let root = tree::parse(&text, source, &mut cx.collector.borrow_mut());
    let graph = topology::read(Reader::new(&root, &ROOT), &cx);
    let down = || graph.links.iter().filter(|link| link.direction != Some(Direction::Up));
    let near = down().map(|l| l.to).find(|node| down().all(|l| l.from != *node))?;
    let far = down().map(|l| l.from).find(|node| down().all(|l| l.to != *node))?;
    Some([near, far].map(|node| graph.nodes[node].name.clone()))
}

fn read_in(name: &str, text: &[u8], overrides: &[String], cx: &Cx<'_>) -> Option<Scenario> {
    let source = {
        let (mut sources, mut collector) = (cx.sources.borrow_mut(), cx.collector.borrow_mut());
        tree::decode(name, text, &mut sources, &mut collector)?
    };
    let text = cx.sources.borrow().text(SourceSpan { source, start: 0, end: 0 }).to_owned();
    let mut root = tree::parse(&text, source, &mut cx.collector.borrow_mut());
    if cx.errors() > 0 {
        // Broken statements are blanked. Other mistakes are reported, except missing keys, which a blanked
        // statement may have held.
        structure(&root, &["missing-key", "conflict"], cx);
        return None;
    }
    if root.table().is_some_and(|t| t.entries.is_empty()) {
        let what =
            if text.trim().is_empty() { "this file is empty" } else { "this file holds only comments" };
        cx.push(
            Diagnostic::error("empty", root.place, what)
                .help("a scenario starts with williwaw = 1; `williwaw new` writes one to start from"),
        );
        return None;
    }
    let overrides: Vec<(&String, Override)> =
        overrides.iter().filter_map(|argument| Some((argument, overrides::parse(argument, cx)?))).collect();
    let mut axes = grid::axes(&root);
    for (_, change) in &overrides {
        axes.retain(|axis| axis.paths.iter().all(|path| path.text != change.path.text));
        if let Err(diagnostic) = overrides::apply(&mut root, change) {
            cx.push(*diagnostic);
        }
    }
    // Mistakes in the file are reported even where the grid replaces the value. Missing keys are not, because
    // the grid may supply them.
    structure(&root, &["missing-key", "conflict"], cx);
    let mut first = root;
    // The axes hold the grid; it is removed from the tree, which is cloned for every cell.
    take_grid(&mut first);
    for axis in &axes {
        apply_all(&mut first, &axis.overrides(0), cx);
    }
    let model = build(&first, cx);
    let mut budget = budget(text.len());
    for axis in &axes {
        for index in 1..axis.values.len().min(budget + 1) {
            if cx.full() {
                break;
            }
            let mut tree = first.clone();
            apply_all(&mut tree, &axis.overrides(index), cx);
            build(&tree, cx);
        }
        budget = budget.saturating_sub(axis.values.len());
    }
    let model = model?;
    let scenario = Scenario {
        name: name.to_owned(),
        title: model.title.clone(),
        text,
        tree: first,
        axes,
        overrides: overrides
            .iter()
            .map(|(argument, change)| {
                let value = argument.split_once('=').map_or("", |(_, v)| v).trim();
                (change.path.text.clone(), value.to_owned())
            })
            .collect(),
        sources: cx.sources.borrow().clone(),
        library: cx.library.borrow().clone(),
        first: model,
        warnings: Collector::default().take(&Sources::default()),
    };
    if cx.errors() == 0
        && scenario.axes.len() > 1
        && scenario.cell_count().is_some_and(|n| n <= budget as u64)
    {
        for index in 0..scenario.cell_count().unwrap_or(0) {
            build(&scenario.cell_tree(index), cx);
        }
    }
    scenario.cost_limits(cx);
    Some(scenario)
}

fn take_grid(root: &mut Tree) {
    if let Value::Table(table) = &mut root.value {
        table.entries.retain(|e| e.key != "grid");
    }
}

/// Number of cells checked on reading a file of this size.
fn budget(bytes: usize) -> usize {
    (20_000_000 / (bytes + 1)).clamp(1, CHECKED_CELLS as usize)
}

/// Checks shapes only, without diagnostics of these codes.
fn structure(root: &Tree, without: &[&str], cx: &Cx<'_>) {
    let root = &*preset::expand(root, cx);
    let before = cx.collector.take();
    if let Value::Table(table) = &root.value {
        validate::table(table, root.place, &ROOT, None, cx);
    }
    let found = cx.collector.replace(before);
    for diagnostic in found.into_iter().filter(|d| !without.contains(&d.code)) {
        cx.push(diagnostic);
    }
}

fn apply_all(tree: &mut Tree, changes: &[Override], cx: &Cx<'_>) {
    for change in changes {
        if let Err(diagnostic) = overrides::apply(tree, change) {
            cx.push(*diagnostic);
        }
    }
}

/// Builds the model of one cell; diagnostics go to `cx`.
fn build(root: &Tree, cx: &Cx<'_>) -> Option<Model> {
    let before = cx.errors();
    let root = &*preset::expand(root, cx);
    if let Value::Table(table) = &root.value {
        validate::table(table, root.place, &ROOT, None, cx);
    }
    let reader = Reader::new(root, &ROOT);
    let mut graph = topology::read(reader, cx);
    let machines = machine::read(reader, &mut graph, cx);
    let mut flows = flow::read(reader, &graph, cx);
    let systems = system::read(reader, &mut graph, &mut flows, cx);
    let triggers = trigger::read(reader, &machines, &flows, &graph.nodes, cx);
    if cx.errors() == before {
        credit::check(&mut graph.links, &graph.places, &graph.gates, &flows, cx);
    }
    let named: Vec<Option<String>> = reader.tables("flow", &flow::FLOW).map(|r| r.name()).collect();
    let names: Vec<String> = named.iter().flatten().cloned().collect();
    let all_named = names.len() == named.len() && reader.get("flow").is_none_or(|t| t.list().is_some());
    let mut commands = command::read(reader, &graph, &names, cx);
    if let Some(pair) = wire::pair(reader, &graph, reader.get("command").is_some(), cx) {
        commands.stations = pair.ends.to_vec();
        commands.pairs = vec![pair];
    }
    let wired = reader.tables("node", &link::NODE).any(|node| node.get("wire").is_some());
    let commanded = reader.tables("command", &command::COMMAND).map(|r| r.name());
    let (names, all_named) = commanded.fold((names, all_named), |(mut names, all), name| {
        let named = name.is_some();
        names.extend(name);
        (names, all && named)
    });
    let (names, all_named) = system::names(reader).fold((names, all_named), |(mut names, all), name| {
        let named = name.is_some();
        names.extend(name);
        (names, all && named)
    });
    let idle = ["flow", "command", "system"].iter().all(|key| reader.get(key).is_none());
    if idle && !wired {
        let help = "[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\napp = { bulk = { bytes = \"100 kB\" } }";
        let end = reader.tree.table().and_then(|t| t.entries.last()).map_or(root.place, |e| e.key_place);
        cx.push(
            Diagnostic::error("no-flow", end, "nothing happens in this scenario: it has no flow").help(help),
        );
    }
    let reporting: Vec<String> = reader
        .tables("command", &command::COMMAND)
        .filter(|command| command.get("metrics").is_some())
        .filter_map(|command| command.name())
        .collect();
    let subjects = expect::Subjects { flows: &names, complete: all_named, reporting: &reporting };
    let expect = expect::read(reader, &subjects, cx);
    let run = run::read(reader, cx);
    let (title, run) = (reader.text("title")?, run?);
    if cx.errors() > before {
        return None;
    }
    Some(Model {
        title,
        nodes: graph.nodes,
        links: graph.links,
        bearers: graph.bearers,
        processes: graph.processes,
        firewalls: graph.firewalls,
        gates: graph.gates,
        rate_changes: graph.rate_changes,
        losses: graph.losses,
        backgrounds: graph.backgrounds,
        errors: graph.errors,
        machines,
        triggers,
        flows,
        systems,
        commands: commands.commands,
        stations: commands.stations,
        pairs: commands.pairs,
        run,
        expect,
    })
}

impl Scenario {
    /// Name under which it was read.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Text as read.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Title; may be empty.
    pub fn title(&self) -> &str {
        &self.title
    }
    /// Overrides with which it was read: path and value as given.
    pub fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }
    /// Warnings.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
    /// Model of the first cell, which every scenario has.
    pub fn first(&self) -> &Model {
        &self.first
    }
    /// Path and values of every axis of the grid.
    pub fn axes(&self) -> impl Iterator<Item = (&str, Vec<serde_json::Value>)> {
        self.axes.iter().map(|axis| (axis.key.as_str(), axis.values.iter().map(Tree::to_json).collect()))
    }

    /// Hash of text and overrides: FNV-1a of 128 bits, as 32 hexadecimal digits. Equal on all machines and in
    /// all versions.
    pub fn hash(&self) -> String {
        let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        let mut eat = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
            }
        };
        eat(self.text.as_bytes());
        for (key, value) in &self.overrides {
            eat(&[0]);
            eat(key.as_bytes());
            eat(b"=");
            eat(value.as_bytes());
        }
        format!("{hash:032x}")
    }

    /// Number of cells; `None` on overflow.
    pub fn cell_count(&self) -> Option<u64> {
        self.axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.values.len() as u64))
    }

    /// Iterator over all cells in order, each built on demand.
    pub fn cells(&self) -> impl Iterator<Item = Result<Cell, Diagnostics>> {
        (0..self.cell_count().unwrap_or(u64::MAX)).map(|index| self.cell(index))
    }

    /// Builds one cell. An error is possible only in a grid of more than [`CHECKED_CELLS`] cells, for an
    /// impossible combination.
    pub fn cell(&self, index: u64) -> Result<Cell, Diagnostics> {
        let choice = self.choice(index);
        let params = self
            .axes
            .iter()
            .zip(&choice)
            .map(|(axis, &i)| (axis.key.clone(), axis.values[i].to_json()))
            .collect();
        if choice.iter().all(|&i| i == 0) {
            return Ok(Cell { index, params, model: self.first.clone() });
        }
        let cx = Cx::with(&NoFiles, Sources::default(), self.library.clone());
        match build(&self.cell_tree(index), &cx) {
            Some(model) => Ok(Cell { index, params, model }),
            None => Err(cx.collector.borrow_mut().take(&self.sources)),
        }
    }

    /// Index of each axis value in a cell.
    fn choice(&self, index: u64) -> Vec<usize> {
        let mut rest = index;
        let mut choice = vec![0; self.axes.len()];
        for (slot, axis) in choice.iter_mut().zip(&self.axes).rev() {
            *slot = (rest % axis.values.len() as u64) as usize;
            rest /= axis.values.len() as u64;
        }
        choice
    }

    fn cell_tree(&self, index: u64) -> Tree {
        let mut tree = self.tree.clone();
        for (axis, i) in self.axes.iter().zip(self.choice(index)) {
            for change in axis.overrides(i) {
                // Every path was checked when the scenario was read.
                let _ = overrides::apply(&mut tree, &change);
            }
        }
        tree
    }

    fn cost_limits(&self, cx: &Cx<'_>) {
        let largest = || self.axes.iter().max_by_key(|axis| axis.values.len());
        if self.cell_count().is_none()
            && let Some(axis) = largest()
        {
            cx.push(
                Diagnostic::error("too-large", axis.place, "this grid has more cells than can be counted")
                    .help("vary fewer keys at once"),
            );
        }
    }

    /// Span and number of values of every axis, largest first, for messages about the grid.
    pub(crate) fn axis_sizes(&self) -> Vec<(SourceSpan, usize)> {
        let mut sizes: Vec<_> = self.axes.iter().map(|axis| (axis.place, axis.values.len())).collect();
        sizes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        sizes
    }

    pub(crate) fn diagnose(&self, list: Vec<Diagnostic>) -> Diagnostics {
        let mut collector = Collector::default();
        debug_assert!(list.iter().all(|d| d.severity <= Severity::Warning));
        list.into_iter().for_each(|d| collector.push(d));
        collector.take(&self.sources)
    }
}
