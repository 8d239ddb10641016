//! A synthetic result file of any size, with as much in each phase as a real one holds.
//!
//! Prevents: a report whose time is only known for small studies.

use anyhow::Context;
use hdrhistogram::Histogram;
use ledger::*;
use std::path::Path;

/// Slices and samples of a phase of ten seconds.
const SLICES: u64 = 40;
const SAMPLES: u64 = 40;
const SAMPLED: [&str; 6] = [
    "memory.dirty_bytes",
    "memory.cache_bytes",
    "cpu.busy_ns",
    "device.vda.reads",
    "device.vda.writes",
    "psi.io_some_ns",
];
const SECOND: u64 = 1_000_000_000;

/// How many of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) phases: u32,
    pub(crate) stacks: u32,
    pub(crate) blocks: u32,
}

/// Writes a result of that size.
pub(crate) fn write(path: &Path, size: Size) -> anyhow::Result<()> {
    let mut ledger = Ledger::create(path, &study(size)).with_context(|| format!("make {}", path.display()))?;
    for ordinal in 0..size.stacks {
        ledger.stack(&stack(ordinal))?;
    }
    for block in 0..size.blocks {
        for ordinal in 0..size.stacks {
            let trial = ledger.begin_trial(&NewTrial {
                block,
                position: ordinal,
                stack: stack(ordinal).name,
                seed: u64::from(block),
                host: "host".into(),
                instance: "1".into(),
                lun_set: "data".into(),
                began_unix_ns: SECOND,
            })?;
            for phase in 0..size.phases {
                ledger.record_phase(&phase_of(trial, phase, block, ordinal)?)?;
            }
            ledger.end_trial(trial, 2 * SECOND, &TrialStatus::Done)?;
        }
    }
    Ok(())
}

/// A study file of that size, on models: a check of it looks at no device.
pub(crate) fn study_of_models(size: Size) -> String {
    // A check refuses a study that its time limit would end: 10,000 phase runs take over five hours.
    let mut text = format!(
        "[study]\nname = \"synthetic\"\nblocks = {}\ntime_limit = \"24h\"\n",
        size.blocks
    );
    for stack in 0..size.stacks {
        let name = stack_name(stack);
        text += &format!("\n[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"256MiB\"\nservice = \"200us\"\n");
    }
    text += "\n[database]\ncache = \"16MiB\"\nschemas = 16\nscale = \"40%\"\nredo_size = \"32MiB\"\n";
    for phase in 0..size.phases {
        text += &format!("\n[[phase]]\nname = \"phase {phase}\"\nkind = \"random\"\nsessions = 16\ntime = \"2s\"\n");
    }
    text
}

fn stack_name(ordinal: u32) -> String {
    format!("stack {ordinal}")
}

fn study(size: Size) -> Study {
    Study {
        name: "synthetic".into(),
        question: "How long does a report take?".into(),
        text: "[study]\n".into(),
        seed: 1,
        margin: 0.05,
        time_limit_ns: 3600 * SECOND,
        blocks_planned: size.blocks,
        comparisons: (size.stacks - 1).max(1) * size.phases,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "ring".into(),
        run_id: "synthetic".into(),
        created_unix_ns: SECOND,
        ..Study::default()
    }
}

fn stack(ordinal: u32) -> Stack {
    Stack {
        ordinal,
        name: stack_name(ordinal),
        kind: "ext4".into(),
        layers: ledger::Layers::plain(["ext4", "loop", "file"]),
        database: None,
        data_lun_set: Some("data".into()),
        redo_lun_set: None,
        access: ledger::Access::Direct,
        injected: None,
        skipped: None,
    }
}

/// Differs by block and stack, so that intervals have a width.
fn wobble(phase: u32, block: u32, stack: u32) -> f64 {
    let mixed = (u64::from(phase) << 32 | u64::from(block) << 8 | u64::from(stack)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    0.98 + 0.04 * ((mixed >> 40) as f64 / (1u64 << 24) as f64)
}

fn phase_of(trial: TrialId, phase: u32, block: u32, stack: u32) -> anyhow::Result<PhaseRecord> {
    let mut record = PhaseRecord::new(PhaseRun {
        trial,
        ordinal: phase,
        name: format!("phase {phase}"),
        kind: PhaseKind::Random,
        ranked: true,
        began_unix_ns: SECOND,
        elapsed_ns: 10 * SECOND,
        drain_ns: SECOND / 4,
        status: PhaseStatus::Valid,
    });
    let work = 500_000.0 * wobble(phase, block, stack);
    record.measures = measures(work);
    record.slices = (1..=SLICES)
        .map(|nth| Slice {
            at_ns: nth * SECOND / 4,
            count: work as u64 / SLICES,
            units: 16 * work as u64 / SLICES,
        })
        .collect();
    for name in SAMPLED {
        record.samples.extend((1..=SAMPLES).map(|nth| Sample {
            at_ns: nth * SECOND / 4,
            name: name.into(),
            value: nth as f64 * 1000.0,
        }));
    }
    for class in ["select", "update"] {
        let mut histogram = Histogram::<u64>::new(3)?;
        for step in 0..2000u64 {
            histogram.record((60_000.0 * wobble(phase, block, stack)) as u64 + step * step)?;
        }
        for stamp in [Stamp::Service, Stamp::Response] {
            record.histograms.push(HistogramRow {
                class: class.into(),
                stamp,
                blob: encode_histogram(&histogram)?,
                count: 2000,
                units: 32_000,
            });
        }
    }
    Ok(record)
}

fn measures(work: f64) -> Vec<(Measure, f64)> {
    let bytes = work * 8192.0;
    vec![
        (Measure::EngineOperations, work / 16.0),
        (Measure::EnginePhysicalReads, work),
        (Measure::EngineReadBytes, bytes),
        (Measure::EngineWrites, work / 4.0),
        (Measure::EngineWriteBytes, bytes / 4.0),
        (Measure::EngineRedoWrites, work / 40.0),
        (Measure::EngineRedoBytes, bytes / 20.0),
        (Measure::EngineCommits, work / 32.0),
        (Measure::EngineCheckpoints, 4.0),
        (Measure::NearReads, work),
        (Measure::NearReadBytes, bytes),
        (Measure::NearWrites, work / 3.0),
        (Measure::NearWriteBytes, bytes / 3.0),
        (Measure::LowReads, work),
        (Measure::LowReadBytes, bytes),
        (Measure::LowWrites, work / 3.0),
        (Measure::LowWriteBytes, bytes / 3.0),
        (Measure::CpuBusyNs, 8e9),
        (Measure::CpuIdleShare, 0.6),
        (Measure::ObserverCpuNs, 1e7),
        (Measure::MemoryTotalBytesPeak, 4e8),
        (Measure::DataBytes, 2e9),
        (Measure::EngineCacheBytes, 2.5e8),
        (Measure::WorkingSetTouchedBytes, 2e9),
        (Measure::GeneratorCeilingIops, 2e6),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_size_that_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.assay");
        let size = Size {
            phases: 3,
            stacks: 2,
            blocks: 4,
        };
        write(&path, size).unwrap();
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.trials().unwrap().len(), 8);
    }
}
