// Attributes, elements and slices. What is not there is undefined, as in Jinja; use of an undefined value throws
// Failure.
#pragma once

#include <string>

#include "jinja/rendering.h"
#include "jinja/value.h"

namespace troika::jinja {

// `object.name`: a method goes before a key of a dict.
Value attribute_of(const Value& object, const std::string& name, Rendering& rendering);

// `object[key]`: a key of a dict goes before a method.
Value item_of(const Value& object, const Value& key, Rendering& rendering);

// `object["a.0.b"]` as filters take it: one element after the other. `when_missing` (or null) stands for those that
// are not there.
Value path_of(const Value& object, const Value& path, Rendering& rendering, const Value* when_missing = nullptr);

// `object[begin:end:step]`; each bound an integer or none.
Value slice_of(const Value& object, const Value& begin, const Value& end, const Value& step, Rendering& rendering);

}  // namespace troika::jinja
