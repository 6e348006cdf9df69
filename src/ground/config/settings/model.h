// The model and the adapters trained beside it. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

std::vector<std::string> preset_names();  // presets.h

// A letter of model.layer_types: attention over all earlier positions, over a window of them, over all of them without RoPE.
enum class LayerType : char { full = 'f', window = 'w', no_rotation = 'n' };

struct ModelSettings {
  static constexpr std::string_view section = "model";
  static constexpr auto title = base::Phrase("The network");

  std::string preset = "qwen3-tiny";
  std::string path;  // a model folder, an adapter, a checkpoint or a run; empty: new weights
  std::string base;  // the model beside an adapter at path; empty: the one that it names
  Family architecture = Family::qwen3;
  std::int64_t layers = 4;
  std::int64_t hidden = 256;   // D, width of the residual stream
  std::int64_t heads = 4;      // N, query heads
  std::int64_t kv_heads = 2;   // K, key/value heads
  std::int64_t head_dim = 64;  // H
  std::int64_t ffn = 768;      // F, width of the feed-forward
  std::int64_t vocab = 0;      // V; 0: the tokenizer's size, rounded up to a multiple of 64
  std::int64_t max_positions = 40960;
  double rope_theta = 1e6;
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 8;           // of all but none
  double rope_low_freq_factor = 1;  // of llama3
  double rope_high_freq_factor = 4;
  std::int64_t rope_original_positions = 8192;  // of llama3 and yarn
  double rope_beta_fast = 32;       // of yarn
  double rope_beta_slow = 1;
  double rope_attention_factor = 0;  // of yarn; 0: 0.1 ln(rope_factor) + 1
  double rope_local_theta = 0;      // in layers of kind w; 0: as in the others
  std::string layer_types;          // a letter for each layer, repeated (LayerType); empty: w with a sliding_window, else f
  std::int64_t sliding_window = 0;  // positions that a layer of kind w sees, its own among them; 0: none
  double attention_scale = 0;       // of products of queries and keys; 0: 1 / sqrt(head_dim)
  double embedding_scale = 1;       // of embeddings; gemma3_text: times sqrt(hidden)
  double residual_scale = 1;        // of what each half of a layer adds to the stream
  double logits_divisor = 1;
  double norm_eps = 1e-6;
  double init_std = 0.02;
  bool tie_embeddings = true;
  std::int64_t middle_layers = 0;  // keep only this many transformer layers; 0: all

  // Layers count from 0.
  LayerType layer_type(std::int64_t layer) const {
    if (layer_types.empty()) return sliding_window > 0 ? LayerType::window : LayerType::full;
    return static_cast<LayerType>(layer_types[static_cast<std::size_t>(layer) % layer_types.size()]);
  }

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = ModelSettings;
    t.add("preset", &M::preset, "A named set of model dimensions; any other model setting overrides it.")
        .familiar({"model-size"})
        .offered(preset_names)
        .spelled("tiny", "qwen3-tiny")
        .spelled("small", "qwen3-small")
        .spelled("medium", "qwen3-medium")
        .spelled("large", "qwen3-large")
        .spelled("gpt2", "gpt2-124m")
        .spelled("llama3-1b", "llama3.2-1b")
        .spelled("llama3-3b", "llama3.2-3b")
        .spelled("mistral-7b-v0.3", "mistral-7b");
    t.add("path", &M::path,
          "Start from these weights: a Hugging Face model folder, a GGUF file, a PEFT adapter, a checkpoint or a run.")
        .familiar({"model-name-or-path", "model-path"})
        .unset("none; new weights")
        .agree(Agreement::none);
    t.add("base", &M::base, "Base model of the adapter at model.path, instead of the one it names.")
        .flags({"base"})
        .unset("the model that the adapter names")
        .agree(Agreement::none);
    t.add("architecture", &M::architecture, "Model family.");
    t.add("layers", &M::layers, "Transformer layers.")
        .familiar({"num-layers", "depth"})
        .variables({"NUM_LAYERS"})
        .range(1, 10000);
    t.add("hidden", &M::hidden, "Hidden size, the width of the residual stream.")
        .familiar({"hidden-size"})
        .variables({"HIDDEN_SIZE"})
        .range(1, bounds::million);
    t.add("heads", &M::heads, "Query heads; a multiple of kv_heads.").familiar({"num-attention-heads"}).range(1, 65536);
    t.add("kv_heads", &M::kv_heads, "Key/value heads; gpt2: as many as query heads.")
        .familiar({"num-key-value-heads", "num-query-groups"})
        .range(1, 65536);
    t.add("head_dim", &M::head_dim, "Size of one head; gpt2: hidden / heads; other families: even.").range(2, 65536);
    t.add("ffn", &M::ffn, "Feed-forward (intermediate) size.")
        .familiar({"ffn-hidden-size", "intermediate-size"})
        .range(1, bounds::million * 16);
    t.add("vocab", &M::vocab, "Vocabulary size; 0: the tokenizer's, rounded up to a multiple of 64.")
        .familiar({"vocab-size"})
        .range(0, bounds::million * 64);
    t.add("max_positions", &M::max_positions, "Longest sequence; gpt2 learns an embedding for each position.")
        .familiar({"max-position-embeddings"})
        .unit("tokens")
        .range(1, bounds::million * 1024);
    t.add("rope_theta", &M::rope_theta, "Base of the RoPE frequencies (all families except gpt2).").range(1, 1e12);
    t.add("rope_scaling", &M::rope_scaling, "RoPE scaling for longer sequences.");
    t.add("rope_factor", &M::rope_factor, "Scaling factor of linear, llama3, yarn and dynamic.").range(1, 1e6);
    t.add("rope_low_freq_factor", &M::rope_low_freq_factor,
          "llama3: wavelengths above rope_original_positions / this are scaled in full.")
        .range(bounds::above_zero, 1e6);
    t.add("rope_high_freq_factor", &M::rope_high_freq_factor,
          "llama3: wavelengths below rope_original_positions / this are not scaled.")
        .range(bounds::above_zero, 1e6);
    t.add("rope_original_positions", &M::rope_original_positions, "llama3, yarn: the context length before scaling.")
        .unit("tokens")
        .range(1, bounds::million * 1024);
    t.add("rope_beta_fast", &M::rope_beta_fast,
          "yarn: frequencies that turn more often than this over rope_original_positions are not scaled.")
        .range(bounds::above_zero, 1e6);
    t.add("rope_beta_slow", &M::rope_beta_slow,
          "yarn: frequencies that turn less often than this over rope_original_positions are scaled in full.")
        .range(bounds::above_zero, 1e6);
    t.add("rope_attention_factor", &M::rope_attention_factor,
          "yarn: factor of rotated queries and keys; 0: 0.1 ln(rope_factor) + 1.")
        .range(0, 1e6);
    t.add("rope_local_theta", &M::rope_local_theta,
          "Base of the RoPE frequencies in layers with a sliding window, without scaling; 0: as in the others.")
        .range(0, 1e12);
    t.add("layer_types", &M::layer_types,
          "Kinds of layers, one letter each, repeated over the layers: f sees all earlier positions, w the last sliding_window of them, "
          "n all of them, without RoPE. wwwwwf is Gemma 3's.")
        .unset("w with a sliding_window, else f");
    t.add("sliding_window", &M::sliding_window, "Positions that a layer of kind w sees, including its own; 0: no such layers.")
        .unit("tokens")
        .range(0, bounds::million * 1024);
    t.add("attention_scale", &M::attention_scale, "Factor of the attention scores; 0: 1 / sqrt(head_dim).").range(0, 1e6);
    t.add("embedding_scale", &M::embedding_scale, "Factor of the embeddings; gemma3_text multiplies them by sqrt(hidden) as well.")
        .range(bounds::above_zero, 1e6);
    t.add("residual_scale", &M::residual_scale, "Factor of what attention and feed-forward add to the residual stream.")
        .range(bounds::above_zero, 1e6);
    t.add("logits_divisor", &M::logits_divisor, "Divisor of the logits.").range(bounds::above_zero, 1e6);
    t.add("norm_eps", &M::norm_eps, "Epsilon of RMSNorm (gpt2: LayerNorm).").range(0, 1);
    t.add("init_std", &M::init_std, "Standard deviation of the initial weights.").range(0, 100);
    t.add("tie_embeddings", &M::tie_embeddings, "Share one matrix between the input embedding and the output head.");
    t.add("middle_layers", &M::middle_layers, "Keep only the first N transformer layers; 0: all.")
        .flags({"middle-layers"})
        .range(0, 10000);
  }
};

struct LoraSettings {  // LoRA adapters beside frozen weights
  static constexpr std::string_view section = "lora";
  static constexpr auto title = base::Phrase("Low-rank adapters");

  std::int64_t rank = 0;        // 0: none
  double alpha = 0;             // the adapter's output is multiplied by alpha / rank; 0: 2 x rank
  double dropout = 0;           // of the adapter's input
  std::string targets = "all";  // all, or projections by name: q_proj,v_proj
  bool rslora = false;          // the scale is alpha / sqrt(rank)
  std::string rank_pattern;     // other ranks for some projections: "q_proj:16,layers.3.v_proj:4"
  std::string alpha_pattern;    // the same for alpha
  std::string path;             // an adapter to begin with: a PEFT folder or a run; empty: a new one

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = LoraSettings;
    t.add("rank", &M::rank, "Rank of the LoRA adapters trained on the frozen weights; 0: no adapters.")
        .familiar({"lora-rank"})
        .range(0, 65536);
    t.add("alpha", &M::alpha, "LoRA scale: an adapter's output is multiplied by alpha / rank; 0: 2 x rank.")
        .familiar({"lora-alpha"})
        .range(0, 1e6);
    t.add("dropout", &M::dropout, "Dropout on an adapter's input during training; below 1.")
        .familiar({"lora-dropout"})
        .range(0, bounds::below_one);
    t.add("targets", &M::targets,
          "Projections that get an adapter: all, or a comma-separated list of q_proj, k_proj, v_proj, o_proj, "
          "gate_proj, up_proj, down_proj.")
        .familiar({"lora-target"});
    t.add("rslora", &M::rslora, "Rank-stabilized LoRA: the scale is alpha / sqrt(rank).").familiar({"use-rslora"});
    t.add("rank_pattern", &M::rank_pattern,
          "Different ranks for some projections, as PEFT matches names: q_proj:16,layers.3.v_proj:4.")
        .unset("none");
    t.add("alpha_pattern", &M::alpha_pattern, "Same for alpha.").unset("none");
    t.add("path", &M::path, "Start from this adapter: a PEFT folder, a checkpoint or a run.")
        .familiar({"adapter-name-or-path"})
        .unset("none; a new adapter")
        .agree(Agreement::none);
  }
};

}  // namespace troika::config
