/* A sampled controller: at its time events, `period` apart, `held` becomes its discrete input u; `seen` is the input b
   after each event. The states x' = 1 and area' = held tell what became of the time. */
#define NX 2
#define NZ 1
typedef struct { double x[NX], u, held, period, next, count, b, seen; } State;
static const char TOKEN[] = "{sampler}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{0}, 0, 0, 0.25, 0, 0, 0, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->x[1], &s->u, &s->held, &s->period, &s->count, &s->b, &s->seen};
    return r >= 1 && r <= 8 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) { (void)t, dx[0] = 1, dx[1] = s->held; }
static void indicate(State *s, double t, double *z) { (void)s, (void)t, z[0] = 1; }
static void event(Instance *m, Next *next) {
    State *s = &m->state;
    if (m->time >= s->next - 1e-12 * s->period) s->held = s->u, s->count += 1, s->next = s->count * s->period;
    s->seen = s->b;
    next->defined = true, next->time = s->next;
}
static double partial(State *s, int i, int j) { (void)s, (void)i, (void)j; return 0; }
