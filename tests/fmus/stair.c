/* A counter that rises at every full second, by time events, and asks to end at the tenth. */
#include <math.h>
typedef struct { double count, next; } State;
static const char TOKEN[] = "{stair}";
#define NO_DERIVATIVES
#include "fmu.inc"

static void initial(State *s) { *s = (State){1, 1}; }
static double *number(State *s, fmi3ValueReference r) { return r == 1 ? &s->count : NULL; }
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    (void)m, (void)r;
    return x >= 10 ? fmi3Error : fmi3OK;
}
static void derive(State *s) { (void)s; }
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    double next = m->state.next;
    if (t + h >= next) end->event = true, end->early = t + h > next, end->reached = next;
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    State *s = &m->state;
    if (m->time >= s->next) s->count += 1, s->next += 1;
    next->defined = true, next->time = s->next;
    next->terminate = s->count >= 10;
    return fmi3OK;
}
