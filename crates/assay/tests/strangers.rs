//! Files from strangers through the whole binary: what is no regular file or has no end is refused at once with a cure,
//! and no word of a file acts on the terminal.
//!
//! Prevents: a command that waits for ever on a pipe, fills the memory from a device, or lets a file set the terminal's
//! title. What the readers themselves make of hostile bytes is tried in `benches/hostile`.

use crate::bench::{Bench, Ran, Running, model_study};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const IOSTAT: &str = include_str!("../../import/tests/data/xtremio-2014-copy.iostat");
/// Sets a title, clears the screen in two ways, turns the line around, deletes.
const HOSTILE: &str = "\x1b]0;taken\x07\x1b[2J\u{9b}2J\u{202e}\u{7f}\u{8}";

/// A study whose phase is taken from a `slob.conf` of this name.
fn taking(conf: &str) -> String {
    format!(
        "[study]\nname = \"s\"\ntime_limit = \"3h\"\n[[stack]]\nname = \"here\"\nkind = \"model\"\nsize = \"64GiB\"\n\
         [database]\nschemas = 8\nscale = \"1GiB\"\n[[phase]]\nname = \"p\"\nkind = \"random\"\n\
         slob_conf = \"{conf}\"\n"
    )
}

/// The binary, with two GiB of address space and twenty seconds of processor time: a call that reads without end fails.
fn bounded(bench: &Bench, args: &[&str]) -> Ran {
    let plain = bench.command(args);
    let mut command = Command::new("prlimit");
    command.args(["--as=2147483648", "--cpu=20", "--"]);
    command.arg(plain.get_program()).args(args).current_dir(bench.path("."));
    for (key, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::start(command).wait()
}

#[test]
fn what_is_no_file_or_has_no_end_is_refused() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name).display().to_string();
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    std::fs::create_dir(bench.path("dir")).unwrap();
    std::fs::File::create(bench.path("sparse"))
        .unwrap()
        .set_len(10 << 30)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bench.path("link")).unwrap();
    bench.write("good.txt", IOSTAT);
    let import = ["import", "good.txt", "--stack", "a", "--phase", "b"];
    bench.expect(0, &[&import[..], &["-o", "good.assay"]].concat());
    for odd in [
        at("pipe"),
        at("dir"),
        at("sparse"),
        at("socket"),
        at("link"),
        "/dev/zero".into(),
        "/dev/full".into(),
    ] {
        bench.write("taking.toml", &taking(&odd));
        for args in [
            vec!["check", &odd],
            vec!["run", &odd, "-o", "new.assay"],
            vec!["check", "taking.toml"],
            vec!["report", &odd],
            vec!["report", "good.assay", "--html", &odd],
            vec!["import", &odd],
            [&import[..], &["--into", &odd]].concat(),
        ] {
            let ran = bounded(&bench, &args);
            ran.failed_with(2, &[]);
            let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
            let is_cure = last.starts_with("cure: ") || last.starts_with("  ");
            assert!(is_cure && ran.stderr.contains(&odd), "{args:?}: {ran}");
        }
    }
    assert!(!bench.path("new.assay").exists());
    // The other way round: what is not read is not changed.
    assert_eq!(std::fs::metadata(bench.path("sparse")).unwrap().len(), 10 << 30);
}

/// Nothing but text and line ends came out.
fn is_text(ran: &Ran) {
    for said in [&ran.stdout, &ran.stderr] {
        let acts = |c: char| c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!said.contains(acts), "{said:?}");
    }
}

#[test]
fn words_of_a_result_file_do_not_act_on_the_terminal() {
    let bench = Bench::new();
    bench.write("good.txt", IOSTAT);
    bench.expect(
        0,
        &["import", "good.txt", "--stack", "a", "--phase", "b", "-o", "good.assay"],
    );
    for (edit, reads) in [
        ("UPDATE study SET question = ?1", true),
        ("UPDATE study SET name = ?1, question = ''", true),
        ("UPDATE import SET stack = ?1, file = ?1, layout = ?1", true),
        ("UPDATE import SET phase = ?1", true),
        ("UPDATE import_note SET text = ?1", true),
        ("UPDATE study SET ended_reason = ?1", true),
        // An error quotes these.
        ("UPDATE study SET seed = ?1", false),
        ("INSERT INTO event VALUES (1, 1, NULL, NULL, 'warning', ?1)", true),
        (
            "INSERT INTO stack VALUES (1, ?1, ?1, 'plain ' || ?1, ?1, ?1, ?1, 'direct', ?1, ?1, ?1)",
            true,
        ),
        // Layers and the access are types.
        (
            "INSERT INTO stack VALUES (1, ?1, ?1, ?1, ?1, ?1, ?1, 'direct', ?1, ?1, ?1)",
            false,
        ),
        (
            "INSERT INTO stack VALUES (1, ?1, ?1, 'plain a', ?1, ?1, ?1, ?1, ?1, ?1, ?1)",
            false,
        ),
    ] {
        std::fs::copy(bench.path("good.assay"), bench.path("edited.assay")).unwrap();
        let file = rusqlite::Connection::open(bench.path("edited.assay")).unwrap();
        file.pragma_update(None, "ignore_check_constraints", true).unwrap();
        assert!(file.execute(edit, [HOSTILE]).unwrap() > 0, "{edit}");
        drop(file);
        for form in [
            &[][..],
            &["--full"],
            &["--markdown"],
            &["--json"],
            &["--html", "page.html"],
        ] {
            let ran = bench.run(&[&["report", "edited.assay"], form].concat());
            is_text(&ran);
            assert_eq!(ran.code() == 0, reads, "{edit} {form:?}: {ran}");
            if !reads {
                assert!(ran.stderr.contains("\\u{1b}]0;taken"), "{ran}");
            }
        }
    }
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(
        !page.contains(|c: char| c.is_control() && c != '\n'),
        "the page holds what acts"
    );
}

#[test]
fn words_of_other_files_do_not_act_on_the_terminal() {
    let bench = Bench::new();
    let odd = format!("odd {HOSTILE}");
    let toml: String = HOSTILE.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
    let study = model_study(1, 4, &[("plain", ""), ("late", "")]);
    bench.write("broken.toml", &study.replace("[database]", HOSTILE));
    bench.write("named.toml", &study.replace("\"plain\"", &format!("\"{toml}\"")));
    bench.write("path.toml", &taking(&toml));
    bench.write("conf.toml", &taking("slob.conf"));
    bench.write("slob.conf", &format!("UPDATE_PCT={HOSTILE}\n{HOSTILE}=1\n"));
    bench.write("odd.txt", &IOSTAT.replace("dm-", &format!("{HOSTILE}-")));
    bench.write(&odd.replace('/', "_"), "no result");
    let state = bench.path("state");
    std::fs::create_dir(&state).unwrap();
    let undo = r#"{"step":{"number":0,"undo":{"kind":"remove_file","path":"/none/\u001b]0;taken\u0007"}}}"#;
    let begin = r#"{"begin":{"version":1,"run_id":"\u001b[2J","pid":1,"started":1,"boot":"x"}}"#;
    std::fs::write(state.join("x.journal"), format!("{begin}\n{undo}\n")).unwrap();
    std::fs::write(state.join("y.journal"), format!("{HOSTILE}\n")).unwrap();
    for args in [
        vec!["check", "broken.toml"],
        vec!["check", "named.toml"],
        vec!["check", "named.toml", "--json"],
        vec!["check", "path.toml"],
        vec!["check", "conf.toml"],
        vec!["import", "odd.txt"],
        vec!["import", "odd.txt", "--json"],
        vec!["report", &odd],
        vec!["check", &odd],
        vec!["import", &odd],
        vec!["clean", "--dry-run"],
        vec!["clean", "--dry-run", "--json"],
        vec!["dg", "ls", &odd],
    ] {
        let ran = bench.run(&args);
        is_text(&ran);
        assert!(ran.code() <= 4 && !ran.stderr.contains("panicked"), "{args:?}: {ran}");
    }
}

/// What is said to the process that serves LUNs: its first order, hostile in every word. Each is refused, and the
/// process ends.
#[test]
fn orders_to_the_device_service_are_refused() {
    let bench = Bench::new();
    let lun = bench.path("lun");
    std::fs::write(&lun, [0; 4096]).unwrap();
    let none: PathBuf = bench.path("none");
    let long = "x".repeat(1 << 20);
    let deep = "[".repeat(1 << 20);
    let order = |model: &str, parameters: &str| {
        format!(
            "{{\"place\":{none:?},\"luns\":[{lun:?}],\"model\":\"{model}\",\"parameters\":{parameters},\
             \"histogram\":\"\",\"volatile\":0,\"seed\":1}}"
        )
    };
    let mut orders = vec![
        String::new(),
        "null".into(),
        "[]".into(),
        "{".into(),
        r#"{"do":"live"}"#.into(),
        r#"{"luns":7,"place":{},"model":[]}"#.into(),
        r#"{"luns":["/dev/zero","/none"],"place":"/none","model":"plain"}"#.into(),
        order(HOSTILE.escape_default().to_string().as_str(), "{}"),
        order(&long, "{}"),
        format!("{{\"luns\":{deep}"),
    ];
    // Numbers of the others are held to their limits where the study is read.
    for model in ["plain", "custom"] {
        for number in ["-1", "0", "1e308", "18446744073709551615", "\"x\"", "null"] {
            let keys = [
                "rpm",
                "outer_rate",
                "inner_rate",
                "parallel",
                "cache",
                "iops",
                "channels",
                "capacity",
                "reduction",
            ];
            let parameters = keys.map(|key| format!("\"{key}\":{number}")).join(",");
            orders.push(order(model, &format!("{{{parameters}}}")));
        }
    }
    for order in &orders {
        let mut command = bench.command(&["device-service"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut to = child.stdin.take().unwrap();
        // It may have ended at the first byte.
        let _ = to.write_all(order.as_bytes()).and_then(|()| to.write_all(b"\n"));
        drop(to);
        let ended = child.wait_with_output().unwrap();
        let shown: String = order.chars().take(200).collect();
        assert!(matches!(ended.status.code(), Some(2 | 3)), "{shown}: {ended:?}");
        assert!(!ended.stderr.windows(8).any(|w| w == b"panicked"), "{shown}: {ended:?}");
    }
    assert!(!none.exists());
}
