//! The rules of `STYLE.md` that a machine can hold.

mod sentences;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::Visit;

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const BANNED_NAMES: [&str; 8] = [
    "util", "utils", "common", "helper", "helpers", "manager", "misc", "stuff",
];
const PRINTS: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];

/// Files outside room `targets` that may hold `unsafe`, and why.
const UNSAFE_FILES: [(&str, &str); 23] = [
    (
        "crates/files/tests/counting.rs",
        "an allocator that counts, for the test that none happens while users work",
    ),
    (
        "crates/databases/src/postgres/server/process.rs",
        "a call between fork and exec: the kernel is asked to end the server when we end",
    ),
    (
        "crates/lab/src/signals.rs",
        "the handler of signals, which tells a second order to end from an echo of the first",
    ),
    (
        "crates/luns/src/kernel.rs",
        "the ioctls of loop devices, which no safe wrapper has",
    ),
    (
        "crates/databases/src/sqlite/vfs.rs",
        "the C surface of SQLite's VFS: tables of functions that take pointers",
    ),
    (
        "crates/stacks/src/forced_down.rs",
        "the ioctl that forces a file system down, which no safe wrapper has",
    ),
    (
        "crates/stacks/src/zfs/enter.rs",
        "a thread parts its working directory from the others', without which it may not enter a mount namespace",
    ),
    (
        "crates/zpool/src/openzfs/library.rs",
        "OpenZFS's library is loaded at run time: its functions are found by name",
    ),
    (
        "crates/zpool/src/openzfs/layout.rs",
        "the structures that OpenZFS's library and we both look into",
    ),
    (
        "crates/zpool/src/openzfs/names.rs",
        "OpenZFS's name-value lists: pointers of the library's own",
    ),
    (
        "crates/zpool/src/openzfs/patch.rs",
        "the loaded library's table of functions, in which its device layer is replaced",
    ),
    (
        "crates/zpool/src/openzfs/handover.rs",
        "calls the library's own functions in whose place it stands",
    ),
    (
        "crates/zpool/src/openzfs/heap.rs",
        "gives memory back to the heap that it came from",
    ),
    (
        "crates/zpool/src/openzfs/device.rs",
        "the device layer under OpenZFS: functions that the library calls",
    ),
    (
        "crates/zpool/src/openzfs/pool.rs",
        "calls of OpenZFS's library on pools",
    ),
    (
        "crates/zpool/src/openzfs/file.rs",
        "calls of OpenZFS's library on datasets and objects",
    ),
    (
        "crates/zpool/src/openzfs/log.rs",
        "calls of OpenZFS's intent log, both ways",
    ),
    (
        "crates/zpool/src/openzfs/extents.rs",
        "OpenZFS's walk over block pointers calls us",
    ),
    (
        "crates/zpool/src/openzfs/counters.rs",
        "OpenZFS's tables of counters, read where they lie",
    ),
    (
        "crates/zpool/src/serve.rs",
        "starting and ending OpenZFS's library in the server process",
    ),
    (
        "crates/zpool/src/serving.rs",
        "buffers that the ring's other side named, handed to OpenZFS",
    ),
    ("crates/zpool/src/rings.rs", "memory that two processes share"),
    (
        "crates/zpool/src/port.rs",
        "slices of the memory that two processes share",
    ),
];

/// Files whose length, or one of whose functions, is over the limit because it is a list: (path, why).
const LONG_LISTS: [(&str, &str); 1] = [(
    "crates/stats/src/simulate/calibrate.rs",
    "the table of simulated scenarios, one entry after another",
)];

/// Files and folders that may name a kind of stack or of phase: what it is, how it is read, and where its work begins.
/// Every other file asks the kind, so that a new one is added in these alone.
const KINDS: [(&str, &[&str]); 2] = [
    (
        "StackKind::",
        &[
            "assay/src/commands/check/stacks_made.rs",
            "plan/src/meaning/stacks.rs",
            "plan/src/study/stack.rs",
            "stacks/src/build.rs",
        ],
    ),
    (
        "PhaseKind::",
        &[
            "lab/src/kinds/",
            "plan/src/study/kinds/",
            "report/src/phase_kind.rs",
            // Made up, not measured.
            "report/src/render/walk.rs",
            // A test, which makes files of two kinds.
            "report/src/grows.rs",
            "report/src/simulated.rs",
        ],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("root")
}

/// Every Rust file of the workspace with its path from the root.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let mut files = Vec::new();
    for dir in ["crates", "benches"] {
        for entry in walkdir::WalkDir::new(root.join(dir)).into_iter().filter_map(Result::ok) {
            let path = entry.path();
            if path.extension().is_some_and(|e| e == "rs") && !path.components().any(|c| c.as_os_str() == "target") {
                let name = path.strip_prefix(&root).expect("inside").display().to_string();
                files.push((name, std::fs::read_to_string(path).expect("readable")));
            }
        }
    }
    assert!(files.len() > 20, "only {} source files found", files.len());
    files
}

fn is_test_file(name: &str) -> bool {
    name.contains("/tests/")
        || name.contains("/benches/")
        || name.starts_with("benches/")
        || name.contains("/examples/")
}

/// Walks one file for long functions, prints and unsafe code, leaving out what is under `#[cfg(test)]`.
struct Walk {
    file: String,
    prints_allowed: bool,
    unsafe_allowed: bool,
    wrong: Vec<String>,
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("test")
            || (a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|p| p.is_ident("test")))
    })
}

impl Walk {
    fn function(&mut self, name: &syn::Ident, whole: &dyn LineRange) {
        let (from, to) = whole.line_range();
        if to - from + 1 > FUNCTION_LINES && !LONG_LISTS.iter().any(|(f, _)| *f == self.file) {
            self.wrong.push(format!(
                "{}:{from}: fn {name} has {} lines (limit {FUNCTION_LINES})",
                self.file,
                to - from + 1
            ));
        }
    }
    fn unsafe_at(&mut self, line: usize) {
        if !self.unsafe_allowed {
            self.wrong.push(format!(
                "{}:{line}: unsafe outside room targets and the files named in tidy.rs",
                self.file
            ));
        }
    }
}

/// First and last line of a piece of syntax.
trait LineRange {
    fn line_range(&self) -> (usize, usize);
}
impl<T: Spanned> LineRange for T {
    fn line_range(&self) -> (usize, usize) {
        (self.span().start().line, self.span().end().line)
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, &item.block);
        if matches!(item.sig.safety, syn::Safety::Unsafe(_)) {
            self.unsafe_at(item.sig.span().start().line);
        }
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.unsafety.is_some() {
            self.unsafe_at(item.impl_token.span().start().line);
        }
        syn::visit::visit_item_impl(self, item);
    }
    fn visit_expr_unsafe(&mut self, item: &'ast syn::ExprUnsafe) {
        self.unsafe_at(item.span().start().line);
        syn::visit::visit_expr_unsafe(self, item);
    }
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let name = item
            .path
            .segments
            .last()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        if !self.prints_allowed && PRINTS.contains(&name.as_str()) {
            self.wrong.push(format!(
                "{}:{}: {name}! outside the one place that prints (crates/assay/src/printed.rs)",
                self.file,
                item.span().start().line
            ));
        }
        syn::visit::visit_macro(self, item);
    }
}

#[test]
fn files_and_functions_stay_short_and_nothing_prints_below_the_binary() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES && !LONG_LISTS.iter().any(|(f, _)| *f == name) {
            wrong.push(format!("{name}: {lines} lines (limit {FILE_LINES})"));
        }
        if !text.trim_start().starts_with("//!") && !text.trim_start().starts_with("#!") {
            wrong.push(format!(
                "{name}: does not open with `//!`: say what it is and which mistake it prevents"
            ));
        }
        let mut walk = Walk {
            prints_allowed: name == "crates/assay/src/printed.rs" || is_test_file(&name),
            unsafe_allowed: name.starts_with("crates/targets/") || UNSAFE_FILES.iter().any(|(f, _)| *f == name),
            file: name.clone(),
            wrong: Vec::new(),
        };
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        walk.visit_file(&parsed);
        wrong.append(&mut walk.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files outside room `sandbox` that start processes by themselves, and why.
const STARTERS: [(&str, &str); 3] = [
    (
        "benches/versus/",
        "measures other tools from outside, on files of its own",
    ),
    ("benches/house/", "runs Cargo, as the user who calls it"),
    (
        "benches/laboratory/",
        "starts Cargo with the tests of traps, which needs the environment of its user",
    ),
];

#[test]
fn child_processes_begin_in_one_place() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let exempt = STARTERS.iter().any(|(place, _)| name.starts_with(place));
        if exempt || is_test_file(&name) || name.starts_with("crates/sandbox/") || !name.contains("/src/") {
            continue;
        }
        // What tests start is theirs.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains("Command::new("));
        wrong.extend(lines.map(|(nth, line)| format!("{name}:{}: {}", nth + 1, line.trim())));
    }
    assert!(
        wrong.is_empty(),
        "use sandbox::command or sandbox::ourselves:\n{}",
        wrong.join("\n")
    );
}

/// Rooms that do not know the ledger name their facts by texts: (file, what stands before a name).
const FACT_WRITERS: [(&str, &[&str]); 5] = [
    ("crates/observers/src/host/facts.rs", &["facts.add(\""]),
    ("crates/observers/src/devices/facts.rs", &["facts.add(\""]),
    (
        "crates/stacks/src/build.rs",
        &["facts:vec![(\"", "facts.push((\"", "),(\""],
    ),
    ("crates/stacks/src/filesystem.rs", &["facts.push((\""]),
    ("crates/stacks/src/zfs/mounted.rs", &["fact(\""]),
];

/// A run whose room names a fact that the list does not have ends with an error.
#[test]
fn facts_of_other_rooms_are_in_the_list() {
    let mut found = 0;
    for (file, marks) in FACT_WRITERS {
        let text = std::fs::read_to_string(root().join(file)).expect(file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // As it would stand in one line.
        let joined: String = code.lines().map(str::trim).collect();
        let joined = joined.replace("facts: vec", "facts:vec");
        for mark in marks {
            for rest in joined.split(mark).skip(1) {
                let name = rest.split('"').next().unwrap_or_default();
                assert!(
                    ledger::FactName::from_word(name).is_some(),
                    "{file}: no fact is called {name:?}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 60, "only {found} found");
    // Names that stand in tables of those files, and values of the types that the list gives them.
    let devices = std::fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let devices = devices.flat_map(|device| observers::device_facts(&device.file_name().to_string_lossy()));
    for (name, value) in observers::host_facts().into_iter().chain(devices) {
        ledger::disclosed(&name, &value).expect("a fact of the list");
    }
}

#[test]
fn kinds_are_asked_and_not_listed() {
    let mut named = BTreeSet::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| !is_test_file(name)) {
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
        let name = name.trim_start_matches("crates/").to_string();
        for (kind, files) in KINDS.iter().filter(|(kind, _)| program.contains(kind)) {
            // A kind has a file of its own in such a folder.
            let folder = files
                .iter()
                .find(|file| file.ends_with('/') && name.starts_with(**file));
            named.insert((*kind, folder.map_or(name.clone(), |folder| (*folder).to_string())));
        }
    }
    let may = |(kind, files): &(&'static str, &[&str])| -> Vec<(&'static str, String)> {
        files.iter().map(|file| (*kind, (*file).to_string())).collect()
    };
    let may: BTreeSet<_> = KINDS.iter().flat_map(may).collect();
    let others: Vec<_> = named.difference(&may).collect();
    assert!(
        others.is_empty(),
        "ask the kind what it is instead of naming it: {others:?}"
    );
    let gone: Vec<_> = may.difference(&named).collect();
    assert!(gone.is_empty(), "named no more, take them from the list: {gone:?}");
}

#[test]
fn names_say_what_things_are() {
    let wrong: Vec<String> = sources()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| {
            Path::new(name)
                .file_stem()
                .is_some_and(|s| BANNED_NAMES.contains(&s.to_string_lossy().as_ref()))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "say what it is, not that it is useful:\n{}",
        wrong.join("\n")
    );
}

/// Cargo does not look for test files here (`autotests = false`): one that nobody declares would never run.
#[test]
fn each_test_file_is_in_the_one_binary_of_its_room() {
    let root = root();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).expect("the rooms") {
        let tests = entry.expect("a room").path().join("tests");
        let Ok(files) = std::fs::read_dir(&tests) else { continue };
        let main = std::fs::read_to_string(tests.join("main.rs")).expect("tests/main.rs");
        for file in files {
            let path = file.expect("a file").path();
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let is_rust = path.extension().is_some_and(|e| e == "rs") && stem != "main" || path.join("mod.rs").exists();
            if is_rust && !main.contains(&format!("mod {stem};\n")) {
                wrong.push(format!("{} is not declared in main.rs", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn exemptions_name_files_that_exist() {
    for (file, why) in UNSAFE_FILES.iter().chain(LONG_LISTS.iter()) {
        assert!(root().join(file).exists(), "{file} is exempt and does not exist");
        assert!(why.len() > 10, "{file}: say why");
    }
}

#[test]
fn unsafe_blocks_say_why_they_are_sound() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if is_test_file(&name) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            if code.starts_with("//") || !(code.contains("unsafe {") || code.starts_with("unsafe impl")) {
                continue;
            }
            let near = lines[i.saturating_sub(6)..=i].iter().any(|l| l.contains("SAFETY"));
            if !near {
                wrong.push(format!("{name}:{}: no SAFETY comment", i + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
