#include "data/post_processor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::data {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

class Reader {
 public:
  Reader(std::size_t vocab_size, const std::string& origin) : vocab_size_(vocab_size), origin_(origin) {}

  void read(const json& part) {
    const std::string type = base::json_string(part, "type", origin_);
    if (type == "Sequence") {
      for (const json& inner : base::json_array(part, "processors", origin_)) read(inner);
    } else if (type == "TemplateProcessing") {
      const Ids front = front_of(part);
      begin_.insert(begin_.begin(), front.begin(), front.end());
      limit(begin_);
    } else if (type != "ByteLevel" && type != "RobertaProcessing" && type != "BertProcessing") {
      refuse(fmt::format("the post-processor '{}' is not supported", type));
    }
  }

  Ids take() { return std::move(begin_); }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw base::DataError(fmt::format("{}: {}", origin_, what));
  }

  void limit(const Ids& ids) const {
    if (ids.size() > most_ids) refuse(fmt::format("the post-processor puts more than {} ids in front", most_ids));
  }

  Ids front_of(const json& part) const {
    Ids ids;
    for (const json& piece : base::json_array(part, "single", origin_)) {
      if (piece.is_object() && piece.contains("Sequence")) return ids;
      if (!piece.is_object() || !piece.contains("SpecialToken"))
        refuse("TemplateProcessing: 'single' holds something else than SpecialToken and Sequence");
      const json& mark = base::json_object(piece, "SpecialToken", origin_);
      append(part, base::json_string(mark, "id", origin_), &ids);
    }
    refuse("TemplateProcessing: 'single' has no Sequence, so no place for the text");
  }

  void append(const json& part, const std::string& name, Ids* ids) const {
    const json& marks = base::json_object(part, "special_tokens", origin_);
    for (const json& id : base::json_array(base::json_object(marks, name, origin_), "ids", origin_)) {
      // A number above INT64_MAX reads as a negative one.
      const std::int64_t value = id.is_number_integer() ? id.get<std::int64_t>() : -1;
      if (value < 0 || value >= static_cast<std::int64_t>(vocab_size_)) {
        refuse(fmt::format("TemplateProcessing: '{}' has the id {}; ids are from 0 to {}", name,
                           id.dump().substr(0, 40), vocab_size_ - 1));
      }
      ids->push_back(static_cast<std::int32_t>(value));
      limit(*ids);
    }
  }

  static constexpr std::size_t most_ids = 64;
  const std::size_t vocab_size_;
  const std::string& origin_;
  Ids begin_;
};

}  // namespace

std::vector<std::int32_t> read_begin_ids(const json& post_processor, std::size_t vocab_size,
                                         const std::string& origin) {
  Reader reader(vocab_size, origin);
  reader.read(post_processor);
  return reader.take();
}

}  // namespace troika::data
