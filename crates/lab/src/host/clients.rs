//! Processor time of the users and of the server that they speak to, and the server's memory.
//!
//! The users are threads of this process; a server is a family of processes. Prevents: a client whose own work is
//! taken for the server's, and a server whose memory nobody counted.

use ledger::Measure;
use observers::{Delta, FamilyCpu};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the server's memory is looked at: a look walks all its processes.
const LOOK: Duration = Duration::from_secs(1);
const NAP: Duration = Duration::from_millis(20);

/// The users of one phase, and their server.
pub(crate) struct Clients {
    server: Option<u32>,
    began: Option<FamilyCpu>,
    watch: Option<(Arc<AtomicBool>, JoinHandle<u64>)>,
}

impl Clients {
    /// `server`: the process that its others come from.
    pub(crate) fn of(server: Option<u32>) -> Clients {
        Clients {
            server,
            began: None,
            watch: None,
        }
    }

    /// The process that the server's others come from.
    pub(crate) fn server(&self) -> Option<u32> {
        self.server
    }

    pub(crate) fn start(&mut self) {
        let Some(pid) = self.server else { return };
        self.began = FamilyCpu::of(pid);
        let over = Arc::new(AtomicBool::new(false));
        let most = Arc::new(AtomicU64::new(0));
        let watch = std::thread::spawn({
            let over = over.clone();
            move || {
                loop {
                    let now = observers::family_memory(pid).unwrap_or(0);
                    most.fetch_max(now, Ordering::Relaxed);
                    let mut slept = Duration::ZERO;
                    while slept < LOOK {
                        if over.load(Ordering::Relaxed) {
                            return most.load(Ordering::Relaxed);
                        }
                        std::thread::sleep(NAP);
                        slept += NAP;
                    }
                }
            }
        });
        self.watch = Some((over, watch));
    }

    /// What was used since the start; `delta` is of the same time.
    pub(crate) fn stop(&mut self, delta: &Delta) -> Vec<(Measure, f64)> {
        let mut measures = Vec::new();
        if let Some(own) = &delta.own {
            measures.push((Measure::CpuClientUserNs, own.user_ns as f64));
            measures.push((Measure::CpuClientSystemNs, own.system_ns as f64));
        }
        let now = self.server.and_then(FamilyCpu::of);
        if let (Some(began), Some(now)) = (self.began.take(), now) {
            let used = now.since(&began);
            measures.push((Measure::CpuServerUserNs, used.user_ns as f64));
            measures.push((Measure::CpuServerSystemNs, used.system_ns as f64));
        }
        let most = self.watch.take().and_then(|(over, watch)| {
            over.store(true, Ordering::Relaxed);
            watch.join().ok()
        });
        measures.extend(
            most.filter(|most| *most > 0)
                .map(|most| (Measure::MemoryServerBytesPeak, most as f64)),
        );
        measures
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        if let Some((over, watch)) = self.watch.take() {
            over.store(true, Ordering::Relaxed);
            let _ = watch.join();
        }
    }
}
