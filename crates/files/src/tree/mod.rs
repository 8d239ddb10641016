//! The model of the tree: names, sizes, identities, and for each KiB the version last sent and the one last stable.
//!
//! Takes what is sent and what is answered; says what must be there, and after a cut what may be there.
//! Prevents: an answer that is believed because it came.

mod file;
mod grains;
mod names;

pub(crate) use file::{File, Hold, Kind};
pub(crate) use grains::{FIRST, Grains, Standing, before, standing};
pub(crate) use names::{Name, Named, named};

use crate::client::{Identity, Node};
use crate::load::{Class, Config, Steps, Work};
use crate::serving::TreeSize;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// The directory of the run.
pub(crate) const HOME: Node = Node(1);
/// Each link leads there; nothing is there.
pub(crate) const LINK_TEXT: &[u8] = b"a/place/elsewhere";
/// In a work of steps one of so many files is not there at the beginning, so that there is one to create.
const ABSENT_ONE_OF: u32 = 5;

/// A directory and its link.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) node: Node,
    pub(crate) link: Node,
    /// Its files are `first..first + count` of [`Tree::files`].
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The whole.
pub(crate) struct Tree {
    pub(crate) directories: Vec<Directory>,
    pub(crate) files: Vec<File>,
    pub(crate) grains: Grains,
    /// Files that are read and written. In a work of steps: those that are there.
    pub(crate) accessed: Vec<u32>,
    /// Names to create: files, and directories.
    pub(crate) absent: Vec<u32>,
    pub(crate) absent_inner: Vec<u32>,
    /// Names to remove. In a work of steps they are the accessed ones.
    pub(crate) spare: Vec<u32>,
    pub(crate) spare_inner: Vec<u32>,
    /// Files that wait to be cut back.
    pub(crate) over: VecDeque<u32>,
    /// One log a session, where the work has logs.
    pub(crate) logs: Vec<u32>,
    /// Counts changes of names and sizes, so that a listing knows what changed while it was under way.
    pub(crate) changes: u64,
    nodes: u32,
    kib: u64,
    random: Xoshiro256PlusPlus,
}

/// What was added by [`Tree::plan_growth`]: both are ranges up to the end.
pub(crate) struct Added {
    pub(crate) directories_from: u32,
    pub(crate) files_from: u32,
}

impl Tree {
    pub(crate) fn new(config: &Config) -> Tree {
        Tree {
            directories: Vec::new(),
            files: Vec::new(),
            grains: Grains::default(),
            accessed: Vec::new(),
            absent: Vec::new(),
            absent_inner: Vec::new(),
            spare: Vec::new(),
            spare_inner: Vec::new(),
            over: VecDeque::new(),
            logs: Vec::new(),
            changes: 0,
            nodes: HOME.0 + 1,
            kib: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed ^ 0x7472_6565),
        }
    }

    /// Nodes that exist in the model.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes
    }

    fn node(&mut self) -> Node {
        self.nodes += 1;
        Node(self.nodes - 1)
    }

    /// Plans directories and files until the tree has `bytes`, as nearly as whole files can. They are made by the
    /// caller.
    pub(crate) fn plan_growth(&mut self, config: &Config, bytes: u64) -> Added {
        let added = Added {
            directories_from: self.directories.len() as u32,
            files_from: self.files.len() as u32,
        };
        let wanted_kib = bytes.div_ceil(1024);
        while self.kib < wanted_kib && self.plan_directory(config, wanted_kib) {}
        if matches!(config.work, Work::Steps(Steps::Webserver)) && self.logs.is_empty() {
            self.plan_logs(config);
        }
        self.grains.prepare_first(config.sizes.largest_kib());
        self.reserve();
        added
    }

    fn begin_directory(&mut self) {
        let (node, link) = (self.node(), self.node());
        self.directories.push(Directory {
            node,
            link,
            first: self.files.len() as u32,
            count: 0,
        });
    }

    /// `false`: another file would bring the tree further from what is wanted, not nearer. Of hundreds of trees that
    /// all go past it, as threads have them, the sum would be far too large.
    fn plan_directory(&mut self, config: &Config, wanted_kib: u64) -> bool {
        let steps = matches!(config.work, Work::Steps(_));
        let (mut size, mut is_near) = (self.draw_size(config), false);
        if self.is_nearer_without(size, wanted_kib) {
            return false;
        }
        self.begin_directory();
        let mut made = 0;
        while made < config.files_per_directory && self.kib < wanted_kib && !is_near {
            let there = !(steps && (self.files.len() as u32 + 1).is_multiple_of(ABSENT_ONE_OF));
            let accessed = steps || one_of_share(self.files.len() as u64, config.accessed_pct);
            self.plan_file(config, Kind::Data, size, (there, accessed));
            self.kib += u64::from(if there { size } else { 0 });
            made += 1;
            if made < config.files_per_directory && self.kib < wanted_kib {
                size = self.draw_size(config);
                is_near = self.is_nearer_without(size, wanted_kib);
            }
        }
        if let Work::Mix(mix) = &config.work {
            let named = |class| mix.percent(class) > 0;
            // Names to be made and removed: three in a directory of 30 where they are two percent of the calls.
            let changes = u32::from(mix.percent(Class::Create)) + u32::from(mix.percent(Class::Remove));
            let most = config.files_per_directory;
            let spares = (most * changes / 20).clamp(1, most);
            if changes > 0 {
                (0..spares).for_each(|nth| self.plan_file(config, Kind::Spare, 0, (nth % 2 == 0, false)));
            }
            if named(Class::Mkdir) || named(Class::Rmdir) {
                (0..spares).for_each(|_| self.plan_file(config, Kind::Inner, 0, (false, false)));
            }
        }
        !is_near
    }

    fn draw_size(&mut self, config: &Config) -> u32 {
        config.sizes.size_kib(below(&mut self.random, 100) as u8)
    }

    fn is_nearer_without(&self, size_kib: u32, wanted_kib: u64) -> bool {
        self.kib > 0 && u64::from(size_kib) > 2 * wanted_kib.saturating_sub(self.kib)
    }

    fn plan_logs(&mut self, config: &Config) {
        self.begin_directory();
        for _ in 0..config.sessions {
            self.logs.push(self.files.len() as u32);
            self.plan_file(config, Kind::Log, 16, (true, true));
        }
    }

    fn plan_file(&mut self, config: &Config, kind: Kind, kib: u32, (there, accessed): (bool, bool)) {
        let nth = self.files.len() as u32;
        let directory = self.directories.len() as u32 - 1;
        let mut file = File::new((self.node(), nth), directory, kind, kib);
        file.there = there;
        if accessed {
            file.room = kib + kib.max(4 * config.transfer_kib).max(64);
            file.grains = self.grains.add(file.room);
        }
        self.files.push(file);
        self.directories[directory as usize].count += 1;
        let list = match (kind, there) {
            (Kind::Data, true) if accessed => &mut self.accessed,
            (Kind::Data | Kind::Spare, false) => &mut self.absent,
            (Kind::Spare, true) => &mut self.spare,
            (Kind::Inner, false) => &mut self.absent_inner,
            _ => return,
        };
        list.push(nth);
    }

    /// Room for every name in every list: nothing is taken while users work.
    fn reserve(&mut self) {
        let count = |kinds: &[Kind]| self.files.iter().filter(|file| kinds.contains(&file.kind)).count();
        let (names, inner) = (count(&[Kind::Data, Kind::Spare]), count(&[Kind::Inner]));
        for (list, most) in [
            (&mut self.accessed, names),
            (&mut self.absent, names),
            (&mut self.spare, names),
            (&mut self.absent_inner, inner),
            (&mut self.spare_inner, inner),
        ] {
            list.reserve(most.saturating_sub(list.len()));
        }
        self.over.reserve(names.saturating_sub(self.over.len()));
    }

    /// A file has another one's name now, and what had that name is no more: it is the absent one under the old name.
    pub(crate) fn renamed(&mut self, from: u32, onto: u32) {
        let both = self.files.get_disjoint_mut([from as usize, onto as usize]);
        let [old, new] = both.expect("a file is renamed to the name of another one");
        old.swap_objects(new);
        let replaced = new.there;
        (new.there, new.open, new.removed) = (true, false, false);
        (old.there, old.open, old.removed) = (false, false, true);
        (old.size, old.dirty, old.cut_back, old.identity) = (0, false, false, Identity::default());
        let (at, room) = (old.grains, old.room);
        self.grains.keep_none(at, room);
        let place = |list: &[u32], file: u32| list.iter().position(|known| *known == file);
        if let Some(at) = place(&self.accessed, from) {
            self.accessed.swap_remove(at);
        }
        if let Some(at) = place(&self.absent, onto) {
            self.absent.swap_remove(at);
        }
        self.absent.push(from);
        if !replaced {
            self.accessed.push(onto);
        }
        self.changed(from);
        self.changed(onto);
    }

    /// Whether a file may be renamed to this name: it is of the same kind, and nobody uses it.
    pub(crate) fn can_be_replaced(&self, file: u32) -> bool {
        let file = &self.files[file as usize];
        file.kind == Kind::Data && file.room > 0 && !file.open && file.is_free_for(Hold::Alone)
    }

    /// Makes all lists anew from what is there.
    pub(crate) fn relist(&mut self) {
        for list in [
            &mut self.accessed,
            &mut self.absent,
            &mut self.spare,
            &mut self.absent_inner,
            &mut self.spare_inner,
        ] {
            list.clear();
        }
        for (nth, file) in self.files.iter().enumerate() {
            let list = match (file.kind, file.there) {
                (Kind::Data, true) if file.room > 0 => &mut self.accessed,
                (Kind::Data, false) => &mut self.absent,
                (Kind::Spare, false) => &mut self.absent,
                (Kind::Spare, true) => &mut self.spare,
                (Kind::Inner, false) => &mut self.absent_inner,
                (Kind::Inner, true) => &mut self.spare_inner,
                (Kind::Data | Kind::Log, _) => continue,
            };
            list.push(nth as u32);
        }
    }

    /// Counts and bytes.
    pub(crate) fn size(&self) -> TreeSize {
        let there = || self.files.iter().filter(|file| file.there && file.kind != Kind::Inner);
        let bytes = |file: &File| u64::from(file.size) * 1024;
        TreeSize {
            files: there().count() as u64,
            directories: self.directories.len() as u64
                + self
                    .files
                    .iter()
                    .filter(|file| file.there && file.kind == Kind::Inner)
                    .count() as u64,
            bytes: there().map(bytes).sum(),
            accessed_bytes: there().filter(|file| file.room > 0).map(bytes).sum(),
        }
    }

    /// The name of a file.
    pub(crate) fn name(&self, file: u32) -> Name {
        Name::of(match self.files[file as usize].kind {
            Kind::Inner => Named::Inner(file),
            _ => Named::File(file),
        })
    }

    /// The directory of a file.
    pub(crate) fn directory_of(&self, file: u32) -> &Directory {
        &self.directories[self.files[file as usize].directory as usize]
    }

    /// Versions that a file's KiB must have, `kib` from `first`.
    pub(crate) fn sent(&self, file: u32, first: u32, kib: u32) -> &[u8] {
        let file = &self.files[file as usize];
        if file.room == 0 {
            return self.grains.first_versions(kib);
        }
        self.grains.sent(file.grains + first, kib)
    }

    /// Notes a change of names or sizes.
    pub(crate) fn changed(&mut self, file: u32) {
        self.changes += 1;
        self.files[file as usize].changed = self.changes;
    }
}

/// A number below `n`.
pub(crate) fn below(random: &mut Xoshiro256PlusPlus, n: u32) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u32
}

/// Whether the `nth` is one of `pct` in a hundred, spread evenly. The first one is: a tree of few files has one.
fn one_of_share(nth: u64, pct: u8) -> bool {
    let pct = u64::from(pct);
    nth * pct % 100 < pct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(list: &[u32]) -> Vec<u32> {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    }

    #[test]
    fn a_renamed_file_takes_its_data_along_and_its_old_name_is_free() {
        let config = Config {
            accessed_pct: 100,
            sizes: crate::load::Sizes::one(4).unwrap(),
            ..Config::sfs97(1, 1, 1)
        };
        let mut tree = Tree::new(&config);
        tree.plan_growth(&config, 256 << 10);
        let (before, replaced) = (tree.files[0].clone(), tree.files[1].clone());
        assert_eq!((before.content, before.there, replaced.there), (0, true, true));
        let spare = tree.absent.clone();
        tree.renamed(0, 1);
        let [old, new] = [&tree.files[0], &tree.files[1]];
        assert_eq!((new.content, new.node, new.grains), (0, before.node, before.grains));
        assert!(new.there && !new.removed && !old.there && old.removed);
        // The replaced file's place serves the next one that is made under the old name.
        assert_eq!((old.content, old.node, old.size), (1, replaced.node, 0));
        assert!(!tree.accessed.contains(&0) && tree.accessed.contains(&1) && tree.absent.contains(&0));
        tree.renamed(1, 0);
        assert_eq!((tree.files[0].content, tree.files[0].node), (0, before.node));
        assert!(tree.accessed.contains(&0) && !tree.accessed.contains(&1));
        assert_eq!(listed(&tree.absent), listed(&[spare, vec![1]].concat()));
        // Made anew from what is there, the lists are the same.
        let (accessed, absent) = (listed(&tree.accessed), listed(&tree.absent));
        tree.relist();
        assert_eq!((listed(&tree.accessed), listed(&tree.absent)), (accessed, absent));
    }
}
