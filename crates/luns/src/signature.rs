//! Signatures: how file systems, volume managers and databases mark a device as theirs.
//!
//! Takes an open device, gives what is found on it, Assay's own marker included. It reads the places itself: no tool
//! need be installed, and no version of one can be too old to know a format. Prevents the destruction of somebody's
//! data. A false alarm costs one line in a study, a missed signature costs the data: when in doubt there is a
//! signature.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The first bytes of a device that Assay has used and released. The id of the run follows on the same 4 KiB.
pub const MARKER: &str = "ASSAY LUN 1\n";

/// What was found on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The format by its usual name.
    pub name: String,
    /// Where, in bytes from the start of the device.
    pub offset: u64,
    /// A partition table: never overwritten.
    pub partition_table: bool,
    /// Assay's own.
    pub own: bool,
}

/// Name, offset, bytes expected there.
type Rule = (&'static str, u64, &'static [u8]);

/// Marks at fixed offsets from the start. Offsets and bytes are those of each format's published on-disk layout.
const FROM_START: &[Rule] = &[
    ("XFS", 0, b"XFSB"),
    ("XFS log", 0, b"\xfe\xed\xba\xbe"),
    ("ext2/ext3/ext4", 0x438, b"\x53\xef"),
    ("btrfs", 0x1_0040, b"_BHRfS_M"),
    ("btrfs (second copy)", 0x400_0040, b"_BHRfS_M"),
    (
        "bcache",
        0x1018,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    (
        "bcachefs",
        0x1018,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    ("F2FS", 0x400, b"\x10\x20\xf5\xf2"),
    ("EROFS", 0x400, b"\xe2\xe1\xf5\xe0"),
    ("NILFS2", 0x406, b"\x34\x34"),
    ("HFS+", 0x400, b"H+"),
    ("HFSX", 0x400, b"HX"),
    ("APFS", 32, b"NXSB"),
    ("JFS", 0x8000, b"JFS1"),
    ("ReiserFS", 0x1_0034, b"ReIsErFs"),
    ("ReiserFS", 0x1_0034, b"ReIsEr2Fs"),
    ("ReiserFS", 0x1_0034, b"ReIsEr3Fs"),
    ("Reiser4", 0x1_0000, b"ReIsEr4"),
    ("GFS2", 0x1_0000, b"\x01\x16\x19\x70"),
    ("OCFS2", 0x400, b"OCFSV2"),
    ("OCFS2", 0x800, b"OCFSV2"),
    ("OCFS2", 0x1000, b"OCFSV2"),
    ("OCFS2", 0x2000, b"OCFSV2"),
    ("SquashFS", 0, b"hsqs"),
    ("cramfs", 0, b"\x45\x3d\xcd\x28"),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("FAT", 0x36, b"FAT12   "),
    ("FAT", 0x36, b"FAT16   "),
    ("FAT", 0x36, b"FAT     "),
    ("FAT", 0x52, b"FAT32   "),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("ISO 9660", 0x8001, b"CD001"),
    ("UDF", 0x8001, b"BEA01"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("LUKS2 (second header)", 0x4000, b"SKUL\xba\xbe"),
    ("LVM2 physical volume", 0x000, b"LABELONE"),
    ("LVM2 physical volume", 0x200, b"LABELONE"),
    ("LVM2 physical volume", 0x400, b"LABELONE"),
    ("LVM2 physical volume", 0x600, b"LABELONE"),
    ("LVM1 physical volume", 0, b"HM\x01\x00"),
    ("md RAID member (1.1)", 0, b"\xfc\x4e\x2b\xa9"),
    ("md RAID member (1.2)", 0x1000, b"\xfc\x4e\x2b\xa9"),
    ("Oracle ASM disk", 32, b"ORCLDISK"),
    ("Oracle ASM disk", 0, b"\x01\x82\x01\x01"),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("Stratis", 0x204, b"!Stra0tis\x86\xff\x02^"),
    ("VMFS", 0x10_0000, b"\x0d\xd0\x01\xc0"),
    ("VMFS", 0x20_0000, b"\x5e\xf1\xab\x2f"),
    ("VxVM private region", 0x200, b"PRIV"),
    ("VDO", 0, b"dmvdo001"),
    ("dm-integrity", 0, b"integrt\0"),
    ("dm-verity", 0, b"verity\0\0"),
    ("zonefs", 0, b"SFOZ"),
    ("UFS", 0x255c, b"\x54\x19\x01\x00"),
    ("UFS2", 0x1_055c, b"\x19\x01\x54\x19"),
    ("BSD disk label", 0x200, b"\x57\x45\x56\x82"),
    ("BSD disk label", 0x40, b"\x57\x45\x56\x82"),
    ("Sun disk label", 0x1fc, b"\xda\xbe"),
    ("Minix", 0x410, b"\x7f\x13"),
    ("Minix", 0x410, b"\x8f\x13"),
    ("Minix 2", 0x410, b"\x68\x24"),
    ("Minix 2", 0x410, b"\x78\x24"),
    ("Minix 3", 0x418, b"\x5a\x4d"),
    ("swap", 0xff6, b"SWAPSPACE2"),
    ("swap", 0xff6, b"SWAP-SPACE"),
    ("swap (64 KiB pages)", 0xfff6, b"SWAPSPACE2"),
    ("hibernation image", 0xff6, b"S1SUSPEND"),
    ("DRBD", 0x1c, b"\x83\x74\x02\x67"),
    ("Assay disk group", 0, b"ADGB"),
    ("SGI disk label", 0, b"\x0b\xe5\xa9\x41"),
];

/// Marks at fixed distances from the end.
const FROM_END: &[Rule] = &[
    ("md RAID member (1.0)", 8192, b"\xfc\x4e\x2b\xa9"),
    ("Intel RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
    ("DDF RAID member", 512, b"\xde\x11\xde\x11"),
    ("DDF RAID member", 512, b"\x11\xde\x11\xde"),
    ("DRBD (internal metadata)", 4096 - 0x1c, b"\x83\x74\x02\x67"),
];

/// Partition tables.
const TABLES: &[Rule] = &[
    ("GPT partition table", 512, b"EFI PART"),
    ("GPT partition table", 4096, b"EFI PART"),
];
const TABLES_AT_END: &[Rule] = &[
    ("GPT partition table (backup)", 512, b"EFI PART"),
    ("GPT partition table (backup)", 4096, b"EFI PART"),
];

const MD_MAGIC: [u8; 4] = *b"\xfc\x4e\x2b\xa9";
const KIB: u64 = 1024;

/// Name of what marks a disk as ours.
const OWN: &str = "Assay's own marker";

/// Everything known that marks the device of `size` bytes, in the order of the tables. Reads a few hundred KiB.
pub fn signatures(device: &File, size: u64) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let look = Look { device, size };
    let add = |found: &mut Vec<Signature>, name: &str, offset, partition_table| {
        found.push(Signature {
            name: name.to_owned(),
            offset,
            partition_table,
            own: name == OWN,
        });
    };
    if look.has(0, MARKER.as_bytes())? {
        add(&mut found, OWN, 0, false);
    }
    for (rules, partition_table) in [(FROM_START, false), (TABLES, true)] {
        for (name, offset, bytes) in rules {
            if look.has(*offset, bytes)? {
                add(&mut found, name, *offset, partition_table);
            }
        }
    }
    for (rules, partition_table) in [(FROM_END, false), (TABLES_AT_END, true)] {
        for (name, distance, bytes) in rules {
            if *distance <= size && look.has(size - distance, bytes)? {
                add(&mut found, name, size - distance, partition_table);
            }
        }
    }
    // md 0.90 lies in the last whole 64 KiB before the last 64 KiB boundary, in the byte order of its host.
    let old_md = (size & !(64 * KIB - 1)).saturating_sub(64 * KIB);
    if look.has(old_md, &MD_MAGIC)? || look.has(old_md, b"\xa9\x2b\x4e\xfc")? {
        add(&mut found, "md RAID member (0.90)", old_md, false);
    }
    if let Some(offset) = look.zfs_label()? {
        add(&mut found, "ZFS member", offset, false);
    }
    let known = !found.is_empty();
    match look.boot_sector()? {
        Some(name @ "MBR partition table") => add(&mut found, name, 0x1be, true),
        // The boot sector of a FAT or NTFS volume is named by its own rule.
        Some(name) if !known => add(&mut found, name, 0x1fe, false),
        _ => {}
    }
    Ok(found)
}

/// A device under the eye.
struct Look<'a> {
    device: &'a File,
    size: u64,
}

impl Look<'_> {
    fn has(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        if offset + bytes.len() as u64 > self.size {
            return Ok(false);
        }
        let mut got = [0u8; 32];
        let got = &mut got[..bytes.len()];
        self.device.read_exact_at(got, offset)?;
        Ok(got == bytes)
    }

    /// ZFS keeps four labels of 256 KiB, two at each end; the upper half of each is a ring of uberblocks of 1 KiB or
    /// more, each opened by the magic number in the byte order of its writer.
    fn zfs_label(&self) -> io::Result<Option<u64>> {
        let whole = self.size & !(256 * KIB - 1);
        let labels = [
            0,
            256 * KIB,
            whole.saturating_sub(512 * KIB),
            whole.saturating_sub(256 * KIB),
        ];
        let mut ring = vec![0u8; 128 * KIB as usize];
        for label in labels {
            let at = label + 128 * KIB;
            if at + ring.len() as u64 > self.size {
                continue;
            }
            self.device.read_exact_at(&mut ring, at)?;
            let magics = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];
            if ring
                .chunks_exact(KIB as usize)
                .any(|block| magics.iter().any(|m| block.starts_with(m)))
            {
                return Ok(Some(label));
            }
        }
        Ok(None)
    }

    /// What the mark 55 AA at the end of the first sector stands for, if it is there.
    fn boot_sector(&self) -> io::Result<Option<&'static str>> {
        if !self.has(510, b"\x55\xaa")? {
            return Ok(None);
        }
        let mut entries = [0u8; 64];
        self.device.read_exact_at(&mut entries, 0x1be)?;
        let used = entries
            .as_chunks::<16>()
            .0
            .iter()
            .filter(|e| e[4] != 0)
            .collect::<Vec<_>>();
        // In a table every used entry has a boot flag of 0 or 0x80, a start and a length.
        let sane = |e: &&[u8; 16]| e[0] & 0x7f == 0 && e[8..12] != [0; 4] && e[12..16] != [0; 4];
        let table = !used.is_empty() && used.iter().all(sane);
        Ok(Some(if table { "MBR partition table" } else { "a boot sector" }))
    }
}
