//! Names whose values are not for everybody.

use std::sync::LazyLock;

use regex::Regex;

use super::MASK;

/// Parts of such names.
const SECRET: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "api.key",
    "privatekey",
    "private_key",
    "private-key",
    "accesskey",
    "access_key",
    "access-key",
    "accountkey",
    "sharedaccess",
    "authorization",
    "cookie",
    "sessionid",
    "bearer",
    // In other languages.
    "kennwort",
    "passwort",
    "geheim",
    "schluessel",
    "schlüssel",
    "motdepasse",
    "mot_de_passe",
    "mot-de-passe",
    "mot.de.passe",
    "contrasena",
    "contraseña",
    "senha",
    "wachtwoord",
    "passord",
    "losenord",
    "lösenord",
    "adgangskode",
    "salasana",
    "heslo",
    "jelszo",
    "jelszó",
    "lozinka",
    "parolaccesso",
    "пароль",
    "ключ",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
];

/// Last words of names of accounts, whose values may have the password behind the name: `me:x`, `me/x`.
const ACCOUNT_LAST: &[&str] = &["login", "logon", "user", "username", "account", "userinfo", "cred", "creds"];

/// Last words of such names.
const SECRET_LAST: &[&str] = &[
    "key",
    "pwd",
    "pass",
    "pw",
    "psw",
    "auth",
    "sig",
    "signature",
    "dsn",
    "jwt",
    "pin",
    "salt",
    "pepper",
    "lic",
    "license",
    "licence",
    "lizenz",
    "licencia",
    "licenca",
    "cred",
    "creds",
    "clave",
    "haslo",
    "hasło",
    "parola",
    "sifre",
    "şifre",
    "otp",
];

/// Last words of names that tell of a secret without being one: where it is, how long it lives.
const NO_SECRET_LAST: &[&str] = &[
    "file",
    "path",
    "dir",
    "folder",
    "url",
    "uri",
    "endpoint",
    "enabled",
    "type",
    "length",
    "ttl",
    "timeout",
    "expiry",
    "policy",
    "provider",
    "class",
    "algorithm",
    "location",
    "count",
    "size",
    "seconds",
    "ms",
    "format",
    "header",
];

/// Words that have such a part and are none.
const NO_SECRET: &[&str] = &["tokeniz", "passwordless", "secretar", "cookiecutter"];

/// Beginnings of names that the JDK gives itself, or that any documentation shows.
const OF_THE_JDK: &[&str] = &[
    "java.",
    "jdk.",
    "sun.",
    "os.",
    "user.",
    "file.",
    "path.",
    "line.",
    "native.",
    "awt.",
    "stdout.",
    "stderr.",
    "stdin.",
    "com.sun.management.",
    "javax.net.ssl.",
    "http.",
    "https.",
    "ftp.",
    "socksProxy",
    "networkaddress.",
];

/// Recordings have thousands of names: one pass looks for all parts.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    let parts: Vec<String> = SECRET.iter().copied().map(regex::escape).collect();
    Regex::new(&parts.join("|")).unwrap_or_else(|_| unreachable!("the parts are constants"))
});

/// What is in each name before a secret, or before an account with one.
pub(super) fn parts_of_secret_names() -> impl Iterator<Item = &'static str> {
    [SECRET, SECRET_LAST, ACCOUNT_LAST].into_iter().flatten().copied()
}

/// Whether the value of the property, variable or option `name` is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let last = last_word(name);
    let name = if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() };
    let has_part = || PARTS.is_match(&name) && !NO_SECRET.iter().any(|no| name.contains(no));
    !NO_SECRET_LAST.contains(&last.as_str()) && (SECRET_LAST.contains(&last.as_str()) || has_part())
}

/// Whether a name is a secret's and nothing more: `password`, not `password-reset.jar`.
pub(super) fn is_secret_word(name: &str) -> bool {
    let last = last_word(name);
    SECRET_LAST.contains(&last.as_str()) || SECRET.contains(&last.as_str())
}

/// What follows the last separator, or the last capital letter after a small one: `db.pwd`, `DB_PWD` and `dbPwd` end alike.
fn last_word(name: &str) -> String {
    let last = name.strip_prefix("-D").unwrap_or(name).rsplit(['.', '_', '-', '$', ':']).next().unwrap_or("");
    let bytes = last.as_bytes();
    let capital =
        (1..bytes.len()).rev().find(|at| bytes[*at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase());
    last[capital.unwrap_or(0)..].to_lowercase()
}

/// Whether a name is that of an account.
pub(super) fn is_account(name: &str) -> bool {
    ACCOUNT_LAST.contains(&last_word(name).as_str())
}

/// Whether a name is the JDK's own.
pub(super) fn is_of_the_jdk(name: &str) -> bool {
    OF_THE_JDK.iter().any(|start| name.starts_with(start))
}

/// Whether a value has been masked. Its last bracket may have been taken for the end of a list.
fn is_masked(value: &str) -> bool {
    value.starts_with(MASK.trim_end_matches(']'))
}

/// Whether a value says nothing, whatever its name.
pub(super) fn is_harmless(value: &str) -> bool {
    matches!(value, "" | "true" | "false" | "null" | "none" | "yes" | "no") || is_masked(value)
}

/// Name and value of an argument that is an assignment.
pub(super) fn assigned(argument: &str) -> Option<(&str, &str)> {
    let (name, value) = argument.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '$');
    name.chars().all(is_name).then_some((name, value))
}
