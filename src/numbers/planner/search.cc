#include "planner/search.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "host/cores.h"
#include "planner/bound.h"

namespace troika::planner {
namespace {

constexpr std::int64_t largest_micro = 64;
constexpr int most_virtual_stages = 8;

std::vector<int> divisors_of(std::int64_t number, std::int64_t most) {
  std::vector<int> divisors;
  for (std::int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) divisors.push_back(static_cast<int>(d));
  }
  return divisors;
}

template <class T>
std::vector<T> choices(const std::optional<T>& fixed, std::vector<T> all) {
  return fixed ? std::vector<T>{*fixed} : all;
}

template <class T>
bool allows(const std::optional<T>& fixed, T value) {
  return !fixed || *fixed == value;
}

bool supports(const machine::Placement& placement, config::Precision precision) {
  for (int host = 0, rank = 0; host < placement.hosts(); rank += placement.ranks_on(host), ++host) {
    if (placement.rates_of(rank).products(precision).flops_per_second == 0) return false;
  }
  return true;
}

// Halves in one kind, bf16 where there are units for it, and only where they are faster: they change the result.
std::vector<config::Precision> precisions(const Question& q, const machine::Placement& placement) {
  constexpr double faster = 1.05;
  if (q.fixed.precision) return {*q.fixed.precision};
  const machine::Rates rates = placement.rates_of(0);
  std::vector<config::Precision> all;
  for (const auto half : {config::Precision::bf16, config::Precision::fp16}) {
    const bool gains = rates.products(half).flops_per_second > faster * rates.fp32.flops_per_second;
    if (all.empty() && gains && supports(placement, half)) all.push_back(half);
  }
  all.push_back(config::Precision::fp32);
  return all;
}

// The sequences of a microbatch: those that load all ranks alike, unless what is stated does not.
std::vector<std::int64_t> micro_choices(const Question& q, std::int64_t dp) {
  if (q.settings.batch.tokens_per_microbatch) return {1};
  if (q.fixed.micro) return {*q.fixed.micro};
  std::vector<std::int64_t> choices;
  for (std::int64_t micro = 1; micro <= std::min(largest_micro, config::divide_up(q.global, dp)); ++micro)
    if (q.global % dp != 0 || q.global / dp % micro == 0) choices.push_back(micro);
  return choices;
}

// Visits layouts in such an order that the simpler of two that take equally long comes first.
template <class Visit>
void each_layout(const Question& q, const machine::Placement& placement, Visit visit) {
  using config::Offload, config::Recompute, config::Schedule;
  const config::Settings& s = q.settings;
  const auto precision_choices = precisions(q, placement);
  const auto recompute_choices = choices(q.fixed.recompute, {Recompute::none, Recompute::selective, Recompute::full});
  const auto offload_choices = choices(q.fixed.offload, {Offload::none, Offload::host});
  Layout l;
  l.global = q.global;
  l.tokens = s.batch.tokens_per_microbatch.value_or(0);
  const auto vary_memory = [&] {
    for (const auto precision : precision_choices) {
      for (const auto recompute : recompute_choices) {
        for (const auto offload : offload_choices) {
          l.precision = precision;
          l.recompute = recompute;
          l.offload = offload;
          visit(l);
        }
      }
    }
  };
  const auto vary_schedule = [&] {
    for (const int zero : {0, 1, 2, 3}) {
      if (!allows(q.fixed.zero, zero) || (zero > 0 && l.replicas() == 1 && !q.fixed.zero)) continue;
      l.zero = zero;
      for (const auto schedule : {Schedule::one_f_one_b, Schedule::zb_h1, Schedule::interleaved, Schedule::gpipe}) {
        if (!allows(q.fixed.schedule, schedule)) continue;
        if (l.pp == 1 && schedule != Schedule::one_f_one_b && !q.fixed.schedule) continue;
        l.schedule = schedule;
        const bool several = schedule == Schedule::interleaved;
        for (int v = several ? 2 : 1; v <= (several ? most_virtual_stages : 1); ++v) {
          if (!allows(q.fixed.virtual_stages, v) || static_cast<std::int64_t>(l.pp) * v > s.model.layers) continue;
          l.virtual_stages = v;
          vary_memory();
        }
      }
    }
  };
  for (const int tp : divisors_of(q.world, s.model.heads)) {
    if (!allows(q.fixed.tp, tp)) continue;
    for (const int cp : divisors_of(q.world / tp, s.batch.seq_len / 2)) {
      if (!allows(q.fixed.cp, cp)) continue;
      for (const int pp : divisors_of(q.world / tp / cp, s.model.layers)) {
        if (!allows(q.fixed.pp, pp)) continue;
        const int dp = q.world / tp / cp / pp;
        if (q.fixed.dp ? *q.fixed.dp != dp : q.global % dp != 0) continue;
        l.dp = dp;
        l.pp = pp;
        l.tp = tp;
        l.cp = cp;
        for (const std::int64_t micro : micro_choices(q, dp)) {
          l.micro = micro;
          vary_schedule();
        }
      }
    }
  }
}

plan::DataFacts facts_of(const Question& q) {
  plan::DataFacts data = q.data;
  data.vocab = q.settings.model.vocab;
  if (data.samples == 0) data.samples = std::numeric_limits<std::int32_t>::max();
  return data;
}

// Threads: any.
class RememberedSizes {
 public:
  explicit RememberedSizes(plan::SizesOf sizes) : sizes_(std::move(sizes)) {}

  shape::MicrobatchSizes of(const config::Batch& batch, int cp, std::int64_t steps) {
    steps = std::clamp<std::int64_t>(most_planned / batch.global, 1, steps);
    const std::lock_guard lock(mutex_);
    const Key key{batch.micro, batch.tokens_per_microbatch, batch.global, cp, steps};
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : known_.emplace(key, sizes_(batch, cp, steps)).first->second;
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, int, std::int64_t>;
  const plan::SizesOf sizes_;
  std::mutex mutex_;
  std::map<Key, shape::MicrobatchSizes> known_;
};

// Calls work(0), ..., work(count - 1), on as many threads as there are cores. It must not throw.
template <class Work>
void on_all_cores(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  try {
    for (std::size_t cores = static_cast<std::size_t>(host::usable_cores()); threads.size() + 1 < std::min(cores, count);)
      threads.emplace_back(take);
  } catch (const std::system_error&) {  // the system gives no more
  }
  take();
  for (std::thread& thread : threads) thread.join();
}

class Searcher {
 public:
  explicit Searcher(const Question& question)
      : q_(question),
        placement_(question.cluster, question.world, question.ranks_per_host),
        bounds_(q_.settings, facts_of(q_), placement_) {
    bool shared = false;
    for (int host = 0; host < placement_.hosts(); ++host)
      shared = shared || placement_.at_once(host) < placement_.ranks_on(host);
    pipelines_ = placement_.uniform() && !shared ? Pipelines::one : Pipelines::whole;
  }

  Answer best() {
    Answer answer;
    collect(answer);
    const base::Text refusal = try_all(answer);
    finish(answer, refusal);
    return answer;
  }

  std::vector<Estimate> all() {
    Answer answer;
    collect(answer);
    top_ = candidates_.size();
    try_all(answer);
    return std::move(answer.best);
  }

  // Bounds leave little out: of some that need least one fits, or none of all.
  std::optional<Layout> leanest() {
    constexpr std::size_t most_tried = 8;
    Answer answer;
    std::vector<std::pair<std::int64_t, Layout>> lean;
    each_layout(q_, placement_, [&](const Layout& layout) {
      const std::int64_t need = bounds_.memory_bytes(layout);
      if (need <= bounds_.available_bytes()) lean.emplace_back(need, layout);
    });
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(lean.begin(), lean.end(), less);
    for (std::size_t i = 0; i < std::min(lean.size(), most_tried); ++i) {
      try {
        if (need_of(column_of(lean[i].second), placement_).fits()) return lean[i].second;
      } catch (const base::ConfigError&) {  // not allowed after all
      }
    }
    return std::nullopt;
  }

  std::optional<Estimate> one(const Layout& layout) {
    try {
      const Column column = column_of(layout);
      return estimate(column, placement_, need_of(column, placement_));
    } catch (const base::ConfigError&) {
      return std::nullopt;
    }
  }

 private:
  struct Candidate {
    Layout layout;
    double bound = 0;
    std::int64_t number = 0;
  };

  // The search of one tensor-parallel size.
  struct Part {
    int tp = 1;
    std::vector<Candidate> candidates;
    Answer counts;
    std::exception_ptr failed;
  };

  // The results of following and simulating a layout, independent of the other layouts.
  struct Tried {
    base::Text refusal;              // the settings do not allow it
    std::exception_ptr failed;       // otherwise
    std::optional<Need> need;        // of its ends alone where these do not fit or it is too slow
    std::optional<Estimate> found;   // nothing: too large or too slow
    bool simulated = false;
  };

  // The layouts of each tensor-parallel size with bounds of their own, which remember what they have computed.
  void collect(Answer& answer) {
    std::vector<Part> parts;
    for (const int tp : divisors_of(q_.world, q_.settings.model.heads))
      if (allows(q_.fixed.tp, tp)) parts.push_back({tp, {}, {}, {}});
    on_all_cores(parts.size(), [&](std::size_t i) {
      try {
        collect(&parts[i]);
      } catch (...) {
        parts[i].failed = std::current_exception();
      }
    });
    for (Part& part : parts) {
      if (part.failed) std::rethrow_exception(part.failed);
      for (Candidate& candidate : part.candidates) candidate.number += answer.considered;
      candidates_.insert(candidates_.end(), part.candidates.begin(), part.candidates.end());
      answer.considered += part.counts.considered;
      if (part.counts.nearest) {
        answer.too_large += part.counts.too_large - 1;  // leave_out counts the nearest
        leave_out(part.counts.nearest->layout, part.counts.nearest->need_bytes, part.counts.nearest->have_bytes, answer);
      }
    }
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.bound, a.number) < std::pair(b.bound, b.number);
    });
  }

  void collect(Part* part) const {
    Question q = q_;
    q.fixed.tp = part->tp;
    Bounds bounds(q_.settings, facts_of(q_), placement_);
    each_layout(q, placement_, [&](const Layout& layout) {
      ++part->counts.considered;
      const std::int64_t need = bounds.memory_bytes(layout);
      if (need > bounds.available_bytes()) return leave_out(layout, need, bounds.available_bytes(), part->counts);
      part->candidates.push_back({layout, bounds.step_seconds(layout), part->counts.considered});
    });
  }

  static void leave_out(const Layout& layout, std::int64_t need, std::int64_t have, Answer& answer) {
    ++answer.too_large;
    const auto lack = need - have;
    if (!answer.nearest || lack < answer.nearest->need_bytes - answer.nearest->have_bytes)
      answer.nearest = Nearest{layout, need, have};
  }

  // Only faster layouts are listed.
  double slowest_wanted(const Answer& answer) const {
    return answer.best.size() < top_ ? std::numeric_limits<double>::infinity() : answer.best[top_ - 1].time.step;
  }

  Column column_of(const Layout& layout) const {
    config::Resolved resolved = config::resolve(with_layout(q_.settings, layout), q_.world);
    resolved.ranks_per_host = placement_.ranks_on(0);
    resolved.row_unit = placement_.kind_of_rank(0).computes_on_cores() ? 1 : shape::gpu_row_unit;
    plan::Job job = plan::training_job(resolved, facts_of(q_));
    return make_column(std::move(job), stages_of(layout, job), pipelines_);
  }

  plan::Stages stages_of(const Layout& layout, const plan::Job& job) const {
    const std::lock_guard lock(stages_mutex_);
    auto [stages, is_new] = stages_.try_emplace({layout.pp, layout.virtual_stages});
    if (is_new) stages->second = plan::cut_stages(job);
    return stages->second;
  }

  // State is offloaded where it has to be: beside the same layout without it there is nothing to gain.
  bool offloads_for_nothing(Layout layout) const {
    if (layout.offload == config::Offload::none || q_.fixed.offload) return false;
    layout.offload = config::Offload::none;
    return not_offloaded_.count(name_of(layout)) > 0;
  }

  // The cheapest way to leave a layout out comes first.
  Tried try_one(const Layout& layout, double most_seconds) const {
    Tried tried;
    try {
      const Column column = column_of(layout);
      tried.need = need_of_ends(column, placement_);
      if (!tried.need->fits()) return tried;
      tried.simulated = true;
      tried.found = estimate_within(column, placement_, most_seconds);
      if (!tried.found) return tried;
      tried.need = need_of(column, placement_);
      if (!tried.need->fits()) tried.found.reset();
    } catch (const base::ConfigError& error) {
      tried.refusal = base::text_of(error);
    } catch (...) {
      tried.failed = std::current_exception();
    }
    return tried;
  }

  // In batches of one size on any number of cores, so that the answer is the same on all. Returns the first refusal.
  base::Text try_all(Answer& answer) {
    constexpr std::size_t batch = 32;
    base::Text refusal;
    std::vector<Tried> tried(batch);
    for (std::size_t begin = 0; begin < candidates_.size(); begin += batch) {
      const std::size_t count = std::min(batch, candidates_.size() - begin);
      const double most = slowest_wanted(answer);
      on_all_cores(count, [&](std::size_t i) {
        const Candidate& candidate = candidates_[begin + i];
        const bool wanted = candidate.bound < most && !offloads_for_nothing(candidate.layout);
        tried[i] = wanted ? try_one(candidate.layout, most) : Tried{};
      });
      for (std::size_t i = 0; i < count; ++i) {
        const Candidate& candidate = candidates_[begin + i];
        if (candidate.bound >= slowest_wanted(answer)) return refusal;
        if (!offloads_for_nothing(candidate.layout)) take(candidate.layout, std::move(tried[i]), answer, &refusal);
      }
    }
    return refusal;
  }

  void take(const Layout& layout, Tried tried, Answer& answer, base::Text* refusal) {
    if (tried.failed) std::rethrow_exception(tried.failed);
    ++answer.followed;
    if (tried.simulated) ++answer.simulated;
    if (!tried.refusal.english.empty()) {
      if (refusal->english.empty()) *refusal = std::move(tried.refusal);
      ++refused_;
      return;
    }
    if (tried.need && !tried.need->fits())
      return leave_out(layout, tried.need->memory.total(), tried.need->available_bytes, answer);
    if (layout.offload == config::Offload::none) not_offloaded_.insert(name_of(layout));
    if (!tried.found || tried.found->time.step >= slowest_wanted(answer)) return;
    tried.found->memory = tried.need->memory;
    tried.found->available_bytes = tried.need->available_bytes;
    insert(std::move(*tried.found), answer);
  }

  // Inserts behind equal estimates: the earlier one stays first.
  void insert(Estimate found, Answer& answer) {
    const auto slower = [](const Estimate& a, const Estimate& b) { return a.time.step < b.time.step; };
    answer.best.insert(std::upper_bound(answer.best.begin(), answer.best.end(), found, slower), std::move(found));
  }

  void finish(Answer& answer, const base::Text& refusal) const {
    if (answer.best.size() > top_) answer.best.resize(top_);
    const bool all_refused = refused_ > 0 && refused_ == candidates_.size();
    if (!answer.best.empty() || (answer.too_large > 0 && !all_refused)) return;
    throw base::ConfigError(refusal.english.empty() ? base::say("no layout of the world has the requested sizes: the product of dp, pp, tp and cp must be the number of ranks, and dp must divide the batch") : refusal);
  }

  const Question& q_;
  std::size_t top_ = static_cast<std::size_t>(q_.top);
  const machine::Placement placement_;
  Bounds bounds_;
  Pipelines pipelines_ = Pipelines::one;
  std::vector<Candidate> candidates_;
  std::size_t refused_ = 0;  // of them, by the settings
  mutable std::mutex stages_mutex_;
  mutable std::map<std::pair<int, int>, plan::Stages> stages_;  // by pp and virtual stages
  std::set<std::string> not_offloaded_;  // names of layouts that fit, or are too slow to matter, as they are
};

template <class T>
void state(const std::vector<std::string>& stated, const std::string& key, T value, std::optional<T>* fixed) {
  if (std::find(stated.begin(), stated.end(), key) != stated.end()) *fixed = value;
}

}  // namespace

Fixed fixed_by(const std::vector<std::string>& stated, const config::Settings& settings) {
  const config::ParallelSettings& p = settings.parallel;
  Fixed fixed;
  const auto number = [](std::int64_t value) { return static_cast<int>(value); };
  if (p.dp > 0) state(stated, "parallel.dp", number(p.dp), &fixed.dp);
  state(stated, "parallel.pp", number(p.pp), &fixed.pp);
  state(stated, "parallel.tp", number(p.tp), &fixed.tp);
  state(stated, "parallel.cp", number(p.cp), &fixed.cp);
  state(stated, "parallel.zero", number(p.zero), &fixed.zero);
  state(stated, "parallel.virtual_stages", number(p.virtual_stages), &fixed.virtual_stages);
  state(stated, "parallel.schedule", p.schedule, &fixed.schedule);
  state(stated, "parallel.recompute", p.recompute, &fixed.recompute);
  state(stated, "parallel.offload", p.offload, &fixed.offload);
  state(stated, "precision.compute", settings.precision.compute, &fixed.precision);
  if (fixed.virtual_stages && *fixed.virtual_stages > 1 && !fixed.schedule)
    fixed.schedule = config::Schedule::interleaved;
  if (settings.batch.micro_batch_size)
    state(stated, "batch.micro_batch_size", *settings.batch.micro_batch_size, &fixed.micro);
  return fixed;
}

void know_data(Question* question, const plan::DataFacts& data) {
  question->data = data;
  if (!data.sizes) return;
  question->data.sizes = [remembered = std::make_shared<RememberedSizes>(data.sizes)](const config::Batch& batch, int cp, std::int64_t steps) {
    return remembered->of(batch, cp, steps);
  };
}

Answer search(const Question& question) { return Searcher(question).best(); }

std::optional<Estimate> fastest_that_fits(const Question& question) {
  Question q = question;
  q.top = 1;
  try {
    Answer answer = search(q);
    if (!answer.best.empty()) return std::move(answer.best.front());
  } catch (const base::ConfigError&) {  // the settings allow no layout
  }
  return std::nullopt;
}

std::vector<Estimate> fastest_of_each_depth(const Question& question) {
  Question q = question;
  std::vector<Estimate> all;
  for (const int pp : divisors_of(q.world, q.settings.model.layers)) {
    if (!allows(question.fixed.pp, pp)) continue;
    q.fixed.pp = pp;
    if (auto found = fastest_that_fits(q)) all.push_back(std::move(*found));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Estimate& a, const Estimate& b) { return a.time.step < b.time.step; });
  return all;
}

std::vector<Estimate> every_layout_that_fits(const Question& question) { return Searcher(question).all(); }

std::optional<Layout> leanest_that_fits(const Question& question) { return Searcher(question).leanest(); }

std::optional<Estimate> estimate_layout(const Question& question, const Layout& layout) {
  return Searcher(question).one(layout);
}

}  // namespace troika::planner
