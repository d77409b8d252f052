//! The files of the page, as the build script found them.

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The served file with this name, and its type.
pub(crate) fn served(name: &str) -> Option<(&'static [u8], &'static str)> {
    let (_, bytes) = SERVED.iter().find(|(known, _)| *known == name)?;
    Some((bytes, content_type(name)))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
