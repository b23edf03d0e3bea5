//! Numbers that come to inputs, and those that outputs have.
use superdense_kernel::Bag;
use superdense_models::signal::{
    Held,
    value::{Flag, Segment, Value},
};

/// A number, for an integer of 64 bits with what its real lacks.
pub(super) fn exactly(y: f64, rest: Option<f64>) -> Value {
    match rest {
        None => Value::Real(y),
        Some(rest) => Value::Segment(Segment::whole(y, rest, Flag::Refresh, y)),
    }
}

/// Keeps the segments of a bag as inputs. Gives whether there was one, and whether one jumped.
pub(super) fn receive(
    bag: &Bag<'_, Value>,
    inputs: &mut [Option<Held>],
    start: &[f64],
    now: i64,
) -> Option<bool> {
    let mut jump = None;
    for (port, value) in bag.iter() {
        let port = usize::from(port);
        if let (Value::Segment(s), Some(slot)) = (value, inputs.get_mut(port)) {
            let first = slot.is_none();
            Held::receive(slot, s, now);
            let starts = s.value(0.0) == start[port] && s.rest() == 0.0;
            let jumps = if first { !starts } else { s.flag == Flag::Jump };
            jump = Some(jump.unwrap_or(false) | jumps);
        }
    }
    jump
}
