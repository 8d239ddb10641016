//! Ranks in memory: all that ranks say to each other, without MPI. Nobody but these tests may join ranks without MPI.

use crate::board::Board;
use crate::note::{Note, Piece, weight};
use crate::post::{Command, Parted, Post, unread_max};
use crate::wire::Wire;
use crate::{Cause, HasMpi, Host, HostsError, Joining, Launcher, LauncherKind, Patience, Undone};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Ranks of one process.
#[derive(Debug)]
struct Memory {
    rank: u32,
    to: Vec<Sender<(u32, Vec<u8>)>>,
    from: Receiver<(u32, Vec<u8>)>,
}

/// So many ranks in memory.
fn in_memory(size: u32) -> Vec<Memory> {
    let (to, from): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
    let one = |(rank, from)| Memory {
        rank,
        to: to.clone(),
        from,
    };
    (0..).zip(from).map(one).collect()
}

impl Wire for Memory {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.to.len() as u32
    }

    fn name(&self) -> String {
        "memory".to_string()
    }

    fn take(&self, most: usize) -> Option<(u32, Vec<u8>)> {
        let (rank, mut bytes) = self.from.try_recv().ok()?;
        if bytes.len() > most {
            bytes.clear();
        }
        Some((rank, bytes))
    }

    fn send(&self, to: u32, bytes: &[u8], _: &mut dyn FnMut()) {
        if let Some(to) = self.to.get(to as usize) {
            let _ = to.send((self.rank, bytes.to_vec()));
        }
    }
}

fn launcher(rank: u32, size: u32) -> Launcher {
    Launcher {
        kind: LauncherKind::OpenMpi,
        rank,
        size,
    }
}

/// No silence is noticed: these tests end by themselves.
fn joining(rank: u32, size: u32) -> Joining {
    let long = Duration::from_secs(600);
    Joining {
        launcher: launcher(rank, size),
        has_mpi: HasMpi::in_memory(),
        patience: Patience {
            joining: long,
            silence: long,
            undo: long,
            done: long,
            parting: long,
        },
        asked: None,
        last: Box::new(|_| Undone::All),
    }
}

fn join(wire: Memory) -> Host {
    let (rank, size) = (wire.rank(), wire.size());
    Host::join_by(joining(rank, size), move || Ok(wire)).expect("a host")
}

/// Runs each rank in a thread of its own; gives what they gave, by rank.
fn ranks<T: Send + 'static>(size: u32, each: impl Fn(Host) -> T + Clone + Send + 'static) -> Vec<T> {
    let start = |wire| {
        let each = each.clone();
        thread::spawn(move || each(join(wire)))
    };
    let threads: Vec<_> = in_memory(size).into_iter().map(start).collect();
    threads.into_iter().map(|one| one.join().expect("a rank")).collect()
}

#[test]
fn lines_go_down_and_answers_come_back_as_through_pipes() {
    let sums = ranks(3, |mut host| {
        let links = host.links();
        let mut heard = 0;
        if host.rank() == 0 {
            assert_eq!(host.facts().len(), 3);
            for link in links {
                let (mut to, mut from) = (link.to, BufReader::new(link.from));
                for number in 0..20 {
                    writeln!(to, "{{\"number\":{number}}}")
                        .and_then(|()| to.flush())
                        .unwrap();
                    let mut line = String::new();
                    from.read_line(&mut line).unwrap();
                    assert_eq!(line, format!("answer of {} to {{\"number\":{number}}}\n", link.rank));
                    heard += 1;
                }
                // The end of its orders ends the rank, and that ends its answers.
                drop(to);
                assert_eq!(from.read_to_end(&mut Vec::new()).unwrap(), 0);
            }
        } else {
            assert_eq!(host.facts().len(), 1);
            for link in links {
                let mut to = link.to;
                for line in BufReader::new(link.from).lines() {
                    let answer = format!("answer of {} to {}\n", host.rank(), line.unwrap());
                    to.write_all(answer.as_bytes()).and_then(|()| to.flush()).unwrap();
                    heard += 1;
                }
            }
        }
        host.part();
        heard
    });
    assert_eq!(sums, [40, 20, 20]);
}

#[test]
fn a_message_of_the_greatest_length_comes_whole_and_a_longer_one_is_not_sent() {
    let length = crate::MESSAGE_MAX as usize;
    let sums = ranks(2, move |mut host| {
        let mut link = host.links().remove(0);
        let mut seen = 0;
        if host.rank() == 0 {
            let message = link.from.message().expect("a message");
            assert!(
                (0..)
                    .zip(&message)
                    .all(|(nth, byte): (u32, &u8)| *byte == (nth % 251) as u8)
            );
            seen = message.len();
        } else {
            let message: Vec<u8> = (0..length as u32).map(|nth| (nth % 251) as u8).collect();
            link.to.write_all(&message).unwrap();
            assert!(link.to.write_all(b"x").is_err());
            link.to.flush().unwrap();
        }
        drop(link);
        host.part();
        seen
    });
    assert_eq!(sums, [length, 0]);
}

#[test]
fn clocks_of_one_host_are_one() {
    ranks(3, |host| {
        if host.rank() == 0 {
            let readings = host.read_clocks().unwrap();
            assert_eq!(readings.len(), 2);
            assert!(readings.iter().all(|reading| reading.offset.holds(0)), "{readings:?}");
        }
        host.part();
    });
}

#[test]
fn one_rank_alone_joins_and_parts() {
    ranks(1, |mut host| {
        assert!(host.links().is_empty() && host.read_clocks().unwrap().is_empty());
        assert_eq!((host.rank(), host.size(), host.facts().len()), (0, 1, 1));
        host.part();
    });
}

#[test]
fn the_launcher_of_another_mpi_is_seen() {
    let wire = in_memory(1).remove(0);
    let error = Host::join_by(joining(1, 2), move || Ok(wire)).expect_err("two worlds");
    assert!(
        matches!(error, HostsError::WrongWorld { rank: 0, size: 1, .. }),
        "{error}"
    );
    let words = error.to_string();
    assert!(words.contains("rank 1 of 2") && words.contains("mpirun"), "{words}");
    assert_eq!(error.exit_code(), 3);
}

/// Rank 0's thread with one peer that is silent but for these notes, given these commands; why all end.
fn rank_0(notes: &[Note<'_>], commands: Vec<Command>, unread: u64) -> Option<Cause> {
    let mut wires = in_memory(2).into_iter();
    let (wire, other) = (wires.next().expect("rank 0"), wires.next().expect("rank 1"));
    for note in notes {
        other.send(0, &note.bytes(), &mut || ());
    }
    let (board, (to, from)) = (Arc::new(Board::new(0, 2)), channel());
    let (reader, _messages) = channel();
    let peer = (1, reader, Arc::new(AtomicU64::new(unread)));
    let post = Post::new(wire, (board.clone(), Duration::ZERO), from, [peer]);
    commands.into_iter().for_each(|command| to.send(command).unwrap());
    drop(to);
    assert_eq!(post.run().1, Parted::Left);
    board.ending()
}

/// Its process may hang on a device for ever, and gives signs of life meanwhile.
#[test]
fn rank_0_waits_for_a_rank_that_is_never_done_no_longer_than_it_may() {
    let late = Some(Cause::NotDone { rank: 1, seconds: 0 });
    assert_eq!(rank_0(&[Note::Beat], vec![Command::Part], 0), late);
    assert_eq!(rank_0(&[Note::Beat], Vec::new(), 0), None, "it is not done itself");
}

#[test]
fn messages_that_nobody_reads_have_a_bound_though_they_are_empty() {
    let empty = Note::Piece(Piece {
        number: 0,
        total: 0,
        at: 0,
        bytes: b"",
    });
    let ended = |unread| rank_0(&[empty], Vec::new(), unread);
    assert_eq!(ended(unread_max() - weight(0)), None);
    assert_eq!(ended(unread_max()), Some(Cause::Garbled { rank: 1 }));
}

#[test]
fn what_was_read_weighs_nothing() {
    ranks(2, |mut host| {
        let mut link = host.links().remove(0);
        if host.rank() == 0 {
            for _ in 0..3 {
                assert_eq!(link.from.message().expect("a message"), b"x");
            }
            assert_eq!(link.from.unread.load(Ordering::Relaxed), 0);
        } else {
            for _ in 0..3 {
                link.to.write_all(b"x").and_then(|()| link.to.flush()).unwrap();
            }
        }
        drop(link);
        host.part();
    });
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_with_the_cure() {
    let error = Host::must_have_mpi(launcher(0, 2)).expect_err("no MPI");
    let words = error.to_string();
    assert!(
        words.contains("started 2 ranks") && words.contains("--features mpi"),
        "{words}"
    );
    assert_eq!(error.exit_code(), 3);
}
