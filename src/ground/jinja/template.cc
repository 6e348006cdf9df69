#include "jinja/template.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "jinja/evaluator.h"
#include "jinja/lexer.h"
#include "jinja/expression_parser.h"

namespace troika::jinja {

struct Template::Parsed {
  Body body;
};

void Template::check_size(std::size_t source_bytes, const std::string& origin) {
  if (source_bytes <= most_source_bytes) return;
  throw base::DataError(base::say("{} has {} bytes; a template has at most {}: is it the right file?", origin, source_bytes, most_source_bytes));
}

Template::Template(const std::string& source, std::string origin) : origin_(std::move(origin)) {
  check_size(source.size(), origin_);
  parsed_ = std::make_unique<const Parsed>(Parsed{parse(tokens_of(source, origin_), origin_)});
}

Template::~Template() = default;

std::string Template::render(const nlohmann::ordered_json& context, const RenderOptions& options) const {
  int line = 1;
  try {
    Evaluator evaluator(context, options);
    try {
      return evaluator.run(parsed_->body);
    } catch (const Failure&) {
      line = evaluator.line();
      throw;
    }
  } catch (const Failure& failure) {
    fail_at(origin_, line, failure.text);
  }
}

}  // namespace troika::jinja
