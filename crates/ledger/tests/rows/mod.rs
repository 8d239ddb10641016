//! Rows that every test of a result file needs: a study, a stack, a trial, a phase.

use ledger::*;

pub(crate) fn study() -> Study {
    Study {
        name: "overwrite-vs-cow".into(),
        question: "What does copy-on-write cost?".into(),
        text: "[study]\nname = \"overwrite-vs-cow\"\n".into(),
        seed: u64::MAX - 1,
        margin: 0.05,
        time_limit_ns: 600_000_000_000,
        blocks_planned: 12,
        comparisons: 6,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "ring".into(),
        published: None,
        tool_version: "0.1.0".into(),
        run_id: "r1".into(),
        created_unix_ns: 1_700_000_000_000_000_000,
        modelled: false,
    }
}

pub(crate) fn stack(ordinal: u32, name: &str) -> Stack {
    Stack {
        ordinal,
        name: name.into(),
        kind: "ext4".into(),
        layers: Layers::plain(["ext4", "loop", "file"]),
        database: None,
        data_lun_set: Some("data".into()),
        redo_lun_set: None,
        access: Access::Direct,
        injected: None,
        skipped: None,
    }
}

pub(crate) fn new_trial(block: u32, stack: &str) -> NewTrial {
    NewTrial {
        block,
        position: 0,
        stack: stack.into(),
        seed: 1 << 63,
        host: "h1".into(),
        instance: "1".into(),
        lun_set: "data".into(),
        began_unix_ns: 5,
    }
}

pub(crate) fn run(trial: TrialId, ordinal: u32, name: &str, kind: PhaseKind) -> PhaseRun {
    PhaseRun {
        trial,
        ordinal,
        name: name.into(),
        kind,
        ranked: true,
        began_unix_ns: 10,
        elapsed_ns: 60_000_000_000,
        drain_ns: 1_000_000_000,
        status: PhaseStatus::Valid,
    }
}
