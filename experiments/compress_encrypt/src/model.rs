//! What documents of a kind look like: which symbol follows which bytes, and how long its code is likely to be.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::deflate::{Block, DISTANCES, LITERALS, Token, symbols_of};

/// A context is the last bytes before a symbol.
pub type Context = [u8; 3];

/// Code lengths scatter by about this much around what the frequency in other documents says.
const SCATTER_BITS: f64 = 1.0;

pub struct Model {
    tokens: Following,
    text: Following,
    /// What three bytes of such a document are worth after other three, on average.
    by_chance: f64,
    distances: Vec<f64>,
    literal_lengths: Vec<[f64; 16]>,
    distance_lengths: Vec<[f64; 16]>,
}

impl Model {
    /// Learns from the tokens of documents that were compressed in the same way.
    pub fn of<'a>(documents: impl Iterator<Item = &'a [Block]>) -> Self {
        let (mut tokens, mut bytes) = (Following::default(), Following::default());
        let mut texts = Vec::new();
        let (mut literals, mut distances) = (vec![0.1; LITERALS], vec![0.1; DISTANCES]);
        for blocks in documents {
            let mut text = Vec::new();
            for token in blocks.iter().flat_map(|block| &block.tokens) {
                let symbol = symbol(*token);
                let context = context(&text);
                tokens.add(context, symbol);
                literals[usize::from(symbol)] += 1.0;
                if let Token::Match { length, distance } = token {
                    distances[usize::from(symbols_of(*length, *distance).1)] += 1.0;
                }
                put(&mut text, *token);
            }
            (0..text.len()).for_each(|end| bytes.add(context(&text[..end]), u16::from(text[end])));
            texts.push(text);
        }
        Self {
            by_chance: by_chance(&bytes, &texts.concat()),
            tokens,
            text: bytes,
            literal_lengths: literals
                .iter()
                .map(|count| likely_lengths(count / literals.iter().sum::<f64>()))
                .collect(),
            distance_lengths: distances
                .iter()
                .map(|count| likely_lengths(count / distances.iter().sum::<f64>()))
                .collect(),
            distances: distances.iter().map(|count| (count / distances.iter().sum::<f64>()).ln()).collect(),
        }
    }

    /// Logarithms of how likely each symbol is after these bytes.
    pub fn after(&self, context: Context) -> Rc<Vec<f32>> {
        self.tokens.after(context)
    }

    /// How much better these bytes follow on the context than three bytes from anywhere.
    pub fn fits(&self, context: Context, bytes: [u8; 3]) -> f64 {
        self.text.chance(context, bytes) - self.by_chance
    }

    pub fn distance(&self, symbol: u16) -> f64 {
        self.distances[usize::from(symbol)]
    }

    pub fn literal_length(&self, symbol: u16, length: u8) -> f64 {
        self.literal_lengths[usize::from(symbol)][usize::from(length)]
    }

    pub fn distance_length(&self, symbol: u16, length: u8) -> f64 {
        self.distance_lengths[usize::from(symbol)][usize::from(length)]
    }
}

/// What followed on which bytes.
#[derive(Default)]
struct Following {
    orders: [HashMap<u32, HashMap<u16, u32>>; 4],
    asked: RefCell<HashMap<u32, Rc<Vec<f32>>>>,
}

impl Following {
    fn add(&mut self, context: Context, symbol: u16) {
        for (order, counts) in self.orders.iter_mut().enumerate() {
            *counts.entry(key(context, order)).or_default().entry(symbol).or_default() += 1;
        }
    }

    /// Logarithms of how likely each symbol is.
    fn after(&self, context: Context) -> Rc<Vec<f32>> {
        let key = key(context, 3);
        if let Some(known) = self.asked.borrow().get(&key) {
            return Rc::clone(known);
        }
        let made = Rc::new(self.interpolated(context));
        self.asked.borrow_mut().insert(key, Rc::clone(&made));
        made
    }

    fn chance(&self, [a, b, c]: Context, [x, y, z]: [u8; 3]) -> f64 {
        [([a, b, c], x), ([b, c, x], y), ([c, x, y], z)]
            .iter()
            .map(|(context, byte)| f64::from(self.after(*context)[usize::from(*byte)]))
            .sum()
    }

    /// Each order trusts itself as far as it has seen more occurrences than different symbols (Witten and Bell).
    fn interpolated(&self, context: Context) -> Vec<f32> {
        let mut chances = vec![1.0 / LITERALS as f64; LITERALS];
        for (order, counts) in self.orders.iter().enumerate() {
            let Some(following) = counts.get(&key(context, order)) else { continue };
            let (different, all) = (following.len() as f64, f64::from(following.values().sum::<u32>()));
            chances.iter_mut().for_each(|chance| *chance *= different / (different + all));
            for (symbol, count) in following {
                chances[usize::from(*symbol)] += f64::from(*count) / (different + all);
            }
        }
        chances.into_iter().map(|chance| chance.ln() as f32).collect()
    }
}

/// The logarithm of the mean chance of three bytes after other three, from places taken at random.
fn by_chance(text: &Following, all: &[u8]) -> f64 {
    const PAIRS: usize = 20_000;
    let mut random = fastrand::Rng::with_seed(1);
    let mut place = || random.usize(3..all.len() - 3);
    let chances = (0..PAIRS).map(|_| {
        let (one, other) = (place(), place());
        text.chance(context(&all[..one]), [all[other], all[other + 1], all[other + 2]]).exp()
    });
    (chances.sum::<f64>() / PAIRS as f64).ln()
}

/// Logarithms of how likely each length is for a symbol of this frequency.
fn likely_lengths(frequency: f64) -> [f64; 16] {
    let ideal = (-frequency.log2()).clamp(1.0, 15.0);
    let weight = |length: usize| (-((length as f64 - ideal) / SCATTER_BITS).powi(2) / 2.0).exp() + 1e-4;
    let all: f64 = (1..16).map(weight).sum();
    std::array::from_fn(|length| if length == 0 { f64::NEG_INFINITY } else { (weight(length) / all).ln() })
}

fn key(context: Context, order: usize) -> u32 {
    context[3 - order..].iter().fold(1, |key, byte| (key << 8) | u32::from(*byte))
}

pub fn context(text: &[u8]) -> Context {
    let mut context = Context::default();
    for (to, from) in context.iter_mut().rev().zip(text.iter().rev()) {
        *to = *from;
    }
    context
}

pub fn symbol(token: Token) -> u16 {
    match token {
        Token::Literal(byte) => u16::from(byte),
        Token::Match { length, distance } => symbols_of(length, distance).0,
        Token::End => crate::deflate::END_OF_BLOCK,
    }
}

/// Adds what a token stands for. Of a match that reaches before the text, nothing.
pub fn put(text: &mut Vec<u8>, token: Token) {
    match token {
        Token::Literal(byte) => text.push(byte),
        Token::Match { length, distance } => {
            for _ in 0..length {
                let Some(at) = text.len().checked_sub(usize::from(distance)) else { return };
                text.push(text[at]);
            }
        }
        Token::End => {}
    }
}
