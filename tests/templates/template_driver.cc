// Renders templates for comparisons with other implementations: reads lines {"source": ..., "context": {...}} from
// standard input and prints {"text": ...} or {"error": ...} for each.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "jinja/template.h"

using nlohmann::ordered_json;

static ordered_json rendered(const ordered_json& job) {
  try {
    const troika::jinja::Template one(job.at("source").get<std::string>(), "a template");
    return {{"text", one.render(job.at("context"))}};
  } catch (const troika::base::Error& error) {
    return {{"error", error.what()}};
  }
}

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << rendered(ordered_json::parse(line)).dump(-1, ' ', false, ordered_json::error_handler_t::replace)
              << "\n";
}
