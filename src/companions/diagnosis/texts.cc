#include "diagnosis/texts.h"

#include <cstring>
#include <type_traits>

namespace troika::diagnosis {
namespace {

// The structures hold nothing but texts, one behind the other.
template <class Group>
void append_all(const Group& group, std::vector<base::Bilingual>* all) {
  static_assert(std::is_trivially_copyable_v<Group> && sizeof(Group) % sizeof(base::Bilingual) == 0);
  const std::size_t before = all->size();
  all->resize(before + sizeof(Group) / sizeof(base::Bilingual));
  std::memcpy(static_cast<void*>(all->data() + before), &group, sizeof(Group));
}

}  // namespace

std::vector<base::Bilingual> all_texts() {
  std::vector<base::Bilingual> all;
  append_all<FailureTexts>(texts, &all);
  append_all<TrainingTexts>(texts, &all);
  return all;
}

}  // namespace troika::diagnosis
