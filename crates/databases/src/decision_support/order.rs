//! Who asks what, in which order.
//!
//! Takes seeds; gives lists of questions. Prevents: a stack that is asked in a luckier order than another (orders come
//! from the block's seed, which its stacks share), and answers that nobody can hold against each other (parameters come
//! from the study's seed, in few variants that streams share).

use super::parameters::Parameters;
use super::question::Question;
use super::scale::Scale;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sets of parameters of each question; streams and users have them in turn, so that answers of two can be compared.
pub const VARIANTS: u32 = 4;

/// A question with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which.
    pub question: Question,
    /// Which set of parameters, from 0.
    pub variant: u32,
    /// They themselves.
    pub parameters: Parameters,
}

fn ask(question: Question, scale: Scale, seed: u64, variant: u32) -> Ask {
    Ask {
        question,
        variant,
        parameters: Parameters::draw(question, scale, seed, variant),
    }
}

/// The questions `asked`, for stream `stream` (0: the one of a power run), in an order of its own. `study_seed` draws
/// the parameters, `block_seed` the order.
pub fn of_stream(asked: &[Question], scale: Scale, study_seed: u64, block_seed: u64, stream: u32) -> Vec<Ask> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(block_seed ^ (u64::from(stream) << 32) ^ 0x5175_6573);
    let mut all = asked.to_vec();
    for left in (1..all.len()).rev() {
        all.swap(left, (chance.next_u64() % (left as u64 + 1)) as usize);
    }
    let variant = stream % VARIANTS;
    all.into_iter()
        .map(|question| ask(question, scale, study_seed, variant))
        .collect()
}

/// So many questions of `asked` in all, for `users` at the same time: they take them in turn, from a place that the
/// block's seed chooses. Each user has as many as every other, or one more.
pub fn of_users(
    asked: &[Question],
    scale: Scale,
    study_seed: u64,
    block_seed: u64,
    (users, count): (u32, u32),
) -> Vec<Vec<Ask>> {
    let many = asked.len().max(1) as u64;
    let first = block_seed % many;
    let share = |user: u32| u64::from(user) * u64::from(count) / u64::from(users);
    let of_user = |user: u32| {
        (share(user)..share(user + 1))
            .filter_map(|nth| asked.get(((first + nth) % many) as usize))
            .map(|question| ask(*question, scale, study_seed, user % VARIANTS))
            .collect()
    };
    (0..users).map(of_user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_stream_asks_everything_once_in_an_order_of_its_own() {
        let scale = Scale::new(0.1).unwrap();
        let numbers = |asks: &[Ask]| asks.iter().map(|ask| ask.question.number()).collect::<Vec<_>>();
        let streams: Vec<Vec<Ask>> = (0..4)
            .map(|stream| of_stream(&Question::all(), scale, 1, 2, stream))
            .collect();
        let orders: BTreeSet<Vec<u8>> = streams.iter().map(|asks| numbers(asks)).collect();
        assert_eq!(orders.len(), 4, "four orders");
        for asks in &streams {
            let all: BTreeSet<u8> = numbers(asks).into_iter().collect();
            assert_eq!((asks.len(), all.len()), (22, 22));
        }
        assert_eq!(streams[1], of_stream(&Question::all(), scale, 1, 2, 1));
        // Another block has another order and the same parameters.
        let other = of_stream(&Question::all(), scale, 1, 3, 1);
        assert_ne!(numbers(&other), numbers(&streams[1]));
        for ask in &other {
            assert!(streams[1].contains(ask));
        }
    }

    #[test]
    fn users_share_all_questions_out() {
        let scale = Scale::new(0.1).unwrap();
        let asked: Vec<u8> = of_users(&Question::all(), scale, 1, 9, (11, 22))
            .iter()
            .flatten()
            .map(|ask| ask.question.number())
            .collect();
        let all: BTreeSet<u8> = asked.iter().copied().collect();
        assert_eq!((asked.len(), all.len()), (22, 22));
    }

    #[test]
    fn users_have_as_many_questions_as_each_other_or_one_more() {
        let scale = Scale::new(0.1).unwrap();
        let lists = of_users(&Question::all(), scale, 1, 9, (10, 22));
        let counts: Vec<usize> = lists.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 2, 2, 2, 3, 2, 2, 2, 2, 3]);
        let all: BTreeSet<u8> = lists.iter().flatten().map(|ask| ask.question.number()).collect();
        assert_eq!(all.len(), 22, "each is asked once");
    }

    #[test]
    fn only_chosen_questions_are_asked_with_the_parameters_that_they_always_have() {
        let scale = Scale::new(0.1).unwrap();
        let chosen: Vec<Question> = [3, 13, 18].into_iter().filter_map(Question::new).collect();
        let all = of_stream(&Question::all(), scale, 1, 2, 1);
        let few = of_stream(&chosen, scale, 1, 2, 1);
        assert_eq!(few.len(), 3);
        assert!(
            few.iter()
                .all(|ask| all.contains(ask) && chosen.contains(&ask.question))
        );
        // Three users with two questions each: all chosen ones, twice.
        let mut asked: Vec<u8> = of_users(&chosen, scale, 1, 9, (3, 6))
            .iter()
            .flatten()
            .map(|ask| ask.question.number())
            .collect();
        asked.sort_unstable();
        assert_eq!(asked, [3, 3, 13, 13, 18, 18]);
    }
}
