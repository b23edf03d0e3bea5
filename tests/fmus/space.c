/* Model exchange of FMI 3.0 with arrays: n states x' = -A x + u, where A has k on its diagonal and c
   elsewhere, and n comes from configuration mode. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK, ERROR = 3, MOST = 5 };
typedef struct {
    uint64_t n;
    double x[MOST], u[MOST], dx[MOST], k, c;
    bool configuring, in_event;
} Instance;

static void derive(Instance *m) {
    for (uint64_t i = 0; i < m->n; i++) {
        m->dx[i] = m->u[i];
        for (uint64_t j = 0; j < m->n; j++) m->dx[i] -= (i == j ? m->k : m->c) * m->x[j];
    }
}
const char *fmi3GetVersion(void) { return "3.0"; }
void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources,
                                   bool visible, bool logging, void *environment, void *log) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    if (strcmp(token, "{space}") != 0) return NULL;
    Instance *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->n = 2, m->k = 1, m->c = 0.25;
    for (int i = 0; i < MOST; i++) m->x[i] = i + 1;
    return m;
}
void fmi3FreeInstance(void *m) { free(m); }
int fmi3EnterConfigurationMode(void *p) { ((Instance *)p)->configuring = true; return OK; }
int fmi3ExitConfigurationMode(void *p) { ((Instance *)p)->configuring = false; return OK; }
int fmi3EnterInitializationMode(void *m, bool defined, double tolerance, double start,
                                bool stop_defined, double stop) {
    (void)m, (void)defined, (void)tolerance, (void)start, (void)stop_defined, (void)stop;
    return OK;
}
int fmi3ExitInitializationMode(void *p) { ((Instance *)p)->in_event = true; return OK; }
int fmi3EnterEventMode(void *p) { ((Instance *)p)->in_event = true; return OK; }
int fmi3EnterContinuousTimeMode(void *p) { ((Instance *)p)->in_event = false; return OK; }
int fmi3Terminate(void *m) { (void)m; return OK; }
int fmi3UpdateDiscreteStates(void *m, bool *again, bool *terminate, bool *nominals, bool *values,
                             bool *defined, double *time) {
    (void)m;
    *again = *terminate = *nominals = *values = *defined = false, *time = 0;
    return OK;
}
int fmi3SetTime(void *m, double t) { (void)m, (void)t; return OK; }
int fmi3SetContinuousStates(void *p, const double *x, size_t n) {
    Instance *m = p;
    if (n != m->n) return ERROR;
    memcpy(m->x, x, n * sizeof *x);
    return OK;
}
static int copy(double *to, const double *from, size_t n, size_t expected) {
    if (n != expected) return ERROR;
    memcpy(to, from, n * sizeof *to);
    return OK;
}
int fmi3GetContinuousStates(void *p, double *x, size_t n) {
    Instance *m = p;
    return copy(x, m->x, n, m->n);
}
int fmi3GetContinuousStateDerivatives(void *p, double *dx, size_t n) {
    Instance *m = p;
    derive(m);
    return copy(dx, m->dx, n, m->n);
}
int fmi3GetEventIndicators(void *m, double *z, size_t n) { (void)m, (void)z; return n ? ERROR : OK; }
int fmi3GetFloat64(void *p, const uint32_t *vr, size_t n, double *v, size_t k) {
    Instance *m = p;
    double *all[] = {m->x, m->u, m->dx};
    size_t at = 0;
    derive(m);
    for (size_t i = 0; i < n; i++) {
        if (vr[i] < 1 || vr[i] > 3 || at + m->n > k) return ERROR;
        memcpy(v + at, all[vr[i] - 1], m->n * sizeof *v);
        at += m->n;
    }
    return at == k ? OK : ERROR;
}
int fmi3SetFloat64(void *p, const uint32_t *vr, size_t n, const double *v, size_t k) {
    Instance *m = p;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        double *to = vr[i] == 1 ? m->x : vr[i] == 2 ? m->u : vr[i] == 5 ? &m->k : NULL;
        size_t size = vr[i] == 5 ? 1 : m->n;
        if (!to || at + size > k) return ERROR;
        memcpy(to, v + at, size * sizeof *v);
        at += size;
    }
    return at == k ? OK : ERROR;
}
int fmi3SetUInt64(void *p, const uint32_t *vr, size_t n, const uint64_t *v, size_t k) {
    Instance *m = p;
    if (n != 1 || k != 1 || vr[0] != 4 || !m->configuring || v[0] > MOST) return ERROR;
    m->n = v[0];
    return OK;
}
