#include "commands/entry_points.h"

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "data/opened_samples.h"
#include "data/source_shape.h"
#include "tokenizer/tokenizer.h"
#include "train/run_start.h"
#include "planner/plan_arguments.h"
#include "planner/reasons.h"

namespace troika::commands {

namespace {

double tokens_of_run(const planner::PlanArguments& a, const planner::Question& q, const planner::Estimate& best) {
  if (!a.tokens.empty()) return planner::token_count(a.tokens);
  return a.parsed.states("train.steps") ? static_cast<double>(q.settings.train.steps * best.tokens) : 0;
}

constexpr std::int64_t most_read_bytes = 64 << 20;  // of records, which are tokenized in some seconds

// Opens conversations as train does, into its cache. Text fills every sample.
void open_samples(planner::Question* q) {
  const config::Settings& s = q->settings;
  const auto tokenizer = tokenizer::open_tokenizer(s.data.tokenizer);
  const std::string cache = s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
  const data::OpenedSamples opened = data::open_samples(
      {s.data.train, cache, s.batch.seq_len, s.model.vocab, data::Reading::training, s.train.seed}, s.data, *tokenizer, {});
  planner::know_data(q, train::data_of(opened.samples, opened.vocab, s).facts);
}

// What the plan knows of the lengths of samples; nothing without data.
base::Text know_samples(planner::Question* q) {
  const std::string& stated = q->settings.data.train;
  if (stated.empty()) return {};
  try {
    const std::int64_t bytes = data::record_bytes(stated, q->settings.data);
    if (bytes == 0) return {};
    if (bytes > most_read_bytes)
      return base::say("every sample counts as full: {} of data are not read for a plan", base::format_bytes(bytes));
    open_samples(q);
    return {};
  } catch (const base::DataError& error) {
    return base::say("every sample counts as full: {}", base::text_of(error));
  }
}

}  // namespace

std::string plan_report(const Call& call) {
  const planner::PlanArguments a = planner::parse_plan(call.words, call.environment);
  planner::Question question = planner::question_of(a, call.environment, tokenizer::vocabulary_of);
  question.data_note = know_samples(&question);
  const planner::Answer answer = planner::search(question);
  if (answer.best.empty()) throw base::ConfigError(planner::nothing_fits(question, answer));
  const planner::Layout& best = answer.best.front().layout;
  if (!a.write.empty()) base::write_file_atomic(a.write, config::to_yaml(with_layout(question.settings, best)));
  if (a.json) return planner::plan_json(question, answer, call.language);
  return planner::plan_text(question, answer, tokens_of_run(a, question, answer.best.front()), planner::start_command(a, question, best), call.language);
}

}  // namespace troika::commands
