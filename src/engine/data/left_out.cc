#include "data/left_out.h"

#include <algorithm>
#include <vector>

#include "base/say.h"
#include "data/texts.h"

namespace troika::data {

// In the order of Why: of one and of several.
static constexpr std::array<std::array<base::Bilingual, 2>, 10> reason_texts = {
    {{data_texts.binary_file, data_texts.binary_files},
     {data_texts.encoded_file, data_texts.encoded_files},
     {data_texts.file_without_text, data_texts.files_without_text},
     {data_texts.link_out, data_texts.links_out},
     {data_texts.link_nowhere, data_texts.links_nowhere},
     {data_texts.linked_folder, data_texts.linked_folders},
     {data_texts.special_file, data_texts.special_files},
     {data_texts.run_folder, data_texts.run_folders},
     {data_texts.shard_folder, data_texts.shard_folders},
     {data_texts.file_of_text, data_texts.files_of_text}}};

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
  return base::join(parts, {", ", "，"});
}

base::Text LeftOut::text() const { return text_from(0); }
base::Text LeftOut::text_beside_binary() const { return text_from(1); }

}  // namespace troika::data
