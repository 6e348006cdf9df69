#include "train/run_reporter.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/say.h"

namespace troika::train {

RunReporter::RunReporter(const config::Settings& settings, int world_rank, const TrainState& state,
                         const Listeners& listeners)
    : settings_(settings),
      world_rank_(world_rank),
      state_(state),
      to_(listeners),
      metrics_(settings.train.out + "/metrics.jsonl") {}

void RunReporter::begins(std::int64_t steps, double now_seconds) {
  if (!first_rank() || to_.screen == nullptr) return;
  metrics::Progress::Form form;
  form.style = metrics::progress_style(settings_.log.progress, to_.screen);
  form.language = to_.language;
  form.stamps = settings_.log.time_stamps ? metrics::Stamps::time_of_day : metrics::Stamps::none;
  if (to_.records != nullptr) form.keep = [records = to_.records](const std::string& line) { records->told(line); };
  progress_ =
      std::make_unique<metrics::Progress>(to_.screen, std::move(form), state_.progress.step, steps, now_seconds);
}

void RunReporter::ends() {
  if (progress_ != nullptr) progress_->finish();
}

void RunReporter::note(const base::Text& text) {
  if (to_.log != nullptr) to_.log->info(text.english);
  if (!first_rank() || to_.screen == nullptr) return;
  if (progress_ != nullptr) {
    progress_->note(text);
  } else {
    std::fprintf(to_.screen, "%s\n", text.in(to_.language).c_str());
    if (to_.records != nullptr) to_.records->told(text.english);
  }
}

void RunReporter::record(records::EventKind kind, const base::Text& text, const std::map<std::string, double>& numbers,
                         base::Cause cause) {
  if (to_.records != nullptr) to_.records->event(kind, state_.progress.step, text, numbers, cause);
}

void RunReporter::tell(std::int64_t step, records::Activity activity) const {
  if (to_.rank_activity != nullptr) to_.rank_activity->at(step, activity);
}

void RunReporter::tell_saving(records::Activity activity) const {
  if (to_.rank_activity != nullptr) to_.rank_activity->saves(state_.progress.step, activity);
}

void RunReporter::begin_rows_after(std::int64_t step) {
  if (first_rank() && writes()) metrics_.cut_after(step);
  if (to_.rows != nullptr) to_.rows->begin_after(step);
}

void RunReporter::report(const metrics::StepMetrics& row) {
  const base::Text trouble = writes() ? metrics_.append(row) : base::Text{};
  if (!trouble.empty()) note(base::say("note: {}", trouble));
  const base::Text other_trouble = to_.rows != nullptr ? to_.rows->append(row) : base::Text{};
  if (!other_trouble.empty()) note(base::say("note: {}", other_trouble));
  if (progress_ != nullptr)
    progress_->step_done(row.step, row.loss, row.tokens_per_second, base::monotonic_seconds());
}

// The line may hold a bar.
static void show(std::FILE* screen, const std::string& text) {
  const bool terminal = ::isatty(::fileno(screen)) == 1;
  const int width = terminal ? metrics::terminal_width(screen) - 1 : 0;
  std::fprintf(screen, "%s%-*s\n", terminal ? "\r" : "", width, text.c_str());
  std::fflush(screen);
}

RankReporter::RankReporter(const RankContext& context)
    : folder_(context.resolved.settings.train.out.empty() ? "" : context.resolved.settings.train.out + "/logs"),
      rank_(context.identity.world_rank),
      level_(context.resolved.settings.log.level),
      language_(context.language),
      screen_of_notices_(rank_ == 0 ? context.screen : nullptr),
      screen_of_answers_(rank_ == 0 || context.identity.source != rendezvous::Identity::Source::troika_launch
                             ? context.screen
                             : nullptr) {}

// The message matters more than a log that cannot be written.
void RankReporter::say(const base::Text& text, std::FILE* screen) {
  disk_.post([text, screen, folder = folder_, rank = rank_, level = level_, language = language_] {
    if (screen != nullptr) show(screen, text.in(language));
    if (!folder.empty()) metrics::RunLog(folder, rank, level).info(text.english);
  });
}

void RankReporter::log(const std::string& text) { say(base::verbatim(text), nullptr); }

void RankReporter::notice(const base::Text& text) { say(text, screen_of_notices_); }

void RankReporter::answer(const base::Text& text) { say(text, screen_of_answers_); }

}  // namespace troika::train
