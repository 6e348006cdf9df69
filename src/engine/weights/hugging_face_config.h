// The small JSON files of a model folder that Hugging Face's tools read.
#pragma once

#include <string>

#include "config/settings.h"

namespace troika::weights {

// config.json of `model` with weights in `dtype` ("fp32", "bf16", "fp16"). The ids of the tokens that begin, end and pad
// (bos_token_id, eos_token_id, pad_token_id) are those of `source`, the text of another config.json; "": there is none.
std::string hugging_face_config(const config::ModelSettings& model, const std::string& dtype,
                                const std::string& source);

// generation_config.json with those ids alone.
std::string hugging_face_generation_config(const std::string& source);

}  // namespace troika::weights
