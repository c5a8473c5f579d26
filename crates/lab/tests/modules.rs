//! A top-level module of this crate uses only modules before it in [`LAYERS`].
//!
//! A module depends on another if its code, without comments and tests, names `crate::OTHER`.
//! `LabError`, `Remedy` and `ErrorClass`, which `lib.rs` exports, belong to `error`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, those that use none first.
const LAYERS: [&str; 10] = [
    // Files, threads, intervals, memory; grades of moves.
    "disk text share statistics numbers memory rows migrate recorder direction_names grade",
    // Recipes, statistics of blocks, results, events, plots.
    "block packed recipe report control curve tensorboard plot",
    // Errors of all modules.
    "error",
    // Names to types, searches, networks in files, parts of an evaluation.
    "games metadata part scores search tables",
    "board boxed seal spec",
    "agent foreign",
    // Run folders and models.
    "bench environment run finish model records runs",
    // The work of a command.
    "convert evaluate session analyze compare pack referee review trainer",
    "merge positions solve sweep",
    // Many runs, players or files; lessons.
    "check lesson tournament",
];

/// The modules that each module names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// All source files under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The code of a file without comment lines, and without the test module at its end.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let tests = code.match_indices("#[cfg(test)]").find(|(at, attribute)| {
        let next = code[at + attribute.len()..].trim_start();
        next.starts_with("mod ") && next.lines().next().is_some_and(|line| line.ends_with('{'))
    });
    match tests {
        Some((at, _)) => code[..at].to_owned(),
        None => code,
    }
}

/// The names directly after each `crate::`, also those in braces, as in `crate::{a, b::C}`.
fn names(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let inside = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if inside {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(listed(list)),
            None => names.extend(first_name(rest)),
        }
    }
    names
}

/// The first names of a list in braces, up to its closing brace.
fn listed(list: &str) -> Vec<String> {
    let (mut depth, mut names, mut start) = (0, Vec::new(), 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.extend(first_name(list[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// The identifier at the start of a path, as a module.
fn first_name(path: &str) -> Option<String> {
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    match &path[..end.unwrap_or(path.len())] {
        "" => None,
        "LabError" | "Remedy" | "ErrorClass" => Some("error".to_owned()),
        name => Some(name.to_owned()),
    }
}

/// The modules of a crate whose sources are in `folder`.
fn graph(folder: &Path) -> Graph {
    let mut graph = Graph::new();
    for path in sources(folder) {
        let inner = path.strip_prefix(folder).expect("a file of the folder");
        let parts: Vec<String> = inner
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        // `games/toy.rs` is compiled for tests only.
        let is_test = parts.iter().any(|part| part == "tests" || part == "toy");
        if is_test || parts[0] == "lib" {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        let uses = graph.entry(parts[0].clone()).or_default();
        uses.extend(names(&code(&text)));
        uses.remove(&parts[0]);
    }
    graph
}

/// The first module of `layers` that uses one after it, and that one.
fn upward<'g>(graph: &'g Graph, layers: &[&str]) -> Option<(&'g str, &'g str)> {
    let place = |module: &str| layers.iter().position(|name| *name == module);
    let edges = graph.iter().flat_map(|(module, uses)| {
        uses.iter()
            .map(move |used| (module.as_str(), used.as_str()))
    });
    let mut known = edges.filter(|(_, used)| graph.contains_key(*used));
    known.find(|(module, used)| place(used) >= place(module))
}

#[test]
fn a_module_uses_only_modules_before_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let graph = graph(&folder);
    let layers: Vec<&str> = LAYERS.iter().flat_map(|line| line.split(' ')).collect();
    let (listed, found): (BTreeSet<&str>, BTreeSet<&str>) = (
        layers.iter().copied().collect(),
        graph.keys().map(String::as_str).collect(),
    );
    assert_eq!(listed, found, "LAYERS lists each module once");
    assert!(graph["trainer"].contains("run") && graph["run"].contains("error"));
    if let Some((module, used)) = upward(&graph, &layers) {
        panic!("`{module}` uses `{used}`, which comes after it in LAYERS");
    }
}

#[test]
fn names_and_wrong_edges_are_found() {
    let text = "use crate::a::B;\n//! [`crate::no`]\nuse crate::{\n    LabError, c::{D, E},\n    f,\n};\n\
                fn g() { crate::h::i(); mycrate::j(); }\n#[cfg(test)]\nmod tests {\n    use crate::k;\n}\n";
    let found: Vec<String> = names(&code(text)).into_iter().collect();
    assert_eq!(found, ["a", "c", "error", "f", "h"]);
    let uses = |used: &str| BTreeSet::from([used.to_owned()]);
    let graph = Graph::from([("a".to_owned(), uses("b")), ("b".to_owned(), uses("c"))]);
    assert_eq!(upward(&graph, &["b", "a"]), None);
    assert_eq!(upward(&graph, &["a", "b"]), Some(("a", "b")));
}
