#include "diagnosis/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"
#include "records/old_sentences.h"

namespace troika::diagnosis {
using config::Settings;

namespace {

constexpr std::size_t most_advice = 3;

AdviceList first_of(AdviceList all) {
  if (all.size() > most_advice) all.resize(most_advice);
  return all;
}

// How often a step's parameters lie on other ranks too.
std::int64_t replicas_of(const Facts& facts) {
  const config::ParallelSettings& p = settings_or_usual(facts).parallel;
  const std::int64_t dp = p.dp > 0 ? p.dp : std::max<std::int64_t>(facts.ranks / (p.pp * p.tp * p.cp), 1);
  return dp * p.cp;
}

// That what was told names; -1: none.
int port_in(const Facts& facts) {
  for (const Told& told : facts.told)
    if (const int port = records::port_in(told.text); port > 0) return port;
  return -1;
}

bool is_one_of(const std::vector<std::string_view>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Where the settings are not known because the run ended before it wrote them.
std::int64_t sequence_length_in(const Facts& facts) {
  for (const Told& told : facts.told)
    if (const std::int64_t ids = records::ids_in(told.text); ids > 0) return ids;
  return 0;
}

}  // namespace

std::string number(double value) { return base::format_digits(value, 3); }

std::string setting_flag(std::string_view key, std::string_view value) {
  const config::Field& field = config::field_of(key);
  const std::string name =
      field.flags.empty() ? field.flag() : fmt::format("--{}", config::normalised(field.flags.front()));
  return fmt::format("{} {}", name, value);
}

Advice set(std::string_view key, std::string_view value, const Text& reason) {
  return {verbatim(setting_flag(key, value)), reason};
}
Advice launch(LaunchFlag flag, std::string_view value, const Text& reason) {
  return {verbatim(fmt::format("--{} {}", words_of(flag).at(static_cast<std::size_t>(flag)), value)), reason};
}
Advice command(std::string_view words, const Text& reason) { return {verbatim(std::string(words)), reason}; }

AdviceList flags_named_in(const std::string& text) {
  AdviceList advice;
  std::vector<std::string> words = base::split(text.substr(0, text.find('\n')), ' ');
  for (std::string& word : words)
    while (!word.empty() && std::string_view(",;:.()").find(word.back()) != std::string_view::npos) word.pop_back();
  for (std::size_t i = 0; i + 1 < words.size() && advice.size() < most_advice; ++i) {
    if (words[i].rfind("--", 0) != 0) continue;
    const config::Field* field = config::find_field(words[i].substr(2));
    Settings scratch;
    if (field == nullptr || (field->is_text() && !is_one_of(field->words, words[i + 1]))) continue;
    if (config::set_text(*field, words[i + 1], &scratch)) continue;
    advice.push_back({verbatim(words[i] + " " + words[i + 1]), say("the message names it")});
  }
  return advice;
}

AdviceList less_memory(const Facts& facts) {
  const Settings s = settings_or_usual(facts);
  AdviceList advice;
  if (const std::int64_t micro = s.batch.micro_batch_size.value_or(1); micro > 1)
    advice.push_back(set("batch.micro_batch_size", std::to_string(micro / 2), say("half of the {} sequences per forward need half of the activations; the global batch is unchanged", micro)));
  if (s.parallel.recompute != config::Recompute::full)
    advice.push_back(set("parallel.recompute", "full", say("activations are recomputed in backward instead of kept")));
  if (const std::int64_t replicas = replicas_of(facts); replicas > 1 && s.parallel.zero < 3)
    advice.push_back(set("parallel.zero", std::to_string(s.parallel.zero + 1), say("one more kind of state is sharded over the {} ranks with the same parameters", replicas)));
  if (s.parallel.offload == config::Offload::none)
    advice.push_back(set("parallel.offload", "file", say("optimizer state is kept in files between steps")));
  if (s.batch.seq_len > 128)
    advice.push_back(
        set("batch.seq_len", std::to_string(s.batch.seq_len / 2), say("sequences shorter than {} tokens need less memory", s.batch.seq_len)));
  return first_of(std::move(advice));
}

AdviceList more_tokens_with_loss(const Facts& facts) {
  const Settings s = settings_or_usual(facts);
  const std::int64_t told = sequence_length_in(facts), length = told > 0 ? told : s.batch.seq_len;
  AdviceList advice = {set("batch.seq_len", std::to_string(2 * length), say("answers beyond the first {} tokens are cut off", length))};
  if (s.data.chat_template != "chatml")
    advice.push_back(set("data.chat_template", "chatml", say("the template {} may not mark the answers of these conversations", s.data.chat_template)));
  if (s.data.loss_on != config::LossOn::all) advice.push_back(set("data.loss_on", "all", say("prompts carry loss too, which shows whether the template marks the answers")));
  advice.push_back(command("troika data inspect", say("it shows samples as the run sees them, with the tokens that carry loss")));
  return first_of(std::move(advice));
}

Advice lower_rate(const Facts& facts) {
  const double lr = settings_or_usual(facts).optimizer.lr, usual = config::OptimizerSettings{}.lr;
  if (lr > 10 * usual) return set("optimizer.lr", number(usual), say("{} is far above usual learning rates", number(lr)));
  return set("optimizer.lr", number(lr / 2), say("half of {}", number(lr)));
}

Advice longer_warmup(const Facts& facts) {
  const Settings s = settings_or_usual(facts);
  const std::int64_t steps = std::max<std::int64_t>(s.train.steps, facts.state ? facts.state->steps : 0);
  std::int64_t warmup = std::max<std::int64_t>({2 * s.optimizer.warmup_steps, steps / 10, 10});
  if (steps > 0) warmup = std::min(warmup, steps);
  return set("optimizer.warmup_steps", std::to_string(warmup),
             say("the learning rate rises more slowly than over {}", base::counted_text(s.optimizer.warmup_steps, "step")));
}

AdviceList gentler_steps(const Facts& facts) {
  const double clip = settings_or_usual(facts).optimizer.clip_norm;
  const double tighter = clip <= 0 || clip > 1 ? 1 : clip / 2;
  return {lower_rate(facts), longer_warmup(facts),
          set("optimizer.clip_norm", number(tighter),
              clip <= 0 ? say("gradients are currently not clipped") : say("gradients are currently clipped at {}", number(clip)))};
}

// Below the range that Linux hands out itself.
Advice free_port(const Facts& facts) {
  constexpr int usual = 29500, first_handed_out = 32768, apart = 100;
  const int taken = port_in(facts);
  const int port = taken < 1024 || taken + apart >= first_handed_out ? usual + 10 * apart / 2 : taken + apart;
  return launch(LaunchFlag::master_port, std::to_string(port), say("a port that no other program uses, the same on all hosts"));
}

Advice ranks_of_one_thread(int ranks, const Text& reason) {
  const Advice fewer = launch(LaunchFlag::nproc_per_node, std::to_string(ranks), reason);
  return command(fmt::format("{} {}", fewer.flag.english, setting_flag("train.threads", "1")), reason);
}

Advice open_ports(const Facts& facts) {
  const int port = port_in(facts);
  return {say("open TCP ports {} and 32768-60999 between the hosts", port > 0 ? std::to_string(port) : "--master-port"), say("ranks also listen on ports that the system picks from net.ipv4.ip_local_port_range; --join-timeout does not open them")};
}

Advice other_disk() { return {say("--out on another disk"), say("a local disk with room for checkpoint.keep + 2 checkpoints")}; }

AdviceList roomier_disk(const Facts& facts) {
  const Settings s = settings_or_usual(facts);
  AdviceList advice;
  if (s.checkpoint.keep > 1) advice.push_back(set("checkpoint.keep", "1", say("fewer than {} complete checkpoints are kept", s.checkpoint.keep)));
  if (s.checkpoint.keep_best && (!s.data.valid.empty() || s.data.valid_share > 0))
    advice.push_back(set("checkpoint.keep_best", "false", say("the best checkpoint is not kept beside the newest")));
  advice.push_back(other_disk());
  advice.push_back(same_again(facts));
  return first_of(std::move(advice));
}

Advice master_address_as_number() { return {say("--master-addr as an IP address, such as 10.0.0.1"), say("an IP address needs no name service and is the same on every host")}; }
Advice run_doctor() { return command("troika doctor", say("it checks names, ports, MTU and versions between the hosts, and names the host and the fix")); }
Advice same_again(const Facts& facts) {
  return {say("rerun the same command"),
          say(facts.complete_saves.empty() ? base::Phrase("it starts over: no checkpoint is complete yet") : base::Phrase("it resumes from the newest complete checkpoint"))};
}

}  // namespace troika::diagnosis
