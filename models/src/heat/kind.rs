//! The unit kind: parameters, their mistakes, and what is built of them.
use super::{
    boundary::Boundary,
    complex::{C, size},
    conformal::{Conformal, NoMap},
    march::Body,
    mesh::{Geometry, Mesh},
    unit::{Fixed, Heated, Output},
};
use crate::{
    kinds::{
        Context, Located, Param, ParamError, ParamType, Params, PortSpec, Ports,
        feed_through::FeedThrough,
        params::{Checked, Reader, TOLERANCE, needed, with},
        ports::signal,
    },
    maths::expr::{Expr, Function, Names, Scope, Symbol},
};
use superdense_kernel::Component;

/// Outputs before those at points.
const OUTPUTS: [&str; 6] = ["mean", "surface", "place", "supplied", "lost", "stored"];

/// The quantities of the outputs that every body has.
fn common() -> [Output; 6] {
    [Output::Mean, Output::Surface, Output::Place, Output::Supplied, Output::Lost, Output::Stored]
}

/// The most lines of a grid, and the most places along the boundary.
const MOST_LINES: i64 = 801;
const MOST_PLACES: i64 = 1000;

/// Names of a formula: its variables, then the constants around the unit.
struct Surrounded<'a> {
    own: Names,
    context: &'a Context<'a>,
}

impl Scope for Surrounded<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        self.own.lookup(name).or_else(|| (self.context.constants)(name).map(Symbol::Const))
    }
    fn names(&self) -> Vec<&str> {
        self.own.names()
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.own.function(name)
    }
}

/// A formula over some variables.
fn formula(p: &Located<Param>, names: &[&str], context: &Context<'_>) -> Checked<Expr> {
    let text = match &p.value {
        Param::Real(x) => return Ok(Expr::constant(*x)),
        Param::Int(i) => return Ok(Expr::constant(*i as f64)),
        Param::Text(text) => text,
        _ => {
            let error = ParamError::at(p.span.clone(), "this is no formula");
            return Err(vec![error.help("write a number, or a text such as \"2 + cos(theta)\"")]);
        }
    };
    let mut own = Names::new().with(context.functions);
    for (name, id) in names.iter().zip(0..) {
        own = own.var(*name, id);
    }
    let told = |error: &crate::maths::expr::ExprError| {
        let at = ParamError::at(p.span.clone(), error.to_string());
        at.help(error.help().unwrap_or_else(|| format!("the variables are {}", names.join(", "))))
    };
    Expr::parse(text, &Surrounded { own, context }).map_err(|all| all.iter().map(told).collect())
}

/// A pair of numbers, xi and eta.
fn pair(p: &Located<Param>, context: &Context<'_>) -> Checked<(f64, f64)> {
    if let Param::List(list) = &p.value
        && let [xi, eta] = &list[..]
    {
        let number = |p| formula(p, &[], context).map(|e| e.eval::<f64>(&[]));
        return Ok((number(xi)?, number(eta)?));
    }
    let error = ParamError::at(p.span.clone(), "this is no point");
    Err(vec![error.help("write [xi, eta], such as [0, 3.5]")])
}

/// The boundary, by a formula or by points.
fn boundary(r: &mut Reader<'_>, params: &Params, context: &Context<'_>) -> Option<Boundary> {
    let (rho, points) = (r.given("rho"), r.given("points"));
    let message =
        if rho { "`rho` and `points` are two boundaries" } else { "there is no boundary" };
    let help = "give either `rho`, a formula over theta, or `points`, a list of [xi, eta]";
    r.check(rho != points, if rho { "points" } else { "rho" }, message, help);
    if rho == points {
        return None;
    }
    let p = params.get(if rho { "rho" } else { "points" })?;
    let found = if rho {
        formula(p, &["theta"], context).map(|e| Boundary::formula(&e))
    } else {
        listed(p, context)
    };
    let boundary = found.map_err(|errors| r.extend(errors)).ok()?;
    if let Some(theta) = boundary.flaw() {
        let message = format!("rho is no distance above zero at theta = {theta:.4}");
        let help = "give a boundary that goes around the origin, for all theta from -pi/2 to pi/2";
        r.push(ParamError::at(p.span.clone(), message).help(help));
        return None;
    }
    Some(boundary)
}

fn listed(p: &Located<Param>, context: &Context<'_>) -> Checked<Boundary> {
    let Param::List(list) = &p.value else {
        let error = ParamError::at(p.span.clone(), "`points` is no list");
        return Err(vec![error.help("write [[xi, eta], ...] from the lower end of the axis on")]);
    };
    let mut points = Vec::new();
    for item in list {
        points.push(pair(item, context)?);
    }
    Boundary::points(&points).map_err(|why| {
        let help = "go from the lower end of the axis, [0, eta], to the upper one with xi >= 0, so that the \
                    angle around the origin grows";
        vec![ParamError::at(p.span.clone(), why.to_string()).help(help)]
    })
}

/// The map of a boundary.
fn map(r: &mut Reader<'_>, params: &Params, boundary: &Boundary) -> Option<Conformal> {
    let points = r.int("fourier", 64, 65536);
    let ok = points.count_ones() == 1;
    let help = "give a power of two from 64 to 65536";
    r.check(ok, "fourier", format!("`fourier` is {points}"), help);
    if !ok {
        return None;
    }
    let name = if r.given("rho") { "rho" } else { "points" };
    Conformal::new(boundary, points as usize)
        .map_err(|why| {
            let help = match why {
                NoMap::Diverges(_) => "give a rounder boundary, or move the origin into its middle",
                NoMap::Coarse(_) => "raise `fourier`, or give a smoother boundary",
            };
            r.push(ParamError::at(params.span(name), why.to_string()).help(help));
        })
        .ok()
}

/// Where a named output is.
#[derive(Clone)]
enum Spot {
    Probe(Located<Param>),
    /// This part of the way along the boundary.
    Boundary(f64),
    Node(usize),
}

type Named = (Located<String>, Spot);

/// Names of the outputs at points, along the boundary and at nodes, in this order.
fn names(params: &Params) -> Checked<Vec<Named>> {
    let mut r = Reader::new(params);
    let mut all = Vec::new();
    if let Some(p) = params.get("probes").filter(|_| r.given("probes")) {
        match &p.value {
            Param::Table(entries) => {
                for (name, point) in entries {
                    if OUTPUTS.contains(&name.value.as_str()) {
                        let message = format!("`{}` is an output already", name.value);
                        let error = ParamError::at(name.span.clone(), message);
                        r.push(error.help("give the probe another name"));
                    }
                    all.push((name.clone(), Spot::Probe(point.clone())));
                }
            }
            _ => {
                let error = ParamError::at(p.span.clone(), "`probes` is no table");
                r.push(error.help("write { name = [xi, eta], ... }"));
            }
        }
    }
    let places = r.int("profile", 0, MOST_PLACES);
    let one = places == 1;
    r.check(
        !one,
        "profile",
        "`profile` is 1",
        "give 0, or 2 places and more: both ends of the axis",
    );
    let whole = (places - 1).max(1) as f64;
    let mut more = |key: &str, k: i64, spot: Spot| {
        all.push((Located::new(format!("{key}[{k}]"), params.span(key)), spot));
    };
    (1..=places).for_each(|k| more("profile", k, Spot::Boundary((k - 1) as f64 / whole)));
    if params.bool("field") {
        let n = r.int("n", 5, MOST_LINES);
        let nodes = n * (n + 1) / 2;
        let room = i64::from(u16::MAX) - 2 * MOST_PLACES;
        let help = "take a coarser grid for pictures, of n <= 351";
        r.check(nodes < room, "field", format!("`field` has {nodes} outputs"), help);
        (1..=nodes.min(room)).for_each(|k| more("field", k, Spot::Node(k as usize - 1)));
    }
    r.finish(all)
}

fn ports(params: &Params) -> Checked<Ports> {
    let points = names(params)?;
    let points = points.iter().map(|(name, _)| name.value.as_str());
    let outputs = OUTPUTS.into_iter().chain(points).map(PortSpec::signal).collect();
    let inputs = vec![signal("amplitude").optional(), signal("velocity").optional()];
    Ok(Ports { inputs, outputs })
}

/// Outputs at points and along the boundary.
fn outputs(
    r: &mut Reader<'_>,
    params: &Params,
    context: &Context<'_>,
    (boundary, map, mesh): (&Boundary, &Conformal, &Mesh),
) -> Vec<Output> {
    let mut all: Vec<Output> = common().into();
    for (name, spot) in names(params).unwrap_or_default() {
        let point = match spot {
            Spot::Boundary(part) => {
                all.push(Output::Point(mesh.along(part)));
                continue;
            }
            Spot::Node(node) => {
                all.push(Output::Point(vec![(node, 1.0)]));
                continue;
            }
            Spot::Probe(point) => point,
        };
        match pair(&point, context) {
            Err(errors) => r.extend(errors),
            Ok((xi, eta)) => {
                let zeta = C::new(xi, eta);
                let rho = libm::exp(boundary.log(libm::atan2(eta, xi)));
                if xi >= 0.0 && size(zeta) <= rho * (1.0 + 1e-9) {
                    all.push(Output::Point(mesh.weights(map.preimage(zeta))));
                } else {
                    let name = &name.value;
                    let message =
                        format!("probe `{name}` at ({xi}, {eta}) is not inside of the body");
                    let help = format!("take xi >= 0; in this direction the body ends at {rho:.6}");
                    r.push(ParamError::at(point.span.clone(), message).help(help));
                }
            }
        }
    }
    all
}

/// Temperatures of the nodes at the start.
fn start(r: &mut Reader<'_>, params: &Params, context: &Context<'_>, body: &Body) -> Vec<f64> {
    let nodes = &body.mesh.nodes;
    let Some(p) = params.get("initial").filter(|_| r.given("initial")) else {
        return vec![body.ambient; nodes.len()];
    };
    let expr = match formula(p, &["xi", "eta"], context) {
        Ok(expr) => expr,
        Err(errors) => {
            r.extend(errors);
            return vec![0.0; nodes.len()];
        }
    };
    let start: Vec<f64> = nodes.iter().map(|z| expr.eval(&[z.re, z.im])).collect();
    let ok = start.iter().all(|u| u.is_finite());
    let help = "give a formula that is finite inside of the body";
    r.check(ok, "initial", "`initial` is not finite everywhere", help);
    start
}

/// The most ticks of a step, as a power of two.
fn longest(r: &mut Reader<'_>) -> u32 {
    const FAR: u32 = 60;
    if r.given("max_step") { r.span("max_step").unsigned_abs().ilog2() } else { FAR }
}

fn build(
    params: &Params,
    context: &Context<'_>,
) -> Checked<Component<crate::signal::value::Value>> {
    let mut r = Reader::new(params);
    let n = r.int("n", 5, MOST_LINES);
    r.check(n % 2 == 1, "n", format!("`n` is {n}"), "give an odd number: a line lies on the axis");
    let n = (n | 1) as usize;
    let rotational = params.text("geometry") != "plane";
    let geometry = if rotational { Geometry::Rotational } else { Geometry::Plane };
    let (kappa, ambient, spread) = (r.positive("kappa"), r.finite("ambient"), r.positive("spread"));
    let alphas = [r.finite("alpha_r"), r.finite("alpha_c")];
    for (name, alpha) in ["alpha_r", "alpha_c"].into_iter().zip(alphas) {
        r.check(alpha >= 0.0, name, format!("`{name}` is {alpha}"), "give zero or more");
    }
    let given = [r.finite("amplitude"), r.finite("velocity")];
    let place = r.finite("position");
    let tolerance = (r.positive("tolerance"), r.positive("absolute_tolerance"));
    let (band, longest) = (r.positive("exchange_tolerance"), longest(&mut r));
    let boundary = boundary(&mut r, params, context);
    let map = boundary.as_ref().and_then(|b| map(&mut r, params, b));
    let (Some(boundary), Some(map)) = (boundary, map) else {
        return Err(r.finish(()).err().unwrap_or_default());
    };
    let mesh = Mesh::new(&map, n, geometry, (alphas[0], alphas[1]));
    let outputs = outputs(&mut r, params, context, (&boundary, &map, &mesh));
    let body = Body::new(mesh, kappa, ambient, spread);
    let start = start(&mut r, params, context, &body);
    let followed = (0..outputs.len() as u16).map(|port| context.is_followed(port)).collect();
    let unit = if rotational { std::f64::consts::TAU } else { 2.0 };
    // Without a mistake: with one there may be too few outputs.
    r.finish(())?;
    let fixed = Fixed { body, outputs, followed, tolerance, band, longest, unit, given };
    Ok(Component::atomic(Heated::new(fixed, start, place, context.resolution)))
}

unit_kind! {
    /// `heat-conformal`: heat in a body of revolution, or in a long rod, with a source that moves along its axis:
    /// `u_t = kappa Lap u + amplitude exp((-xi^2 - (eta - place)^2)/spread)`, and on the surface
    /// `du/dn = alpha (ambient - u)`. Lengths are in mm and times in seconds, or in any units that go together.
    ///
    /// The cross-section lies in the plane of xi, the distance from the axis, and eta along it. Its boundary is
    /// `rho`, the distance from the origin over the angle theta from the xi axis (-pi/2 at the lower end of the axis, pi/2 at
    /// the upper one), or goes through `points` [xi, eta] from the lower end to the upper one. A conformal map takes a grid
    /// with `n` lines across the unit square there, of which the right half is kept; its lines are denser where it
    /// stretches. `alpha_c` (crown) belongs to the upper edge of the square, `alpha_r` (root) to all other surface: the border
    /// is where the corner goes, at an eighth of a turn of the disk.
    ///
    /// Inputs `amplitude` and `velocity` of the source; without them the parameters count. Outputs: `mean`, `surface` (the
    /// highest temperature of the surface), `place` of the source, heat since the start as `supplied` by the source,
    /// `lost` through the surface and `stored` (in degrees times volume, or area for a rod), the names of `probes`, and
    /// `profile[1]` to `profile[N]`, temperatures at equal distances along the boundary from its lower end to its upper one.
    ///
    /// Finite volumes in space are of order 2; the error in time is controlled (SDIRK of order 4), and heat balances but for
    /// rounding.
    ///
    /// ```toml
    /// [unit.tooth]
    /// kind = "heat-conformal"
    /// rho = "1/sqrt((cos(theta)/3)^2 + (sin(theta)/8)^2)"   # or points = [[0, -8], ..., [0, 8]]
    /// n = 21
    /// kappa = 0.3                          # mm²/s
    /// alpha_r = 1e-4                       # 1/mm
    /// alpha_c = 1e-5
    /// ambient = 36
    /// amplitude = 400                      # K/s
    /// velocity = -0.2                      # mm/s
    /// position = 5                         # mm
    /// spread = 0.2                         # mm²
    /// probes = { centre = [0, 0], equator = [3, 0] }
    /// profile = 9
    /// ```
    HeatConformal = "heat-conformal", "heat in a body whose cross-section is the conformal image of a square",
    params: [
        with("rho", ParamType::Expression, "", "distance of the boundary from the origin, over theta"),
        with("points", ParamType::Raw, "", "points [xi, eta] of the boundary instead of `rho`, from the lower end of the axis on"),
        with("n", ParamType::Int, "51", "lines of the grid across the whole square, an odd number from 5 to 801"),
        with("geometry", ParamType::Choice(&["rotational", "plane"]), "rotational", "a body of revolution, or a long rod"),
        with("fourier", ParamType::Int, "4096", "points of the map's Fourier series, a power of two from 64 to 65536"),
        needed("kappa", ParamType::Real(None), "thermal diffusivity"),
        with("alpha_r", ParamType::Real(None), "0.0", "heat transfer over conductivity at the root"),
        with("alpha_c", ParamType::Real(None), "0.0", "heat transfer over conductivity at the crown"),
        with("ambient", ParamType::Real(None), "0.0", "temperature of the surroundings"),
        with("initial", ParamType::Expression, "", "temperature at the start, over xi and eta; default: that of the surroundings"),
        with("amplitude", ParamType::Real(None), "0.0", "height of the source where no input tells it"),
        with("velocity", ParamType::Real(None), "0.0", "velocity of the source along the axis where no input tells it"),
        with("position", ParamType::Real(None), "0.0", "place of the source on the axis at the start"),
        with("spread", ParamType::Real(None), "1.0", "square of the source's width"),
        with("probes", ParamType::Raw, "", "more outputs: name = [xi, eta] of a point in the body"),
        with("profile", ParamType::Int, "0", "number of places along the boundary, whose temperatures are outputs"),
        with("field", ParamType::Bool, "false", "temperatures of all nodes are outputs, for pictures"),
        with("tolerance", ParamType::Real(None), "1e-5", "relative error of a step"),
        with("absolute_tolerance", ParamType::Real(None), "1e-5", "absolute error of a step"),
        with("max_step", ParamType::Duration, "", "longest step; steps have lengths of 2^k ticks"),
        TOLERANCE,
    ],
    ports: ports,
    // Temperatures follow from the source by its integral.
    feed_through: |_, _| FeedThrough::None,
    build: build,
}
