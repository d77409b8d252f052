//! Words and quantities of a line.

/// Splits a line at white space. A text in double quotes and a JSON object are one word each.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.as_bytes()[0] {
            b'"' => quoted(rest),
            b'{' => object(rest),
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

fn quoted(text: &str) -> (&str, &str) {
    let end = text[1..].find('"').map_or(text.len(), |end| end + 1);
    (&text[1..end], text.get(end + 1..).unwrap_or(""))
}

fn object(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    text.split_at(end.map_or(text.len(), |end| end + 1))
}

/// A number with its unit: times in ns, sizes in bytes, shares as parts of one.
pub(crate) fn quantity(word: &str) -> Result<f64, String> {
    const UNITS: &[(&str, f64)] = &[
        ("", 1.0),
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("B", 1.0),
        ("KB", 1024.0),
        ("MB", 1024.0 * 1024.0),
        ("GB", 1024.0 * 1024.0 * 1024.0),
        ("%", 0.01),
    ];
    let unit_at = word.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(word.len());
    let (number, unit) = word.split_at(unit_at);
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let value: Option<f64> = number.replace('_', "").parse().ok();
    value.zip(factor).map(|(value, factor)| value * factor).ok_or_else(|| format!("`{word}` is not a quantity"))
}

/// A length of time, or a time since the world began, in ns.
pub(crate) fn time(word: &str) -> Result<i64, String> {
    let unit_is_time = word.ends_with('s') || word.ends_with("min");
    quantity(word).ok().filter(|_| unit_is_time).map(|ns| ns as i64).ok_or_else(|| format!("`{word}` is not a time"))
}

/// `FROM..TO`
pub(crate) fn range<T>(word: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<(T, T), String> {
    let (from, to) = word.split_once("..").ok_or_else(|| format!("`{word}` is not a range FROM..TO"))?;
    Ok((read(from)?, read(to)?))
}

/// The words of one line, taken one after another.
pub(crate) struct Words(std::vec::IntoIter<String>);

impl Words {
    pub(crate) fn of(line: &str) -> Words {
        Words(words(line).into_iter())
    }

    /// The next word, or an error that says what is missing.
    pub(crate) fn next(&mut self, what: &str) -> Result<String, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    pub(crate) fn optional(&mut self) -> Option<String> {
        self.0.next()
    }

    pub(crate) fn peek(&self) -> Option<&str> {
        self.0.as_slice().first().map(String::as_str)
    }

    /// Takes the next word if it is `word`.
    pub(crate) fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.0.next();
        }
        found
    }

    pub(crate) fn rest(self) -> Vec<String> {
        self.0.collect()
    }

    pub(crate) fn end(mut self) -> Result<(), String> {
        self.optional().map_or(Ok(()), |word| Err(format!("`{word}` is too much")))
    }
}
