//! Methods across chunks.
//!
//! A recorder gives a method one number for as long as the JVM runs, and each chunk repeats what the numbers mean. To
//! build the text of a method, its class and the symbols of both have to be looked up, so it is built once for all
//! chunks. The bytes of the symbols show whether a chunk still means the same method by the number.

use fathom_evidence::StrId;

use super::load_resolve::Resolver;
use super::parse_bytes::skip_text;
use super::parse_map::KeyMap;
use super::parse_plan::{Kind, Leaf, Plan};
use super::parse_pools::Pool;

/// First byte of a text that refers to the pool of strings.
const POOLED_TEXT: u8 = 2;

/// The methods that stacks named so far.
pub(super) struct Methods<'a> {
    /// Position + 1 in `methods` by key.
    numbers: KeyMap,
    methods: Vec<Method<'a>>,
}

impl Default for Methods<'_> {
    fn default() -> Self {
        Methods { numbers: KeyMap::with_room(0), methods: Vec::new() }
    }
}

/// A method as a chunk describes it, and the text that was made of it.
struct Method<'a> {
    class: &'a [u8],
    name: &'a [u8],
    /// As a Java method and as a native function.
    texts: [Option<(StrId, StrId)>; 2],
}

impl<'a> Methods<'a> {
    /// Whether the chunk means the same by its keys as earlier ones did. Its methods are remembered.
    pub(super) fn agree(&mut self, method: &Leaf, resolver: &Resolver<'_, 'a>) -> bool {
        let Some(names) = Names::of(method, resolver) else { return false };
        for (key, offset) in names.methods.entries() {
            let Some((class, name)) = names.read(*offset) else { continue };
            match self.number(*key) {
                Some(number) if self.methods[number].class != class || self.methods[number].name != name => {
                    return false;
                }
                Some(_) => {}
                None => {
                    self.methods.push(Method { class, name, texts: [None; 2] });
                    self.numbers.insert(*key, self.methods.len() as u32);
                }
            }
        }
        true
    }

    /// Module and symbol of the method, made by `build` if they are not known yet.
    pub(super) fn text(
        &mut self,
        key: u64,
        is_function: bool,
        build: impl FnOnce() -> (StrId, StrId),
    ) -> (StrId, StrId) {
        match self.number(key) {
            Some(number) => *self.methods[number].texts[usize::from(is_function)].get_or_insert_with(build),
            None => build(),
        }
    }

    fn number(&self, key: u64) -> Option<usize> {
        (self.numbers.get(key) as usize).checked_sub(1)
    }
}

/// From a method of a chunk to the bytes of its names.
struct Names<'p, 'a> {
    data: &'a [u8],
    methods: &'p Pool,
    class: Link<'p>,
    name: Link<'p>,
    class_name: Link<'p>,
    symbol: Link<'p>,
}

/// A field of a pooled type.
struct Link<'p> {
    pool: &'p Pool,
    plan: &'p Plan,
    slot: usize,
}

impl<'p> Link<'p> {
    fn of(resolver: &'p Resolver<'_, '_>, type_id: u64, field: &str) -> Option<Link<'p>> {
        let (pool, plan) = (resolver.pools.get(type_id), resolver.plan(type_id)?);
        Some(Link { pool, plan, slot: plan.slot(field)? })
    }

    /// The type that the field refers to.
    fn target(&self) -> Option<u64> {
        if let Kind::Key(type_id) = self.plan.leaf(self.slot).kind { Some(type_id) } else { None }
    }

    fn follow(&self, data: &[u8], key: u64) -> Option<u64> {
        self.plan.value(data, self.pool.offset(key)?, self.slot)
    }
}

impl<'p, 'a> Names<'p, 'a> {
    fn of(method: &Leaf, resolver: &'p Resolver<'_, 'a>) -> Option<Names<'p, 'a>> {
        let Kind::Key(method) = method.kind else { return None };
        let class = Link::of(resolver, method, "type")?;
        let name = Link::of(resolver, method, "name")?;
        let class_name = Link::of(resolver, class.target()?, "name")?;
        let symbol = Link::of(resolver, name.target()?, "string")?;
        let is_usual = class_name.target() == name.target() && symbol.plan.leaf(symbol.slot).kind == Kind::Text;
        let methods = resolver.pools.get(method);
        is_usual.then_some(Names { data: resolver.data, methods, class, name, class_name, symbol })
    }

    /// The bytes of class and name of the method that stands at `offset`; no bytes where there is no class.
    fn read(&self, offset: usize) -> Option<(&'a [u8], &'a [u8])> {
        let class = self.class.plan.value(self.data, offset, self.class.slot)?;
        let name = self.name.plan.value(self.data, offset, self.name.slot)?;
        let class_name = self.class_name.follow(self.data, class);
        Some((class_name.and_then(|key| self.text(key)).unwrap_or(&[]), self.text(name)?))
    }

    /// The bytes of a symbol. One that is only a reference could mean something else in another chunk.
    fn text(&self, symbol: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(self.symbol.follow(self.data, symbol)?).ok()?;
        let bytes = self.data.get(at..skip_text(self.data, at)?)?;
        (bytes.first() != Some(&POOLED_TEXT)).then_some(bytes)
    }
}
