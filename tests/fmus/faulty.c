/* Misbehaves from t = 0.5 on, in the way that its parameter says. */
#include <math.h>
#include <stdio.h>
typedef struct { double fault, u, y; } State;
static const char TOKEN[] = "{faulty}";
#define NO_DERIVATIVES
#include "fmu.inc"

enum { NOTHING, ERROR, FATAL, LONG_STEPS, EVERY_STEP, WARNING, NO_NUMBER, NO_PROGRESS, BEYOND, SMALL_STEPS, ROUNDED, LOUD };

static void initial(State *s) { *s = (State){NOTHING, 0, 0}; }
static double *number(State *s, fmi3ValueReference r) {
    double *all[] = {&s->fault, &s->u, &s->y};
    return r >= 1 && r <= 3 ? all[r - 1] : NULL;
}
static fmi3Status accept(Instance *m, fmi3ValueReference r, double x) {
    (void)m;
    return r == 2 && x > 10 ? fmi3Discard : fmi3OK;
}
static void derive(State *s) { (void)s; }
static fmi3Status step(Instance *m, double t, double h, Ended *end) {
    State *s = &m->state;
    if (t + h > 0.5 + 1e-9) {
        switch ((int)s->fault) {
        case ERROR:
            m->log(m->environment, fmi3Error, "logStatusError", "the oil is gone");
            return fmi3Error;
        case FATAL: return fmi3Fatal;
        case LONG_STEPS:
            if (h > 0.02) return fmi3Discard;
            break;
        case EVERY_STEP: return fmi3Discard;
        case WARNING:
            m->log(m->environment, fmi3Warning, "logStatusWarning", "the oil is low");
            s->y += h;
            return fmi3Warning;
        case NO_NUMBER: s->y = NAN; return fmi3OK;
        case NO_PROGRESS: end->early = true, end->reached = t; return fmi3OK;
        case SMALL_STEPS:
            if (h > 0.003) return fmi3Discard;
            break;
        case ROUNDED: end->early = true, end->reached = nextafter(t + h, 2 * t); break;
        case LOUD: printf("the FMU prints\n"); break;
        case BEYOND: end->early = true, end->reached = t + 2 * h; return fmi3OK;
        default: break;
        }
    }
    s->y += h;
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    (void)m, (void)next;
    return fmi3OK;
}
