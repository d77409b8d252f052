//! Facts for comparing many hosts and JVMs: what is set, built in or given, and never what differs on every host anyway.

use fathom_evidence::kinds::subject;
use fathom_evidence::tables::Fact;
use fathom_evidence::{Recording, mask, settings};

use super::sheet::Sheet;
use super::{container, devices, host, jars, process};
use crate::jvm_counters::Counters;
use crate::jvms::{Jvm, options};
use crate::mapped::Mapped;
use crate::procfs;
use crate::{Target, cgroup};

/// A fact and its value.
pub type ComparedFact = (String, String);

/// Facts of the host that differ on each host, or at each look.
const OWN: &[&str] =
    &["uptime_s", "kernel_options", "memory_low_watermark_bytes", "memory_high_watermark_bytes", "cpu_bugs"];

/// What the JVM says of itself in its counters.
const OF_JVM: &[(&str, &str)] = &[
    ("java.property.java.version", "jdk_version"),
    ("java.property.java.vm.version", "jdk_build"),
    ("java.property.java.vm.vendor", "jdk_vendor"),
    ("java.property.java.vm.name", "jdk_vm"),
    ("java.property.java.vm.info", "jdk_mode"),
];

/// Everything of one JVM and its host. Costs some hundred small reads.
pub fn compared(jvm: &Jvm) -> Vec<ComparedFact> {
    let mut recording = Recording::default();
    let mut sheet = Sheet(&mut recording);
    host::note(&mut sheet);
    devices::note(&mut sheet);
    process::note_settings(&jvm.target, &mut sheet);
    container::note(&jvm.target, &mut sheet);
    jars::note(&jvm.target, &mut sheet);
    let mut facts: Vec<ComparedFact> = recording.facts.rows().filter_map(|fact| named(&recording, fact)).collect();
    facts.extend(cgroup::limits(&jvm.target).into_iter().map(|(key, value)| (format!("cgroup:{key}"), value)));
    facts.extend(of_jvm(&jvm.target));
    facts.push(("collector".to_owned(), jvm.collector.clone()));
    facts.retain(|(_, value)| !value.is_empty());
    facts.sort_unstable();
    facts.dedup();
    facts
}

fn named(recording: &Recording, fact: Fact) -> Option<ComparedFact> {
    let [about, key, value] = [fact.subject, fact.key, fact.value].map(|text| recording.text(text));
    let key = match about {
        subject::HOST if OWN.contains(&key) || key.starts_with("swap ") => return None,
        subject::HOST => key.to_owned(),
        subject::DISK if settings::is_of_disk(key) => format!("disk:{key}"),
        subject::CONTAINER if key == "id" => return None,
        subject::PROCESS | subject::CONTAINER | subject::ENVIRONMENT | subject::JAR => format!("{about}:{key}"),
        _ => return None,
    };
    Some((key, value.to_owned()))
}

fn of_jvm(target: &Target) -> Vec<ComparedFact> {
    let counters = Mapped::of(target).ok().and_then(|mapped| Counters::of(target, &mapped).ok());
    let text = |name: &str| counters.as_ref().and_then(|counters| counters.text(name));
    let said = OF_JVM.iter().filter_map(|(name, key)| Some(((*key).to_owned(), text(name)?)));
    let given: Vec<String> = match &counters {
        // They also have what stood in JAVA_TOOL_OPTIONS and in files of arguments.
        Some(_) => ["java.rt.vmFlags", "java.rt.vmArgs"].iter().filter_map(|name| text(name)).collect(),
        None => options(&procfs::read(target.proc("cmdline")).unwrap_or_default()),
    };
    let given = given.iter().flat_map(|text| text.split_whitespace());
    said.chain(given.filter_map(option)).collect()
}

/// An option of the JVM as a fact. System properties and options of agents may be secrets and are none.
fn option(text: &str) -> Option<ComparedFact> {
    let flag = |name: &str, value: &str| Some((format!("flag:{name}"), mask::flag(name, value).into_owned()));
    if let Some(named) = text.strip_prefix("-XX:") {
        return match named.split_at_checked(1)? {
            ("+", name) => flag(name, "true"),
            ("-", name) => flag(name, "false"),
            _ => named.split_once('=').and_then(|(name, value)| flag(name, value)),
        };
    }
    if let Some((name, path)) = settings::agent(text) {
        return Some((format!("agent:{name}"), path.to_owned()));
    }
    let (name, value) = match settings::size(text) {
        Some(size) => size,
        None => text.starts_with("-X").then(|| text.split_once([':', '=']).unwrap_or((text, "true")))?,
    };
    flag(name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_facts_and_secrets_are_not() {
        for (text, expected) in [
            ("-XX:+UseZGC", Some(("flag:UseZGC", "true"))),
            ("-XX:-UseBiasedLocking", Some(("flag:UseBiasedLocking", "false"))),
            ("-XX:ReservedCodeCacheSize=5m", Some(("flag:ReservedCodeCacheSize", "5m"))),
            ("-Xmx4g", Some(("flag:-Xmx", "4g"))),
            ("-Xint", Some(("flag:-Xint", "true"))),
            ("-Xlog:gc*:file=/x", Some(("flag:-Xlog", "gc*:file=/x"))),
            ("-javaagent:/opt/apm/agent.jar=key=secret", Some(("agent:agent.jar", "/opt/apm/agent.jar"))),
            ("-agentlib:jdwp=transport=dt_socket", Some(("agent:jdwp", "jdwp"))),
            ("-Dpassword=secret", None),
            ("-XX:", None),
            ("shop.Main", None),
            ("-cp", None),
            ("", None),
        ] {
            let found = option(text);
            assert_eq!(found.as_ref().map(|(key, value)| (&**key, &**value)), expected, "{text:?}");
        }
    }

    #[test]
    fn facts_of_this_host_are_there_and_none_twice() {
        let Some(jvm) = crate::jvms::jvms().into_iter().next() else { return eprintln!("SKIPPED: no JVM runs") };
        let facts = compared(&jvm);
        assert!(facts.iter().any(|(key, _)| key == "kernel"), "{facts:?}");
        assert!(facts.iter().all(|(key, value)| !key.contains("uptime") && !value.is_empty()), "{facts:?}");
    }
}
