#include "planner/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "machine/quantities.h"
#include "planner/model_states.h"
#include "planner/real.h"
#include "shape/segment_costs.h"

namespace troika::planner {
namespace {

constexpr double notable = 1.05;          // what changes less is not worth a word
constexpr double busy = 0.8, talk = 0.2;  // shares of a step: computing at least, communication at most
constexpr int most_hosts_tried = 8;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

bool on_cores(const machine::Cluster& cluster) { return cluster.hosts.front().computes_on_cores(); }

std::int64_t available(const Question& q) {
  const machine::Placement placement(q.cluster, q.world, q.ranks_per_host);
  return placement.memory_of(0) - placement.kind_of_rank(0).program_bytes;
}

Question with_links(Question q, double factor) {
  q.cluster.network.bytes_per_second *= factor;
  for (machine::Host& host : q.cluster.hosts) host.inside.bytes_per_second *= factor;
  for (machine::PairLink& pair : q.cluster.pairs) pair.link.bytes_per_second *= factor;
  return q;
}

// The first `hosts` of them.
Question with_hosts(Question q, int hosts) {
  std::vector<machine::Host> kept;
  for (machine::Host host : q.cluster.hosts) {
    host.count = std::min(host.count, hosts);
    hosts -= host.count;
    if (host.count > 0) kept.push_back(host);
  }
  q.cluster.hosts = std::move(kept);
  q.world = on_cores(q.cluster) ? q.cluster.host_count() * std::max(1, q.ranks_per_host) : q.cluster.device_count();
  q.fixed.dp.reset();
  return q;
}

struct Help {
  double gain;
  std::string sentence;
};

void try_links(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (q.world == 1 || best.time.communication() == 0) return;
  const auto faster = estimate_layout(with_links(q, 2), best.layout);
  if (faster) helps.push_back({best.time.step / faster->time.step, "links twice as fast"});
}

void try_batch(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  Question larger = q;
  larger.global *= 2;
  Layout layout = best.layout;
  layout.global *= 2;
  const auto faster = estimate_layout(larger, layout);
  if (faster && faster->fits())
    helps.push_back({faster->tokens_per_second() / best.tokens_per_second(),
                     fmt::format("a batch twice as large (--global-batch-size {}, for other results)", layout.global)});
}

void try_memory(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (best.layout.recompute == config::Recompute::none && best.layout.offload == config::Offload::none) return;
  Layout layout = best.layout;
  layout.recompute = q.fixed.recompute.value_or(config::Recompute::none);
  layout.offload = q.fixed.offload.value_or(config::Offload::none);
  const auto faster = estimate_layout(q, layout);
  if (!faster) return;
  const auto lack = faster->memory.total() - faster->available_bytes;
  if (lack > 0)
    helps.push_back({best.time.step / faster->time.step,
                     fmt::format("{} more memory on each {}, which needs no recomputation and no offload then",
                                 base::format_bytes(lack), on_cores(q.cluster) ? "host" : "device")});
}

void try_fewer_hosts(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (const auto fewer = fastest_on_fewer_hosts(q, best.tokens_per_second()))
    helps.push_back({fewer->estimate.tokens_per_second() / best.tokens_per_second(),
                     fmt::format("fewer hosts: {} of the {} do it as {}", fewer->hosts, q.cluster.host_count(),
                                 name_of(fewer->estimate.layout))});
}

// In more replicas of the same.
void try_twice_as_many(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (q.fixed.dp || best.layout.global % (2 * best.layout.dp * best.layout.micro) != 0) return;
  Question more = q;
  for (machine::Host& host : more.cluster.hosts) host.count *= 2;
  more.world *= 2;
  if (more.cluster.network.bytes_per_second == 0) more.cluster.network = q.cluster.hosts.front().inside;
  Layout layout = best.layout;
  layout.dp *= 2;
  const auto faster = estimate_layout(more, layout);
  if (faster)
    helps.push_back({best.time.step / faster->time.step, "twice as many hosts, as more replicas of the same batch"});
}

}  // namespace

// Every smaller number of a few hosts may be laid out in a way of its own.
std::optional<OnFewerHosts> fastest_on_fewer_hosts(const Question& q, double tokens_per_second) {
  const int hosts = q.cluster.host_count();
  std::optional<OnFewerHosts> fastest;
  if (!on_cores(q.cluster) || hosts == 1 || hosts > most_hosts_tried || q.fixed.dp) return fastest;
  for (int fewer = hosts - 1; fewer >= 1; --fewer) {
    auto found = fastest_that_fits(with_hosts(q, fewer));
    if (!found || found->tokens_per_second() <= tokens_per_second) continue;
    tokens_per_second = found->tokens_per_second();
    fastest = OnFewerHosts{fewer, std::move(*found)};
  }
  return fastest;
}

std::vector<std::string> reasons_of(const Question& q, const Estimate& e) {
  std::vector<std::string> reasons;
  reasons.push_back(fmt::format("{} {} of the {} that a rank has", e.fits() ? "fits:" : "does not fit: it needs",
                                plan::describe(e.memory), base::format_bytes(e.available_bytes)));
  const TimeSplit& t = e.time;
  std::vector<std::string> parts{percent(t.share(t.compute)) + " computing",
                                 percent(t.share(t.optimizer)) + " optimizer"};
  const auto part = [&](double seconds, const std::string& what) {
    if (t.share(seconds) >= 0.005) parts.push_back(percent(t.share(seconds)) + " " + what);
  };
  part(t.tensor, "messages of tensor parallelism");
  part(t.context, "messages of context parallelism");
  part(t.pipeline, "messages between stages");
  part(t.data, "gradients and parameters between replicas");
  part(t.world, "the norm over all ranks");
  part(t.bubble, "standing still for other ranks");
  reasons.push_back(fmt::format("a step of {} takes {}: {}", base::format_count(e.tokens) + " tokens",
                                base::format_duration(t.step), base::join(parts, ", ")));
  if (e.layout.pp > 1)
    reasons.push_back(fmt::format(
        "{} stages of about {} layers with {} microbatches each: a bubble of {}", e.layout.pp * e.layout.virtual_stages,
        q.settings.model.layers / (e.layout.pp * e.layout.virtual_stages), e.microbatches, percent(t.share(t.bubble))));
  if (e.layout.recompute == config::Recompute::full)
    reasons.push_back("without full recomputation it would be faster, where it fits: each forward runs twice");
  if (t.share(t.communication()) > talk)
    reasons.push_back(
        fmt::format("communication takes {}, more than a fifth of the step", percent(t.share(t.communication()))));
  else if (t.share(t.compute + t.optimizer) < busy)
    reasons.push_back(
        fmt::format("ranks compute {} of the time; four fifths are good", percent(t.share(t.compute + t.optimizer))));
  return reasons;
}

std::vector<std::string> three_questions(const Question& q) {
  const config::ModelSettings& model = q.settings.model;
  const double have = real(available(q));
  const std::string what = on_cores(q.cluster) ? "rank" : "device";
  const BytesPerParameter bytes = bytes_of_training(q.fixed.precision.value_or(config::Precision::bf16));
  const double all = model_state_bytes(real(shape::parameter_count(model)), 1, 0, bytes);
  const double layer = model_state_bytes(real(shape::segment_layout(model, 1).elements), 1, 0, bytes);
  shape::MicrobatchShape one{1, q.settings.batch.seq_len};
  one.precision = q.fixed.precision.value_or(config::Precision::bf16);
  const double activations = real(shape::segment_saved_bytes(model, one, shape::SavedActivations::all).whole[1]);
  const auto text = [](double size) { return base::format_bytes(static_cast<std::int64_t>(size)); };
  std::vector<std::string> answers;
  answers.push_back(fmt::format("one {} {} the model: parameters, gradients and optimizer take {} of {}", what,
                                all <= have ? "holds" : "does not hold", text(all), text(have)));
  answers.push_back(
      fmt::format("one {} {} a layer: {} and {} of activations for a sequence{}", what,
                  layer + activations <= have ? "holds" : "does not hold", text(layer), text(activations),
                  layer + activations <= have ? "" : ", so layers have to be split: tensor parallelism, or ZeRO 3"));
  answers.push_back(model.layers > 30
                        ? fmt::format("{} layers are deep enough for stages of a pipeline", model.layers)
                        : fmt::format("{} layers give few layers to each stage of a long pipeline", model.layers));
  return answers;
}

std::vector<std::string> what_would_help(const Question& q, const Estimate& best) {
  std::vector<Help> helps;
  try_links(q, best, helps);
  try_batch(q, best, helps);
  try_memory(q, best, helps);
  try_fewer_hosts(q, best, helps);
  try_twice_as_many(q, best, helps);
  std::stable_sort(helps.begin(), helps.end(), [](const Help& a, const Help& b) { return a.gain > b.gain; });
  std::vector<std::string> sentences;
  for (const Help& help : helps) {
    if (help.gain >= notable) sentences.push_back(fmt::format("{:.2f} times as fast: {}", help.gain, help.sentence));
  }
  return sentences;
}

std::string what_is_lacking(const Question& q, const Answer& answer) {
  const Nearest& nearest = *answer.nearest;
  return fmt::format("no layout fits {}: the nearest, {}, needs at least {} of the {} that a rank has", describe(q),
                     name_of(nearest.layout), base::format_bytes(nearest.need_bytes),
                     base::format_bytes(nearest.have_bytes));
}

std::string nothing_fits(const Question& q, const Answer& answer) {
  const std::string text = what_is_lacking(q, answer);
  // What would do: more of the same machines, or a smaller batch where that is what is large.
  Question more = q;
  more.fixed.dp.reset();
  for (int times = 2; times <= 64; times *= 2) {
    more.cluster.hosts.back().count = q.cluster.hosts.back().count * times;
    more.world = on_cores(more.cluster) ? more.cluster.host_count() * std::max(1, q.ranks_per_host)
                                        : more.cluster.device_count();
    if (more.cluster.network.bytes_per_second == 0) more.cluster.network = more.cluster.hosts.front().inside;
    more.global = q.global * (q.global % more.world == 0 ? 1 : times);
    if (const auto fits = fastest_that_fits(more))
      return text +
             fmt::format("; {} of these hosts would do, as {}", more.cluster.host_count(), name_of(fits->layout));
  }
  return text + "; a smaller model, shorter sequences or machines with more memory would";
}

std::string describe(const Question& q) {
  std::vector<std::string> parts;
  for (const machine::Host& host : q.cluster.hosts) {
    const std::string hosts = host.count == 1 ? "one host" : fmt::format("{} hosts", host.count);
    const std::string memory = base::format_bytes(host.memory_bytes);
    parts.push_back(host.computes_on_cores()
                        ? fmt::format("{} of {} core{} ({}), {}", hosts, host.cores, host.cores == 1 ? "" : "s",
                                      host.device, memory)
                        : fmt::format("{} with {} x {}, {} each", hosts, host.devices, host.device, memory));
  }
  return base::join(parts, "; ");
}

std::string sources_of(const machine::Cluster& cluster) {
  std::vector<std::string> all;
  for (const machine::Host& host : cluster.hosts) {
    if (!host.source.empty() && std::find(all.begin(), all.end(), host.source) == all.end()) all.push_back(host.source);
  }
  return base::join(all, "; ");
}

}  // namespace troika::planner
