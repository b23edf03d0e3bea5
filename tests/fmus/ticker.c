/* The sampled controller of sampler.c for co-simulation: its time events are told by early return. The discrete output
   `late` is one from t = 0.33 on, and no event tells of that. */
#include <math.h>
typedef struct { double x, area, u, held, period, next, count, b, seen, late, time; } State;
static const char TOKEN[] = "{ticker}";
#define NO_DERIVATIVES
#include "fmu.inc"

static void initial(State *s) { *s = (State){0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0, 0}; }
static double *number(State *s, fmi3ValueReference r) {
    double *all[] = {&s->x, &s->area, &s->u, &s->held, &s->period, &s->count, &s->b, &s->seen, &s->late};
    return r >= 1 && r <= 9 ? all[r - 1] : NULL;
}
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    (void)m, (void)r, (void)x;
    return fmi3OK;
}
static void derive(State *s) { s->late = s->time >= 0.33; }
static void happen(State *s, double t) {
    if (t >= s->next - 1e-12 * s->period) s->held = s->u, s->count += 1, s->next = s->count * s->period;
    s->seen = s->b;
}
static void move(State *s, double t) { s->x += t - s->time, s->area += s->held * (t - s->time), s->time = t; }
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    State *s = &m->state;
    while (s->next <= t + h) {
        double at = s->next;
        move(s, at);
        if (m->event_mode) {
            end->event = true, end->early = t + h > at, end->reached = at;
            return fmi3OK;
        }
        happen(s, at);
    }
    move(s, t + h);
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    happen(&m->state, m->time);
    next->defined = true, next->time = m->state.next;
    return fmi3OK;
}
