//! LUNs that a volume gives up for others while it is in use: what they hold is moved, or made anew from the other
//! copies where they are lost.
//!
//! Takes a [`Built`] stack and LUNs by their number in the data's set; does what an administrator would: `pvmove`,
//! `lvconvert --repair`, `mdadm --replace`, `mdadm --add`. Prevents: a volume whose new LUN is measured before it holds
//! anything, and a wait of hours for one that will never hold all.

use super::commands::{PATIENCE, RESYNC_LIMIT, on_array, tool, words};
use super::mapped::Kernel;
use super::said::{Completed, RaidStatus, completed, is_faulty, is_in_sync, mirror_status, used_bytes};
use super::{Made, lvm, mapped};
use crate::built::Built;
use crate::error::StackError;
use crate::journal::Journal;
use crate::run::Run;
use crate::tool::argument;
use plan::{LvmLayout, Manager};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked how far the kernel is.
const LOOK: Duration = Duration::from_millis(250);
/// Copies of a mirror of LVM's, as a study makes one.
const COPIES: u32 = 2;

/// A change that can begin.
pub struct Exchange<'a> {
    volume: &'a Made,
    run: &'a Run,
    steps: Vec<Step>,
}

/// One LUN in the place of another.
struct Step {
    old: PathBuf,
    new: PathBuf,
    way: Way,
    /// What comes to the new LUN.
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// What the old one holds is moved while both are there.
    Moved,
    /// The old one is lost: the other copies or the parity say what it held.
    MadeAnew,
}

impl Way {
    /// Of a LUN of an array, by what the kernel says of it there.
    fn in_array(state: Option<&str>) -> Way {
        match state {
            Some(state) if !is_faulty(state) => Way::Moved,
            _ => Way::MadeAnew,
        }
    }
}

/// How far a change is: bytes that are there by now, as the tool or the kernel says. Gives whether it shall go on.
pub type Told<'t> = dyn FnMut(u64) -> bool + 't;

/// Gets ready to put the LUNs `add` in the places of the LUNs `drop`, each in that of one.
///
/// # Errors
/// A stack without a volume, a LUN that is not there, a kernel that says nothing of the volume.
pub fn exchange<'a>(
    built: &'a Built,
    journal: &'a Journal,
    drop: &[u32],
    add: &[u32],
) -> Result<Exchange<'a>, StackError> {
    let first = built.devices.first().cloned().unwrap_or_default();
    let refused = |why: &str| {
        let cure = "name LUNs of the set by their number, as many to add as to drop";
        StackError::path(
            "change the LUNs of a volume on",
            &first,
            io::Error::other(why.to_owned()),
            cure,
        )
    };
    let volume = built.volumes.first().ok_or_else(|| refused("there is no volume"))?;
    if add.len() != drop.len() {
        return Err(refused("a LUN takes the place of one other"));
    }
    let lun = |number: u32| {
        let found = volume.luns.get(number as usize).map(|(path, _)| path.clone());
        found.ok_or_else(|| refused("a LUN is not in the set"))
    };
    let mut exchange = Exchange {
        volume,
        run: journal.run(),
        steps: Vec::new(),
    };
    for (old, new) in drop.iter().zip(add) {
        let step = exchange.step(lun(*old)?, lun(*new)?)?;
        exchange.steps.push(step);
    }
    Ok(exchange)
}

impl Exchange<'_> {
    /// Bytes that come to new LUNs.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).sum()
    }

    /// The LUNs that they come to. Their devices count what is written to them, whatever is said of the change.
    pub fn new_luns(&self) -> Vec<PathBuf> {
        self.steps.iter().map(|step| step.new.clone()).collect()
    }

    /// Does it, and tells how far it is. `false`: it was told to stop.
    ///
    /// # Errors
    /// A tool that refused, a kernel that does not come to an end.
    pub fn work(&self, tell: &mut Told<'_>) -> Result<bool, StackError> {
        let mut before = 0;
        for step in &self.steps {
            let mut far = |done: Completed| tell(before + done.of(step.bytes));
            let all = match (&self.volume.manager, step.way) {
                (Manager::Lvm(_), Way::Moved) => self.pvmove(step, &mut far)?,
                (Manager::Lvm(_), Way::MadeAnew) => self.repair(step, &mut far)?,
                (Manager::Md(_), Way::Moved) => self.replace(step, &mut far)?,
                (Manager::Md(_), Way::MadeAnew) => self.rebuild(step, &mut far)?,
            };
            if !all {
                return Ok(false);
            }
            before += step.bytes;
        }
        Ok(tell(before))
    }

    fn step(&self, old: PathBuf, new: PathBuf) -> Result<Step, StackError> {
        let (way, bytes) = match &self.volume.manager {
            Manager::Lvm(asked) => self.of_lvm(asked.layout, &old)?,
            Manager::Md(_) => {
                let (array, kernel) = (self.array()?, mapped::here());
                let way = Way::in_array(kernel.state_in(&array, &old).as_deref());
                // A new LUN takes the place that is free, and not that of the old one.
                if way == Way::Moved && kernel.of_array(&array, "degraded").is_ok_and(|lost| lost != "0") {
                    return Err(not_the_lost_one(&old, "the array"));
                }
                let bytes = component_bytes(kernel, &array);
                (way, bytes.map_err(|e| self.failed("look at", e))?)
            }
        };
        Ok(Step { old, new, way, bytes })
    }

    fn of_lvm(&self, layout: LvmLayout, old: &Path) -> Result<(Way, u64), StackError> {
        let mapping = lvm::mapping(&self.volume.uuid);
        if layout == LvmLayout::Raid1
            && let Some(status) = lvm::status(&mapping)?.filter(|status| status.lost > 0)
        {
            let copies: Vec<Vec<OsString>> = (0..COPIES)
                .map(|copy| mapped::here().below(&lvm::copy(&self.volume.uuid, copy)))
                .collect();
            let lun = std::fs::canonicalize(old).ok();
            if let Some(lun) = lun.as_deref().and_then(Path::file_name)
                && works(&status, &copies, lun)
            {
                return Err(not_the_lost_one(old, "the mirror"));
            }
            return Ok((Way::MadeAnew, status.sectors << 9));
        }
        let asked = ["--noheadings", "--nosuffix", "--units", "b", "-o", "pv_used"];
        let mut args = words(&asked);
        args.push(argument(old));
        let said = lvm::command("pvs", args, &self.volume.paths()).run(None)?;
        let used = used_bytes(&said.stdout).ok_or_else(|| io::Error::other("pvs gives no size"));
        Ok((Way::Moved, used.map_err(|e| self.failed("find what is used of", e))?))
    }

    fn failed(&self, what: &'static str, e: io::Error) -> StackError {
        StackError::path(what, &self.volume.device(), e, "see the kernel log (dmesg)")
    }

    fn array(&self) -> Result<PathBuf, StackError> {
        mapped::here()
            .array_of(&self.volume.uuid)
            .map_err(|e| self.failed("find the array of", e))
    }

    /// `pvmove` stays until all is moved. What moves has a mapping of its own, which says how far it is.
    fn pvmove(&self, step: &Step, far: &mut dyn FnMut(Completed) -> bool) -> Result<bool, StackError> {
        let luns = self.volume.paths();
        let (old, new) = (argument(&step.old), argument(&step.new));
        let moving = lvm::command("pvmove", words(&["-i", "1", &old, &new]), &luns).within(RESYNC_LIMIT);
        let over = AtomicBool::new(false);
        let mapping = format!("{}-pvmove0", lvm::group(&self.volume.uuid));
        let (mut goes_on, mut done) = (true, Completed::default());
        let moved = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let moved = moving.run(Some(self.run));
                over.store(true, Ordering::Release);
                moved
            });
            while !over.load(Ordering::Acquire) {
                std::thread::sleep(LOOK);
                let status = tool("dmsetup", words(&["status", &mapping]), &[]).run(None);
                // Before the move and after it there is no such mapping: then it is as far as it was.
                if let Some(status) = status.ok().and_then(|said| mirror_status(&said.stdout)) {
                    done = status.sectors;
                }
                let shall = far(done);
                if goes_on && !shall {
                    goes_on = false;
                    let abort = lvm::command("pvmove", words(&["--abort", &old]), &luns);
                    // It may be over by now.
                    let _ = abort.run(Some(self.run));
                }
            }
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        match moved {
            // Stopped, it says that it was.
            Err(_) if !goes_on => Ok(false),
            moved => moved.map(|_| goes_on),
        }
    }

    /// A copy of a mirror in the place of one that is lost.
    fn repair(&self, step: &Step, far: &mut dyn FnMut(Completed) -> bool) -> Result<bool, StackError> {
        let volume = lvm::volume(&self.volume.uuid);
        let args = words(&["--repair", &volume, &argument(&step.new)]);
        lvm::command("lvconvert", args, &self.volume.paths()).run(Some(self.run))?;
        let mapping = lvm::mapping(&self.volume.uuid);
        let mut lost = Twice::default();
        self.until(far, || {
            let status = lvm::status(&mapping)?;
            let status = status.ok_or_else(|| self.failed("look at", io::Error::other("it is no mirror")))?;
            Ok((is_repaired(&status, &step.new, &mut lost)?, status.in_step))
        })
    }

    /// The kernel copies the old LUN to the new one, and drops it then.
    fn replace(&self, step: &Step, far: &mut dyn FnMut(Completed) -> bool) -> Result<bool, StackError> {
        let (array, new) = (self.array()?, argument(&step.new));
        self.mdadm(&array, &["--add", &new])?;
        self.mdadm(&array, &["--replace", &argument(&step.old), "--with", &new])?;
        let mut left = Twice::default();
        let all = self.until(far, || {
            let kernel = mapped::here();
            let is_done = is_replaced(kernel, &array, step, &mut left)?;
            Ok((is_done, sync_of(kernel, &array)))
        })?;
        if all {
            self.remove(&array, &step.old)?;
            // Not to be taken for the array's again.
            let args = words(&["--zero-superblock", &argument(&step.old)]);
            tool("mdadm", args, &self.volume.paths()).run(Some(self.run))?;
        }
        Ok(all)
    }

    /// The kernel makes the new LUN from the others, of which more may be missing.
    fn rebuild(&self, step: &Step, far: &mut dyn FnMut(Completed) -> bool) -> Result<bool, StackError> {
        let array = self.array()?;
        if mapped::here().state_in(&array, &step.old).is_some() {
            self.remove(&array, &step.old)?;
        }
        self.mdadm(&array, &["--add", &argument(&step.new)])?;
        let mut left = Twice::default();
        self.until(far, || {
            let kernel = mapped::here();
            let is_done = holds_all(kernel, &array, &step.new, &mut left)?;
            Ok((is_done, sync_of(kernel, &array)))
        })
    }

    /// The kernel may still have requests to a LUN that it has just given up.
    fn remove(&self, array: &Path, lun: &Path) -> Result<(), StackError> {
        let start = Instant::now();
        loop {
            match self.mdadm(array, &["--remove", &argument(lun)]) {
                Err(_) if start.elapsed() < PATIENCE => std::thread::sleep(LOOK),
                removed => return removed,
            }
        }
    }

    fn mdadm(&self, array: &Path, args: &[&str]) -> Result<(), StackError> {
        let args = [words(&["--manage", &argument(array)]), words(args)].concat();
        on_array(array, args, &self.volume.paths())
            .run(Some(self.run))
            .map(drop)
    }

    /// Looks again and again, until it is done or shall not go on.
    fn until(
        &self,
        far: &mut dyn FnMut(Completed) -> bool,
        mut look: impl FnMut() -> Result<(bool, Completed), StackError>,
    ) -> Result<bool, StackError> {
        let start = Instant::now();
        loop {
            let (is_done, done) = look()?;
            if is_done {
                return Ok(true);
            }
            if !far(done) {
                return Ok(false);
            }
            if start.elapsed() > RESYNC_LIMIT {
                return Err(self.failed("wait for", io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// What two looks on end find. What is there for a moment, such as a name that the kernel just gives, ends nothing.
#[derive(Default)]
struct Twice {
    before: bool,
}

impl Twice {
    /// Whether this look finds it, and the one before did.
    fn is_found(&mut self, now: bool) -> bool {
        std::mem::replace(&mut self.before, now) && now
    }
}

fn given_up(new: &Path, why: &'static str) -> StackError {
    StackError::path("copy to", new, io::Error::other(why), "see the kernel log (dmesg)")
}

/// Whether both copies of a mirror are the same. It never comes to that where one is lost, be it the new one or the
/// other: nobody waits for that.
fn is_repaired(status: &RaidStatus, new: &Path, lost: &mut Twice) -> Result<bool, StackError> {
    if lost.is_found(status.lost > 0) {
        return Err(given_up(new, "the mirror has lost a copy meanwhile"));
    }
    Ok(status.is_in_step())
}

/// Whether a LUN that was added to an array holds all that it is to hold. One that the array has given up, or that has
/// left it, never will: nobody waits for that.
fn holds_all(kernel: Kernel<'_>, array: &Path, new: &Path, left: &mut Twice) -> Result<bool, StackError> {
    let state = kernel.state_in(array, new);
    let has_left = left.is_found(state.is_none());
    match state {
        Some(state) if is_faulty(&state) => Err(given_up(new, "the array has given it up")),
        None if has_left => Err(given_up(new, "it has left the array")),
        state => Ok(state.is_some_and(|state| is_in_sync(&state))),
    }
}

/// The old LUN has left, and the new one holds all of it: an old one that fails half-way leaves, too.
fn is_replaced(kernel: Kernel<'_>, array: &Path, step: &Step, left: &mut Twice) -> Result<bool, StackError> {
    let old_has_left = Way::in_array(kernel.state_in(array, &step.old).as_deref()) == Way::MadeAnew;
    Ok(holds_all(kernel, array, &step.new, left)? && old_has_left)
}

/// How far the kernel is with an array; nothing before it begins.
fn sync_of(kernel: Kernel<'_>, array: &Path) -> Completed {
    let text = kernel.of_array(array, "sync_completed").unwrap_or_default();
    completed(&text).unwrap_or_default()
}

fn not_the_lost_one(old: &Path, whose: &str) -> StackError {
    let why = io::Error::other(format!("it is not the LUN that {whose} has lost"));
    StackError::path("put a LUN in the place of", old, why, "drop the LUN that is lost")
}

/// What each LUN of an array holds of it, which the kernel says in KiB.
fn component_bytes(kernel: Kernel<'_>, array: &Path) -> io::Result<u64> {
    let kib = number(&kernel.of_array(array, "component_size")?)?;
    kib.checked_mul(1 << 10)
        .ok_or_else(|| io::Error::other(format!("a LUN can't have {kib} KiB")))
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}

/// Whether a LUN carries a copy that the mirror still has. `copies`: what each stands on; the kernel may have forgotten
/// what a lost one stood on.
fn works(status: &RaidStatus, copies: &[Vec<OsString>], lun: &OsStr) -> bool {
    let carries = |(_, below): &(u32, &Vec<OsString>)| below.iter().any(|device| device == lun);
    let mut copy = (0..).zip(copies).filter(carries);
    copy.any(|(number, _)| !status.has_lost(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::recorded::{Root, Scene, UUID};
    use crate::volume::said::raid_status;

    #[test]
    fn a_lun_that_the_mirror_has_is_not_taken_for_the_lost_one() {
        let lost = raid_status("0 638976 raid raid1 2 AD 638976/638976 idle 0 0 -\n").expect("a status");
        let on = |names: &[&str]| names.iter().map(OsString::from).collect::<Vec<_>>();
        let copies = [on(&["loop0"]), on(&["loop1"])];
        assert!(works(&lost, &copies, OsStr::new("loop0")));
        assert!(!works(&lost, &copies, OsStr::new("loop1")), "it is lost");
        assert!(!works(&lost, &copies, OsStr::new("loop2")), "nothing is known of it");
        let forgotten = [on(&["loop0"]), on(&[])];
        assert!(!works(&lost, &forgotten, OsStr::new("loop1")));
    }

    #[test]
    fn the_lost_lun_of_a_recorded_mirror_is_known_by_what_its_copies_stand_on() {
        let scene = Scene::of("lvm-raid1-lost");
        let root = scene.laid_out();
        let lost = raid_status(&scene.status("data")[0]).expect("a status");
        let copies: Vec<Vec<OsString>> = (0..COPIES)
            .map(|copy| root.kernel().below(&lvm::copy(&UUID, copy)))
            .collect();
        assert!(works(&lost, &copies, OsStr::new("ubdb")));
        assert!(!works(&lost, &copies, OsStr::new("loop0")), "it takes no more writes");
        assert!(!works(&lost, &copies, OsStr::new("ubdd")), "it is in the reserve");
    }

    #[test]
    fn a_lun_that_an_array_has_is_moved_and_any_other_is_made_anew() {
        for (scene, lun, way) in [
            ("md-raid1", "ubdb", Way::Moved),
            ("md-raid1-sync", "ubdc", Way::Moved),
            ("md-raid1-replace", "ubdb", Way::Moved),
            ("md-raid1-replaced", "ubdb", Way::MadeAnew),
            ("md-raid1-lost", "ubdc", Way::MadeAnew),
            ("md-raid1-removed", "ubdc", Way::MadeAnew),
            ("md-raid1-write-error", "loop0", Way::MadeAnew),
            ("md-raid5-replace", "ubdb", Way::Moved),
            ("md-raid5-replaced", "ubdb", Way::MadeAnew),
        ] {
            let root = Scene::of(scene).laid_out();
            let state = root.kernel().state_in(&root.array(), &root.lun(lun));
            assert!(Way::in_array(state.as_deref()) == way, "{scene}: {lun} is {state:?}");
        }
    }

    #[test]
    fn a_lun_is_replaced_when_the_new_one_holds_all() {
        let is_done = |scene: &str, old: &str, new: &str| {
            let root = Scene::of(scene).laid_out();
            let step = Step {
                old: root.lun(old),
                new: root.lun(new),
                way: Way::Moved,
                bytes: 0,
            };
            is_replaced(root.kernel(), &root.array(), &step, &mut Twice::default()).expect("the new one is in it")
        };
        assert!(!is_done("md-raid1-replace", "ubdb", "ubde"), "under way");
        assert!(is_done("md-raid1-replaced", "ubdb", "ubde"));
        assert!(
            !is_done("md-raid1-recover", "ubdc", "ubdb"),
            "the old one has left, and the new one is not whole"
        );
    }

    /// What the second of two looks at a LUN finds, which was added before both.
    fn looked_twice(root: &Root, new: &str) -> Result<bool, String> {
        let mut left = Twice::default();
        let mut look = || holds_all(root.kernel(), &root.array(), &root.lun(new), &mut left);
        let _ = look();
        look().map_err(|e| e.to_string())
    }

    #[test]
    fn a_new_lun_that_holds_all_is_not_waited_for_though_another_one_is_missing() {
        let root = Scene::of("md-raid1-replaced").laid_out();
        assert_eq!(looked_twice(&root, "ubde"), Ok(true));
        root.put("sys/block/md127/md/degraded", "1\n");
        assert_eq!(looked_twice(&root, "ubde"), Ok(true));
        for (scene, new) in [
            ("md-raid1-recover", "ubdb"),
            ("md-raid5-recover", "ubdb"),
            ("md-raid1-replace", "ubde"),
        ] {
            assert_eq!(looked_twice(&Scene::of(scene).laid_out(), new), Ok(false), "{scene}");
        }
    }

    #[test]
    fn a_new_lun_that_the_array_has_given_up_or_that_has_left_it_is_not_waited_for() {
        for (scene, lun, why) in [
            ("md-raid1-write-error", "loop0", "the array has given it up"),
            ("md-raid1-removed", "ubdc", "it has left the array"),
            ("md-raid5-removed", "ubdc", "it has left the array"),
        ] {
            let said = looked_twice(&Scene::of(scene).laid_out(), lun).expect_err(scene);
            assert!(said.contains(lun) && said.contains(why), "{scene}: {said}");
        }
    }

    #[test]
    fn a_lun_that_the_kernel_does_not_name_for_a_moment_has_not_left() {
        let root = Scene::of("md-raid1-recover").laid_out();
        let mut left = Twice::default();
        let mut look = || holds_all(root.kernel(), &root.array(), &root.lun("ubdb"), &mut left);
        let dir = root.at("sys/block/md127/md/dev-ubdb");
        for _ in 0..2 {
            std::fs::remove_dir_all(&dir).expect("removed");
            assert!(matches!(look(), Ok(false)), "once");
            root.put("sys/block/md127/md/dev-ubdb/state", "spare\n");
            assert!(matches!(look(), Ok(false)), "it is there again");
        }
        root.put("sys/block/md127/md/dev-ubdb/state", "in_sync\n");
        assert!(matches!(look(), Ok(true)));
    }

    #[test]
    fn a_mirror_that_loses_a_copy_while_it_is_repaired_is_not_waited_for() {
        let statuses = |scene: &str| -> Vec<RaidStatus> {
            let said = Scene::of(scene).status("data");
            said.iter().map(|said| raid_status(said).expect("a raid")).collect()
        };
        let (repaired, lost) = (statuses("lvm-raid1-repair"), statuses("lvm-raid1-lost")[0]);
        let mut seen = Twice::default();
        let mut look = |status: &RaidStatus| is_repaired(status, Path::new("/dev/ubdd"), &mut seen);
        assert!(matches!(look(&repaired[0]), Ok(false)), "under way");
        assert!(matches!(look(&lost), Ok(false)), "once");
        let said = look(&lost).expect_err("it never comes in step").to_string();
        assert!(said.contains("/dev/ubdd") && said.contains("has lost a copy"), "{said}");
        assert!(matches!(look(&repaired[repaired.len() - 1]), Ok(true)), "over");
    }

    #[test]
    fn an_array_says_how_much_of_how_much_it_has_copied() {
        let far = |scene: &str| {
            let root = Scene::of(scene).laid_out();
            sync_of(root.kernel(), &root.array())
        };
        let under_way = [
            "md-raid1-sync",
            "md-raid1-replace",
            "md-raid1-recover",
            "md-raid5-replace",
            "md-raid5-recover",
        ];
        for scene in under_way {
            let root = Scene::of(scene).laid_out();
            let bytes = component_bytes(root.kernel(), &root.array()).expect("its size");
            let Completed { done, all } = far(scene);
            assert!(all * 512 == bytes && done < all, "{scene}: {done} of {all}");
        }
        for scene in ["md-raid0", "md-raid1", "md-raid1-lost", "md-raid5-replaced"] {
            assert_eq!(far(scene), Completed::default(), "{scene}");
        }
    }

    #[test]
    fn what_is_no_progress_and_no_size_is_not_taken_for_one() {
        let root = Scene::of("md-raid1-recover").laid_out();
        let (kernel, array) = (root.kernel(), root.array());
        for odd in ["", "delayed\n", "none\n", "9 / 8\n", "-1 / 8\n", "1 / 2 / 3\n"] {
            root.put("sys/block/md127/md/sync_completed", odd);
            assert_eq!(sync_of(kernel, &array), Completed::default(), "{odd:?}");
        }
        for odd in ["", "-4", "48128 KiB", "18446744073709551615"] {
            root.put("sys/block/md127/md/component_size", odd);
            assert!(component_bytes(kernel, &array).is_err(), "{odd:?}");
        }
    }
}
