// A checkpoint of a run as a source of weights, or of an adapter; its metadata about the run, and the files that belong to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/settings/settings.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::weights {

std::unique_ptr<ModelSource> make_checkpoint_source(checkpoint::Found found);

// Whether its run trained an adapter. ConfigError as of settings_of.
bool holds_adapter(const checkpoint::Found& found);

std::unique_ptr<AdapterSource> make_checkpoint_adapter(checkpoint::Found found);

// Keys of facts.extra for the origin of a run's weights; written by train.
inline const char* const weights_dtype_fact = "weights_dtype";
inline const char* const weights_from_fact = "weights_from";
inline const char* const launch_fact = "launch";                      // rendezvous::Identity::launch
inline const char* const base_fingerprint_fact = "base_fingerprint";  // of a run with adapters
inline const char* const tokenizer_fact = "tokenizer";                // data.tokenizer of the run

// ConfigError naming the manifest when they are not read.
config::Settings settings_of(const checkpoint::Found& found);

// "" when it is not there.
std::string fact_of(const checkpoint::Found& found, const std::string& name);

// As of ModelSource: the checkpoint's own copies in model/ on this host; where it has none (an older
// checkpoint, or one whose files lie on other hosts), what is at the paths that the run was given. DataError when a
// copy is not what the manifest says.
std::vector<std::string> auxiliary_files_of(const checkpoint::Found& found);

}  // namespace troika::weights
