// The weights of a Hugging Face model folder: model.safetensors, or several such files with
// model.safetensors.index.json, which maps tensors to files. Format: docs/formats/model-folder.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "checkpoint/safetensors.h"

namespace troika::weights {

inline const char* const weights_file_name = "model.safetensors";
inline const char* const weights_index_name = "model.safetensors.index.json";

// Which file holds which tensor, by tensor name. DataError naming `origin` when the index is malformed or names a file
// that is not a *.safetensors beside it.
std::map<std::string, std::string> parse_weights_index(std::string_view json, const std::string& origin);

// A tensor as a file of the folder has it.
struct StoredTensor {
  const checkpoint::SafetensorsFile* file = nullptr;
  checkpoint::StoredDtype dtype = base::Dtype::fp32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // byte position in the file
  std::int64_t bytes = 0;
};

// All files of a folder, checked and mapped; no tensor is read. Movable. Threads: const use is safe.
class WeightsFolder {
 public:
  // DataError when there are no weights, a file of the index is missing or invalid, a tensor is not in the file that the
  // index says or is in two, or the files hold parts of tensors (the model/ of a checkpoint by several ranks).
  explicit WeightsFolder(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }  // by the names in the files

  const std::vector<base::Text>& notes() const { return notes_; }  // a sentence each: files that are not read

  // Over names, dtypes, shapes and 64 bytes from the middle of each tensor, not over how they are cut into files; 16 hex
  // digits. Adapters keep it to know the weights they were trained beside; compared_contents.h compares every byte.
  std::string fingerprint() const;

 private:
  void add_file(const std::string& name);
  void note_index();

  std::string path_;
  std::vector<std::unique_ptr<checkpoint::SafetensorsFile>> files_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> file_of_;  // of each tensor, by name
  std::vector<base::Text> notes_;
};

// Whether a folder has files that WeightsFolder reads.
bool has_weights(const std::string& path);

}  // namespace troika::weights
