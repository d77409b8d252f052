//! The texts of all guesses as one tree: guesses that began alike share their beginning, and any byte back is found in few steps.

use crate::deflate::Token;
use crate::model::Context;

/// A place in the tree; the first is before all text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place(u32);

struct Node {
    parent: u32,
    /// An ancestor further back, so that the way to any of them is logarithmic in their number.
    jump: u32,
    depth: u32,
    /// Bytes of text up to here.
    end: u32,
    token: Token,
}

pub struct History(Vec<Node>);

impl Default for History {
    fn default() -> Self {
        Self(vec![Node { parent: 0, jump: 0, depth: 0, end: 0, token: Token::End }])
    }
}

impl History {
    pub fn after(&mut self, place: Place, token: Token) -> Place {
        let parent = &self.0[place.0 as usize];
        let bytes = match token {
            Token::Literal(_) => 1,
            Token::Match { length, .. } => u32::from(length),
            Token::End => 0,
        };
        let over = &self.0[parent.jump as usize];
        let farther = parent.depth - over.depth == over.depth - self.0[over.jump as usize].depth;
        let jump = if farther { over.jump } else { place.0 };
        self.0.push(Node { parent: place.0, jump, depth: parent.depth + 1, end: parent.end + bytes, token });
        Place(self.0.len() as u32 - 1)
    }

    /// Bytes of text up to a place.
    pub fn length(&self, place: Place) -> u32 {
        self.0[place.0 as usize].end
    }

    pub fn context(&self, place: Place) -> Context {
        let end = self.length(place);
        std::array::from_fn(|index| (end + index as u32).checked_sub(3).map_or(0, |at| self.byte(place, at)))
    }

    pub fn byte(&self, mut place: Place, mut at: u32) -> u8 {
        loop {
            let node = self.covering(place, at);
            let begin = self.0[node.parent as usize].end;
            match node.token {
                Token::Literal(byte) => return byte,
                // What overlaps itself repeats its first bytes.
                Token::Match { distance, .. } => {
                    at = begin - u32::from(distance) + (at - begin) % u32::from(distance);
                    place = Place(node.parent);
                }
                Token::End => return 0,
            }
        }
    }

    fn covering(&self, place: Place, at: u32) -> &Node {
        let mut node = &self.0[place.0 as usize];
        while self.0[node.parent as usize].end > at {
            let jump = &self.0[node.jump as usize];
            node = if jump.end > at { jump } else { &self.0[node.parent as usize] };
        }
        node
    }

    pub fn text(&self, place: Place) -> Vec<u8> {
        let mut tokens = Vec::new();
        let mut node = &self.0[place.0 as usize];
        while node.depth > 0 {
            tokens.push(node.token);
            node = &self.0[node.parent as usize];
        }
        let mut text = Vec::new();
        tokens.into_iter().rev().for_each(|token| crate::model::put(&mut text, token));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_text() {
        let mut history = History::default();
        let mut place = Place::default();
        for token in
            [Token::Literal(b'a'), Token::Literal(b'b'), Token::Match { length: 5, distance: 2 }, Token::Literal(b'c')]
        {
            place = history.after(place, token);
        }
        let other = history.after(place, Token::Literal(b'x'));
        assert_eq!((history.text(place), history.length(place)), (b"abababac".to_vec(), 8));
        assert_eq!((history.context(place), history.context(other)), (*b"bac", *b"acx"));
    }
}
