//! Typed slabs for packet bodies other than TCP segments, with a type-erased discard.
//!
//! Any element can drop a packet without knowing its protocol.

use std::any::Any;
use std::fmt;

/// Type-erased slab.
pub(crate) trait AnySlab: Send {
    /// Copies the body at `at`.
    fn copy(&mut self, at: u32) -> Option<u32>;
    /// Frees the body at `at`.
    fn discard(&mut self, at: u32);
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// Slab for bodies of one type; the slot freed last is reused first.
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn put(&mut self, body: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = Some(body);
                at
            }
            None => {
                self.places.push(Some(body));
                self.places.len() as u32 - 1
            }
        }
    }

    pub(crate) fn take(&mut self, at: u32) -> Option<T> {
        let body = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(body)
    }

    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.places.get(at as usize)?.as_ref()
    }
}

impl<T: Clone + Send + 'static> AnySlab for Slab<T> {
    fn copy(&mut self, at: u32) -> Option<u32> {
        let body = self.get(at)?.clone();
        Some(self.put(body))
    }
    fn discard(&mut self, at: u32) {
        self.take(at);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl fmt::Debug for dyn AnySlab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("slab")
    }
}
