//! Sends a body to an address.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use crate::config::Webhook;
use crate::trusted::{self, Owner};

/// An address that does not answer is given up for this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file with a secret is small.
const SECRET_MAX_BYTES: usize = 16 << 10;

/// Certificates are judged by those that the system trusts.
static AGENT: LazyLock<Agent> = LazyLock::new(|| {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = Agent::config_builder().timeout_global(Some(PATIENCE)).max_redirects(0).tls_config(tls).build();
    config.into()
});

/// Sends a body to an address. What went wrong is reported without the address, which may be a secret.
pub(super) fn send(webhook: &Webhook, owner: Option<Owner>, body: &str) -> Result<(), String> {
    let url = match (&webhook.url, &webhook.url_file) {
        (Some(url), _) => url.clone(),
        (None, Some(file)) => secret(file, owner)?,
        (None, None) => return Err("it has no address".to_owned()),
    };
    let mut request = AGENT.post(&url).header("Content-Type", "application/json");
    if let Some(file) = &webhook.token_file {
        request = request.header("Authorization", format!("Bearer {}", secret(file, owner)?));
    }
    match request.send(body) {
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(format!("it answered {}", answer.status().as_u16())),
        Err(error) => Err(error.to_string().replace(&url, "(address)")),
    }
}

/// Secrets are read each time, as they may be changed.
fn secret(file: &Path, owner: Option<Owner>) -> Result<String, String> {
    let mut text = String::new();
    let read = trusted::secret(file, owner)
        .and_then(|secret| secret.take(SECRET_MAX_BYTES as u64 + 1).read_to_string(&mut text));
    read.map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err(format!("{}: empty", file.display())),
        text if text.len() > SECRET_MAX_BYTES => Err(format!("{}: too long", file.display())),
        text => Ok(text.to_owned()),
    }
}
