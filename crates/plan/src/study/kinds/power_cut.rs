//! Phases of kinds `power_cut` and `kill`: work that is ended in the middle, again and again.
//!
//! Prevents: durability that is asked of one kind of work only.

use super::files::Serving;
use crate::shown::{Keys, quoted};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Loads, Pace, Ranking};
use crate::study::random::Random;
use crate::study::words::PhaseWord;
use crate::units::Duration;
use crate::word::Word;

/// Taking a stack down after a power cut or a kill, bringing it up and reading everything. Assumed.
const CUT_NS: u64 = 1_500_000_000;

/// What all of them are, of both kinds.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::All,
    repeated: None,
};

/// What ends the work in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The LUNs lose their power, and a part of what was not flushed.
    PowerCut,
    /// The engine is killed, and with it what lies unwritten in memory as far as the stack is the study's own.
    /// Weaker: devices keep their caches.
    Kill,
}

impl End {
    /// As a study writes it.
    pub fn word(self) -> &'static str {
        self.kind().word()
    }

    /// The kind of phase that ends like this.
    fn kind(self) -> PhaseWord {
        match self {
            End::PowerCut => PhaseWord::PowerCut,
            End::Kill => PhaseWord::Kill,
        }
    }

    /// As a sentence says it.
    pub fn noun(self) -> &'static str {
        match self {
            End::PowerCut => "power cut",
            End::Kill => "kill",
        }
    }
}

/// Work that is ended at a moment that the seed chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCut {
    /// By what.
    pub end: End,
    /// Cuts or kills, one after the other, each with the stack brought up again.
    pub cuts: u32,
    /// The cut comes not before this time of work,
    pub earliest: Duration,
    /// and not after this one.
    pub latest: Duration,
    /// The work.
    pub work: CutWork,
}

/// What is under way when it ends.
#[derive(Clone, Debug, PartialEq)]
pub enum CutWork {
    /// Random work on a database.
    Random(Random),
    /// Users of a file server, each with its next operation when the last is done; no load, no limit, data of one size.
    Files(Serving),
}

impl CutWork {
    /// Of a database.
    pub fn random(&self) -> Option<&Random> {
        match self {
            CutWork::Random(random) => Some(random),
            CutWork::Files(_) => None,
        }
    }

    /// Of a file server.
    pub fn serving(&self) -> Option<&Serving> {
        match self {
            CutWork::Files(serving) => Some(serving),
            CutWork::Random(_) => None,
        }
    }

    /// Sessions in all.
    pub fn sessions(&self) -> u32 {
        match self {
            CutWork::Random(random) => random.sessions,
            CutWork::Files(serving) => serving.sessions,
        }
    }

    fn keys(&self) -> Keys {
        match self {
            CutWork::Random(random) => random.keys(),
            CutWork::Files(serving) => serving.keys_of_a_cut(),
        }
    }
}

impl PowerCut {
    /// Its keys with their values.
    fn keys(&self) -> Keys {
        let count = match self.end {
            End::PowerCut => "cuts",
            End::Kill => "kills",
        };
        let times = vec![
            (count, self.cuts.to_string()),
            ("earliest", quoted(self.earliest)),
            ("latest", quoted(self.latest)),
        ];
        [times, self.work.keys()].concat()
    }
}

impl Kind for PowerCut {
    fn kind(&self) -> PhaseWord {
        self.end.kind()
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Work(match self.end {
            End::PowerCut => (
                "the work of this phase ends with the power",
                "remove `time`: say between which times of work the cut comes, by `earliest` and `latest`",
            ),
            End::Kill => (
                "the work of this phase ends with a kill",
                "remove `time`: say between which times of work the kill comes, by `earliest` and `latest`",
            ),
        })
    }

    fn in_flight(&self) -> InFlight {
        match &self.work {
            CutWork::Random(random) => random.in_flight(),
            CutWork::Files(serving) => serving.in_flight(),
        }
    }

    fn ranking(&self) -> Ranking {
        let message = match self.end {
            End::PowerCut => "power cuts cannot be ranked: what was acknowledged is there, or it is not",
            End::Kill => "kills cannot be ranked: what was acknowledged is there, or it is not",
        };
        let cure = "remove it: the report says for each stack what was kept and what was lost";
        Ranking::Never((message, cure))
    }

    fn slob_work(&self) -> Option<&Random> {
        self.work.random()
    }

    fn one_process(&self) -> Option<&'static str> {
        Some("a power cut or a kill under several instances")
    }

    fn work_ns(&self, _pace: &Pace) -> u64 {
        let work = self.earliest.0.saturating_add(self.latest.0) / 2;
        u64::from(self.cuts).saturating_mul(work.saturating_add(CUT_NS))
    }

    fn loads(&self) -> Loads {
        Loads {
            once: self.work.serving().map_or(0, Serving::data_bytes_most),
            within: 0,
        }
    }
}
