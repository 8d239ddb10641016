//! Directories that were handed to the server's user: what lies in them is that user's word, and root goes by none of
//! it.

use crate::neighbours::town::{Town, stop_at};
use crate::rig::{Running, limit, text};
use rustix::process::Signal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

fn study(dir: &Path) -> String {
    let limit = limit("2s");
    format!(
        r#"
[study]
name = "server"
time_limit = "{limit}"
blocks = 4
[[stack]]
name = "here"
kind = "directory"
path = "{}"
[database]
engine = "postgres"
cache = "16MiB"
scale = "4MiB"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 2
time = "300ms"
"#,
        dir.display()
    )
}

/// The data directory of the study's server, and that of its sockets, once it runs.
fn data(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    let stacks = std::fs::read_dir(dir).ok()?.flatten().map(|e| e.path().join("pg"));
    stacks.into_iter().find_map(|path| {
        let said = std::fs::read_to_string(path.join("postmaster.pid")).ok()?;
        // The last line comes when it takes connections.
        let sockets = said.lines().nth(4).filter(|_| said.contains("ready"))?;
        Some((path, PathBuf::from(sockets)))
    })
}

#[test]
fn what_the_servers_user_puts_into_its_directories_leads_root_nowhere() {
    if let Err(missing) = databases::postgres::choose(None) {
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return;
    }
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    let postgres = databases::postgres::RunAs::choose(None).expect("a user");
    let databases::postgres::RunAs::User { uid, gid, .. } = postgres else {
        panic!("root runs a server as another user");
    };
    let does = |at: &Path, script: &str| {
        let mut shell = std::process::Command::new("/bin/sh");
        let output = shell
            .args(["-euc", script])
            .current_dir(at)
            .uid(uid)
            .gid(gid)
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for kill in [false, true] {
        let mut running = town.start(&study(&dir), &format!("server-{kill}"));
        let (data, sockets) = stop_at(&mut running, || data(&dir));
        let canaries = town.rig.path("canaries");
        let script = format!(
            "ln -s {0} base/canaries; ln -s {0}/secret evil.conf; mkfifo pipe; mkdir deep; cd deep
             for n in $(seq 1 200); do mkdir d; cd d; done",
            canaries.display()
        );
        assert_eq!(does(&data, &script), "");
        // The directory with log and configuration is root's: its files can't be replaced by the server's user.
        let above = sockets.parent().expect("its directory");
        let refused = does(
            above,
            &format!("rm -f server.log; ln -s {} server.log", text(&town.canary("secret"))),
        );
        assert!(
            refused.contains("denied") || refused.contains("Permission"),
            "he could replace the log: {refused:?}"
        );
        if kill {
            running.signal(Signal::KILL);
            running.wait();
            let ran = Running::start(town.rig.assay(&["clean"])).wait();
            assert_eq!(ran.code(), 0, "{}{}", ran.stdout, ran.stderr);
        } else {
            running.signal(Signal::CONT);
            let ran = running.wait();
            assert_eq!(ran.code(), 0, "{}", ran.stderr);
        }
        town.assert_clean("links of the server's user");
        assert!(!above.exists(), "{} is left", above.display());
    }
}
