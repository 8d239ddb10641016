//! Stacks of kind `model`: a simulated device in virtual time, driven by the same engine and judged by the same procedure.
//!
//! The model's own counters stand where `/proc/diskstats` stands on a host, so provenance is judged there too.

use crate::sizes::Sizes;
use crate::surroundings::{Seen, Surroundings};
use ledger::Measure;
use pages::{Files, Instance};
use plan::{Inject, Model as Written};
use targets::{FaultPort, FileId, Model, ModelPort, Moved};

/// What a modelled trial drives: the simulated device, with the study's planted disadvantage over it.
pub(crate) type Modelled = FaultPort<ModelPort>;

/// Loads a database on a fresh simulated device.
pub(crate) fn load(model: &Written, inject: Inject, sizes: &Sizes, seed: u64) -> anyhow::Result<Instance<Modelled>> {
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
    let port = crate::inject::planted(ModelPort::open(device)?, inject, seed);
    let files = Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    };
    Ok(Instance::create(
        vec![port],
        &files,
        sizes.shape,
        sizes.settings,
        &mut |_, _| (),
    )?)
}

/// The model's own counters around a phase.
#[derive(Default)]
pub(crate) struct ModelSurroundings {
    began: Moved,
}

fn moved(instance: &mut Instance<Modelled>) -> Moved {
    instance
        .ports_mut()
        .map(|port| port.inner().moved())
        .next()
        .unwrap_or_default()
}

impl Surroundings<Modelled> for ModelSurroundings {
    fn begin(&mut self, instance: &mut Instance<Modelled>) -> anyhow::Result<()> {
        self.began = moved(instance);
        Ok(())
    }

    fn settle(&mut self, _: &mut Instance<Modelled>) -> anyhow::Result<u64> {
        Ok(0)
    }

    fn end(&mut self, instance: &mut Instance<Modelled>) -> anyhow::Result<Seen> {
        let moved = moved(instance) - self.began;
        let rows = [
            (Measure::NearReads, Measure::LowReads, moved.reads),
            (Measure::NearWrites, Measure::LowWrites, moved.writes),
            (Measure::NearReadBytes, Measure::LowReadBytes, moved.read_bytes),
            (Measure::NearWriteBytes, Measure::LowWriteBytes, moved.write_bytes),
            (Measure::NearFlushes, Measure::LowFlushes, moved.flushes),
        ];
        let measures = rows
            .into_iter()
            .flat_map(|(near, low, n)| [(near, n as f64), (low, n as f64)])
            .collect();
        Ok(Seen {
            measures,
            ..Seen::default()
        })
    }
}
