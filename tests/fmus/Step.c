/* A signal that jumps once from 0 to `to`, by a time event. */
#define NX 1
#define NZ 1
typedef struct { double x[NX], y, at, to, on; } State;
static const char TOKEN[] = "{Step}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{0}, 0, 1, 1, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->y, &s->at, &s->to};
    return r >= 1 && r <= 4 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) {
    (void)t;
    dx[0] = 0;
    s->y = s->on * s->to;
}
static void indicate(State *s, double t, double *z) { (void)s, (void)t, z[0] = 1; }
static void event(Instance *m, Next *next) {
    State *s = &m->state;
    if (m->time >= s->at) s->on = 1;
    next->defined = s->on == 0, next->time = s->at;
}
static double partial(State *s, int i, int j) { (void)s, (void)i, (void)j; return 0; }
