//! An FMU in use.
//!
//! **When the run begins.** Parameters and first values of inputs may change until the initialisation mode is left. So the
//! model is built when somebody asks for an output or leaves that mode, and built anew if something is set in between: a
//! first value is never a jump.
use serde::{Deserialize, Serialize};
use std::path::Path;
use superdense::{
    export::{Causality, Model, Variable},
    run::driven::Driven,
};
use superdense_adapters::federation::data::{Data, Type};

/// The reference of time, which is a variable in FMI 3.0.
const TIME: u32 = 0;

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Created,
    Initialising,
    Running,
    Ended,
}

/// One instance; nothing is shared with others.
#[derive(Debug)]
pub struct Instance {
    model: Model,
    stage: Stage,
    /// Values of parameters and inputs by the places of the variables.
    values: Vec<f64>,
    /// Places of the first input and of the first output; parameters stand before them.
    first: [usize; 2],
    /// Seconds before which the run will not end.
    until: Option<f64>,
    run: Option<Driven>,
}

/// The state of an instance as bytes.
#[derive(Serialize, Deserialize)]
struct Saved {
    stage: Stage,
    values: Vec<f64>,
    until: Option<f64>,
    run: Option<Vec<u8>>,
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Came {
    /// Seconds up to which the run has come.
    pub at: f64,
    /// Why it has ended there, if it has.
    pub over: Option<String>,
}

/// The share of a step by which its end may be moved to a tick.
const MOVED: f64 = 1e-3;

type Answer<T = ()> = Result<T, String>;

impl Instance {
    /// An instance over a folder of resources.
    ///
    /// # Errors
    /// When the resources are not those of the description with this token.
    pub fn new(resources: &Path, token: &str) -> Answer<Self> {
        let model = Model::open(resources).map_err(|e| e.to_string())?;
        let own = &model.manifest().token;
        if token.trim_matches(['{', '}']) != own {
            return Err(format!(
                "the description has the token {token}, and the resources {{{own}}}: the FMU was changed after its export; \
                 export it again"
            ));
        }
        let values = starts(&model);
        let first = [Causality::Input, Causality::Output];
        let first = first.map(|c| model.manifest().places(c).next().unwrap_or_default());
        Ok(Self { model, stage: Stage::Created, values, first, until: None, run: None })
    }

    /// The place of a variable by its reference.
    fn place(&self, reference: u32) -> Answer<usize> {
        let place = (reference as usize).checked_sub(1);
        let known = place.filter(|k| *k < self.values.len());
        known.ok_or_else(|| format!("there is no variable with the reference {reference}"))
    }

    fn variable(&self, place: usize) -> &Variable {
        &self.model.manifest().variables[place]
    }

    /// Begins the initialisation mode.
    ///
    /// # Errors
    /// Another start than 0 s, which is where a scenario begins; a call out of its order.
    pub fn enter_initialization(&mut self, start: f64, stop: Option<f64>) -> Answer {
        self.expect(Stage::Created, "the initialisation mode")?;
        if start != 0.0 {
            return Err(format!("the start time is {start} s; a scenario begins at 0 s"));
        }
        self.until = stop.filter(|s| s.is_finite());
        self.stage = Stage::Initialising;
        Ok(())
    }

    /// Begins the initialisation mode unless it has begun, as by what FMI 2.0 calls an experiment.
    ///
    /// # Errors
    /// A call out of its order.
    pub fn initialise_if_new(&mut self) -> Answer {
        match self.stage {
            Stage::Created => self.enter_initialization(0.0, None),
            _ => self.expect(Stage::Initialising, "the initialisation mode"),
        }
    }

    /// Ends the initialisation mode: the first instant has been.
    ///
    /// # Errors
    /// Mistakes of the scenario with these parameters, errors of its first instant.
    pub fn exit_initialization(&mut self) -> Answer {
        self.expect(Stage::Initialising, "the end of the initialisation mode")?;
        self.begun()?;
        self.stage = Stage::Running;
        Ok(())
    }

    fn expect(&self, stage: Stage, what: &str) -> Answer {
        if self.stage == stage {
            return Ok(());
        }
        let now = match self.stage {
            Stage::Created => "has not been initialised",
            Stage::Initialising => "is in the initialisation mode",
            Stage::Running => "runs",
            Stage::Ended => "has been terminated",
        };
        Err(format!("{what} was asked for, but the instance {now}"))
    }

    fn begun(&mut self) -> Answer<&mut Driven> {
        if self.run.is_none() {
            let run = self.model.begin(&self.values, self.until);
            self.run = Some(run.map_err(|e| e.to_string())?);
        }
        self.run.as_mut().ok_or_else(|| "the run has not begun".to_owned())
    }

    /// Sets a parameter or an input.
    ///
    /// # Errors
    /// An unknown reference, an output, a value that is not finite, a parameter of a run that goes on.
    pub fn set(&mut self, reference: u32, value: f64) -> Answer {
        let place = self.place(reference)?;
        let Variable { name, causality, .. } = self.variable(place);
        let input = *causality == Causality::Input;
        if !value.is_finite() {
            return Err(format!("`{name}` was set to {value}, which is no finite number"));
        }
        let early = matches!(self.stage, Stage::Created | Stage::Initialising);
        match causality {
            Causality::Output => return Err(format!("`{name}` is an output, which is not set")),
            Causality::Parameter if !early => {
                return Err(format!("`{name}` is a parameter, which is set before the run begins"));
            }
            _ => {}
        }
        if early && self.values[place].to_bits() != value.to_bits() {
            self.run = None;
        }
        self.values[place] = value;
        if let (false, true, Some(run)) = (early, input, &mut self.run) {
            run.set(place - self.first[0], value);
        }
        Ok(())
    }

    /// The value of a variable now.
    ///
    /// # Errors
    /// An unknown reference, a value that is not finite, errors of the first instant.
    pub fn get(&mut self, reference: u32) -> Answer<Data> {
        if reference == TIME {
            let now = |run: &Driven| run.resolution().seconds(run.now());
            return Ok(Data::Double(self.run.as_ref().map_or(0.0, now)));
        }
        let place = self.place(reference)?;
        let variable = self.variable(place);
        if variable.causality != Causality::Output || self.stage == Stage::Created {
            let value = self.values[place];
            return Ok(match Type::named(&variable.ty) {
                Some(Type::Int) => Data::Int(value as i64),
                Some(Type::Bool) => Data::Bool(value != 0.0),
                Some(Type::Text) => Data::Text(String::new()),
                _ => Data::Double(value),
            });
        }
        let number = place - self.first[1];
        self.begun()?.value(number).map_err(|e| e.to_string())
    }

    /// Goes a step from one communication point to the next one.
    ///
    /// # Errors
    /// Another communication point than the present one, a step backwards, errors of the scenario.
    pub fn step(&mut self, from: f64, step: f64) -> Answer<Came> {
        self.expect(Stage::Running, "a step")?;
        let run = self.begun()?;
        let resolution = run.resolution();
        let (now, tick) =
            (resolution.seconds(run.now()), 1.0 / resolution.ticks_per_second() as f64);
        if !(from - now).abs().le(&(tick + 1e-9 * now.abs())) {
            return Err(format!("the step begins at {from} s, but the run is at {now} s"));
        }
        let ticks = ((from + step) / tick).round();
        if !(step >= 0.0 && ticks.abs() < i64::MAX as f64 / 2.0) {
            return Err(format!("the step from {from} s is one of {step} s; it must go on"));
        }
        let moved = (from + step - ticks * tick).abs();
        if moved > MOVED * step + 1e-12 * now.abs() {
            return Err(format!(
                "the step from {from} s ends at {} s, which is no whole number of ticks of {tick:e} s: take steps of whole \
                 ticks, or export the scenario with a finer `resolution`",
                from + step
            ));
        }
        let to = (ticks as i64).max(run.now());
        let over = run.step_to(to).map_err(|e| e.to_string())?.map(str::to_owned);
        Ok(Came { at: resolution.seconds(run.now()), over })
    }

    /// Ends the run; outputs keep their values.
    ///
    /// # Errors
    /// When it does not run.
    pub fn terminate(&mut self) -> Answer {
        if self.stage != Stage::Initialising {
            self.expect(Stage::Running, "the end of the run")?;
        }
        self.stage = Stage::Ended;
        Ok(())
    }

    /// Goes back to where it was when it was made.
    pub fn reset(&mut self) {
        self.values = starts(&self.model);
        (self.stage, self.until, self.run) = (Stage::Created, None, None);
    }

    /// The whole state.
    ///
    /// # Errors
    /// When a unit of the scenario cannot be saved.
    pub fn save(&mut self) -> Answer<Vec<u8>> {
        let run = self.run.as_mut().map(Driven::save).transpose().map_err(|e| e.to_string())?;
        let (stage, values, until) = (self.stage, self.values.clone(), self.until);
        let saved = Saved { stage, values, until, run };
        postcard::to_stdvec(&saved).map_err(|e| e.to_string())
    }

    /// Goes back to a state, also to one of another instance of this FMU.
    ///
    /// # Errors
    /// When the bytes are no state of it.
    pub fn restore(&mut self, bytes: &[u8]) -> Answer {
        let foreign = |e: String| format!("the bytes are no state of this FMU: {e}");
        let saved: Saved = postcard::from_bytes(bytes).map_err(|e| foreign(e.to_string()))?;
        if saved.values.len() != self.values.len() {
            return Err(foreign("it has other variables".to_owned()));
        }
        let fixed = |this: &Self, other: &[f64]| {
            let mut places = this.model.manifest().places(Causality::Parameter);
            places.all(|k| this.values[k].to_bits() == other[k].to_bits())
        };
        if !fixed(self, &saved.values) || self.until != saved.until {
            self.run = None;
        }
        (self.values, self.until) = (saved.values, saved.until);
        match saved.run {
            None => self.run = None,
            Some(bytes) => {
                self.begun()?.restore(&bytes).map_err(|e| foreign(e.to_string()))?;
            }
        }
        self.stage = saved.stage;
        Ok(())
    }
}

/// The values that variables start with.
fn starts(model: &Model) -> Vec<f64> {
    model.manifest().variables.iter().map(|v| v.start).collect()
}
