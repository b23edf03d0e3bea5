/* A bouncing ball in closed form: one event per bounce, told by early return. */
#include <math.h>
typedef struct { double h, v, g, e, bounces; } State;
static const char TOKEN[] = "{ball}";
#include "fmu.inc"

static void initial(State *s) { *s = (State){10, 0, 9.81, 0.9, 0}; }
static double *number(State *s, fmi3ValueReference r) {
    double *all[] = {&s->h, &s->v, &s->g, &s->e, &s->bounces};
    return r >= 1 && r <= 5 ? all[r - 1] : NULL;
}
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    (void)m, (void)r, (void)x;
    return fmi3OK;
}
static void derive(State *s) { (void)s; }
static void bounce(State *s) { s->h = 0, s->v = -s->e * s->v, s->bounces += 1; }
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    State *s = &m->state;
    double left = h;
    for (;;) {
        double hit = (s->v + sqrt(s->v * s->v + 2 * s->g * s->h)) / s->g;
        bool now = hit <= left;
        double by = now ? hit : left;
        s->h = now ? 0 : s->h + s->v * by - s->g * by * by / 2;
        s->v -= s->g * by;
        left -= by;
        if (!now) return fmi3OK;
        if (m->event_mode) {
            end->event = true;
            end->early = left > 0;
            end->reached = t + (h - left);
            return fmi3OK;
        }
        bounce(s);
    }
}
static fmi3Status event(Instance *m, Next *next) {
    (void)next;
    if (m->state.v < 0 && m->state.h <= 0) bounce(&m->state);
    return fmi3OK;
}
static double derivative(State *s, fmi3ValueReference r, int order) {
    if (r == 1) return order == 1 ? s->v : order == 2 ? -s->g : 0;
    return r == 2 && order == 1 ? -s->g : 0;
}
static double sensitivity(State *s, fmi3ValueReference y, fmi3ValueReference u) {
    (void)s, (void)y, (void)u;
    return 0;
}
