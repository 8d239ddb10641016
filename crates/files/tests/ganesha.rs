//! The NFS client beside nfs-ganesha, in network, mount and process namespaces of its own: all works, a kill, a server
//! that comes back with its old write verifier.
//!
//! Prevents: a client that only understands our own server. Needs root, nfs-ganesha with its VFS module and rpcbind.

use files::{After, Class, Config, FilesError, Mix, NfsServer, Place, Serving, Steps, Work};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use workloads::{Arrival, Pacing, Schedule};

/// Set inside of the namespaces: the directory for the test's files.
const INSIDE: &str = "ASSAY_FILES_TEST";

/// Lower `lo` and a private /run with a port mapper; then the test again, inside.
const SCRIPT: &str = "ip link set lo up && mount -t tmpfs none /run && mkdir -p /run/rpcbind && \
    { rpcbind -f -w & } && exec \"$0\" --exact \"$1\" --nocapture";

const CONFIGURATION: &str = r#"
NFS_CORE_PARAM { NFS_Port = 2049; MNT_Port = 20048; Protocols = 3; Enable_UDP = false; Enable_NLM = false;
    Enable_RQUOTA = false; }
NFSv4 { Graceless = true; RecoveryRoot = "@STATE@"; }
EXPORT { Export_Id = 1; Path = "@EXPORT@"; Pseudo = "/export"; Filesystem_id = 7.7; Access_Type = RW;
    Squash = No_Root_Squash; SecType = sys; PrivilegedPort = false; Protocols = 3; Transports = TCP;
    FSAL { Name = VFS; } }
LOG { Default_Log_Level = EVENT; Facility { name = FILE; destination = "@STATE@/log"; enable = active; } }
"#;

/// Runs `test` inside of namespaces; without what it needs it says so and is skipped.
fn inside(name: &str, test: impl FnOnce(&Path)) {
    if let Some(directory) = std::env::var_os(INSIDE) {
        return test(Path::new(&directory));
    }
    let tools = [
        "/usr/bin/ganesha.nfsd",
        "/usr/sbin/rpcbind",
        "/usr/bin/unshare",
        "/usr/sbin/mkfs.ext4",
        "/usr/bin/python3",
    ];
    if let Some(missing) = tools.iter().find(|tool| !Path::new(tool).exists()) {
        return eprintln!(
            "skipped: {missing} is not here (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind e2fsprogs python3)"
        );
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: namespaces need root");
    }
    let directory = tempfile::tempdir().unwrap();
    let us = std::env::current_exe().unwrap();
    let mut command = Command::new("/usr/bin/unshare");
    command.args([
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        SCRIPT,
    ]);
    let output = command
        .arg(us)
        .arg(name)
        .env(INSIDE, directory.path())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{words}");
}

struct Ganesha {
    child: Child,
}

impl Ganesha {
    fn start(directory: &Path, epoch: u32) -> Ganesha {
        let export = directory.join("export");
        let _ = std::fs::create_dir(&export);
        let configuration = directory.join("conf");
        let text = CONFIGURATION
            .replace("@STATE@", directory.to_str().unwrap())
            .replace("@EXPORT@", export.to_str().unwrap());
        std::fs::write(&configuration, text).unwrap();
        let child = Command::new("/usr/bin/ganesha.nfsd")
            .arg("-F")
            .args(["-E", &epoch.to_string()])
            .arg("-f")
            .arg(configuration)
            .arg("-p")
            .arg(directory.join(format!("pid{epoch}")))
            .arg("-L")
            .arg(directory.join("log"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ganesha = Ganesha { child };
        while TcpStream::connect((Ipv4Addr::LOCALHOST, 20048)).is_err() {
            let ended = ganesha.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "{}",
                std::fs::read_to_string(directory.join("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        ganesha
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports are asked of the port mapper.
fn place(directory: &Path) -> NfsServer {
    NfsServer::new(
        Ipv4Addr::LOCALHOST.into(),
        directory.join("export").to_str().unwrap(),
        4,
    )
}

/// It listens before its export is there, and before the port mapper knows it.
fn is_not_up_yet(error: &FilesError) -> bool {
    matches!(
        error,
        FilesError::Export { .. } | FilesError::Connect { .. } | FilesError::Gone { .. } | FilesError::NoPort { .. }
    )
}

fn begin(config: Config, directory: &Path) -> Serving {
    let mut tries = 0;
    loop {
        match Serving::begin(config.clone(), Place::Nfs3(place(directory))) {
            Ok(serving) => return serving,
            Err(error) if tries < 500 && is_not_up_yet(&error) => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn config(run: u32) -> Config {
    Config {
        accessed_pct: 100,
        stable_pct: 10,
        ..Config::sfs97(24, run, 1)
    }
}

fn some_of_each(sessions: u32, each: u64) -> Pacing {
    let mut pacing = Pacing::closed(sessions, 120_000_000_000);
    pacing.stop.operations_per_session = Some(each);
    pacing
}

#[test]
fn all_works_are_served_and_nothing_is_wrong() {
    inside("ganesha::all_works_are_served_and_nothing_is_wrong", |directory| {
        let _ganesha = Ganesha::start(directory, 1000);
        let steps = |steps, run| Config::steps(steps, 8, run, 1);
        for config in [
            config(1),
            Config::build(8, 2, 1),
            steps(Steps::Fileserver, 3),
            steps(Steps::Varmail, 4),
            steps(Steps::Webserver, 5),
        ] {
            let (work, sessions) = (config.work.clone(), config.sessions);
            let mut serving = begin(config, directory);
            serving.grow_to(4 << 20, false).unwrap();
            let point = serving.run(&some_of_each(sessions, 60), 1).unwrap();
            assert_eq!(point.counts.wrong, 0, "{work:?}: {:?}", point.wrong);
            serving.grow_to(6 << 20, false).unwrap();
            let mut open = some_of_each(sessions, 30);
            open.arrival = Arrival::Open {
                rate_per_s: 500.0,
                schedule: Schedule::Poisson,
            };
            let point = serving.run(&open, 2).unwrap();
            assert_eq!(point.counts.wrong, 0, "{work:?}: {:?}", point.wrong);
            let audit = serving.audit(After::Nothing, None).unwrap();
            assert!(audit.is_clean() && audit.kib >= 6 << 10, "{work:?}: {audit:?}");
            serving.remove().unwrap();
        }
        assert_eq!(directory.join("export").read_dir().unwrap().count(), 0);
    });
}

#[test]
fn renamed_files_are_served_and_survive_a_killed_server() {
    inside(
        "ganesha::renamed_files_are_served_and_survive_a_killed_server",
        |directory| {
            let mut ganesha = Ganesha::start(directory, 4000);
            let mix = Mix::new(&[
                (Class::Read, 30),
                (Class::Write, 30),
                (Class::Commit, 20),
                (Class::Create, 20),
            ]);
            let config = Config {
                work: Work::Mix(mix.unwrap()),
                rename_pct: 30,
                ..config(60)
            };
            let mut serving = begin(config, directory);
            serving.grow_to(4 << 20, true).unwrap();
            let point = serving.run(&some_of_each(24, 100), 1).unwrap();
            assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
            let audit = serving.audit(After::Nothing, None).unwrap();
            assert!(audit.is_clean() && audit.names_removed > 0, "{audit:?}");
            let killer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                ganesha.kill();
            });
            let ended = serving.run(&Pacing::closed(24, 60_000_000_000), 2);
            assert!(matches!(ended, Err(FilesError::Gone { .. })), "{ended:?}");
            killer.join().unwrap();
            let _ganesha = Ganesha::start(directory, 4001);
            drop(begin(self::config(70), directory));
            // The file system stayed: what was done without an answer is there whole.
            let audit = serving.audit(After::Cut, None).unwrap();
            assert!(audit.is_clean() && audit.names > 100, "{audit:?}");
            let point = serving.run(&some_of_each(24, 50), 3).unwrap();
            assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
            assert!(serving.audit(After::Nothing, None).unwrap().is_clean());
        },
    );
}

#[test]
fn a_killed_server_ends_the_phase_and_loses_nothing() {
    inside(
        "ganesha::a_killed_server_ends_the_phase_and_loses_nothing",
        |directory| {
            for (nth, epoch) in [(0, 3001), (1, 3000)] {
                let mut ganesha = Ganesha::start(directory, 3000);
                let mut serving = begin(config(10 + nth), directory);
                serving.grow_to(4 << 20, true).unwrap();
                serving.run(&some_of_each(24, 50), 1).unwrap();
                let killer = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(300));
                    ganesha.kill();
                });
                let ended = serving.run(&Pacing::closed(24, 60_000_000_000), 2);
                assert!(matches!(ended, Err(FilesError::Gone { .. })), "{ended:?}");
                killer.join().unwrap();
                let _ganesha = Ganesha::start(directory, epoch);
                drop(begin(config(20 + nth), directory));
                let audit = serving.audit(After::Cut, None).unwrap();
                // The file system stayed, so nothing is gone, whatever the verifier says.
                assert!(
                    audit.is_clean() && audit.names > 100 && audit.kib_gone == 0,
                    "{audit:?}"
                );
                assert_eq!(audit.verifiers.0 == audit.verifiers.1, epoch == 3000, "{audit:?}");
                assert_eq!(audit.handles_survived, Some(true));
                let point = serving.run(&some_of_each(24, 50), 3).unwrap();
                assert_eq!(point.counts.wrong, 0, "{:?}", point.wrong);
                assert!(serving.audit(After::Nothing, None).unwrap().is_clean());
            }
        },
    );
}

fn must(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Forces the file system down without its log: what was not written is gone (EXT4_IOC_SHUTDOWN, NOLOGFLUSH).
const SHUT_DOWN: &str = "import fcntl, os, struct, sys\n\
    fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// An ext4 LUN in a file, mounted in this mount namespace.
fn mount(directory: &Path, options: &str) {
    let (lun, export) = (directory.join("lun"), directory.join("export"));
    must(Command::new("mount").args(["-o", options]).arg(lun).arg(export));
}

/// Works, then creates names; the power goes: the server is killed and the file system forced down.
fn cut_ext4(directory: &Path, options: &str, run: u32) -> files::Audit {
    let (lun, export) = (directory.join("lun"), directory.join("export"));
    let _ = std::fs::create_dir(&export);
    std::fs::File::create(&lun).unwrap().set_len(192 << 20).unwrap();
    must(
        Command::new("mkfs.ext4")
            .args(["-q", "-F", "-E", "nodiscard"])
            .arg(&lun),
    );
    mount(directory, options);
    let mut ganesha = Ganesha::start(directory, 5000 + run);
    // No data are written and nothing commits: what keeps the names is the file system alone.
    let names = Mix::new(&[(Class::Create, 50), (Class::Remove, 50)]).unwrap();
    let config = Config {
        work: Work::Mix(names),
        ..config(run)
    };
    let mut serving = begin(config, directory);
    serving.grow_to(1 << 20, true).unwrap();
    must(&mut Command::new("sync"));
    serving.run(&some_of_each(24, 6), 1).unwrap();
    must(Command::new("python3").args(["-c", SHUT_DOWN]).arg(&export));
    ganesha.kill();
    must(Command::new("umount").arg(&export));
    mount(directory, options);
    let _ganesha = Ganesha::start(directory, 6000 + run);
    drop(begin(self::config(run + 50), directory));
    let audit = serving.audit(After::Cut, None).unwrap();
    must(Command::new("umount").arg("-l").arg(&export));
    audit
}

#[test]
fn a_cut_of_ext4_loses_names_unless_directories_are_synchronous() {
    inside(
        "ganesha::a_cut_of_ext4_loses_names_unless_directories_are_synchronous",
        |directory| {
            // Its log is committed by nobody else, however long a busy machine takes.
            let lost = cut_ext4(directory, "loop,commit=600", 30);
            assert!(lost.names_lost + lost.names_back > 0 && !lost.is_clean(), "{lost:?}");
            let kept = cut_ext4(directory, "loop,commit=600,dirsync", 31);
            assert!(kept.is_clean() && kept.names > 50, "{kept:?}");
        },
    );
}
