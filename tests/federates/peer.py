"""A federate of HELICS for tests: peer.py BROKER KEY NAME SCRIPT

The script has one line per thing to do, divided by semicolons or line ends:
  pub KEY TYPE [UNIT]      registers a publication
  sub KEY TYPE [UNIT]      registers an input
  hear KEY [UNIT]          registers an input without a name
  end NAME PEER            registers an endpoint
  box NAME PEER            registers an endpoint without targets, which names its peer at each message
  last                     waits for the current time
  whole                    is granted the times that it asks for, and none before
  core TYPE                the type of the core
  init KEY VALUE           publishes while all initialise
  run                      begins to execute
  to TIME                  asks for a time until it is granted, and prints all that comes on the way
  put KEY VALUE            publishes
  ramp KEY COUNT           publishes a vector of 0, 0.5, 1 and so on
  mail NAME TEXT           sends a message
  sleep SECONDS [JITTER]   wall time
  every PERIOD COUNT KEY FACTOR SLEEP   publishes FACTOR*time each period, COUNT times
  echo PERIOD COUNT KEY SUB FACTOR SLEEP END   publishes FACTOR times the sum of all that it heard, each period, and
                           sends every tenth one as a message, too
  until TIME               hears everything up to a time
  kill                     ends by SIGKILL
  die CODE                 ends in error
"""
import os
import random
import signal
import sys
import time

import helics as h

broker, key, name, script = sys.argv[1:5]
host, port = broker.rsplit(":", 1)
info = h.helicsCreateFederateInfo()
lines = [line.split() for line in script.replace(";", "\n").splitlines() if line.split()]
core = next((line[1] for line in lines if line[0] == "core"), "zmq")
h.helicsFederateInfoSetCoreTypeFromString(info, core)
options = f"--federates=1 --broker={host} --brokerport={port} --broker_key={key}"
h.helicsFederateInfoSetCoreInitString(info, options + " --tick=500ms --timeout=2s --loglevel=no_print")
h.helicsFederateInfoSetTimeProperty(info, h.HELICS_PROPERTY_TIME_DELTA, 1e-9)
if any(line[0] == "last" for line in lines):
    h.helicsFederateInfoSetFlagOption(info, h.HELICS_FLAG_WAIT_FOR_CURRENT_TIME_UPDATE, True)
if any(line[0] == "whole" for line in lines):
    h.helicsFederateInfoSetFlagOption(info, h.HELICS_FLAG_UNINTERRUPTIBLE, True)
fed = h.helicsCreateCombinationFederate(name, info)
TYPES = {"int": "int64", "vector": "double_vector"}
pubs, subs, ends, boxes, types = {}, {}, {}, {}, {}
sums = {}
out = open(f"{name}.log", "w")


def nanoseconds(seconds):
    return round(seconds * 1e9)


def note(*words):
    print(*words, file=out, flush=True)


def put(key, text):
    pub, ty = pubs[key], types[key]
    if ty == "double":
        h.helicsPublicationPublishDouble(pub, float(text))
    elif ty == "int":
        h.helicsPublicationPublishInteger(pub, int(text))
    elif ty == "bool":
        h.helicsPublicationPublishBoolean(pub, text == "true")
    elif ty == "string":
        h.helicsPublicationPublishString(pub, text)
    elif ty == "complex":
        h.helicsPublicationPublishComplex(pub, complex(text))
    elif ty == "vector":
        h.helicsPublicationPublishVector(pub, [float(x) for x in text.split(",")])
    elif ty == "complex_vector":
        # The function of helics 3.6.1 for Python tells twice the length.
        values = [complex(x) for x in text.split(",")]
        parts = [part for x in values for part in (x.real, x.imag)]
        publish = h.capi.loadSym("helicsPublicationPublishComplexVector")
        publish(pub.handle, parts, len(values), h.helicsErrorInitialize())
    elif ty == "named_point":
        field, value = text.split("=")
        h.helicsPublicationPublishNamedPoint(pub, field, float(value))
    elif ty == "time":
        h.helicsPublicationPublishTime(pub, float(text))
    elif ty == "char":
        h.helicsPublicationPublishChar(pub, text)
    elif ty == "raw":
        h.helicsPublicationPublishBytes(pub, text.encode())


def get(key):
    sub, ty = subs[key], types[key]
    if ty == "double":
        return repr(h.helicsInputGetDouble(sub))
    if ty == "int":
        return h.helicsInputGetInteger(sub)
    if ty == "bool":
        return str(bool(h.helicsInputGetBoolean(sub))).lower()
    if ty == "string":
        return h.helicsInputGetString(sub)
    if ty == "complex":
        return h.helicsInputGetComplex(sub)
    if ty == "vector":
        return ",".join(repr(x) for x in h.helicsInputGetVector(sub))
    if ty == "complex_vector":
        return ",".join(str(x) for x in h.helicsInputGetComplexVector(sub))
    if ty == "named_point":
        return h.helicsInputGetNamedPoint(sub)
    if ty == "time":
        return nanoseconds(h.helicsInputGetTime(sub))
    if ty == "char":
        return h.helicsInputGetChar(sub)
    return h.helicsInputGetBytes(sub)


def hear(granted):
    for key, sub in subs.items():
        if h.helicsInputIsUpdated(sub):
            value = get(key)
            note(nanoseconds(granted), key, value)
            if types[key] == "double":
                sums[key] = sums.get(key, 0.0) + float(value)
    for end, handle in ends.items():
        while h.helicsEndpointHasMessage(handle):
            message = h.helicsEndpointGetMessage(handle)
            note(nanoseconds(granted), end, h.helicsMessageGetString(message))


def to(wanted):
    while True:
        granted = h.helicsFederateRequestTime(fed, wanted)
        hear(granted)
        if granted >= wanted:
            return granted


for line in lines:
    what, words = line[0], line[1:]
    if what == "pub":
        unit = words[2] if len(words) > 2 else ""
        pubs[words[0]] = h.helicsFederateRegisterGlobalTypePublication(fed, words[0], TYPES.get(words[1], words[1]), unit)
        types[words[0]] = words[1]
    elif what == "sub":
        unit = words[2] if len(words) > 2 else ""
        subs[words[0]] = h.helicsFederateRegisterTypeInput(fed, "in:" + words[0], TYPES.get(words[1], words[1]), unit)
        h.helicsInputAddTarget(subs[words[0]], words[0])
        types[words[0]] = words[1]
    elif what == "hear":
        subs[words[0]] = h.helicsFederateRegisterSubscription(fed, words[0], words[1] if len(words) > 1 else "")
        types[words[0]] = "double"
    elif what == "end":
        ends[words[0]] = h.helicsFederateRegisterGlobalTargetedEndpoint(fed, words[0], "")
        h.helicsEndpointAddDestinationTarget(ends[words[0]], words[1])
    elif what == "box":
        ends[words[0]] = h.helicsFederateRegisterGlobalEndpoint(fed, words[0], "")
        boxes[words[0]] = words[1]
    elif what == "init":
        h.helicsFederateEnterInitializingMode(fed)
        put(*words)
    elif what == "run":
        h.helicsFederateEnterExecutingMode(fed)
        hear(0.0)
    elif what in ("to", "until"):
        to(float(words[0]))
    elif what == "put":
        put(words[0], " ".join(words[1:]))
    elif what == "ramp":
        h.helicsPublicationPublishVector(pubs[words[0]], [0.5 * k for k in range(int(words[1]))])
    elif what == "mail":
        text = " ".join(words[1:])
        if words[0] in boxes:
            h.helicsEndpointSendStringTo(ends[words[0]], text, boxes[words[0]])
        else:
            h.helicsEndpointSendBytes(ends[words[0]], text.encode())
    elif what == "sleep":
        jitter = float(words[1]) if len(words) > 1 else 0.0
        time.sleep(float(words[0]) + jitter * random.random())
    elif what == "every":
        period, count, key_, factor, sleep = words
        for k in range(1, int(count) + 1):
            to(k * float(period))
            put(key_, repr(float(factor) * k))
            time.sleep(float(sleep) * random.random())
    elif what == "echo":
        period, count, key_, sub, factor, sleep, end = words
        for k in range(1, int(count) + 1):
            to(k * float(period))
            value = repr(float(factor) * sums.get(sub, 0.0))
            put(key_, value)
            if k % 10 == 0:
                h.helicsEndpointSendBytes(ends[end], value.encode())
            time.sleep(float(sleep) * random.random())
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "die":
        print("no more of this", file=sys.stderr)
        sys.exit(int(words[0]))
h.helicsFederateDisconnect(fed)
h.helicsFederateFree(fed)
h.helicsCloseLibrary()
