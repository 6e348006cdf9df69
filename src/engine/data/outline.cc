#include "data/outline.h"

#include "data/source.h"
#include "data/source_shape.h"

namespace troika::data {

Outline outline_of(const std::string& stated, const config::DataSettings& settings) {
  Outline outline;
  for (const Source& source : find_sources(stated, settings)) {
    if (shape_of_source(source).shape.format == Format::text) continue;
    outline.filling = Filling::uneven;
    outline.record_bytes += record_files(source).bytes;
  }
  return outline;
}

}  // namespace troika::data
