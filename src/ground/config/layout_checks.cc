#include "config/layout_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

// The end of "process", of so many.
base::Text plural(std::int64_t count) { return base::in_english_only(count == 1 ? "" : "es"); }

// "pp 3 x tp 2", axes of 1 left out unless all are.
std::string spell_axes(const ParallelSettings& p) {
  std::vector<std::string> parts;
  for (const auto& [name, size] :
       {std::pair{"dp", p.dp}, std::pair{"pp", p.pp}, std::pair{"tp", p.tp}, std::pair{"cp", p.cp}}) {
    if (size > 1 || (size == 1 && std::string_view(name) == "dp")) parts.push_back(fmt::format("{} {}", name, size));
  }
  return base::join(parts, " x ");
}

base::Text legal_pipelines(const ParallelSettings& p, std::int64_t world) {
  std::vector<std::string> sizes;
  for (std::int64_t pp = 1; pp <= world && sizes.size() < 16; ++pp) {
    if (world % (pp * p.tp * p.cp) == 0) sizes.push_back(fmt::to_string(pp));
  }
  return {base::join(sizes, " or "), base::join(sizes, " 或 ")};
}

std::string how_to_start(std::int64_t world, std::int64_t wanted) {
  return world == 1 ? fmt::format(" (troika launch --nproc-per-node {} -- train ...)", wanted) : "";
}

void refuse_indivisible_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  ParallelSettings shown = p;
  shown.dp = 0;
  const std::int64_t below = world / fixed * fixed;
  const std::int64_t above = below + fixed;
  const base::Text starts = below == 0 ? base::verbatim(fmt::to_string(above)) : base::say("{} or {}", below, above);
  const base::Text legal = legal_pipelines(p, world);
  findings->errors.push_back(base::say("parallel: {} does not divide the world of {} process{}: start {} processes{}{}", spell_axes(shown), world, plural(world), starts,
                                       how_to_start(world, above),
                                       legal.english.empty() ? legal : base::say(", or set pp to {}", legal)));
}

void refuse_other_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  const std::int64_t asked = p.dp * fixed;
  const std::string product = fixed == 1 ? "" : fmt::format(" = {}", asked);
  findings->errors.push_back(base::say("parallel: {}{}, but the world has {} process{}: start {}{}, or set dp to {}", spell_axes(p), product, world, plural(world), asked,
                                       how_to_start(world, asked), world / fixed));
}

// The smallest dim that tensor parallelism splits, with what each rank needs of it.
struct Splittable {
  std::int64_t size;
  std::string_view key;
  base::Phrase need;
};

void check_tensor_parallel(const Settings& s, Findings* findings) {
  std::vector<Splittable> dims = {{s.model.heads, "model.heads", base::Phrase("a query head")}, {s.model.ffn, "model.ffn", base::Phrase("a column of the feed-forward layer")}};
  if (s.model.vocab > 0) dims.push_back({s.model.vocab, "model.vocab", base::Phrase("a row of the vocabulary")});
  const Splittable& least =
      *std::min_element(dims.begin(), dims.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  if (s.parallel.tp <= least.size) return;
  findings->errors.push_back(
      base::say("parallel.tp {} is more than {} {}: each tensor-parallel rank needs {}, so tp is at most {}", s.parallel.tp, least.key, least.size, base::say(least.need), least.size));
}

void check_context_parallel(const Settings& s, Findings* findings) {
  const std::int64_t cp = s.parallel.cp;
  if (cp == 1 || s.batch.seq_len >= 2 * cp) return;
  findings->errors.push_back(
      base::say("batch.seq_len {} is too short for parallel.cp {}: each context-parallel rank takes 2 pieces of a sequence, so seq_len is at least {}, or cp at most {}", s.batch.seq_len, cp, 2 * cp, std::max<std::int64_t>(1, s.batch.seq_len / 2)));
}

void check_shares(const ParallelSettings& p, const Layout& layout, Findings* findings) {
  if (p.shares.empty()) return;
  if (static_cast<std::int64_t>(p.shares.size()) != layout.dp) {
    findings->errors.push_back(
        base::say("parallel.shares has {} entr{} for dp {}: give one number of microbatches per data-parallel rank", p.shares.size(), base::in_english_only(p.shares.size() == 1 ? "y" : "ies"), layout.dp));
  }
  if (p.zero >= 2 && layout.dp * layout.cp > 1) {
    findings->errors.push_back(base::say("parallel.shares needs zero 0 or 1, not {}: in ZeRO 2 and 3 all replicas meet at every microbatch", p.zero));
  }
}

void check_reproducible(const ParallelSettings& p, Findings* findings) {
  if (p.reproducible != Reproducible::bits || (p.tp == 1 && p.cp == 1)) return;
  ParallelSettings shown = p;
  shown.dp = 0;
  shown.pp = 1;
  findings->errors.push_back(base::say("parallel.reproducible=bits refuses {}: sums that are split over these ranks end in other bits; set tp and cp to 1, or reproducible to run", spell_axes(shown)));
}

void note_what_changes_nothing(const Settings& s, std::int64_t shards, Findings* findings) {
  const auto& p = s.parallel;
  if (p.zero > 0 && shards == 1) {
    findings->notes.push_back(base::say("parallel.zero {} splits nothing, because dp x cp is 1", p.zero));
  }
  if (p.offload == Offload::host && word_or(s.train.device, DeviceKind::numbered) == DeviceKind::cpu) {
    findings->notes.push_back(
        base::say("parallel.offload host changes nothing: on the device cpu the optimizer state is in the host's memory anyway"));
  }
  if (!p.offload_folder.empty() && p.offload != Offload::file) {
    findings->notes.push_back(
        base::say("parallel.offload_folder is not used, because offload is {}", word_of(p.offload)));
  }
}

}  // namespace

Layout solve_layout(const ParallelSettings& p, std::int64_t world, Findings* findings) {
  Layout layout{std::max<std::int64_t>(p.dp, 1), p.pp, p.tp, p.cp};
  const std::int64_t fixed = p.pp * p.tp * p.cp;
  if (world % fixed != 0) {
    refuse_indivisible_world(p, world, fixed, findings);
  } else if (p.dp == 0) {
    layout.dp = world / fixed;
  } else if (p.dp * fixed != world) {
    refuse_other_world(p, world, fixed, findings);
  }
  return layout;
}

void check_layout(const Settings& settings, const Layout& layout, Findings* findings) {
  check_tensor_parallel(settings, findings);
  check_context_parallel(settings, findings);
  check_reproducible(settings.parallel, findings);
  check_shares(settings.parallel, layout, findings);
  note_what_changes_nothing(settings, layout.dp * layout.cp, findings);
}

}  // namespace troika::config
