// YAML files of LLaMA-Factory as a layer of settings. llama_factory_keys.h has the vocabulary.
#pragma once

#include "config/import/flat_keys.h"
#include "config/layers.h"

namespace troika::config {

// Whether a file with these keys at top level is one: it says stage, finetuning_type, do_train, template or cutoff_len.
bool is_llama_factory(const FlatKeys& keys);

// Its settings, and its program's defaults for what it leaves out. Keys without effect are one note, defaults another.
// A DeepSpeed file is looked for at its path and then beside this file; DataError when it is no JSON. Unknown keys are
// errors with the nearest name.
Layer read_llama_factory(const FlatKeys& keys);

// The origin of what the file leaves out.
base::Text llama_factory_default();

// An error for each setting to which two keys, or a key and a section of ours, give different values.
void refuse_contradictions(Layer* layer);

}  // namespace troika::config
