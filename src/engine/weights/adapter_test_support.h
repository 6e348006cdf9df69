// For tests: small models and adapters on disk, with random numbers.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "comm/channel.h"
#include "config/settings/settings.h"
#include "shape/layout.h"
#include "tensor/libtorch_test_support.h"
#include "weights/model_source.h"

namespace troika::weights::testing_support {

using Tensors = std::map<std::string, at::Tensor>;  // fp32, by name

config::ModelSettings tiny_llama();  // 2 layers, width 16, heads 4/2 of 4, ffn 24, vocabulary 19
config::LoraSettings tiny_lora();    // rank 3, alpha 7, products q_proj, v_proj and down_proj

// A model folder and its tensors.
Tensors write_model(const std::string& path, const config::ModelSettings& model, std::uint64_t seed = 1);

// Random A and B of all projections.
Tensors random_adapter(const config::ModelSettings& model, const config::LoraSettings& lora, std::uint64_t seed = 2);

// adapter_config.json as PEFT writes it, with the members of `changes` set.
nlohmann::json peft_config(const config::LoraSettings& lora, const std::string& base,
                           const nlohmann::json& changes = {});

// A PEFT folder; `ending`: between lora_A and weight, "" or ".default".
void write_peft(const std::string& path, const nlohmann::json& config, const Tensors& adapter,
                base::Dtype dtype = base::Dtype::fp32, const std::string& ending = "");

// Collective. The checkpoint of step 7 of a run with adapters below `run`, each rank with its share of every tensor.
void save_adapter(const std::string& run, const config::Settings& settings, const Tensors& adapter,
                  comm::Channel& world, const std::map<std::string, std::string>& extra = {});

// Every tensor of the source's model, by a world of one.
Tensors load_all(ModelSource& source);

// The error that each of the ranks, which are threads, throws; "" where it throws nothing.
std::vector<std::string> errors_of_ranks(int size, const std::function<void(comm::Channel&)>& body);

}  // namespace troika::weights::testing_support
