//! No room takes a sentence apart: what a program asks for is a type, and not how something is worded.
//!
//! Takes the source, gives the lines that compare or split a text by words. Right of the wall one word is too much;
//! elsewhere a literal of several is taken for a sentence, a constant of such words too. Prevents: a decision that
//! changes with the wording of a message.

use super::{is_test_only, sources};
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::visit::Visit;

/// Rooms right of the wall, whose texts are of the file: a single word is looked for.
const OF_THE_FILE: [&str; 2] = ["crates/ledger/src/", "crates/report/src/"];

/// Rooms in which a literal of several words is looked for.
const ROOMS: [&str; 6] = [
    "crates/assay/src/",
    "crates/diskgroup/src/",
    "crates/lab/src/",
    "crates/ledger/src/",
    "crates/report/src/",
    "crates/stacks/src/",
];

/// Files that take texts apart, and whose texts these are.
const TEXT_READERS: [(&str, &str); 19] = [
    (
        "crates/assay/src/commands/page_file.rs",
        "the mark in a page that is to be written over: it must be one of ours",
    ),
    (
        "crates/lab/src/full.rs",
        "what servers and tools say of a full file system",
    ),
    (
        "crates/lab/src/luns/serving.rs",
        "orders of a protocol between two of our processes",
    ),
    (
        "crates/lab/src/sql/cut_lite.rs",
        "names of facts that SQLite's room gives",
    ),
    ("crates/lab/src/sql/lite.rs", "names of facts that SQLite's room gives"),
    ("crates/report/src/now.rs", "keys of the study that name its phases"),
    (
        "crates/report/src/compare/differences.rs",
        "names that the kernel gives to loop devices",
    ),
    (
        "crates/report/src/sections/differences.rs",
        "line breaks, as a study writes them in its values",
    ),
    (
        "crates/report/src/sections/layouts.rs",
        "the name of a data file, as the ledger has it",
    ),
    (
        "crates/report/src/stacks/layouts.rs",
        "names of data files at a moment, as old result files have them",
    ),
    (
        "crates/report/src/words/contrast.rs",
        "keys of the study, and names of facts as they are printed",
    ),
    (
        "crates/report/src/stacks/differences.rs",
        "keys of the study, and paths of devices in what tools say",
    ),
    (
        "crates/report/src/sheet/between.rs",
        "names that the kernel gives to devices",
    ),
    (
        "crates/report/src/render/walk.rs",
        "a test: it finds rows in what the renderers printed",
    ),
    (
        "crates/report/src/sections/elsewhere.rs",
        "units at the end of a quantity's name",
    ),
    (
        "crates/stacks/src/volume/recorded.rs",
        "a test: recorded scenes of tools, with marks of ours",
    ),
    (
        "crates/stacks/src/filesystem.rs",
        "what mkfs.btrfs says of a device that it could not look at",
    ),
    ("crates/stacks/src/zfs/commands.rs", "what zpool says of a pool"),
    (
        "crates/stacks/src/zfs/ways.rs",
        "what the dynamic linker says of a library that is not there",
    ),
];

/// Methods that compare a part of a text, or split it.
const PARTS: [&str; 16] = [
    "contains",
    "ends_with",
    "eq",
    "eq_ignore_ascii_case",
    "find",
    "matches",
    "rfind",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];

fn is_sentence(text: &str) -> bool {
    text.contains(' ') && text.contains(char::is_alphanumeric)
}

/// The text of a literal, also of one that is borrowed or in brackets.
fn literal(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        syn::Expr::Reference(inner) => literal(&inner.expr),
        syn::Expr::Paren(inner) => literal(&inner.expr),
        _ => None,
    }
}

/// Whether one side of a comparison is a sentence, or holds one: `Some("...")`.
fn is_compared(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Call(call) => call.args.iter().any(is_compared),
        other => literal(other).is_some_and(|text| is_sentence(&text)),
    }
}

/// Names of constants that are sentences.
#[derive(Default)]
struct Constants {
    names: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if literal(&item.expr).is_some_and(|text| is_sentence(&text)) {
            self.names.insert(item.ident.to_string());
        }
        syn::visit::visit_item_const(self, item);
    }
}

/// Lines that compare a text with words of the program, or split it by them.
struct TakenApart<'a> {
    constants: &'a BTreeSet<String>,
    /// By a literal with a word in it.
    words: Vec<usize>,
    /// By a literal of several, or a constant of them.
    sentences: Vec<usize>,
}

impl TakenApart<'_> {
    fn in_file(constants: &BTreeSet<String>, file: &syn::File) -> (Vec<usize>, Vec<usize>) {
        let mut taken = TakenApart {
            constants,
            words: Vec::new(),
            sentences: Vec::new(),
        };
        taken.visit_file(file);
        (taken.words, taken.sentences)
    }

    fn is_constant(&self, expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Path(path) => {
                let last = path.path.segments.last();
                last.is_some_and(|name| self.constants.contains(&name.ident.to_string()))
            }
            syn::Expr::Reference(inner) => self.is_constant(&inner.expr),
            _ => false,
        }
    }
}

impl<'ast> Visit<'ast> for TakenApart<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let line = call.method.span().start().line;
        let by = call
            .args
            .first()
            .filter(|_| PARTS.iter().any(|part| call.method == part));
        if let Some(by) = by {
            let is_word = |text: &String| text.contains(char::is_alphanumeric) || text.ends_with(", ");
            if matches!(by, syn::Expr::Lit(_)) && literal(by).as_ref().is_some_and(is_word) {
                self.words.push(line);
            }
            if literal(by).is_some_and(|text| is_sentence(&text)) || self.is_constant(by) {
                self.sentences.push(line);
            }
        }
        syn::visit::visit_expr_method_call(self, call);
    }
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let is_comparison = matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        if is_comparison && (is_compared(&binary.left) || is_compared(&binary.right)) {
            self.sentences.push(binary.op.span().start().line);
        }
        syn::visit::visit_expr_binary(self, binary);
    }
    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Lit(found) = pattern {
            match &found.lit {
                syn::Lit::Str(text) if is_sentence(&text.value()) => self.sentences.push(text.span().start().line),
                _ => {}
            }
        }
        syn::visit::visit_pat(self, pattern);
    }
}

#[test]
fn no_room_takes_a_sentence_apart() {
    let mut files = Vec::new();
    let mut constants: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in sources() {
        let room = ROOMS.into_iter().find(|room| name.starts_with(room));
        // A file of tests, whose module is declared as one.
        let Some(room) = room.filter(|_| !name.ends_with("/tests.rs")) else {
            continue;
        };
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut found = Constants::default();
        found.visit_file(&parsed);
        constants.entry(room).or_default().append(&mut found.names);
        files.push((room, name, parsed));
    }
    let (mut wrong, mut idle) = (Vec::new(), TEXT_READERS.to_vec());
    for (room, name, parsed) in &files {
        let (words, sentences) = TakenApart::in_file(&constants[room], parsed);
        let words = words.into_iter().filter(|_| OF_THE_FILE.contains(room));
        let lines: BTreeSet<usize> = words.chain(sentences).collect();
        match idle.iter().position(|(file, _)| *file == name.as_str()) {
            Some(_) if lines.is_empty() => {}
            Some(nth) => drop(idle.remove(nth)),
            None => wrong.extend(lines.iter().map(|line| format!("{name}:{line}"))),
        }
    }
    assert!(
        wrong.is_empty(),
        "ask for a fact or a type instead:\n{}",
        wrong.join("\n")
    );
    assert!(idle.is_empty(), "exempt without need: {idle:?}");
}

#[test]
fn a_sentence_is_found_however_it_is_compared() {
    let text = r#"
const BEGIN: &str = "disks that refused";
fn decides(said: &str) -> bool {
    said.starts_with("disks missing")
        || said.starts_with(BEGIN)
        || said == "data loss"
        || Some(said) != Some("data loss")
        || match said { "two words" => true, _ => false }
        || said.split(' ').any(|word| word == "word")
        || said.split(": ").count() > 1
}
"#;
    let file = syn::parse_file(text).expect("Rust");
    let mut constants = Constants::default();
    constants.visit_file(&file);
    let (_, sentences) = TakenApart::in_file(&constants.names, &file);
    let lines: BTreeSet<usize> = sentences.into_iter().collect();
    assert_eq!(lines, BTreeSet::from([4, 5, 6, 7, 8]));
}
