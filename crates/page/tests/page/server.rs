//! The server answers only clients that have the token, under its own name, from its own page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fathom_page::serve::{Entry, Library, LoadError, Server, Shelf};
use fathom_page::{About, Loaded};

/// Three recordings, the last of which cannot be loaded.
struct Three {
    entries: Vec<Entry>,
    loads: Arc<AtomicUsize>,
}

impl Library for Three {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn load(&self, number: usize) -> Result<Loaded, LoadError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let file = ["jfr/ap_wall.jfr", "jfr/jdk17_g1.jfr"].get(number);
        let file = file.ok_or_else(|| LoadError("not a recording".to_owned()))?;
        Ok(Loaded::new(crate::world::recording(file), About { name: (*file).to_owned(), ..About::default() }))
    }
}

/// A server that runs until this goes away.
struct Running {
    address: SocketAddr,
    token: String,
    loads: Arc<AtomicUsize>,
    end: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

fn entry(name: &str) -> Entry {
    Entry { name: name.to_owned(), size_bytes: 7 }
}

/// One recording with hostile names.
struct One([Entry; 1]);

impl Library for One {
    fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn load(&self, _number: usize) -> Result<Loaded, LoadError> {
        Ok(crate::world::load(&crate::hostile::recording()))
    }
}

impl Running {
    fn new(kept: usize) -> Running {
        let loads = Arc::new(AtomicUsize::new(0));
        let three = Three { entries: ["a", "b", "c"].map(entry).to_vec(), loads: loads.clone() };
        Running::serving(Box::new(three), loads, kept)
    }

    fn serving(library: Box<dyn Library>, loads: Arc<AtomicUsize>, kept: usize) -> Running {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = server.url();
        let (host, token) = url.trim_start_matches("http://").trim_end_matches('/').split_once('/').unwrap();
        let (address, token) = (host.parse().unwrap(), token.to_owned());
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let shelf = Arc::new(Shelf::new(library, kept));
        let thread = thread::spawn(move || {
            server.serve(shelf, async { drop(ended.await) }).unwrap();
        });
        Running { address, token, loads, end: Some(end), thread: Some(thread) }
    }

    /// Status, headers and body of a request as it is given.
    fn send(&self, request: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(answer.len());
        let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head, answer.get(end + 4..).unwrap_or_default().to_vec())
    }

    fn ask(&self, method: &str, path: &str, host: &str, more: &str) -> (u16, String, Vec<u8>) {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
    }

    fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        self.ask("GET", &format!("/{}/{path}", self.token), &self.address.to_string(), "")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().map(thread::JoinHandle::join).transpose().unwrap();
    }
}

#[test]
fn who_may_ask() {
    let server = Running::new(2);
    let (host, token) = (server.address.to_string(), server.token.as_str());
    let port = server.address.port();
    let page = format!("/{token}/");
    let other_token = "0".repeat(token.len());
    for (method, path, host, more, expected) in [
        ("GET", page.as_str(), host.as_str(), String::new(), 200),
        ("HEAD", &page, &host, String::new(), 200),
        ("GET", &format!("/{token}"), &host, String::new(), 308),
        ("GET", &page, &format!("localhost:{port}"), String::new(), 200),
        ("GET", "/", &host, String::new(), 404),
        ("GET", "/api/recordings", &host, String::new(), 404),
        ("GET", &format!("/{other_token}/"), &host, String::new(), 404),
        ("GET", &format!("/{other_token}/api/recordings"), &host, String::new(), 404),
        ("GET", &format!("/{token}x/"), &host, String::new(), 404),
        ("GET", &page, "evil.example", String::new(), 403),
        ("GET", &page, &format!("evil.example:{port}"), String::new(), 403),
        ("GET", &page, &format!("10.1.2.3:{port}"), String::new(), 403),
        ("GET", &page, &host, "Origin: http://evil.example\r\n".to_owned(), 403),
        ("GET", &page, &host, "Origin: null\r\n".to_owned(), 403),
        ("GET", &page, &host, format!("Origin: http://{host}\r\n"), 200),
        ("GET", &page, &host, format!("Origin: https://{host}\r\n"), 403),
        ("POST", &page, &host, "Content-Length: 0\r\n".to_owned(), 405),
        ("OPTIONS", &page, &host, String::new(), 405),
        ("DELETE", &format!("/{token}/api/recordings"), &host, String::new(), 405),
    ] {
        let (status, head, body) = server.ask(method, path, host, &more);
        assert_eq!(status, expected, "{method} {path} {host} {more}");
        for header in [
            "cache-control: no-store",
            "content-security-policy: default-src 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(header), "{header} in {head}");
        }
        assert!(!head.contains("access-control"), "{head}");
        assert!(expected == 200 || !String::from_utf8_lossy(&body).contains(token), "the token is told to nobody");
    }
    assert_eq!(server.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0, 403, "no host at all");
}

#[test]
fn questions_have_the_status_of_their_answer() {
    let server = Running::new(2);
    for (path, expected) in [
        ("api/recordings", 200),
        ("api/r/0/overview", 200),
        ("api/r/1/flame?min_share=0.01", 200),
        ("api/r/0/flame?baseline=recording:1", 200),
        ("api/compare?a=0&b=1", 200),
        ("api/compare?a=0", 400),
        ("api/runs", 200),
        ("api/r/0/flame?min_share=x", 400),
        ("api/r/0/nothing", 404),
        ("api/r/9/overview", 404),
        ("api/r/x/overview", 404),
        ("api/r/2/overview", 422),
        ("api/r/0/flame?baseline=recording:9", 404),
        ("api/nothing", 404),
        ("nothing.js", 404),
        ("../../etc/passwd", 404),
        ("%2e%2e/etc/passwd", 404),
    ] {
        let (status, _, body) = server.get(path);
        assert_eq!(status, expected, "{path}: {}", String::from_utf8_lossy(&body));
        assert!(status == 200 || body.iter().filter(|byte| **byte == b'\n').count() <= 1, "{path}: one line");
    }
}

#[test]
fn recordings_are_loaded_when_asked_for_and_a_few_are_kept() {
    let server = Running::new(1);
    let listed = || -> serde_json::Value { serde_json::from_slice(&server.get("api/recordings").2).unwrap() };
    assert_eq!(server.loads.load(Ordering::Relaxed), 0);
    assert_eq!(listed()[0]["known"], false);
    for (path, loads) in
        [("api/r/0/overview", 1), ("api/r/0/frames", 1), ("api/r/1/overview", 2), ("api/r/0/overview", 3)]
    {
        assert_eq!(server.get(path).0, 200);
        assert_eq!(server.loads.load(Ordering::Relaxed), loads, "{path}");
    }
    server.get("api/r/2/overview");
    let listed = listed();
    assert_eq!((listed[1]["name"].as_str(), listed[1]["bytes"].as_i64()), (Some("b"), Some(7)));
    assert_eq!(listed[1]["jvm"], "JDK 17");
    assert_eq!(listed[2]["error"], "not a recording");
    let overview: serde_json::Value = serde_json::from_slice(&server.get("api/r/1/overview").2).unwrap();
    assert_eq!(overview["id"], 1);
}

#[test]
fn the_overview_of_the_only_recording_stands_in_the_page() {
    let element = |page: &str| -> Option<String> {
        let (_, rest) = page.split_once(r#"<script type="application/json" id="fathom-overview">"#)?;
        Some(rest.split_once('<')?.0.to_owned())
    };
    let server = Running::serving(Box::new(One([entry("a")])), Arc::default(), 1);
    let page = || String::from_utf8(server.get("").2).unwrap();
    assert_eq!(element(&page()), None, "it is not known before it was loaded");
    let asked: serde_json::Value = serde_json::from_slice(&server.get("api/r/0/overview").2).unwrap();
    let found = element(&page()).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&found).unwrap(), asked, "no name ends the element");
    let several = Running::new(2);
    several.get("api/r/0/overview");
    assert_eq!(
        element(&String::from_utf8(several.get("").2).unwrap()),
        None,
        "which of them is asked for is not known"
    );
}

/// A service's folder in which nothing was recorded so far.
struct Watched;

impl Library for Watched {
    fn entries(&self) -> &[Entry] {
        &[]
    }

    fn watched(&self) -> Option<serde_json::Value> {
        Some(serde_json::json!({ "schema": 1, "jvms": [] }))
    }

    fn load(&self, _number: usize) -> Result<Loaded, LoadError> {
        Err(LoadError("there is none".to_owned()))
    }
}

#[test]
fn a_service_is_told_of_where_there_is_one() {
    let running = Running::serving(Box::new(Watched), Arc::default(), 1);
    let (status, _, body) = running.get("api/watched");
    assert_eq!((status, body.as_slice()), (200, br#"{"schema":1,"jvms":[]}"#.as_slice()));
    assert_eq!(running.get("api/recordings").2, b"[]");
    assert_eq!(Running::new(1).get("api/watched").2, b"null");
}
