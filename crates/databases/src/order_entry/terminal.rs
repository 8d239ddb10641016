//! One user at one terminal: what he will type next.
//!
//! Takes the seed of the run and the size of the company, gives inputs drawn as the specification says (TPC-C 5.11,
//! clauses 2.4.1 to 2.8.1, and the deck of cards of 5.2.4.2: 45 new orders, 43 payments, 4 of each of the rest,
//! shuffled anew when all are dealt). Prevents: a mix that drifts (it is exact every hundred transactions of a user),
//! and a phase that begins with a transaction of every user at once.

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
        ns(self.think_s(ended) + KEYING_S[usize::from(next)])
    }

    /// How long the user still pauses who is met at a moment chosen at random, ns: before his first transaction. So
    /// transactions begin at the same mean rate from the beginning to the end of a phase.
    ///
    /// He is met in a part of a pause as often as that part is long. What is left of exponential thinking is as long as
    /// the whole; of typing it is a uniform share. What he types then is of a deck before this one.
    pub fn first_pause_ns(&mut self) -> u64 {
        let weigh = |of: [f64; 5]| std::array::from_fn::<f64, 5, _>(|class| f64::from(MIX[class]) * of[class]);
        let (thinks, types) = (weigh(THINK_S), weigh(KEYING_S));
        let mut at = self.share() * thinks.iter().chain(&types).sum::<f64>();
        for (class, weight) in thinks.iter().enumerate() {
            if at <= *weight {
                return self.pause_ns(class as u8);
            }
            at -= weight;
        }
        let mut class = 0;
        while class < 4 && at > types[class] {
            at -= types[class];
            class += 1;
        }
        self.next = Some(class as u8);
        ns(at.min(types[class]) / f64::from(MIX[class]))
    }

    /// Thinks after a transaction of class `ended`.
    fn think_s(&mut self, ended: u8) -> f64 {
        (-self.share().ln()).min(10.0) * THINK_S[usize::from(ended)]
    }

    /// Uniform in (0, 1].
    fn share(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
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

fn ns(s: f64) -> u64 {
    (s * 1e9) as u64
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
    fn new_orders_begin_at_the_mean_rate_from_the_first_second_on() {
        let (users, windows, window_s) = (20_000, 8, 7.5);
        let mut begun = vec![0.0; windows];
        let mut orders = vec![0.0; windows];
        for number in 0..users {
            let mut terminal = Terminal::new(Scale::full(1).unwrap(), Home::Fixed, 1, 2, number);
            let mut at_s = terminal.first_pause_ns() as f64 / 1e9;
            while at_s < window_s * windows as f64 {
                let window = (at_s / window_s) as usize;
                let class = terminal.deal();
                begun[window] += 1.0;
                orders[window] += f64::from(u8::from(class == 0));
                at_s += terminal.pause_ns(class) as f64 / 1e9;
            }
        }
        // A transaction in 20.99 s, a new order in 46.6 s; a window's count has a standard error below 1.8 %.
        for (nth, (all, of_orders)) in begun.iter().zip(&orders).enumerate() {
            let due = f64::from(users) * window_s / 20.99;
            assert!((all / due - 1.0).abs() < 0.05, "window {nth}: {all} of {due:.0}");
            let due = due * 0.45;
            assert!(
                (of_orders / due - 1.0).abs() < 0.07,
                "window {nth}: {of_orders} of {due:.0} new orders"
            );
        }
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
