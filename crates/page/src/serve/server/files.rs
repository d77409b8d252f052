//! The files of the served page, as the build script found them.

include!(concat!(env!("OUT_DIR"), "/served.rs"));

/// The served page.
pub(super) fn page() -> &'static str {
    let found = served("index.html").and_then(|(bytes, _)| std::str::from_utf8(bytes).ok());
    found.unwrap_or_default()
}

/// The policy that stands in the served page: which script and style are its own, by their hashes.
pub(super) fn page_policy() -> &'static str {
    let (_, rest) = page().split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap_or_default();
    rest.split('"').next().unwrap_or_default()
}

/// The served file with this name, and its type.
pub(super) fn served(name: &str) -> Option<(&'static [u8], &'static str)> {
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
