#include "weights/folder_source.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "config/huggingface/hugging_face_config.h"
#include "config/huggingface/model_folder.h"
#include "data/input_text.h"
#include "gguf/model_files.h"
#include "shape/layout.h"

namespace troika::weights {
namespace {

using base::Dtype;

// The one dtype of all, or fp32, which holds every bit of any mixture.
std::string common_dtype(const Assignment& tensors) {
  checkpoint::StoredDtype common = tensors.begin()->second.dtype;
  for (const auto& [name, tensor] : tensors)
    if (tensor.dtype != common) common = Dtype::fp32;
  return common == Dtype::bf16 ? "bf16" : common == Dtype::fp16 ? "fp16" : "fp32";
}

// Refuses another head in a folder whose config.json ties the head to the embedding: DataError naming
// both tensors where the folder holds an lm_head.weight with other numbers than `table`, the embedding's. Reads both; one that is equal is
// fine.
void refuse_other_head(const WeightsFolder& folder, const StoredTensor& table);

class FolderSource : public ModelSource {
 public:
  explicit FolderSource(const std::string& path)
      : folder_(path),
        model_(config::read_hugging_face_config(path)),
        tensors_(match_weights(folder_, model_, model_)),
        fingerprint_(folder_.fingerprint()) {
    for (const auto& [name, tensor] : tensors_) bytes_ += tensor.bytes;
    const std::string table = shape::segment_parameters(model_, 0).front().name;
    if (model_.tie_embeddings) refuse_other_head(folder_, tensors_.at(table));
  }

  const Assignment& tensors() const { return tensors_; }

  const config::ModelSettings& model() const override { return model_; }
  std::string tokenizer() const override { return config::has_tokenizer(folder_.path()) ? folder_.path() : ""; }
  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_in(folder_.path()); }
  std::string config_json() const override { return gguf::read_file(folder_.path() + "/config.json"); }
  std::string dtype() const override { return common_dtype(tensors_); }
  std::map<std::string, std::string> facts() const override {
    return {{weights_dtype_fact, dtype()}, {weights_from_fact, folder_.path()}};
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<base::Text> notes() const override {
    std::vector<base::Text> notes = config::notes_on_config(config_json(), folder_.path() + "/config.json");
    for (const base::Text& note : folder_.notes()) notes.push_back(note);
    return notes;
  }

  void check(const config::ModelSettings& model) const override { match_weights(folder_, model_, model); }

  void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
            comm::Channel& world) override {
    checkpoint::agree(world, [&] {
      check(model);
      bytes_read_ += read_weights(tensors_, wanted);
    });
  }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes() const override { return bytes_; }

 private:
  const WeightsFolder folder_;
  const config::ModelSettings model_;
  const Assignment tensors_;
  const std::string fingerprint_;
  std::int64_t bytes_ = 0, bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<ModelSource> open_folder_source(const std::string& path, comm::Channel& world) {
  auto source = open_replicated<FolderSource>(path, world);
  refuse_other_contents(path, source->tensors(), world);
  return source;
}

namespace {

const std::string head_name = "lm_head.weight";

constexpr std::int64_t piece_numbers = 1 << 20;

// As fp32, which holds every bit of the dtypes of weights.
std::vector<float> numbers_at(const StoredTensor& tensor, std::int64_t begin, std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  const StoredRange range = range_of(tensor, begin, count);
  base::while_reading(*tensor.file, [&] {
    read_numbers(tensor, begin, count, reinterpret_cast<std::byte*>(numbers.data()), Dtype::fp32);
  });
  tensor.file->drop(range.begin, range.bytes);
  return numbers;
}

bool has_same_numbers(const StoredTensor& a, const StoredTensor& b) {
  if (a.shape != b.shape || !is_weight_dtype(a.dtype) || !is_weight_dtype(b.dtype)) return false;
  const std::int64_t numbers = shape::element_count(a.shape);
  for (std::int64_t begin = 0; begin < numbers; begin += piece_numbers) {
    const std::int64_t count = std::min(piece_numbers, numbers - begin);
    const std::vector<float> one = numbers_at(a, begin, count), other = numbers_at(b, begin, count);
    if (std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

void refuse_other_head(const WeightsFolder& folder, const StoredTensor& table) {
  for (const auto& [name, tensor] : folder.tensors()) {
    if (!base::ends_with(name, head_name) || has_same_numbers(tensor, table)) continue;
    const auto stored = std::find_if(folder.tensors().begin(), folder.tensors().end(), [&](const auto& one) {
      return one.second.file == table.file && one.second.begin == table.begin;
    });
    throw base::DataError(base::say(
        "the weights in '{0}' have '{1}' with different values than '{2}', but its config.json ties the two (tie_word_embeddings): set that to false to use '{1}', or remove that tensor to use '{2}' for both",
        folder.path(), name, stored == folder.tensors().end() ? base::say("the embedding") : base::verbatim(stored->first)));
  }
}

}  // namespace

void refuse_missing_copies(base::Phrase what, const std::string& path, const std::vector<bool>& present,
                           comm::Channel& world) {
  const auto hosts = checkpoint::gather(world, [] { return base::host_name(); });
  for (std::size_t rank = 0; rank < present.size(); ++rank) {
    if (present[rank]) continue;
    throw base::ConfigError(
        base::say("there is no {} '{}' on rank {}'s host {}, but there is on others; copy it there, or use a shared disk",
                    base::say(what), path, rank, hosts[rank]));
  }
}

void refuse_different_copies(const std::string& path, const std::vector<std::string>& fingerprints,
                             comm::Channel& world) {
  const auto hosts = checkpoint::gather(world, [] { return base::host_name(); });
  for (std::size_t rank = 1; rank < fingerprints.size(); ++rank) {
    if (fingerprints[rank] == fingerprints[0]) continue;
    throw base::ConfigError(base::say(
        "the weights in '{}' on rank {}'s host {} (fingerprint {}) differ from those on rank 0's host {} ({}); copy one folder to all hosts",
        path, rank, hosts[rank], fingerprints[rank], hosts[0], fingerprints[0]));
  }
}

}  // namespace troika::weights
