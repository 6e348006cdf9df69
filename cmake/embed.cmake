# troika_embed(SOURCES FOLDER FUNCTION HEADER): makes files of a folder part of a program. Sets SOURCES in the caller to the sources to
# compile: one that includes the bytes, and one that defines FUNCTION, declared in HEADER, which lists them by path.
function(troika_embed sources folder function header)
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*)
  list(FILTER files EXCLUDE REGEX "(^|/)(README\\.md|LICENSE[^/]*)$")
  list(SORT files)
  set(bytes "")
  set(declared "")
  set(rows "")
  set(number 0)
  string(REGEX REPLACE ".*::" "" name "${function}")
  foreach(file ${files})
    string(APPEND bytes "${name}_${number}:\n  .incbin \"${folder}/${file}\"\n${name}_${number}_end:\n  .byte 0\n")
    string(APPEND bytes "  .globl ${name}_${number}\n  .globl ${name}_${number}_end\n")
    string(APPEND declared "extern const char ${name}_${number}[], ${name}_${number}_end[];\n")
    string(APPEND rows "      {\"${file}\", {${name}_${number}, static_cast<std::size_t>(${name}_${number}_end - ${name}_${number})}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${name}.S)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT "  .section .rodata\n${bytes}  .section .note.GNU-stack,\"\",%progbits\n")
  string(REGEX REPLACE "::[^:]*$" "" namespace "${function}")
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT "#include \"${header}\"\n
extern \"C\" {\n${declared}}\n
namespace ${namespace} {\n
std::vector<Asset> ${name}() {\n  return {\n${rows}  };\n}\n
}  // namespace ${namespace}\n")
  list(TRANSFORM files PREPEND ${folder}/)
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS "${files}")
  set_source_files_properties(${table} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${sources} ${assembly} ${table} PARENT_SCOPE)
endfunction()
