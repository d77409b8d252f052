//! `fathom load`: production's requests, sent to another server when they are due.
//!
//! [`source`] reads what arrived, [`mod@schedule`] decides what is due when, [`engine`] has another program send it,
//! [`fakes`] stand in for what the server calls, [`machine`] watches who has the CPUs meanwhile, [`judge`] says whether
//! that program kept up, and [`summary`] reports the results.

mod engine;
mod fakes;
mod judge;
mod machine;
mod numbers;
mod schedule;
mod source;
mod summary;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_readers::Arrivals;
use fathom_report::json;

use self::engine::{Engine, Sent, Setting};
use self::fakes::Fakes;
use self::machine::{Looking, Machine};
use self::schedule::{Due, Wanted, schedule};
use self::source::Source;
use self::summary::{Asked, Summary, requests_csv};
use super::Answer;
use crate::output::is_a_folders_name;
use crate::progress::Progress;
use crate::quantities;
use crate::system::owner::Place;
use crate::terminal::Terminal;

/// Send production's requests to a test server at the times when they arrived, and measure what that server does
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Requests: an access log, a recording, or CSV (time,method,path or method,path,weight)
    #[arg(long, value_name = "FILE")]
    from: PathBuf,

    /// The server that gets them
    #[arg(long, value_name = "http://HOST:PORT", value_parser = server)]
    to: String,

    /// Take which requests are sent from this file, by their weights, and only the times from --from
    #[arg(long, value_name = "FILE")]
    mix: Option<PathBuf>,

    /// Stand in for services that the server calls: as a file describes them (docs/load.md), or each that a recording has calls of
    #[arg(long, value_name = "FILE|RECORDING")]
    fakes: Option<PathBuf>,

    /// How long (default: as long as the file; without times 60s)
    #[arg(long = "for", value_name = "TIME", value_parser = quantities::duration)]
    duration: Option<Duration>,

    /// How many times as fast as it was
    #[arg(long, value_name = "FACTOR", value_parser = positive, conflicts_with = "rate")]
    speed: Option<f64>,

    /// Requests a second on average; bursts stay bursts
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    rate: Option<f64>,

    /// Another number gives other random times and picks
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// A header of every request, such as 'Authorization: Bearer x'. May be given several times
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,

    /// Also send requests that may change something (POST, PUT, DELETE, …); they have no body
    #[arg(long)]
    send_writes: bool,

    /// How long an answer is waited for
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantities::duration)]
    timeout: Duration,

    /// How many requests may be under way at once
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..1_000_000))]
    workers: u32,

    /// Do not send at a real-time priority (SCHED_FIFO), which is used where it is allowed (root, CAP_SYS_NICE)
    #[arg(long)]
    normal_priority: bool,

    /// The folder of the results (default: load- with date and time)
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Requests are sent when they are due, whether or not earlier ones were answered. Latencies count from that time.
A run in which the generator itself was late or short of CPU says nothing about the server: INCONCLUSIVE, exit code 4.

Examples:
  fathom load --from access.log --to http://test:8080
  fathom load --from access.log --to http://test:8080 --rate 1000 --for 60s
  fathom load --from mix.csv --to http://test:8080 --rate 200      with the columns method,path,weight
  fathom load --from app.fathom --mix mix.csv --to http://test:8080
  fathom load --from access.log --to http://test:8080 --fakes fakes.toml
  fathom explain test.fathom --latency load-20261128-101500/requests.csv";

/// As of labs: nothing was shown, and nothing refuted.
const INCONCLUSIVE: u8 = 4;

/// The engine writes its histograms here.
const HISTOGRAMS: &str = "latency.hlog";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    args.output.as_deref().map_or(Ok(()), is_a_folders_name)?;
    let program = engine::find()?.canonicalize()?;
    let progress = Progress::start();
    progress.says("reading requests");
    let (requests, due, notes) = planned(args)?;
    let fakes = started(args, &program)?;
    let folder =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("load-{}", super::now_for_name(terminal))));
    let place = Place::make(&folder)?;
    place.enter()?;
    let length_s = due.last().map_or(0, |last| last.due_ns / 1_000_000_000);
    progress.says(&format!("sending {} requests in {length_s} s", due.len()));
    let looking = Looking::start(&args.to);
    let (sent, engine) =
        engine::run(&program, &setting(args), &requests, &due).inspect_err(|_| place.remove_if_empty())?;
    let machine = looking.end(&sent, &engine);
    let fakes = fakes.map_or(Ok(Vec::new()), Fakes::end)?;
    let asked = Asked {
        from: args.from.display().to_string(),
        to: &args.to,
        folder: folder.display().to_string(),
        seed: args.seed,
        notes,
        fakes,
        requests: &requests,
        due: &due,
    };
    let summary = written(asked, &sent, &engine, machine)?;
    place.give_to_caller()?;
    drop(progress);
    Ok(answer(args, &summary))
}

fn started(args: &Args, program: &Path) -> Result<Option<Fakes>> {
    let wanted = args.fakes.as_deref().map(fakes::read).transpose()?;
    wanted.map(|wanted| Fakes::start(program, wanted)).transpose()
}

fn answer(args: &Args, summary: &Summary) -> Answer {
    Answer {
        text: if args.json { json::pretty(summary) } else { summary.text() },
        code: if summary.is_measured() { ExitCode::SUCCESS } else { ExitCode::from(INCONCLUSIVE) },
    }
}

/// The requests with their weights, which of them is due when, and what has to be said of that.
type Planned = (Vec<(String, f64)>, Vec<Due>, Vec<String>);

fn planned(args: &Args) -> Result<Planned> {
    let Source { arrivals, mut notes } = paths_or_mix(args)?;
    let mix = args.mix.as_deref().map(|path| Source::read(path, args.send_writes, args.seed)).transpose()?;
    if let Some(without) = mix.as_ref().filter(|mix| !mix.has_paths()).and(args.mix.as_ref()) {
        bail!("{}: has no paths; --mix takes an access log or CSV", without.display());
    }
    let wanted = Wanted { duration: args.duration, speed: args.speed, rate: args.rate, seed: args.seed };
    let named = |path: &Path| path.display().to_string();
    let due = schedule(&arrivals, mix.as_ref().map(|mix| &mix.arrivals), &wanted).with_context(|| named(&args.from))?;
    notes.extend(ended_early(args.duration, &arrivals, &due));
    notes.extend(mix.iter().flat_map(|mix| mix.notes.clone()));
    let Arrivals { requests, .. } = mix.map_or(arrivals, |mix| mix.arrivals);
    Ok((requests, due, notes))
}

/// What is said where a log ended before the time that was asked for.
fn ended_early(wanted: Option<Duration>, arrivals: &Arrivals, due: &[Due]) -> Option<String> {
    let wanted = wanted.filter(|_| !arrivals.arrived.is_empty() && due.len() == arrivals.arrived.len())?;
    let length = Duration::from_nanos(due.last()?.due_ns.unsigned_abs());
    let is_early = length.saturating_add(Duration::from_secs(1)) < wanted;
    is_early.then(|| format!("the requests end after {:.0} s, before the time of --for is over", length.as_secs_f64()))
}

fn paths_or_mix(args: &Args) -> Result<Source> {
    // With a mix, only the times of these count.
    let source = Source::read(&args.from, args.send_writes || args.mix.is_some(), args.seed)?;
    if args.mix.is_none() && !source.has_paths() {
        bail!(
            "{}: says when requests arrived and not what they asked for: give --mix FILE, an access log or CSV with method,path,weight",
            args.from.display()
        );
    }
    Ok(source)
}

fn setting(args: &Args) -> Setting<'_> {
    let headers = headers(&args.header);
    Setting {
        to: &args.to,
        headers,
        timeout: args.timeout,
        workers: args.workers,
        real_time: !args.normal_priority,
        histograms: Path::new(HISTOGRAMS),
    }
}

/// Values by names, which are the same in upper and lower case.
fn headers(given: &[(String, String)]) -> HashMap<&str, Vec<&str>> {
    let mut headers: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, value) in given {
        let known = headers.keys().copied().find(|known| known.eq_ignore_ascii_case(name));
        headers.entry(known.unwrap_or(name)).or_default().push(value);
    }
    if !headers.keys().any(|name| name.eq_ignore_ascii_case("User-Agent")) {
        headers.insert("User-Agent", vec!["fathom-load"]);
    }
    headers
}

/// Writes into the folder that this is run in. Of a run that shows nothing no latencies stay.
fn written(asked: Asked, sent: &[Sent], engine: &Engine, machine: Option<Machine>) -> Result<Summary> {
    let csv = requests_csv(&asked, sent, engine.began_ns);
    let summary = Summary::new(asked, sent, engine, machine);
    match summary.is_measured() {
        true => fs::write("requests.csv", csv).context("requests.csv")?,
        false => fs::remove_file(HISTOGRAMS).context(HISTOGRAMS)?,
    }
    fs::write("summary.json", json::pretty(&summary)).context("summary.json")?;
    Ok(summary)
}

/// `http://host:8080` without a path: that comes from the requests.
fn server(text: &str) -> Result<String, String> {
    let address = text.trim_end_matches('/');
    let host = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://")).unwrap_or_default();
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@\\\"".contains(&byte));
    is_host.then(|| address.to_owned()).ok_or("a server is written like http://host:8080, without a path".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or("a number above zero".to_owned())
}

fn header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match parts.filter(|(name, value)| is_name(name) && !value.contains(['\r', '\n'])) {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("a header is written like 'Name: value'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_headers() {
        assert_eq!(server("http://h:8080/").as_deref(), Ok("http://h:8080"));
        for bad in ["h:8080", "http://", "http://h/path", "http://u@h", "ftp://h"] {
            assert!(server(bad).is_err(), "{bad}");
        }
        assert_eq!(header("A-b: c: d"), Ok(("A-b".to_owned(), "c: d".to_owned())));
        for bad in ["a", ": b", "a b: c", "a: b\nc"] {
            assert!(header(bad).is_err(), "{bad}");
        }
        let given =
            [("user-agent", "a"), ("X", "1"), ("x", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers(&given), HashMap::from([("user-agent", vec!["a"]), ("X", vec!["1", "2"])]));
        assert!(positive("0.5").is_ok() && positive("0").is_err() && positive("nan").is_err());
    }
}
