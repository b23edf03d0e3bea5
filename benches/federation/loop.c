/* Two federates of HELICS that send each other a double at each millisecond: loop BROKER_PORT KEY NAME PEER STEPS
   Prints the wall time of a step in microseconds. */
#include <helics/helics.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int main(int count, char** words) {
    char options[300], own[100], other[100];
    HelicsError error = helicsErrorInitialize();
    if (count < 6) return 2;
    int steps = atoi(words[5]);
    snprintf(options, sizeof options, "--federates=1 --broker=127.0.0.1 --brokerport=%s --broker_key=%s --loglevel=no_print",
             words[1], words[2]);
    snprintf(own, sizeof own, "%s/x", words[3]);
    snprintf(other, sizeof other, "%s/x", words[4]);
    HelicsFederateInfo info = helicsCreateFederateInfo();
    helicsFederateInfoSetCoreTypeFromString(info, "zmq", &error);
    helicsFederateInfoSetCoreInitString(info, options, &error);
    helicsFederateInfoSetTimeProperty(info, HELICS_PROPERTY_TIME_DELTA, 1e-9, &error);
    HelicsFederate fed = helicsCreateCombinationFederate(words[3], info, &error);
    HelicsPublication pub =
        helicsFederateRegisterGlobalPublication(fed, own, HELICS_DATA_TYPE_DOUBLE, "", &error);
    HelicsInput in = helicsFederateRegisterSubscription(fed, other, "", &error);
    helicsFederateEnterExecutingMode(fed, &error);
    if (error.error_code != 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double begun = now(), sum = 0;
    for (int k = 1; k <= steps; k++) {
        double wanted = k * 1e-3, granted = 0;
        while (granted < wanted - 5e-10) {
            granted = helicsFederateRequestTime(fed, wanted, &error);
            if (helicsInputIsUpdated(in)) sum += helicsInputGetDouble(in, &error);
            if (error.error_code != 0) return 1;
        }
        helicsPublicationPublishDouble(pub, (double)k, &error);
    }
    printf("%.3f\n", (now() - begun) / steps);
    fprintf(stderr, "sum %g\n", sum);
    helicsFederateDisconnect(fed, &error);
    helicsCloseLibrary();
    return 0;
}
