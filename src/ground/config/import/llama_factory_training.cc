#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/import/llama_factory.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

void read_resume(const CombinedKeys& t) {
  const bool overwrites = t.is_on("overwrite_output_dir");
  const FlatKey* resume = t.keys.find("resume_from_checkpoint");
  if (resume == nullptr) {
    if (overwrites) t.assign("train.resume", "never", "overwrite_output_dir");
    return;
  }
  const auto newest = parse_bool(resume->text);  // else it is a path
  t.assign("train.resume", newest ? (*newest ? "auto" : "never") : resume->text, resume->name);
}

// A number of steps: at least 1, or a share of all steps below 1, which only warm-up has.
bool is_share(const std::string& text) {
  double value = 0;
  return base::parse_double(text, &value) && value > 0 && value < 1;
}

void copy_steps(const CombinedKeys& t, std::string_view setting, std::string_view name) {
  if (is_share(t.keys.text(name))) return t.fail(name, base::say("{} {} is a fraction of all steps: give a number of steps", name, t.keys.text(name)));
  t.copy(setting, name);
}

void read_saving(const CombinedKeys& t) {
  const std::string strategy = t.keys.text("save_strategy", "steps");
  if (strategy == "no") {
    t.assign("checkpoint.every", "0", "save_strategy");
    return t.set_aside({"save_steps"});
  }
  if (!is_one_of(strategy, {"steps", "epoch"})) return t.fail_word("save_strategy", {"steps", "epoch", "no"});
  if (strategy == "epoch") t.layer.notes.push_back(base::say("save_strategy epoch: checkpoints are saved by steps (checkpoint.every) and at the end of the run"));
  copy_steps(t, "checkpoint.every", "save_steps");
}

void read_evaluation(const CombinedKeys& t) {
  t.is_on("eval_on_each_dataset");  // which is done anyhow
  const std::string name = t.keys.find("eval_strategy") != nullptr ? "eval_strategy" : "evaluation_strategy";
  const std::string strategy = t.keys.text(name, "no");
  if (!is_one_of(strategy, {"steps", "epoch", "no"})) return t.fail_word(name, {"steps", "epoch", "no"});
  if (strategy == "epoch") t.layer.notes.push_back(base::say("{} epoch: the loss on data.valid is computed at the end; train.eval_every sets steps", name));
  if (strategy != "steps") return t.set_aside({"eval_steps", "logging_steps"});
  if (t.keys.find("eval_steps") != nullptr)
    return t.set_aside({"logging_steps"}), copy_steps(t, "train.eval_every", "eval_steps");
  if (t.keys.find("logging_steps") != nullptr) return copy_steps(t, "train.eval_every", "logging_steps");
  t.assign_default("train.eval_every", "500");
}

void read_recomputation(const CombinedKeys& t) {
  const FlatKey* on = t.keys.find("gradient_checkpointing");
  if (on != nullptr) t.assign("parallel.recompute", t.is_on("gradient_checkpointing") ? "full" : "none", on->name);
  t.when_on("disable_gradient_checkpointing", "parallel.recompute", "none");
}

void read_length(const CombinedKeys& t) {
  double steps = 0;
  if (t.keys.find("max_steps") == nullptr) return;
  if (!base::parse_double(t.keys.text("max_steps"), &steps) || steps > 0) t.copy("train.steps", "max_steps");
}

void read_warmup(const CombinedKeys& t, const std::string& type) {
  if (type == "constant") return t.set_aside({"warmup_steps", "warmup_ratio"});  // which transformers does not warm up
  t.copy(is_share(t.keys.text("warmup_steps")) ? "optimizer.warmup_ratio" : "optimizer.warmup_steps", "warmup_steps");
  if (!is_share(t.keys.text("warmup_steps"))) t.copy("optimizer.warmup_ratio", "warmup_ratio");
}

std::string scalar(const nlohmann::json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void read_schedule_numbers(const CombinedKeys& t, const std::string& type) {
  const FlatKey* key = t.keys.find("lr_scheduler_kwargs");
  if (key == nullptr || key->asks_nothing() || key->text == "{}") return;
  const auto numbers = base::parse_json(key->text, key->origin);
  if (!numbers.is_object()) return t.fail(key->name, base::say("lr_scheduler_kwargs takes names with numbers"));
  for (const auto& [name, value] : numbers.items()) {
    double rate = 0, lr = 0;
    if (type == "cosine_with_min_lr" && name == "min_lr") {
      t.assign("optimizer.min_lr", scalar(value), key->name);
    } else if (type == "cosine_with_min_lr" && name == "min_lr_rate" && base::parse_double(scalar(value), &rate) &&
               base::parse_double(t.keys.text("learning_rate", "5e-5"), &lr)) {
      t.assign("optimizer.min_lr", fmt::format("{}", rate * lr), key->name);
    } else {
      t.fail(key->name, base::say("lr_scheduler_kwargs.{0} of lr_scheduler_type {1} is not supported: only min_lr and min_lr_rate of cosine_with_min_lr are", name, type));
    }
  }
}

// What LLaMA-Factory and transformers make of warmup_stable_decay: steps of warm-up, then stable ones, then those of decay.
class WsdReader {
 public:
  explicit WsdReader(const CombinedKeys& t) : t_(t), key_(t.keys.find("lr_scheduler_kwargs")) {}

  void read() {
    t_.assign("optimizer.lr_schedule", "wsd", "lr_scheduler_type");
    if (key_ != nullptr && !key_->asks_nothing() && key_->text != "{}") {
      const auto numbers = base::parse_json(key_->text, key_->origin);
      if (!numbers.is_object()) return t_.fail(key_->name, base::say("lr_scheduler_kwargs takes names with numbers"));
      for (const auto& [name, value] : numbers.items()) read_number(name, scalar(value));
    }
    t_.assign("optimizer.decay", shape_, name());
    place_decay();
  }

 private:
  std::string_view name() const { return key_ == nullptr ? "lr_scheduler_type" : "lr_scheduler_kwargs"; }

  void read_number(const std::string& number, const std::string& text) {
    double value = 0, lr = 5e-5;
    base::parse_double(t_.keys.text("learning_rate"), &lr);
    std::int64_t* steps = number == "num_decay_steps" ? &decay_ : number == "num_stable_steps" ? &stable_ : nullptr;
    const bool is_number = base::parse_double(text, &value);
    if (steps != nullptr && is_number && value >= 1 && value == std::floor(value) && value < 1e12) {
      *steps = static_cast<std::int64_t>(value);
    } else if (number == "min_lr_ratio" && is_number && value >= 0 && value <= 1) {
      t_.assign("optimizer.min_lr", fmt::format("{}", value * lr), name());
    } else if (number == "decay_type" && is_one_of(text, {"linear", "cosine", "1-sqrt"})) {
      shape_ = text;
    } else if ((number == "warmup_type" && text == "linear") || (number == "num_cycles" && is_number && value == 0.5)) {
      return;  // as here
    } else {
      t_.fail(name(), base::say("lr_scheduler_kwargs.{} of warmup_stable_decay is {}, which is not supported: num_stable_steps and num_decay_steps of at least 1, min_lr_ratio, decay_type linear, cosine or 1-sqrt, warmup_type linear and num_cycles 0.5 are", number, text));
    }
  }

  // Nothing where only the epochs decide.
  std::optional<std::int64_t> steps() const {
    double steps = 0;
    if (!base::parse_double(t_.keys.text("max_steps"), &steps) || steps < 1) return std::nullopt;
    return static_cast<std::int64_t>(steps);
  }

  bool warms_up() const {
    double steps = 0, ratio = 0;
    return (base::parse_double(t_.keys.text("warmup_steps"), &steps) && steps > 0) ||
           (base::parse_double(t_.keys.text("warmup_ratio"), &ratio) && ratio > 0);
  }

  std::int64_t warmup(std::int64_t all) const {
    double steps = 0, ratio = 0;
    base::parse_double(t_.keys.text("warmup_steps"), &steps);
    base::parse_double(t_.keys.text("warmup_ratio"), &ratio);
    if (steps >= 1) return static_cast<std::int64_t>(steps);
    return static_cast<std::int64_t>(std::ceil((steps > 0 ? steps : ratio) * static_cast<double>(all)));
  }

  void place_decay() {
    const auto all = steps();
    const std::int64_t left = all ? *all - warmup(*all) : 0;
    const std::int64_t usual = left - left / 3;  // LLaMA-Factory's num_decay_steps
    if (stable_ >= 0 && (!all || stable_ + (decay_ >= 0 ? decay_ : usual) != left))
      return t_.fail(name(), base::say("lr_scheduler_kwargs: warm-up, num_stable_steps and num_decay_steps must add up to max_steps, so set all of them, or omit num_stable_steps"));
    if (decay_ >= 0) {
      t_.assign("optimizer.decay_steps", std::to_string(decay_), name());
      if (stable_ < 0) t_.layer.notes.push_back(base::say("num_decay_steps {0}: the rate decays over the last {0} steps, as in transformers; without num_stable_steps, LLaMA-Factory decays it after a third of the steps", decay_));
    } else if (all) {
      t_.assign("optimizer.decay_steps", std::to_string(usual), name());
    } else if (warms_up()) {
      t_.fail(name(), base::say("warmup_stable_decay with a warm-up but without max_steps needs num_decay_steps in lr_scheduler_kwargs: add it, the number of last steps in which the rate decays"));
    } else {
      t_.assign("optimizer.decay_ratio", fmt::format("{}", 2.0 / 3), name());
    }
  }

  const CombinedKeys& t_;
  const FlatKey* key_;
  std::int64_t decay_ = -1, stable_ = -1;  // below 0: not stated
  std::string shape_ = "cosine";
};

void read_schedule(const CombinedKeys& t) {
  const std::vector<std::string> known = {
      "linear", "cosine", "cosine_with_min_lr", "constant", "constant_with_warmup", "warmup_stable_decay"};
  const std::string type = t.keys.text("lr_scheduler_type", "linear");
  if (!is_one_of(type, known)) return t.fail_word("lr_scheduler_type", known);
  if (type == "warmup_stable_decay") return read_warmup(t, type), WsdReader(t).read();
  if (t.keys.find("lr_scheduler_type") != nullptr)
    t.assign("optimizer.lr_schedule", type.substr(0, type.find("_with")), "lr_scheduler_type");
  read_warmup(t, type);
  read_schedule_numbers(t, type);
}

void read_optimizer(const CombinedKeys& t) {
  const std::vector<std::string> adamw = {"adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused"};
  const std::string optimizer = t.keys.text("optim", "adamw_torch");
  if (!is_one_of(optimizer, adamw)) t.fail("optim", base::say("optim {} is not supported: only AdamW, adamw_torch", optimizer));
}

void read_fsdp(const CombinedKeys& t) {
  const FlatKey* key = t.keys.find("fsdp");
  if (key == nullptr || key->asks_nothing()) return;
  std::string words = key->text;
  std::replace(words.begin(), words.end(), ',', ' ');
  for (const std::string& word : base::split(words, ' ')) {
    if (word == "full_shard" || parse_bool(word).value_or(false)) {
      t.assign("parallel.zero", "3", "fsdp");
    } else if (word == "shard_grad_op") {
      t.assign("parallel.zero", "2", "fsdp");
    } else if (word == "no_shard") {
      t.assign("parallel.zero", "0", "fsdp");
    } else if (word == "offload") {
      t.assign("parallel.offload", "host", "fsdp");
    } else if (!word.empty() && word != "auto_wrap") {
      t.fail("fsdp", base::say("fsdp {} is not supported: only full_shard, shard_grad_op, no_shard and offload are", word));
    }
  }
}

void read_reporting(const CombinedKeys& t) {
  const Reporters reporters = reporters_of(t.keys.text("report_to"));
  if (!reporters.tensorboard) t.set_aside({"logging_dir"});
  if (reporters.tensorboard) t.assign("log.tensorboard", t.keys.text("logging_dir", "on"), "report_to");
  if (!reporters.others.empty()) t.set_aside({"report_to"});
}

void read_device(const CombinedKeys& t) {
  t.when_on("use_cpu", "train.device", "cpu");
  t.when_on("no_cuda", "train.device", "cpu");
}

}  // namespace

void read_training_keys(const CombinedKeys& combined) {
  for (const auto read : {read_resume, read_saving, read_evaluation, read_recomputation, read_length, read_schedule,
                          read_optimizer, read_fsdp, read_reporting, read_device})
    read(combined);
}

}  // namespace troika::config
