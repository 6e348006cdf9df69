// Makes the large parts of nlohmann-json (parser, writer, members of a value) be compiled once, in json_instances.cc, instead of in
// each source that parses or writes JSON: a tenth of all code was copies of them. It comes with the precompiled headers, behind
// <nlohmann/json.hpp> and <string>; a source without it has copies of its own.
#pragma once

#define TROIKA_JSON_READER(kind, Json, Input)                                                             \
  kind template class detail::lexer<Json, Input>;                                                         \
  kind template class detail::parser<Json, Input>;                                                        \
  kind template bool detail::parser<Json, Input>::sax_parse_internal(detail::json_sax_dom_parser<Json>*); \
  kind template bool detail::parser<Json, Input>::sax_parse_internal(detail::json_sax_dom_callback_parser<Json>*);

// kind: extern, or empty for the one source.
#define TROIKA_JSON(kind, Json)                                                         \
  kind template Json::basic_json(const Json&);                                          \
  kind template Json::basic_json(Json::initializer_list_t, bool, Json::value_t);        \
  kind template void Json::json_value::destroy(Json::value_t);                          \
  kind template std::string Json::dump(int, char, bool, detail::error_handler_t) const; \
  kind template class detail::serializer<Json>;                                         \
  TROIKA_JSON_READER(kind, Json, detail::iterator_input_adapter<const char*>)           \
  TROIKA_JSON_READER(kind, Json, detail::iterator_input_adapter<std::string::const_iterator>)

namespace nlohmann {
TROIKA_JSON(extern, basic_json<>)
TROIKA_JSON(extern, basic_json<ordered_map>)
}  // namespace nlohmann
