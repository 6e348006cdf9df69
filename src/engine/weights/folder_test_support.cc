#include "weights/folder_test_support.h"

#include "base/random.h"
#include "checkpoint/safetensors_writer.h"
#include "shape/layout.h"
#include "shape/region.h"
#include "weights/weights_read.h"

namespace troika::weights::testing_support {

config::ModelSettings tiny_model(const std::string& architecture) {
  config::ModelSettings model;
  model.architecture = config::parse_word<config::Family>(architecture).value();
  model.layers = 2;
  model.hidden = 12;
  model.heads = 2;
  model.kv_heads = architecture == "gpt2" ? 2 : 1;
  model.head_dim = 6;
  model.ffn = 20;
  model.vocab = 37;
  model.max_positions = 16;
  return model;
}

std::vector<checkpoint::TensorEntry> entries_of(const config::ModelSettings& model, base::Dtype dtype) {
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& info : shape::all_parameters(model)) entries.push_back({info.name, dtype, info.shape, 0, 0});
  return entries;
}

std::string bytes_of_tensor(const checkpoint::TensorEntry& entry) {
  const base::Philox random(5, entry.name);
  const std::int64_t count = shape::element_count(entry.shape);
  std::string bytes(static_cast<std::size_t>(count * entry.dtype.bytes()), '\0');
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)) - 0.5);
    if (weights::is_weight_dtype(entry.dtype))
      narrow(&value, 1, entry.dtype,
             reinterpret_cast<std::byte*>(bytes.data()) + i * entry.dtype.bytes());
  }
  if (entry.dtype == base::Dtype::fp32 || bytes.size() < 6) return bytes;
  const std::string special = entry.dtype == base::Dtype::bf16 ? std::string("\x01\x00\x80\xff\x93\x7f", 6)
                                                                     : std::string("\x01\x00\x00\xfc\x01\x7c", 6);
  return bytes.replace(0, special.size(), special);
}

void write_weights(const std::string& path, const std::vector<checkpoint::TensorEntry>& entries,
                   const std::map<std::string, std::string>& metadata) {
  checkpoint::SafetensorsWriter writer(path, entries, metadata);
  for (const checkpoint::TensorEntry& entry : entries) {
    const std::string bytes = bytes_of_tensor(entry);
    writer.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  writer.finish();
}

}  // namespace troika::weights::testing_support
