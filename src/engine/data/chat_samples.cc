// The part of ChatTemplate that makes training samples.
#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/chat_template.h"

namespace troika::data {
using nlohmann::ordered_json;

// The text up to and with an answer, and where the answer begins and ends in it, in bytes.
struct ChatTemplate::Answer {
  std::string text;
  std::size_t begin = 0, end = 0;
};

static std::tm date_of_samples() {  // the 1st of January 2025, a Wednesday
  std::tm date = {};
  date.tm_year = 125;
  date.tm_mday = 1;
  date.tm_wday = 3;
  return date;
}

// A private character, so that texts differ from their first letter on.
static constexpr const char* unlikely = "\xEE\x80\x80";

static std::size_t common_bytes(const std::string& a, const std::string& b, std::size_t most) {
  std::size_t bytes = 0;
  while (bytes < most && bytes < a.size() && bytes < b.size() && a[bytes] == b[bytes]) ++bytes;
  return bytes;
}

static void to_character_begin(const std::string& text, std::size_t* bytes) {
  while (*bytes > 0 && *bytes < text.size() && (static_cast<unsigned char>(text[*bytes]) & 0xC0) == 0x80) --*bytes;
}

static std::size_t common_end(const std::string& a, const std::string& b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t bytes = 0;
  while (bytes < most && a[a.size() - 1 - bytes] == b[b.size() - 1 - bytes]) ++bytes;
  return bytes;
}

std::size_t ChatTemplate::end_of_question(const std::string& text, ordered_json context, std::size_t question,
                                          End end) const {
  context["messages"][question]["content"] = unlikely;
  try {
    return text.size() - common_end(text, render_context(&context, end, date_of_samples()));
  } catch (const base::DataError&) {  // it asks for a content of another form
    return 0;
  }
}

// Where the answer begins in `text`, which does not begin with its prompt; `other`: the text with another answer.
std::size_t ChatTemplate::begin_beside(const std::string& prompt, const std::string& text, const std::string& other,
                                       ordered_json message, const ordered_json& before) const {
  const std::size_t content = common_bytes(text, other, other.size());
  std::size_t begin = common_bytes(text, prompt, prompt.size());
  if (const std::size_t messages = before["messages"].size(); messages > 0) {
    ordered_json with_answer = before;
    with_answer["messages"].push_back(std::move(message));
    const std::size_t asked = end_of_question(text, std::move(with_answer), messages - 1, End::conversation);
    if (begin < asked) {
      const std::size_t asked_there = end_of_question(prompt, before, messages - 1, End::answer_begins);
      begin = asked + common_bytes(text.substr(asked), prompt.substr(asked_there), prompt.size());
    }
  }
  begin = std::min(begin, content);
  to_character_begin(text, &begin);
  return begin;
}

ChatTemplate::Answer ChatTemplate::take_answer(ordered_json* context) const {
  const std::tm date = date_of_samples();
  ordered_json& shown = (*context)["messages"];
  Answer answer;
  answer.text = render_context(context, End::conversation, date);
  ordered_json message = std::move(shown.back());
  shown.erase(shown.size() - 1);
  const std::string prompt = render_context(context, End::answer_begins, date);
  answer.begin = prompt.size();
  if (!base::begins_with(answer.text, prompt)) {
    shown.push_back({{"role", "assistant"}, {"content", unlikely}});
    const std::string other = render_context(context, End::conversation, date);
    shown.erase(shown.size() - 1);
    answer.begin = begin_beside(prompt, answer.text, other, std::move(message), *context);
  }
  answer.end = std::max(answer.begin, answer.text.find_last_not_of(" \t\r\n\f\v") + 1);
  return answer;
}

static bool is_answer(const ordered_json& message) {
  return message.is_object() && message.contains("role") && message["role"] == "assistant";
}

static std::string trimmed_text(const ordered_json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? base::trim(found->get_ref<const std::string&>()) : "";
}

static bool says_nothing(const ordered_json& message) {
  return trimmed_text(message, "content").empty() && trimmed_text(message, "reasoning_content").empty() &&
         !message.contains("tool_calls");
}

// An assistant's text without its thinking: <think>...</think>, what is before a </think> that nothing opens, where a
// prompt has opened it, and all of a text that only begins to think.
static std::string without_thinking(const std::string& content) {
  static const std::string open = "<think>", close = "</think>", space = " \t\r\n";
  const auto behind = [&](std::size_t end) { return std::min(content.find_first_not_of("\r\n", end), content.size()); };
  std::string kept;
  std::size_t at = 0;
  while (at < content.size()) {
    const std::size_t begin = content.find(open, at), end = content.find(close, at);
    if (end == std::string::npos) {
      const bool leads = begin != std::string::npos && content.find_first_not_of(space, at) == begin && kept.empty();
      return leads ? kept : kept + content.substr(at);
    }
    kept = begin < end ? kept + content.substr(at, begin - at) : "";
    if (base::trim(kept).empty()) kept.clear();
    at = behind(end + close.size());
  }
  return kept;
}

// Messages without what an assistant thought.
static ordered_json without_thinking(ordered_json messages, Findings* findings) {
  for (ordered_json& message : messages) {
    if (!is_answer(message)) continue;
    const ordered_json before = message;
    for (const char* name : {"reasoning_content", "thinking", "reasoning"}) message.erase(name);
    if (message.contains("content") && message["content"].is_string())
      message["content"] = without_thinking(message["content"].get_ref<const std::string&>());
    if (message != before) findings->add(Findings::unthought);
  }
  return messages;
}

// A part that a template leaves out: it gives the same text without it, or with something else in its place.

bool ChatTemplate::is_emptied(const Answer& answer, const ordered_json& message, const ordered_json& context) const {
  const std::string said = answer.text.substr(answer.begin, answer.end - answer.begin);
  const std::string content = trimmed_text(message, "content");
  if (!content.empty() && said.find(content) != std::string::npos) return false;
  ordered_json with_bare = context;
  with_bare["messages"].push_back({{"role", "assistant"}, {"content", ""}});
  try {
    const Answer bare = take_answer(&with_bare);
    return bare.text.substr(bare.begin, bare.end - bare.begin) == said;
  } catch (const base::DataError&) {  // the template refuses an empty one
    return false;
  }
}

void ChatTemplate::find_left_out_of_answer(const Answer& answer, const ordered_json& message,
                                           const ordered_json& context, Findings* findings) const {
  const auto depends_on = [&](std::initializer_list<const char*> names) {
    ordered_json without = message, other = context;
    for (const char* name : names) without.erase(name);
    other["messages"].push_back(std::move(without));
    try {
      return render_context(&other, End::conversation, date_of_samples()) != answer.text;
    } catch (const base::DataError&) {  // it asks for it
      return true;
    }
  };
  if (message.contains("tool_calls") && !depends_on({"tool_calls"})) findings->add(Findings::left_out, "tool_calls");
  const bool reasons = !trimmed_text(message, "reasoning_content").empty();
  if (reasons && !depends_on({"reasoning_content", "thinking", "reasoning"}))
    findings->add(Findings::left_out, "reasoning_content");
}

// Looks for the tools and for messages that are not answers: for a long text itself, for others by their placeholders
// in a second rendering.
void ChatTemplate::find_left_out(const std::string& text, const ordered_json& context, Findings* findings) const {
  static constexpr std::size_t long_text = 16;
  ordered_json other = context;
  std::vector<std::pair<std::string, std::string>> looked_for;  // role, and the placeholder of the content
  for (ordered_json& message : other["messages"]) {
    const std::string content = trimmed_text(message, "content");
    if (is_answer(message) || content.empty()) continue;
    if (content.size() >= long_text && text.find(content) != std::string::npos) continue;
    looked_for.emplace_back(message["role"].get<std::string>(),
                            unlikely + std::to_string(looked_for.size()) + unlikely);
    message["content"] = looked_for.back().second;
  }
  std::set<std::string> left_out;
  try {
    const std::string shown = looked_for.empty() ? "" : render_context(&other, End::conversation, date_of_samples());
    for (const auto& [role, content] : looked_for)
      if (shown.find(content) == std::string::npos) left_out.insert(role);
    if (!context["tools"].is_null()) {
      other = context;
      other["tools"] = ordered_json();
      if (render_context(&other, End::conversation, date_of_samples()) == text) left_out.insert("tools");
    }
  } catch (const base::DataError&) {  // it asks for what it has
  }
  for (const std::string& what : left_out) findings->add(Findings::left_out, what);
}

namespace {

// A text with the answers that it shows as they were, from back to front.
struct Sample {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> answers;
};

}  // namespace

// To a sample that shows it as it is, or one of its own.
static void add_answer(std::string text, std::size_t begin, std::size_t end, std::vector<Sample>* samples) {
  const std::string shown = text.substr(0, end);
  const auto host = std::find_if(samples->rbegin(), samples->rend(),
                                 [&](const Sample& sample) { return base::begins_with(sample.text, shown); });
  Sample& sample = host != samples->rend() ? *host : samples->emplace_back(Sample{std::move(text), {}});
  if (end > begin) sample.answers.emplace_back(begin, end);
}

static std::vector<TextSpan> spans_of(const Sample& sample) {
  std::vector<TextSpan> spans;
  std::size_t at = 0;
  const auto add = [&](std::size_t to, bool has_loss) {
    if (to > at) spans.push_back({sample.text.substr(at, to - at), has_loss});
    at = std::max(at, to);
  };
  for (auto answer = sample.answers.rbegin(); answer != sample.answers.rend(); ++answer) {
    add(answer->first, false);
    add(answer->second, true);
  }
  add(sample.text.size(), false);
  return spans;
}

std::vector<std::vector<TextSpan>> ChatTemplate::samples(const Conversation& conversation, LossOn loss_on,
                                                         Findings* findings) const {
  Findings ignored, *found_out = findings == nullptr ? &ignored : findings;
  ordered_json context =
      context_of(options_.thinking ? conversation.messages() : without_thinking(conversation.messages(), found_out),
                 conversation.tools());
  ordered_json& messages = context["messages"];
  if (loss_on == LossOn::all) {
    if (!conversation.masked_by(0).empty()) return {};
    std::string text = render_context(&context, End::conversation, date_of_samples());
    find_left_out(text, context, found_out);
    return {{{std::move(text), true}}};
  }
  std::vector<Sample> found;  // of the last answer first
  for (bool first = true; messages.size() > 1;) {
    const std::string masked_by = conversation.masked_by(messages.size() - 1);
    const ordered_json message = messages.back();
    if (!is_answer(message)) {
      messages.erase(messages.size() - 1);
      continue;
    }
    if (!masked_by.empty() || says_nothing(message)) {
      found_out->add(masked_by.empty() ? Findings::empty : Findings::masked, masked_by);
      messages.erase(messages.size() - 1);
    } else {
      Answer answer = take_answer(&context);
      if (std::exchange(first, false)) {
        messages.push_back(message);
        find_left_out(answer.text, context, found_out);
        messages.erase(messages.size() - 1);
      }
      find_left_out_of_answer(answer, message, context, found_out);
      if (is_emptied(answer, message, context)) {
        found_out->add(Findings::emptied);
      } else {
        add_answer(std::move(answer.text), answer.begin, answer.end, &found);
      }
    }
    if (loss_on == LossOn::last_answer) break;
  }
  std::vector<std::vector<TextSpan>> samples;
  for (auto sample = found.rbegin(); sample != found.rend(); ++sample)
    if (!sample->answers.empty()) samples.push_back(spans_of(*sample));
  return samples;
}

}  // namespace troika::data
