/* What an exchange costs at least: two FMUs of the model `linear` stepped in a loop, each with the output of the other
   one, from a state that is saved before (`steps`); and messages of 64 bytes to another process and back (`pings`).
   Prints what `child.rs` reads. */
#define _GNU_SOURCE
#include "fmi3.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef void *Make(const char *, const char *, const char *, bool, bool, bool, bool, const fmi3ValueReference *, size_t,
                   void *, fmi3LogMessageCallback, fmi3IntermediateUpdateCallback);
typedef fmi3Status Begin(void *, bool, double, double, bool, double);
typedef fmi3Status Plain(void *);
typedef fmi3Status Set(void *, const fmi3ValueReference *, size_t, const double *, size_t);
typedef fmi3Status Get(void *, const fmi3ValueReference *, size_t, double *, size_t);
typedef fmi3Status Save(void *, void **);
typedef fmi3Status Step(void *, double, double, bool, bool *, bool *, bool *, double *);

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static void tell(double took, long n) {
    printf("{\"build_s\":0.0,\"run_s\":%.9g,\"peak_bytes\":0,\"events\":%ld}\n", took, n);
}
static void *function(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (!f) fprintf(stderr, "no %s\n", name), exit(1);
    return f;
}

static void steps(const char *file, long n) {
    void *library = dlopen(file, RTLD_NOW);
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
    Make *make = (Make *)function(library, "fmi3InstantiateCoSimulation");
    Begin *begin = (Begin *)function(library, "fmi3EnterInitializationMode");
    Plain *end = (Plain *)function(library, "fmi3ExitInitializationMode");
    Set *set = (Set *)function(library, "fmi3SetFloat64");
    Get *get = (Get *)function(library, "fmi3GetFloat64");
    Step *step = (Step *)function(library, "fmi3DoStep");
    Save *save = (Save *)function(library, "fmi3GetFMUState");
    fmi3ValueReference y = 1, u = 2, b = 4;
    double signs[2] = {1, -1};
    void *m[2], *state[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        m[i] = make("m", "{linear}", "", false, false, false, false, NULL, 0, NULL, NULL, NULL);
        if (!m[i]) exit(1);
        set(m[i], &b, 1, &signs[i], 1);
        begin(m[i], false, 0, 0, false, 0), end(m[i]);
    }
    double out[2] = {1, 1}, from = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long k = 0; k < n; k++) {
        bool event, terminate, early;
        double reached;
        for (int i = 0; i < 2; i++) save(m[i], &state[i]), set(m[i], &u, 1, &out[1 - i], 1);
        for (int i = 0; i < 2; i++)
            if (step(m[i], 1e-3 * (double)k, 1e-3, true, &event, &terminate, &early, &reached)) exit(1);
        for (int i = 0; i < 2; i++) get(m[i], &y, 1, &out[i], 1);
    }
    tell(seconds(CLOCK_PROCESS_CPUTIME_ID) - from, n);
}

static void pings(long n) {
    int pair[2];
    char message[64] = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) exit(1);
    if (!fork()) {
        close(pair[0]);
        while (read(pair[1], message, sizeof message) > 0)
            if (write(pair[1], message, sizeof message) < 0) break;
        _exit(0);
    }
    close(pair[1]);
    double from = seconds(CLOCK_MONOTONIC);
    for (long k = 0; k < n; k++)
        if (write(pair[0], message, sizeof message) < 0 || read(pair[0], message, sizeof message) < 0) exit(1);
    tell(seconds(CLOCK_MONOTONIC) - from, n);
}

int main(int count, char **words) {
    if (count < 4) return 1;
    long n = atol(words[2]);
    if (!strcmp(words[1], "steps")) steps(words[3], n);
    else pings(n);
}
