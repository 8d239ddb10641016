//! What the run and the process of another instance hear of each other, without a process: for whoever tries what they
//! do not understand.
//!
//! Takes bytes of the pipe between them; says whether they mean something. Prevents: a reader that nothing attacks.

use crate::instances::lines;
use crate::instances::settled::Settled;
use crate::instances::wire::{Answer, AnswerLine, Asked, Ground, Opening, Order, OrderLine, Place, Planted, Worked};
use crate::trial::drive::{Driven, Paced, Work};
use pages::{RandomWork, Settings, TornPages, UserScan};
use std::path::PathBuf;
use workloads::{Arrival, ClassOutcome, LATENCY_NS_MAX, Outcome, Pacing, Slice, Stop, Think};

/// Lines of each kind, as they lie in the pipe: orders, then answers.
#[doc(hidden)]
pub type Lines = (Vec<String>, Vec<String>);

/// Whether the first line is an order, or else an answer whose figures are taken.
#[doc(hidden)]
pub fn heard(mut bytes: &[u8], is_order: bool) -> bool {
    if is_order {
        return matches!(lines::order(&mut bytes), Ok(Some(_)));
    }
    match lines::answer(&mut bytes) {
        Ok(Some(AnswerLine::Answered(_, answer))) => match *answer {
            Answer::Worked(worked) => worked.driven().is_ok_and(|one| adds_up(&one)),
            Answer::Settled(settled) => settled.after(&Settled::default()).is_ok(),
            _ => true,
        },
        Ok(Some(AnswerLine::Alive)) => true,
        Ok(None) | Err(_) => false,
    }
}

/// As the run does it with those of two instances.
fn adds_up(driven: &Driven) -> bool {
    let both = workloads::merge(vec![driven.outcome.clone(), driven.outcome.clone()]);
    both.ended >= both.began
}

/// Lines that the run and an instance say.
///
/// # Errors
/// A line that cannot be written.
#[doc(hidden)]
pub fn spoken() -> anyhow::Result<Lines> {
    let orders = [
        Order::Open(Box::new(opening())),
        Order::Begin,
        Order::Work(Asked::of(&paced())),
        Order::Stop,
        Order::Settle,
    ];
    let answers = [
        Answer::Opened,
        Answer::Worked(Box::new(Worked::of(&driven()?)?)),
        Answer::Settled(Box::default()),
        Answer::Failed {
            error: "no page".into(),
            full: false,
            loss: true,
        },
    ];
    let (mut asked, mut answered) = (Vec::new(), vec![serde_json::to_string(&AnswerLine::Alive)? + "\n"]);
    for (number, order) in (1..).zip(orders) {
        asked.push(serde_json::to_string(&OrderLine { number, order })? + "\n");
    }
    for (number, answer) in (1..).zip(answers) {
        answered.push(serde_json::to_string(&AnswerLine::Answered(number, Box::new(answer)))? + "\n");
    }
    Ok((asked, answered))
}

fn opening() -> Opening {
    let place = |path: &str, held: Option<&str>| Place {
        path: path.into(),
        direct: true,
        held: held.map(PathBuf::from),
        is: held.is_none().then_some((1792, 0)),
        proof: None,
    };
    Opening {
        ground: Ground::Files(vec![
            place("/dev/loop0", None),
            place("/lab/redo", Some("/proc/1/fd/9")),
        ]),
        data: vec![0],
        redo: 1,
        first: 1,
        workers: 1,
        settings: Settings {
            cache_bytes: 1 << 24,
            multiblock_read: 16,
            torn_pages: TornPages::Log,
            checkpoint_ns: 1_000_000_000,
            writers: 8,
            redo_bytes: 1 << 24,
            workers: 2,
        },
        memory: 1 << 24,
        depth: 64,
        ring: true,
        seed: 7,
        inject: Planted::of(&plan::Inject::default()),
        hears: None,
    }
}

fn paced() -> Paced {
    Paced {
        work: Work::Random(RandomWork {
            update_pct: 50,
            scan_pct: 0,
            scan_table_bytes: 0,
            sessions: 8,
            work_unit: 64,
            work_loop: 0,
            heavy: false,
            outstanding: 1,
            hotspot: None,
            hot_schema_frequency: 0,
        }),
        pacing: Pacing {
            sessions: 8,
            arrival: Arrival::Closed {
                think: Some(Think {
                    frequency: 5,
                    min_ns: 1,
                    max_ns: 1_000_000,
                }),
            },
            stop: Stop {
                time_ns: Some(5_000_000_000),
                operations_per_session: None,
            },
            slice_ns: 50_000_000,
            cancel: None,
        },
        seed: 7,
        at: Some(1_000_000_000),
    }
}

fn driven() -> anyhow::Result<Driven> {
    let mut service = hdrhistogram::Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3)?;
    for latency_ns in [90_000, 100_000, 4_000_000] {
        service.record(latency_ns)?;
    }
    Ok(Driven {
        outcome: Outcome {
            began: 1_000_000_000,
            ended: 6_000_000_000,
            elapsed_ns: 5_000_000_000,
            classes: vec![ClassOutcome {
                name: "select".into(),
                count: 3,
                units: 3,
                response: service.clone(),
                service,
                clamped: 0,
            }],
            slices: vec![Slice {
                at_ns: 0,
                count: 3,
                units: 3,
            }],
            in_time_count: 3,
            in_time_units: 3,
            unsent: 0,
            fairness: (1, 2),
            sessions: 2,
            cancelled: false,
            busy_share: Some(0.5),
        },
        user_scans: vec![UserScan {
            schema: 1,
            bytes: 1 << 20,
            began: 1_000_000_000,
            ended: 2_000_000_000,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoken_is_heard_and_nothing_else() {
        let (orders, answers) = spoken().unwrap();
        for (lines, is_order) in [(&orders, true), (&answers, false)] {
            assert!(lines.len() >= 3);
            for line in lines {
                assert!(heard(line.as_bytes(), is_order), "{line}");
                assert!(!heard(line.as_bytes(), !is_order), "{line}");
                assert!(!heard(line.trim().as_bytes(), is_order), "without an end: {line}");
            }
        }
        let impossible = answers[2].replace("\"ended\":6000000000", "\"ended\":5");
        assert!(
            impossible != answers[2] && !heard(impossible.as_bytes(), false),
            "{impossible}"
        );
    }

    fn answered(change: impl FnOnce(&mut Outcome)) -> String {
        let mut driven = driven().unwrap();
        change(&mut driven.outcome);
        let worked = Answer::Worked(Box::new(Worked::of(&driven).unwrap()));
        serde_json::to_string(&AnswerLine::Answered(2, Box::new(worked))).unwrap() + "\n"
    }

    fn is_heard(change: impl FnOnce(&mut Outcome)) -> bool {
        heard(answered(change).as_bytes(), false)
    }

    fn add_classes(outcome: &mut Outcome, names: impl Iterator<Item = String>) {
        let class = outcome.classes[0].clone();
        outcome
            .classes
            .extend(names.map(|name| ClassOutcome { name, ..class.clone() }));
    }

    #[test]
    fn classes_that_cannot_be_added_up_are_refused() {
        assert!(is_heard(|outcome| add_classes(
            outcome,
            ["update".to_string()].into_iter()
        )));
        assert!(!is_heard(|outcome| add_classes(
            outcome,
            ["select".to_string()].into_iter()
        )));
        assert!(!is_heard(|outcome| add_classes(
            outcome,
            (0..16).map(|nth| nth.to_string())
        )));
        assert!(!is_heard(|outcome| outcome.classes[0].name = "n".repeat(1000)));
        assert!(!is_heard(|outcome| outcome.classes[0].count = 4));
        // Of another range: what lies beyond it cannot be added.
        assert!(!is_heard(|outcome| {
            let mut narrow = hdrhistogram::Histogram::new_with_bounds(1, 1000, 3).unwrap();
            narrow.record_n(900, 3).unwrap();
            outcome.classes[0].service = narrow;
        }));
    }

    #[test]
    fn counts_whose_sums_are_no_number_are_refused() {
        assert!(is_heard(|outcome| outcome.sessions = 65_535));
        assert!(!is_heard(|outcome| outcome.sessions = u32::MAX));
        assert!(!is_heard(|outcome| outcome.fairness = (0, u64::MAX)));
        assert!(!is_heard(|outcome| outcome.elapsed_ns += 1));
        assert!(!is_heard(
            |outcome| outcome.slices = vec![outcome.slices[0]; (1 << 20) + 1]
        ));
        let settled = |commits: u64| {
            let (_, answers) = spoken().unwrap();
            answers[3].replace("\"commits\":0", &format!("\"commits\":{commits}"))
        };
        assert!(heard(settled(5).as_bytes(), false));
        assert!(!heard(settled(u64::MAX).as_bytes(), false));
    }
}
