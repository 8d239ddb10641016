//! Name-value lists, the library's way to hand over properties and device trees.
//!
//! Prevents: a list that is given back twice or never.
#![allow(unsafe_code)]

use crate::openzfs::library::{Library, Opaque};
use std::ffi::{CStr, CString};

/// A list that goes back to the library when dropped.
pub(crate) struct List<'a> {
    library: &'a Library,
    raw: Opaque,
}

/// A string for the library; a zero byte ends it early.
pub(crate) fn c(text: &str) -> CString {
    let upto = text.split('\0').next().unwrap_or_default();
    CString::new(upto).expect("no zero byte is left")
}

impl<'a> List<'a> {
    pub(crate) fn new(library: &'a Library) -> List<'a> {
        // SAFETY: makes an empty list.
        let raw = unsafe { (library.call.fnvlist_alloc)() };
        List { library, raw }
    }

    /// A list that the library made for us.
    pub(crate) fn of(library: &'a Library, raw: Opaque) -> List<'a> {
        List { library, raw }
    }

    pub(crate) fn raw(&self) -> Opaque {
        self.raw
    }

    pub(crate) fn text(self, name: &str, value: &str) -> List<'a> {
        // SAFETY: terminated strings, which the library copies.
        unsafe { (self.library.call.fnvlist_add_string)(self.raw, c(name).as_ptr(), c(value).as_ptr()) };
        self
    }

    pub(crate) fn number(self, name: &str, value: u64) -> List<'a> {
        // SAFETY: a terminated string, which the library copies.
        unsafe { (self.library.call.fnvlist_add_uint64)(self.raw, c(name).as_ptr(), value) };
        self
    }

    pub(crate) fn lists(self, name: &str, values: &[List<'_>]) -> List<'a> {
        let raw: Vec<Opaque> = values.iter().map(List::raw).collect();
        // SAFETY: as many lists as are said, all copied.
        unsafe {
            (self.library.call.fnvlist_add_nvlist_array)(self.raw, c(name).as_ptr(), raw.as_ptr(), raw.len() as u32);
        }
        self
    }

    pub(crate) fn number_of(&self, name: &str) -> Option<u64> {
        let mut value = 0;
        // SAFETY: a live list; the library writes one word when it has the name.
        let found = unsafe { (self.library.call.nvlist_lookup_uint64)(self.raw, c(name).as_ptr(), &raw mut value) };
        (found == 0).then_some(value)
    }

    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        let mut value = std::ptr::null();
        // SAFETY: a live list; the string lives as long as the list.
        let found = unsafe { (self.library.call.nvlist_lookup_string)(self.raw, c(name).as_ptr(), &raw mut value) };
        // SAFETY: as above.
        (found == 0).then(|| unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned())
    }

    /// The number `value` of the list of this name: how properties are told.
    pub(crate) fn property(&self, name: &str) -> Option<u64> {
        let mut inner = std::ptr::null_mut();
        // SAFETY: a live list; the inner one belongs to it.
        let found = unsafe { (self.library.call.nvlist_lookup_nvlist)(self.raw, c(name).as_ptr(), &raw mut inner) };
        if found != 0 {
            return None;
        }
        let inner = std::mem::ManuallyDrop::new(List::of(self.library, inner));
        inner.number_of("value")
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        // SAFETY: the list is ours and is given back once.
        unsafe { (self.library.call.fnvlist_free)(self.raw) };
    }
}
