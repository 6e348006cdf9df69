#include "config/checks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/resolve.h"

namespace troika::config {
namespace {

void resolve_learning_rate(OptimizerSettings* o, Findings* findings) {
  if (o->min_lr <= o->lr) return;
  if (o->min_lr == OptimizerSettings{}.min_lr) {
    o->min_lr = o->lr / 10;
    findings->notes.push_back(
        base::say("optimizer.min_lr is {:g}, a tenth of lr, because its default is above lr", o->min_lr));
  } else {
    findings->errors.push_back(base::say("optimizer.min_lr {} is above optimizer.lr {}: the decay ends at min_lr, so it is at most {}", o->min_lr, o->lr, o->lr));
  }
}

// Reports decay settings that contradict each other or the number of steps, or that the schedule does not read.
void check_decay(const OptimizerSettings& o, std::int64_t steps, Findings* findings) {
  const OptimizerSettings d;
  if (o.lr_schedule == LrSchedule::wsd) {
    if (steps > 0 && o.decay_steps > 0 && o.warmup_steps + o.decay_steps > steps)
      findings->errors.push_back(base::say("optimizer.warmup_steps {} and optimizer.decay_steps {} sum to more than train.steps {}: reduce one of them", o.warmup_steps, o.decay_steps, steps));
    if (o.decay_steps == 0 && o.warmup_steps == 0 && o.warmup_ratio + o.decay_ratio > 1)
      findings->errors.push_back(base::say("optimizer.warmup_ratio {} and optimizer.decay_ratio {} sum to more than 1: reduce one of them", o.warmup_ratio, o.decay_ratio));
    return;
  }
  std::vector<std::string> unused;
  if (o.decay_steps != d.decay_steps) unused.emplace_back("optimizer.decay_steps");
  if (o.decay_ratio != d.decay_ratio) unused.emplace_back("optimizer.decay_ratio");
  if (o.decay != d.decay) unused.emplace_back("optimizer.decay");
  if (unused.empty()) return;
  findings->notes.push_back(
      base::say(unused.size() == 1
                    ? base::Phrase("{} has no effect with optimizer.lr_schedule {}: only wsd has a separate decay")
                    : base::Phrase("{} have no effect with optimizer.lr_schedule {}: only wsd has a separate decay"),
                base::join(unused, ", "), word_of(o.lr_schedule)));
}

bool evaluates(const DataSettings& d) { return !d.valid.empty() || d.valid_share > 0; }

void check_evaluations(const TrainSettings& t, const DataSettings& d, Findings* findings) {
  if (t.early_stopping_patience > 0 && !evaluates(d)) {
    findings->errors.push_back(base::say("train.early_stopping_patience {} needs a validation set: name one with data.valid, or hold one out with data.valid_share", t.early_stopping_patience));
  } else if (t.early_stopping_patience > 0 && t.eval_every == 0) {
    findings->errors.push_back(base::say("train.early_stopping_patience {} counts evaluations, but there is only one, at the end: set train.eval_every to the steps between them", t.early_stopping_patience));
  } else if (t.eval_every > 0 && !evaluates(d)) {
    findings->notes.push_back(base::say(
        "train.eval_every {} has no effect: there is nothing to evaluate on without data.valid or data.valid_share",
        t.eval_every));
  }
  if (t.early_stopping_patience == 0 && t.early_stopping_threshold > 0)
    findings->notes.push_back(base::say("train.early_stopping_threshold has no effect without train.early_stopping_patience"));
}

bool has_default_loss_scale(const PrecisionSettings& p) {
  const PrecisionSettings d;
  return p.loss_scale == d.loss_scale && p.loss_scale_window == d.loss_scale_window &&
         p.loss_scale_growth == d.loss_scale_growth && p.loss_scale_backoff == d.loss_scale_backoff &&
         p.loss_scale_min == d.loss_scale_min;
}

void check_loss_scale(const PrecisionSettings& p, Findings* findings) {
  if (p.loss_scale < p.loss_scale_min) {
    findings->errors.push_back(base::say("precision.loss_scale {} is below precision.loss_scale_min {}: at least {}", p.loss_scale, p.loss_scale_min, p.loss_scale_min));
  }
  if (p.compute == Precision::fp16 || has_default_loss_scale(p)) return;
  findings->notes.push_back(
      base::say("the loss scale is not used, because precision.compute is {}", word_of(p.compute)));
}

bool is_device(const std::string& device) {
  if (parse_word<DeviceKind>(device)) return true;
  std::int64_t index = -1;
  return device.rfind("cuda:", 0) == 0 && base::parse_int(device.substr(5), &index) && index >= 0;
}

// All families but gpt2.
void check_rotary(const ModelSettings& m, Findings* findings) {
  if (m.heads % m.kv_heads != 0) {
    findings->errors.push_back(base::say("model.heads {} is not a multiple of model.kv_heads {}: {}", m.heads, m.kv_heads, nearest_multiples(m.heads, m.kv_heads)));
  }
  if (m.head_dim % 2 != 0) {
    findings->errors.push_back(base::say("model.head_dim {} is odd, but RoPE rotates pairs: {}", m.head_dim, nearest_multiples(m.head_dim, 2)));
  }
  if (m.rope_scaling == RopeScaling::yarn && m.rope_beta_slow >= m.rope_beta_fast) {
    findings->errors.push_back(base::say("model.rope_beta_slow {} is not below model.rope_beta_fast {}: frequencies are interpolated between them", m.rope_beta_slow, m.rope_beta_fast));
  }
  if (m.rope_scaling == RopeScaling::llama3 && m.rope_low_freq_factor >= m.rope_high_freq_factor) {
    findings->errors.push_back(base::say("model.rope_low_freq_factor {} is not below model.rope_high_freq_factor {}: frequencies are interpolated between them", m.rope_low_freq_factor, m.rope_high_freq_factor));
  }
}

// What a config.json of the family can state. `key` is set to something else than its default.
struct FamilySetting {
  const char* key;
  bool is_set;
  std::vector<Family> families;
};

void check_family(const ModelSettings& m, Findings* findings) {
  const ModelSettings d;
  const auto has = [&](LayerType type) { return m.layer_types.find(static_cast<char>(type)) != std::string::npos; };
  const FamilySetting settings[] = {
      {"model.sliding_window", m.sliding_window != d.sliding_window,
       {Family::qwen3, Family::qwen2, Family::mistral, Family::gemma3_text, Family::smollm3}},
      {"model.layer_types", m.layer_types.size() > 1 && !has(LayerType::no_rotation),
       {Family::qwen3, Family::qwen2, Family::gemma3_text, Family::smollm3}},
      {"model.layer_types", has(LayerType::no_rotation), {Family::smollm3}},
      {"model.rope_local_theta", m.rope_local_theta != d.rope_local_theta, {Family::gemma3_text}},
      {"model.attention_scale", m.attention_scale != d.attention_scale, {Family::gemma3_text, Family::granite}},
      {"model.embedding_scale", m.embedding_scale != d.embedding_scale, {Family::granite}},
      {"model.residual_scale", m.residual_scale != d.residual_scale, {Family::granite}},
      {"model.logits_divisor", m.logits_divisor != d.logits_divisor, {Family::granite}},
  };
  for (const FamilySetting& setting : settings) {
    if (!setting.is_set || std::count(setting.families.begin(), setting.families.end(), m.architecture) > 0) continue;
    std::vector<std::string> words;
    for (const Family family : setting.families) words.push_back(word_of(family));
    findings->errors.push_back(base::say("{0} is not supported for model.architecture {1}: it belongs to {2}", setting.key, word_of(m.architecture), base::join(words, ", ")));
  }
}

void check_layer_types(const ModelSettings& m, Findings* findings) {
  const std::size_t other = m.layer_types.find_first_not_of("fwn");
  if (other != std::string::npos)
    return findings->errors.push_back(base::say("model.layer_types '{}' has '{}': its letters are f, w and n", m.layer_types, m.layer_types.substr(other, 1)));
  const bool windowed = m.layer_types.find('w') != std::string::npos;
  if (windowed && m.sliding_window == 0)
    findings->errors.push_back(base::say("model.layer_types '{}' has layers with a window: give its length with model.sliding_window", m.layer_types));
  if (!windowed && !m.layer_types.empty() && m.sliding_window > 0)
    findings->errors.push_back(base::say("model.layer_types '{}' has no layer of kind w for model.sliding_window {}: leave one of them out", m.layer_types, m.sliding_window));
}

void check_gpt2(const ModelSettings& m, Findings* findings) {
  if (m.kv_heads != m.heads) {
    findings->errors.push_back(base::say("model.kv_heads {} is not model.heads {}: gpt2 has a key and a value head for every query head, so set kv_heads to {}, or use a preset such as gpt2-124m", m.kv_heads, m.heads, m.heads));
  }
  if (m.heads * m.head_dim != m.hidden) {
    findings->errors.push_back(
        base::say("model.heads {} x model.head_dim {} is {}, but model.hidden is {}: gpt2 splits its hidden size into heads, so set hidden to {}", m.heads, m.head_dim, m.heads * m.head_dim, m.hidden, m.heads * m.head_dim));
  }
  if (m.rope_scaling != RopeScaling::none) {
    findings->errors.push_back(base::say("model.rope_scaling {} needs RoPE, and gpt2 learns an embedding for each position: set it to none", word_of(m.rope_scaling)));
  }
}

void check_weights(const DataSettings& d, Findings* findings) {
  if (d.weights.empty() || d.train.empty()) return;
  const auto sources = std::count(d.train.begin(), d.train.end(), ',') + 1;
  const auto weights = static_cast<std::ptrdiff_t>(d.weights.size());
  if (weights != sources && weights != 1) {  // one: a path with commas in it
    findings->errors.push_back(base::say("data.weights has {} numbers, but data.train names {} sources: give one for each", weights, sources));
  }
  if (std::all_of(d.weights.begin(), d.weights.end(), [](double weight) { return weight == 0; }))
    findings->errors.push_back(base::say("data.weights are all 0, so nothing is left to train on: give one above 0"));
}

void check_data(const DataSettings& d, Findings* findings) {
  if (!d.valid.empty() && d.valid_share > 0) {
    findings->errors.push_back(base::say("data.valid '{}' and data.valid_share {} both set the evaluation data: omit one of them", d.valid, d.valid_share));
  }
  if (d.valid_share > 1 && d.valid_share != std::floor(d.valid_share)) {
    findings->errors.push_back(
        base::say("data.valid_share {} is a number of samples, since it is above 1, but not whole: {} and {} are the nearest whole numbers", d.valid_share, std::floor(d.valid_share), std::ceil(d.valid_share)));
  }
  check_weights(d, findings);
  if (d.packing && d.format == DataFormat::text)
    findings->notes.push_back(base::say("data.packing has no effect on data.format text, which fills every sequence"));
}

// A run's records among its data would be data of the next start. Prepared token shards are known by their index.
void check_out(const std::string& out, const std::string& sources, const char* key, Findings* findings) {
  const auto plain = [](const std::string& path) {
    return base::without_end_slashes(std::filesystem::path(base::trim(path)).lexically_normal().string());
  };
  std::vector<std::string> words = base::split(sources, ',');
  words.push_back(sources);
  if (std::any_of(words.begin(), words.end(), [&](const std::string& word) { return plain(word) == plain(out); }) &&
      base::directory_exists(out) && !base::file_exists(out + "/index.json"))
    findings->errors.push_back(base::say("train.out is '{0}', which is also the folder of {1}, but a run writes its own files there: choose another --out, such as '{0}/run'", base::without_end_slashes(out), key));
}

// RoPE settings that are stated and that the model does not use.
void note_unused_rope_settings(const ModelSettings& m, Findings* findings) {
  const ModelSettings d;
  std::vector<std::string> unused;
  if (m.architecture == Family::gpt2 && m.rope_theta != d.rope_theta) unused.emplace_back("model.rope_theta");
  if (m.rope_scaling == RopeScaling::none && m.rope_factor != d.rope_factor) unused.emplace_back("model.rope_factor");
  if (m.rope_scaling != RopeScaling::llama3) {
    if (m.rope_low_freq_factor != d.rope_low_freq_factor) unused.emplace_back("model.rope_low_freq_factor");
    if (m.rope_high_freq_factor != d.rope_high_freq_factor) unused.emplace_back("model.rope_high_freq_factor");
    if (m.rope_original_positions != d.rope_original_positions && m.rope_scaling != RopeScaling::yarn)
      unused.emplace_back("model.rope_original_positions");
  }
  if (m.rope_scaling != RopeScaling::yarn) {
    if (m.rope_beta_fast != d.rope_beta_fast) unused.emplace_back("model.rope_beta_fast");
    if (m.rope_beta_slow != d.rope_beta_slow) unused.emplace_back("model.rope_beta_slow");
    if (m.rope_attention_factor != d.rope_attention_factor) unused.emplace_back("model.rope_attention_factor");
  }
  if (unused.empty()) return;
  findings->notes.push_back(
      base::say(unused.size() == 1 ? base::Phrase("{} has no effect with model.architecture {} and model.rope_scaling {}")
                                   : base::Phrase("{} have no effect with model.architecture {} and model.rope_scaling {}"),
                base::join(unused, ", "), word_of(m.architecture), word_of(m.rope_scaling)));
}

}  // namespace

void check_shape(const ModelSettings& m, Findings* findings) {
  if (m.architecture == Family::gpt2) {
    check_gpt2(m, findings);
  } else {
    check_rotary(m, findings);
  }
  check_layer_types(m, findings);
  check_family(m, findings);
}

void resolve_model(Settings* settings, Findings* findings) {
  auto& m = settings->model;
  if (m.middle_layers > m.layers) {
    findings->errors.push_back(
        base::say("model.middle_layers {} is more than the model's {}: at most {} can be kept", m.middle_layers, base::counted_text(m.layers, "layer"), m.layers));
  } else if (m.middle_layers > 0) {
    m.layers = m.middle_layers;
    m.middle_layers = 0;
  }
  check_shape(m, findings);
  note_unused_rope_settings(m, findings);
  if (settings->batch.seq_len > m.max_positions) {
    findings->errors.push_back(base::say("batch.seq_len {} is more than model.max_positions {}: at most {}, or raise max_positions", settings->batch.seq_len, m.max_positions, m.max_positions));
  }
}

void resolve_run(Settings* settings, Findings* findings) {
  const auto& train = settings->train;
  check_data(settings->data, findings);
  check_out(settings->train.out, settings->data.train, "data.train", findings);
  check_out(settings->train.out, settings->data.valid, "data.valid", findings);
  resolve_learning_rate(&settings->optimizer, findings);
  const std::int64_t warmup = settings->optimizer.warmup_steps;
  if (train.steps > 0 && warmup > train.steps) {
    findings->errors.push_back(base::say("optimizer.warmup_steps {} is more than train.steps {}: at most {}", warmup, train.steps, train.steps));
  }
  check_decay(settings->optimizer, train.steps, findings);
  check_evaluations(train, settings->data, findings);
  if (!is_device(train.device)) {
    findings->errors.push_back(base::say("train.device takes auto, cpu, cuda or cuda:N, not '{}'", train.device));
  }
  if (!is_profile(train.profile)) {
    findings->errors.push_back(base::say("train.profile takes all, a step such as 3, or steps and ranges such as 2,5-7, not '{}'", train.profile));
  }
  if (train.out.empty()) findings->errors.push_back(base::say("train.out is empty: name the run's folder"));
  check_loss_scale(settings->precision, findings);
}

}  // namespace troika::config
