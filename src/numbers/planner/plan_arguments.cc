#include "planner/plan_arguments.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "machine/cluster.h"
#include "machine/profiles.h"
#include "machine/rates.h"
#include "planner/open_layout.h"
#include "planner/machines.h"

namespace troika::planner {

config::FlagTable plan_flags(PlanArguments& a) {
  config::FlagTable table("troika plan");
  table.usage("[CONFIG] [settings of train] --gpu NAME --gpus N [--gpus-per-node N] [--network RATE]");
  table.usage("[CONFIG] [settings of train] --cluster FILE [--nproc N]");
  table.usage("[CONFIG] [settings of train] [--nproc N]");
  table.add("cluster", a.cluster, "Machine file, from `troika probe` or written by hand.")
      .shown("FILE")
      .unset("the accelerators of --gpu, else this host");
  table.add("nproc", a.nproc, "Ranks per host that computes on CPU cores.")
      .familiar({"nproc-per-node"})
      .range(1, 10000)
      .unset("1 of each host of a cluster");
  table.add("gpu", a.gpu, "Accelerators by name, instead of a cluster file.")
      .offered(machine::accelerator_names)
      .shown("NAME")
      .unset("none");
  table.add("gpus", a.gpus, "Total number of accelerators.").range(1, 1e6).unset("the accelerators of one host");
  table.add("gpus-per-node", a.gpus_per_node, "Accelerators per host.")
      .range(1, 1024)
      .unset("typical for them");
  table.add("network", a.network, "Network bandwidth per host, such as '1.6 Tbit/s', instead of the typical one.")
      .shown("RATE")
      .unset("typical for them, or the cluster file's");
  table.add("tokens", a.tokens, "Tokens of the whole run, such as 300B, to predict its duration.").unset("the tokens of train.steps");
  table.add("top", a.top, "Number of layouts to list.").range(1, 1000);
  table.add("json", a.json, "Print one JSON object.").alone();
  table.add("write", a.write, "Write the settings with the best layout as YAML.")
      .shown("FILE")
      .unset("nothing is written");
  table.settings({"model.preset", "batch.seq_len", "batch.global_batch_size", "batch.micro_batch_size", "parallel.dp",
                  "parallel.pp", "parallel.tp", "parallel.cp", "parallel.zero", "parallel.recompute",
                  "precision.compute"});
  table.paragraph(
      "Finds the fastest layout: every dp x pp x tp x cp x ZeRO x schedule x micro batch x recomputation x offload x precision\nthat the machines allow, ranked by predicted positions/s; train flags fix parts of it. The step program of each of the\nbest is traced for its memory and simulated for its time. docs/planning.md explains the method and its accuracy.");
  return table;
}

static bool is_row_of(const config::FlagTable& table, const std::string& key) {
  return std::any_of(table.rows().begin(), table.rows().end(),
                     [&](const config::FlagRow& row) { return row.flag->key() == key; });
}

PlanArguments parse_plan(const std::vector<std::string>& words, const config::Environment& environment) {
  PlanArguments a;
  const config::FlagTable own = plan_flags(a);
  a.parsed = config::parse_settings(words, environment, own);
  for (const auto& [key, given] : a.parsed.given) {
    if (is_row_of(own, key) || is_of_layout(key)) continue;
    a.training.insert(a.training.end(), given.begin(), given.end());
  }
  if (!a.cluster.empty() && !a.gpu.empty()) throw base::ConfigError(base::say("--cluster and --gpu both set the machines: give one of them"));
  if (a.gpu.empty() && (a.gpus || a.gpus_per_node)) throw base::ConfigError(base::say("--gpus is only a count: give --gpu the name of the accelerator too, such as --gpu h100"));
  return a;
}

double token_count(const std::string& text) {
  static const std::string units = "KMBT";
  std::string number = base::trim(text);
  double factor = 1;
  if (!number.empty()) {
    const auto unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(number.back()))));
    if (unit != std::string::npos) {
      factor = std::pow(1000, static_cast<double>(unit + 1));
      number.pop_back();
    }
  }
  double count = 0;
  if (base::parse_double(number, &count) && std::isfinite(count) && count > 0 && count * factor < 1e18)
    return count * factor;
  throw base::ConfigError(base::say("--tokens is '{}', but must be a number above 0 such as 300B, 20M or 1e9", text));
}

namespace {

machine::Cluster cluster_of_gpus(const PlanArguments& a) {
  const machine::Accelerator& kind = machine::find_accelerator(a.gpu, "--gpu");
  const std::int64_t per_node =
      a.gpus_per_node.value_or(std::min<std::int64_t>(kind.devices_per_host, a.gpus.value_or(1 << 20)));
  const std::int64_t gpus = a.gpus.value_or(per_node);
  if (gpus % per_node != 0 && gpus > per_node)
    throw base::ConfigError(base::say("--gpus {} does not fill whole hosts of {}: use {} or {}, or --gpus-per-node", gpus, per_node, gpus / per_node * per_node,
                                      (gpus / per_node + 1) * per_node));
  machine::Cluster cluster;
  cluster.hosts.push_back(host_of(kind, static_cast<int>(std::min(gpus, per_node)), machine::fitted_reach()));
  cluster.hosts.front().count = static_cast<int>(std::max<std::int64_t>(1, gpus / per_node));
  cluster.network = network_of(kind, machine::fitted_reach());
  return cluster;
}

machine::Cluster cluster_of(const PlanArguments& a, const config::Environment& environment) {
  machine::Cluster cluster = !a.cluster.empty() ? machine::read_cluster(a.cluster)
                             : !a.gpu.empty()   ? cluster_of_gpus(a)
                                                : this_machine(machine_file(environment)).cluster;
  if (a.network.empty()) return cluster;
  if (!machine::parse_byte_rate(a.network, &cluster.network.bytes_per_second))
    throw base::ConfigError(base::say("--network is '{}', but must be a number with a unit, such as '1.6 Tbit/s' or '939 Mbit/s'", a.network));
  cluster.pairs.clear();
  return cluster;
}

}  // namespace

Question question_of(const PlanArguments& a, const config::Environment& environment, const VocabularyOf& vocabulary_of) {
  Question q;
  q.settings = a.parsed.settings;
  q.settings.parallel.layout = config::LayoutChoice::stated;  // the question itself
  q.cluster = cluster_of(a, environment);
  const bool on_cores = std::all_of(q.cluster.hosts.begin(), q.cluster.hosts.end(),
                                    [](const machine::Host& host) { return host.computes_on_cores(); });
  if (a.nproc && !on_cores) throw base::ConfigError(base::say("--nproc is for hosts that compute on CPU cores; a host with devices runs one rank on each"));
  q.ranks_per_host = static_cast<int>(a.nproc.value_or(0));
  q.world = on_cores ? q.cluster.host_count() * std::max(1, q.ranks_per_host) : q.cluster.device_count();
  const bool halves = std::all_of(q.cluster.hosts.begin(), q.cluster.hosts.end(),
                                  [](const machine::Host& host) { return host.rates.bf16.flops_per_second > 0; });
  const bool states_precision = a.parsed.any_place_states("precision.compute");
  if (!on_cores && !states_precision && halves) q.settings.precision.compute = config::Precision::bf16;
  if (!on_cores && !a.parsed.any_place_states("parallel.reproducible"))
    q.settings.parallel.reproducible = config::Reproducible::layout;
  q.settings.model.vocab = vocabulary_of(q.settings);
  if (!on_cores && q.settings.comm.backend == config::Backend::automatic)
    q.settings.comm.backend = config::Backend::nccl;
  q.fixed = fixed_by(a.parsed.stated, q.settings);
  const std::optional<std::int64_t>& stated = q.settings.batch.global_batch_size;
  q.global = stated ? *stated : resolve_somehow(q.settings, q.fixed, q.world).batch.global;
  if (q.settings.precision.compute != config::Precision::fp32 || (!on_cores && states_precision))
    q.fixed.precision = q.settings.precision.compute;
  q.top = static_cast<int>(a.top);
  return q;
}

}  // namespace troika::planner
