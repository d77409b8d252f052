//! `fathom logs`: which messages of logs came more or less often in the slow time.

use anyhow::Result;
use fathom_causes::explanation::{HeadlineKind, MessageKind, SlowInterval};
use fathom_causes::format::{count, number};
use fathom_causes::messages::{self, Messages};
use fathom_causes::{ExplainOptions, investigate};
use fathom_report::clean::shorten;
use fathom_report::units;
use serde_json::{Value, json};

use super::Answer;
use crate::inputs::{Question, Service, file_name};
use crate::terminal::Terminal;

/// Show which messages of application logs came more or less often in the slow time than otherwise
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,

    /// Print every kind of message instead of what differs most
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom logs app.log --slow 10:02:21..10:02:51
  fathom logs app.log --latency access.log            the slow time is found in the latencies
  fathom logs app.log app.jfr                         or in what the JVM recorded
  journalctl -u shop -o json | fathom logs - --slow +60s..+90s
  fathom logs app.log                                 kinds of messages by how often they came

log4j, logback, java.util.logging, lines of JSON, syslog and exports of journald are read, also as containers write them.
Messages that differ in numbers and names only are one kind. A kind is named if it came more (or less) often per second
and also had a larger (or smaller) part in all messages; of all that are named, about 5 % may be there by chance.
What a program logs in slow time is mostly what followed from it: a by-product and not the cause.";

const GIVE: &str = "--slow FROM..TO, or --latency FILE";

/// Kinds that are printed without `--all`.
const SHOWN: usize = 15;

/// Columns of the figures before a message.
const FIGURES: usize = 42;

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    args.question.confine(None)?;
    let services = args.question.services(terminal)?;
    let mut answers = Vec::new();
    for service in &services {
        answers.push(Found::of(service, args, terminal)?);
    }
    Ok(Answer::done(match args.json {
        true => in_json(&answers),
        false => answers.iter().map(|found| found.text(args, terminal)).collect::<Vec<_>>().join("\n"),
    }))
}

/// What the logs of one service say.
#[derive(Default)]
struct Found {
    title: String,
    slow: Vec<SlowInterval>,
    compared: Option<Messages>,
    /// The kinds that were compared.
    kinds: Vec<MessageKind>,
    /// Why nothing is compared.
    why_not: String,
    /// By how often they came, where nothing can be compared.
    totals: Vec<(String, f64)>,
    losses: Vec<String>,
}

impl Found {
    fn of(service: &Service, args: &Args, terminal: &Terminal) -> Result<Found> {
        let options = ExplainOptions { slow: args.question.slow_ns(service, terminal)?, baseline: None };
        let title = file_name(&service.paths[0]);
        let Some((analysis, explanation)) = investigate(&service.recording, &options) else {
            let why_not = "nothing in it has a time".to_owned();
            return Ok(Found { title, why_not, ..Found::default() });
        };
        let is_slow = !analysis.slowdown.time.is_empty();
        let has_baseline = analysis.baseline_time(&analysis.slowdown).is_some();
        let covered = messages::covered_ns(&analysis.sources).filter(|_| is_slow && has_baseline);
        let why_not = match (covered, explanation.headline.kind) {
            (Some((from_ns, to_ns)), _) => {
                let at = |ns| units::date_and_time(ns, &terminal.zone);
                format!("the log covers {}..{} only: not both slow time and other", at(from_ns), at(to_ns))
            }
            _ if is_slow => "all of it was slow: nothing to compare with".to_owned(),
            (_, HeadlineKind::NothingSlow) => "nothing was slow: --slow FROM..TO says otherwise".to_owned(),
            (_, HeadlineKind::NoSign) => format!("nothing that was recorded shows slow time: {GIVE}"),
            _ => format!("when it was slow is not known: {GIVE}"),
        };
        let losses = explanation.losses.into_iter().map(|loss| loss.says).collect();
        let (compared, totals) = (analysis.messages().cloned(), messages::totals(&analysis.sources));
        let kinds = compared.as_ref().map(messages::kinds).unwrap_or_default();
        Ok(Found { title, slow: explanation.slow, compared, kinds, why_not, totals, losses })
    }

    fn text(&self, args: &Args, terminal: &Terminal) -> String {
        let mut text = format!("{}: ", self.title);
        match &self.compared {
            _ if self.totals.is_empty() => text += "no messages of an application\n",
            Some(compared) => self.write_compared(&mut text, compared, args, terminal),
            None => self.write_totals(&mut text, args, terminal),
        }
        self.losses.iter().for_each(|says| text += &format!("note: {}\n", fathom_report::clean::line(says)));
        text
    }

    fn write_totals(&self, text: &mut String, args: &Args, terminal: &Terminal) {
        let total: f64 = self.totals.iter().map(|(_, count)| count).sum();
        let kinds = count(self.totals.len(), "kind");
        *text += &format!("{} messages of {kinds}; {}\n\n", number(total), self.why_not);
        let shown = if args.all { usize::MAX } else { SHOWN };
        for (name, count) in self.totals.iter().take(shown) {
            *text += &format!("{:>12}  {}\n", number(*count), shorten(name, width(terminal, 14)));
        }
        *text += &hidden(self.totals.len(), shown);
    }

    fn write_compared(&self, text: &mut String, compared: &Messages, args: &Args, terminal: &Terminal) {
        let (slow_ns, base_ns) = compared.lengths_ns;
        let (slow, base) = compared.counts;
        let kinds = count(self.kinds.len(), "kind");
        *text += &format!(
            "{kinds} of messages; {} in {} of slow time, {} in {} that it is compared with\n",
            number(slow),
            units::duration(slow_ns),
            number(base),
            units::duration(base_ns)
        );
        for interval in self.slow.iter().take(SHOWN) {
            let at = |ns| units::time_of_day(ns, &terminal.zone);
            *text += &format!("  slow {}-{}: {}\n", at(interval.from_ns), at(interval.to_ns), interval.says);
        }
        if self.kinds.len() == 1 {
            *text += "one kind: parts cannot be compared\n";
        } else if !compared.is_comparable {
            *text += &format!("too short to tell differences of {kinds} from chance: give a longer time\n");
        }
        let is_more = |kind: &&MessageKind| kind.differs && kind.odds_ratio > 1.0;
        let is_less = |kind: &&MessageKind| kind.differs && kind.odds_ratio <= 1.0;
        let rest = |kind: &&MessageKind| !kind.differs;
        let found = self.kinds.iter().filter(|kind| kind.differs).count();
        section(text, "more often in slow time", self.kinds.iter().filter(is_more), args, terminal);
        section(text, "less often in slow time", self.kinds.iter().filter(is_less), args, terminal);
        match args.all {
            true => section(text, "no difference that is clear", self.kinds.iter().filter(rest), args, terminal),
            // Where nothing can differ, that nothing does says nothing.
            false if !compared.is_comparable || self.kinds.len() == 1 => {}
            false => {
                *text += &format!("\n{} without a clear difference\n", count(self.kinds.len() - found, "kind"));
            }
        }
    }
}

fn section<'a>(
    text: &mut String,
    heading: &str,
    kinds: impl Iterator<Item = &'a MessageKind>,
    args: &Args,
    terminal: &Terminal,
) {
    let kinds: Vec<&MessageKind> = kinds.collect();
    if kinds.is_empty() {
        return;
    }
    *text += &format!("\n{:>9}{:>10}{:>21}  {heading}\n", "slow /s", "else /s", "odds ratio (95 %)");
    let shown = if args.all { usize::MAX } else { SHOWN };
    for kind in kinds.iter().take(shown) {
        let odds = format!("{} ({}-{})", number(kind.odds_ratio), number(kind.odds_low), number(kind.odds_high));
        let name = shorten(&kind.says, width(terminal, FIGURES));
        *text += &format!("{:>9}{:>10}{odds:>21}  {name}\n", number(kind.slow_per_s), number(kind.baseline_per_s));
    }
    *text += &hidden(kinds.len(), shown);
}

fn hidden(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("and {more} more: --all\n"),
    }
}

/// Columns that are left for a message.
fn width(terminal: &Terminal, before: usize) -> usize {
    terminal.text(false).width.saturating_sub(before).max(20)
}

fn in_json(answers: &[Found]) -> String {
    let found = |found: &Found| {
        let of_compared = |compared: &Messages| {
            json!({
                "is_comparable": compared.is_comparable,
                "slow_count": compared.counts.0, "baseline_count": compared.counts.1,
                "slow_ns": compared.lengths_ns.0, "baseline_ns": compared.lengths_ns.1,
                "kinds": found.kinds,
            })
        };
        let totals: Vec<Value> =
            found.totals.iter().map(|(says, count)| json!({"says": says, "count": count})).collect();
        json!({
            "title": found.title, "slow": found.slow, "compared": found.compared.as_ref().map(of_compared),
            "why_not_compared": found.compared.is_none().then_some(&found.why_not),
            "totals": totals, "losses": found.losses,
        })
    };
    format!("{:#}\n", json!({"schema": 1, "logs": answers.iter().map(found).collect::<Vec<_>>()}))
}
