#include "planner/plan_arguments.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "host/subprocess.h"
#include "machine/rates.h"
#include "planner/reasons.h"
#include "shape/layout.h"

namespace troika::planner {
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

// Sentences behind a title, which stands before the first.
std::string lines(base::Phrase title, const std::vector<base::Text>& sentences, base::Language language) {
  std::string text;
  for (const base::Text& sentence : sentences)
    text += fmt::format("{:<8}{}\n", text.empty() ? title.in(language) : "", sentence.in(language));
  return text;
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
  text += line(base::Phrase("batch"), base::say("{} of {}: {} positions per step, the same in every layout", base::counted_text(q.global, "sequence"), q.settings.batch.seq_len,
                                  base::format_count(q.global * q.settings.batch.seq_len)));
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
