//! The commit that this is built from, for `fathom --version`. It is not known without git or outside of a checkout.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=FATHOM_CHECKOUT");
    // Every commit and every change of branch writes to this file.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=FATHOM_COMMIT={commit}");
}

/// What git answers, in one line.
fn git(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok().filter(|answer| answer.status.success())?;
    Some(String::from_utf8(answer.stdout).ok()?.trim().to_owned()).filter(|line| !line.is_empty())
}
