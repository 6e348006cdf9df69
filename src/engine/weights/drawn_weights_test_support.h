// A small model whose weights are drawn by name, as a source.
#pragma once


#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tensor/libtorch_test_support.h"
#include "weights/model_source.h"

namespace troika::weights {

// For the tokenizer "bytes".
inline config::ModelSettings small_text_model(const std::string& architecture) {
  config::ModelSettings m;
  m.architecture = config::parse_word<config::Family>(architecture).value();
  m.layers = 2;
  m.hidden = 32;
  m.heads = 4;
  m.kv_heads = architecture == "gpt2" ? 4 : 2;
  m.head_dim = 8;
  m.ffn = 64;
  m.vocab = 264;
  m.max_positions = 96;
  return m;
}

class DrawnWeights : public weights::ModelSource {
 public:
  explicit DrawnWeights(const config::ModelSettings& model) : model_(model) {}
  const config::ModelSettings& model() const override { return model_; }
  std::string tokenizer() const override { return "bytes"; }
  std::vector<std::string> auxiliary_files() const override { return {}; }
  std::string config_json() const override { return ""; }
  std::string dtype() const override { return "fp32"; }
  std::map<std::string, std::string> facts() const override { return {}; }
  std::string fingerprint() const override { return ""; }
  void check(const config::ModelSettings&) const override {}
  void load(const config::ModelSettings&, const std::vector<checkpoint::Slice>& wanted, comm::Channel&) override {
    for (const checkpoint::Slice& slice : wanted) {
      at::Tensor data = slice.data;
      base::Philox(1, slice.name).fill_normal(0, data.numel(), data.data_ptr<float>());
      data.mul_(slice.shape.size() == 1 ? 1.0 : 0.3);
    }
  }
  std::int64_t bytes_read() const override { return 0; }
  std::int64_t bytes() const override { return 0; }

 private:
  const config::ModelSettings model_;
};

}  // namespace troika::weights
