#include "config/import/deepspeed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/say.h"
#include "base/text.h"
#include "config/spellings.h"
#include "config/import/flat_keys.h"

namespace troika::config {
namespace {

using Json = nlohmann::json;

// A scalar of JSON, or of YAML where all scalars are text; nothing for "auto" and what is absent.
std::optional<std::string> stated(const Json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return text.empty() || text == "auto" ? std::nullopt : std::optional(text);
  }
  if (value.is_boolean() || value.is_number_integer()) return value.dump();
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e15;
  return whole ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

const Json& at(const Json& object, const std::string& name) {
  static const Json absent;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : absent;
}

// A section of which keys are read; the names of all its keys, those without effect too.
struct Section {
  std::string path;
  std::vector<std::string> read, idle;
};

std::vector<Section> read_sections() {
  std::vector<Section> sections;
  for (std::string_view line : lines_of_table("deepspeed.txt")) {
    Section& section = sections.emplace_back();
    section.path = base::cut_at(": ", &line);
    section.read = base::split(std::string(base::cut_at(": ", &line)), ' ');
    section.idle = base::split(std::string(line), ' ');
  }
  return sections;
}

class DeepSpeedReader {
 public:
  DeepSpeedReader(const Json& root, base::Text origin) : root_(root), origin_(std::move(origin)) {}

  DeepSpeed read() {
    static const std::vector<Section> sections = read_sections();
    for (const Section& section : sections) check_section(section);
    read_zero(at(root_, "zero_optimization"));
    read_batch();
    read_precision();
    read_optimizer(at(root_, "optimizer"));
    refuse("scheduler", base::Phrase("give lr_scheduler_type and warmup_ratio or warmup_steps in the YAML instead"));
    refuse("amp", base::Phrase("bf16 and fp16 set the compute precision"));
    copy(at(at(root_, "tensor_parallel"), "autotp_size"), "parallel.tp");
    note_rest();
    return {std::move(layer_), std::move(ruled_out_)};
  }

 private:
  void assign(std::string_view key, const std::string& value) {
    layer_.assignments.push_back({&field_of(key), value, origin_});
  }

  void copy(const Json& value, std::string_view key) {
    if (const auto text = stated(value)) assign(key, *text);
  }

  void fail(const base::Text& what) { layer_.errors.push_back(base::say("{}: {}", origin_, what)); }

  void check_section(const Section& section) {
    const Json* value = &root_;
    for (const std::string& name : base::split(section.path, '.')) value = &at(*value, name);
    if (value->is_null()) return;
    if (!value->is_object()) return fail(base::say("{} is {}, but must be a section", section.path, value->dump()));
    for (const auto& [name, nested] : value->items()) {
      const auto has = [&, &named = name](const auto& names) {
        return std::find(names.begin(), names.end(), named) != names.end();
      };
      if (has(section.read)) continue;
      if (has(section.idle)) {
        idle_nested_.push_back(base::verbatim(fmt::format("{}.{}", section.path, name)));
        continue;
      }
      std::vector<std::string> names = section.read;
      names.insert(names.end(), section.idle.begin(), section.idle.end());
      const std::string near = base::nearest(name, names);
      fail(base::say("unknown key '{0}' in {1}{2}", name, section.path, did_you_mean(near)));
    }
  }

  static bool is_object_with_content(const Json& value) { return value.is_object() && !value.empty(); }

  void refuse(const std::string& name, base::Phrase remedy) {
    const Json& value = at(root_, name);
    if (is_object_with_content(value) && truth(value, name, "enabled").value_or(true))
      fail(base::say("{} is not supported: {}", name, base::say(remedy)));
  }

  void read_zero(const Json& zero) {
    copy(at(zero, "stage"), "parallel.zero");
    if (is_object_with_content(at(zero, "zenflow"))) fail(base::say("zero_optimization.zenflow is not supported: every update uses the gradients of its own step"));
    const Json& offload = at(zero, "offload_optimizer");
    if (offload.is_null() && truth(zero, "zero_optimization", "cpu_offload").value_or(false))
      assign("parallel.offload", "cpu");  // its older name
    const std::string device = stated(at(offload, "device")).value_or("none");
    if (device == "cpu" || device == "nvme") assign("parallel.offload", device);
    if (device == "nvme") copy(at(offload, "nvme_path"), "parallel.offload_folder");
    if (device != "cpu" && device != "nvme" && device != "none") fail(base::say("zero_optimization.offload_optimizer.device is '{}' but must be cpu, nvme or none", device));
    if (stated(at(at(zero, "offload_param"), "device")).value_or("none") != "none")
      idle_.push_back(base::say("offload_param (parameters stay on the compute device)"));
  }

  void read_batch() {
    copy(at(root_, "train_micro_batch_size_per_gpu"), "batch.micro_batch_size");
    copy(at(root_, "gradient_accumulation_steps"), "batch.accumulation");
    copy(at(root_, "train_batch_size"), "batch.global_batch_size");
    copy(at(root_, "gradient_clipping"), "optimizer.clip_norm");
  }

  // A switch of a section: nothing where it is open; an error where it says neither true nor false.
  std::optional<bool> truth(const Json& section, std::string_view path, const char* name) {
    const Json& value = at(section, name);
    const auto text = value.is_structured() ? std::optional(value.dump()) : stated(value);
    if (!text) return std::nullopt;
    const auto on = parse_bool(*text);
    if (!on) fail(base::say("{} takes true or false, not '{}'", fmt::format("{}.{}", path, name), *text));
    return on;
  }

  // Whether it is switched on.
  bool read_half(const char* name) {
    const auto on = truth(at(root_, name), name, "enabled");
    if (on && *on) assign("precision.compute", name);
    if (on && !*on) ruled_out_.push_back({&field_of("precision.compute"), name, origin_});
    return on.value_or(false);
  }

  void read_precision() {
    const Json& fp16 = at(root_, "fp16");
    read_half("bf16");
    if (!read_half("fp16")) return;
    if (stated(at(fp16, "loss_scale")).value_or("0") != "0") return fail(base::say("fp16.loss_scale fixes the loss scale, but only a dynamic one is supported: set it to 0"));
    double power = 0;
    if (const auto text = stated(at(fp16, "initial_scale_power")); text && base::parse_double(*text, &power))
      assign("precision.loss_scale", fmt::format("{}", std::exp2(power)));
    copy(at(fp16, "loss_scale_window"), "precision.loss_scale_window");
    copy(at(fp16, "min_loss_scale"), "precision.loss_scale_min");
  }

  void read_optimizer(const Json& optimizer) {
    if (!optimizer.is_object()) return;
    const std::string type = stated(at(optimizer, "type")).value_or("AdamW");
    if (type != "AdamW" && type != "Adam") return fail(base::say("optimizer {} is not AdamW: leave it out", type));
    const Json& params = at(optimizer, "params");
    copy(at(params, "lr"), "optimizer.lr");
    copy(at(params, "eps"), "optimizer.eps");
    copy(at(params, "weight_decay"), "optimizer.weight_decay");
    const Json& betas = at(params, "betas");
    if (!betas.is_array() || betas.size() != 2) return;
    copy(betas[0], "optimizer.beta1");
    copy(betas[1], "optimizer.beta2");
  }

  // Sizes of buckets, logging and the like.
  void note_rest() {
    static const std::vector<std::string> read = {"zero_optimization",
                                                  "train_micro_batch_size_per_gpu",
                                                  "gradient_accumulation_steps",
                                                  "train_batch_size",
                                                  "gradient_clipping",
                                                  "bf16",
                                                  "fp16",
                                                  "optimizer",
                                                  "scheduler",
                                                  "amp",
                                                  "tensor_parallel"};
    for (const auto& [name, value] : root_.items()) {
      if (std::find(read.begin(), read.end(), name) == read.end()) idle_.push_back(base::verbatim(name));
    }
    idle_.insert(idle_.end(), idle_nested_.begin(), idle_nested_.end());
    if (!idle_.empty())
      layer_.notes.push_back(base::say("{} has keys that have no effect here: {}", origin_, base::join(idle_, ", ", "、")));
  }

  const Json& root_;
  const base::Text origin_;
  Layer layer_;
  std::vector<Assignment> ruled_out_;
  std::vector<base::Text> idle_, idle_nested_;
};

}  // namespace

DeepSpeed read_deepspeed_json(const Json& root, const base::Text& origin) {
  return DeepSpeedReader(root, origin).read();
}

}  // namespace troika::config
