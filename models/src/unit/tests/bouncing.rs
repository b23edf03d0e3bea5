use super::*;
use crate::kinds::testing::Bench;

/// A ball that falls and bounces.
pub(super) struct Ball(Vec<EventSpec>);

impl Ball {
    pub(super) fn new() -> Self {
        // On the floor, and falling.
        Self(vec![EventSpec::new("bounce", Trigger::all([(0, false), (1, true)]))])
    }
}

impl Equations for Ball {
    fn dims(&self) -> Dims {
        Dims { states: 2, outputs: 2, indicators: 3, ..Dims::default() }
    }
    fn events(&self) -> &[EventSpec] {
        &self.0
    }
    fn derivatives<S: Scalar>(&self, v: &[S], _: &mut Work<S>, dx: &mut [S]) {
        dx[0] = v[2].clone();
        dx[1] = S::constant(-9.81);
    }
    fn outputs<S: Scalar>(&self, v: &[S], _: &mut Work<S>, y: &mut [S]) {
        y.clone_from_slice(&v[1..3]);
    }
    fn indicators<S: Scalar>(&self, v: &[S], _: &mut Work<S>, z: &mut [S]) {
        z[..2].clone_from_slice(&v[1..3]);
        z[2] = S::constant(-1.0);
    }
    fn reset(&self, _: usize, v: &mut [f64], _: &mut Work, _: &mut Vec<(u16, Value)>) {
        v[2] *= -0.9;
    }
}

/// The Zeno point of C21: at rest exactly, one bound before it, and on after it.
#[test]
fn rest_after_the_zeno_point() {
    for method in [Method::Closed, Method::Rk45, Method::Taylor(12, None)] {
        let mut ball = Ball::new();
        ball.0[0].rest = Some(Rest { within: 1e-10, values: vec![(1, 0.0), (2, 0.0)] });
        let mut run = Alone::new(ball, &[10.0, 0.0], settings(method, 1e-12));
        run.run(100.0).unwrap();
        let events = run.events();
        let last = events[events.len() - 1].0 as f64 * PS;
        let ends = &events[events.len() - 8..];
        assert!((last - 27.12901933561422).abs() < 2e-9, "{method:?}: {last}, {ends:?}");
        assert_eq!((run.output(0), run.output(1)), (0.0, 0.0), "{method:?}");
    }
    let mut run = Alone::new(Ball::new(), &[10.0, 0.0], settings(Method::Rk45, 1e-12));
    assert!(run.run(100.0).unwrap_err().to_string().contains("Zeno"));
}

/// A condition that is constant between events, such as a count of bounces, has no degree; it must
/// not hide that of the others.
#[test]
fn constant_condition_beside_a_plain_one() {
    for method in [Method::Closed, Method::Rk45, Method::Rk23, Method::Taylor(12, None)] {
        let mut ball = Ball::new();
        ball.0[0].trigger = Trigger::all([(0, false), (1, true), (2, false)]);
        let mut run = Alone::new(ball, &[10.0, 0.0], settings(method, 1e-9));
        run.run(1.5).unwrap();
        let events = run.events();
        let first = events[0].0 as f64 * PS;
        assert!((first - 1.427843122927064).abs() < 1e-9, "{method:?}: {first}");
        assert_eq!(events.len(), 1, "{method:?}");
    }
}

/// C21: first, second and 100th bounce, under every method, at ps resolution.
#[test]
fn hundred_bounces() {
    let methods = [
        (Method::Closed, 2e-12),
        (Method::Rk45, 2e-12),
        (Method::Taylor(12, None), 2e-12),
        (Method::Rk23, 1e-9),
        (Method::Rk4(0.1), 2e-12),
    ];
    for (method, error) in methods {
        let mut run = Alone::new(Ball::new(), &[10.0, 0.0], settings(method, 1e-12));
        run.run(27.12826083).unwrap();
        let events = run.events();
        assert_eq!(events.len(), 100, "{method:?}");
        let expected = [(0, 1.427843122927064), (1, 3.997960744195781), (99, 27.12826082539949)];
        for (k, t) in expected {
            let found = events[k].0 as f64 * PS;
            assert!((found - t).abs() < error * (k + 1) as f64, "{method:?} {k}: {found} {t}");
        }
        println!("{method:?}: {:?}", run.sim.statistics());
    }
}

/// The second ball hung in the air from where the first one rested.
#[test]
fn rest_stops_no_state_that_moves() {
    let ball = |k: usize| {
        format!(
            "[[unit.b.event]]\nname='hit{k}'\nwhen='y{k} <= 0 and v{k} < 0'\nreset={{y{k}='0',v{k}='-0.5*v{k}'}}\n\
             rest={{within=1e-3,y{k}=0,v{k}=0}}\n"
        )
    };
    let text = format!(
        "[unit.b]\nkind='equations'\nstates={{y0=1,v0=0,y1=2,v1=0}}\n\
         derivatives={{y0='v0',v0='-9.81',y1='v1',v1='-9.81'}}\noutputs={{y='y1'}}\n{}{}",
        ball(0),
        ball(1)
    );
    let error = Bench::start(std::path::Path::new("."), &text).go(5.0).unwrap_err();
    let error = format!("{error:?}");
    assert!(error.contains("`rest` stops all states of the unit"), "{error}");
    assert!(error.contains("v1' = -9.81") && error.contains("a unit of its own"), "{error}");
}
