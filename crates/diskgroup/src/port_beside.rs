//! Files of the port below that are no business of the group: seen beside its own, and passed through.
//!
//! So an engine can have files of two groups, or of a group and of a plain file system, on one port, with one place to wait: the
//! second group is opened over a port of the first that lets the second's disks through. Prevents: two ports for one worker,
//! of which it can wait for only one.

use crate::port::{EBADF, GroupPort, SIDE};
use crate::slot::Child;
use targets::{Completion, FileId, IoFault, Port, Request, TargetError};

impl<P: Port> GroupPort<P> {
    /// The file below that a file of this port stands for, if it is not one of the group's.
    pub(crate) fn beside(&self, file: FileId) -> Option<FileId> {
        let nth = usize::from(file.0).checked_sub(self.files.len())?;
        self.beside.get(nth).copied()
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
        // The two highest bits are this port's own: where the caller uses them too, or has to wait, a slot keeps its token.
        if request.token < SIDE && self.has_room() {
            let token = request.token | self.side;
            return self.inner.submit(Request { file, token, ..request });
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
            file,
            token: child.token(),
            ..request
        })
    }
}
