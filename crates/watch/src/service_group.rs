//! Which JVMs are the same service: after a restart or a deploy, and as replicas. Every Spring Boot service has the
//! same main class, so services are distinguished by their arguments and properties, and by the container's name.

use fathom_collectors::containers::labels::{self, Labels};
use fathom_collectors::jvms::Jvm;

/// Labels by which engines and orchestrators call a container, the most stable ones first. Its id is another one after each restart.
const NAMES: [&str; 5] = [
    "io.kubernetes.cri.container-name",
    "io.kubernetes.container.name",
    "app.kubernetes.io/name",
    "com.docker.compose.service",
    "app",
];

/// Longer runs of digits are times and numbers of processes, which a restart changes; a port has five digits at most.
const PORT_DIGITS: usize = 5;

/// Main class, container, arguments and properties.
pub(crate) fn of(jvm: &Jvm) -> String {
    group(jvm, &jvm.container.as_deref().map(labels::of).unwrap_or_default())
}

fn group(jvm: &Jvm, labels: &Labels) -> String {
    let container = NAMES.iter().find_map(|name| labels.get(*name)).or(jvm.container.as_ref());
    let container = container.map_or_else(String::new, |container| format!(" in {container}"));
    let arguments = jvm.command_line.strip_prefix(jvm.main.as_str()).unwrap_or(&jvm.command_line);
    let reported: Vec<String> = [arguments, jvm.properties.as_str()].iter().map(|text| stable(text.trim())).collect();
    format!("{}{container} {}", jvm.main, reported.join(" ").trim()).trim_end().to_owned()
}

/// The text without what changes at each start.
fn stable(text: &str) -> String {
    let mut stable = String::with_capacity(text.len());
    for run in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = run.bytes().take_while(u8::is_ascii_digit).count();
        stable.push_str(if digits > PORT_DIGITS { "#" } else { &run[..digits] });
        stable.push_str(&run[digits..]);
    }
    stable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched_jvm::tests::no_jvm;

    fn named(command_line: &str, properties: &str, container: Option<&str>) -> Jvm {
        let main = command_line.split(' ').next().unwrap_or_default().to_owned();
        Jvm {
            main,
            command_line: command_line.to_owned(),
            properties: properties.to_owned(),
            container: container.map(str::to_owned),
            ..no_jvm()
        }
    }

    #[test]
    fn services_of_one_main_class_are_reported_apart_and_restarts_are_not() {
        let launcher = "org.springframework.boot.loader.JarLauncher";
        let of = |arguments: &str, properties: &str| {
            group(&named(&format!("{launcher} {arguments}"), properties, None), &Labels::new())
        };
        assert_ne!(of("--server.port=8081", ""), of("--server.port=8082", ""));
        assert_ne!(of("", "-Dspring.application.name=cart"), of("", "-Dspring.application.name=shop"));
        assert_eq!(of("--run=1764270512", ""), of("--run=1764279999", ""));
        assert_eq!(of("", ""), launcher);
    }

    #[test]
    fn a_container_is_known_by_its_name_where_there_is_one() {
        let (one, other) = (named("a.B", "", Some("0123456789ab")), named("a.B", "", Some("ba9876543210")));
        let labels = Labels::from([("com.docker.compose.service".to_owned(), "cart".to_owned())]);
        assert_eq!(group(&one, &labels), "a.B in cart");
        assert_eq!(group(&one, &labels), group(&other, &labels));
        assert_ne!(group(&one, &Labels::new()), group(&other, &Labels::new()));
    }
}
