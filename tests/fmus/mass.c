/* A mass on a spring and a damper under a force, m x'' = F - c x - d x', by RK4 with steps of at
   most 1 ms. The force is asked for inside steps if the importer is ready for it. */
#include <math.h>
typedef struct { double x, v, m, c, d, force, a; } State;
static const char TOKEN[] = "{mass}";
#include "fmu.inc"

static void initial(State *s) { *s = (State){1, 0, 1, 4, 0.5, 0, 0}; }
static double *number(State *s, fmi3ValueReference r) {
    double *all[] = {&s->x, &s->v, &s->m, &s->c, &s->d, &s->force, &s->a};
    return r >= 1 && r <= 7 ? all[r - 1] : NULL;
}
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    if (r == 3 && x <= 0) {
        m->log(m->environment, fmi3Error, "logStatusDiscard", "the mass must be positive");
        return fmi3Discard;
    }
    if (r == 6 && x > 1e6) return fmi3Discard;
    return fmi3OK;
}
static double pull(State *s, double x, double v) { return (s->force - s->c * x - s->d * v) / s->m; }
static void derive(State *s) { s->a = pull(s, s->x, s->v); }
static void ask(Instance *m, double t) {
    bool early = false;
    double until = 0;
    if (m->intermediate) m->update(m->environment, t, true, true, false, false, &early, &until);
}
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    State *s = &m->state;
    (void)end;
    int n = (int)ceil(h / 1e-3 - 1e-9);
    if (n < 1) n = 1;
    double k = h / n;
    for (int i = 0; i < n; i++) {
        double at = t + i * k, x = s->x, v = s->v;
        ask(m, at);
        double a1 = pull(s, x, v), v1 = v;
        ask(m, at + k / 2);
        double v2 = v + k / 2 * a1, a2 = pull(s, x + k / 2 * v1, v2);
        double v3 = v + k / 2 * a2, a3 = pull(s, x + k / 2 * v2, v3);
        ask(m, at + k);
        double v4 = v + k * a3, a4 = pull(s, x + k * v3, v4);
        s->x = x + k / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
        s->v = v + k / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    }
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    (void)m, (void)next;
    return fmi3OK;
}
static double derivative(State *s, fmi3ValueReference r, int order) {
    derive(s);
    double jerk = (-s->c * s->v - s->d * s->a) / s->m;
    if (r == 1) return order == 1 ? s->v : order == 2 ? s->a : jerk;
    if (r == 2) return order == 1 ? s->a : order == 2 ? jerk : 0;
    return order == 1 ? jerk : 0;
}
static double sensitivity(State *s, fmi3ValueReference y, fmi3ValueReference u) {
    if (y != 7) return 0;
    return u == 6 ? 1 / s->m : u == 1 ? -s->c / s->m : u == 2 ? -s->d / s->m : 0;
}
