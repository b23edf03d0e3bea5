/* A counter that rises at every full second, by time events, and asks to end at the tenth; an output
   that becomes one if it is entered beyond t = edge, with a rising or a falling indicator; a round more
   at each event. With `falling` 3 it wants its next event where the last one was. */
#define NX 1
#define NZ 1
typedef struct { double x[NX], count, next, edge, falling, beyond, rounds; } State;
static const char TOKEN[] = "{steps}";
#include "exchange.inc"

static void initial(State *s) { *s = (State){{0}, 1, 1, 0.3, 0, 0, 0}; }
static double *number(State *s, uint32_t r) {
    double *all[] = {&s->x[0], &s->count, &s->edge, &s->falling, &s->beyond, &s->rounds};
    return r >= 1 && r <= 6 ? all[r - 1] : NULL;
}
static void derive(State *s, double t, double *dx) { (void)s, (void)t, dx[0] = 1; }
static double side(State *s, double t) { return s->falling != 0 ? s->edge - t : t - s->edge; }
static void indicate(State *s, double t, double *z) { z[0] = side(s, t); }
static void event(Instance *m, Next *next) {
    State *s = &m->state;
    if (s->rounds == 0) {
        bool up = side(s, m->time) > 0;
        s->beyond = up != (s->falling != 0);
        if (m->time >= s->next) s->count += 1, s->next += 1;
        next->again = true, s->rounds = 1;
    } else {
        s->rounds = 0;
    }
    next->defined = true, next->time = s->falling == 3 ? m->time - 0.5 : s->next;
    next->terminate = s->count >= 10;
}
static double partial(State *s, int i, int j) { (void)s, (void)i, (void)j; return 0; }
