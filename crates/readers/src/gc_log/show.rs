//! One line per event, for snapshots.

use crate::gc_log::event::{Change, Event, Pause, Phase, Safepoint, Stamp};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn at(stamp: Stamp) -> String {
    let seconds = |ns: Option<i64>| ns.map_or("?".to_owned(), |ns| format!("{}", ns as f64 / 1e9));
    match stamp.wall_ns {
        Some(ns) => format!("@{} wall {}", seconds(stamp.uptime_ns), seconds(Some(ns))),
        None => format!("@{}", seconds(stamp.uptime_ns)),
    }
}

fn change(name: &str, change: Option<Change>) -> String {
    change.map_or(String::new(), |c| match c.capacity {
        Some(capacity) => format!(" {name} {}>{}/{capacity}", c.before, c.after),
        None => format!(" {name} {}>{}", c.before, c.after),
    })
}

fn phase(kind: &str, p: &Phase<'_>) -> String {
    let id = p.gc_id.map_or(String::new(), |id| format!(" #{id}"));
    format!("{kind}{id} {:?} {} {} ns", text(p.name), at(p.start), p.duration_ns)
}

fn pause(p: &Pause<'_>) -> String {
    let id = p.gc_id.map_or(String::new(), |id| format!(" #{id}"));
    let cpu = p.cpu.map_or(String::new(), |c| format!(" cpu {}+{}/{}", c.user_ns, c.system_ns, c.real_ns));
    let trouble = if p.trouble.is_empty() { String::new() } else { format!(" TROUBLE {}", text(p.trouble)) };
    format!(
        "pause{id} {:?} ({}) {} {} ns{}{}{}{}{cpu}{trouble}",
        text(p.name),
        text(p.cause),
        at(p.start),
        p.duration_ns,
        change("heap", p.heap),
        change("young", p.young),
        change("old", p.old),
        change("meta", p.metaspace.or(p.permanent))
    )
}

fn safepoint(s: &Safepoint<'_>) -> String {
    format!(
        "safepoint {:?} {} {} ns ttsp {:?} threads {:?}/{:?}{}",
        text(s.operation),
        at(s.start),
        s.duration_ns,
        s.time_to_safepoint_ns,
        s.running_threads,
        s.threads,
        if s.coarse { " coarse" } else { "" }
    )
}

/// What `event` says.
pub(crate) fn event(event: &Event<'_>) -> String {
    match event {
        Event::Pause(p) => pause(p),
        Event::PauseBegins { name, .. } => format!("begins {:?}", text(name)),
        Event::PausePhase(p) => phase("phase", p),
        Event::Concurrent(p) => phase("concurrent", p),
        Event::Stall(p) => phase("stall", p),
        Event::Collection { gc_id, name, cause, heap, duration_ns, ended, .. } => format!(
            "collection #{gc_id:?} {:?} ({}) ended {ended} {duration_ns:?}{}",
            text(name),
            text(cause),
            change("heap", *heap)
        ),
        Event::Resize { space, change: c, .. } => format!("{space:?}{}", change("", Some(*c))),
        Event::Cpu { times, .. } => format!("{times:?}"),
        Event::Safepoint(s) => safepoint(s),
        Event::SafepointName(name) => format!("safepoint name {:?}", text(name)),
        Event::CodeCache { segment, size, used, .. } => format!("code cache {:?} {used} of {size}", text(segment)),
        Event::CodeCacheFull { segment, .. } => format!("code cache {:?} full", text(segment)),
        Event::Note { class, text: t, .. } => format!("{class} {:?}", text(t)),
        Event::Fact { key, value } => format!("{} = {}", text(key), text(value)),
        other => format!("{other:?}"),
    }
}
