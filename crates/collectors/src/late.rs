//! Collectors that need the JVM's answer, while the JVM does not respond yet: they are retried until the recording ends.
//!
//! A sick JVM often does not respond. Nothing else waits for it, and late answers are used.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::{Observer, Order, Refusal, Target};

/// From one try to the next.
const PAUSE: Duration = Duration::from_secs(3);

/// What starts an observer.
pub(crate) type Begin = fn(&Target, &Order) -> Result<Box<dyn Observer>, Refusal>;

/// Starts an observer, now or as soon as the JVM answers.
pub(crate) fn start(
    name: &'static str,
    begin: Begin,
    target: &Target,
    order: &Order,
) -> Result<Box<dyn Observer>, Refusal> {
    let refusal = match begin(target, order) {
        Err(refusal) if refusal.may_pass => refusal,
        decided => return decided,
    };
    let (target, order, next) = (target.clone(), order.clone(), Some(Instant::now() + PAUSE));
    Ok(Box::new(Late { name, begin, target, order, next, tries: 1, refusal, observer: None }))
}

/// An observer that has begun, or will.
struct Late {
    name: &'static str,
    begin: Begin,
    target: Target,
    order: Order,
    /// When it is tried again; never once the JVM has refused for good.
    next: Option<Instant>,
    tries: u32,
    refusal: Refusal,
    observer: Option<Box<dyn Observer>>,
}

impl Late {
    fn try_again(&mut self, found: &mut Recording) {
        if self.observer.is_some() || self.next.is_none_or(|next| Instant::now() < next) {
            return;
        }
        self.tries += 1;
        match (self.begin)(&self.target, &self.order) {
            Ok(observer) => {
                if let Some(outstanding) = observer.outstanding() {
                    outstanding.note(found, self.name);
                }
                self.observer = Some(observer);
            }
            Err(refusal) => {
                self.next = refusal.may_pass.then(|| Instant::now() + PAUSE);
                self.refusal = refusal;
            }
        }
    }
}

impl Observer for Late {
    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn look(&mut self, found: &mut Recording) {
        self.try_again(found);
        if let Some(observer) = &mut self.observer {
            observer.look(found);
        }
    }

    fn own_threads_cpu_ns(&self) -> i64 {
        self.observer.as_ref().map_or(0, |observer| observer.own_threads_cpu_ns())
    }

    fn finish(self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        let Late { name, tries, refusal, observer, .. } = *self;
        if let Some(observer) = observer {
            return observer.finish(found);
        }
        let says = format!("{}; asked {tries} times until the end of the recording", refusal.why);
        found.add_loss(name, loss::REFUSED, 0, &says);
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::recorder::Plan;

    struct Nothing;

    impl Observer for Nothing {
        fn period(&self) -> Duration {
            Duration::from_secs(1)
        }

        fn look(&mut self, found: &mut Recording) {
            found.add_counter(1, "looks", "", 1.0, "test");
        }

        fn finish(self: Box<Self>, _found: &mut Recording) -> Vec<PathBuf> {
            vec![PathBuf::from("dumped")]
        }
    }

    fn never(_target: &Target, _order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Err(Refusal::new("no answer", "").that_may_pass())
    }

    fn by_and_by(_target: &Target, _order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        match ASKED.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(Refusal::new("no answer", "").that_may_pass()),
            _ => Ok(Box::new(Nothing)),
        }
    }

    fn refuses(_target: &Target, _order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Err(Refusal::new("it must not", ""))
    }

    fn late(begin: Begin) -> Late {
        let target = Target::of(std::process::id()).unwrap();
        let (order, refusal) = (Plan::new("/nowhere".into()).order, Refusal::new("no answer", ""));
        Late { name: "test", begin, target, order, next: Some(Instant::now()), tries: 1, refusal, observer: None }
    }

    #[test]
    fn it_begins_as_soon_as_there_is_an_answer() {
        let (mut late, mut found) = (Box::new(late(by_and_by)), Recording::default());
        for _ in 0..4 {
            late.look(&mut found);
            late.next = late.next.map(|_| Instant::now());
        }
        assert_eq!(found.counters.rows().len(), 2, "the third time");
        assert_eq!(late.finish(&mut found), [PathBuf::from("dumped")]);
        assert_eq!(found.losses.rows().len(), 0);
    }

    #[test]
    fn who_never_answers_is_told_of_once_and_who_refuses_is_not_asked_again() {
        for (begin, tries) in [(never as Begin, "asked 4 times"), (refuses, "asked 2 times")] {
            let (mut late, mut found) = (Box::new(late(begin)), Recording::default());
            for _ in 0..3 {
                late.look(&mut found);
                late.next = late.next.map(|_| Instant::now());
            }
            assert!(late.finish(&mut found).is_empty());
            let says: Vec<&str> = found.losses.rows().map(|row| found.text(row.says)).collect();
            assert!(says.len() == 1 && says[0].contains(tries), "{says:?}");
        }
        let target = Target::of(std::process::id()).unwrap();
        let order = Plan::new("/nowhere".into()).order;
        assert!(start("test", refuses, &target, &order).is_err(), "a refusal for good is one at once");
    }
}
