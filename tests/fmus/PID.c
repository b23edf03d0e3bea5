/* A PI controller in ideal form, y = k (u + x/Ti) with x' = u. */
#define NX 1
#define NZ 1
typedef struct { double x[NX], u, y, k, Ti; } State;
static const char TOKEN[] = "{PID}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{0}, 0, 0, 1, 1}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->u, &s->y, &s->k, &s->Ti};
    return r >= 1 && r <= 5 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) {
    (void)t;
    dx[0] = s->u;
    s->y = s->k * (s->u + s->x[0] / s->Ti);
}
static void indicate(State *s, double t, double *z) { (void)s, (void)t, z[0] = 1; }
static void event(Instance *m, Next *next) { (void)m, (void)next; }
static double partial(State *s, int i, int j) { (void)s, (void)i, (void)j; return 0; }
