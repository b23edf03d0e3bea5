/* Misbehaves from t = 0.5 on, in the way that its parameter says. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    NOTHING, ERROR, FATAL, LONG_STEPS, EVERY_STEP, WARNING, NO_NUMBER, NO_PROGRESS, BEYOND, SMALL_STEPS, ROUNDED, LOUD,
    NULL_WRITE, ABORT, OVERFLOW, EXIT, EXIT_AT_ONCE, DIVISION, HEAP, IN_FREE, ENDLESS, ENDLESS_END, FOLDER, ROUNDING,
    TRAPS, HUGE_STATE, MEMORY, AT_RANDOM, NO_SLOPE, FORGETFUL,
};
typedef struct { double fault, u, y; } State;
static const char TOKEN[] = "{faulty}";
static volatile int zero = 0, one = 1;
static int *volatile nowhere = 0;
#define FREED(m) do { if ((m)->state.fault == IN_FREE) *nowhere = 1; } while (0)
#define TERMINATED(m) while ((m)->state.fault == ENDLESS_END) zero = 0
#define STATE_SIZE(m) ((m)->state.fault == HUGE_STATE ? 200UL << 30 : sizeof(Saved))
#define RESTORES(m) ((m)->state.fault != FORGETFUL)
#include "fmu.inc"

static int deeper(volatile char *above) {
    volatile char here[4096];
    here[0] = above ? above[0] : 1;
    return deeper(here) + here[0];
}
static void smash(void) {
    volatile long *block = malloc(24), *next = malloc(24);
    for (int i = -2; i < 6; i++) block[i] = -1, next[i] = -1;
    free((void *)next), free((void *)block);
}
/* One step of some hundred, by the clock; a byte in a file counts it. */
static void at_random(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_nsec / 64 % 400 != 0) return;
    FILE *count = fopen(getenv("SUPERDENSE_TEST_DEATHS"), "a");
    fputc('.', count), fclose(count);
    raise(SIGKILL);
}
/* Faults that only a process of its own survives. */
static void crash(int fault) {
    switch (fault) {
    case NULL_WRITE: *nowhere = 1; break;
    case ABORT: printf("the valve broke\n"); fflush(stdout); abort();
    case OVERFLOW: zero = deeper(NULL) * 0; break;
    case EXIT: exit(0);
    case EXIT_AT_ONCE: _exit(3);
    case DIVISION: zero = (one / zero); break;
    case HEAP: smash(); break;
    case ENDLESS: for (;;) zero = 0;
    case MEMORY: for (char *p; (p = malloc(64 << 20));) p[0] = 1, p[32 << 20] = 1; abort();
    case AT_RANDOM: at_random(); break;
    default: break;
    }
}

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
        case FOLDER: if (chdir("/") != 0) return fmi3Error; break;
        case ROUNDING: fesetround(FE_UPWARD); break;
        case TRAPS: feenableexcept(FE_DIVBYZERO); break;
        case BEYOND: end->early = true, end->reached = t + 2 * h; return fmi3OK;
        default: crash((int)s->fault);
        }
    }
    s->y += h;
    return fmi3OK;
}
static fmi3Status event(Instance *m, Next *next) {
    (void)m, (void)next;
    return fmi3OK;
}
static double derivative(State *s, fmi3ValueReference r, int order) {
    (void)r;
    return s->fault == NO_SLOPE ? NAN : order == 1;
}
static double sensitivity(State *s, fmi3ValueReference y, fmi3ValueReference u) {
    (void)s, (void)y, (void)u;
    return 0;
}
