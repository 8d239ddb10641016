//! The sheet of a report as a test looks at it: where a line must stand, whether it does, and how traps and honest
//! twins are counted.
//!
//! Prevents: a trap that is "caught" by some other line, and one that counts though nothing could be looked at.

use serde_json::{Value, json};

/// Where a line stands: on a stack, in a phase, with a word in its figure; `None` and "" ask for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct At {
    pub(crate) stack: Option<&'static str>,
    pub(crate) phase: Option<&'static str>,
    pub(crate) word: &'static str,
}

/// On a stack.
pub(crate) fn on(stack: &'static str) -> At {
    At {
        stack: Some(stack),
        ..At::default()
    }
}

/// On a stack in a phase.
pub(crate) fn at(stack: &'static str, phase: &'static str) -> At {
    At {
        phase: Some(phase),
        ..on(stack)
    }
}

/// Of the study as a whole.
pub(crate) const STUDY: At = At {
    stack: None,
    phase: None,
    word: "",
};

impl At {
    pub(crate) fn saying(self, word: &'static str) -> At {
        At { word, ..self }
    }
}

/// One trap: what it is, whose objection it is, and the line that must appear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) name: &'static str,
    pub(crate) objection: &'static str,
    /// Subject and status of the line, as the JSON report has them.
    pub(crate) line: (&'static str, &'static str),
}

/// What came of one.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) trap: Trap,
    /// The line, if it appeared.
    pub(crate) caught: Option<Value>,
    /// Lines of this objection on the honest twin that say otherwise than it deserves; `None`: it could not be judged.
    pub(crate) flagged: Option<Vec<Value>>,
    /// The twin has no such line at all, and should have: silence is no VALID.
    pub(crate) twin_silent: bool,
    /// Why nothing, or not the twin, could be looked at.
    pub(crate) not_looked: Option<String>,
    /// It is for want of root or of a tool, which where tests must not skip is a failure.
    pub(crate) lacks: bool,
}

fn lines<'a>(report: &'a Value, subject: &str, at: At) -> Vec<&'a Value> {
    let checks = report["report"]["checks"].as_array().expect("checks");
    let fits = |check: &&Value| {
        let same = |key: &str, wanted: Option<&str>| wanted.is_none_or(|wanted| check[key] == wanted);
        let figure = check["figure"].as_str().expect("a figure");
        check["subject"] == subject && same("stack", at.stack) && same("phase", at.phase) && figure.contains(at.word)
    };
    checks.iter().filter(fits).collect()
}

/// Each of these lines stands there, whatever it says.
pub(crate) fn must_have(report: &Value, at: At, subjects: &[&str]) {
    for subject in subjects {
        assert!(!lines(report, subject, at).is_empty(), "no line `{subject}` at {at:?}");
    }
}

/// None of these lines stands there, whatever it would say.
pub(crate) fn must_not_have(report: &Value, at: At, subjects: &[&str]) {
    for subject in subjects {
        let found = lines(report, subject, at);
        assert!(found.is_empty(), "a line `{subject}` at {at:?}: {found:?}");
    }
}

/// Comparisons that say something of what a line calls INVALID: of its stack and phase, or of all.
fn ranked_in_spite<'a>(report: &'a Value, line: &Value) -> Vec<&'a Value> {
    let compared = report["report"]["comparisons"].as_array().expect("comparisons");
    let concerns = |one: &&Value| {
        let stack = line["stack"].is_null() || one["stack"] == line["stack"] || one["base"] == line["stack"];
        let phase = line["phase"].is_null() || one["phase"] == line["phase"];
        stack && phase && one["verdict"] != "not_enough_data"
    };
    compared.iter().filter(concerns).collect()
}

/// What a status weighs.
fn gravity(status: &str) -> usize {
    let all = ["valid", "note", "suspect", "invalid"];
    all.iter().position(|one| *one == status).expect("a status")
}

impl Trap {
    /// Holds a report against it, and the report of the honest twin, which must have the line too.
    pub(crate) fn judge(self, found: (&Value, At), twin: (&Value, At)) -> Judged {
        let said = lines(twin.0, self.line.0, twin.1);
        Judged {
            twin_silent: said.is_empty(),
            ..self.judge_alone(found, twin)
        }
    }

    /// The same for a line that appears only where there is something to say.
    pub(crate) fn judge_alone(self, (report, place): (&Value, At), (twin, twin_place): (&Value, At)) -> Judged {
        let (subject, status) = self.line;
        let found = lines(report, subject, place);
        let caught = found.into_iter().find(|line| line["status"] == status).cloned();
        if let Some(line) = &caught {
            for part in ["figure", "threshold", "advice"] {
                let text = line[part].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{}: the line has no {part}: {line}", self.name);
            }
        }
        if let Some(line) = caught.as_ref().filter(|line| line["status"] == "invalid") {
            let ranked = ranked_in_spite(report, line);
            assert!(
                ranked.is_empty(),
                "{}: INVALID and ranked all the same: {ranked:?}",
                self.name
            );
        }
        let doubts = lines(twin, subject, twin_place).into_iter().filter(|line| {
            gravity(line["status"].as_str().unwrap_or_default()) >= gravity(status).min(gravity("suspect"))
        });
        Judged {
            trap: self,
            caught,
            flagged: Some(doubts.cloned().collect()),
            twin_silent: false,
            not_looked: None,
            lacks: false,
        }
    }

    /// This machine cannot set it.
    pub(crate) fn not_set(self, why: &str) -> Judged {
        Judged {
            trap: self,
            caught: None,
            flagged: None,
            twin_silent: false,
            not_looked: Some(why.to_string()),
            lacks: false,
        }
    }

    /// The same for want of root or of a tool.
    pub(crate) fn lacking(self, why: &str) -> Judged {
        Judged {
            lacks: true,
            ..self.not_set(why)
        }
    }
}

impl Judged {
    /// The twin could not be judged: the machine was not as the twin needs it.
    pub(crate) fn without_twin(self, why: &str) -> Judged {
        Judged {
            flagged: None,
            twin_silent: false,
            not_looked: Some(why.to_string()),
            ..self
        }
    }

    /// What is wrong with it, for the message of a failing test.
    pub(crate) fn wrong(&self) -> Option<String> {
        let Trap { name, line, .. } = self.trap;
        match (&self.caught, &self.flagged) {
            (None, None) if self.not_looked.is_some() => None,
            (None, _) => Some(format!("{name}: no line `{}` that says {}", line.0, line.1)),
            _ if self.twin_silent => Some(format!("{name}: the honest twin has no line `{}`", line.0)),
            (_, Some(lines)) if !lines.is_empty() => Some(format!("{name}: the honest twin is flagged: {lines:?}")),
            _ => None,
        }
    }

    /// It was set, whatever came of it.
    pub(crate) fn is_set(&self) -> bool {
        self.caught.is_some() || self.not_looked.is_none() || self.flagged.is_some()
    }

    fn as_json(&self) -> Value {
        json!({
            "trap": self.trap.name,
            "objection": self.trap.objection,
            "line": self.trap.line.0,
            "status": self.trap.line.1,
            "caught": self.caught,
            "set": self.is_set(),
            "twin_flagged": self.flagged.as_ref().map(|lines| !lines.is_empty()),
            "not_looked": self.not_looked,
        })
    }
}

/// Counts, in words and as data; `began` is when the first trap was set, in UTC.
pub(crate) fn summed(all: &[Judged], began: jiff::Timestamp) -> (String, Value) {
    let (set, not_set): (Vec<&Judged>, Vec<&Judged>) = all.iter().partition(|one| one.is_set());
    let caught = set.iter().filter(|one| one.caught.is_some()).count();
    let twins: Vec<_> = all.iter().filter_map(|one| one.flagged.as_ref()).collect();
    let flagged = twins.iter().filter(|lines| !lines.is_empty()).count();
    let said = format!(
        "traps caught {caught} of {}, honest twins wrongly flagged {flagged} of {}",
        set.len(),
        twins.len()
    );
    let reason = |one: &&Judged| json!({ "trap": one.trap.name, "why": one.not_looked });
    let data = json!({
        "schema": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "host": rustix::system::uname().nodename().to_string_lossy(),
        "began": began.to_string(),
        "traps_set": set.len(),
        "traps_caught": caught,
        "twins_judged": twins.len(),
        "twins_flagged": flagged,
        "not_set": not_set.iter().map(reason).collect::<Vec<_>>(),
        "traps": all.iter().map(Judged::as_json).collect::<Vec<_>>(),
    });
    (said, data)
}
