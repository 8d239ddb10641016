//! Devices that carry signatures, whole and in part, of any length.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;

/// Places and marks, some of each sort.
const MARKS: [(usize, &[u8]); 12] = [
    (0, b"XFSB"),
    (0x438, b"\x53\xef"),
    (0x1_0040, b"_BHRfS_M"),
    (510, b"\x55\xaa"),
    (512, b"EFI PART"),
    (0x52, b"FAT32   "),
    (3, b"NTFS    "),
    (0, b"ADGB"),
    (0, b"ASSAY LUN 1\n"),
    (128 << 10, b"\x0c\xb1\xba\0\0\0\0\0"),
    (0x1be, b"\x80\0\0\0\x83\0\0\0\x01\0\0\0\x01\0\0\0"),
    (0xff6, b"SWAPSPACE2"),
];

struct Devices;

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    Ok(Box::new(Devices))
}

impl Trial for Devices {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let size = match dice.below(4) {
            0 => dice.below(2048),
            1 => dice.below(70_000),
            _ => 256 * 1024 + dice.below(1 << 20),
        };
        let mut bytes = vec![0; size];
        for _ in 0..dice.below(4) {
            let (at, mark) = *dice.pick(&MARKS);
            let at = if dice.once_in(6) { dice.below(size) } else { at };
            if let Some(place) = bytes.get_mut(at..at + mark.len()) {
                place.copy_from_slice(mark);
            }
        }
        if dice.once_in(4) && size > 512 {
            for _ in 0..dice.few() {
                damage::number(&mut bytes[..512], dice, 0);
            }
        }
        bytes
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let mut device = File::from(memfd_create("device", MemfdFlags::CLOEXEC).map_err(|error| error.to_string())?);
        device.write_all(input).map_err(|error| error.to_string())?;
        let found = luns::signatures(&device, input.len() as u64)
            .map_err(|error| format!("a device that can be read cannot be looked at: {error}"))?;
        Ok(if found.is_empty() {
            Verdict::Accepted
        } else {
            Verdict::Refused
        })
    }
}
