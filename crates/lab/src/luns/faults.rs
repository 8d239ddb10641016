//! What a study plants in modelled LUNs while a phase runs: at its time, for its time.
//!
//! Takes the faults of a phase and the services of the stack's LUN sets; a thread of its own sets and takes them
//! back. Prevents: a fault that outlives its phase because the phase ended early, and one that is planted and nowhere
//! told.

use crate::luns::service::Service;
use plan::{DeviceFault, FaultKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How exactly times are kept.
const STEP: Duration = Duration::from_millis(2);

/// Faults that hold now; one for good stays until the trial ends, whoever observes it by then.
pub(crate) type Standing = Arc<Mutex<Vec<DeviceFault>>>;

/// What the thread came to: the faults that it set, and why one could not be.
type Told = (Vec<DeviceFault>, Option<String>);

struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Told>,
}

/// Faults of the trial's phases, one phase after the other.
#[derive(Default)]
pub(crate) struct DeviceFaults {
    services: BTreeMap<String, Arc<Service>>,
    standing: Standing,
    coming: Vec<DeviceFault>,
    /// What held already when the phase began.
    held: Vec<DeviceFault>,
    running: Option<Running>,
}

impl DeviceFaults {
    /// On these services, of which something may be wrong already.
    pub(crate) fn on(services: BTreeMap<String, Arc<Service>>, standing: Standing) -> DeviceFaults {
        DeviceFaults {
            services,
            standing,
            coming: Vec::new(),
            held: Vec::new(),
            running: None,
        }
    }

    /// The faults of the phase that is about to begin.
    pub(crate) fn expect(&mut self, faults: &[DeviceFault]) {
        // Of a set that this stack does not stand on nothing can go wrong here.
        let here = faults.iter().filter(|fault| self.services.contains_key(&fault.luns));
        self.coming = here.cloned().collect();
    }

    /// The phase begins.
    pub(crate) fn begin(&mut self) {
        self.held = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.held.retain(|fault| self.services.contains_key(&fault.luns));
        if self.coming.is_empty() {
            return;
        }
        let mut events: Vec<(u64, bool, DeviceFault)> = Vec::new();
        for fault in &self.coming {
            events.push((fault.after.0, true, fault.clone()));
            if let Some(time) = fault.time {
                events.push((fault.after.0.saturating_add(time.0), false, fault.clone()));
            }
        }
        events.sort_by_key(|(at, begins, _)| (*at, *begins));
        let (services, standing) = (self.services.clone(), Arc::clone(&self.standing));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let began = Instant::now();
        let thread = std::thread::spawn(move || {
            let mut told: Told = (Vec::new(), None);
            for (at, begins, fault) in events {
                while began.elapsed() < Duration::from_nanos(at) {
                    if stopped.load(Ordering::Relaxed) {
                        return told;
                    }
                    std::thread::sleep(STEP);
                }
                let mut all = standing.lock().unwrap_or_else(PoisonError::into_inner);
                let set = |all: &[DeviceFault]| match services.get(&fault.luns) {
                    Some(service) => tell(&fault.luns, service, all),
                    None => Ok(()),
                };
                match change(&mut all, &fault, begins, set) {
                    Err(error) => told.1 = told.1.or(Some(error)),
                    Ok(()) if begins => told.0.push(fault),
                    Ok(()) => {}
                }
            }
            told
        });
        self.running = Some(Running { stop, thread });
    }

    /// The phase is over: what was to last a time ends. Gives what was planted and what was not, in words.
    pub(crate) fn end(&mut self) -> Vec<String> {
        let held = self.held.drain(..).map(|fault| format!("still holds: {fault}"));
        let mut words: Vec<String> = held.collect();
        let Some(Running { stop, thread }) = self.running.take() else {
            return words;
        };
        stop.store(true, Ordering::Relaxed);
        let (planted, refused) = thread.join().unwrap_or_default();
        let mut all = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|fault| fault.time.is_none());
        let back = tell_all(&self.services, &all);
        words.extend(self.coming.iter().map(|fault| match planted.contains(fault) {
            true => format!("planted: {fault}"),
            false if refused.is_some() => format!("not planted, the device refused it: {fault}"),
            false => format!("not planted, the phase was over before: {fault}"),
        }));
        words.extend(
            refused
                .or(back.err())
                .map(|error| format!("Assay could not set the faults of a device: {error}")),
        );
        words
    }
}

impl Drop for DeviceFaults {
    fn drop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            stop.store(true, Ordering::Relaxed);
            let _ = thread.join();
            // What takes the stack down next is to find its devices as they were.
            let mut all = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|fault| fault.time.is_none());
            let _ = tell_all(&self.services, &all);
        }
    }
}

/// A fault begins or ends. One that the device refuses does not stand: it never held.
fn change(
    standing: &mut Vec<DeviceFault>,
    fault: &DeviceFault,
    begins: bool,
    set: impl FnOnce(&[DeviceFault]) -> Result<(), String>,
) -> Result<(), String> {
    if !begins {
        standing.retain(|other| other != fault);
        return set(standing);
    }
    standing.push(fault.clone());
    let told = set(standing);
    if told.is_err() {
        standing.pop();
    }
    told
}

/// Tells a service all that holds on its LUNs.
fn tell(set: &str, service: &Service, standing: &[DeviceFault]) -> Result<(), String> {
    let own = standing.iter().filter(|fault| fault.luns == set);
    let own = own.map(|fault| order(fault, service.slower()));
    let told = service.ask(&json!({ "do": "faults", "faults": own.collect::<Vec<_>>() }));
    told.map(drop).map_err(|error| format!("{error:#}"))
}

/// Tells each service. Gives the first refusal; others find that a service is gone.
fn tell_all(services: &BTreeMap<String, Arc<Service>>, standing: &[DeviceFault]) -> Result<(), String> {
    let told: Vec<_> = services
        .iter()
        .map(|(set, service)| tell(set, service, standing))
        .collect();
    told.into_iter().collect()
}

/// What a device takes longer is its own time, and grows in slow motion as all of it does.
fn order(fault: &DeviceFault, slower: u32) -> Value {
    let (offset, length, by) = match fault.kind {
        FaultKind::Error { offset, length } | FaultKind::Corrupt { offset, length } => {
            // No length: to the end.
            (offset.0, if length.0 == 0 { u64::MAX } else { length.0 }, 0)
        }
        FaultKind::Slow { by } => (0, 0, by.0.saturating_mul(u64::from(slower))),
        FaultKind::Vanish => (0, 0, 0),
    };
    json!({ "lun": fault.lun, "kind": fault.kind.word(), "offset": offset, "length": length, "by_ns": by })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Bytes;

    #[test]
    fn a_fault_that_the_device_refuses_does_not_stand() {
        let fault = DeviceFault {
            luns: "data".into(),
            lun: 0,
            kind: FaultKind::Error {
                offset: Bytes(0),
                length: Bytes(4096),
            },
            after: plan::Duration(0),
            time: None,
        };
        let mut standing = Vec::new();
        let refused = change(&mut standing, &fault, true, |all| {
            assert_eq!(all.len(), 1);
            Err("no".into())
        });
        assert!(refused.is_err() && standing.is_empty(), "{standing:?}");
        change(&mut standing, &fault, true, |_| Ok(())).unwrap();
        assert_eq!(standing.len(), 1);
        // What is to end is no more wanted, whatever the device says.
        assert!(change(&mut standing, &fault, false, |_| Err("no".into())).is_err());
        assert!(standing.is_empty());
    }
}
