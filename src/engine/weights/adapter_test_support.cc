#include "weights/adapter_test_support.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "comm/threads_channel_test_support.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "config/lora.h"
#include "tensor/libtorch_test_support.h"
#include "weights/adapter_source.h"
#include "weights/weights_read.h"
#include "weights/folder_writer.h"

namespace troika::weights::testing_support {
namespace {

// Numbers that bf16 and fp16 hold: of 7 bits, in (-1, 1).
at::Tensor random_tensor(const std::vector<std::int64_t>& shape, const std::string& name, std::uint64_t seed) {
  const at::Tensor tensor = at::empty(shape, at::kFloat);
  const base::Philox random(seed, name);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const auto drawn = static_cast<int>(random.bits(static_cast<std::uint64_t>(i)) % 255);
    tensor.data_ptr<float>()[i] = static_cast<float>(drawn - 127) / 128;
  }
  return tensor;
}

void write_tensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors, base::Dtype dtype) {
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, dtype, tensor.sizes().vec(), 0, 0});
  checkpoint::SafetensorsWriter writer(path, entries, {{"format", "pt"}});
  for (const auto& [name, tensor] : tensors) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.numel() * base::bytes_of(dtype)));
    narrow(tensor.data_ptr<float>(), tensor.numel(), dtype, bytes.data());
    writer.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  writer.finish();
}

}  // namespace

config::ModelSettings tiny_llama() {
  config::ModelSettings model;
  model.architecture = config::Family::llama;
  model.layers = 2;
  model.hidden = 16;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 4;
  model.ffn = 24;
  model.vocab = 19;
  model.max_positions = 32;
  return model;
}

config::LoraSettings tiny_lora() {
  config::LoraSettings lora;
  lora.rank = 3;
  lora.alpha = 7;
  lora.targets = "q_proj,v_proj,down_proj";
  return lora;
}

Tensors write_model(const std::string& path, const config::ModelSettings& model, std::uint64_t seed) {
  base::make_directories(path);
  base::write_file_atomic(path + "/config.json", hugging_face_config(model, "bf16", R"({"eos_token_id": 5})"));
  Tensors tensors;
  for (const auto& info : shape::all_parameters(model)) tensors[info.name] = random_tensor(info.shape, info.name, seed);
  write_tensors(path + "/model.safetensors", tensors, base::Dtype::bf16);
  return tensors;
}

Tensors random_adapter(const config::ModelSettings& model, const config::LoraSettings& lora, std::uint64_t seed) {
  Tensors tensors;
  for (const auto& info : all_adapter_parameters(model, lora))
    tensors[info.name] = random_tensor(info.shape, info.name, seed);
  return tensors;
}

nlohmann::json peft_config(const config::LoraSettings& lora, const std::string& base, const nlohmann::json& changes) {
  nlohmann::json config = {{"peft_type", "LORA"},
                           {"task_type", "CAUSAL_LM"},
                           {"base_model_name_or_path", base},
                           {"r", lora.rank},
                           {"lora_alpha", lora.alpha},
                           {"lora_dropout", lora.dropout},
                           {"target_modules", config::lora_targets(lora)},
                           {"bias", "none"},
                           {"fan_in_fan_out", false},
                           {"inference_mode", true},
                           {"init_lora_weights", true},
                           {"modules_to_save", nullptr},
                           {"rank_pattern", nlohmann::json::object()},
                           {"alpha_pattern", nlohmann::json::object()},
                           {"layers_to_transform", nullptr},
                           {"loftq_config", nlohmann::json::object()},
                           {"use_dora", false},
                           {"use_rslora", false}};
  config.update(changes.is_null() ? nlohmann::json::object() : changes);
  return config;
}

void write_peft(const std::string& path, const nlohmann::json& config, const Tensors& adapter, base::Dtype dtype,
                const std::string& ending) {
  base::make_directories(path);
  base::write_file_atomic(path + "/" + config::adapter_config_name, config.dump());
  Tensors named;
  for (const auto& [name, tensor] : adapter) {
    const std::size_t weight = name.rfind(".weight");
    named["base_model.model." + name.substr(0, weight) + ending + name.substr(weight)] = tensor;
  }
  write_tensors(path + "/adapter_model.safetensors", named, dtype);
}

void save_adapter(const std::string& run, const config::Settings& settings, const Tensors& adapter,
                  comm::Channel& world, const std::map<std::string, std::string>& extra) {
  checkpoint::SaveRequest request;
  request.root = run + "/checkpoints";
  request.facts = {7, config::to_yaml(settings), hugging_face_config(settings.model, "fp32", ""), extra};
  for (const auto& [name, tensor] : adapter) {
    const shape::Range mine = shape::part_of(tensor.numel(), world.rank(), world.size());
    if (mine.count == 0) continue;
    request.weights.push_back({name,
                               tensor.sizes().vec(),
                               {mine.begin, mine.count, mine.count, 1},
                               tensor.flatten().narrow(0, mine.begin, mine.count).contiguous()});
  }
  checkpoint::save(request, world);
}

Tensors load_all(ModelSource& source) {
  std::vector<checkpoint::Slice> wanted;
  for (const auto& info : shape::all_parameters(source.model())) {
    const std::int64_t count = info.elements();
    wanted.push_back({info.name, info.shape, {0, count, count, 1}, at::full({count}, NAN)});
  }
  const auto self = comm::make_self_channel("self");
  source.load(source.model(), wanted, *self);
  Tensors tensors;
  for (const auto& slice : wanted) tensors[slice.name] = slice.data.view(slice.shape);
  return tensors;
}

std::vector<std::string> errors_of_ranks(int size, const std::function<void(comm::Channel&)>& body) {
  auto channels = comm::make_thread_channels(size, "world", 20);
  std::vector<std::string> errors(channels.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < channels.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*channels[rank]);
      } catch (const base::Error& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace troika::weights::testing_support
