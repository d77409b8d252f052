//! Days and hours of admissions.

use super::*;
use crate::config::Capture;

/// The question of a JVM of a service.
fn asked<'a>(jvm: JvmKey, service: &'a str, trigger: &'a Trigger) -> Question<'a> {
    Question { jvm, main: service, service, uid: 1000, trigger, id: "x" }
}

fn trigger(kind: Kind, which: &str) -> Trigger {
    at(kind, which, 0)
}

fn at(kind: Kind, which: &str, at_s: i64) -> Trigger {
    Trigger { kind, which: which.to_owned(), says: String::new(), at_ns: at_s * 1_000_000_000 }
}

#[test]
fn a_day_of_admissions() {
    let mut admission = Admission::new(&Config::default(), 0);
    let slow = |which: &str| trigger(Kind::RequestsSlow, which);
    let hand = trigger(Kind::ByHand, "");
    let (a, b, c) = ((1, 10), (2, 20), (3, 30));
    let ask = |admission: &mut Admission, jvm: JvmKey, trigger: &Trigger, now_s| {
        let main = if jvm == a { "Cart" } else { "Shop" };
        let answer = admission.ask(&asked(jvm, main, trigger), now_s);
        (answer.skip, answer.times_today)
    };
    assert_eq!(ask(&mut admission, a, &slow(":80"), 0), (None, 1));
    assert_eq!(ask(&mut admission, a, &slow(":80"), 5), (Some(Skip::Running), 2));
    assert_eq!(ask(&mut admission, a, &hand, 5), (Some(Skip::Running), 1), "not even by hand");
    assert_eq!(ask(&mut admission, b, &slow(":80"), 6), (Some(Skip::Together), 1), "it is one event");
    assert_eq!(ask(&mut admission, b, &slow(":80"), 16), (None, 2));
    assert_eq!(ask(&mut admission, c, &slow(":81"), 27), (Some(Skip::AtOnce), 1));
    assert_eq!(admission.ask_again(&asked(c, "Shop", &slow(":81")), 28), Some(Skip::AtOnce));
    admission.ended(a, 40);
    assert_eq!(admission.ask_again(&asked(c, "Shop", &slow(":81")), 40), None, "its turn");
    admission.ended(c, 50);
    admission.ended(b, 50);
    assert_eq!(ask(&mut admission, a, &slow(":80"), 100), (Some(Skip::CoolDown), 3));
    assert_eq!(ask(&mut admission, a, &hand, 100), (None, 2), "by hand there is no cool-down");
    admission.ended(a, 140);
    for (at_s, expected) in [(1000, (None, 4)), (5000, (None, 5)), (9000, (Some(Skip::SameToday), 6))] {
        assert_eq!(ask(&mut admission, a, &slow(":80"), at_s), expected, "{at_s}");
        admission.ended(a, at_s + 30);
    }
    assert_eq!(ask(&mut admission, a, &slow(":80"), 100_000), (None, 1), "another day");
}

#[test]
fn an_hour_has_a_budget() {
    let capture = Capture { per_hour: 2, ..Capture::default() };
    let mut admission = Admission::new(&Config { capture, ..Config::default() }, 0);
    let skips: Vec<Option<Skip>> = (0..4)
        .map(|at| {
            let jvm = (at, 0);
            let trigger = trigger(Kind::Rule, &at.to_string());
            let answer = admission.ask(&asked(jvm, "Cart", &trigger), i64::from(at) * 1500);
            admission.ended(jvm, i64::from(at) * 1500 + 30);
            answer.skip
        })
        .collect();
    assert_eq!(skips, [None, None, Some(Skip::Hour), None]);
}

#[test]
fn what_could_not_begin_counts_for_nothing() {
    let capture = Capture { per_hour: 1, same_per_day: 1, at_once: 1, ..Capture::default() };
    let mut admission = Admission::new(&Config { capture, ..Config::default() }, 0);
    let stop = trigger(Kind::Stop, "");
    for times_today in 1..4 {
        let answer = admission.ask(&asked((1, 0), "Cart", &stop), 7);
        assert_eq!(answer, Answer { skip: None, times_today, event: None });
        admission.withdraw(&asked((1, 0), "Cart", &stop));
    }
    assert_eq!(admission.ask(&asked((2, 0), "Shop", &stop), 7).skip, None);
    admission.withdraw(&asked((1, 0), "Cart", &trigger(Kind::ByHand, "")));
    assert_eq!(admission.ask(&asked((1, 0), "Cart", &stop), 27).skip, Some(Skip::AtOnce), "the other's stays");
}

#[test]
fn what_is_asked_for_by_hand_takes_nothing_from_others() {
    let capture = Capture { per_hour: 1, at_once: 1, ..Capture::default() };
    let mut admission = Admission::new(&Config { capture, ..Config::default() }, 0);
    let mut skip = |jvm, kind, ended| {
        let skip = admission.ask(&asked((jvm, 0), "Cart", &trigger(kind, "")), i64::from(jvm) * 100).skip;
        (0..ended).for_each(|jvm| admission.ended((jvm, 0), 8));
        skip
    };
    assert_eq!([skip(1, Kind::ByHand, 0), skip(2, Kind::ByHand, 0)], [None, None], "at once");
    assert_eq!(skip(2, Kind::ByHand, 3), Some(Skip::Running));
    assert_eq!(skip(3, Kind::Stop, 4), None, "the first of the hour");
    assert_eq!((skip(4, Kind::Stop, 0), skip(4, Kind::ByHand, 0)), (Some(Skip::Hour), None));
}

#[test]
fn a_first_day_only_learns_and_says_what_it_saw() {
    let capture = Capture { learn: Some(Duration::from_secs(1000)), ..Capture::default() };
    let mut admission = Admission::new(&Config { capture, ..Config::default() }, 5_000);
    let mut skips: Vec<Option<Skip>> = Vec::new();
    for (at_s, kind) in [(5_010, Kind::Stop), (5_020, Kind::Throttled), (5_030, Kind::Throttled), (5_999, Kind::ByHand)]
    {
        skips.push(admission.ask(&asked((at_s as u32, 0), "Cart", &at(kind, "", at_s)), 7).skip);
        assert_eq!(admission.learned(at_s), None);
    }
    let learning = Some(Skip::Learning);
    assert_eq!(skips, [learning, learning, learning, None]);
    let reason = |kind| ("Cart".to_owned(), kind, String::new());
    assert_eq!(admission.learned(6_000), Some(vec![(reason(Kind::Throttled), 2), (reason(Kind::Stop), 1)]));
    assert_eq!(admission.learned(6_001), None, "told once");
    assert_eq!(admission.ask(&asked((1, 0), "Cart", &at(Kind::Stop, "", 6_002)), 7).skip, None);
}

#[test]
fn nothing_is_recorded_in_maintenance_but_by_hand() {
    let text = "[[quiet]]\nfrom = \"02:00\"\nto = \"04:00\"\nzone = \"UTC\"";
    let mut admission = Admission::new(&Config::parse(text, "test".as_ref()).unwrap(), 0);
    let mut skip = |jvm, kind, hour: i64| admission.ask(&asked((jvm, 0), "Cart", &at(kind, "", hour * 3600)), 7).skip;
    assert_eq!(skip(1, Kind::Stop, 3), Some(Skip::Quiet));
    assert_eq!((skip(1, Kind::ByHand, 3), skip(2, Kind::Stop, 4)), (None, None));
}

#[test]
fn a_neighbour_is_one_recording_and_the_next_illness_has_another() {
    let mut admission = Admission::new(&Config::default(), 0);
    let slow = trigger(Kind::RequestsSlow, ":80");
    let services = ["a", "b", "c", "d", "e", "f"];
    let mut granted = 0;
    for now_s in 0..60 {
        admission.is_short(now_s);
        for (at, service) in services.iter().enumerate() {
            let question = Question { id: service, ..asked((at as u32, 0), service, &slow) };
            granted += usize::from(admission.ask(&question, now_s).skip.is_none());
        }
        if now_s == 30 {
            admission.ended((0, 0), now_s);
        }
    }
    let hit: Vec<String> = admission.hits("a").into_iter().map(|hit| hit.main).collect();
    assert_eq!((granted, hit), (1, services[1..].iter().map(|name| (*name).to_owned()).collect()));
    assert_eq!(admission.ask(&asked((1, 0), "b", &trigger(Kind::Stop, "")), 200).skip, None);
}

#[test]
fn a_neighbour_is_one_incident_without_a_budget_as_well() {
    let capture = Capture { per_hour: 0, ..Capture::default() };
    let mut admission = Admission::new(&Config { capture, ..Config::default() }, 0);
    let slow = trigger(Kind::RequestsSlow, ":80");
    let mut ask = |jvm: u32, id, now_s| {
        let answer = admission.ask(&Question { id, ..asked((jvm, 0), id, &slow) }, now_s);
        (answer.skip, answer.event)
    };
    let part_of = |id: &str| (Some(Skip::Together), Some(id.to_owned()));
    let first = (Some(Skip::Hour), None);
    assert_eq!([ask(1, "a", 0), ask(2, "b", 1), ask(1, "c", 2)], [first.clone(), part_of("a"), first.clone()]);
    assert_eq!([ask(3, "d", 3), ask(3, "d", 30)], [part_of("a"), first]);
    let hit: Vec<String> = admission.hits("a").into_iter().map(|hit| hit.main).collect();
    assert_eq!(hit, ["b", "d"]);
}

#[test]
fn what_comes_again_and_again_leaves_a_reserve() {
    let config = Config { capture: Capture { same_per_day: 100, ..Capture::default() }, ..Config::default() };
    let mut admission = Admission::new(&config, 0);
    let mut skip = |jvm: u32, kind: Kind| {
        let answer = admission.ask(&asked((jvm, 0), "Cart", &trigger(kind, "")), i64::from(jvm) * 100);
        admission.ended((jvm, 0), i64::from(jvm) * 100 + 30);
        answer.skip
    };
    let slow: Vec<Option<Skip>> = (0..6).map(|jvm| skip(jvm, Kind::RequestsSlow)).collect();
    assert_eq!(slow, [None, None, None, None, Some(Skip::Reserve), Some(Skip::Reserve)]);
    assert_eq!(skip(6, Kind::Throttled), None, "it was not recorded today");
    assert_eq!((skip(7, Kind::Throttled), skip(8, Kind::RequestsHung)), (Some(Skip::Reserve), None));
    assert_eq!(skip(9, Kind::RequestsHung), Some(Skip::Hour));
}

#[test]
fn a_jvm_that_dies_again_and_again_is_reported_three_times() {
    let mut admission =
        Admission::new(&Config { capture: Capture { per_hour: 0, ..Capture::default() }, ..Config::default() }, 0);
    let vanished = trigger(Kind::Vanished, "");
    let skips: Vec<_> = (0..4).map(|jvm| admission.ask_of_end(&asked((jvm, 0), "Cart", &vanished), 5)).collect();
    assert_eq!(skips, [None, None, None, Some(Skip::SameToday)]);
    assert_eq!(admission.ask_of_end(&asked((9, 0), "Cart", &vanished), 100_000), None, "another day");
}

#[test]
fn refusals_are_reported_once_in_an_hour() {
    let mut admission = Admission::new(&Config::default(), 0);
    let mut reported = |jvm, skip, now_s| admission.reports((jvm, 0), skip, now_s);
    assert_eq!(
        [reported(1, Skip::NoRoom, 0), reported(1, Skip::NoRoom, 5), reported(2, Skip::NoRoom, 5)],
        [true, false, false]
    );
    assert_eq!(
        [reported(1, Skip::Hour, 5), reported(1, Skip::Hour, 6), reported(2, Skip::Hour, 6)],
        [true, false, true]
    );
    assert_eq!([reported(1, Skip::CoolDown, 5), reported(2, Skip::CoolDown, 5)], [true, true]);
    assert_eq!([reported(1, Skip::Hour, 3605), reported(1, Skip::Running, 3605)], [true, false]);
}

#[test]
fn an_event_that_goes_on_is_not_told_again_by_the_jvm_that_showed_it() {
    let mut admission = Admission::new(&Config::default(), 0);
    let slow = trigger(Kind::RequestsSlow, "");
    let mut ask = |now_s: i64, is_short: bool| {
        if is_short {
            (now_s - 40..=now_s).for_each(|second| admission.is_short(second));
        }
        let answer = admission.ask(&asked((1, 0), "Cart", &slow), now_s);
        admission.ended((1, 0), now_s + 10);
        (answer.skip, answer.event.is_some())
    };
    assert_eq!(ask(100, false), (None, false));
    assert_eq!(ask(140, true), (Some(Skip::Together), true));
    assert_eq!(ask(170, false), (Some(Skip::CoolDown), false), "that is over, and it was recorded a short while ago");
}

#[test]
fn one_jvm_does_not_take_the_hour_of_all() {
    let config = Config { capture: Capture { cool_down: Duration::ZERO, ..Capture::default() }, ..Config::default() };
    let mut admission = Admission::new(&config, 0);
    let skips: Vec<Option<Skip>> = (0..4)
        .map(|at| {
            let answer = admission.ask(&asked((1, 0), "Cart", &trigger(Kind::Rule, &at.to_string())), at * 100);
            admission.ended((1, 0), at * 100 + 30);
            answer.skip
        })
        .collect();
    assert_eq!(skips, [None, None, None, Some(Skip::HourOfJvm)]);
}

#[test]
fn one_user_does_not_take_the_hour_of_the_others() {
    let begun = |uids: &[u32]| {
        let mut admission = Admission::new(&Config::default(), 0);
        admission.set_users(&uids.iter().copied().collect());
        let mut ask = |uid: u32, at_s: i64| {
            let (service, trigger) = (format!("{uid} {at_s}"), trigger(Kind::Rule, ""));
            let jvm = (at_s as u32, 0);
            let answer = admission.ask(&Question { uid, ..asked(jvm, &service, &trigger) }, at_s);
            admission.ended(jvm, at_s + 30);
            answer.skip
        };
        let first: Vec<Option<Skip>> = (0..6).map(|at| ask(7, 1 + at * 100)).collect();
        (first.iter().filter(|skip| skip.is_none()).count(), first[5], ask(0, 700))
    };
    assert_eq!(begun(&[7]), (6, None, Some(Skip::Hour)), "alone it has all");
    assert_eq!(begun(&[7, 0]), (4, Some(Skip::HourOfUser), None));
}
