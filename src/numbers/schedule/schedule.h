// The front door of the module schedule: a training step as a program. Build it, prove it, time it, draw it.
#pragma once

#include "schedule/build/builder.h"        // shape -> program: gpipe, 1f1b, interleaved, zb-h1
#include "schedule/build/partition.h"      // segments -> stages
#include "schedule/check/checker.h"        // no deadlock, complete, in order, memory bounded
#include "schedule/instruction/kinds.h"    // what every kind of instruction is
#include "schedule/instruction/program.h"  // the program and its text form
#include "schedule/simulate/simulator.h"   // program + costs -> trace
#include "schedule/trace/chrome_trace.h"   // the merged trace as a file
#include "schedule/trace/grid.h"           // program or trace -> text grid
#include "schedule/trace/summary.h"        // trace -> shares of compute, communication, bubble
#include "schedule/trace/trace.h"          // what happened when, simulated or real
#include "schedule/trace/trace_json.h"     // traces as files
