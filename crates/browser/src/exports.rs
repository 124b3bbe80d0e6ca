//! WebAssembly exports of the simulator in a web page: buffers for a request and its response, and imports
//! for progress and time.
//!
//! The page calls `input(length)`, writes a request at the returned address, calls `answer()`, and reads the
//! document at `document()` and the bytes at `bytes()`. `answer` and `bytes_length` return their lengths. No
//! memory is shared between threads.

#![allow(
    unsafe_code,
    reason = "names that WebAssembly exports and imports count as unsafe; no memory is touched"
)]

use crate::Page;
use base::Span;
use std::cell::RefCell;

#[derive(Default)]
struct Buffers {
    input: Vec<u8>,
    document: Vec<u8>,
    bytes: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Callback: finished and total repetitions.
    safe fn progress(done: f64, total: f64);
    /// Milliseconds since the worker started.
    safe fn now() -> f64;
}

/// Allocates a buffer for a request of `length` bytes; returns its address.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *mut u8 {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.input.clear();
        buffers.input.resize(length, 0);
        buffers.input.as_mut_ptr()
    })
}

/// Handles the request in the input buffer; returns the length of the response document.
#[unsafe(no_mangle)]
extern "C" fn answer() -> usize {
    let request = BUFFERS.with_borrow_mut(|buffers| std::mem::take(&mut buffers.input));
    let page = Page {
        progress: &|done, total| progress(done as f64, total as f64),
        processor: &|| Span::from_nanos((now() * 1e6) as u64),
    };
    let (document, bytes) = crate::answer(&request, page);
    let document = document.to_string().into_bytes();
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.document = document;
        buffers.bytes = bytes;
        buffers.document.len()
    })
}

/// Address of the last response document.
#[unsafe(no_mangle)]
extern "C" fn document() -> *const u8 {
    BUFFERS.with_borrow(|buffers| buffers.document.as_ptr())
}

/// Address of the bytes that belong to the last document.
#[unsafe(no_mangle)]
extern "C" fn bytes() -> *const u8 {
    BUFFERS.with_borrow(|buffers| buffers.bytes.as_ptr())
}

/// Length of the bytes that belong to the last document.
#[unsafe(no_mangle)]
extern "C" fn bytes_length() -> usize {
    BUFFERS.with_borrow(|buffers| buffers.bytes.len())
}
