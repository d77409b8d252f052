//! Keeps secrets out of recordings: passwords, tokens and keys in properties and command lines.

use std::borrow::Cow;

/// What stands in place of a secret.
const MASK: &str = "[masked]";

/// Parts of names whose values are not for everybody.
const SECRET: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "api.key",
    "privatekey",
    "accesskey",
    "authorization",
];

/// Whether the value of the property, variable or option `name` is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['.', '_', '-']).next().unwrap_or("");
    matches!(last, "key" | "pwd" | "pass") || (0..name.len()).any(|at| is_secret_part(&name.as_bytes()[at..]))
}

/// Whether `rest` starts with a part of a secret's name. Recordings have thousands of names, so the first letter is
/// looked at first.
fn is_secret_part(rest: &[u8]) -> bool {
    SECRET.iter().any(|part| rest[0] == part.as_bytes()[0] && rest.starts_with(part.as_bytes()))
}

/// The value of the property or variable `name`, or the mask.
pub fn value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    match value {
        "" => Cow::Borrowed(""),
        _ if is_secret(name) => Cow::Borrowed(MASK),
        _ => command_line(value),
    }
}

/// A command line whose secrets are masked: `name=secret`, `--name secret`, `scheme://user:secret@host`.
pub fn command_line(line: &str) -> Cow<'_, str> {
    if !line.contains(['=', '-', '@']) {
        return Cow::Borrowed(line);
    }
    let mut masked = String::with_capacity(line.len());
    let mut next_is_secret = false;
    for word in line.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let space = &word[bare.len()..];
        masked += &argument(bare, next_is_secret);
        masked += space;
        if !bare.is_empty() {
            next_is_secret = bare.starts_with('-') && !bare.contains('=') && is_secret(bare);
        }
    }
    Cow::Owned(masked)
}

fn argument(word: &str, is_secret_value: bool) -> Cow<'_, str> {
    if is_secret_value && !word.is_empty() && !word.starts_with('-') {
        return Cow::Borrowed(MASK);
    }
    if let Some((name, value)) = word.split_once('=')
        && !value.is_empty()
        && is_secret(name)
    {
        return Cow::Owned(format!("{name}={MASK}"));
    }
    url(word)
}

fn url(word: &str) -> Cow<'_, str> {
    let credentials = || {
        let (scheme, rest) = word.split_once("://")?;
        let (login, host) = rest.split('/').next()?.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        let path = &rest[login.len() + 1 + host.len()..];
        Some(format!("{scheme}://{user}:{MASK}@{host}{path}"))
    };
    credentials().map_or(Cow::Borrowed(word), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        for (line, expected) in [
            ("", ""),
            ("-Xmx4g -Dserver.port=80 Main a b", "-Xmx4g -Dserver.port=80 Main a b"),
            ("-Djavax.net.ssl.keyStorePassword=abc X", "-Djavax.net.ssl.keyStorePassword=[masked] X"),
            ("--db-password  abc --x y", "--db-password  [masked] --x y"),
            ("--token --x", "--token --x"),
            ("API_KEY=abc", "API_KEY=[masked]"),
            ("-Durl=jdbc:pg://me:abc@db/x?a=1", "-Durl=jdbc:pg://me:[masked]@db/x?a=1"),
            ("-Dmonkey=1 -Dkeyboard=2", "-Dmonkey=1 -Dkeyboard=2"),
        ] {
            assert_eq!(command_line(line), expected);
        }
        for (name, secret) in
            [("AWS_SECRET_ACCESS_KEY", true), ("user.home", false), ("java.vm.name", false), ("db.pwd", true)]
        {
            assert_eq!(value(name, "abc") == MASK, secret, "{name}");
        }
    }
}
