//! Functions of complex numbers by `libm`, so that their bits are those of every machine.
pub(super) type C = nalgebra::Complex<f64>;

/// e^c.
pub(super) fn exp(c: C) -> C {
    let size = libm::exp(c.re);
    C::new(size * libm::cos(c.im), size * libm::sin(c.im))
}

/// The root with a real part of zero or more.
pub(super) fn sqrt(c: C) -> C {
    let size = libm::hypot(c.re, c.im);
    if size == 0.0 {
        return C::new(0.0, 0.0);
    }
    // The larger part first: the other one follows without a difference of equals.
    let large = libm::sqrt((size + c.re.abs()) / 2.0);
    let small = c.im.abs() / (2.0 * large);
    let (re, im) = if c.re >= 0.0 { (large, small) } else { (small, large) };
    C::new(re, im.copysign(c.im))
}

/// Absolute value.
pub(super) fn size(c: C) -> f64 {
    libm::hypot(c.re, c.im)
}

/// The direction e^(i angle).
pub(super) fn direction(angle: f64) -> C {
    C::new(libm::cos(angle), libm::sin(angle))
}
