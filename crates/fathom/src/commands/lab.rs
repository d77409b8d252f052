//! stub
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_: &Args, _: &crate::terminal::Terminal) -> anyhow::Result<super::Answer> {
    anyhow::bail!("stub")
}
