//! .
pub mod event_list;
