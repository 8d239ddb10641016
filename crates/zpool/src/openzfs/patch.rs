//! Puts functions of ours in the place of the library's own, where the library itself calls them.
//!
//! Takes names and addresses, writes them into the table through which the loaded library reaches its own public
//! functions (the loader's relocations of kind "jump slot" and "global data"; ELF, System V ABI), and tells how many
//! places each name had. Works without exported symbols of this program and without a library between. Prevents: a
//! device layer that is thought to be ours while the library still calls its own: a name without a place is an error.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::openzfs::library::Library;
use rustix::mm::{MprotectFlags, mprotect};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_JMPREL: usize = 23;
const TAGS: usize = 24;
const PAGE: usize = 4096;
#[cfg(target_arch = "aarch64")]
const KINDS: [usize; 2] = [1025, 1026];
#[cfg(not(target_arch = "aarch64"))]
const KINDS: [usize; 2] = [6, 7];

/// A relocation with an addend.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: usize,
    addend: isize,
}

/// A symbol; only its name is looked at.
#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    rest: [u32; 5],
}

/// The values of the dynamic section by tag, addresses made absolute.
fn dynamic(library: &Library) -> [usize; TAGS] {
    let mut values = [0; TAGS];
    let mut at = library.dynamic as *const [usize; 2];
    loop {
        // SAFETY: the section is a list of pairs that ends with tag 0, mapped as long as the library is.
        let [tag, value] = unsafe { *at };
        if tag == 0 {
            break;
        }
        if tag < TAGS {
            values[tag] = value;
        }
        at = at.wrapping_add(1);
    }
    for tag in [DT_STRTAB, DT_SYMTAB, DT_RELA, DT_JMPREL] {
        // The GNU loader has made them absolute already, others leave them relative.
        if values[tag] != 0 && values[tag] < library.base {
            values[tag] += library.base;
        }
    }
    values
}

/// Replaces each named function. Nothing of the library may run yet.
pub(crate) fn replace(library: &Library, ours: &[(&str, *const c_void)]) -> Result<(), Refused> {
    let values = dynamic(library);
    let mut places = vec![0usize; ours.len()];
    for (start, bytes) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
        let table = values[start] as *const Relocation;
        for nth in 0..values[bytes] / size_of::<Relocation>() {
            // SAFETY: inside the table, by its own size.
            let relocation = unsafe { *table.add(nth) };
            if !KINDS.contains(&(relocation.info & 0xffff_ffff)) {
                continue;
            }
            let symbols = values[DT_SYMTAB] as *const Symbol;
            // SAFETY: a relocation names a symbol of its own object's table, and a symbol a terminated string of its
            // strings.
            let name = unsafe {
                let symbol = *symbols.add(relocation.info >> 32);
                CStr::from_ptr((values[DT_STRTAB] as *const std::ffi::c_char).add(symbol.name as usize))
            };
            let Some(which) = ours.iter().position(|(wanted, _)| name.to_bytes() == wanted.as_bytes()) else {
                continue;
            };
            write(library.base + relocation.offset, ours[which].1 as usize)?;
            places[which] += 1;
        }
    }
    match places.iter().position(|found| *found == 0) {
        None => Ok(()),
        Some(missing) => Err(Refused::new(
            &format!(
                "{} calls its `{}` in a way that cannot be replaced",
                library.path.display(),
                ours[missing].0
            ),
            "install OpenZFS 2.1 as the distribution ships it",
        )),
    }
}

/// Writes one address of the table, which the loader may have made read-only.
fn write(at: usize, address: usize) -> Result<(), Refused> {
    let page = at & !(PAGE - 1);
    let refused = |e: rustix::io::Errno| {
        Refused::errno(
            "make the library's table of functions writable",
            e.raw_os_error(),
            "allow mprotect to this program",
        )
    };
    // SAFETY: the page holds data of the library, and its code goes on reading it as data.
    unsafe { mprotect(page as *mut c_void, PAGE, MprotectFlags::READ | MprotectFlags::WRITE) }.map_err(refused)?;
    // SAFETY: a word of that page, aligned as all of the table are.
    unsafe { &*(at as *const AtomicUsize) }.store(address, Ordering::Release);
    // It stays writable: parts of the page may never have been read-only.
    Ok(())
}
