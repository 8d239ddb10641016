//! Where the library's buffers come from: mimalloc in the place of the C library's heap.
//!
//! In a kernel OpenZFS has caches of buffers by size. Its library for user space asks the C library for each, aligned,
//! which takes a tenth to a fifth of a read's processor time and keeps far more memory than the ARC. Replaced are
//! `posix_memalign`, from which all its buffers come, and `free`, which may be given memory of either heap, since what
//! other libraries made is freed there too. Prevents: rates and memory that say more of a heap than of OpenZFS.
#![allow(unsafe_code)]

use std::ffi::c_void;

/// The functions that take the place of the C library's where OpenZFS calls them.
pub(crate) fn ours() -> [(&'static str, *const c_void); 2] {
    [
        ("posix_memalign", libmimalloc_sys::mi_posix_memalign as *const c_void),
        ("free", free as *const c_void),
    ]
}

extern "C" fn free(memory: *mut c_void) {
    // SAFETY: the library frees what it was given, once; each heap is given back its own.
    unsafe {
        if libmimalloc_sys::mi_is_in_heap_region(memory) {
            libmimalloc_sys::mi_free(memory);
        } else {
            libc::free(memory);
        }
    }
}
