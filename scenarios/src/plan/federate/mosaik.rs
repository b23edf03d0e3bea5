//! Facts of a simulator of mosaik.
use super::facts::Facts;
use crate::diagnostics::Mistake;
use superdense_adapters::{
    federation::data::Type,
    mosaik::simulator::{Attribute, Offer},
};

/// Types that pass the protocol.
const TYPES: [Type; 5] = [Type::Double, Type::Int, Type::Bool, Type::Text, Type::Vector];

impl Facts<'_> {
    /// All that a world is told, and the ticks of its whole times.
    pub(super) fn offer(&self) -> Option<(Offer, i64)> {
        let all = |inwards: bool| {
            let attributes = self.values(inwards).map(|(way, ty, k)| {
                if !TYPES.contains(&ty) {
                    let message = format!("`{}` has the type `{}`", way.key, ty.name());
                    let help = "mosaik carries double, int, bool, string and vector";
                    let mistake = Mistake::new("federate", &way.path.span, message);
                    self.session.report(mistake.help(help));
                }
                // Samples are the value of a signal for as long as no other one comes.
                let signal = self.joint.signals[k] || way.sampled.is_some();
                Attribute { name: way.key.clone(), ty, signal }
            });
            attributes.collect()
        };
        let (resolution, grain) = self.resolution()?;
        Some((Offer { inputs: all(true), outputs: all(false), resolution }, grain))
    }

    /// A whole time of the world, in seconds and in ticks.
    fn resolution(&self) -> Option<(f64, i64)> {
        let ticks = self.session.resolution.ticks_per_second();
        let Some(node) = self.decl.table.get("resolution") else { return Some((1.0, ticks)) };
        let (n, d) = self.eval.period(node, "`resolution`")?;
        let fine = i128::from(n) * i128::from(ticks);
        let grain = i64::try_from(fine / i128::from(d)).ok();
        let grain = grain.filter(|g| *g > 0 && fine % i128::from(d) == 0);
        // Records tell times in nanoseconds.
        let grain = grain.filter(|_| i128::from(n) * 1_000_000_000 % i128::from(d) == 0);
        if grain.is_none() {
            let tick = self.session.resolution;
            let message =
                "`resolution` is no positive number of whole ticks and nanoseconds".into();
            let help =
                format!("write resolution = \"1 s\", or another multiple of the tick of {tick}");
            self.report("federate-time", node, message, help);
        }
        Some((n as f64 / d as f64, grain?))
    }
}
