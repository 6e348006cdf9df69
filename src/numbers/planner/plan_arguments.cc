#include "planner/plan_arguments.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "host/subprocess.h"
#include "machine/cluster.h"
#include "machine/profiles.h"
#include "machine/rates.h"
#include "planner/machines.h"
#include "planner/open_layout.h"
#include "planner/reasons.h"
#include "shape/layout.h"

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

namespace {

nlohmann::ordered_json json_of(const Question& question, const Estimate& e, base::Language language) {
  const Layout& l = e.layout;
  const TimeSplit& t = e.time;
  nlohmann::ordered_json json = {{"dp", l.dp}, {"pp", l.pp}, {"tp", l.tp}, {"cp", l.cp}, {"zero", l.zero}};
  json["schedule"] = config::word_of(l.schedule);
  json["virtual_stages"] = l.virtual_stages;
  json["micro_batch_size"] = l.micro;
  json["global_batch_size"] = l.global;
  json["recompute"] = config::word_of(l.recompute);
  json["offload"] = config::word_of(l.offload);
  json["precision"] = config::word_of(l.precision);
  json["memory_bytes"] = e.memory.total();
  json["memory"] = {{"parameters", e.memory.parameters}, {"gradients", e.memory.gradients},
                    {"state", e.memory.state},           {"activations", e.memory.activations},
                    {"program", e.memory.program},       {"available", e.available_bytes}};
  json["step_seconds"] = t.step;
  json["tokens_per_second"] = e.tokens_per_second();
  json["model_tflops_per_device"] = e.model_flops_per_device() / 1e12;
  json["model_flops_utilisation"] = e.utilisation();
  json["bubble_share"] = t.share(t.bubble);
  json["communication_share"] = t.share(t.communication());
  json["seconds"] = {{"compute", t.compute},   {"optimizer", t.optimizer}, {"tensor", t.tensor}, {"context", t.context},
                     {"pipeline", t.pipeline}, {"data", t.data},           {"world", t.world},   {"bubble", t.bubble}};
  json["fits"] = e.fits();
  json["reasons"] = base::in(reasons_of(question, e), language);
  return json;
}

std::string table(const Answer& answer, base::Language language) {
  std::string text = fmt::format("{:>3} {:>10} {:>10} {:>9} {:>6} {:>10} {:>8} {:>7} {:>7}  {}\n", "", "positions/s",
                                 base::Phrase("step").in(language), "TFLOP/s", "MFU", base::Phrase("memory").in(language), base::Phrase("compute").in(language),
                                 base::Phrase("comm.").in(language), base::Phrase("bubble").in(language), base::Phrase("layout").in(language));
  int number = 0;
  for (const Estimate& e : answer.best) {
    const TimeSplit& time = e.time;
    text += fmt::format("{:>3} {:>10} {:>10} {:>9} {:>5.1f}% {:>10} {:>7.1f}% {:>6.1f}% {:>6.1f}%  {}\n", ++number,
                        base::format_count(static_cast<std::int64_t>(e.tokens_per_second())),
                        base::format_duration(time.step), base::format_digits(e.model_flops_per_device() / 1e12, 3),
                        100 * e.utilisation(), base::format_bytes(e.memory.total()),
                        100 * time.share(time.compute + time.optimizer), 100 * time.share(time.communication()),
                        100 * time.share(time.bubble), text_of(e.layout).in(language));
  }
  return text;
}

base::Text days(double seconds) {
  return seconds < 2 * 86400 ? base::verbatim(base::format_duration(seconds))
                             : base::say("{:.1f} days", seconds / 86400);
}

// Sentences behind a title, which precedes the first.
std::string lines(base::Phrase title, const std::vector<base::Text>& sentences, base::Language language) {
  std::string text;
  for (const base::Text& sentence : sentences)
    text += fmt::format("{:<8}{}\n", text.empty() ? title.in(language) : "", sentence.in(language));
  return text;
}

std::vector<base::Text> sentences_of_batch(const Question& q, const Answer& answer) {
  const base::Text sequences = base::counted_text(q.global, "sequence");
  const std::int64_t tokens = answer.best.front().tokens;
  if (q.data.sizes)
    return {base::say("{} of at most {}: {} tokens per step on average, as the data have them; memory counts the largest microbatch",
                      sequences, q.settings.batch.seq_len, base::format_count(tokens))};
  std::vector<base::Text> all{base::say("{} of {}: {} positions per step, the same in every layout", sequences,
                                        q.settings.batch.seq_len, base::format_count(q.global * q.settings.batch.seq_len))};
  if (!q.data_note.english.empty()) all.push_back(q.data_note);
  return all;
}

}  // namespace

std::string plan_text(const Question& q, const Answer& answer, double run_tokens, const std::string& start,
                      base::Language language) {
  const config::ModelSettings& model = q.settings.model;
  const auto line = [&](base::Phrase title, const base::Text& said) {
    return lines(title, {said}, language);
  };
  std::string text = line(base::Phrase("model"), base::say("{} parameters, {}, width {}, vocabulary {}", base::format_count(shape::parameter_count(model)),
                                             base::counted_text(model.layers, "layer"), model.hidden, model.vocab));
  text += lines(base::Phrase("batch"), sentences_of_batch(q, answer), language);
  const base::Text machines = describe(q);
  text += line(base::Phrase("on"),
               q.cluster.host_count() > 1
                   ? base::say("{}; {} between hosts", machines, machine::format_bit_rate(q.cluster.network.bytes_per_second))
                   : machines);
  if (const base::Text sources = sources_of(q.cluster); !sources.english.empty())
    text += fmt::format("        {}\n", sources.in(language));
  text += lines(base::Phrase("fits?"), three_questions(q), language);
  text += "\n" + table(answer, language) + "\n";
  const Estimate& best = answer.best.front();
  text += lines(base::Phrase("first"), reasons_of(q, best), language);
  if (run_tokens > 0)
    text += line(base::Phrase("run"),
                 base::say("{} tokens are {:.0f} steps and take {}", base::format_count(static_cast<std::int64_t>(run_tokens)),
                           run_tokens / static_cast<double>(best.tokens), days(run_tokens / best.tokens_per_second())));
  text += lines(base::Phrase("helps"), what_would_help(q, best), language);
  text += line(base::Phrase("left"),
               base::say("{} considered, {} not fit, {} traced, {} simulated; lower bounds show the rest to be slower", base::counted_text(answer.considered, "layout"),
                         base::Text{base::counted(answer.too_large, "does", "do"), std::to_string(answer.too_large)},
                         answer.followed, answer.simulated));
  text += line(base::Phrase("start"), base::verbatim(start));
  return text + std::string(base::Phrase("MFU: 6 FLOPs per token and weight, attention with the full mask, recomputation excluded, relative to the data sheet's rate").in(language)) + "\n";
}

std::string estimate_json(const Question& q, const Estimate& estimate, base::Language language) {
  return json_of(q, estimate, language).dump(2) + "\n";
}

std::string plan_json(const Question& q, const Answer& answer, base::Language language) {
  nlohmann::ordered_json json;
  json["layouts"] = nlohmann::ordered_json::array();
  for (const Estimate& e : answer.best) json["layouts"].push_back(json_of(q, e, language));
  json["rejected"] = answer.too_large;
  json["considered"] = answer.considered;
  json["simulated"] = answer.simulated;
  json["questions"] = base::in(three_questions(q), language);
  json["helps"] = answer.best.empty() ? std::vector<std::string>{}
                                      : base::in(what_would_help(q, answer.best.front()), language);
  json["samples"] = q.data.sizes ? "data" : "full";
  json["sources"] = sources_of(q.cluster).in(language);
  return json.dump(2) + "\n";
}

static std::string launch_prefix(const Question& q) {
  if (q.world == 1) return "";
  const machine::Placement placement(q.cluster, q.world, q.ranks_per_host);
  const std::string hosts =
      placement.hosts() == 1 ? "" : fmt::format("--nnodes {} --node-rank K --master-addr HOST0 ", placement.hosts());
  return fmt::format("launch {}--nproc-per-node {} -- ", hosts, placement.ranks_on(0));
}

std::string start_command(const PlanArguments& a, const Question& question, const Layout& layout) {
  std::vector<std::string> words;
  if (!a.write.empty()) {
    words.push_back(a.write);
  } else {
    words = a.training;
    const std::vector<std::string> flags = flags_of(layout);
    words.insert(words.end(), flags.begin(), flags.end());
  }
  for (std::string& word : words) word = host::shell_word(word);
  if (question.settings.data.train.empty()) words.emplace_back("--data.train PATH");
  return fmt::format("troika {}train {}", launch_prefix(question), base::join(words, " "));
}

}  // namespace troika::planner
