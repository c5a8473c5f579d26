//! The top-level modules of this crate must not form a cycle: ARCHITECTURE.md lists their layers.
//!
//! A module depends on another if its code, without comments and tests, names `crate::OTHER`.
//! `LabError`, `Remedy` and `ErrorClass`, which `lib.rs` exports, belong to `error`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// A cycle, from a module back to itself.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    let mut finished = BTreeSet::new();
    let mut starts = graph.keys();
    starts.find_map(|start| visit(graph, start, &mut Vec::new(), &mut finished))
}

fn visit(
    graph: &Graph,
    module: &str,
    path: &mut Vec<String>,
    finished: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(at) = path.iter().position(|name| name == module) {
        return Some([&path[at..], &[module.to_owned()]].concat());
    }
    if finished.contains(module) {
        return None;
    }
    path.push(module.to_owned());
    let mut uses = graph.get(module).into_iter().flatten();
    let found = uses.find_map(|other| visit(graph, other, path, finished));
    path.pop();
    finished.insert(module.to_owned());
    found
}

#[test]
fn modules_form_no_cycle() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let graph = graph(&folder);
    assert!(graph.len() > 20, "only {} modules were found", graph.len());
    assert!(graph["trainer"].contains("run") && graph["run"].contains("error"));
    if let Some(cycle) = cycle(&graph) {
        panic!("modules form a cycle: {}", cycle.join(" -> "));
    }
}

#[test]
fn names_and_cycles_are_found() {
    let text = "use crate::a::B;\n//! [`crate::no`]\nuse crate::{\n    LabError, c::{D, E},\n    f,\n};\n\
                fn g() { crate::h::i(); mycrate::j(); }\n#[cfg(test)]\nmod tests {\n    use crate::k;\n}\n";
    let found: Vec<String> = names(&code(text)).into_iter().collect();
    assert_eq!(found, ["a", "c", "error", "f", "h"]);
    let edges = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            let uses = graph.entry((*from).to_owned()).or_default();
            uses.insert((*to).to_owned());
        }
        graph
    };
    assert_eq!(cycle(&edges(&[("a", "b"), ("a", "c"), ("b", "c")])), None);
    let found = cycle(&edges(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]));
    assert_eq!(found.expect("a cycle").join(" "), "b c d b");
}
