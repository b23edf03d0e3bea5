//! Packet networks: sources, links with drop-tail queues that may fail, attacks, static routes, sinks, a wide-area
//! network with a fixed delay, nodes of open Jackson networks, entities of PHOLD, atomics of DEVStone,
//! and populations of nodes that join and leave.
//!
//! **Order.** Packets that reach a unit in one cycle are taken by creation, source and number
//! ([`crate::signal::value::Packet::key`]); a packet that leaves a transmitter at a tick makes room for
//! one that comes at that tick.
//!
//! **Statistics** are outputs that recording reads at any time; wired receivers hear of them at
//! the start and then after each packet, or after every `every` packets ([`board`]).
pub mod board;
pub mod devstone;
pub mod flood;
mod impaired;
pub mod link;
pub mod node;
pub mod phold;
pub mod population;
pub mod routes;
pub mod sink;
pub mod source;
mod spells;
pub mod tamper;
mod transmitter;
pub mod wan;
