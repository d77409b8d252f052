//! Opens the page in the desktop's browser without showing its token to other users of the machine.
//!
//! Every user can read command lines. So the browser is given a file that only its user can read, and that redirects to
//! the address. The file is deleted when the program ends.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::{Builder, NamedTempFile};

/// The system's program that opens a file with what its user has chosen for it.
const OPENER: &str = match () {
    () if cfg!(target_os = "macos") => "open",
    () if cfg!(windows) => "explorer",
    () => "xdg-open",
};

/// Opens the address. The file has to stay until the browser has read it: as long as the value does.
pub(crate) fn open(url: &str) -> io::Result<NamedTempFile> {
    if !has_desktop() {
        return Err(io::Error::other("this session has no desktop"));
    }
    let mut file = Builder::new().prefix("fathom-").suffix(".html").tempfile_in(folder())?;
    file.write_all(redirect(url).as_bytes())?;
    file.flush()?;
    let quiet =
        |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    quiet(Command::new(OPENER).arg(file.path())).map_err(|error| io::Error::other(format!("{OPENER}: {error}")))?;
    Ok(file)
}

/// Without a desktop xdg-open starts, and opens nothing or a browser for text on this terminal.
fn has_desktop() -> bool {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set)
}

/// The session's own folder, which no other user can enter, or the one for temporary files.
fn folder() -> PathBuf {
    let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    own.unwrap_or_else(env::temp_dir)
}

/// A page that redirects at once and sends no referrer. The address consists of digits, letters and `:/.[]`.
fn redirect(url: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Fathom</title><a href=\"{url}\">the page</a>\n"
    )
}
