/* Feed-through of every type, after the Reference FMU: output r + 100 is input r. FMI 3.0 and 2.0, co-simulation and
   model exchange. With event mode its inputs, all of them discrete, are taken in event mode only. */
#include "fmi3.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERROR = 3, LONG = 64 };
enum { REAL = 1, I8, U8, I16, U16, I32, U32, I64, U64, TRUTH, TEXT, BYTES, CHOICE, NAMES };
typedef struct {
    double real;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64, choice;
    uint64_t u64;
    bool truth;
    char text[LONG], names[2][LONG];
    size_t size;
    uint8_t bytes[LONG];
} State;
typedef struct {
    State state;
    bool events, in_event, begun;
} Instance;

static Instance *create(const char *token, bool events) {
    if (strcmp(token, "{types}") != 0) return NULL;
    Instance *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->events = events, m->state.choice = 1;
    strcpy(m->state.text, "Set me!");
    strcpy(m->state.names[0], "first");
    strcpy(m->state.names[1], "second");
    memcpy(m->state.bytes, "foo", m->state.size = 3);
    return m;
}
static bool closed(Instance *m) { return m->begun && m->events && !m->in_event; }

const char *fmi3GetVersion(void) { return "3.0"; }
void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *r, bool v, bool l, bool events,
                                  bool early, const uint32_t *i, size_t ni, void *e, void *log, void *update) {
    (void)n, (void)r, (void)v, (void)l, (void)early, (void)i, (void)ni, (void)e, (void)log, (void)update;
    return create(token, events);
}
void *fmi3InstantiateModelExchange(const char *n, const char *token, const char *r, bool v, bool l, void *e, void *log) {
    (void)n, (void)r, (void)v, (void)l, (void)e, (void)log;
    return create(token, true);
}
void fmi3FreeInstance(void *m) { free(m); }
int fmi3EnterInitializationMode(void *m, bool d, double tol, double t, bool sd, double s) {
    (void)m, (void)d, (void)tol, (void)t, (void)sd, (void)s;
    return OK;
}
int fmi3ExitInitializationMode(void *p) {
    Instance *m = p;
    m->begun = true, m->in_event = m->events;
    return OK;
}
int fmi3EnterEventMode(void *p) { ((Instance *)p)->in_event = true; return OK; }
int fmi3EnterStepMode(void *p) { ((Instance *)p)->in_event = false; return OK; }
int fmi3EnterContinuousTimeMode(void *p) { ((Instance *)p)->in_event = false; return OK; }
int fmi3Terminate(void *m) { (void)m; return OK; }
int fmi3Reset(void *p) {
    Instance *fresh = create("{types}", ((Instance *)p)->events);
    if (!fresh) return ERROR;
    *(Instance *)p = *fresh;
    free(fresh);
    return OK;
}
int fmi3UpdateDiscreteStates(void *p, bool *a, bool *t, bool *n, bool *v, bool *d, double *next) {
    (void)p;
    *a = *t = *n = *v = *d = false, *next = 0;
    return OK;
}
int fmi3DoStep(void *p, double t, double h, bool certain, bool *e, bool *end, bool *early, double *reached) {
    (void)certain;
    *e = *end = *early = false, *reached = t + h;
    return ((Instance *)p)->in_event ? ERROR : OK;
}
int fmi3SetTime(void *m, double t) { (void)m, (void)t; return OK; }
int fmi3SetContinuousStates(void *m, const double *x, size_t n) { (void)m, (void)x; return n ? ERROR : OK; }
int fmi3GetContinuousStates(void *m, double *x, size_t n) { (void)m, (void)x; return n ? ERROR : OK; }
int fmi3GetContinuousStateDerivatives(void *m, double *x, size_t n) { (void)m, (void)x; return n ? ERROR : OK; }
int fmi3GetEventIndicators(void *m, double *z, size_t n) { (void)m, (void)z; return n ? ERROR : OK; }

#define VARIABLES(Name, type, choose)                                                                    \
    static type *find##Name(Instance *m, uint32_t r) { choose return NULL; }                              \
    int fmi3Get##Name(void *p, const uint32_t *vr, size_t n, type *v, size_t k) {                         \
        if (n != k) return ERROR;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                 \
            type *at = find##Name(p, vr[i] % 100);                                                       \
            if (!at) return ERROR;                                                                       \
            v[i] = *at;                                                                                  \
        }                                                                                                \
        return OK;                                                                                       \
    }                                                                                                    \
    int fmi3Set##Name(void *p, const uint32_t *vr, size_t n, const type *v, size_t k) {                   \
        if (n != k || closed(p)) return ERROR;                                                           \
        for (size_t i = 0; i < n; i++) {                                                                 \
            type *at = find##Name(p, vr[i]);                                                             \
            if (!at) return ERROR;                                                                       \
            *at = v[i];                                                                                  \
        }                                                                                                \
        return OK;                                                                                       \
    }
#define IF(which, member) if (r == which) return &m->state.member;
VARIABLES(Float64, double, IF(REAL, real))
VARIABLES(Int8, int8_t, IF(I8, i8))
VARIABLES(UInt8, uint8_t, IF(U8, u8))
VARIABLES(Int16, int16_t, IF(I16, i16))
VARIABLES(UInt16, uint16_t, IF(U16, u16))
VARIABLES(Int32, int32_t, IF(I32, i32))
VARIABLES(UInt32, uint32_t, IF(U32, u32))
VARIABLES(Int64, int64_t, IF(I64, i64) IF(CHOICE, choice))
VARIABLES(UInt64, uint64_t, IF(U64, u64))
VARIABLES(Boolean, bool, IF(TRUTH, truth))

static char *text(Instance *m, uint32_t r, size_t k) {
    return r == TEXT && k == 0 ? m->state.text : r == NAMES && k < 2 ? m->state.names[k] : NULL;
}
int fmi3GetString(void *p, const uint32_t *vr, size_t n, const char **v, size_t k) {
    for (size_t i = 0; i < k; i++) {
        if (n != 1 || !(v[i] = text(p, vr[0] % 100, i))) return ERROR;
    }
    return OK;
}
int fmi3SetString(void *p, const uint32_t *vr, size_t n, const char *const *v, size_t k) {
    for (size_t i = 0; i < k; i++) {
        char *to = n == 1 && !closed(p) ? text(p, vr[0], i) : NULL;
        if (!to || strlen(v[i]) >= LONG) return ERROR;
        strcpy(to, v[i]);
    }
    return OK;
}
int fmi3GetBinary(void *p, const uint32_t *vr, size_t n, size_t *sizes, const uint8_t **v, size_t k) {
    Instance *m = p;
    if (n != 1 || k != 1 || vr[0] % 100 != BYTES) return ERROR;
    sizes[0] = m->state.size, v[0] = m->state.bytes;
    return OK;
}
int fmi3SetBinary(void *p, const uint32_t *vr, size_t n, const size_t *sizes, const uint8_t *const *v, size_t k) {
    Instance *m = p;
    if (n != 1 || k != 1 || vr[0] != BYTES || sizes[0] > LONG || closed(m)) return ERROR;
    memcpy(m->state.bytes, v[0], m->state.size = sizes[0]);
    return OK;
}
int fmi3GetFMUState(void *p, void **state) {
    Instance *s = *state ? *state : malloc(sizeof *s);
    if (!s) return ERROR;
    *s = *(Instance *)p;
    *state = s;
    return OK;
}
int fmi3SetFMUState(void *p, void *state) { *(Instance *)p = *(Instance *)state; return OK; }
int fmi3FreeFMUState(void *m, void **state) { (void)m; free(*state); *state = NULL; return OK; }

/* FMI 2.0: integers of 32 bits, and no bytes. */
typedef struct { int again, terminate, nominals, values, defined; double next; } Info;
const char *fmi2GetVersion(void) { return "2.0"; }
void *fmi2Instantiate(const char *n, int type, const char *token, const char *r, const void *c, int v, int l) {
    (void)n, (void)r, (void)c, (void)v, (void)l;
    return create(token, type == 0);
}
void fmi2FreeInstance(void *m) { free(m); }
int fmi2SetupExperiment(void *m, int d, double tol, double t, int sd, double s) {
    return fmi3EnterInitializationMode(m, d, tol, t, sd, s);
}
int fmi2EnterInitializationMode(void *m) { (void)m; return OK; }
int fmi2ExitInitializationMode(void *m) { return fmi3ExitInitializationMode(m); }
int fmi2EnterEventMode(void *m) { return fmi3EnterEventMode(m); }
int fmi2EnterContinuousTimeMode(void *m) { return fmi3EnterContinuousTimeMode(m); }
int fmi2Terminate(void *m) { (void)m; return OK; }
int fmi2NewDiscreteStates(void *m, Info *info) {
    (void)m;
    memset(info, 0, sizeof *info);
    return OK;
}
int fmi2DoStep(void *m, double t, double h, int certain) { (void)m, (void)t, (void)h, (void)certain; return OK; }
int fmi2SetTime(void *m, double t) { return fmi3SetTime(m, t); }
int fmi2SetContinuousStates(void *m, const double *x, size_t n) { return fmi3SetContinuousStates(m, x, n); }
int fmi2GetContinuousStates(void *m, double *x, size_t n) { return fmi3GetContinuousStates(m, x, n); }
int fmi2GetDerivatives(void *m, double *x, size_t n) { return fmi3GetContinuousStates(m, x, n); }
int fmi2GetEventIndicators(void *m, double *z, size_t n) { return fmi3GetEventIndicators(m, z, n); }
int fmi2GetInteger(void *m, const uint32_t *vr, size_t n, int *v) {
    for (size_t i = 0; i < n; i++) {
        int64_t choice = 0;
        int status = vr[i] % 100 == CHOICE ? fmi3GetInt64(m, vr + i, 1, &choice, 1) : fmi3GetInt32(m, vr + i, 1, v + i, 1);
        if (vr[i] % 100 == CHOICE) v[i] = (int)choice;
        if (status != OK) return status;
    }
    return OK;
}
int fmi2SetInteger(void *m, const uint32_t *vr, size_t n, const int *v) {
    for (size_t i = 0; i < n; i++) {
        int64_t choice = v[i];
        int status = vr[i] == CHOICE ? fmi3SetInt64(m, vr + i, 1, &choice, 1) : fmi3SetInt32(m, vr + i, 1, v + i, 1);
        if (status != OK) return status;
    }
    return OK;
}
int fmi2GetBoolean(void *m, const uint32_t *vr, size_t n, int *v) {
    for (size_t i = 0; i < n; i++) {
        bool truth = false;
        int status = fmi3GetBoolean(m, vr + i, 1, &truth, 1);
        v[i] = truth;
        if (status != OK) return status;
    }
    return OK;
}
int fmi2SetBoolean(void *m, const uint32_t *vr, size_t n, const int *v) {
    for (size_t i = 0; i < n; i++) {
        bool truth = v[i] != 0;
        int status = fmi3SetBoolean(m, vr + i, 1, &truth, 1);
        if (status != OK) return status;
    }
    return OK;
}
int fmi2GetString(void *m, const uint32_t *vr, size_t n, const char **v) { return fmi3GetString(m, vr, n, v, 1); }
int fmi2SetString(void *m, const uint32_t *vr, size_t n, const char *const *v) { return fmi3SetString(m, vr, n, v, 1); }
