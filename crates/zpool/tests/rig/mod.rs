//! What the tests of this room stand on: files as devices, the server process, single requests.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::PathBuf;
use targets::{FileId, IoFault, Op, Port, Request};
use zpool::{FileName, FileSpec, Launch, PoolSpec, Redundancy, Tuning, Zpool, ZpoolPort};

pub(crate) const ARC: u64 = 64 << 20;
const DEVICE: u64 = 256 << 20;

pub(crate) struct Rig {
    _dir: tempfile::TempDir,
    pub(crate) data: Vec<PathBuf>,
    pub(crate) log: PathBuf,
    pub(crate) launch: Launch,
}

/// Said aloud; where `./test` found the library installed, a test without it is a failure.
fn skipped(error: &zpool::ZpoolError) {
    assert!(
        std::env::var_os("ASSAY_TEST_OPENZFS").is_none(),
        "OpenZFS is installed: {error}"
    );
    eprintln!("SKIPPED: {error}");
}

impl Rig {
    /// Devices of 256 MiB; `None`, said aloud, where OpenZFS's library is not installed.
    pub(crate) fn new(devices: usize) -> Option<Rig> {
        let launch = Launch::program(env!("CARGO_BIN_EXE_assay-zpool").as_ref());
        if let Err(error) = zpool::probe(&launch) {
            skipped(&error);
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("assay-zpool-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let data: Vec<PathBuf> = (0..devices).map(|nth| dir.path().join(format!("lun{nth}"))).collect();
        let log = dir.path().join("log");
        for path in data.iter().chain([&log]) {
            std::fs::File::create(path).unwrap().set_len(DEVICE).unwrap();
        }
        Some(Rig {
            _dir: dir,
            data,
            log,
            launch,
        })
    }

    /// All devices, the log's included.
    pub(crate) fn devices(&self) -> Vec<PathBuf> {
        self.data.iter().chain([&self.log]).cloned().collect()
    }

    pub(crate) fn start(&self) -> Zpool {
        Zpool::start(&self.launch, &Tuning::new(ARC)).unwrap()
    }

    pub(crate) fn spec(&self, redundancy: Redundancy) -> PoolSpec {
        PoolSpec {
            name: "assayt".into(),
            data: self.data.clone(),
            log: Vec::new(),
            redundancy,
            ashift: 12,
            overwrite: false,
        }
    }

    pub(crate) fn file(
        &self,
        zpool: &Zpool,
        name: &str,
        bytes: u64,
        record: u32,
        properties: &[(&str, &str)],
    ) -> FileName {
        let name = FileName::new("assayt", name);
        let properties = properties.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        zpool
            .create_file(&FileSpec {
                name: name.clone(),
                bytes,
                record_bytes: record,
                properties,
            })
            .unwrap();
        name
    }
}

/// Content of a block that tells which one it is and which version; cannot be compressed.
pub(crate) fn block(number: u64, version: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(number << 20 | version);
    let mut bytes = vec![0; 8192];
    random.fill_bytes(&mut bytes);
    bytes
}

/// One request on file 0, from or to the start of the port's memory.
pub(crate) fn op(port: &mut ZpoolPort, op: Op, offset: u64, len: usize) -> Result<(), IoFault> {
    port.submit(Request {
        op,
        file: FileId(0),
        offset,
        at: 0,
        len: len as u32,
        token: offset,
    })
    .unwrap();
    let mut done = Vec::new();
    port.wait(1, None, &mut done).unwrap();
    assert_eq!((done.len(), done[0].token), (1, offset));
    done[0].result
}

pub(crate) fn write(port: &mut ZpoolPort, offset: u64, bytes: &[u8]) {
    port.bytes_mut(0, bytes.len()).copy_from_slice(bytes);
    op(port, Op::Write, offset, bytes.len()).unwrap();
}

pub(crate) fn read(port: &mut ZpoolPort, offset: u64, len: usize) -> Result<Vec<u8>, IoFault> {
    port.bytes_mut(0, len).fill(0xa5);
    op(port, Op::Read, offset, len)?;
    Ok(port.bytes(0, len).to_vec())
}
