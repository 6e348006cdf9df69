// What everything that runs during one rendering shares: its limits, the making of values within them, and the variables
// that it begins with.
#pragma once

#include <cstddef>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jinja/template.h"
#include "jinja/value.h"

namespace troika::jinja {

// Thrown below Template::render, which adds the place.
struct Failure {
  explicit Failure(base::Text sentence) : text(std::move(sentence)) {}

  base::Text text;
};

class Rendering {
 public:
  explicit Rendering(const RenderOptions& options) : options_(options) {}
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  const std::tm& now() const { return options_.now; }
  const Limits& limits() const { return options_.limits; }

  // Counts memory made and work done, in bytes. Throws Failure beyond the limit.
  void charge(std::size_t bytes);
  void charge(std::size_t bytes, std::size_t times);  // their product

  Value text(std::string text);
  Value list(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list);
  Value dict(std::vector<std::pair<Value, Value>> entries);  // keys differ
  Value name_space(std::vector<std::pair<std::string, Value>> entries);

 private:
  const RenderOptions& options_;
  std::vector<std::shared_ptr<Namespace>> spaces_;  // emptied at the end, as they may hold each other
  std::size_t used_bytes_ = 0;
};

// JSON as values.
// Integers beyond 64 bits come as base::parse_ordered_json has them. Throws Failure for nesting deeper than values may have.
Value value_of(const nlohmann::ordered_json& json, Rendering& rendering);

}  // namespace troika::jinja
