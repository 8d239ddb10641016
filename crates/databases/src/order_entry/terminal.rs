//! One user at one terminal: what he will type next.
//!
//! Takes the seed of the run and the size of the company, gives inputs drawn as the specification says (TPC-C 5.11,
//! clauses 2.4.1 to 2.8.1, and the deck of cards of 5.2.4.2: 45 new orders, 43 payments, 4 of each of the rest,
//! shuffled anew when all are dealt). Prevents: a mix that drifts (it is exact every hundred transactions of a user).

use super::random::{self, Constants, Random, percent, uniform};
use super::scale::{DISTRICTS, Scale};
use rand_core::Rng;

/// Which warehouse a user works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// His own for the whole run, as the specification says: users are spread over warehouses and districts.
    Fixed,
    /// Any, drawn anew for each transaction, as simpler drivers do.
    Any,
}

/// Cards of a deck.
const CARDS: usize = 100;
/// Share of each class in it, by its number.
pub(super) const MIX: [u8; 5] = [45, 43, 4, 4, 4];

/// Mean time to think after a transaction of each class, and time to type one, seconds (clause 5.2.5.7).
const THINK_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
const KEYING_S: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];

/// One user.
#[derive(Clone, Debug)]
pub struct Terminal {
    pub(super) random: Random,
    pub(super) constants: Constants,
    pub(super) scale: Scale,
    home: Home,
    warehouse: u32,
    district: u32,
    deck: [u8; CARDS],
    dealt: u8,
    /// Dealt while the user paused before it.
    next: Option<u8>,
}

impl Terminal {
    /// User `number` of a run, from 0, on a database that was loaded with `load_seed`.
    pub fn new(scale: Scale, home: Home, load_seed: u64, run_seed: u64, number: u32) -> Self {
        let mut deck = [0; CARDS];
        let mut at = 0;
        for (class, count) in MIX.iter().enumerate() {
            deck[at..at + usize::from(*count)].fill(class as u8);
            at += usize::from(*count);
        }
        Terminal {
            random: random::stream(run_seed, u64::from(number)),
            constants: Constants::of(load_seed),
            scale,
            home,
            warehouse: number % scale.warehouses + 1,
            district: number / scale.warehouses % DISTRICTS + 1,
            deck,
            dealt: CARDS as u8,
            next: None,
        }
    }

    /// Class of the next transaction.
    pub(super) fn deal(&mut self) -> u8 {
        if let Some(next) = self.next.take() {
            return next;
        }
        if usize::from(self.dealt) == CARDS {
            self.dealt = 0;
            // Fisher and Yates.
            for at in (1..CARDS).rev() {
                let with = uniform(&mut self.random, 0, at as u32) as usize;
                self.deck.swap(at, with);
            }
        }
        self.dealt += 1;
        self.deck[usize::from(self.dealt) - 1]
    }

    /// How long the user pauses after a transaction of class `ended`, ns: he thinks about what he sees, and types what
    /// comes next. Clause 5.2.5: thinking is exponential, cut at ten times its mean; typing takes a time of its own per
    /// class.
    pub fn pause_ns(&mut self, ended: u8) -> u64 {
        let next = self.deal();
        self.next = Some(next);
        // In (0, 1].
        let draw = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let think_s = (-draw.ln()).min(10.0) * THINK_S[usize::from(ended)];
        ((think_s + KEYING_S[usize::from(next)]) * 1e9) as u64
    }

    /// Warehouse of the next transaction.
    pub(super) fn warehouse(&mut self) -> u32 {
        match self.home {
            Home::Fixed => self.warehouse,
            Home::Any => uniform(&mut self.random, 1, self.scale.warehouses),
        }
    }

    /// District of the next transaction.
    pub(super) fn district(&mut self) -> u32 {
        uniform(&mut self.random, 1, DISTRICTS)
    }

    /// District whose stock the user looks after.
    pub(super) fn own_district(&mut self) -> u32 {
        match self.home {
            Home::Fixed => self.district,
            Home::Any => self.district(),
        }
    }

    /// A warehouse other than `than`; the same where there is no other.
    pub(super) fn other_warehouse(&mut self, than: u32) -> u32 {
        if self.scale.warehouses == 1 {
            return than;
        }
        let other = uniform(&mut self.random, 1, self.scale.warehouses - 1);
        other + u32::from(other >= than)
    }

    /// By last name in 60 of 100 cases, else by number.
    pub(super) fn customer(&mut self) -> Customer {
        if percent(&mut self.random, 60) {
            let number = self.constants.last_at_run(&mut self.random, self.scale.last_names());
            return Customer::Name(number);
        }
        Customer::Number(self.constants.customer(&mut self.random, self.scale.customers))
    }
}

/// How a customer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    /// By the number of his last name.
    Name(u32),
    /// By his own number.
    Number(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_exact_every_hundred() {
        let mut terminal = Terminal::new(Scale::full(3).unwrap(), Home::Fixed, 1, 2, 7);
        for _ in 0..3 {
            let mut seen = [0; 5];
            for _ in 0..CARDS {
                seen[usize::from(terminal.deal())] += 1;
            }
            assert_eq!(seen, MIX);
        }
    }

    #[test]
    fn pauses_have_their_means_and_keep_the_mix() {
        let mut terminal = Terminal::new(Scale::full(1).unwrap(), Home::Fixed, 1, 2, 0);
        let (mut sum_s, mut seen) = (0.0, [0; 5]);
        let mut ended = terminal.deal();
        for _ in 1..20_000 {
            seen[usize::from(ended)] += 1;
            sum_s += terminal.pause_ns(ended) as f64 / 1e9;
            ended = terminal.deal();
        }
        assert!((8_950..9_050).contains(&seen[0]), "{seen:?}");
        // 0.45 (12 + 18) + 0.43 (12 + 3) + 0.04 (12 + 7 + 7) = 20.99 s; the standard error is 0.08 s.
        let mean = sum_s / 20_000.0;
        assert!((mean - 20.99).abs() < 0.4, "{mean}");
    }

    #[test]
    fn users_are_spread_and_other_warehouses_are_others() {
        let scale = Scale::full(3).unwrap();
        let homes: Vec<_> = (0..4)
            .map(|n| Terminal::new(scale, Home::Fixed, 1, 2, n))
            .map(|t| (t.warehouse, t.district))
            .collect();
        assert_eq!(homes, [(1, 1), (2, 1), (3, 1), (1, 2)]);
        let mut terminal = Terminal::new(scale, Home::Any, 1, 2, 0);
        let mut seen = [0; 4];
        for _ in 0..3000 {
            seen[terminal.other_warehouse(2) as usize] += 1;
        }
        assert!(seen[2] == 0 && seen[1] > 1300 && seen[3] > 1300, "{seen:?}");
        let mut alone = Terminal::new(Scale::full(1).unwrap(), Home::Any, 1, 2, 0);
        assert_eq!(alone.other_warehouse(1), 1);
    }
}
