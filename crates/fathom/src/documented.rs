//! Checks README and docs against the program: commands by the command line's own definition, words by their lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use fathom_evidence::kinds::loss;

use crate::cli::Cli;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, the pages of docs and of the catalogue, with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let mut folders = vec![repository().join("docs"), repository().join("crates/causes/catalog")];
    let mut paths = vec![repository().join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(ending) if ending == "md" => paths.push(path),
                _ => {}
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The command lines of a page: lines of blocks that begin with the program, and pieces of code in sentences that do.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 1 {
            let whole = part.replace("\\\n", " ");
            let lines = whole.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
            found
                .extend(lines.flat_map(|line| line.split(" # ").next().unwrap_or(line).split("&&")).map(str::to_owned));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " ")));
        }
    }
    let own = |text: &String| {
        let text = text.trim();
        let text = text.rsplit("| ").find(|piece| piece.starts_with("fathom ")).unwrap_or(text);
        let text = text.strip_prefix("sudo ").unwrap_or(text);
        text.starts_with("fathom ").then(|| text.split([';', '|']).next().unwrap_or(text).to_owned())
    };
    found.iter().filter_map(own).collect()
}

/// Words as a shell parts them; `None` where a quote is not closed.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for character in command.chars() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            (_, character) => word.push(character),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    quote.is_none().then_some(words)
}

/// What the command line says of a command: nothing if it takes it, or takes it once the reader has put in what stands in
/// capitals or is left out.
fn complaint(words: &[String]) -> Option<String> {
    let error = Cli::try_parse_from(words).err()?;
    let is_pattern = words.iter().any(|word| word.chars().any(char::is_uppercase) || word.contains('…'));
    match error.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::ValueValidation if is_pattern => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_that_is_documented_is_taken() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (path, text) in pages() {
        for command in commands(&text) {
            count += 1;
            let says = match words(&command) {
                Some(words) => complaint(&words),
                None => Some("a quote is not closed".to_owned()),
            };
            wrong.extend(says.map(|says| format!("{}: {command}\n    {says}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

#[test]
fn commands_are_found_and_judged() {
    let page = "Try `fathom explain a.jfr` or `sudo fathom\nps`:\n```sh\n$ fathom record \\\n  --pid PID --for 60s  # a comment\nother\n\
                echo x | fathom mcp\n```\nand `code`.";
    let expected = ["fathom explain a.jfr", "fathom ps", "fathom record    --pid PID --for 60s", "fathom mcp"];
    assert_eq!(commands(page), expected);
    for (command, is_taken) in [
        ("fathom record --pid PID --for 60s", true),
        ("fathom lab run", true),
        ("fathom record --fro 60s", false),
        ("fathom record --pid two", false),
        ("fathom explane x", false),
        ("fathom lab walk x", false),
    ] {
        assert_eq!(complaint(&words(command).unwrap()).is_none(), is_taken, "{command}");
    }
}

#[test]
fn the_json_page_knows_all_sources_and_losses() {
    let readers = fathom_readers::readers().iter().map(|reader| reader.name());
    let collectors = fathom_collectors::collectors().iter().map(|collector| collector.name());
    let losses = loss::ALL.iter().map(|word| word.word);
    let words: BTreeSet<&str> = readers.chain(collectors).chain(losses).collect();
    let json = fs::read_to_string(repository().join("docs/json.md")).unwrap();
    let missing: Vec<&&str> = words.iter().filter(|word| !json.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/json.md does not know {missing:?}");
}

/// Commands that print JSON are described; what a user needs first stands first.
#[test]
fn help_and_the_json_page_agree() {
    fn with_json(command: &clap::Command, name: &str, found: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{name} {}", command.get_name());
            let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
            found.extend(has_json.then(|| name.clone()));
            with_json(command, &name, found);
        }
    }
    let mut commands = Vec::new();
    with_json(&Cli::command(), "fathom", &mut commands);
    let page = fs::read_to_string(repository().join("docs/json.md")).unwrap();
    let is_described = |command: &String| page.lines().any(|line| line.starts_with(&format!("## `{command} ")));
    commands.retain(|command| !is_described(command));
    assert!(commands.is_empty(), "docs/json.md has no section of {commands:?}");
    let help = Cli::command().render_help().to_string();
    let at = |command: &str| help.find(&format!("\n  {command} ")).unwrap();
    let in_order = ["demo", "doctor", "record", "explain", "open", "watch", "compare", "lab", "completions"];
    assert!(in_order.is_sorted_by_key(|command| at(command)), "{help}");
}
