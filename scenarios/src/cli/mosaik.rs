//! `mosaik`.
use super::{
    Done,
    options::RunOptions,
    report::{Console, Stop},
    run,
};
use crate::plan::federate::Engine;
use clap::Args;
use superdense_adapters::mosaik::simulator::Address;

/// Options of `mosaik`.
#[derive(Debug, Args)]
pub(super) struct MosaikOptions {
    #[command(flatten)]
    run: RunOptions,
    /// Where mosaik listens, which it tells as `%(addr)s`.
    #[arg(value_name = "HOST:PORT", required_unless_present = "listen")]
    address: Option<String>,
    /// Wait for mosaik at this port, as for a simulator that it finds by `connect`.
    #[arg(long, value_name = "PORT", conflicts_with = "address")]
    listen: Option<u16>,
}

/// `superdense mosaik FILE HOST:PORT`.
pub(super) fn mosaik(console: &Console, options: &MosaikOptions) -> Done {
    let listen = options.listen.map(Address::Listen);
    let address = listen.or(options.address.clone().map(Address::Connect));
    run::begin(console, &options.run, None, &mut |plan| {
        let name = plan.name.clone();
        match plan.federate.as_mut().map(|f| &mut f.engine) {
            Some(Engine::Mosaik(_, at)) => {
                at.clone_from(&address);
                Ok(())
            }
            _ => Err(Stop::usage(format!(
                "`{name}` is no simulator of mosaik: add [federate] with engine = \"mosaik\" and its inputs and outputs"
            ))),
        }
    })
}
