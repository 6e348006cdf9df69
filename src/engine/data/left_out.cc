#include "data/left_out.h"

#include <algorithm>
#include <vector>

#include "base/say.h"

namespace troika::data {

// In the order of Why: of one and of several.
static constexpr std::array<std::array<base::Phrase, 2>, 10> reason_texts = {
    {{base::Phrase("{} binary file ('{}')"), base::Phrase("{} binary files ('{}', ...)")},
     {base::Phrase("{} file in another encoding than UTF-8 ('{}')"), base::Phrase("{} files in other encodings than UTF-8 ('{}', ...)")},
     {base::Phrase("{} empty file ('{}')"), base::Phrase("{} empty files ('{}', ...)")},
     {base::Phrase("{} link that leads out of the folder ('{}')"), base::Phrase("{} links that lead out of the folder ('{}', ...)")},
     {base::Phrase("{} link that leads nowhere ('{}')"), base::Phrase("{} links that lead nowhere ('{}', ...)")},
     {base::Phrase("{} link to a folder ('{}')"), base::Phrase("{} links to folders ('{}', ...)")},
     {base::Phrase("{} pipe or device ('{}')"), base::Phrase("{} pipes or devices ('{}', ...)")},
     {base::Phrase("{} folder of a run ('{}')"), base::Phrase("{} folders of runs ('{}', ...)")},
     {base::Phrase("{} folder of token shards ('{}')"), base::Phrase("{} folders of token shards ('{}', ...)")},
     {base::Phrase("{} file that holds no records ('{}')"), base::Phrase("{} files that hold no records ('{}', ...)")}}};

void LeftOut::add(Why why, const std::string& name) {
  Reason& reason = reasons_[static_cast<std::size_t>(why)];
  if (reason.count++ == 0) reason.first = name;
}

bool LeftOut::empty() const {
  return std::all_of(reasons_.begin(), reasons_.end(), [](const Reason& reason) { return reason.count == 0; });
}

base::Text LeftOut::text_from(std::size_t reason) const {
  std::vector<base::Text> parts;
  for (; reason < reasons_.size(); ++reason) {
    const Reason& one = reasons_[reason];
    if (one.count > 0) parts.push_back(base::say(reason_texts[reason][one.count == 1 ? 0 : 1], one.count, one.first));
  }
  return base::join(parts, ", ", "，");
}

base::Text LeftOut::text() const { return text_from(0); }
base::Text LeftOut::text_beside_binary() const { return text_from(1); }

}  // namespace troika::data
