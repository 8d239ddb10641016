//! One other instance of a trial: its process, the orders that it is given, what it says.
//!
//! Takes orders, gives answers, each to its order. Prevents: a run that waits for ever for a process which was stopped,
//! an answer to an older order taken for that of the newest, and a process that outlives its trial.

use crate::instances::end::{self, GRACE, KILLED, LOOK};
use crate::instances::error::InstanceError;
use crate::instances::lines::{self, LineError};
use crate::instances::notices::{Carrier, Ends, Places};
use crate::instances::ranks::{Clocks, Ranks};
use crate::instances::remote::{Remote, Streams};
use crate::instances::settled::Settled;
use crate::instances::wire::{Answer, AnswerLine, Order, OrderLine};
use crate::not_kept::NotKept;
use crate::signals;
use anyhow::{Context, anyhow, bail};
use hosts::Offset;
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A process that says nothing for so long is lost: it gives a sign of life each second.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks no more than this counts as silence: where this process stood still itself, it heard nobody.
const STRIDE: Duration = Duration::from_millis(500);
/// Last words are kept to so many bytes.
const WORDS_MAX: usize = 4096;
/// Answers that nobody has taken yet: one to each order, and one is under way. Whoever sends more is not read, and
/// falls silent.
const UNREAD_ANSWERS: usize = 2;

/// An answer with the number of its order, or why a line is none.
type Said = Result<(u64, Answer), LineError>;

/// One, in a process of its own.
pub(super) struct Member {
    number: u32,
    process: Process,
    orders: Option<Box<dyn Write + Send>>,
    /// Orders that it was given: the number of the last.
    given: u64,
    /// It has answered the last: it has no work, and nothing in flight.
    rests: bool,
    /// What tells it what the owner of its disk group moves.
    carrier: Option<Carrier>,
    answers: Receiver<Said>,
    /// Of these, what was taken when its process was ended.
    unread: Vec<Said>,
    heard: Arc<Heard>,
    patience: Duration,
    /// They end with its process.
    listening: Vec<JoinHandle<()>>,
    /// What it had counted and taken when it last settled.
    pub(super) settled: Settled,
}

/// Where its process is.
enum Process {
    Here(Child),
    There(Remote),
}

/// What is said to a process and by it.
struct Voices {
    orders: Option<Box<dyn Write + Send>>,
    answers: Box<dyn Read + Send>,
    words: Box<dyn Read + Send>,
}

/// What those who listen to it know.
#[derive(Default)]
struct Heard {
    /// Lines that it has sent.
    lines: AtomicU64,
    /// It has said that it failed, or its answers have ended.
    gone: AtomicBool,
    /// It was silent for too long.
    silent: AtomicBool,
    /// What it wrote to standard error.
    words: Mutex<Vec<u8>>,
}

/// For how long a member was not heard.
pub(super) struct Silence {
    of: Arc<Heard>,
    patience: Duration,
    lines: u64,
    lasts: Duration,
    looked: Instant,
}

impl Silence {
    /// Whether it is lost: gone, or silent for too long.
    pub(super) fn is_lost(&mut self) -> bool {
        let (now, lines) = (Instant::now(), self.of.lines.load(Ordering::Relaxed));
        let passed = now.saturating_duration_since(self.looked).min(STRIDE);
        self.lasts = match lines == self.lines {
            true => self.lasts + passed,
            false => Duration::ZERO,
        };
        (self.looked, self.lines) = (now, lines);
        if self.lasts >= self.patience {
            self.of.silent.store(true, Ordering::Relaxed);
        }
        self.of.is_lost()
    }
}

impl Heard {
    fn is_lost(&self) -> bool {
        signals::is_set(&self.gone) || signals::is_set(&self.silent)
    }

    /// Takes its lines until they end.
    fn answers(&self, from: impl Read, to: &SyncSender<Said>) {
        let mut from = BufReader::new(from);
        loop {
            let said = match lines::answer(&mut from) {
                Ok(None) => break,
                Ok(Some(line)) => {
                    self.lines.fetch_add(1, Ordering::Relaxed);
                    match line {
                        AnswerLine::Alive => continue,
                        AnswerLine::Answered(number, answer) => Ok((number, *answer)),
                    }
                }
                Err(what) => Err(what),
            };
            let is_last = matches!(&said, Err(_) | Ok((_, Answer::Failed { .. })));
            if to.send(said).is_err() || is_last {
                break;
            }
        }
        // Not before its last word is in the channel: who sees this looks there.
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Keeps the end of what it writes to standard error.
    fn words(&self, mut from: impl Read) {
        let mut some = [0; 512];
        while let Ok(read) = from.read(&mut some)
            && read > 0
        {
            let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
            words.extend_from_slice(&some[..read]);
            let more = words.len().saturating_sub(WORDS_MAX);
            words.drain(..more);
        }
    }

    fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&words).trim() {
            "" => "it said nothing".to_string(),
            words => format!("its last words: {words}"),
        }
    }
}

impl Member {
    /// Starts the process of the instance of this number on this host. `lock`: of the run's journal; who cleans up
    /// after the run waits for the process too.
    pub(super) fn start(number: u32, lock: &File) -> anyhow::Result<Member> {
        let mut command = sandbox::ourselves();
        command.arg("instance");
        Member::of(number, command, lock, PATIENCE)
    }

    /// Starts it on its own host. `ends`: of the pipes to the owner of its disk group; gives where it finds them.
    pub(super) fn start_there(
        number: u32,
        ranks: &Ranks,
        ends: Option<Ends>,
    ) -> anyhow::Result<(Member, Option<Places>)> {
        let (remote, streams) = Remote::begin(ranks, number, ends)?;
        let Streams {
            orders,
            answers,
            words,
            hears,
        } = streams;
        let voices = Voices {
            orders: Some(Box::new(orders)),
            answers: Box::new(answers),
            words: Box::new(words),
        };
        let member = Member::heard(number, Process::There(remote), voices, PATIENCE);
        Ok((member, hears))
    }

    fn of(number: u32, mut command: Command, lock: &File, patience: Duration) -> anyhow::Result<Member> {
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child =
            sandbox::start_holding(command, lock).with_context(|| format!("start the process of instance {number}"))?;
        let (Some(orders), Some(answers), Some(words)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            bail!("the process of instance {number} has no pipes");
        };
        let voices = Voices {
            orders: Some(Box::new(orders)),
            answers: Box::new(answers),
            words: Box::new(words),
        };
        Ok(Member::heard(number, Process::Here(child), voices, patience))
    }

    fn heard(number: u32, process: Process, voices: Voices, patience: Duration) -> Member {
        let Voices { orders, answers, words } = voices;
        let (heard, (to, said)) = (Arc::new(Heard::default()), sync_channel(UNREAD_ANSWERS));
        let of_answers = {
            let heard = heard.clone();
            std::thread::spawn(move || heard.answers(answers, &to))
        };
        let of_words = {
            let heard = heard.clone();
            std::thread::spawn(move || heard.words(words))
        };
        Member {
            number,
            process,
            orders,
            given: 0,
            rests: false,
            carrier: None,
            answers: said,
            unread: Vec::new(),
            heard,
            patience,
            listening: vec![of_answers, of_words],
            settled: Settled::default(),
        }
    }

    /// It hears what this one carries.
    pub(super) fn hears_of(&mut self, carrier: Option<Carrier>) {
        self.carrier = carrier;
    }

    /// It has opened all that it was told: nobody needs to hold its ends of the pipes.
    pub(super) fn has_opened(&self) {
        if let Process::There(remote) = &self.process {
            remote.has_opened();
        }
    }

    /// The clock of its host; `None`: it is that of the run.
    pub(super) fn offset(&self, clocks: Option<&Clocks>) -> anyhow::Result<Option<Offset>> {
        match (&self.process, clocks) {
            (Process::Here(_), _) => Ok(None),
            (Process::There(_), Some(clocks)) => clocks.of(self.number).map(Some),
            (Process::There(_), None) => bail!("nobody has read the clock of instance {}", self.number),
        }
    }

    /// Begins to listen for how long it is silent.
    pub(super) fn silence(&self) -> Silence {
        Silence {
            of: self.heard.clone(),
            patience: self.patience,
            lines: self.heard.lines.load(Ordering::Relaxed),
            lasts: Duration::ZERO,
            looked: Instant::now(),
        }
    }

    pub(super) fn tell(&mut self, order: Order) -> anyhow::Result<()> {
        self.given += 1;
        self.rests = false;
        self.send(order)
    }

    /// A phase begins.
    pub(super) fn begin_phase(&mut self) -> anyhow::Result<()> {
        self.send(Order::Begin)
    }

    /// Ends the work that it was told last; the answer to that comes all the same.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        self.send(Order::Stop)
    }

    fn send(&mut self, order: Order) -> anyhow::Result<()> {
        let line = OrderLine {
            number: self.given,
            order,
        };
        let line = serde_json::to_string(&line).context("write an order")?;
        let to = self.orders.as_mut().context("an instance that takes orders")?;
        if writeln!(to, "{line}").and_then(|()| to.flush()).is_err() {
            return Err(self.lost());
        }
        Ok(())
    }

    /// Brings what the owner of its disk group tells, and its answers, a part of their way.
    pub(super) fn carry(&mut self) -> anyhow::Result<()> {
        let Some(carrier) = &mut self.carrier else {
            return Ok(());
        };
        let hears = carrier.carry();
        // Whoever waits for it finds out how it ended.
        if !hears.with_context(|| format!("instance {}", self.number))? {
            self.heard.gone.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether it has followed all that it was told of its disk group.
    pub(super) fn knows_all(&self) -> bool {
        self.carrier.as_ref().is_none_or(Carrier::knows_all)
    }

    /// Its answer to the last order.
    pub(super) fn answer(&mut self, cancel: &AtomicBool) -> anyhow::Result<Answer> {
        let mut silence = self.silence();
        loop {
            signals::check(cancel)?;
            match self.answers.recv_timeout(LOOK) {
                Ok(said) => {
                    let answer = self.taken(said)?;
                    self.rests = true;
                    return Ok(answer);
                }
                Err(RecvTimeoutError::Timeout) if !silence.is_lost() => {}
                Err(_) => return Err(self.lost()),
            }
        }
    }

    /// Takes what it has counted by now.
    pub(super) fn settles(&mut self, settled: Settled) -> anyhow::Result<()> {
        let settled = settled.after(&self.settled);
        self.settled = settled.map_err(|what| self.impossible(&what))?;
        Ok(())
    }

    fn taken(&self, said: Said) -> anyhow::Result<Answer> {
        let (number, asked) = (self.number, self.given);
        let (answered, answer) = said.map_err(|what| InstanceError::Garbled { number, what })?;
        if answered != asked {
            return Err(InstanceError::WrongOrder {
                number,
                asked,
                answered,
            }
            .into());
        }
        match answer {
            Answer::Failed { error, full, loss } => Err(self.failed(error, full, loss)),
            answer => Ok(answer),
        }
    }

    /// What it said of its end, as grave as it was there.
    fn failed(&self, error: String, full: bool, loss: bool) -> anyhow::Error {
        let cause = match (loss, full) {
            (true, _) => NotKept(error).into(),
            (_, true) => anyhow::Error::from(Errno::NOSPC).context(error),
            _ => anyhow!("{error}"),
        };
        cause.context(format!("instance {}", self.number))
    }

    pub(super) fn is_lost(&self) -> bool {
        self.heard.is_lost()
    }

    /// Why it has no part in the trial any more; its process is ended.
    pub(super) fn lost(&mut self) -> anyhow::Error {
        let silent = signals::is_set(&self.heard.silent);
        let ended = self.end(if silent { Duration::ZERO } else { GRACE });
        let (number, words) = (self.number, self.heard.last_words());
        if silent {
            let seconds = self.patience.as_secs();
            return InstanceError::Silent { number, seconds, words }.into();
        }
        // What it said of its end says more than how it ended.
        let unread = std::mem::take(&mut self.unread);
        for said in unread.into_iter().chain(self.answers.try_iter()) {
            if let Err(error) = self.taken(said) {
                return error;
            }
        }
        let ended = ended.unwrap_or_else(|| "it does not end".to_string());
        InstanceError::Lost { number, ended, words }.into()
    }

    /// Why its figures are not taken.
    pub(super) fn impossible(&self, what: &anyhow::Error) -> anyhow::Error {
        let (number, what) = (self.number, format!("{what:#}"));
        InstanceError::Impossible { number, what }.into()
    }

    pub(super) fn unexpected(&self) -> anyhow::Error {
        InstanceError::Unexpected { number: self.number }.into()
    }

    /// It gets no more orders, and ends by itself.
    pub(super) fn let_go(&mut self) {
        self.orders = None;
    }

    /// Ends it, by itself where it does so within `grace`; how it ended. `None`: not even when it was killed, as long
    /// as a device keeps it.
    fn end(&mut self, grace: Duration) -> Option<String> {
        self.let_go();
        let ended = match &mut self.process {
            Process::Here(child) => end::end(child, grace, KILLED)?.to_string(),
            // Its host ends it as it would be ended here.
            Process::There(remote) => remote.ended(GRACE + KILLED)?.to_string(),
        };
        for listening in self.listening.drain(..) {
            // One that has more to hand over than there is room for waits for a taker, and nobody else takes it now.
            while !listening.is_finished() {
                match self.answers.recv_timeout(LOOK) {
                    Ok(said) if self.unread.len() < UNREAD_ANSWERS => self.unread.push(said),
                    Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            let _ = listening.join();
        }
        // Who was ended in the middle of its work may have requests in the kernel that outlive it.
        if self.rests
            && let Some(carrier) = self.carrier.take()
        {
            carrier.ended();
        }
        Some(ended)
    }
}

impl Drop for Member {
    /// What it has written and not brought home belongs to a trial that is over.
    fn drop(&mut self) {
        self.end(GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// A shell that plays an instance, told one order.
    fn member(script: &str, patience: Duration) -> Member {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let lock = tempfile::tempfile().unwrap();
        let mut member = Member::of(2, command, &lock, patience).unwrap();
        member.tell(Order::Settle).unwrap();
        member
    }

    fn answer(member: &mut Member) -> anyhow::Result<Answer> {
        member.answer(&AtomicBool::new(false))
    }

    fn error(script: &str, patience: Duration) -> String {
        let error = answer(&mut member(script, patience)).err().expect("an error");
        format!("{error:#}")
    }

    impl Member {
        fn pid(&self) -> u32 {
            match &self.process {
                Process::Here(child) => child.id(),
                Process::There(_) => 0,
            }
        }
    }

    #[test]
    fn who_is_silent_for_too_long_is_ended_and_who_gives_signs_of_life_is_waited_for() {
        let error = error("read order; echo why >&2; kill -STOP $$", Duration::from_millis(300));
        assert!(error.contains("no sign of life"), "{error}");
        assert!(error.ends_with("go on with the same command and `--resume`"), "{error}");
        let script = "read order; for n in 1 2 3 4 5; do echo '\"Alive\"'; sleep 0.1; done; \
                      echo '{\"Answered\":[1,\"Opened\"]}'; read order";
        let mut slow = member(script, LONG);
        assert!(matches!(answer(&mut slow), Ok(Answer::Opened)));
        assert!(!slow.is_lost());
    }

    #[test]
    fn time_in_which_nobody_looked_is_no_silence() {
        let mut silence = Silence {
            of: Arc::default(),
            patience: 3 * STRIDE,
            lines: 0,
            lasts: Duration::ZERO,
            looked: Instant::now(),
        };
        let long_ago = |silence: &mut Silence| silence.looked = Instant::now().checked_sub(LONG).unwrap();
        for _ in 0..2 {
            long_ago(&mut silence);
            assert!(!silence.is_lost());
        }
        silence.of.lines.fetch_add(1, Ordering::Relaxed);
        for _ in 0..3 {
            long_ago(&mut silence);
            assert!(!silence.is_lost());
        }
        long_ago(&mut silence);
        assert!(silence.is_lost());
    }

    #[test]
    fn each_way_to_fail_has_its_own_words() {
        let garbled = error("read order; echo nonsense; read order", LONG);
        assert!(garbled.contains("sent a line that is no answer"), "{garbled}");
        let wrong = error("read order; echo '{\"Answered\":[7,\"Opened\"]}'; read order", LONG);
        assert!(wrong.contains("answered order 7, and order 1 was given"), "{wrong}");
        let lost = error("read order; echo why >&2; exit 9", LONG);
        assert!(lost.contains("was lost: exit status: 9; its last words: why"), "{lost}");
        let script = "read order; \
                      echo '{\"Answered\":[1,{\"Failed\":{\"error\":\"no page\",\"full\":false,\"loss\":true}}]}'";
        let failed = answer(&mut member(script, LONG)).err().expect("an error");
        assert!(crate::not_kept::is_loss(&failed), "{failed:#}");
        assert_eq!(format!("{failed:#}"), "instance 2: no page");
    }

    /// A phase may have several works: it begins once, and no answer to that is waited for.
    #[test]
    fn the_begin_of_a_phase_has_no_answer() {
        let script = "read settle; read begin; read work; case \"$begin$work\" in \
                      *1*Begin*2*Settle*) echo '{\"Answered\":[2,\"Opened\"]}';; esac; read order";
        let mut member = member(script, LONG);
        member.begin_phase().unwrap();
        member.tell(Order::Settle).unwrap();
        assert!(matches!(answer(&mut member), Ok(Answer::Opened)));
    }

    #[test]
    fn counts_that_fall_are_not_taken() {
        let mut member = member("read order", LONG);
        let counted = |cpu_ns| Settled {
            cpu_ns,
            ..Settled::default()
        };
        member.settles(counted(9)).unwrap();
        let error = member.settles(counted(8)).unwrap_err().to_string();
        assert!(
            error.starts_with("instance 2 answered with impossible figures"),
            "{error}"
        );
        assert_eq!(member.settled.cpu_ns, 9);
    }

    /// It is killed when it does not end with its orders.
    #[test]
    fn a_process_does_not_outlive_its_member() {
        let mut stays = member("echo '{\"Answered\":[1,\"Opened\"]}'; exec sleep 600", LONG);
        assert!(answer(&mut stays).is_ok());
        let place = format!("/proc/{}", stays.pid());
        drop(stays);
        assert!(!std::path::Path::new(&place).exists());
    }
}
