//! From the parameters of a unit to a running FMU.
use super::{
    archive::Unpacked,
    beginning::{Beginning, Part},
    description::InterfaceKind,
    instance::{CallError, Instance},
    kind::Builder,
    layout::{Access, Checked, Layout, blocks, layout},
    me::{self, ExchangeUnit, build::Numerics},
    settings::Settings,
    starts::{Start, starts},
    trial::Trial,
    unit::FmuUnit,
    words::Words,
    worker::Isolation,
};
use std::path::PathBuf;
use superdense_kernel::Component;
use superdense_models::{
    kinds::{Context, ParamError, Params, Span},
    signal::{Timer, value::Value},
};

/// Everything that the parameters say.
struct Parts {
    numerics: Option<Numerics>,
    starts: Vec<(usize, Span, Start)>,
    beginning: Beginning,
    isolation: Option<Isolation>,
    words: Words,
    settings: Option<Settings>,
    /// Values of inputs that hear nothing.
    inputs: Vec<f64>,
}

impl Parts {
    /// # Errors
    /// All mistakes of the parameters.
    fn new(params: &Params, context: &Context<'_>, layout: &Layout) -> Checked<Self> {
        let mut b = Builder { params, context, layout, errors: Vec::new() };
        let exchange = layout.interface.kind == InterfaceKind::ModelExchange;
        let numerics = exchange.then(|| b.numerics());
        let starts = starts(params, &layout.description, context, &mut b.errors);
        let beginning = b.beginning(&starts);
        let isolation = b.isolation();
        let words = Words::new(layout, |v| starts.iter().find(|s| s.0 == v).map(|s| &s.2));
        let settings = (!exchange).then(|| b.settings(beginning.clone(), words.clone()));
        let inputs = b.input_starts(&starts);
        if !b.errors.is_empty() {
            return Err(b.errors);
        }
        Ok(Self { numerics, starts, beginning, isolation, words, settings, inputs })
    }
}

/// The FMU of a unit.
struct Maker<'a> {
    params: &'a Params,
    context: &'a Context<'a>,
    file: PathBuf,
    references: Vec<u32>,
    isolation: Option<&'a Isolation>,
}

impl Maker<'_> {
    fn failed(&self, span: Span, why: impl std::fmt::Display) -> Vec<ParamError> {
        let help = "see what the FMU says, and check its start values";
        let file = self.params.text("path");
        vec![ParamError::at(span, format!("`{file}`: {why}")).help(help)]
    }

    fn instance(&self, layout: &Layout, replays: bool) -> Result<Instance, String> {
        let (description, interface) = (&layout.description, &layout.interface);
        let (path, inside) = (self.context.path, &self.references);
        let make = if replays { Instance::replaying } else { Instance::new };
        make(&self.file, description, interface, path, inside, self.isolation)
    }

    /// Tries the state access of an FMU that is relied on for the first time; what is wrong with it.
    fn trial(&self, layout: &Layout, parts: &Parts) -> Checked<Option<String>> {
        let interface = &layout.interface;
        let tried = interface.state_access && !layout.replays && !interface.single;
        if !tried || Access::of(self.params)? != Access::Check {
            return Ok(None);
        }
        let span = || self.params.span("path");
        let files = Unpacked::new(&self.file, layout.description.version);
        let files = files.map_err(|e| self.failed(span(), e))?;
        let resolution = self.context.resolution;
        let step = match &parts.settings {
            Some(settings) => resolution.seconds(settings.step),
            None => layout.description.experiment.step.unwrap_or(0.01),
        };
        let inputs = parts.settings.as_ref().map_or(&[][..], |settings| &settings.inputs);
        let trial = Trial {
            layout,
            beginning: &parts.beginning,
            inputs: (inputs, &parts.inputs),
            outputs: &blocks(layout.given()),
            step,
        };
        Ok(trial.verdict(&files, || self.instance(layout, false)))
    }
}

/// Builds the unit of kind `fmu`.
///
/// # Errors
/// All mistakes of the parameters, or what the FMU refused.
pub(super) fn build(params: &Params, context: &Context<'_>) -> Checked<Component<Value>> {
    let mut layout = layout(params, context.folder)?;
    let mut parts = Parts::new(params, context, &layout)?;
    let inside = parts.settings.iter().flat_map(|s| s.intermediate.iter().flatten());
    let maker = Maker {
        params,
        context,
        file: context.folder.join(params.text("path")),
        references: inside.copied().collect(),
        isolation: parts.isolation.as_ref(),
    };
    // Its folder is kept until the instance has it, too.
    let _files = Unpacked::new(&maker.file, layout.description.version);
    let unfit = maker.trial(&layout, &parts)?;
    if unfit.is_some() {
        layout.distrust(params.bool("replay"));
    }
    let span = params.span("path");
    let instance = maker.instance(&layout, layout.replays);
    let instance = instance.map_err(|e| maker.failed(span.clone(), e))?;
    remark(&instance, &layout, unfit);
    parts.beginning.enter(&instance).map_err(|(part, e)| {
        let span = match part {
            Part::Structure => params.span("structure"),
            Part::Start(k) => parts.starts[k].1.clone(),
            Part::Whole => span.clone(),
        };
        maker.failed(span, e)
    })?;
    let timer = Timer::due(0, context.resolution);
    let whole = |e: CallError| maker.failed(span.clone(), e);
    let interface = &layout.interface;
    let (beginning, words, inputs) = (parts.beginning, parts.words, parts.inputs);
    if let Some(numerics) = parts.numerics.take() {
        instance.exit_initialisation().map_err(whole)?;
        let settings = me::build::settings(&layout, context, &numerics, (beginning, words));
        let unit = ExchangeUnit::new(instance, settings, numerics, inputs, timer);
        return unit.map(Component::atomic).map_err(whole);
    }
    let Some(mut settings) = parts.settings.take() else { return Err(Vec::new()) };
    settings.state_access = interface.state_access;
    let updated = instance.initialised(interface.event_mode).map_err(whole)?;
    FmuUnit::new(instance, interface.clone(), settings, inputs, timer, updated)
        .map(Component::atomic)
        .map_err(whole)
}

/// Tells what a scenario may miss.
fn remark(instance: &Instance, layout: &Layout, unfit: Option<String>) {
    if let Some(why) = unfit {
        let now = match layout.replays {
            true => "it goes back by making its calls again",
            false => "it is run as one without",
        };
        instance.remark(format!(
            "its state access does not do what the description says: {why}; {now} (`state_access`)"
        ));
    }
    if let Some(start) = layout.description.experiment.start.filter(|start| *start != 0.0) {
        instance.remark(format!(
            "its default experiment begins at {start} s, and runs begin at 0 s, which is what the FMU is told: what it \
             computes from the time is that of 0 s on"
        ));
    }
    if layout.interface.needs_tool {
        let remark =
            "needsExecutionTool: it runs only where the program that exported it is installed";
        instance.remark(remark.to_owned());
    }
}
