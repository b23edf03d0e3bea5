//! The problems in Rust, as the engine for quantised states takes them; others take them through
//! [`Slice`] and [`Direction`].
use super::problem::Problem;
use crate::qss::{Advection, Line};
use superdense_models::solve::{
    qss::{Number, System, View},
    series::Series,
};

/// The oscillator of van der Pol with this damping.
#[derive(Debug)]
pub struct VanDerPol(pub f64);

impl System for VanDerPol {
    fn states(&self) -> usize {
        2
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states.extend(usize::from(index == 0) as u32..2);
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let (x, v) = (at.state(0), at.state(1));
        if index == 0 { v } else { (-(x * x) + 1.0) * v * self.0 - x }
    }
}

/// Predators and prey.
#[derive(Debug)]
pub struct LotkaVolterra;

impl System for LotkaVolterra {
    fn states(&self) -> usize {
        2
    }
    fn reads(&self, _: usize, states: &mut Vec<u32>) {
        states.extend(0..2);
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        let (prey, predators) = (at.state(0), at.state(1));
        if index == 0 { (-(predators * 0.4) + 1.1) * prey } else { (prey * 0.1 - 0.4) * predators }
    }
}

/// A ball in free fall.
#[derive(Debug)]
pub struct Fall;

impl System for Fall {
    fn states(&self) -> usize {
        2
    }
    fn reads(&self, index: usize, states: &mut Vec<u32>) {
        states.extend((index == 0).then_some(1));
    }
    fn is_curved(&self, _: usize) -> bool {
        false
    }
    fn derivative<S: Number>(&self, index: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        if index == 0 { at.state(1) } else { S::constant(-9.81) }
    }
}

/// States and one discrete value.
#[derive(Debug)]
pub struct Slice<'a>(pub &'a [f64], pub f64);

impl View<f64> for Slice<'_> {
    fn time(&self) -> f64 {
        0.0
    }
    fn state(&self, index: usize) -> f64 {
        self.0[index]
    }
    fn input(&self, _: usize) -> f64 {
        0.0
    }
    fn discrete(&self, _: usize) -> f64 {
        self.1
    }
}

/// States, and how they change along a direction.
#[derive(Debug)]
pub struct Direction<'a>(pub &'a [f64], pub &'a [f64]);

impl View<Series<2>> for Direction<'_> {
    fn time(&self) -> Series<2> {
        Series([0.0; 2])
    }
    fn state(&self, index: usize) -> Series<2> {
        Series([self.0[index], self.1[index]])
    }
    fn input(&self, _: usize) -> Series<2> {
        Series([0.0; 2])
    }
    fn discrete(&self, _: usize) -> f64 {
        0.0
    }
}

/// Something to be done with the system of a problem.
pub trait Visitor {
    /// The result of the task.
    type Result;
    /// Does it.
    fn visit<Y: System>(self, system: Y) -> Self::Result;
}

/// The system of a problem, if it is written here.
pub fn with_system<V: Visitor>(problem: Problem, visitor: V) -> Option<V::Result> {
    Some(match problem {
        Problem::Advection => visitor.visit(Advection(1000)),
        Problem::Line => visitor.visit(Line(200)),
        Problem::VanDerPol => visitor.visit(VanDerPol(1.0)),
        Problem::Stiff => visitor.visit(VanDerPol(1000.0)),
        Problem::LotkaVolterra => visitor.visit(LotkaVolterra),
        Problem::Bounces => visitor.visit(Fall),
        Problem::Grid => return None,
    })
}
