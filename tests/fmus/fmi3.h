/* The types of FMI 3.0 that our test FMUs need. */
#ifndef FMI3_H
#define FMI3_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef uint32_t fmi3ValueReference;
typedef void (*fmi3LogMessageCallback)(void *, fmi3Status, const char *, const char *);
typedef void (*fmi3IntermediateUpdateCallback)(void *, double, bool, bool, bool, bool, bool *, double *);

#endif
