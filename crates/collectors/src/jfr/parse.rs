//! What the JVM answers to the commands of Flight Recorder: text to facts, no I/O.
//!
//! The commands say in their text, not in their status, whether they did what was asked.

/// What is being recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    /// Recordings run, by number and name.
    Runs(Vec<(String, String)>),
    /// None runs.
    Absent,
    /// This JVM has no Flight Recorder.
    NoRecorder,
}

/// Reads the answer to `JFR.check`: a line such as `Recording 1: name=fathom maxage=10m (running)` for each recording.
pub(super) fn check(text: &str) -> Check {
    if is_missing(text) {
        return Check::NoRecorder;
    }
    let running = text.lines().filter(|line| line.trim_end().ends_with("(running)"));
    let recordings: Vec<(String, String)> = running.filter_map(recording).collect();
    if recordings.is_empty() { Check::Absent } else { Check::Runs(recordings) }
}

/// A name may hold blanks: it ends where the next setting begins, or the state.
fn recording(line: &str) -> Option<(String, String)> {
    let (number, rest) = line.strip_prefix("Recording ")?.split_once(": ")?;
    let rest = rest.strip_prefix("name=")?;
    let ends = [" maxsize=", " maxage=", " duration=", " (running)"];
    let end = ends.into_iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (number.to_owned(), rest[..end].to_owned()))
}

/// A JDK without the module says so in its own words; other VMs do not know the command.
fn is_missing(text: &str) -> bool {
    ["Module jdk.jfr not found", "Flight Recorder can not be enabled", "Unknown diagnostic command"]
        .iter()
        .any(|words| text.contains(words))
}

/// Whether `JFR.start` did start; else what it said.
pub(super) fn started(text: &str) -> Result<(), String> {
    if text.contains("Started recording") { Ok(()) } else { Err(said(text)) }
}

/// Whether `JFR.dump` did dump; else what it said.
pub(super) fn dumped(text: &str) -> Result<(), String> {
    if text.contains("Dumped recording") { Ok(()) } else { Err(said(text)) }
}

/// The first words of an answer, for a person.
fn said(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings() {
        let runs = |recordings: &[(&str, &str)]| {
            Check::Runs(recordings.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect())
        };
        for (text, expected) in [
            ("No available recordings.\n\nUse jcmd 1 JFR.start to start a recording.\n", Check::Absent),
            ("Recording 1: name=fathom maxsize=64.0MB maxage=10m (running)\n", runs(&[("1", "fathom")])),
            (
                "Recording 1: name=other (running)\nRecording 2: name=fathom (running)\n",
                runs(&[("1", "other"), ("2", "fathom")]),
            ),
            ("Recording 1: name=fathom (stopped)\n", Check::Absent),
            ("Recording 3: name=my own one duration=60s (running)\n", runs(&[("3", "my own one")])),
            ("Recording x: name=fathom (running)\n", Check::Absent),
            ("Module jdk.jfr not found.\nFlight Recorder can not be enabled.\n", Check::NoRecorder),
            ("java.lang.IllegalArgumentException: Unknown diagnostic command", Check::NoRecorder),
            ("", Check::Absent),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_done_and_what_was_not() {
        assert_eq!(started("Started recording 1.\n\nUse jcmd"), Ok(()));
        assert_eq!(started("\nCould not find file '/x'\n"), Err("Could not find file '/x'".to_owned()));
        assert_eq!(dumped("Dumped recording \"fathom\", 693.8 kB written to:\n\n/x\n"), Ok(()));
        assert_eq!(
            dumped("Dump failed. Could not copy recording data. /x"),
            Err("Dump failed. Could not copy recording data. /x".to_owned())
        );
        assert_eq!(dumped(""), Err("it said nothing".to_owned()));
    }
}
