// The settings of a run as plain values, before and after resolution, and the rows that describe them: in config/settings,
// a file for each topic. Only these files have defaults.
#pragma once

#include "config/choices.h"
#include "config/settings/batch.h"
#include "config/settings/data.h"
#include "config/settings/model.h"
#include "config/settings/optimizer.h"
#include "config/settings/parallel.h"
#include "config/settings/run.h"

namespace troika::config {

struct Settings {
  Settings();  // these are in fields.cc: each is some kilobytes of code, of which every source that names them had copies
  Settings(const Settings&);
  Settings(Settings&&) noexcept;
  Settings& operator=(const Settings&);
  Settings& operator=(Settings&&) noexcept;
  ~Settings();

  ModelSettings model;
  LoraSettings lora;
  DataSettings data;
  BatchSettings batch;
  ParallelSettings parallel;
  OptimizerSettings optimizer;
  PrecisionSettings precision;
  TrainSettings train;
  CheckpointSettings checkpoint;
  CommSettings comm;
  LogSettings log;
};

}  // namespace troika::config
