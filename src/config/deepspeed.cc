#include "config/deepspeed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace troika::config {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t most_bytes = 1 << 20;

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

// A section of which members are read; the names of all its members, those without effect too.
struct Section {
  std::string_view path;
  std::vector<std::string> read, idle;
};

const std::vector<Section> sections = {
    {"zero_optimization",
     {"stage", "offload_optimizer", "offload_param"},
     {"allgather_partitions",
      "allgather_bucket_size",
      "overlap_comm",
      "reduce_scatter",
      "reduce_bucket_size",
      "use_multi_rank_bucket_allreduce",
      "contiguous_gradients",
      "sub_group_size",
      "round_robin_gradients",
      "ignore_unused_parameters",
      "load_from_fp32_weights",
      "elastic_checkpoint",
      "legacy_stage1",
      "pipeline_loading_checkpoint",
      "override_module_apply",
      "memory_efficient_linear",
      "log_trace_cache_warnings",
      "use_all_reduce_for_fetch_params",
      "stage3_prefetch_bucket_size",
      "stage3_param_persistence_threshold",
      "stage3_model_persistence_threshold",
      "stage3_max_live_parameters",
      "stage3_max_reuse_distance",
      "stage3_module_granularity_threshold",
      "stage3_gather_16bit_weights_on_model_save",
      "stage3_gather_fp16_weights_on_model_save",
      "zero_hpz_partition_size",
      "zero_quantized_weights",
      "zero_quantized_nontrainable_weights",
      "zero_quantized_gradients",
      "zeropp_loco_param",
      "mics_shard_size",
      "mics_hierarchical_params_gather"}},
    {"zero_optimization.offload_optimizer",
     {"device", "nvme_path"},
     {"pin_memory", "buffer_count", "pipeline_read", "pipeline_write", "pipeline", "fast_init", "ratio"}},
    {"zero_optimization.offload_param",
     {"device"},
     {"nvme_path", "pin_memory", "buffer_count", "buffer_size", "max_in_cpu"}},
    {"bf16",
     {"enabled"},
     {"immediate_grad_update", "check_grad_overflow", "bf16_master_weights_and_grads", "bf16_optimizer_states"}},
    {"fp16",
     {"enabled", "loss_scale", "initial_scale_power", "loss_scale_window", "min_loss_scale"},
     {"auto_cast", "hysteresis", "consecutive_hysteresis", "fp16_master_weights_and_grads"}},
    {"optimizer", {"type", "params"}, {"legacy_fusion"}},
    {"tensor_parallel", {"autotp_size"}, {"dtype", "tp_overlap_comm", "injection_policy_tuple"}},
};

class Reader {
 public:
  Reader(const Json& root, std::string origin) : root_(root), origin_(std::move(origin)) {}

  DeepSpeed read() {
    for (const Section& section : sections) check_section(section);
    read_zero(at(root_, "zero_optimization"));
    read_batch();
    read_precision();
    read_optimizer(at(root_, "optimizer"));
    refuse("scheduler", "give lr_scheduler_type and warmup_ratio or warmup_steps in the YAML instead");
    refuse("amp", "bf16 and fp16 say what is computed in");
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

  void fail(const std::string& what) { layer_.errors.push_back(origin_ + ": " + what); }

  void check_section(const Section& section) {
    const Json* value = &root_;
    for (const std::string& name : base::split(std::string(section.path), '.')) value = &at(*value, name);
    if (value->is_null()) return;
    if (!value->is_object()) return fail(fmt::format("{} is {}, but must be a section", section.path, value->dump()));
    for (const auto& [name, member] : value->items()) {
      const auto has = [&, &named = name](const auto& names) {
        return std::find(names.begin(), names.end(), named) != names.end();
      };
      if (has(section.read)) continue;
      if (has(section.idle)) {
        idle_members_.push_back(fmt::format("{}.{}", section.path, name));
        continue;
      }
      std::vector<std::string> names = section.read;
      names.insert(names.end(), section.idle.begin(), section.idle.end());
      const std::string near = base::nearest(name, names);
      fail(fmt::format("unknown member '{}' in {}{}", name, section.path,
                       near.empty() ? "" : "; did you mean " + near + "?"));
    }
  }

  void refuse(const std::string& name, const std::string& remedy) {
    const Json& value = at(root_, name);
    if (value.is_object() && !value.empty() && stated(at(value, "enabled")) != std::optional<std::string>("false"))
      fail(fmt::format("{} is not supported: {}", name, remedy));
  }

  void read_zero(const Json& zero) {
    copy(at(zero, "stage"), "parallel.zero");
    const Json& offload = at(zero, "offload_optimizer");
    const std::string device = stated(at(offload, "device")).value_or("none");
    if (device == "cpu" || device == "nvme") assign("parallel.offload", device);
    if (device == "nvme") copy(at(offload, "nvme_path"), "parallel.offload_folder");
    if (device != "cpu" && device != "nvme" && device != "none")
      fail(fmt::format("zero_optimization.offload_optimizer.device is '{}' but must be cpu, nvme or none", device));
    if (stated(at(at(zero, "offload_param"), "device")).value_or("none") != "none")
      idle_.emplace_back("offload_param (parameters stay where they are computed with)");
  }

  void read_batch() {
    copy(at(root_, "train_micro_batch_size_per_gpu"), "batch.micro_batch_size");
    copy(at(root_, "gradient_accumulation_steps"), "batch.accumulation");
    copy(at(root_, "train_batch_size"), "batch.global_batch_size");
    copy(at(root_, "gradient_clipping"), "optimizer.clip_norm");
  }

  static bool is_on(const Json& value) {
    const auto text = stated(at(value, "enabled"));
    return text && parse_bool(*text).value_or(false);
  }

  void rule_out_precisions() {
    for (const char* name : {"bf16", "fp16"}) {
      const auto text = stated(at(at(root_, name), "enabled"));
      if (text && !parse_bool(*text).value_or(true))
        ruled_out_.push_back({&field_of("precision.compute"), name, origin_});
    }
  }

  void read_precision() {
    rule_out_precisions();
    const Json& fp16 = at(root_, "fp16");
    if (is_on(at(root_, "bf16"))) assign("precision.compute", "bf16");
    if (!is_on(fp16)) return;
    assign("precision.compute", "fp16");
    if (stated(at(fp16, "loss_scale")).value_or("0") != "0")
      return fail("fp16.loss_scale fixes the loss scale, and here it adapts itself: set it to 0");
    double power = 0;
    if (const auto text = stated(at(fp16, "initial_scale_power")); text && base::parse_double(*text, &power))
      assign("precision.loss_scale", fmt::format("{}", std::exp2(power)));
    copy(at(fp16, "loss_scale_window"), "precision.loss_scale_window");
    copy(at(fp16, "min_loss_scale"), "precision.loss_scale_min");
  }

  void read_optimizer(const Json& optimizer) {
    if (!optimizer.is_object()) return;
    const std::string type = stated(at(optimizer, "type")).value_or("AdamW");
    if (type != "AdamW" && type != "Adam") return fail(fmt::format("optimizer {} is not AdamW: leave it out", type));
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
      if (std::find(read.begin(), read.end(), name) == read.end()) idle_.push_back(name);
    }
    idle_.insert(idle_.end(), idle_members_.begin(), idle_members_.end());
    if (!idle_.empty())
      layer_.notes.push_back(fmt::format("{} has keys without effect here: {}", origin_, base::join(idle_, ", ")));
  }

  const Json& root_;
  const std::string origin_;
  Layer layer_;
  std::vector<Assignment> ruled_out_;
  std::vector<std::string> idle_, idle_members_;
};

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Where the file is: as written, below the YAML's folder, or of its name beside the YAML. "" when nowhere.
std::string find_file(const std::string& path, const std::string& yaml) {
  std::vector<std::string> places = {path};
  if (path.front() != '/') places.push_back(folder_of(yaml) + path);
  places.push_back(folder_of(yaml) + name_of(path));
  for (const std::string& place : places) {
    if (base::file_exists(place)) return place;
  }
  return "";
}

struct UsualName {
  std::string_view name, stage, offload;
};

constexpr UsualName usual_names[] = {
    {"ds_z0_config.json", "0", "none"},         {"ds_z1_config.json", "1", "none"},
    {"ds_z2_config.json", "2", "none"},         {"ds_z3_config.json", "3", "none"},
    {"ds_z2_offload_config.json", "2", "host"}, {"ds_z3_offload_config.json", "3", "host"},
};

Layer read_by_name(const std::string& path, const std::string& origin) {
  Layer layer;
  for (const UsualName& usual : usual_names) {
    if (name_of(path) != usual.name) continue;
    layer.assignments.push_back({&field_of("parallel.zero"), std::string(usual.stage), origin});
    layer.assignments.push_back({&field_of("parallel.offload"), std::string(usual.offload), origin});
    layer.notes.push_back(fmt::format("deepspeed '{}' is not there; by its name it means parallel.zero {}, offload {}",
                                      path, usual.stage, usual.offload));
    return layer;
  }
  layer.errors.push_back(fmt::format(
      "{}: deepspeed '{}' is not there, nor beside this file: copy it, or set parallel.zero instead", origin, path));
  return layer;
}

const Assignment* last_of(const Layer& layer, const Field& field) {
  const auto found = std::find_if(layer.assignments.rbegin(), layer.assignments.rend(),
                                  [&](const Assignment& assignment) { return assignment.field == &field; });
  return found == layer.assignments.rend() ? nullptr : &*found;
}

}  // namespace

void take_deepspeed(DeepSpeed theirs, Layer* mine) {
  const auto contradict = [&](const Assignment& own, const std::string& value, const std::string& origin) {
    mine->errors.push_back(fmt::format("{}: {} is {}, but {} in {}; write \"auto\" there", own.origin, own.field->key(),
                                       own.value, value, origin));
  };
  for (const Assignment& out : theirs.ruled_out) {
    const Assignment* own = last_of(*mine, *out.field);
    if (own != nullptr && own->value == out.value) contradict(*own, "not " + out.value, out.origin);
  }
  for (Assignment& assignment : theirs.layer.assignments) {
    const Field& field = *assignment.field;
    const Assignment* own = last_of(*mine, field);
    if (own == nullptr) {
      mine->assignments.push_back(std::move(assignment));
    } else if (canonical_text(field, own->value) != canonical_text(field, assignment.value)) {
      contradict(*own, assignment.value, assignment.origin);
    }
  }
  mine->notes.insert(mine->notes.end(), theirs.layer.notes.begin(), theirs.layer.notes.end());
  mine->errors.insert(mine->errors.end(), theirs.layer.errors.begin(), theirs.layer.errors.end());
}

DeepSpeed read_deepspeed(const FlatKey& key, const std::string& yaml) {
  const bool is_inline = key.kind == FlatKey::Kind::object;
  const std::string file = is_inline ? "" : find_file(key.text, yaml);
  if (!is_inline && file.empty()) return {read_by_name(key.text, key.origin), {}};
  const std::string origin = is_inline ? key.origin + " deepspeed" : "deepspeed '" + file + "'";
  if (!is_inline && base::file_size(file) > most_bytes)
    throw base::DataError(fmt::format("{} has {} bytes, but DeepSpeed's settings have at most {}", origin,
                                      base::file_size(file), most_bytes));
  const Json root = base::parse_json(is_inline ? key.text : base::read_file(file), origin);
  if (!root.is_object()) throw base::DataError(origin + " is not a JSON object: DeepSpeed's settings are one");
  return Reader(root, origin).read();
}

}  // namespace troika::config
