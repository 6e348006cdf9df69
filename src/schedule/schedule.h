// The front door of the schedule room: a training step as a program. Build it, prove it, time it, draw it.
#pragma once

#include "schedule/builder.h"      // shape -> program: gpipe, 1f1b, interleaved, zb-h1
#include "schedule/checker.h"      // no deadlock, complete, in order, memory bounded
#include "schedule/grid.h"         // program or trace -> text grid
#include "schedule/instruction.h"  // the vocabulary and the text form
#include "schedule/partition.h"    // segments -> stages
#include "schedule/simulator.h"    // program + costs -> trace
#include "schedule/summary.h"      // trace -> shares of compute, communication, bubble
#include "schedule/trace.h"        // what happened when, simulated or real
#include "schedule/trace_json.h"   // traces as files
