//! Stacks of kind `model`: a simulated device in virtual time, under the same engine and the same procedure.
//!
//! The model's own counters stand where `/proc/diskstats` stands on a host, so provenance is judged there too.

use crate::inject;
use crate::instances::others::Others;
use crate::moves::copying::{AroundCopy, Way};
use crate::ports::{PageEngine, StackPort};
use crate::result_file;
use crate::sizes::Sizes;
use crate::surroundings::{Seen, Surroundings};
use crate::trial::around::{After, Around};
use crate::trial::phases::{Leg, Loaded};
use crate::trial::sampled;
use anyhow::Context;
use ledger::{Ledger, Measure, Scope};
use pages::{Files, Instance};
use plan::{CopyTarget, Inject, Model as Written};
use targets::{FileId, Model, ModelPort, Moved};

/// A fresh simulated device with the engine's files on it.
pub(crate) fn device(model: &Written, inject: Inject, sizes: &Sizes, seed: u64) -> anyhow::Result<StackPort> {
    let mut file_sizes = pages::data_file_bytes(&sizes.shape, &sizes.settings, 1);
    file_sizes.push(pages::redo_file_bytes(&sizes.settings));
    let needed: u64 = file_sizes.iter().sum();
    anyhow::ensure!(
        needed <= model.size.0,
        "the model's {} are too small for {} of data and redo\n  raise the model's `size`, or lower `database.scale`",
        model.size,
        plan::Bytes(needed)
    );
    let device = Model {
        sizes: file_sizes,
        memory: sizes.memory_bytes(),
        depth: sizes.depth(1),
        alignment: 512,
        service_ns: model.service.0,
        spread: model.spread,
        parallel: model.parallel,
        flush_ns: model.flush.0,
        transfer_bytes_per_second: model.transfer.0,
        cached_share: model.cached.0,
        tick_ns: 20,
        seed,
    };
    Ok(StackPort::Model(inject::planted(
        ModelPort::open(device)?,
        inject,
        seed,
    )))
}

/// The engine's files on a device.
pub(crate) fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

/// The database, made on its device; a stack that stands for the first time says what its data are like.
pub(crate) fn loaded<'a>(port: StackPort, around: &'a Around<'a>, ledger: &mut Ledger) -> anyhow::Result<Loaded<'a>> {
    let sizes = around.sizes.context("a model has the page engine")?;
    let mut instance = Instance::create(vec![port], &files(), sizes.shape, sizes.settings, &mut pages::unheard)?;
    if around.turn.block.number == 0 {
        let facts = sampled::facts(&mut instance, around.turn.block.seed)?;
        result_file::facts(ledger, &Scope::Stack(around.stack.to_string()), facts)?;
    }
    Ok(on_model(instance, around))
}

fn on_model<'a>(instance: PageEngine, around: &'a Around<'a>) -> Loaded<'a> {
    Loaded {
        instance,
        others: Others::default(),
        surroundings: Box::new(ModelSurroundings::default()),
        around,
        changes: None,
    }
}

/// A trial that may take its database from one device to others.
pub(crate) struct ModelTrial<'a> {
    pub(crate) around: &'a Around<'a>,
    /// Home, then one device for each stack that phases copy to.
    pub(crate) devices: Vec<(String, Option<StackPort>, bool)>,
}

impl ModelTrial<'_> {
    /// All phases; gives the simulated time at their end.
    pub(crate) fn drive(&mut self, ledger: &mut Ledger) -> anyhow::Result<u64> {
        let sizes = self.around.sizes.context("a model has the page engine")?;
        let (mut at, mut first) = (0, 0);
        loop {
            let port = self.devices[at].1.take().context("the device where the database is")?;
            self.devices[at].2 = true;
            let mut loaded = if first == 0 {
                loaded(port, self.around, ledger)?
            } else {
                on_model(Instance::open(vec![port], &files(), sizes.settings)?.0, self.around)
            };
            let leg = loaded.phases(ledger, first)?;
            let now = loaded.now();
            let Leg::Copy(ordinal) = leg else { return Ok(now) };
            self.devices[at].1 = loaded.instance.into_ports().pop();
            let Some(to) = self.copy(ledger, at, ordinal)? else {
                return Ok(now);
            };
            at = to;
            first = ordinal + 1;
        }
    }

    fn copy(&mut self, ledger: &mut Ledger, from: usize, ordinal: usize) -> anyhow::Result<Option<usize>> {
        let phase = &self.around.study.phases[ordinal];
        let Some(copy) = phase.kind.copy() else {
            anyhow::bail!("{} is no copy", phase.name)
        };
        let to = match &copy.to {
            CopyTarget::Home => 0,
            CopyTarget::Stack(name) => {
                1 + self.devices[1..]
                    .iter()
                    .position(|(device, ..)| device == name)
                    .context("a copy goes to what was made for it")?
            }
        };
        let way = Way {
            phase,
            copy,
            from: self.devices[from].0.clone(),
            to: self.devices[to].0.clone(),
            from_files: files(),
            to_files: files(),
            over_existing: self.devices[to].2,
        };
        let mut source = self.devices[from].1.take().context("the source of a copy")?;
        let mut target = self.devices[to].1.take().context("the target of a copy")?;
        let around = self.around;
        let after = around.recorded(ledger, ordinal, || {
            way.go(&mut source, &mut target, &mut Sides::default(), around)
        })?;
        self.devices[from].1 = Some(source);
        self.devices[to].1 = Some(target);
        Ok((after == After::Next).then_some(to))
    }
}

/// The model's own counters around a phase.
#[derive(Default)]
pub(crate) struct ModelSurroundings {
    began: Moved,
}

/// The same of both devices of a copy.
#[derive(Default)]
struct Sides {
    began: [Moved; 2],
}

impl AroundCopy for Sides {
    fn begin(&mut self, source: &mut StackPort, target: &mut StackPort) -> anyhow::Result<()> {
        self.began = [source.moved(), target.moved()];
        Ok(())
    }

    fn settle(&mut self) -> anyhow::Result<u64> {
        Ok(0)
    }

    fn end(&mut self, source: &mut StackPort, target: &mut StackPort) -> anyhow::Result<Seen> {
        let from = source.moved() - self.began[0];
        let to = target.moved() - self.began[1];
        let both = Moved {
            reads: from.reads + to.reads,
            read_bytes: from.read_bytes + to.read_bytes,
            writes: from.writes + to.writes,
            write_bytes: from.write_bytes + to.write_bytes,
            flushes: from.flushes + to.flushes,
            ..Moved::default()
        };
        let mut measures = devices(both);
        for (measure, n) in [
            (Measure::CopyFromReads, from.reads),
            (Measure::CopyFromReadBytes, from.read_bytes),
            (Measure::CopyFromWrites, from.writes),
            (Measure::CopyFromWriteBytes, from.write_bytes),
            (Measure::CopyToReads, to.reads),
            (Measure::CopyToReadBytes, to.read_bytes),
            (Measure::CopyToWrites, to.writes),
            (Measure::CopyToWriteBytes, to.write_bytes),
        ] {
            measures.push((measure, n as f64));
        }
        Ok(Seen {
            measures,
            ..Seen::default()
        })
    }
}

fn moved(instance: &mut PageEngine) -> Moved {
    instance.ports_mut().map(|port| port.moved()).next().unwrap_or_default()
}

/// In the ledger's terms; a model has one level of devices.
fn devices(moved: Moved) -> Vec<(Measure, f64)> {
    let rows = [
        (Measure::NearReads, Measure::LowReads, moved.reads),
        (Measure::NearWrites, Measure::LowWrites, moved.writes),
        (Measure::NearReadBytes, Measure::LowReadBytes, moved.read_bytes),
        (Measure::NearWriteBytes, Measure::LowWriteBytes, moved.write_bytes),
        (Measure::NearFlushes, Measure::LowFlushes, moved.flushes),
    ];
    rows.into_iter()
        .flat_map(|(near, low, n)| [(near, n as f64), (low, n as f64)])
        .collect()
}

impl Surroundings for ModelSurroundings {
    fn begin(&mut self, instance: &mut PageEngine) -> anyhow::Result<()> {
        self.began = moved(instance);
        Ok(())
    }

    fn settle(&mut self, _: &mut PageEngine) -> anyhow::Result<u64> {
        Ok(0)
    }

    fn end(&mut self, instance: &mut PageEngine, _: bool) -> anyhow::Result<Seen> {
        let measures = devices(moved(instance) - self.began);
        Ok(Seen {
            measures,
            ..Seen::default()
        })
    }
}
