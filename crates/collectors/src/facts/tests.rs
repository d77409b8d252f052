//! Facts about this very process and machine, and about a child with a known environment.

use std::process::Command;

use fathom_evidence::kinds::subject;
use fathom_evidence::tables::Fact;

use super::*;

fn facts_of(pid: u32) -> Recording {
    let mut found = Recording::default();
    Once(Some(Target::of(pid).unwrap())).look(&mut found);
    found
}

#[test]
fn this_machine_and_process_are_described() {
    let found = facts_of(std::process::id());
    let fact = |subject: &str, key: &str| found.fact(subject, key).unwrap_or_default().to_owned();
    let release = Command::new("uname").arg("-r").output().unwrap();
    assert_eq!(fact(subject::HOST, "kernel"), String::from_utf8(release.stdout).unwrap().trim());
    assert!(fact(subject::HOST, "cpus").parse::<usize>().unwrap() >= 1);
    assert_eq!(fact(subject::PLACE, "working_folder.path"), std::env::current_dir().unwrap().to_str().unwrap());
    assert!(!fact(subject::PLACE, "working_folder.file_system").is_empty());
    assert!(fact(subject::PROCESS, "limit.open_files").contains(' '));
    let of_libc = |subject: &str| {
        let libc = |row: &Fact| found.text(row.subject) == subject && found.text(row.key).contains("libc");
        found.facts.rows().find(libc).map_or("", |row| found.text(row.value))
    };
    assert!(matches!(of_libc(subject::LIBRARY_BINDING), "lazy" | "now" | "none"));
    let build = of_libc(subject::LIBRARY_BUILD);
    let is_id = build.len() == 16 && build.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_id || build == "none", "{build}");
    assert_eq!(fathom_evidence::mask::text(build), build, "it is not taken for a secret");
}

#[test]
fn of_an_environment_only_known_names_are_kept() {
    let mut child =
        Command::new("sleep").arg("60").env("LD_BIND_NOW", "1").env("API_TOKEN", "hunter2").spawn().unwrap();
    // Between fork and exec the child is a copy of this process, in the midst of exec it has no environment.
    let give_up = std::time::Instant::now() + Duration::from_secs(30);
    let mut found = facts_of(child.id());
    while found.fact(subject::ENVIRONMENT, "LD_BIND_NOW").is_none() && std::time::Instant::now() < give_up {
        found = facts_of(child.id());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found.fact(subject::ENVIRONMENT, "LD_BIND_NOW"), Some("1"));
    let texts = found.facts.rows().flat_map(|row| [row.key, row.value]).map(|text| found.text(text).to_owned());
    assert!(!texts.into_iter().any(|text| text.contains("hunter2") || text.contains("API_TOKEN")));
}
