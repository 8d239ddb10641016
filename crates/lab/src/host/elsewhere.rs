//! What is kept of a phase whose server runs elsewhere, or was there before: what this host saw is of the users.
//!
//! Prevents: processors, memory and devices of the users that are read as the server's.

use crate::surroundings::Seen;
use ledger::Measure;

/// Drops what was seen of this host, and notes where it kept the users from their work.
pub(crate) fn keep_users(seen: &mut Seen) {
    seen.notes.extend(of_users(seen));
    forget_host(seen);
}

/// A server that was there before the study is no child of this process, and may run on this host or on another:
/// processors, memory and devices that are seen here are the users' and not its own, and what others did beside the
/// phase may be its work. What remains is this process's own time, and the clock.
fn forget_host(seen: &mut Seen) {
    use Measure as M;
    seen.measures.retain(|(measure, _)| {
        !matches!(
            measure,
            M::CpuBusyNs
                | M::CpuUserNs
                | M::CpuSystemNs
                | M::CpuKernelThreadsNs
                | M::CpuCores
                | M::CpuAllowed
                | M::CpuAllowedBusyNs
                | M::CpuIdleShare
                | M::CpuStealNs
                | M::CpuStealShare
                | M::CpuOthersShare
                | M::CpuThrottledShare
                | M::CpuThrottledPeriodsShare
                | M::CpuThermalThrottles
                | M::PsiCpuSomeNs
                | M::PsiIoSomeNs
                | M::PsiIoFullNs
                | M::PsiMemorySomeNs
                | M::MemoryOwnBytesPeak
                | M::MemoryCacheBytesPeak
                | M::MemoryDirtyPeak
                | M::MemoryTotalBytesPeak
                | M::MemoryBudgetBytes
                | M::MemoryBudgetEnforced
                | M::DeviceErrors
                | M::OthersReadBytes
                | M::OthersWriteBytes
                | M::OthersUnseen
        )
    });
    seen.samples.clear();
}

/// Less is left, and users wait for a processor of their own: what the validity sheet asks of a host.
const IDLE_SHARE_MIN: f64 = 0.04;
/// So much taken from the users' host, and its limits reached so often, is what they waited for.
const STOLEN_SHARE_MAX: f64 = 0.05;
const THROTTLED_SHARE_MAX: f64 = 0.01;

/// What speaks against the users' own host, where the server's is out of sight: that it has room says nothing of the
/// server, that it has none says that the rate may be the users'.
fn of_users(seen: &Seen) -> Option<String> {
    let of = |wanted: Measure| {
        let found = seen.measures.iter().find(|(measure, _)| *measure == wanted);
        found.map(|(_, share)| *share)
    };
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let idle = of(Measure::CpuIdleShare).filter(|share| *share < IDLE_SHARE_MIN);
    let stolen = of(Measure::CpuStealShare).filter(|share| *share > STOLEN_SHARE_MAX);
    let held = of(Measure::CpuThrottledPeriodsShare).filter(|share| *share > THROTTLED_SHARE_MAX);
    let said = [
        idle.map(|share| format!("{} of its processors' time was idle", percent(share))),
        stolen.map(|share| format!("its hypervisor gave {} of it to others", percent(share))),
        held.map(|share| format!("a limit held it back in {} of its periods", percent(share))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| {
        format!(
            "the host that plays the users was short of processors ({}), so the rate may be theirs \
             and not the server's: use fewer users, or a host with more processors for them",
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_here_is_not_told_of_a_server_that_is_not_ours() {
        // All that a host can give: what remains is this process's own, and what the server counted.
        let mut seen = Seen {
            measures: Measure::ALL.iter().map(|measure| (*measure, 1.0)).collect(),
            samples: vec![ledger::Sample {
                at_ns: 1,
                name: "cpu.busy_cores".into(),
                value: 0.1,
            }],
            ..Seen::default()
        };
        forget_host(&mut seen);
        let left = |start: &str| {
            let names = seen.measures.iter().map(|(measure, _)| measure.name());
            names.filter(|name| name.starts_with(start)).collect::<Vec<_>>()
        };
        let own = [
            "cpu.own_ns",
            "cpu.server.user_ns",
            "cpu.server.system_ns",
            "cpu.client.user_ns",
            "cpu.client.system_ns",
        ];
        assert_eq!(left("cpu."), own);
        assert_eq!(left("memory."), ["memory.server_bytes_peak"]);
        assert!(left("psi.").is_empty() && left("others.").is_empty() && seen.samples.is_empty());
        assert_eq!(left("clock.").len(), 2, "durations are of this clock");
        assert!(!left("engine.").is_empty());
    }

    #[test]
    fn users_without_a_processor_are_told_and_users_with_one_prove_nothing() {
        let with = |measures: &[(Measure, f64)]| {
            of_users(&Seen {
                measures: measures.to_vec(),
                ..Seen::default()
            })
        };
        assert_eq!(with(&[]), None);
        assert_eq!(
            with(&[(Measure::CpuIdleShare, 0.97), (Measure::CpuStealShare, 0.01)]),
            None
        );
        let short = with(&[(Measure::CpuIdleShare, 0.01), (Measure::CpuStealShare, 0.2)]).unwrap();
        assert!(short.contains("1 % of its processors' time was idle"), "{short}");
        assert!(
            short.contains("20 % of it to others") && short.contains("use fewer users"),
            "{short}"
        );
        let held = with(&[(Measure::CpuThrottledPeriodsShare, 0.5)]).unwrap();
        assert!(held.contains("in 50 % of its periods"), "{held}");
    }
}
