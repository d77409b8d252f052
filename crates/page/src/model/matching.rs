//! Which stacks are selected: those with a frame that matches a search or has a name, or below a node of the flame graph.

use regex::RegexBuilder;

use super::select;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// An expression takes no more memory than this, in bytes.
const EXPRESSION_MAX: usize = 1 << 20;

/// The nodes of the tree whose stacks are meant.
pub(crate) struct Matching(Vec<bool>);

impl Matching {
    /// `find` (a part of a name, or an expression between slashes), `frame` (a name) or `below` (a node); nothing without them.
    pub(crate) fn of(page: &Loaded, query: &Query) -> Result<Option<Matching>, Refused> {
        if let Some(text) = query.text("find") {
            let wanted = matcher(text)?;
            return Ok(Some(Matching::with_frames(page, wanted)));
        }
        if let Some(frame) = query.text("frame") {
            return Ok(Some(Matching::with_frames(page, |name| name == frame)));
        }
        if query.text("below").is_none() {
            return Ok(None);
        }
        let node = select::node(page, query, "below")?;
        let mut is_meant = vec![false; page.tree.len()];
        is_meant[node..page.tree.end[node] as usize].fill(true);
        Ok(Some(Matching(is_meant)))
    }

    fn with_frames(page: &Loaded, wanted: impl Fn(&str) -> bool) -> Matching {
        let (tree, recording) = (&page.tree, &page.recording);
        let of_place: Vec<bool> = tree.places.iter().map(|place| wanted(recording.text(place.symbol))).collect();
        let mut is_meant = vec![false; tree.len()];
        for node in 1..tree.len() {
            is_meant[node] = is_meant[tree.parent[node] as usize] || of_place[tree.place[node] as usize];
        }
        Matching(is_meant)
    }

    /// Whether the stack that ends at a node is meant.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.0[node as usize]
    }
}

type Wanted = Box<dyn Fn(&str) -> bool>;

/// What is typed into the page's search box.
fn matcher(typed: &str) -> Result<Wanted, Refused> {
    let pattern = typed.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|pattern| !pattern.is_empty());
    let Some(pattern) = pattern else {
        let plain = typed.to_lowercase();
        return Ok(Box::new(move |name| name.to_lowercase().contains(&plain)));
    };
    let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(EXPRESSION_MAX).build();
    let expression =
        built.map_err(|_| Refused::parameter("find", typed, "a regular expression without look-around"))?;
    Ok(Box::new(move |name| expression.is_match(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_expressions_are_told_apart() {
        for (typed, name, expected) in [
            ("Cart", "shop.cart.add", true),
            ("a.b", "axb", false),
            ("/a.b/", "AXB", true),
            ("/^add$/", "shop.add", false),
            ("//", "a//b", true),
            ("/", "a/b", true),
        ] {
            assert_eq!(matcher(typed).unwrap()(name), expected, "{typed} {name}");
        }
        assert!(matcher("/(/").is_err() && matcher("/a{9999}{9999}/").is_err());
    }
}
