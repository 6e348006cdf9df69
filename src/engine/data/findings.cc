#include "data/findings.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::data {
namespace {

base::Text answers(std::int64_t count) {
  return base::say(count == 1 ? base::Phrase("{} answer") : base::Phrase("{} answers"), count);
}

base::Text records_of(std::int64_t count) {
  return base::say(count == 1 ? base::Phrase("{} record") : base::Phrase("{} records"), count);
}

base::Text left_out_part(const std::string& what, std::int64_t count) {
  if (what == "tools") return base::say("the tools of {}", records_of(count));
  if (what == "tool_calls") return base::say("the tool calls of {}", answers(count));
  if (what == "reasoning_content") return base::say("the reasoning_content of {}", answers(count));
  return base::say("messages of the role '{1}' in {0}", records_of(count), what);
}

}  // namespace

void Findings::add(const std::string& name, const std::string& about, std::int64_t count) {
  counts_[about.empty() ? name : name + " " + about] += count;
}

void Findings::add(const Findings& more) {
  for (const auto& [name, count] : more.counts_) counts_[name] += count;
}

std::string Findings::to_text() const {
  return nlohmann::json(counts_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Findings Findings::from_text(std::string_view text) {
  Findings findings;
  const nlohmann::json counts = base::parse_json(text, "findings");
  for (const auto& [name, count] : counts.items()) findings.counts_[name] = base::json_int(counts, name, "findings");
  return findings;
}

std::int64_t Findings::count(const std::string& name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

std::map<std::string, std::int64_t> Findings::about(const std::string& name) const {
  std::map<std::string, std::int64_t> found;
  for (const auto& [key, count] : counts_)
    if (key.rfind(name + " ", 0) == 0) found[key.substr(name.size() + 1)] = count;
  return found;
}

std::vector<base::Text> Findings::report(const std::string& name, config::ControlTokens control_tokens) const {
  std::vector<base::Text> lines;
  std::vector<base::Text> keys;
  std::int64_t without_loss = 0;
  for (const auto& [key, times] : about(masked)) {
    keys.push_back(base::say("{} by '{}'", times, key));
    without_loss += times;
  }
  if (!keys.empty()) lines.push_back(base::say("note: no loss on {0} of '{1}', as set by keys of the records: {2}", answers(without_loss), name, base::join(keys, ", ", "、")));
  for (const auto& [kind, line] : {std::pair{empty, base::Phrase("note: no loss on {0} of '{1}': neither text nor tool call")}, {emptied, base::Phrase("note: no loss on {0} of '{1}': the chat template leaves only the end token")}, {unthought, base::Phrase("note: the thinking is omitted from {0} of '{1}', because data.thinking is false")}})
    if (const std::int64_t found = count(kind); found > 0) lines.push_back(base::say(line, answers(found), name));
  std::vector<base::Text> parts;
  for (const auto& [what, found] : about(left_out)) parts.push_back(left_out_part(what, found));
  if (!parts.empty()) lines.push_back(base::say("note: the chat template omits from '{0}': {1}; --data.chat-template selects another one", name, base::join(parts, ", ", "、")));
  if (const std::int64_t found = count(with_control); found > 0) {
    std::vector<base::Text> tokens;
    for (const auto& [token, times] : about(control))
      tokens.push_back(base::say("{0} {1}", base::printable(token, 40), times));
    if (tokens.size() > 5) {
      tokens.resize(5);
      tokens.push_back(base::verbatim("..."));
    }
    lines.push_back(base::say(control_tokens == config::ControlTokens::text ? base::Phrase("note: control tokens in the message text of {0} of '{1}' ({2}) are spelled out as text") : base::Phrase("note: control tokens in the message text of {0} of '{1}' ({2}) are treated as tokens; --data.control-tokens text spells them out, refuse names the record"),
                              records_of(found), name, base::join(tokens, ", ", "、")));
  }
  return lines;
}

}  // namespace troika::data
