//! Who may ask: clients with the token, through this machine's own name, from the page itself.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::files;

/// Length of the token in bytes, written as twice as many digits.
const TOKEN_BYTES: usize = 16;

/// The page loads its own files only, runs no script but the one that it was built with, and is shown in no other page.
const CONTENT_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The policy with the hashes of the page's own script and style, which are looked for in the page once.
static WHOLE_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let own = files::page_policy();
    let whole = HeaderValue::try_from(format!("{CONTENT_POLICY}; {own}"));
    whole.unwrap_or(HeaderValue::from_static(CONTENT_POLICY))
});

/// Headers of every response. The token is in the address, so the address is never sent to another site.
const HEADERS: &[(&str, &str)] = &[
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// A token that cannot be guessed.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a request is checked against.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    address: SocketAddr,
    token: String,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, token: String) -> Guard {
        Guard { address, token }
    }

    /// Whether a request goes to this server under a name that no other host can have: loopback, or, if it listens
    /// elsewhere, any address in numbers. A name would do for a site that points its own name here.
    fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        let number: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
        match number {
            Some(number) => number.is_loopback() || !self.address.ip().is_loopback(),
            None => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Whether a request comes from the page or from the address bar, not from another site's page.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        host.is_some_and(|host| headers.get(header::HOST).is_some_and(|own| own.as_bytes() == host.as_bytes()))
    }

    /// Whether a path begins with the token; how long that takes tells nothing of it.
    fn has_token(&self, path: &str) -> bool {
        let given = path.trim_start_matches('/').split('/').next().unwrap_or("").as_bytes();
        let differ = |sum: u8, (a, b): (&u8, &u8)| sum | (a ^ b);
        given.len() == self.token.len() && given.iter().zip(self.token.as_bytes()).fold(0, differ) == 0
    }

    fn judge(&self, request: &Request) -> Result<(), (StatusCode, &'static str)> {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.is_own_host(host)) {
            return Err((StatusCode::FORBIDDEN, "this server answers to its own address only\n"));
        }
        if !self.is_own_origin(request.headers()) {
            return Err((StatusCode::FORBIDDEN, "this server answers to its own page only\n"));
        }
        if !self.has_token(request.uri().path()) {
            return Err((StatusCode::NOT_FOUND, "not found; the address begins with a token, see where fathom runs\n"));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "this server only reads\n"));
        }
        Ok(())
    }
}

/// Lets a request pass or refuses it, and puts the headers on every response.
pub(super) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.judge(&request) {
        Ok(()) => next.run(request).await,
        Err((status, says)) => (status, says).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, WHOLE_POLICY.clone());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().unwrap(), "abc123".to_owned())
    }

    #[test]
    fn hosts_that_are_this_server() {
        for (address, host, expected) in [
            ("127.0.0.1:4000", "127.0.0.1:4000", true),
            ("127.0.0.1:4000", "localhost:4000", true),
            ("127.0.0.1:4000", "[::1]:4000", true),
            ("127.0.0.1:4000", "127.0.0.1:4001", false),
            ("127.0.0.1:4000", "127.0.0.1", false),
            ("127.0.0.1:4000", "evil.example:4000", false),
            ("127.0.0.1:4000", "10.0.0.1:4000", false),
            ("127.0.0.1:4000", "localhost.evil.example:4000", false),
            ("0.0.0.0:4000", "10.0.0.1:4000", true),
            ("0.0.0.0:4000", "evil.example:4000", false),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:4000", "", false),
            ("127.0.0.1:4000", ":4000", false),
            ("127.0.0.1:4000", "[::1", false),
        ] {
            assert_eq!(guard(address).is_own_host(host), expected, "{address} {host}");
        }
    }

    #[test]
    fn paths_with_the_token() {
        for (path, expected) in [
            ("/abc123/", true),
            ("/abc123/api/x", true),
            ("/abc12/", false),
            ("/abc124/", false),
            ("/", false),
            ("", false),
        ] {
            assert_eq!(guard("127.0.0.1:1").has_token(path), expected, "{path}");
        }
    }

    #[test]
    fn tokens_differ() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert!(a != b && a.len() == 2 * TOKEN_BYTES && a.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
