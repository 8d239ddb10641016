//! The Rust files of a work tree: the source without its tests, and the text of all.
//!
//! Takes the root, gives each file of the source with its parsed items. Prevents: figures that grow with the tests.

use anyhow::Context;
use std::path::Path;
use syn::spanned::Spanned;

/// One Rust file, wherever it lies in a crate.
pub(crate) struct Text {
    /// From the root of the work tree.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// One file under `src` of a crate.
pub(crate) struct SourceFile {
    /// From the root of the work tree.
    pub(crate) name: String,
    /// The crate's folder.
    pub(crate) room: String,
    /// Under `benches/`, not `crates/`.
    pub(crate) is_bench: bool,
    /// The whole text, inline tests included.
    pub(crate) text: String,
    /// Lines, inline tests left out.
    pub(crate) lines: usize,
    /// First and last lines of inline tests, from 1.
    pub(crate) tests: Vec<(usize, usize)>,
    /// Its items, inline tests left out.
    pub(crate) items: Vec<syn::Item>,
}

/// All files under `src` of the crates and benches.
///
/// # Errors
/// A file that cannot be read or is no Rust.
pub(crate) fn read(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for Text { name, text } in texts(root)? {
        if name.contains("/src/") {
            files.push(file(name, text)?);
        }
    }
    // A file that only tests see is declared by another one.
    let test_only: Vec<String> = files.iter().flat_map(declared_for_tests).collect();
    files.retain(|file| !test_only.iter().any(|place| file.name.starts_with(place)));
    Ok(files)
}

/// All Rust files of the crates and benches, in the order of their names: source, tests, benches and examples.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn texts(root: &Path) -> anyhow::Result<Vec<Text>> {
    let mut texts = Vec::new();
    for dir in ["crates", "benches"] {
        let walk = walkdir::WalkDir::new(root.join(dir)).sort_by_file_name();
        for entry in walk.into_iter().filter_map(Result::ok) {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
                let name = path.strip_prefix(root)?.display().to_string();
                texts.push(Text { name, text });
            }
        }
    }
    Ok(texts)
}

fn file(name: String, text: String) -> anyhow::Result<SourceFile> {
    let parsed = syn::parse_file(&text).with_context(|| format!("parse {name}"))?;
    let (tests, items): (Vec<_>, Vec<_>) = parsed.items.into_iter().partition(is_for_tests);
    let inline = tests.iter().filter(|item| !is_declared_elsewhere(item));
    let tests: Vec<(usize, usize)> = inline
        .map(|item| (item.span().start().line, item.span().end().line))
        .collect();
    let lines = text.lines().count() - tests.iter().map(|(from, to)| to - from + 1).sum::<usize>();
    let room = name.split('/').nth(1).unwrap_or_default().to_string();
    Ok(SourceFile {
        is_bench: name.starts_with("benches/"),
        name,
        room,
        text,
        lines,
        tests,
        items,
    })
}

/// Whether attributes leave an item to the tests.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let cfg = attribute.path().is_ident("cfg");
        let only = |path: syn::Path| path.is_ident("test");
        attribute.path().is_ident("test") || (cfg && attribute.parse_args::<syn::Path>().is_ok_and(only))
    })
}

fn is_for_tests(item: &syn::Item) -> bool {
    match item {
        syn::Item::Mod(module) => is_test(&module.attrs),
        syn::Item::Fn(function) => is_test(&function.attrs),
        syn::Item::Impl(block) => is_test(&block.attrs),
        syn::Item::Use(import) => is_test(&import.attrs),
        syn::Item::Const(constant) => is_test(&constant.attrs),
        _ => false,
    }
}

fn is_declared_elsewhere(item: &syn::Item) -> bool {
    matches!(item, syn::Item::Mod(module) if module.content.is_none())
}

/// Beginnings of the names of files that `mod NAME;` under `#[cfg(test)]` declares.
fn declared_for_tests(file: &SourceFile) -> Vec<String> {
    let Ok(parsed) = syn::parse_file(&file.text) else {
        return Vec::new();
    };
    let folder = crate::circles::folder_of(&file.name);
    let declared = parsed.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if is_test(&module.attrs) && module.content.is_none() => Some(&module.ident),
        _ => None,
    });
    declared
        .flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/")])
        .collect()
}
