// What a checkpoint says of its run, besides tensors.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/settings.h"

namespace troika::train {

// What facts.extra says of where a run's weights came from; written by the trainer.
inline const char* const weights_dtype_fact = "weights_dtype";
inline const char* const weights_from_fact = "weights_from";
inline const char* const launch_fact = "launch";                      // rendezvous::Identity::launch
inline const char* const base_fingerprint_fact = "base_fingerprint";  // of a run with adapters

// ConfigError naming the manifest when they are not read.
config::Settings settings_of(const checkpoint::Found& found);

// "" when it is not there.
std::string fact_of(const checkpoint::Found& found, const std::string& name);

// As of ModelSource: those of its tokenizer, and how to generate as the folder says from which the run began, if that
// is there.
std::vector<std::string> companions_of(const checkpoint::Found& found);

// Over its parts; 16 hex digits.
std::string fingerprint_of(const checkpoint::Found& found);

}  // namespace troika::train
