//! `mosaik`, and where the world of a resumed run is.
use super::{
    Done,
    options::RunOptions,
    report::{Console, Stop},
    run,
};
use crate::{Plan, plan::federate::Engine};
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

/// The world of a run that is resumed.
#[derive(Debug, Args)]
pub(super) struct WorldOptions {
    /// Of a simulator of mosaik: where the new world listens, which it tells as `%(addr)s`.
    #[arg(value_name = "HOST:PORT")]
    address: Option<String>,
    /// Of a simulator of mosaik: wait for the new world at this port.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["address", "hosts"])]
    listen: Option<u16>,
}

fn address(address: Option<&String>, listen: Option<u16>) -> Option<Address> {
    listen.map(Address::Listen).or(address.cloned().map(Address::Connect))
}

/// Tells a plan where its world is.
fn join(plan: &mut Plan, world: Option<Address>) -> Done {
    match plan.federate.as_mut().map(|f| &mut f.engine) {
        Some(Engine::Mosaik(_, at)) => {
            *at = world;
            Ok(())
        }
        _ => Err(Stop::usage(format!(
            "`{}` is no simulator of mosaik: add [federate] with engine = \"mosaik\" and its inputs and outputs",
            plan.name
        ))),
    }
}

impl WorldOptions {
    /// Tells a plan where its world is, if that was told.
    pub(super) fn complete(&self, plan: &mut Plan) -> Done {
        match address(self.address.as_ref(), self.listen) {
            None => Ok(()),
            world => join(plan, world),
        }
    }
}

/// `superdense mosaik FILE HOST:PORT`.
pub(super) fn mosaik(console: &Console, options: &MosaikOptions) -> Done {
    let world = address(options.address.as_ref(), options.listen);
    run::begin(console, &options.run, None, &mut |plan| join(plan, world.clone()))
}
