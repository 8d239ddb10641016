//! A disk group as a stack of a study, on real loop devices: what the engine asks is what the devices do, a mirror
//! writes twice, and nothing is left. Needs root and loop devices.
//!
//! Prevents: a layer under the engine that reads more than it is asked, or keeps fewer copies than it says.

use crate::rig::{Rig, blocks, limited};
use ledger::{Ledger, Measure};
use std::path::Path;

const PAGE: f64 = 8192.0;
const MULTIBLOCK: f64 = 16.0;

fn study(dir: &Path) -> String {
    format!(
        r#"
[study]
name = "grouped"
question = "Does the group do what the engine asks, and no more?"
time_limit = "3h"
blocks = 4
seed = 5
io = "ring"
[luns.data]
files = {{ count = 3, size = "96MiB", dir = "{}" }}
[[stack]]
name = "single"
kind = "diskgroup"
data = "data"
[[stack]]
name = "mirrored"
kind = "diskgroup"
data = "data"
redundancy = "normal"
[database]
cache = "4MiB"
schemas = 16
scale = "64MiB"
multiblock_read = 16
redo_size = "16MiB"
checkpoint = "100ms"
[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 16
work_unit = 8
time = "300ms"
[[phase]]
name = "half"
kind = "random"
update_pct = 50
sessions = 16
work_unit = 8
time = "300ms"
[[phase]]
name = "scan"
kind = "scan"
users = 16
"#,
        dir.display()
    )
}

#[test]
fn devices_do_what_the_engine_asks_and_a_mirror_writes_twice() {
    let Some(rig) = Rig::on_disk(&[]) else { return };
    let before = rig.belongings(&[]);
    let text = limited(&study(&rig.work()), "5s");
    let (study, result) = (rig.study("grouped", &text), rig.result("grouped"));
    rig.run(&study, &result, &["--quiet", "--yes"]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (trials, phases) = (ledger.trials().expect("trials"), ledger.phases().expect("phases"));
    let measures = ledger.measures().expect("measures");
    let ratios = |stack: &str, phase: &str, ours: &[Measure], kernels: Measure| {
        let of = |id, measure: Measure| {
            let found = measures.iter().find(|m| m.phase == id && m.row.0 == measure);
            found.unwrap_or_else(|| panic!("{} is missing", measure.name())).row.1
        };
        let of_stack = |id| trials.iter().any(|t| t.id == id && t.stack == stack);
        let mut ratios: Vec<f64> = phases
            .iter()
            .filter(|p| p.run.name == phase && of_stack(p.run.trial))
            .map(|p| of(p.id, kernels) / ours.iter().map(|m| of(p.id, *m)).sum::<f64>())
            .collect();
        ratios.sort_by(f64::total_cmp);
        assert!(ratios.len() >= blocks() as usize, "{stack}, {phase}: {ratios:?}");
        ratios
    };
    // Something else on the machine may look at a few blocks of any device: that only adds reads, of other sizes.
    let least = |stack: &str, phase: &str, ours: &[Measure], kernels| ratios(stack, phase, ours, kernels)[0];
    let middle = |stack: &str, phase: &str, ours: &[Measure], kernels| {
        let all = ratios(stack, phase, ours, kernels);
        (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0
    };
    for stack in ["single", "mirrored"] {
        for (phase, size, slack) in [("read", PAGE, 0.01), ("scan", PAGE * MULTIBLOCK, 0.02)] {
            let reads = least(stack, phase, &[Measure::EnginePhysicalReads], Measure::NearReads);
            assert!(
                (reads - 1.0).abs() <= 0.02,
                "{stack}, {phase}: {reads} reads for each asked"
            );
            let bytes = ratios(stack, phase, &[Measure::NearReads], Measure::NearReadBytes);
            assert!(
                bytes.iter().any(|bytes| (bytes / size - 1.0).abs() <= slack),
                "{stack}, {phase}: {bytes:?} bytes a read"
            );
        }
    }
    let asked = [Measure::EngineWriteBytes, Measure::EngineRedoBytes];
    let written = |stack| middle(stack, "half", &asked, Measure::NearWriteBytes);
    let (single, mirrored) = (written("single"), written("mirrored"));
    assert!(
        (mirrored / single - 2.0).abs() < 0.2,
        "{single} bytes written for each asked, {mirrored} mirrored"
    );
    // The files lie in stripes and stay where they are: after the load, and after the one phase that writes.
    let layouts = ledger.layouts().expect("layouts");
    for trial in &trials {
        let mine: Vec<_> = layouts.iter().filter(|row| row.trial == trial.id).collect();
        assert_eq!(mine.len(), 2, "{}: {mine:?}", trial.stack);
        assert!(mine[0].phase.is_none() && mine[1].phase.is_some());
        assert_eq!(mine[0].layout, mine[1].layout, "an update moves nothing");
        let one = &mine[0].layout;
        assert_eq!((one.pairs_apart, one.pieces), (one.pairs_striped, one.reads), "{one:?}");
    }
}
