// The weights of a Hugging Face model folder: model.safetensors, or several such files with
// model.safetensors.index.json, which maps tensors to files (docs/formats/model-folder.md); or those of a GGUF file
// (docs/formats/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "base/say.h"
#include "checkpoint/safetensors.h"
#include "gguf/header.h"
#include "weights/stored_numbers.h"

namespace troika::weights {

inline const char* const weights_file_name = "model.safetensors";
inline const char* const weights_index_name = "model.safetensors.index.json";

// The file that holds each tensor, by tensor name. DataError naming `origin` when the index is malformed or names a file
// that is not a *.safetensors beside it.
std::map<std::string, std::string> parse_weights_index(std::string_view json, const std::string& origin);

// All files of a folder, checked and mapped; no tensor is read. Movable. Threads: const use is safe.
class WeightsFolder {
 public:
  // DataError when there are no weights, a file of the index is missing or invalid, a tensor is not in the file that the
  // index says or is in two, or the files hold parts of tensors (the model/ of a checkpoint by several ranks).
  explicit WeightsFolder(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }  // by the names in the files, of a GGUF file by the published ones

  const std::vector<base::Text>& notes() const { return notes_; }  // a sentence each: files that are not read

  // Over names, dtypes, shapes and 64 bytes from the middle of each tensor, not over how they are cut into files; 16 hex
  // digits. Adapters keep it to know the weights they were trained beside; folder_source.h compares every byte.
  std::string fingerprint() const;

 private:
  void add_file(const std::string& name);
  void note_index();
  void add_gguf();

  std::string path_;
  std::vector<std::unique_ptr<checkpoint::SafetensorsFile>> files_;
  std::unique_ptr<gguf::File> gguf_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> file_of_;  // of each tensor, by name
  std::vector<base::Text> notes_;
};

// Whether a folder has files that WeightsFolder reads.
bool has_weights(const std::string& path);

// The files of a model folder besides weights and config.json: the tokenizer's, its chat template and
// generation_config.json.

// Those that are in `folder`, as paths, in a fixed order; none for "".
std::vector<std::string> auxiliary_files_in(const std::string& folder);
bool is_auxiliary_file(const std::string& name);
std::string name_of_tokenizer_file(
    const std::string& path);  // that a tokenizer's file gets: tokenizer.json or tokenizer.model
std::string generation_config_in(const std::vector<std::string>& paths);  // the one among them; "": there is none

// The contents of the folder of a model trained with data.tokenizer `tokenizer` and data.chat_template `chat_template`, by file
// name, as far as they are on this host: the tokenizer's own files, and as chat_template.jinja the template where it is a
// built-in or a file. `generation_config`: the path of the one to take instead of that beside the tokenizer; "": none.
std::map<std::string, std::string> auxiliary_texts(const std::string& tokenizer, const std::string& chat_template,
                                                   const std::string& generation_config);

// Faults in a list, for an error that names them all: a line for each of the first ten, below the sentence before it, then how many more
// there are.
inline base::Text listed(const std::vector<base::Text>& faults) {
  constexpr std::size_t most = 10;
  std::vector<base::Text> lines{{}};
  for (std::size_t i = 0; i < faults.size() && i < most; ++i) lines.push_back(faults[i]);
  if (faults.size() > most) lines.push_back(base::say("and {} more", faults.size() - most));
  return base::join(lines, "\n  ", "\n  ");
}

}  // namespace troika::weights
