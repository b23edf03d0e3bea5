/* Van der Pol's oscillator: x0' = x1, x1' = mu (1 - x0^2) x1 - x0. It tells when x0 passes zero. */
#define NX 2
#define NZ 1
typedef struct { double x[NX], mu, passed; } State;
static const char TOKEN[] = "{vanderpol}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{2, 0}, 1, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->x[1], &s->mu, &s->passed};
    return r >= 1 && r <= 4 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) {
    (void)t;
    dx[0] = s->x[1], dx[1] = s->mu * (1 - s->x[0] * s->x[0]) * s->x[1] - s->x[0];
}
static void indicate(State *s, double t, double *z) { (void)t, z[0] = s->x[0]; }
static void event(Instance *m, Next *next) {
    (void)next;
    m->state.passed += 1;
}
static double partial(State *s, int i, int j) {
    double row[2][2] = {{0, 1}, {-2 * s->mu * s->x[0] * s->x[1] - 1, s->mu * (1 - s->x[0] * s->x[0])}};
    return row[i][j];
}
