# SPDX-License-Identifier: Apache-2.0
#
# prefixroute_payload: the payload component, a library beside prefixroute.

add_library(prefixroute_payload
  src/payload/prompt_writer.cc
  src/payload/reader.cc
  src/payload/scan.cc)
# What steps over bytes; at -O3 whatever the build is, which unrolls its loops.
set_source_files_properties(src/payload/prompt_writer.cc src/payload/scan.cc PROPERTIES COMPILE_OPTIONS -O3)
add_library(prefixroute::payload ALIAS prefixroute_payload)
target_include_directories(prefixroute_payload PRIVATE ${PROJECT_SOURCE_DIR} ${PREFIXROUTE_XXHASH_INCLUDE_DIR})
target_link_libraries(prefixroute_payload
  PUBLIC prefixroute
  PRIVATE $<BUILD_INTERFACE:prefixroute_compile_options>)
set_target_properties(prefixroute_payload PROPERTIES
  EXPORT_NAME payload
  CXX_EXTENSIONS OFF
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  POSITION_INDEPENDENT_CODE ON
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
