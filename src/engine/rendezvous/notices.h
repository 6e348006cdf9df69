// What the failure monitor has to say to all ranks while a run continues: for every log and the screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/incident.h"

namespace troika::rendezvous {

inline constexpr const char* notices_key = "notices";

// The last few, of the monitor. Numbers rise, so that a reader knows which are new.
class Notices {
 public:
  void add(const records::Incident& notice);

  // The form in the store.
  std::string text() const;

 private:
  std::vector<std::string> lines_;
  std::int64_t number_ = 0;
};

// Those with numbers above `*last`, oldest first; `*last` becomes the highest number. What is malformed is left out.
std::vector<records::Incident> new_notices(const std::string& text, std::int64_t* last);

}  // namespace troika::rendezvous
