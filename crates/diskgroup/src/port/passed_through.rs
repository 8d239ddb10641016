//! Files of the port below that are no business of the group: seen beside its own, and passed through.
//!
//! So an engine can have files of two groups on one port, with one place to wait: the second group is opened over a
//! port of the first that lets the second's disks through, and lets the first's files through in turn.
//!
//! What comes back without the mark of a slot must be told apart: in a port *under* another it is the group's own
//! (requests for the other's disks carry that one's marks, so they have slots here); in a port *over* another it is
//! what passes (the group's own requests all have slots). Prevents: two ports for one worker, of which it can wait for
//! only one.

use crate::port::GroupPort;
use crate::port::slot::{Child, EBADF, SIDE, SLOT};
use targets::{Completion, FileId, IoFault, Port, Request, TargetError};

impl<P: Port> GroupPort<P> {
    /// The file below that a file of this port stands for, if it is not one of the group's.
    pub(crate) fn beside(&self, file: FileId) -> Option<FileId> {
        let nth = usize::from(file.0).checked_sub(self.files.len())?;
        self.beside.files.get(nth).copied()
    }

    /// Whether it is the end of a request that passed.
    #[inline]
    pub(crate) fn is_passing(&self, completion: &Completion) -> bool {
        self.beside.through && completion.token & SLOT == 0
    }

    /// So many requests have ended, and none of them has a slot.
    #[inline]
    pub(crate) fn passed(&mut self, count: usize) {
        if self.beside.through {
            self.beside.passing -= count;
        }
    }

    /// A request for a file beside the group's: goes below as it is.
    pub(crate) fn submit_beside(&mut self, request: Request) -> Result<(), TargetError> {
        let Some(file) = self.beside(request.file) else {
            self.ready.push(Completion {
                token: request.token,
                result: Err(IoFault::Errno(EBADF)),
            });
            return Ok(());
        };
        let below = Request { file, ..request };
        if self.beside.through {
            assert!(request.token < SIDE, "a token of 62 bits: {:#x}", request.token);
            self.beside.passing += 1;
            if self.has_room() {
                return self.inner.submit(below);
            }
            self.backlog.push_back(below);
            return Ok(());
        }
        let index = self.free.pop().expect("as many slots as requests may be in flight");
        self.slots[index as usize].begin(request);
        let child = Child {
            slot: index,
            disk: 0,
            piece: 0,
            retry: false,
        };
        self.send(Request {
            token: child.token(),
            ..below
        })
    }
}
