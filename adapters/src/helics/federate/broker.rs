//! The broker: one of others, or our own.
use super::{Federation, FederationError};
use std::{
    hash::{BuildHasher, Hasher},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

/// Time between two tries to reach a broker.
const AGAIN: Duration = Duration::from_millis(100);
/// Time in which a broker on a network answers.
const ANSWER: Duration = Duration::from_millis(500);

/// Ports of federations on one machine: so many times so many from the first on.
const FIRST: u16 = 11_000;
const SPAN: u16 = 20;
const SPANS: u64 = 1000;

/// Where the broker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerAt {
    /// At `host:port`.
    Address(String),
    /// We start it in this process, on a free port of this machine.
    Own,
}

impl Federation {
    /// Address and key of the broker, which takes connections.
    pub(super) fn reach_broker(
        &mut self,
        deadline: Instant,
    ) -> Result<(String, String), FederationError> {
        let key = self.taking.key.clone().unwrap_or_else(made_up);
        match self.taking.broker.clone() {
            BrokerAt::Address(at) => {
                self.wait_for(&at, deadline)?;
                Ok((at, key))
            }
            BrokerAt::Own => {
                let port = free_ports().ok_or(FederationError::Gone)?;
                let others = self.taking.launch.len().max(self.taking.require.len());
                let options = format!(
                    "--federates={} --port={port} --broker_key={key} --loglevel=no_print {}",
                    others + 1,
                    self.times()
                );
                let core = self.taking.core.clone();
                self.waited("starting a broker", deadline, move |held| {
                    held.start_broker(&core, &options)
                })?;
                Ok((format!("127.0.0.1:{port}"), key))
            }
        }
    }

    /// Tries to reach a broker until the deadline; HELICS would not come back in time.
    fn wait_for(&mut self, at: &str, deadline: Instant) -> Result<(), FederationError> {
        if self.taking.core == "udp" {
            return Ok(());
        }
        loop {
            let addresses = at.to_socket_addrs().into_iter().flatten();
            let open = |a: &SocketAddr| TcpStream::connect_timeout(a, ANSWER).is_ok();
            if let Some(address) = addresses.into_iter().find(open) {
                self.watch.broker(address);
                return Ok(());
            }
            if Instant::now() + AGAIN >= deadline {
                let federates = 1 + self.taking.launch.len().max(self.taking.require.len());
                let (at, waited) = (at.to_owned(), self.taking.join);
                return Err(FederationError::NoBroker { at, waited, federates });
            }
            self.watch.look()?;
            std::thread::sleep(AGAIN);
        }
    }

    /// Options of our core.
    pub(super) fn options(&self, address: &str, key: &str) -> String {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let times = self.times();
        format!(
            "--federates=1 --broker={host} --brokerport={port} --broker_key={key} --loglevel=no_print {times}"
        )
    }

    /// The times by which silence is found out. HELICS looks at each tick.
    fn times(&self) -> String {
        let patience = self.taking.patience.as_millis().max(4);
        format!("--tick={}ms --timeout={patience}ms", patience / 4)
    }
}

/// A number that nobody else has.
fn made_up_number() -> u64 {
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// A key that nobody else has.
fn made_up() -> String {
    format!("{:016x}", made_up_number())
}

/// A port that nobody has, with some behind it that are free for cores: below those that systems give to
/// programs that connect to others.
fn free_ports() -> Option<u16> {
    let taken = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_err();
    (0..200).find_map(|_| {
        let first = FIRST + SPAN * (made_up_number() % SPANS) as u16;
        (first..first + SPAN).all(|port| !taken(port)).then_some(first)
    })
}
