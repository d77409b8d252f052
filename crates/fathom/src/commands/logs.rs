//! `fathom logs`: which log messages, or requests of access logs, were more or less frequent in the slow time.

use anyhow::Result;
use fathom_causes::explanation::{HeadlineKind, LineKind, SlowInterval};
use fathom_causes::format::{count, number};
use fathom_causes::messages::{self, Analysis, Lines, Messages};
use fathom_causes::{ExplainOptions, investigate};
use fathom_report::clean::shorten;
use fathom_report::units;
use serde_json::{Value, json};

use super::Answer;
use crate::inputs::{Question, Service, file_name};
use crate::terminal::Terminal;

/// Show which messages of application logs, or requests of access logs, came more or less often in slow time
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
  fathom logs access.log                              which requests the slow time has more of, and which answers

log4j, logback, java.util.logging, lines of JSON, syslog and exports of journald are read, also as containers write them.
Messages that differ in numbers and names only are one kind. A kind is named if it came more (or less) often per second
and also had a larger (or smaller) part in all messages; of all that are named, about 5 % may be there by chance.
What a program logs in slow time is mostly what followed from it: a by-product and not the cause.";

const GIVE: &str = "--slow FROM..TO, or --latency FILE";

/// Kinds that are printed without `--all`.
const SHOWN: usize = 15;

/// Columns of the figures before a message.
const FIGURES: usize = 58;

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
struct Found {
    title: String,
    slow: Vec<SlowInterval>,
    /// Messages, requests and statuses of answers, as far as there are any.
    families: Vec<Family>,
    losses: Vec<String>,
}

/// Lines that are compared with each other.
struct Family {
    lines: Lines,
    compared: Option<Messages>,
    /// The kinds that were compared.
    kinds: Vec<LineKind>,
    /// Why nothing is compared.
    why_not: String,
    /// By how often they came, where nothing can be compared.
    totals: Vec<(String, f64)>,
}

impl Found {
    fn of(service: &Service, args: &Args, terminal: &Terminal) -> Result<Found> {
        let options = ExplainOptions { slow: args.question.slow_ns(service, terminal)?, baseline: None };
        let title = file_name(&service.paths[0]);
        let Some((analysis, explanation)) = investigate(&service.recording, &options) else {
            return Ok(Found { title, slow: Vec::new(), families: Vec::new(), losses: Vec::new() });
        };
        let family = |lines| Family::of(&analysis, explanation.headline.kind, lines, terminal);
        let families = Lines::ALL.into_iter().map(family).filter(|family| !family.totals.is_empty()).collect();
        let losses = explanation.losses.into_iter().map(|loss| loss.says).collect();
        Ok(Found { title, slow: explanation.slow, families, losses })
    }

    fn text(&self, args: &Args, terminal: &Terminal) -> String {
        let mut text = format!("{}: ", self.title);
        if self.families.is_empty() {
            text += "no messages of an application, and no requests that have a name\n";
        }
        for (nth, family) in self.families.iter().enumerate() {
            let slow = if nth == 0 { &self.slow[..] } else { &[] };
            text += if nth == 0 { "" } else { "\n" };
            match &family.compared {
                Some(compared) => family.write_compared(&mut text, (compared, slow), args, terminal),
                None => family.write_totals(&mut text, args, terminal),
            }
        }
        self.losses.iter().for_each(|says| text += &format!("note: {}\n", fathom_report::clean::line(says)));
        text
    }

    fn family(&self, lines: Lines) -> Option<&Family> {
        self.families.iter().find(|family| family.lines == lines)
    }
}

impl Family {
    fn of(analysis: &Analysis<'_>, headline: HeadlineKind, lines: Lines, terminal: &Terminal) -> Family {
        let is_slow = !analysis.slowdown.time.is_empty();
        let has_baseline = analysis.baseline_time(&analysis.slowdown).is_some();
        let covered = messages::covered_ns(&analysis.sources, lines).filter(|_| is_slow && has_baseline);
        let why_not = match (covered, headline) {
            (Some((from_ns, to_ns)), _) => {
                let at = |ns| units::date_and_time(ns, &terminal.zone);
                format!("the log covers {}..{} only: not both slow time and other", at(from_ns), at(to_ns))
            }
            _ if is_slow => "all of it was slow: nothing to compare with".to_owned(),
            (_, HeadlineKind::NothingSlow) => "nothing was slow: --slow FROM..TO says otherwise".to_owned(),
            (_, HeadlineKind::NoSign) => format!("nothing that was recorded shows slow time: {GIVE}"),
            _ => format!("when it was slow is not known: {GIVE}"),
        };
        let (compared, totals) = (analysis.messages(lines).cloned(), messages::totals(&analysis.sources, lines));
        let kinds = compared.as_ref().map(messages::kinds).unwrap_or_default();
        Family { lines, compared, kinds, why_not, totals }
    }

    /// What is counted: of kinds, and without.
    fn words(&self) -> (&'static str, &'static str) {
        match self.lines {
            Lines::Messages => ("of messages", "messages"),
            Lines::Requests => ("of requests", "requests"),
            Lines::Statuses => ("of answers, by status", "answers"),
        }
    }

    fn write_totals(&self, text: &mut String, args: &Args, terminal: &Terminal) {
        let total: f64 = self.totals.iter().map(|(_, count)| count).sum();
        let kinds = count(self.totals.len(), "kind");
        *text += &format!("{} {} of {kinds}; {}\n\n", number(total), self.words().1, self.why_not);
        let shown = if args.all { usize::MAX } else { SHOWN };
        for (name, count) in self.totals.iter().take(shown) {
            *text += &format!("{:>12}  {}\n", number(*count), shorten(name, width(terminal, 14)));
        }
        *text += &hidden(self.totals.len(), shown);
    }

    fn write_compared(
        &self,
        text: &mut String,
        (compared, slow): (&Messages, &[SlowInterval]),
        args: &Args,
        terminal: &Terminal,
    ) {
        let kinds = count(self.kinds.len(), "kind");
        *text += &format!(
            "{kinds} {}; {} in {} of slow time, {} in {} that it is compared with\n",
            self.words().0,
            number(compared.counts.0),
            units::duration(compared.lengths_ns.0),
            number(compared.counts.1),
            units::duration(compared.lengths_ns.1)
        );
        for interval in slow.iter().take(SHOWN) {
            let at = |ns| units::time_of_day(ns, &terminal.zone);
            *text += &format!("  slow {}-{}: {}\n", at(interval.from_ns), at(interval.to_ns), interval.says);
        }
        if self.kinds.len() == 1 {
            *text += &format!("one kind ({}): parts cannot be compared\n", self.kinds[0].says);
        } else if !compared.is_comparable {
            *text += &format!("too short to tell differences of {kinds} from chance: give a longer time\n");
        }
        self.write_kinds(text, compared, args, terminal);
    }

    fn write_kinds(&self, text: &mut String, compared: &Messages, args: &Args, terminal: &Terminal) {
        let is_more = |kind: &&LineKind| kind.differs && kind.odds_ratio > 1.0;
        let is_less = |kind: &&LineKind| kind.differs && kind.odds_ratio <= 1.0;
        let rest = |kind: &&LineKind| !kind.differs;
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

    fn in_json(&self) -> Value {
        let compared = self.compared.as_ref().map(|compared| {
            json!({
                "is_comparable": compared.is_comparable,
                "slow_count": compared.counts.0, "baseline_count": compared.counts.1,
                "slow_ns": compared.lengths_ns.0, "baseline_ns": compared.lengths_ns.1,
                "kinds": self.kinds,
            })
        });
        let totals: Vec<Value> =
            self.totals.iter().map(|(says, count)| json!({"says": says, "count": count})).collect();
        json!({
            "compared": compared, "totals": totals,
            "why_not_compared": self.compared.is_none().then_some(&self.why_not),
        })
    }
}

fn section<'a>(
    text: &mut String,
    heading: &str,
    kinds: impl Iterator<Item = &'a LineKind>,
    args: &Args,
    terminal: &Terminal,
) {
    let kinds: Vec<&LineKind> = kinds.collect();
    if kinds.is_empty() {
        return;
    }
    *text += &format!(
        "\n{:>9}{:>10}{:>8}{:>8}{:>21}  {heading}\n",
        "slow /s", "else /s", "slow", "else", "odds ratio (95 %)"
    );
    let shown = if args.all { usize::MAX } else { SHOWN };
    for kind in kinds.iter().take(shown) {
        let odds = format!("{} ({}-{})", number(kind.odds_ratio), number(kind.odds_low), number(kind.odds_high));
        let name = shorten(&kind.says, width(terminal, FIGURES));
        let per_s = [kind.slow_per_s, kind.baseline_per_s].map(number);
        let parts = [kind.slow_ratio, kind.baseline_ratio].map(|part| units::amount(part, "ratio"));
        *text += &format!("{:>9}{:>10}{:>8}{:>8}{odds:>21}  {name}\n", per_s[0], per_s[1], parts[0], parts[1]);
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
        let family = |lines| found.family(lines).map(Family::in_json);
        let messages = family(Lines::Messages).unwrap_or_else(|| json!({"compared": null, "totals": []}));
        json!({
            "title": found.title, "slow": found.slow, "compared": messages["compared"],
            "why_not_compared": messages["why_not_compared"], "totals": messages["totals"],
            "requests": family(Lines::Requests), "statuses": family(Lines::Statuses), "losses": found.losses,
        })
    };
    format!("{:#}\n", json!({"schema": 1, "logs": answers.iter().map(found).collect::<Vec<_>>()}))
}
