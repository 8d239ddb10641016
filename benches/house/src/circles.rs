//! Files that use each other in a circle.
//!
//! Takes the files of all rooms, gives those that reach themselves through `use` and paths of their own crate. A name
//! that a module hands on (`pub use`) leads to the file that declares it. Prevents: a folder in which no file can be
//! read alone.

use crate::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// As many hand-ons as one name may take.
const HANDS_MAX: usize = 16;

/// The folder in which a file's own modules lie, without a slash at the end.
pub(crate) fn folder_of(name: &str) -> String {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_string(),
        other => format!("{folder}/{}", other.trim_end_matches(".rs")),
    }
}

type Path = Vec<String>;

/// A module: its file, the modules in it, and what it calls by a name of its own.
#[derive(Default)]
struct Module {
    file: usize,
    names: BTreeMap<String, Path>,
    declared: BTreeSet<String>,
}

/// The files in circles, room by room, each line one circle's files.
///
/// # Errors
/// None yet: a name that leads nowhere is left out.
pub(crate) fn files_in_circles(files: &[&SourceFile]) -> anyhow::Result<Vec<String>> {
    let rooms: BTreeSet<&str> = files.iter().map(|file| file.room.as_str()).collect();
    let mut found = Vec::new();
    for room in rooms {
        let own: Vec<&SourceFile> = files.iter().filter(|file| file.room == room).copied().collect();
        let modules = modules(&own);
        let arrows = arrows(&own, &modules);
        for circle in circles(&arrows) {
            found.extend(
                circle
                    .iter()
                    .map(|&file| format!("{} (one of {})", own[file].name, circle.len())),
            );
        }
    }
    Ok(found)
}

/// The path of the module that a file is: empty for the root of the crate.
fn module_path(file: &SourceFile) -> Path {
    let inside = file.name.split_once("/src/").map_or("", |(_, inside)| inside);
    let mut path: Path = inside.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

fn modules(files: &[&SourceFile]) -> BTreeMap<Path, Module> {
    let mut modules = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let path = module_path(file);
        let mut module = Module {
            file: index,
            ..Module::default()
        };
        for item in &file.items {
            match item {
                syn::Item::Use(import) => {
                    let mut leaves = Vec::new();
                    leaves_of(&import.tree, &mut Vec::new(), &mut leaves);
                    for (name, leaf) in leaves {
                        module.names.insert(name, absolute(&path, leaf));
                    }
                }
                syn::Item::Mod(inner) => {
                    module.declared.insert(inner.ident.to_string());
                }
                _ => {}
            }
        }
        modules.insert(path, module);
    }
    modules
}

/// Each name that a `use` brings in, with the path that it is written by; `*` for all.
fn leaves_of(tree: &syn::UseTree, before: &mut Path, leaves: &mut Vec<(String, Path)>) {
    match tree {
        syn::UseTree::Path(step) => {
            before.push(step.ident.to_string());
            leaves_of(&step.tree, before, leaves);
            before.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            let last = before.last().cloned().unwrap_or_default();
            leaves.push((last, before.clone()));
        }
        syn::UseTree::Name(name) => leaves.push((name.ident.to_string(), joined(before, &name.ident))),
        syn::UseTree::Rename(name) => leaves.push((name.rename.to_string(), joined(before, &name.ident))),
        syn::UseTree::Glob(_) => leaves.push((format!("*{}", before.join("::")), before.clone())),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves_of(tree, before, leaves)),
    }
}

fn joined(before: &Path, name: &syn::Ident) -> Path {
    before.iter().cloned().chain([name.to_string()]).collect()
}

/// A path from the root of the crate, led by `crate`; another crate's stays as it is.
fn absolute(module: &Path, path: Path) -> Path {
    let mut here = module.clone();
    let mut steps = path.iter().peekable();
    match steps.peek().map(|step| step.as_str()) {
        Some("crate") => {
            here.clear();
            steps.next();
        }
        Some("self") => {
            steps.next();
        }
        Some("super") => {
            while steps.next_if(|step| *step == "super").is_some() {
                here.pop();
            }
        }
        _ => {}
    }
    let mut whole = vec!["crate".to_string()];
    whole.extend(here);
    whole.extend(steps.cloned());
    whole
}

/// The file that declares what an absolute path names; `None` for what is not of this crate.
fn declared_in(modules: &BTreeMap<Path, Module>, path: &[String], hands: usize) -> Option<usize> {
    let steps = path.strip_prefix(&["crate".to_string()])?;
    let mut at: Path = Vec::new();
    for (nth, step) in steps.iter().enumerate() {
        let module = modules.get(&at)?;
        let mut inner = at.clone();
        inner.push(step.clone());
        if modules.contains_key(&inner) {
            at = inner;
            continue;
        }
        if module.declared.contains(step) {
            return Some(module.file);
        }
        let handed = module.names.get(step).filter(|_| hands < HANDS_MAX);
        return match handed {
            Some(other) => {
                let rest: Path = other.iter().chain(&steps[nth + 1..]).cloned().collect();
                declared_in(modules, &rest, hands + 1)
            }
            None => Some(module.file),
        };
    }
    modules.get(&at).map(|module| module.file)
}

/// Paths that code of a file writes out.
struct Written<'a> {
    module: &'a Path,
    paths: Vec<Path>,
}

impl<'ast> Visit<'ast> for Written<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let steps: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.push(absolute(self.module, steps));
        syn::visit::visit_path(self, path);
    }
    // `pub(crate)` holds a path that uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
    }
}

/// For each file, the files of its crate that it uses. What it hands on is no use.
fn arrows(files: &[&SourceFile], modules: &BTreeMap<Path, Module>) -> Vec<BTreeSet<usize>> {
    let mut arrows = vec![BTreeSet::new(); files.len()];
    for (index, file) in files.iter().enumerate() {
        let module = module_path(file);
        let mut written = Written {
            module: &module,
            paths: Vec::new(),
        };
        for item in &file.items {
            match item {
                syn::Item::Use(import) if matches!(import.vis, syn::Visibility::Inherited) => {
                    let mut leaves = Vec::new();
                    leaves_of(&import.tree, &mut Vec::new(), &mut leaves);
                    written
                        .paths
                        .extend(leaves.into_iter().map(|(_, leaf)| absolute(&module, leaf)));
                }
                syn::Item::Use(_) => {}
                other => written.visit_item(other),
            }
        }
        for path in &written.paths {
            let target = declared_in(modules, path, 0);
            arrows[index].extend(target.filter(|&target| target != index));
        }
    }
    arrows
}

/// Groups of files each of which reaches all others of its group (Kosaraju's two walks).
fn circles(arrows: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut back = vec![BTreeSet::new(); arrows.len()];
    for (from, targets) in arrows.iter().enumerate() {
        targets.iter().for_each(|&to| {
            back[to].insert(from);
        });
    }
    let (mut order, mut seen) = (Vec::new(), vec![false; arrows.len()]);
    for start in 0..arrows.len() {
        order.extend(walk(arrows, start, &mut seen));
    }
    let mut seen = vec![false; arrows.len()];
    let groups = order.iter().rev().map(|&start| walk(&back, start, &mut seen));
    groups.filter(|group| group.len() > 1).collect()
}

/// What is reached from `start` and was not seen, in the order in which it was left.
fn walk(arrows: &[BTreeSet<usize>], start: usize, seen: &mut [bool]) -> Vec<usize> {
    let mut left = Vec::new();
    let mut open: Vec<(usize, bool)> = vec![(start, false)];
    while let Some((file, is_done)) = open.pop() {
        if is_done {
            left.push(file);
        } else if !std::mem::replace(&mut seen[file], true) {
            open.push((file, true));
            open.extend(
                arrows[file]
                    .iter()
                    .filter(|&&next| !seen[next])
                    .map(|&next| (next, false)),
            );
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_and_a_line_is_none() {
        let arrows = [
            BTreeSet::from([1]),
            BTreeSet::from([2]),
            BTreeSet::from([0]),
            BTreeSet::from([0]),
        ];
        let mut found = circles(&arrows);
        found.iter_mut().for_each(|group| group.sort_unstable());
        assert_eq!(found, [vec![0, 1, 2]]);
    }

    #[test]
    fn paths_are_read_from_the_module_where_they_stand() {
        let module: Path = ["a", "b"].map(String::from).to_vec();
        let path = |text: &str| text.split("::").map(String::from).collect::<Path>();
        assert_eq!(absolute(&module, path("super::c")), path("crate::a::c"));
        assert_eq!(absolute(&module, path("crate::c")), path("crate::c"));
        assert_eq!(absolute(&module, path("self::c")), path("crate::a::b::c"));
    }
}
