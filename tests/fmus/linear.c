/* x' = a x + b u, by ten steps of Euler in each communication step, y = x. A step takes `work` microseconds of the
   processor, too. Made for measurements: two of them are an oscillator. */
#include <time.h>
typedef struct { double x, u, a, b, work; } State;
static const char TOKEN[] = "{linear}";
#define NO_DERIVATIVES
#include "fmu.inc"

static void initial(State *s) { *s = (State){1, 0, 0, 1, 0}; }
static double *number(State *s, fmi3ValueReference r) {
    double *all = &s->x;
    return r >= 1 && r <= 5 ? all + r - 1 : NULL;
}
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    (void)m, (void)r, (void)x;
    return fmi3OK;
}
static void derive(State *s) { (void)s; }
static double spent(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    State *s = &m->state;
    (void)t, (void)end;
    if (s->work > 0)
        for (double from = spent(); spent() - from < s->work;) {}
    for (int i = 0; i < 10; i++) s->x += h / 10 * (s->a * s->x + s->b * s->u);
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    (void)m, (void)next;
    return fmi3OK;
}
