#include "exporters/openmetrics.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "base/version.h"

namespace troika::exporters {

using records::EventKind;
using records::Life;
using Kind = Family::Kind;

namespace {

// Evaluating and saving are places of rank 0 while it trains.
std::string_view state_word(const records::RunReader& run, Life life) {
  const std::map<int, records::Sample> now = records::newest(run);
  if (life != Life::training || now.count(0) == 0) return word_of(life);
  const records::Activity activity = now.at(0).place.at.activity;
  if (activity == records::Activity::evaluating) return "evaluating";
  if (records::is_saving(activity)) return "saving";
  return word_of(life);
}

void add_build(Exposition& to) {
  to.begin({Kind::info, "troika_build", "", "The program that says this."});
  to.info({{"version", base::version}});
}

void add_state(Exposition& to, const records::RunReader& run) {
  if (!run.state()) return;
  const records::RunState& state = *run.state();
  to.begin({Kind::info, "troika_run", "", "What the run is."});
  Labels facts = {{"model", state.model},
                  {"layout", state.layout},
                  {"schedule", state.schedule},
                  {"precision", state.precision},
                  {"device", state.device}};
  if (to.run().empty()) facts.insert(facts.begin(), {"run", state.folder.empty() ? run.folder() : state.folder});
  to.info(facts);
  to.begin({Kind::state_set, "troika_run_state", "", "How far the run's life has come."});
  to.state({"preparing", "training", "evaluating", "saving", "finished", "failed", "stopped"},
           state_word(run, state.life));
  to.begin({Kind::gauge, "troika_ranks", "", "Ranks of the run."});
  to.sample(static_cast<double>(state.ranks.size()));
  to.begin({Kind::counter, "troika_restarts", "", "Attempts of this launch after its first one."});
  to.sample(state.attempt);
  to.begin({Kind::gauge, "troika_attempt_start_timestamp_seconds", "seconds", "When the attempt began."});
  to.sample(state.began);
  to.begin({Kind::gauge, "troika_target_steps", "", "Steps of the whole run."});
  if (state.steps > 0) to.sample(static_cast<double>(state.steps));
}

const double* extra_of(const metrics::StepMetrics& row, const char* name) {
  const auto found = row.extra.find(name);
  return found == row.extra.end() ? nullptr : &found->second;
}

// The newest row that has it.
const double* newest_extra(const records::RunReader& run, const char* name) {
  for (auto row = run.steps().rbegin(); row != run.steps().rend(); ++row)
    if (const double* value = extra_of(*row, name)) return value;
  return nullptr;
}

std::map<std::string, double> newest_losses_of_sources(const records::RunReader& run) {
  const std::string prefix = "valid_loss/";
  std::map<std::string, double> losses;
  for (auto row = run.steps().rbegin(); row != run.steps().rend() && losses.empty(); ++row)
    for (auto value = row->extra.lower_bound(prefix);
         value != row->extra.end() && value->first.compare(0, prefix.size(), prefix) == 0; ++value)
      losses[value->first.substr(prefix.size())] = value->second;
  return losses;
}

void add_steps(Exposition& to, const records::RunReader& run, const StepSeconds& seconds, const Moment& moment) {
  if (run.steps().empty()) return;
  const metrics::StepMetrics& row = run.steps().back();
  const auto gauge = [&](std::string_view name, std::string_view unit, std::string_view help, double value) {
    to.begin({Kind::gauge, name, unit, help});
    to.sample(value);
  };
  const auto extra = [&](Kind kind, std::string_view name, std::string_view help, const double* value) {
    to.begin({kind, name, "", help});
    if (value != nullptr) to.sample(*value);
  };
  gauge("troika_step", "", "The last step done.", static_cast<double>(row.step));
  gauge("troika_loss", "", "Mean loss over the loss tokens of the last step.", row.loss);
  extra(Kind::gauge, "troika_valid_loss", "Loss of the last evaluation.", newest_extra(run, "valid_loss"));
  to.begin({Kind::gauge, "troika_valid_source_loss", "", "Loss of the last evaluation, of each source of several."});
  for (const auto& [source, loss] : newest_losses_of_sources(run)) to.sample(loss, {{"source", source}});
  gauge("troika_grad_norm", "", "Norm of the last step's gradients before clipping.", row.grad_norm);
  gauge("troika_learning_rate", "", "Learning rate of the last step.", row.lr);
  to.begin({Kind::counter, "troika_tokens", "", "Loss tokens since the first step."});
  to.sample(static_cast<double>(row.tokens_total));
  gauge("troika_tokens_per_second", "", "Loss tokens of the last step by its time.", row.tokens_per_second);
  if (run.state() && run.state()->flops_per_step > 0 && row.step_seconds > 0)
    gauge("troika_model_flops_per_second", "",
          "Operations of the model, without what is computed again, by the last step's time.",
          run.state()->flops_per_step / row.step_seconds);
  to.begin({Kind::histogram, "troika_step_seconds", "seconds", "Time of steps."});
  to.histogram(StepSeconds::bounds(), seconds.counts(), seconds.sum());
  gauge("troika_peak_memory_bytes", "bytes", "The most that any rank has held of tensors at once.",
        static_cast<double>(row.memory_bytes));
  extra(Kind::gauge, "troika_loss_scale", "Loss scale of the last step.", extra_of(row, "loss_scale"));
  extra(Kind::counter, "troika_skipped_steps", "Steps without an update, as gradients were not finite.",
        extra_of(row, "skipped_steps"));
  extra(Kind::counter, "troika_repeated_steps", "Steps that ran twice.", extra_of(row, "steps_repeated"));
  if (moment.last_row > 0)
    gauge("troika_last_step_timestamp_seconds", "seconds", "When the last step was written.", moment.last_row);
}

void add_saves(Exposition& to, const records::RunReader& run) {
  const records::Event* last = nullptr;
  double failed = 0;
  for (const records::Event& event : run.events()) {
    if (event.kind == EventKind::save) last = &event;
    if (event.kind == EventKind::save_failed) ++failed;
  }
  to.begin({Kind::counter, "troika_failed_saves", "", "Checkpoints that could not be written."});
  if (last != nullptr || failed > 0) to.sample(failed);
  if (last == nullptr) return;
  to.begin(
      {Kind::gauge, "troika_last_checkpoint_timestamp_seconds", "seconds", "When the last checkpoint was complete."});
  to.sample(last->time);
  to.begin({Kind::gauge, "troika_checkpoint_seconds", "seconds", "How long writing the last checkpoint took."});
  if (const double seconds = last->number("seconds", -1); seconds >= 0) to.sample(seconds);
}

void add_run(Exposition& to, const records::RunReader& run, const StepSeconds& seconds, const Moment& moment) {
  add_state(to, run);
  add_steps(to, run, seconds, moment);
  add_saves(to, run);
  add_rank_families(to, run, moment.now);
}

}  // namespace

const std::vector<double>& StepSeconds::bounds() {
  static const std::vector<double> bounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                             5,     10,   25,    50,   100, 250,  500, 1000};
  return bounds;
}

void StepSeconds::follow(const records::RunReader& run) {
  if (run.steps().empty()) return;
  if (run.steps().back().step < last_step_) last_step_ = run.steps().back().step;  // the run has gone back
  const auto first =
      std::upper_bound(run.steps().begin(), run.steps().end(), last_step_,
                       [](std::int64_t step, const metrics::StepMetrics& row) { return step < row.step; });
  for (auto row = first; row != run.steps().end(); ++row) {
    last_step_ = row->step;
    if (!std::isfinite(row->step_seconds)) continue;
    const auto bucket = std::lower_bound(bounds().begin(), bounds().end(), row->step_seconds) - bounds().begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += row->step_seconds;
  }
}

Moment moment_of(const std::string& run_folder) {
  Moment moment;
  moment.now = base::wall_seconds();
  struct stat facts {};
  if (::stat((run_folder + "/metrics.jsonl").c_str(), &facts) == 0)
    moment.last_row = static_cast<double>(facts.st_mtim.tv_sec) + 1e-9 * static_cast<double>(facts.st_mtim.tv_nsec);
  return moment;
}

std::string openmetrics(const records::RunReader& run, const StepSeconds& seconds, const Moment& moment,
                        TextFormat format) {
  Exposition to(format);
  add_build(to);
  add_run(to, run, seconds, moment);
  return to.text();
}

std::string openmetrics(const std::vector<NamedRun>& runs, TextFormat format) {
  Exposition to(format);
  add_build(to);
  for (const NamedRun& one : runs) {
    to.of_run(one.name);
    add_run(to, one.run, one.seconds, one.moment);
  }
  return to.text();
}

// Enough rows that those between two scrapes are all seen, few enough that a run of a million steps fits.
static constexpr records::Kept kept{20000, 2, 20000};

struct MetricsServer::Impl {
  explicit Impl(const std::string& run_folder) : run(run_folder, kept) {}

  http::Response answer(const http::Request& request) {
    if (request.path != "/metrics") return http::plain_text(404, "the metrics are at /metrics\n");
    if (request.method != http::Method::get) {
      http::Response refusal = http::plain_text(405, "the metrics are read by GET\n");
      refusal.headers.push_back({"allow", "GET"});
      return refusal;
    }
    run.refresh();
    seconds.follow(run);
    const TextFormat format = format_for(request.header("accept"));
    return {200,
            {{"content-type", std::string(content_type_of(format))}},
            openmetrics(run, seconds, moment_of(run.folder()), format)};
  }

  records::RunReader run;
  StepSeconds seconds;
  std::unique_ptr<http::Server> server;  // last: its thread uses the members above
};

MetricsServer::MetricsServer(const std::string& run_folder, const http::ServerOptions& options)
    : impl_(std::make_unique<Impl>(run_folder)) {
  impl_->server = std::make_unique<http::Server>(
      options, [impl = impl_.get()](const http::Request& request) { return impl->answer(request); });
}

MetricsServer::~MetricsServer() = default;

std::string MetricsServer::url() const { return impl_->server->url() + "/metrics"; }

}  // namespace troika::exporters
