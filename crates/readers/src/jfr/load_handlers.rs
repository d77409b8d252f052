//! The rows of [`super::load_events`] bound to the types of a chunk: field names become slots.

use rustc_hash::FxHashMap;

use super::load_events::EVENTS;
use super::load_map::{GcPart, MAX_SLOTS, Map, Name, SafepointPart, Sum, Weight};
use super::load_settings::SettingPlan;
use super::parse_metadata::Types;
use super::parse_plan::{Kind, Leaf, Plan};

/// Fields that name the thread of an event, the better ones first.
const THREAD_FIELDS: &[&str] = &["thread", "sampledThread", "eventThread"];

/// A field that this chunk has: its slot and what it holds.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub(super) slot: usize,
    pub(super) leaf: Leaf,
}

impl Bound {
    pub(super) fn of(plan: &Plan, path: &str) -> Option<Bound> {
        let slot = plan.slot(path)?;
        Some(Bound { slot, leaf: plan.leaf(slot).clone() })
    }
}

/// Fields added up; the factor is 1 or -1.
pub(super) type BoundSum = Vec<(i64, Bound)>;

/// All fields of `sum`; `None` when the chunk lacks one of them.
fn bind_sum(plan: &Plan, sum: Sum) -> Option<BoundSum> {
    let part = |path: &&str| match path.strip_prefix('-') {
        Some(path) => Some((-1, Bound::of(plan, path)?)),
        None => Some((1, Bound::of(plan, path)?)),
    };
    sum.iter().map(part).collect()
}

/// A [`Name`] whose fields are bound.
pub(super) enum BoundName {
    Is(&'static str),
    Of(Bound),
    When(Bound),
    Segment(Bound),
    Peer { host: Option<Bound>, address: Option<Bound>, port: Option<Bound> },
}

impl BoundName {
    fn of(plan: &Plan, name: Name) -> BoundName {
        let bind = |path: &str| Bound::of(plan, path);
        match name {
            Name::Is(text) => Some(BoundName::Is(text)),
            Name::Of(path) => bind(path).map(BoundName::Of),
            Name::When => bind("when").map(BoundName::When),
            Name::Segment => bind("codeBlobType").map(BoundName::Segment),
            Name::Peer => Some(BoundName::Peer { host: bind("host"), address: bind("address"), port: bind("port") }),
        }
        .unwrap_or(BoundName::Is(""))
    }
}

/// A [`Map`] whose fields are bound.
pub(super) enum Action {
    Span { kind: &'static str, name: BoundName, detail: Vec<(&'static str, BoundSum)> },
    Counter { name: &'static str, instance: BoundName, value: BoundSum },
    Fact { subject: &'static str, key: &'static str, value: Bound },
    NamedFact { subject: &'static str, key: Bound, value: Bound },
    Gc(GcPart, Fields),
    Safepoint(SafepointPart, Fields),
    Setting(SettingPlan),
    Log { class: &'static str, level: Option<Bound>, text: Bound },
    Loss { says: &'static str, count: Bound },
}

/// Fields of a part by name, for code that puts parts together.
pub(super) struct Fields(Vec<Bound>);

impl Fields {
    fn of(plan: &Plan) -> Fields {
        Fields((0..plan.slots()).map(|slot| Bound { slot, leaf: plan.leaf(slot).clone() }).collect())
    }

    pub(super) fn get(&self, path: &str) -> Option<&Bound> {
        self.0.iter().find(|bound| bound.leaf.path == path)
    }
}

/// What to do with the events of one type.
pub(super) struct Handler {
    pub(super) event: &'static str,
    pub(super) plan: Plan,
    pub(super) time: Option<usize>,
    pub(super) duration: Option<Bound>,
    pub(super) thread: Option<usize>,
    pub(super) stack: Option<usize>,
    /// The row that makes it a sample.
    pub(super) sample: Option<&'static Map>,
    pub(super) actions: Vec<Action>,
}

/// The handlers of a chunk by type id.
pub(super) struct Handlers {
    handlers: Vec<Handler>,
    /// Handler + 1 of small type ids, which all are in practice.
    by_small_id: Vec<u16>,
    by_large_id: FxHashMap<u64, u16>,
}

impl Handlers {
    const SMALL_IDS: u64 = 1 << 14;

    /// Binds every event that is both read and known to the chunk.
    pub(super) fn of(types: &Types) -> Handlers {
        let mut handlers =
            Handlers { handlers: Vec::new(), by_small_id: Vec::new(), by_large_id: FxHashMap::default() };
        for (event, maps) in EVENTS {
            let Some(type_id) = types.id_of(event) else { continue };
            let Some(handler) = Handler::of(types, type_id, event, maps) else { continue };
            handlers.handlers.push(handler);
            let number = handlers.handlers.len() as u16;
            if type_id >= Handlers::SMALL_IDS {
                handlers.by_large_id.insert(type_id, number);
                continue;
            }
            if handlers.by_small_id.len() <= type_id as usize {
                handlers.by_small_id.resize(type_id as usize + 1, 0);
            }
            handlers.by_small_id[type_id as usize] = number;
        }
        handlers
    }

    #[inline(always)]
    pub(super) fn number(&self, type_id: u64) -> Option<usize> {
        let number = match self.by_small_id.get(type_id as usize) {
            Some(number) => *number,
            None if self.by_large_id.is_empty() => 0,
            None => self.by_large_id.get(&type_id).copied().unwrap_or(0),
        };
        (number as usize).checked_sub(1)
    }

    pub(super) fn all(&self) -> &[Handler] {
        &self.handlers
    }
}

impl Handler {
    fn of(types: &Types, type_id: u64, event: &'static str, maps: &'static [Map]) -> Option<Handler> {
        let mut plan = Plan::compile(types, type_id)?;
        plan.keep(MAX_SLOTS);
        Some(Handler {
            event,
            time: plan.slot("startTime"),
            duration: Bound::of(&plan, "duration"),
            thread: THREAD_FIELDS.iter().find_map(|field| thread_slot(types, Bound::of(&plan, field)?)),
            stack: plan.slot("stackTrace"),
            sample: maps.iter().find(|map| matches!(map, Map::Sample { .. })),
            actions: maps.iter().filter_map(|map| action(&plan, map)).collect(),
            plan,
        })
    }

    /// Whether its events are samples of bytes.
    pub(super) fn is_of_bytes(&self) -> bool {
        matches!(self.sample, Some(Map::Sample { weight: Weight::Bytes(_), .. }))
    }
}

fn action(plan: &Plan, map: &'static Map) -> Option<Action> {
    let bind = |path: &str| Bound::of(plan, path);
    Some(match *map {
        Map::Sample { .. } => return None,
        Map::Span { kind, name, detail } => {
            let detail = detail.iter().filter_map(|(key, sum)| Some((*key, bind_sum(plan, sum)?)));
            Action::Span { kind, name: BoundName::of(plan, name), detail: detail.collect() }
        }
        Map::Counter { name, instance, value } => {
            Action::Counter { name, instance: BoundName::of(plan, instance), value: bind_sum(plan, value)? }
        }
        Map::Fact { subject, key, value } => Action::Fact { subject, key, value: bind(value)? },
        Map::NamedFact { subject, key, value } => Action::NamedFact { subject, key: bind(key)?, value: bind(value)? },
        Map::Gc(part) => Action::Gc(part, Fields::of(plan)),
        Map::Safepoint(part) => Action::Safepoint(part, Fields::of(plan)),
        Map::Setting => Action::Setting(SettingPlan::of(plan.clone())?),
        Map::Log { class, level, text } => Action::Log { class, level: bind(level), text: bind(text)? },
        Map::Loss { says, count } => Action::Loss { says, count: bind(count)? },
    })
}

/// The slot of a field that holds a thread.
pub(super) fn thread_slot(types: &Types, bound: Bound) -> Option<usize> {
    let thread = types.id_of("java.lang.Thread")?;
    (bound.leaf.kind == Kind::Key(thread)).then_some(bound.slot)
}
