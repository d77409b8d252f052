//! The page and its answers in one file, to be attached to a ticket and opened from disk.
//!
//! The data are one script element that no browser runs: base64 of a compressed pack, in which nothing can end the
//! element or act as markup, whatever the names in the recording. To keep the file a fraction of the recording, rows
//! are left out evenly, and the page says so.

mod pack;
mod parts;
mod spans;

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::loaded::Loaded;
use crate::refused::Refused;
use parts::Detail;

include!(concat!(env!("OUT_DIR"), "/single.rs"));

/// Where the pages take the data of a recording.
pub(crate) const MARKER: &str = "<!--FATHOM-DATA-->";

/// The data are at most this part of the recording's size on disk.
const PART_MAX: u64 = 6;

/// Data of this size are small enough whatever the recording's size, in bytes.
const SMALL: u64 = 10 << 20;

/// The page with everything in it.
pub fn html(page: &Loaded) -> Result<Vec<u8>, Refused> {
    html_within(page, (page.about.size_bytes / PART_MAX).max(SMALL))
}

/// The same with data of at most so many bytes, as far as there is anything to leave out.
pub fn html_within(page: &Loaded, budget: u64) -> Result<Vec<u8>, Refused> {
    let data = STANDARD.encode(within(page, budget)?);
    let (head, tail) = SINGLE.split_once(MARKER).unwrap_or((SINGLE, ""));
    let open = r#"<script type="application/octet-stream" id="fathom-data">"#;
    Ok([head, open, &data, "</script>", tail].concat().into_bytes())
}

/// The compressed pack with as much detail as fits.
fn within(page: &Loaded, budget: u64) -> Result<Vec<u8>, Refused> {
    let mut detail = Detail::FULL;
    loop {
        let packed = compress(&pack::pack(page, detail)?).map_err(|error| Refused::Recording(error.to_string()))?;
        // Base64 makes four bytes of three.
        let fits = packed.len() as u64 * 4 / 3 <= budget;
        match detail.less() {
            Some(less) if !fits => detail = less,
            _ => return Ok(packed),
        }
    }
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}
