#include "commands/entry_points.h"

#include "base/error.h"
#include "base/file.h"
#include "tokenizer/tokenizer.h"
#include "planner/plan_arguments.h"
#include "planner/reasons.h"

namespace troika::commands {

static double tokens_of_run(const planner::PlanArguments& a, const planner::Question& q) {
  if (!a.tokens.empty()) return planner::token_count(a.tokens);
  return a.parsed.states("train.steps")
             ? static_cast<double>(q.settings.train.steps * q.global * q.settings.batch.seq_len)
             : 0;
}

std::string plan_report(const Call& call) {
  const planner::PlanArguments a = planner::parse_plan(call.words, call.environment);
  const planner::Question question = planner::question_of(a, call.environment, tokenizer::vocabulary_of);
  const planner::Answer answer = planner::search(question);
  if (answer.best.empty()) throw base::ConfigError(planner::nothing_fits(question, answer));
  const planner::Layout& best = answer.best.front().layout;
  if (!a.write.empty()) base::write_file_atomic(a.write, config::to_yaml(with_layout(question.settings, best)));
  if (a.json) return planner::plan_json(question, answer, call.language);
  return planner::plan_text(question, answer, tokens_of_run(a, question), planner::start_command(a, question, best), call.language);
}

}  // namespace troika::commands
