//! Files of latencies, and the device that is made of one.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use luns::model::{CustomParameters, named};

const GOOD: &str =
    "# microseconds, count\n[read]\n100, 10\n200, 80\n1000, 9\n20000, 1\n[write]\n50, 5\n60.5, 90\n[flush]\n500, 1\n";

const WORDS: &[&str] = &[
    "[read]", "[write]", "[flush]", "[", ",", "#", "1e-300", "1e300", "0", "100",
];

struct Latencies;

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    Ok(Box::new(Latencies))
}

impl Trial for Latencies {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        if dice.once_in(20) {
            return GOOD.as_bytes().to_vec();
        }
        damage::text(GOOD, dice, WORDS).into_bytes()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let text = String::from_utf8_lossy(input);
        let Ok(parameters) = CustomParameters::parse(&text, 4) else {
            return Ok(Verdict::Refused);
        };
        for shape in [&parameters.read, &parameters.write, &parameters.flush] {
            for share in [0.0, 0.5, 0.999_999, 1.0] {
                let takes = shape.quantile_ns(share);
                if !(0.0..=1e15).contains(&takes) {
                    return Err(format!("a latency of {takes} ns"));
                }
            }
        }
        match named("custom", &|_| 4.0, &text, &[1 << 30], 1) {
            Ok(_) => Ok(Verdict::Accepted),
            Err(error) => Err(format!("read once and not again: {error}")),
        }
    }
}
