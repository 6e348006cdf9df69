// The files of a model folder besides weights and config.json: the tokenizer's, its chat template and
// generation_config.json.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace troika::weights {

// Those that are in `folder`, as paths, in a fixed order; none for "".
std::vector<std::string> auxiliary_files_in(const std::string& folder);
bool is_auxiliary_file(const std::string& name);
std::string generation_config_in(const std::vector<std::string>& paths);  // the one among them; "": there is none

// The folder of what data.tokenizer names: a folder or the file in it; "" for bytes.
std::string folder_of_tokenizer(const std::string& tokenizer);

// What the folder of a model trained with data.tokenizer `tokenizer` and data.chat_template `chat_template` holds, by file
// name, as far as it is on this host: the tokenizer's own files, and as chat_template.jinja the template where it is a
// built-in or a file. `generation_config`: the path of the one to take instead of that beside the tokenizer; "": none.
std::map<std::string, std::string> auxiliary_texts(const std::string& tokenizer, const std::string& chat_template,
                                                   const std::string& generation_config);

}  // namespace troika::weights
