//! The pack: the length of a header, the header as JSON, then the parts, each an Arrow IPC stream.

use serde::Serialize;

use super::parts::{self, Detail};
use crate::columns::Columns;
use crate::loaded::Loaded;
use crate::model::overview::{Overview, overview};
use crate::refused::Refused;

#[derive(Serialize)]
struct Header<'a> {
    overview: Overview<'a>,
    markdown: String,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    name: String,
    /// From the end of the header.
    offset: usize,
    length: usize,
}

/// Everything in one piece.
pub(super) fn pack(page: &Loaded, detail: Detail) -> Result<Vec<u8>, Refused> {
    let found = parts::all(page, detail);
    let mut overview = overview(page);
    overview.thinned = found.thinned;
    overview.logs_held = found.logs;
    for kind in &found.spans {
        overview
            .lanes
            .iter_mut()
            .filter(|lane| lane.total > 0 && lane.kinds == [kind.kind.as_str()])
            .for_each(|lane| lane.held = kind.held);
    }
    for lane in overview.lanes.iter_mut().filter(|lane| lane.kind == "latency") {
        lane.instances.truncate(parts::PORTS_MAX);
    }
    let mut body = Vec::new();
    let mut listed = Vec::new();
    for (name, columns) in found.tables {
        let bytes = stream(columns)?;
        listed.push(Part { name, offset: body.len(), length: bytes.len() });
        body.extend_from_slice(&bytes);
    }
    let header = Header { overview, markdown: fathom_report::ticket(&page.explanation), parts: listed };
    let header = serde_json::to_vec(&header).map_err(|error| Refused::Recording(error.to_string()))?;
    let length = u32::try_from(header.len()).map_err(|_| Refused::Recording("too much for one file".to_owned()))?;
    Ok([length.to_le_bytes().as_slice(), &header, &body].concat())
}

fn stream(columns: Columns) -> Result<Vec<u8>, Refused> {
    columns.stream().map_err(|error| Refused::Recording(error.to_string()))
}
