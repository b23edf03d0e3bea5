/* A ball that bounces off the ground until it is slow: h' = v, v' = -g, and v becomes -e v. */
#define NX 2
#define NZ 1
typedef struct { double x[NX], g, e, rest, bounces; } State;
static const char TOKEN[] = "{bouncing}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{1, 0}, 9.81, 0.7, 0.1, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->x[1], &s->g, &s->e, &s->rest, &s->bounces};
    return r >= 1 && r <= 6 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) {
    (void)t;
    dx[0] = s->x[1], dx[1] = -s->g;
}
static void indicate(State *s, double t, double *z) {
    (void)t;
    z[0] = s->g == 0 ? 1 : s->x[0];
}
static void event(Instance *m, Next *next) {
    State *s = &m->state;
    if (s->x[0] > 0 || s->x[1] >= 0) return;
    s->x[0] = 1e-300, s->x[1] *= -s->e, s->bounces += 1;
    if (s->x[1] < s->rest) s->x[1] = 0, s->g = 0;
    next->values = true;
}
static double partial(State *s, int i, int j) {
    (void)s;
    return i == 0 && j == 1;
}
