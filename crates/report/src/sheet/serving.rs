//! What is checked of file serving: answers against the model of the files, the generator's part, the end of the ramp.
//!
//! Takes the figures of one stack in one phase, gives what was found. Prevents: a quick answer that is a wrong one, the
//! generator's lateness taken for the server's, and a broken connection that nobody hears of.

use super::at::At;
use super::rule::{Bound, Document, Rule, Take, Taken};
use crate::check::Status;
use crate::format::{bytes, number, percent, whole};
use ledger::Measure;

pub(crate) fn answers(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    // Of every run that came through: what is wrong in a run that does not count is wrong all the same.
    let wrong: f64 = at.all.iter().filter_map(|run| run.get(Measure::FilesWrong)).sum();
    if wrong > 0.0 {
        return Some(Taken::broken(format!("{} answers were wrong", whole(wrong))));
    }
    let checked = bytes(serving.checked_bytes);
    // An application would have seen the error: it is shown, and no data are lost.
    if serving.listed_again > 0.0 {
        let refused = whole(serving.listed_again);
        let figure = format!("all right, but for listings refused at first: {refused}; {checked} of data checked");
        return Some(Taken::judged(Status::Note, figure));
    }
    Some(Taken::holds(true, format!("all right; {checked} of data checked")))
}

/// What the generator's lateness costs of the rate at the limit. Without a server the threads that are late wait for a
/// processor on which other calls of the file system are at work: that is response.
pub(crate) fn late(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    serving.connections?;
    if serving.runs_late_alone > 0 {
        let runs = match serving.runs_late_alone {
            1 => "1 run".to_string(),
            many => format!("{many} runs"),
        };
        return Some(Taken::broken(format!("{runs} passed the limit by lateness alone")));
    }
    let cost = serving.late_cost_share?.median;
    let figure = format!("without it the rate at the limit would be {} higher", percent(cost));
    Some(Taken::share(cost, figure))
}

/// The same work with a client that answers itself.
pub(crate) fn ceiling(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let (peak, ceiling) = (serving.peak_per_s?.high, serving.ceiling_per_s?.median);
    let share = peak / ceiling.max(1.0);
    let figure = format!("{} of its ceiling of {} operations/s", percent(share), number(ceiling));
    Some(Taken::share(share, figure))
}

pub(crate) fn ended(at: &At<'_>) -> Option<Taken> {
    let serving = at.cell.serving.as_ref()?;
    let (least, below) = (serving.blocks_at_least, serving.blocks_below);
    let of = at.cell.blocks;
    let figure = match (least, below) {
        (0, 0) => "the limit lies between two points in every block".to_string(),
        (0, _) => format!("{below} of {of} blocks began outside the limit"),
        (_, 0) => format!("{least} of {of} blocks ended inside the limit"),
        _ => format!("{least} of {of} blocks ended inside the limit, {below} began outside it"),
    };
    Some(Taken::holds(least + below == 0, figure))
}

pub(crate) const CONNECTIONS: Rule = Rule {
    subject: "connections",
    bound: Bound::Words("none breaks in the middle of the work"),
    beyond: Status::Note,
    advice: "read the log of the server: the time until a connection stood again is part of response",
    take: Take::Cell(connections),
    document: Some(Document {
        figure: "connections to a file server that ended in the middle of a point and were made again, and calls that \
             were sent again for it; no line where none did",
        threshold: "0",
        beyond: "",
        why: "a call that is sent again may be carried out twice, and response has the time of a new connection in it",
    }),
    traps: &["a server that breaks connections"],
};

fn connections(at: &At<'_>) -> Option<Taken> {
    let broken = counted(at, Measure::FilesReconnects)?;
    let [repeated, traces] = [Measure::FilesRepeated, Measure::FilesTraces].map(|measure| counted(at, measure));
    let figure = format!(
        "{} broke and were made again; {} calls were sent again, {} of them were carried out before",
        whole(broken),
        whole(repeated.unwrap_or(0.0)),
        whole(traces.unwrap_or(0.0))
    );
    Some(Taken::broken(figure))
}

pub(crate) const SUBSTITUTED: Rule = Rule {
    subject: "operations as asked",
    bound: Bound::Words("each finds a file or name for its purpose"),
    beyond: Status::Note,
    advice: "the work is another one by so much: give the tree more files (`data_per_load`), or fewer `sessions`",
    take: Take::Cell(substituted),
    document: Some(Document {
        figure: "operations of file serving for which no file or name was free: each asks for attributes of a \
             directory instead; no line where all found theirs",
        threshold: "0",
        beyond: "",
        why: "it is a cheaper call, so the rate is of lighter work than was asked for",
    }),
    traps: &["work that runs out of names"],
};

fn substituted(at: &At<'_>) -> Option<Taken> {
    let other = counted(at, Measure::FilesSubstituted)?;
    let calls = whole(counted(at, Measure::FilesCalls).unwrap_or(0.0));
    Some(Taken::broken(format!(
        "{} of {calls} calls asked for attributes, because no file was free for what was drawn",
        whole(other)
    )))
}

/// A count of all runs whose figures count; `None` where it is 0, or an older version did not count.
fn counted(at: &At<'_>, measure: Measure) -> Option<f64> {
    let sum: f64 = at.runs.iter().filter_map(|run| run.get(measure)).sum();
    (sum > 0.0).then_some(sum)
}
