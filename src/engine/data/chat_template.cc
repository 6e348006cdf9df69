#include "data/chat_template.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "jinja/template.h"

namespace troika::data {
using nlohmann::ordered_json;

// Counts the rules that this file adds to the template: a change of them makes other samples.
static constexpr int rules_version = 2;

static std::string hash_of(const std::string& source, const ChatTemplate::Options& options) {
  const ordered_json all = {rules_version, source, options.tools_source, options.bos, options.eos, options.thinking};
  return base::hash_bytes(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

ChatTemplate::ChatTemplate(const std::string& source, const std::string& origin, Options options)
    : template_(std::make_shared<const jinja::Template>(source, origin)),
      with_tools_(template_),
      options_(std::move(options)),
      fingerprint_(hash_of(source, options_)) {
  if (!options_.tools_source.empty())
    with_tools_ = std::make_shared<const jinja::Template>(options_.tools_source, origin + " (tool_use)");
}

static bool has_tools(const ordered_json& tools) { return tools.is_array() && !tools.empty(); }

ordered_json ChatTemplate::context_of(ordered_json messages, const ordered_json& tools) const {
  ordered_json context;
  context["messages"] = std::move(messages);
  context["tools"] = has_tools(tools) ? tools : ordered_json();
  context["documents"] = ordered_json();
  context["add_generation_prompt"] = false;
  context["enable_thinking"] = options_.thinking;
  if (!options_.bos.empty()) context["bos_token"] = options_.bos;
  if (!options_.eos.empty()) context["eos_token"] = options_.eos;
  return context;
}

std::string ChatTemplate::render_context(ordered_json* context, End end, const std::tm& now) const {
  (*context)["add_generation_prompt"] = end == End::answer_begins;
  jinja::RenderOptions options;
  options.now = now;
  return (has_tools((*context)["tools"]) ? with_tools_ : template_)->render(*context, options);
}

std::string ChatTemplate::render(const Conversation& conversation, End end) const {
  const std::time_t now = std::time(nullptr);
  std::tm today = {};
  localtime_r(&now, &today);
  ordered_json context = context_of(conversation.messages(), conversation.tools());
  return render_context(&context, end, today);
}

}  // namespace troika::data
