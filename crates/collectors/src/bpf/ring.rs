//! Events that programs send one by one.

use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};

use crate::Refusal;

/// Most events that one look takes over; more stay in the kernel's ring, which counts what it cannot hold.
const EVENTS_MAX: usize = 4096;

/// The reading end of a ring.
pub(crate) struct Ring {
    buffer: RingBuffer<'static>,
    inbox: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Ring {
    /// Reads `map`, which must be a ring.
    pub(crate) fn new(map: &MapHandle) -> Result<Ring, Refusal> {
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let sender: Arc<Mutex<Vec<Vec<u8>>>> = Arc::clone(&inbox);
        let receive = move |event: &[u8]| {
            sender.lock().unwrap_or_else(PoisonError::into_inner).push(event.to_vec());
            0
        };
        let mut builder = RingBufferBuilder::new();
        let built = builder.add(map, receive).map(|_| ()).and_then(|()| builder.build());
        let buffer = built.map_err(|error| Refusal::new(format!("a ring could not be mapped: {error}"), ""))?;
        Ok(Ring { buffer, inbox })
    }

    /// What has arrived since the last time.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        // A negative answer is an interrupted call; what arrived before it is in the inbox.
        let _ = self.buffer.consume_raw_n(EVENTS_MAX);
        std::mem::take(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
