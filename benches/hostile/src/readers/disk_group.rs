//! Disks of a disk group: any block of metadata changed, its checksum made right, on one copy or on all.

use super::patches::{Patch, applied, content, encode};
use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::{Context, anyhow};
use diskgroup::{DiskSpec, FileSpec, Geometry, Group, GroupSpec, MountOptions, Redundancy, Stripe, inspect};
use targets::{Disks, FileId, Model, ModelPort};

const AU: u64 = 16 << 10;
const DISKS: u16 = 3;
const BLOCK: usize = 4096;
/// From where a block's own content begins; what it says of itself stands before.
const BODY: usize = 48;
const JOURNAL: u8 = 5;

struct Groups {
    image: Disks,
    /// Disk, offset and content of each block of metadata.
    blocks: Vec<(u16, u64, Vec<u8>)>,
    names: Vec<String>,
}

fn port(disks: Disks) -> anyhow::Result<ModelPort> {
    let model = Model::new(&disks.sizes(), 192 << 10, 8, 1);
    ModelPort::from_disks(model, disks).map_err(|error| anyhow!("{error}"))
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [40, 80],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new("data", Redundancy::Normal)
    };
    let disks: Vec<DiskSpec> = (0..DISKS)
        .map(|nth| DiskSpec::new(FileId(nth), &format!("d{nth}")))
        .collect();
    let empty = Disks::new(&[120 * AU + 4096; DISKS as usize]);
    let group = Group::create(port(empty)?, &spec, &disks, 7).map_err(|error| anyhow!("{error}"))?;
    for (name, stripe) in [
        ("users", Stripe::Coarse),
        ("redo", Stripe::Fine),
        ("more", Stripe::Coarse),
    ] {
        let file = FileSpec {
            name: name.into(),
            size: 20 * AU,
            redundancy: None,
            stripe,
        };
        group.create_file(&file).map_err(|error| anyhow!("{error}"))?;
    }
    group.grow_file("more", 50 * AU).map_err(|error| anyhow!("{error}"))?;
    let image = group.close().map_err(|error| anyhow!("{error}"))?;
    let image = image.context("the group's own port")?.shut_down();
    let mut blocks = Vec::new();
    for disk in 0..DISKS {
        for (nth, block) in content(&image, disk).chunks_exact(BLOCK).enumerate() {
            if block.starts_with(b"ADGB") {
                blocks.push((disk, (nth * BLOCK) as u64, block.to_vec()));
            }
        }
    }
    let names = (0..DISKS).map(|nth| format!("/dev/d{nth}")).collect();
    Ok(Box::new(Groups { image, blocks, names }))
}

fn seal(block: &mut [u8]) {
    let crc = crc32c::crc32c(&block[8..BLOCK]);
    block[4..8].copy_from_slice(&crc.to_le_bytes());
}

impl Groups {
    /// The first blocks of a disk are few and decide most; tables and leaves are many.
    fn chosen(&self, dice: &mut Dice) -> usize {
        let kind = 1 + dice.below(5) as u8;
        let of_kind: Vec<usize> = (0..self.blocks.len())
            .filter(|at| self.blocks[*at].2[31] == kind)
            .collect();
        match of_kind.is_empty() {
            true => dice.below(self.blocks.len()),
            false => *dice.pick(&of_kind),
        }
    }

    /// A transaction: its images changed, each made right, then its head.
    fn transaction(&self, at: usize, dice: &mut Dice) -> Patch {
        let (file, offset, head) = &self.blocks[at];
        let all = content(&self.image, *file);
        let count = u32::from_le_bytes(head[56..60].try_into().expect("four bytes")) as usize;
        let from = *offset as usize;
        let end = (from + BLOCK * (1 + count)).min(all.len());
        let mut bytes = all[from..end].to_vec();
        for image in bytes[BLOCK..].chunks_exact_mut(BLOCK) {
            if dice.once_in(2) {
                damage::number(&mut image[..512], dice, BODY);
                seal(image);
            }
        }
        let crc = crc32c::crc32c(&bytes[BLOCK..]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        if dice.once_in(3) {
            let until = (64 + 8 * count).min(BLOCK);
            damage::number(&mut bytes[..until], dice, 24);
        }
        seal(&mut bytes[..BLOCK]);
        Patch {
            file: *file,
            offset: *offset,
            bytes,
        }
    }

    fn block(&self, at: usize, dice: &mut Dice, patches: &mut Vec<Patch>) {
        let good = &self.blocks[at].2;
        let mut bytes = good.clone();
        for _ in 0..dice.few() {
            match dice.below(8) {
                0 => damage::number(&mut bytes, dice, 8),
                1..=2 => damage::number(&mut bytes, dice, BODY),
                _ => damage::number(&mut bytes[..320], dice, BODY),
            }
        }
        if dice.once_in(4) {
            // The newest copy is believed.
            let sequence = u64::from_le_bytes(bytes[32..40].try_into().expect("eight bytes"));
            bytes[32..40].copy_from_slice(&sequence.wrapping_add(1 + dice.below(3) as u64).to_le_bytes());
        }
        if dice.below(10) > 0 {
            seal(&mut bytes);
        }
        let everywhere = dice.below(4) > 0;
        for (nth, (file, offset, other)) in self.blocks.iter().enumerate() {
            // Headers differ by disk: the change is made in each.
            let same_kind = other[31] == good[31] && good[31] <= 2;
            if nth == at || (everywhere && other[8..] == good[8..]) {
                patches.push(Patch {
                    file: *file,
                    offset: *offset,
                    bytes: bytes.clone(),
                });
            } else if everywhere && same_kind {
                let mut bytes: Vec<u8> = (0..BLOCK)
                    .map(|i| if bytes[i] == good[i] { other[i] } else { bytes[i] })
                    .collect();
                seal(&mut bytes);
                patches.push(Patch {
                    file: *file,
                    offset: *offset,
                    bytes,
                });
            }
        }
    }
}

impl Trial for Groups {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let mut patches = Vec::new();
        if dice.once_in(50) {
            return encode(&patches);
        }
        for _ in 0..1 + dice.below(3) {
            let at = self.chosen(dice);
            match self.blocks[at].2[31] {
                JOURNAL if dice.below(4) > 0 => patches.push(self.transaction(at, dice)),
                _ => self.block(at, dice, &mut patches),
            }
        }
        encode(&patches)
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let disks = applied(&self.image, input);
        let open = || port(disks.clone()).map_err(|error| error.to_string());
        inspect(open()?, DISKS).map_err(|error| format!("cannot even be looked at: {error}"))?;
        let options = MountOptions {
            group: None,
            force: input.len().is_multiple_of(2),
            names: self.names.clone(),
            ..MountOptions::default()
        };
        let Ok((group, _)) = Group::mount(open()?, &options) else {
            return Ok(Verdict::Refused);
        };
        let _ = (group.info(), group.disks());
        let names: Vec<String> = group.files().into_iter().map(|file| file.name).collect();
        let _ = group.check(false);
        for name in &names {
            drop(group.open(open()?, &[name]));
            let _ = group.grow_file(name, 60 * AU);
        }
        if let Some(name) = names.first() {
            let _ = group.delete_file(name);
        }
        let _ = group.check(true);
        let _ = group.close();
        Ok(Verdict::Accepted)
    }
}
