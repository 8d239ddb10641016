//! Children that can write to nothing but what they were given: the kernel's Landlock holds it.
//!
//! Takes a [`Reach`] and the work that starts a child; the work runs on a thread of its own that the kernel confines,
//! and children inherit that. Prevents: a tool that writes elsewhere, whatever its options say. A kernel without
//! Landlock (before 5.13, or not switched on) holds nothing; then the lists of options alone do.

use crate::reach::Reach;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus,
};
use std::io;

/// The newest kernel interface whose rights are asked for; what an older kernel lacks it leaves out.
const INTERFACE: ABI = ABI::V5;
/// What every program may write to: it holds nothing.
const ALWAYS: [&str; 2] = ["/dev/null", "/dev/zero"];

/// Runs `work` where it, and every child that it starts, can write to nothing but `reach`.
///
/// # Errors
/// The kernel has Landlock and refuses the list.
pub fn confined<T: Send>(reach: &Reach, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| confine_thread(reach).map(|()| work()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Confines the calling thread, and the children that it starts from now on, for good.
///
/// # Errors
/// The kernel has Landlock and refuses the list.
pub fn confine_thread(reach: &Reach) -> io::Result<()> {
    restrict(reach).map(drop).map_err(io::Error::other)
}

fn restrict(reach: &Reach) -> Result<RulesetStatus, RulesetError> {
    let all = AccessFs::from_write(INTERFACE);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .create()?;
    for path in ALWAYS {
        if let Ok(null) = landlock::PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(null, all & AccessFs::from_file(INTERFACE)))?;
        }
    }
    for target in reach.targets() {
        let rights = match target.is_directory {
            true => all,
            false => all & AccessFs::from_file(INTERFACE),
        };
        rules = rules.add_rule(PathBeneath::new(&target.fd, rights))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// How children are confined on this machine, for reports.
pub fn confinement() -> &'static str {
    // On a thread of its own: what is confined stays so.
    let asked = std::thread::spawn(|| restrict(&Reach::nothing()).ok());
    match asked.join().ok().flatten() {
        Some(RulesetStatus::FullyEnforced) => "by the kernel (Landlock)",
        Some(RulesetStatus::PartiallyEnforced) => "by the kernel in part (an older Landlock)",
        _ => "by lists of options alone: this kernel has no Landlock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use crate::program::{command, find_program};
    use std::path::Path;

    fn shell(reach: &Reach, script: &str) -> bool {
        let mut command = command(&find_program("sh").expect("a shell"));
        command.args(["-c", script]);
        let ended = confined(reach, || command.status()).expect("confined");
        ended.expect("its end").success()
    }

    #[test]
    fn a_child_writes_where_it_may_and_nowhere_else() {
        let (own, other) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("another"));
        let mut reach = Reach::nothing();
        reach
            .add_directory(&Directory::open(own.path()).expect("opened"))
            .expect("added");
        let write = |dir: &Path| format!("echo x >{}/file 2>/dev/null", dir.display());
        assert!(shell(&reach, &write(own.path())));
        if confinement() != "by the kernel (Landlock)" {
            assert!(std::env::var_os("ASSAY_TEST_LANDLOCK").is_none(), "no Landlock here");
            return;
        }
        assert!(!shell(&reach, &write(other.path())) && !other.path().join("file").exists());
        std::fs::write(other.path().join("canary"), "alive").expect("written");
        let canary = other.path().join("canary");
        assert!(!shell(&reach, &format!("rm {} 2>/dev/null", canary.display())));
        assert!(!shell(&reach, &format!(": >{}", canary.display())));
        assert!(
            shell(&reach, &format!("grep -q alive {}", canary.display())),
            "it may read"
        );
        // This thread is as free as before.
        std::fs::write(other.path().join("file"), "").expect("written");
    }
}
