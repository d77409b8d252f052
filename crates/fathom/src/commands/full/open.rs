//! `fathom open`: the page, served on this machine.

mod browser;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use fathom_page::model::Others;
use fathom_page::serve::{Server, Shelf};
use fathom_report::json;
use serde::Serialize;

use super::Answer;
use crate::exit::complain;
use crate::inputs::Question;
use crate::inputs::library::{KEPT_MAX, Services};
use crate::progress::Progress;
use crate::terminal::{self, Terminal};

/// Show recordings in the browser: time axis of threads, JVM and kernel, flame graphs, causes with their evidence.
/// Serves on this machine only, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The address to listen on; anything but loopback shows the recordings to others who have the token
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,

    /// The port to listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Open the page in the browser of this desktop
    #[arg(long)]
    browser: bool,

    /// Print the address as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom open incident.fathom
  fathom open app.jfr gc.log --latency lat.csv
  fathom open recordings/                       a folder of recordings, with a list
  fathom open app.jfr --port 8123               then: ssh -L 8123:127.0.0.1:8123 HOST";

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Opened<'a> {
    schema: u32,
    url: &'a str,
    recordings: usize,
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let server = bind(SocketAddr::new(args.listen, args.port))?;
    // A browser needs what a confined program may not do, and starts from this one.
    if !args.browser {
        args.question.confine(None)?;
    }
    let shelf = shelf(&args.question, terminal)?;
    if !args.listen.is_loopback() {
        complain(
            "listening beyond this machine: whoever has the address with its token sees the recordings, and \
                  the network sees what is sent",
        );
    }
    let url = server.url();
    let opened = Opened { schema: SCHEMA, url: &url, recordings: shelf.len() };
    terminal::print(&if args.json { json::pretty(&opened) } else { format!("{url}\n") })?;
    serve(server, shelf, args.browser)
}

/// Shows recordings in the browser of this desktop, on a free port of this machine.
pub(crate) fn show(question: &Question, terminal: &Terminal) -> Result<Answer> {
    let server = bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))?;
    let shelf = shelf(question, terminal)?;
    terminal::print(&format!("{}\n", server.url()))?;
    serve(server, shelf, true)
}

fn bind(address: SocketAddr) -> Result<Server> {
    Server::bind(address).with_context(|| format!("cannot listen on {address}"))
}

fn shelf(question: &Question, terminal: &Terminal) -> Result<Arc<Shelf>> {
    let shelf = Arc::new(Shelf::new(Box::new(Services::find(&question.with_untimed(), terminal)?), KEPT_MAX));
    if shelf.len() == 1 {
        load(&shelf)?;
    }
    Ok(shelf)
}

/// Opens the browser where it is wanted, and serves until Ctrl-C.
fn serve(server: Server, shelf: Arc<Shelf>, with_browser: bool) -> Result<Answer> {
    // What leads the browser here stays until the end.
    let opened = with_browser.then(|| browser::open(&server.url())).transpose();
    if let Err(error) = &opened {
        let port = server.port();
        complain(&format!(
            "no browser was opened ({error}): open the address yourself, from another machine after ssh -L \
             {port}:127.0.0.1:{port} HOST; Ctrl-C ends"
        ));
    }
    let known = shelf.clone();
    // Ends with the program.
    thread::spawn(move || known.look_into_all(|| true));
    server.serve_until_interrupted(shelf).context("the server ended")?;
    Ok(Answer::done(String::new()))
}

/// Loads the only recording, so that the page has it when the address is printed.
fn load(shelf: &Shelf) -> Result<()> {
    let progress = Progress::start();
    progress.says("reading and explaining the recording");
    shelf.recording(0).map(drop).map_err(|refused| anyhow!("{refused}"))
}
