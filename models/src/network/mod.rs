//! Packet networks: sources, links with drop-tail queues, static routes, sinks, a wide-area
//! network with a fixed delay, nodes of open Jackson networks, and entities of PHOLD.
//!
//! **Order.** Packets that reach a unit in one cycle are taken by creation, source and number
//! ([`crate::value::Packet::key`]); a packet that leaves a transmitter at a tick makes room for
//! one that comes at that tick.
//!
//! **Statistics** are outputs that recording reads at any time; wired receivers hear of them at
//! the start and then after every `every` packets ([`board`]).
pub mod board;
pub mod link;
pub mod node;
pub mod phold;
pub mod routes;
pub mod sink;
pub mod source;
pub mod wan;
