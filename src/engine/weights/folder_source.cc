#include "weights/folder_source.h"

#include "base/file.h"
#include "base/say.h"
#include "config/huggingface/hugging_face_config.h"
#include "config/huggingface/model_folder.h"
#include "shape/layout.h"
#include "tensor/device.h"
#include "tensor/tensor.h"
#include "weights/auxiliary_files.h"
#include "weights/checkpoint_metadata.h"
#include "weights/compared_contents.h"
#include "weights/other_head.h"
#include "weights/replicated_folder.h"
#include "weights/weights_match.h"
#include "weights/weights_read.h"

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
  std::string tokenizer() const override {
    return base::file_exists(folder_.path() + "/tokenizer.json") ? folder_.path() : "";
  }
  std::vector<std::string> auxiliary_files() const override { return auxiliary_files_in(folder_.path()); }
  std::string config_json() const override { return base::read_file(folder_.path() + "/config.json"); }
  std::string dtype() const override { return common_dtype(tensors_); }
  std::map<std::string, std::string> facts() const override {
    return {{weights_dtype_fact, dtype()}, {weights_from_fact, folder_.path()}};
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes =
        base::in(config::notes_on_config(config_json(), folder_.path() + "/config.json"), base::Language::english);
    for (const std::string& note : folder_.notes()) notes.push_back(note);
    return notes;
  }

  void check(const config::ModelSettings& model) const override { match_weights(folder_, model_, model); }

  void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
            comm::Channel& world) override {
    const int threads = tensor::threads();
    checkpoint::agree(world, [&] {
      tensor::set_threads(threads);  // this is another thread than the caller's
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

}  // namespace troika::weights
