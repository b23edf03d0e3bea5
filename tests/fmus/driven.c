/* A lag x' = rate (u - x) that is driven: y = 2 u + x, and an event when u passes 0.5, at which `above`
   is set. `n` is an input that only events take; `twice` is 2 n after them.
   With `settled` x is u at the start. */
#define NX 1
#define NZ 1
typedef struct { double x[NX], u, n, rate, y, above, twice, events, settled; } State;
static const char TOKEN[] = "{driven}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{0}, 0, 1, 1, 0, 0, 0, 0, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->u, &s->n, &s->rate, &s->y, &s->above, &s->twice, &s->events, &s->settled};
    r %= 1000;
    return r >= 1 && r <= 9 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) {
    (void)t;
    dx[0] = s->rate * (s->u - s->x[0]);
    s->y = 2 * s->u + s->x[0];
}
static void indicate(State *s, double t, double *z) { (void)t, z[0] = s->u - 0.5; }
static void event(Instance *m, Next *next) {
    State *s = &m->state;
    (void)next;
    if (s->settled && s->events == 0) s->x[0] = s->u;
    s->above = s->u > 0.5, s->twice = 2 * s->n, s->events += 1;
}
static double partial(State *s, int i, int j) { (void)i, (void)j; return -s->rate; }
