//! Fakes: replacements for the services that the server under test calls, while the load runs. The engine runs them in
//! a process of their own, so that their CPU time does not count as the generator's.

mod wanted;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use fathom_report::clean;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(super) use self::wanted::{Fake, read};
use super::numbers::ms;

/// Fakes that run until they are asked what they did, or dropped.
pub(super) struct Fakes {
    child: Child,
    /// They run until this is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    wanted: Vec<Fake>,
}

/// What a fake was and did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Did {
    listen: String,
    upstream: String,
    /// How long answers were to take; none: as long as the upstream took.
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    #[serde(flatten)]
    done: Done,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Done {
    answers: u64,
    /// Answers whose upstream took longer than they were to take.
    upstream_slower: u64,
    /// How late the others were, at the 99th percentile.
    late_p99_ns: i64,
}

impl Fakes {
    /// Returns when they listen.
    pub(super) fn start(program: &Path, wanted: Vec<Fake>) -> Result<Fakes> {
        let name = || program.display().to_string();
        let mut command = Command::new(program);
        command.arg("-fakes").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(name)?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).context("its input is closed")?;
        let mut fakes = Fakes { child, input: Some(input), output: BufReader::new(output), wanted };
        // It may have ended already; then it says why.
        let _ = fakes.tell();
        let listen: Vec<String> = fakes.said()?;
        fakes.wanted.iter_mut().zip(listen).for_each(|(fake, listen)| fake.listen = listen);
        Ok(fakes)
    }

    fn tell(&mut self) -> Result<()> {
        let input = self.input.as_mut().context("its input is closed")?;
        serde_json::to_writer(&mut *input, &self.wanted)?;
        Ok(input.write_all(b"\n")?)
    }

    /// The next line, or why there is none.
    fn said<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            drop(self.input.take());
            let mut errors = String::new();
            if let Some(from) = self.child.stderr.as_mut() {
                from.read_to_string(&mut errors)?;
            }
            bail!("the fakes ended ({}): {}", self.child.wait()?, errors.trim_end());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends them.
    pub(super) fn end(mut self) -> Result<Vec<Did>> {
        drop(self.input.take());
        let done: Vec<Done> = self.said()?;
        let did = |(fake, done): (&Fake, Done)| Did {
            listen: fake.listen.clone(),
            upstream: fake.upstream.clone(),
            p50_ns: fake.quantile_ns(0.5),
            p99_ns: fake.quantile_ns(0.99),
            done,
        };
        Ok(self.wanted.iter().zip(done).map(did).collect())
    }
}

impl Drop for Fakes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Did {
    pub(super) fn text(&self) -> String {
        let Done { answers, upstream_slower, late_p99_ns } = self.done;
        let before = match &*self.upstream {
            "" => "answers itself".to_owned(),
            upstream => format!("before {}", clean::line(upstream)),
        };
        let took = match self.p50_ns.zip(self.p99_ns) {
            Some((p50, p99)) => {
                format!(", after {} (p50) to {} (p99), late by {} (p99)", ms(p50), ms(p99), ms(late_p99_ns))
            }
            None => String::new(),
        };
        let slower = match upstream_slower {
            0 => String::new(),
            count => format!("; {count} times the service itself took longer"),
        };
        format!("fake {} {before}: {answers} answers{took}{slower}\n", clean::line(&self.listen))
    }
}
