//! The layout of frames in a chunk, and what is known of the frames of earlier chunks.

use fathom_evidence::kinds::frame;
use fathom_evidence::{StrId, Strings};
use rustc_hash::FxHashMap;

use super::load_handlers::Bound;
use super::load_methods::Methods;
use super::load_resolve::Resolver;
use super::load_stack_cache::StackCache;
use super::parse_plan::{ArrayPlan, Kind, Leaf, Plan};
use super::parse_stacks::STACK_TYPE;

/// Frames and stacks of earlier chunks, by their bytes, and what the bytes mean.
#[derive(Default)]
pub(super) struct KnownStacks<'a> {
    /// How the chunks lay out a frame, and whether async-profiler wrote them.
    layout: Option<(Plan, bool)>,
    /// Frame types by their key.
    pub(super) kinds: FxHashMap<u64, FrameKind>,
    pub(super) methods: Methods<'a>,
    pub(super) cache: StackCache<'a>,
}

/// A frame type.
pub(super) struct FrameKind {
    /// As the recorder calls it.
    name: String,
    pub(super) kind: StrId,
    /// Whether async-profiler gives it to native functions.
    pub(super) is_function: bool,
}

impl FrameKind {
    /// What the recorder calls `name`.
    pub(super) fn new(name: String, is_profiler: bool, strings: &mut Strings) -> FrameKind {
        let kind = frame_kind(&name);
        let is_native = [frame::NATIVE, frame::VM, frame::KERNEL].contains(&kind);
        FrameKind { kind: strings.intern(kind), is_function: is_native && is_profiler, name }
    }
}

impl<'a> KnownStacks<'a> {
    /// Whether frames with the same bytes mean the same in the chunk as in those before.
    pub(super) fn agree(&mut self, shape: &Shape, resolver: &mut Resolver<'_, 'a>) -> bool {
        let (layout, is_profiler) = self.layout.get_or_insert_with(|| (shape.plan.item.clone(), resolver.is_profiler));
        *layout == shape.plan.item
            && *is_profiler == resolver.is_profiler
            && shape.kind.as_ref().is_none_or(|kind| agree_on_kinds(&self.kinds, &kind.leaf, resolver))
            && self.methods.agree(&shape.method.leaf, resolver)
    }
}

fn agree_on_kinds(kinds: &FxHashMap<u64, FrameKind>, leaf: &Leaf, resolver: &mut Resolver<'_, '_>) -> bool {
    let Kind::Key(type_id) = leaf.kind else { return true };
    let is_there = |key: &u64| resolver.pools.get(type_id).number(*key).is_some();
    let keys: Vec<u64> = kinds.keys().copied().filter(is_there).collect();
    keys.into_iter().all(|key| resolver.text(leaf, key) == kinds[&key].name)
}

/// Where the parts of a frame are.
pub(super) struct Shape {
    pub(super) plan: ArrayPlan,
    pub(super) method: Bound,
    pub(super) line: Option<usize>,
    pub(super) kind: Option<Bound>,
}

impl Shape {
    pub(super) fn of(resolver: &Resolver<'_, '_>) -> Option<Shape> {
        let plan = Plan::around_array(resolver.types, resolver.types.id_of(STACK_TYPE)?, "frames")?;
        let [method, kind] = ["method", "type"].map(|field| Bound::of(&plan.item, field));
        Some(Shape { method: method?, line: plan.item.slot("lineNumber"), kind, plan })
    }
}

/// The layer that a frame type of the JVM or of async-profiler stands for.
fn frame_kind(name: &str) -> &str {
    match name {
        "Interpreted" => frame::INTERPRETED,
        "JIT compiled" => frame::COMPILED,
        "Inlined" => frame::INLINED,
        "C1 compiled" => frame::C1,
        "Native" => frame::NATIVE,
        "C++" => frame::VM,
        "Kernel" => frame::KERNEL,
        other => other,
    }
}
