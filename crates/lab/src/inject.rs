//! A study's planted disadvantage: for checking the tool itself on a difference that is known.

use plan::Inject;
use targets::{Fault, FaultPort, FaultRule, Op, Port, When};

const EIO: i32 = 5;

/// Whether anything is planted at all.
pub(crate) fn is_planted(inject: &Inject) -> bool {
    inject.late > 0.0
        || inject.error_at.is_some()
        || inject.flush_lost
        || inject.same_verifier
        || inject.short_at.is_some()
        || inject.stall_at.is_some()
}

/// In words, for every report.
pub(crate) fn words(inject: &Inject) -> Option<String> {
    let mut words = Vec::new();
    if inject.late > 0.0 {
        let from = match inject.late_from {
            0 => String::new(),
            nth => format!(" from I/O number {nth} on"),
        };
        words.push(format!("a device slowed down by {:.0} %{from}", inject.late * 100.0));
    }
    if let Some(n) = inject.error_at {
        words.push(format!("I/O number {n} fails with EIO"));
    }
    if let Some(n) = inject.short_at {
        words.push(format!("I/O number {n} transfers only a part"));
    }
    if let Some(n) = inject.stall_at {
        words.push(format!("the device stops for {} at I/O number {n}", inject.stall));
    }
    if inject.flush_lost {
        words.push("flushes are answered and not done".to_string());
    }
    if inject.same_verifier {
        words.push("the server comes back with the write verifier that it had".to_string());
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// The port with the study's disadvantage over it. A slow device is one that stands still for part of the time: holding
/// single requests back would cost a saturated device nothing, it serves others meanwhile.
pub(crate) fn planted<P: Port>(port: P, inject: Inject, seed: u64) -> FaultPort<P> {
    let mut rules = Vec::new();
    if inject.late > 0.0 {
        rules.push(FaultRule::nth(
            Fault::Slow { share: inject.late },
            None,
            inject.late_from,
        ));
    }
    if let Some(nth) = inject.error_at {
        rules.push(FaultRule::nth(Fault::Error(EIO), None, nth));
    }
    if let Some(nth) = inject.short_at {
        rules.push(FaultRule::nth(Fault::Short, None, nth));
    }
    if let Some(nth) = inject.stall_at {
        rules.push(FaultRule::nth(Fault::Stall { ns: inject.stall.0 }, None, nth));
    }
    if inject.flush_lost {
        rules.push(FaultRule {
            fault: Fault::Lost,
            op: Some(Op::Flush),
            when: When::Always,
        });
    }
    FaultPort::new(port, &rules, seed)
}
