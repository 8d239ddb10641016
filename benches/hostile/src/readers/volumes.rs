//! What dmsetup, LVM and the kernel's md say of volumes.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use stacks::said;

/// Real words, of each reader some. Those of dmsetup are of LVM 2.03.16 on a kernel 6.1.
const GOOD: [&str; 7] = [
    "0 638976 raid raid1 2 aa 240384/638976 resync 0 0 -\n",
    "0 638976 raid raid1 2 AA 638976/638976 idle 0 0 -\n",
    "0 638976 raid raid1 2 DA 638976/638976 idle 0 0 -\n",
    "0 65536 mirror 2 254:1 254:2 32/64 1 AA 1 core\n65536 8192 linear \n",
    "0 40960 mirror 2 254:1 254:2 40/40 1 AA 1 core\n40960 8192 mirror 2 254:1 254:3 4/8 1 AA 1 core\n",
    "  117440512\n",
    "1024 / 65408\n",
];

const WORDS: &[&str] = &[
    "raid",
    "mirror",
    "linear",
    "AA",
    "D",
    "/",
    "0",
    "1",
    "18446744073709551615",
    "none",
    "idle",
];

struct Said;

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    Ok(Box::new(Said))
}

impl Trial for Said {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let good = *dice.pick(&GOOD);
        if dice.once_in(20) {
            return good.as_bytes().to_vec();
        }
        damage::text(good, dice, WORDS).into_bytes()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let text = String::from_utf8_lossy(input);
        let raid = said::raid_status(&text);
        if let Some(raid) = raid
            && raid.is_in_step()
            && (raid.lost > 0 || raid.in_step.done != raid.in_step.all)
        {
            return Err(format!("in step without a copy: {raid:?}"));
        }
        let mirror = said::mirror_status(&text).map(|mirror| mirror.sectors);
        let completed = said::completed(&text);
        for far in [raid.map(|raid| raid.in_step), mirror, completed].into_iter().flatten() {
            if far.done > far.all || far.of(1 << 40) > 1 << 40 {
                return Err(format!("more than all of it: {far:?}"));
            }
        }
        let any = raid.is_some() || mirror.is_some() || completed.is_some() || said::used_bytes(&text).is_some();
        Ok(if any { Verdict::Accepted } else { Verdict::Refused })
    }
}
