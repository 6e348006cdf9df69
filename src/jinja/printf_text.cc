#include <fmt/format.h>

#include <cmath>

#include "jinja/operators.h"
#include "jinja/value_text.h"

namespace troika::jinja {

namespace {

class Printf {
 public:
  Printf(const std::string& format, const Value& values, Rendering& rendering)
      : format_(format), rendering_(rendering) {
    const bool several = values.sequence() != nullptr && values.sequence()->kind == Sequence::Kind::tuple;
    values_ = several ? values.sequence()->items : std::vector<Value>{values};
    may_be_left_ = values.dict() != nullptr;
  }

  std::string run() {
    for (at_ = 0; at_ < format_.size(); ++at_) {
      if (format_[at_] == '%') {
        ++at_;
        add_field();
      } else {
        result_ += format_[at_];
      }
    }
    if (next_ < values_.size() && !may_be_left_) throw Failure{"'%' of a string has more values than fields"};
    return std::move(result_);
  }

 private:
  int precision() {
    if (at_ >= format_.size() || format_[at_] != '.') return -1;
    int digits = 0;
    for (++at_; at_ < format_.size() && format_[at_] >= '0' && format_[at_] <= '9' && digits < 100; ++at_)
      digits = digits * 10 + (format_[at_] - '0');
    return digits;
  }

  void add_field() {
    const int digits = precision();
    const char kind = at_ < format_.size() ? format_[at_] : '\0';
    if (kind == '%') {
      result_ += '%';
      return;
    }
    if (std::string_view("srdif").find(kind) == std::string_view::npos || kind == '\0' || (digits >= 0 && kind != 'f'))
      throw Failure{
          fmt::format("the field '%{}' of a string is not supported", kind == '\0' ? "" : std::string(1, kind))};
    if (next_ == values_.size()) throw Failure{"'%' of a string has more fields than values"};
    const Value& value = values_[next_++];
    result_ += kind == 's'   ? str(value, rendering_)
               : kind == 'r' ? repr(value, rendering_)
                             : number(value, kind, digits);
  }

  std::string number(const Value& value, char kind, int digits) const {
    if (!value.is_number())
      throw Failure{fmt::format("the field '%{}' takes a number, not {}", kind, type_name(value))};
    if (kind == 'f') return fmt::format("{:.{}f}", value.as_real(), digits < 0 ? 6 : digits);
    const double whole = std::trunc(value.as_real());
    return value.is_whole() ? std::to_string(value.as_integer()) : fmt::format("{:.0f}", whole);
  }

  const std::string& format_;
  Rendering& rendering_;
  std::vector<Value> values_;
  bool may_be_left_ = false;
  std::string result_;
  std::size_t at_ = 0, next_ = 0;
};

}  // namespace

std::string printf_text(const std::string& format, const Value& values, Rendering& rendering) {
  return Printf(format, values, rendering).run();
}

}  // namespace troika::jinja
