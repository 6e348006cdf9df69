// The files of a model folder besides weights and config.json.
#pragma once

#include <string>
#include <vector>

namespace troika::train {

// Those of a tokenizer and of generation (tokenizer.json, merges.txt, generation_config.json, ...) that stand in `folder`, as
// paths, in a fixed order.
std::vector<std::string> companions_in(const std::string& folder);

// The folder of what data.tokenizer names: a folder or the file in it; "" for bytes.
std::string folder_of_tokenizer(const std::string& tokenizer);

}  // namespace troika::train
