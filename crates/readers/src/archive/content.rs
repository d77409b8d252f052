//! The content of one member. An error in it is remembered, and the reader sees an end of file.

use std::io::{self, Read};

use flate2::Crc;

/// What is read of a member, with its length and checksum.
pub(super) struct Content<R> {
    from: R,
    crc: Crc,
    read_bytes: u64,
    error: Option<io::Error>,
}

impl<R: Read> Content<R> {
    pub(super) fn of(from: R) -> Content<R> {
        Content { from, crc: Crc::new(), read_bytes: 0, error: None }
    }

    /// Reads what has not been read yet.
    pub(super) fn rest(&mut self) {
        // An error of the content is kept, and a sink takes all.
        let _ = io::copy(self, &mut io::sink());
    }

    /// How many bytes there were, their checksum, and why there are no more if that is no proper end.
    pub(super) fn end(self) -> (u64, u32, Option<io::Error>) {
        (self.read_bytes, self.crc.sum(), self.error)
    }
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.error.is_some() {
            return Ok(0);
        }
        match self.from.read(buffer) {
            Ok(length) => {
                self.crc.update(&buffer[..length]);
                self.read_bytes += length as u64;
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.error = Some(error);
                Ok(0)
            }
        }
    }
}
