//! The host, as others know it.

/// How this host is called: in a container `FATHOM_HOST` has it.
pub(crate) fn host() -> String {
    let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    std::env::var("FATHOM_HOST").ok().filter(|name| !name.is_empty()).unwrap_or_else(own)
}
