//! Files of the page engine after a power cut: control blocks, redo batches and pages changed, checksums and links
//! made right.

use super::patches::{Patch, applied, content, encode};
use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::anyhow;
use pages::{
    Files, Instance, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth, memory_bytes, redo_file_bytes,
};
use targets::{Disks, FileId, Model, ModelPort};
use workloads::{Operation, Started};

const BLOCK: usize = 4096;
const PAGE: u32 = 2048;
const FILES: u16 = 2;

struct Database {
    image: Disks,
    model: Model,
    files: Files,
    settings: Settings,
    shape: Shape,
    /// File, offset and length of each structure.
    controls: Vec<(u16, usize)>,
    batches: Vec<(usize, usize)>,
    pages: Vec<(u16, usize)>,
}

struct Engine(Vec<Database>);

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let ways = [TornPages::Log, TornPages::Double, TornPages::None];
    let all = ways.map(|torn_pages| Database::new(torn_pages).map_err(|error| anyhow!("{error}")));
    Ok(Box::new(Engine(all.into_iter().collect::<anyhow::Result<_>>()?)))
}

fn work() -> RandomWork {
    RandomWork {
        update_pct: 100,
        scan_pct: 0,
        scan_table_bytes: 6 * u64::from(PAGE),
        sessions: 2,
        work_unit: 2,
        work_loop: 20,
        heavy: false,
        outstanding: 1,
        hotspot: None,
        hot_schema_frequency: 0,
    }
}

impl Database {
    fn new(torn_pages: TornPages) -> anyhow::Result<Database> {
        let shape = Shape {
            page_bytes: PAGE,
            schemas: 2,
            pages_per_schema: 16,
            seed: 1,
            compressibility: 1.0,
            duplication: 0.0,
        };
        let settings = Settings {
            cache_bytes: 16 * u64::from(PAGE),
            multiblock_read: 4,
            torn_pages,
            checkpoint_ns: 20_000_000,
            writers: 2,
            redo_bytes: 16 * 12_288,
            workers: 1,
        };
        let files = Files {
            data: (0..FILES).map(FileId).collect(),
            redo: FileId(FILES),
        };
        let mut sizes = data_file_bytes(&shape, &settings, FILES.into());
        sizes.push(redo_file_bytes(&settings));
        let model = Model::new(
            &sizes,
            memory_bytes(&shape, &settings),
            depth(&settings, FILES.into(), 2, 1),
            1,
        );
        let image = worked_on(&model, &files, shape, settings).map_err(|error| anyhow!("{error}"))?;
        let mut made = Database {
            image,
            model,
            files,
            settings,
            shape,
            controls: Vec::new(),
            batches: Vec::new(),
            pages: Vec::new(),
        };
        made.find();
        Ok(made)
    }

    fn find(&mut self) {
        for file in 0..=FILES {
            let all = content(&self.image, file);
            for at in (0..all.len()).step_by(PAGE as usize) {
                if all[at..].starts_with(b"ASSAYCTL") {
                    self.controls.push((file, at));
                } else if all[at..].starts_with(b"ASSAYRDO") {
                    let length = u32::from_le_bytes(all[at + 24..at + 28].try_into().expect("four bytes"));
                    self.batches.push((at, length as usize));
                } else if all[at..].starts_with(b"ASPG") {
                    self.pages.push((file, at));
                }
            }
        }
    }

    fn control(&self, dice: &mut Dice) -> Patch {
        let (file, at) = *dice.pick(&self.controls);
        let mut bytes = content(&self.image, file)[at..at + BLOCK].to_vec();
        for _ in 0..dice.few().min(4) {
            damage::number(&mut bytes[..112], dice, 16);
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &[0; 4]);
        let crc = crc32c::crc32c_append(crc, &bytes[16..136]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        Patch {
            file,
            offset: at as u64,
            bytes,
        }
    }

    /// A batch changed, and the links of all after it.
    fn batch(&self, dice: &mut Dice) -> Vec<Patch> {
        let redo = content(&self.image, FILES);
        let first = dice.below(self.batches.len());
        let mut patches: Vec<Patch> = Vec::new();
        for &(at, length) in &self.batches[first..] {
            let mut bytes = redo[at..(at + length).min(redo.len())].to_vec();
            match patches.last() {
                None => {
                    for _ in 0..dice.few().min(8) {
                        let until = if dice.once_in(4) {
                            bytes.len()
                        } else {
                            bytes.len().min(160)
                        };
                        damage::number(&mut bytes[..until], dice, 16);
                    }
                }
                Some(before) => bytes[32..36].copy_from_slice(&before.bytes[28..32]),
            }
            // It may say another length now: the checksum covers what it says, as far as it is there.
            let says = u32::from_le_bytes(bytes[24..28].try_into().expect("four bytes")) as usize;
            let whole = &redo[at..(at + says.max(bytes.len())).min(redo.len())];
            let mut covered = [&bytes[..], whole.get(bytes.len()..).unwrap_or_default()].concat();
            covered.truncate(says.clamp(48, covered.len().max(48)));
            let crc = crc32c::crc32c_append(crc32c::crc32c(&covered[..28]), &[0; 4]);
            let crc = crc32c::crc32c_append(crc, &covered[32..]);
            bytes[28..32].copy_from_slice(&crc.to_le_bytes());
            patches.push(Patch {
                file: FILES,
                offset: at as u64,
                bytes,
            });
        }
        patches
    }

    fn page(&self, dice: &mut Dice) -> Patch {
        let (file, at) = *dice.pick(&self.pages);
        let mut bytes = content(&self.image, file)[at..at + PAGE as usize].to_vec();
        for _ in 0..dice.few().min(4) {
            damage::number(&mut bytes[..64], dice, 8);
        }
        let crc = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        Patch {
            file,
            offset: at as u64,
            bytes,
        }
    }

    fn read(&self, input: &[u8]) -> Result<Verdict, String> {
        let disks = applied(&self.image, input);
        let port = ModelPort::from_disks(self.model.clone(), disks).map_err(|error| error.to_string())?;
        let Ok((mut instance, _)) = Instance::open(vec![port], &self.files, self.settings) else {
            return Ok(Verdict::Refused);
        };
        let shape = *instance.shape();
        let mut bytes = Vec::new();
        let mut verdict = Verdict::Accepted;
        for schema in 0..shape.schemas.min(self.shape.schemas) {
            for page in 0..shape.pages_per_schema.min(self.shape.pages_per_schema) {
                if instance.read_page(schema, page, &mut bytes).is_err() {
                    verdict = Verdict::Refused;
                }
            }
        }
        if instance.random(&work(), 3).is_err() {
            verdict = Verdict::Refused;
        }
        Ok(verdict)
    }
}

/// A database that was being changed when the power failed.
fn worked_on(model: &Model, files: &Files, shape: Shape, settings: Settings) -> Result<Disks, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let port = ModelPort::open(model.clone()).map_err(|error| said(&error))?;
    let mut instance =
        Instance::create(vec![port], files, shape, settings, &mut pages::unheard).map_err(|error| said(&error))?;
    let mut operations = instance.random(&work(), 1).map_err(|error| said(&error))?;
    let operation = &mut operations[0];
    let (mut ready, mut done, mut under_way): (Vec<u32>, _, _) = ((0..operation.sessions()).collect(), Vec::new(), 0);
    loop {
        while let Some(session) = ready.pop() {
            if operation.start(session, &mut done).map_err(|error| said(&error))? == Started::Running {
                under_way += 1;
            }
        }
        if under_way == 0 {
            break;
        }
        if done.is_empty() {
            operation.advance(None, &mut done).map_err(|error| said(&error))?;
        }
        for end in done.drain(..) {
            ready.push(end.session);
            under_way -= 1;
        }
    }
    drop(operations);
    let mut ports = instance.into_ports();
    ports
        .pop()
        .map(|mut port| port.cut(5))
        .ok_or_else(|| "no port came back".into())
}

impl Trial for Engine {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let which = dice.below(self.0.len());
        let database = &self.0[which];
        let mut patches = Vec::new();
        for _ in 0..dice.below(4) {
            match dice.below(5) {
                0 => patches.push(database.control(dice)),
                1 => patches.push(database.page(dice)),
                _ => patches.extend(database.batch(dice)),
            }
        }
        [&[which as u8][..], &encode(&patches)].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (which, patches) = input.split_first().ok_or("an input without a database")?;
        let database = self.0.get(usize::from(*which)).ok_or("an input of another database")?;
        database.read(patches)
    }
}
